//! CASE, `coalesce` and `nullif`.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_expr::type_coercion::binary::{comparison_coercion, type_union_coercion};
use datafusion_expr::{Operator, ScalarUDF};

use super::Types;
use super::mismatch::nothing_in_common;
use super::narrow::normal;
use super::numbers::{Use, wider};
use crate::algebra::{Expr, Kind};
use crate::error::{Error, Result};

impl Types {
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`. A branch that is never taken is left out.
    ///
    /// # Errors
    /// The results, or what is compared, have no type in common.
    pub fn case(
        &self,
        operand: Option<Expr>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
    ) -> Result<Expr> {
        let (whens, thens): (Vec<Expr>, Vec<Expr>) = branches.into_iter().unzip();
        let (thens, otherwise, data_type) = self.results(thens, otherwise)?;
        let otherwise = otherwise.filter(|e| !e.as_literal().is_some_and(|value| value.is_null()));
        let Some(operand) = operand else {
            let whens = self.all_coerced(whens, &DataType::Boolean)?;
            return Ok(self.taken(whens.into_iter().zip(thens), otherwise, data_type));
        };
        let (operand, whens) = self.operands(operand, whens)?;
        Ok(self.whole_case(Some(operand), whens.into_iter().zip(thens).collect(), otherwise, data_type))
    }

    /// The results of a CASE in one type.
    fn results(
        &self,
        mut thens: Vec<Expr>,
        mut otherwise: Option<Expr>,
    ) -> Result<(Vec<Expr>, Option<Expr>, DataType)> {
        let mut all: Vec<&mut Expr> = otherwise.iter_mut().chain(&mut thens).collect();
        self.align(&mut all, Use::Result)?;
        let then_types: Vec<DataType> = thens.iter().map(|e| e.data_type.clone()).collect();
        let else_type = otherwise.as_ref().map(|e| e.data_type.clone());
        let mut types = else_type.iter().chain(&then_types);
        let first = types.next().cloned().unwrap_or(DataType::Null);
        let common = types.try_fold(first, |one, other| wider(&one, other, Use::Result, type_union_coercion));
        let Some(common) = common else {
            return Err(nothing_in_common(then_types.iter().chain(&else_type), "CASE"));
        };
        let thens = self.all_coerced(thens, &common)?;
        let otherwise = otherwise.map(|e| self.coerced(e, &common)).transpose()?;
        Ok((thens, otherwise, common))
    }

    /// What a CASE compares, in one type.
    fn operands(&self, mut operand: Expr, mut whens: Vec<Expr>) -> Result<(Expr, Vec<Expr>)> {
        let mut all: Vec<&mut Expr> = whens.iter_mut().chain([&mut operand]).collect();
        self.align(&mut all, Use::Compared)?;
        let when_types: Vec<DataType> = whens.iter().map(|e| e.data_type.clone()).collect();
        let common = when_types.iter().try_fold(operand.data_type.clone(), |one, other| {
            wider(&one, other, Use::Compared, comparison_coercion)
        });
        let Some(common) = common else {
            return Err(nothing_in_common(std::iter::once(&operand.data_type).chain(&when_types), "CASE"));
        };
        let operand = normal(self.coerced(operand, &common)?);
        let whens = self.all_coerced(whens, &common)?.into_iter().map(normal).collect();
        Ok((operand, whens))
    }

    /// A CASE of conditions without the branches that are never taken.
    fn taken(
        &self,
        all: impl Iterator<Item = (Expr, Expr)>,
        mut otherwise: Option<Expr>,
        data_type: DataType,
    ) -> Expr {
        let mut branches = Vec::new();
        for (when, then) in all {
            match when.as_bool() {
                None => branches.push((when, then)),
                Some(Some(true)) => {
                    otherwise = Some(then);
                    break;
                }
                Some(_) => {}
            }
        }
        if branches.is_empty() {
            return otherwise.unwrap_or_else(|| Expr::null(&data_type));
        }
        self.whole_case(None, branches, otherwise, data_type)
    }

    fn whole_case(
        &self,
        operand: Option<Expr>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
        data_type: DataType,
    ) -> Expr {
        let (operand, otherwise) = (operand.map(Box::new), otherwise.map(Box::new));
        self.folded(Expr { kind: Kind::Case { operand, branches, otherwise }, data_type })
    }

    /// `coalesce` of values of one type: NULLs are left out, and what stands behind a constant.
    pub(super) fn first_known(&self, function: Arc<ScalarUDF>, all: Vec<Expr>, data_type: DataType) -> Expr {
        let mut args: Vec<Expr> = Vec::with_capacity(all.len());
        for arg in all {
            match arg.as_literal().map(|value| value.is_null()) {
                Some(true) => {}
                Some(false) => {
                    args.push(arg);
                    break;
                }
                None => args.push(arg),
            }
        }
        match args.len() {
            0 => Expr::null(&data_type),
            1 => args.swap_remove(0),
            _ => Expr { kind: Kind::Call { function, args }, data_type },
        }
    }

    /// `nullif` of values of two types, which has the type of the first: a CASE.
    pub(super) fn null_if(&self, value: Expr, other: Expr) -> Result<Expr> {
        if value.is_volatile() {
            let what = "nullif() of a value that is another one at each call takes one of the same type";
            return Err(Error::Invalid(format!("{what}\n  help: a CAST may help")));
        }
        let equal = self.compared(value.clone(), Operator::Eq, other)?;
        let null = Expr::null(&value.data_type);
        self.case(None, vec![(equal, null)], Some(value))
    }
}
