//! Table functions: what their calls stand for, and the tables of those that make their rows.

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use schema::bdb::{Kind, Sizes};
use schema::{Source, Table, TableEstimates};
use sqlparser::ast::{
    Expr as Ast, FunctionArg, FunctionArgExpr, ObjectName, Query, Statement, TableAlias, TableFunctionArgs,
};
use sqlparser::parser::Parser;

use super::query::{Range, mapped};
use super::scope::{Ctes, Env, Field, Scope};
use super::{Binder, Bound, sql_type};
use crate::algebra::{Expr, Rel, Transform, Values};
use crate::dialect::Palais;
use crate::error::{Error, Result};
use crate::functions::table;
use crate::meant;
use crate::parse::{self, calls};
use crate::summarize;
use crate::types::series;
use crate::visitors;

impl Binder<'_> {
    /// The rows of a table function.
    ///
    /// # Errors
    /// There is none of the name, or its arguments are none of its.
    pub(super) fn table_function(
        &mut self,
        name: &ObjectName,
        args: &TableFunctionArgs,
        alias: Option<&TableAlias>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let name = parse::table_name(name).to_ascii_lowercase();
        let is_series = matches!(name.as_str(), "range" | "generate_series");
        let takes_alias = is_series && alias.is_some_and(|alias| alias.columns.is_empty());
        if is_series && let Some(list) = self.series_beside(&name, args, beside)? {
            let (rel, scope) = self.unnest_rows(vec![list], &name, false, alias)?;
            let scope = if takes_alias { scope.named_by_alias(&name) } else { scope };
            return Ok((rel, scope.of_values()));
        }
        if matches!(name.as_str(), "json_each" | "json_tree") {
            return self.json_rows(&name, args, alias, beside);
        }
        let scope = Scope::default();
        let env = Env::of(&scope, "a table function");
        let mut values = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            let constants = || Error::Invalid(format!("{name}() takes constants"));
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else { return Err(constants()) };
            // A column is none, whatever its name.
            let value = match arg {
                Ast::Identifier(_) | Ast::CompoundIdentifier(_) => return Err(constants()),
                arg => self.expr(arg, &env)?,
            };
            values.push(value.as_literal().cloned().ok_or_else(constants)?);
        }
        let bound = match name.as_str() {
            _ if is_series => self.scan(Arc::new(range(&name, &values, name == "generate_series")?), None),
            "functions" if values.is_empty() => self.functions_as_rows(),
            "bdb" => self.scan(Arc::new(bdb(&values)?), None),
            "transform" => {
                let (table, transform) = self.transform(&values)?;
                self.scan(table, Some(transform))
            }
            _ => {
                return Err(Error::Name {
                    message: format!("there is no table function '{name}'"),
                    help: Some(meant::table_function(&name)),
                });
            }
        };
        let own = match &bound.rel {
            Rel::Scan(scan) => scan.table.name.clone(),
            _ => name.clone(),
        };
        let (rel, scope) = self.relation(bound, Some(&own), alias)?;
        let scope = if takes_alias { scope.named_by_alias(&name) } else { scope };
        Ok((rel, if is_series { scope.of_values() } else { scope }))
    }

    /// The list of a table function whose arguments are no constants, but name columns of the relations before it, or
    /// of queries around; and that of timestamps.
    fn series_beside(
        &mut self,
        name: &str,
        args: &TableFunctionArgs,
        beside: Option<&Env<'_>>,
    ) -> Result<Option<Expr>> {
        let exprs: Option<Vec<&Ast>> = args.args.iter().map(calls::unnamed).collect();
        let names_column = |e: &&Ast| {
            visitors::any_expression(*e, &mut |e| {
                matches!(e, Ast::Identifier(_) | Ast::CompoundIdentifier(_))
            })
        };
        let Some(exprs) = exprs else { return Ok(None) };
        let names_columns = exprs.iter().any(names_column);
        let none = Scope::default();
        let alone = Env::of(&none, "FROM");
        let around = match beside {
            Some(beside) => beside,
            None if names_columns => return Ok(None),
            None => &alone,
        };
        let env = Env { group: None, windows: None, unnested: None, clause: "FROM", ..*around };
        let args = exprs.into_iter().map(|e| self.expr(e, &env)).collect::<Result<Vec<_>>>()?;
        match series::of_times(name, &args) {
            Some(function) => self.types.series(name, function, args).map(Some),
            None if names_columns => self.call_named(name, args).map(Some),
            None => Ok(None),
        }
    }

    /// `json_each()` and `json_tree()`: lists that are taken apart beside each other, a column each. The text may be
    /// that of a column of the relations before it, or of queries around.
    fn json_rows(
        &mut self,
        name: &str,
        args: &TableFunctionArgs,
        alias: Option<&TableAlias>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let none = Scope::default();
        let alone = Env::of(&none, "FROM");
        let env =
            Env { group: None, windows: None, unnested: None, clause: "FROM", ..*beside.unwrap_or(&alone) };
        let mut values = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
                return Err(Error::Unsupported(format!("names of arguments in {name}()")));
            };
            values.push(self.expr(arg, &env)?);
        }
        let mut computed = Vec::new();
        // What is computed is computed once, and not for each column.
        for value in &mut values {
            if value.as_column().is_none() && !value.columns().is_empty() {
                let id = self.columns.add_of("json", value);
                let of = std::mem::replace(value, self.columns.read(id));
                computed.push((id, of));
            }
        }
        let lists = self.types.json_rows(name, values, &self.columns)?;
        let (mut fields, mut columns) = (Vec::with_capacity(lists.len()), Vec::with_capacity(lists.len()));
        for (column, list) in lists {
            let id = self.column_of_items(column, &list);
            fields.push(Field { id, name: column.to_string() });
            columns.push((id, list));
        }
        let rel = self.apart_lists(mapped(Values::one(), computed), columns, None);
        self.relation(Bound { rel, fields }, Some(name), alias)
    }

    /// `functions()`.
    fn functions_as_rows(&mut self) -> Bound {
        self.texts(&table::COLUMNS, table::rows())
    }

    /// Rows of texts.
    fn texts<const N: usize>(
        &mut self,
        names: &[&str; N],
        rows: impl IntoIterator<Item = [Option<String>; N]>,
    ) -> Bound {
        let field =
            |name: &&str| Field { id: self.columns.add(*name, DataType::Utf8View), name: name.to_string() };
        let fields: Vec<Field> = names.iter().map(field).collect();
        let columns = fields.iter().map(|field| field.id).collect();
        let text = |text| Expr::literal(ScalarValue::Utf8View(text));
        let rows = rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect();
        Bound { rel: Rel::Values(Values { columns, rows }), fields }
    }

    /// The columns of a query, which is not run, by DuckDB's names for what is told of them.
    pub(super) fn described(
        &mut self,
        query: &Query,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let bound = self.query(query, outer, ctes)?;
        let rows = bound.fields.iter().map(|field| {
            let data_type = expressions::text::shown(&self.columns.read(field.id).data_type);
            [Some(field.name.clone()), Some(data_type), Some("YES".into()), None, None, None]
        });
        let rows: Vec<_> = rows.collect();
        Ok(self.texts(&["column_name", "column_type", "null", "key", "default", "extra"], rows))
    }

    /// The figures of `SUMMARIZE`, a row for each column of a query.
    pub(super) fn summarized(
        &mut self,
        query: &Query,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let bound = self.query(query, outer, ctes)?;
        let (rel, scope) = self.relation(bound, None, None)?;
        let column = |field: &Field| (field.name.clone(), self.columns.get(field.id).data_type.clone());
        let columns: Vec<_> = scope.shown().iter().map(|shown| column(&shown.field)).collect();
        let select = summarize::rows(&columns)?;
        self.select_over(&select, rel, scope, None, Range::default(), outer, ctes)
    }

    /// `transform('table', 'command', 'column TYPE, …')`.
    fn transform(&self, args: &[ScalarValue]) -> Result<(Arc<Table>, Transform)> {
        let usage = || {
            Error::Invalid(
                "transform() takes a table, a command and the columns that it prints: \
                 transform('logs', './parse.py', 'host VARCHAR, hits BIGINT')"
                    .into(),
            )
        };
        let [table, command, columns] = args else { return Err(usage()) };
        let text = |value: &ScalarValue| value.try_as_str().flatten().map(str::to_string);
        let (Some(table), Some(command), Some(columns)) = (text(table), text(command), text(columns)) else {
            return Err(usage());
        };
        if !self.settings.allow_scripts {
            return Err(Error::Invalid(format!(
                "transform() starts the command '{command}'; allow it with --allow-scripts"
            )));
        }
        let table = self.catalog.table(&table)?.clone();
        Ok((table, Transform { command, schema: columns_of(&columns)? }))
    }
}

/// A list of columns as `CREATE TABLE` has it.
fn columns_of(text: &str) -> Result<SchemaRef> {
    let wrong =
        || Error::Invalid(format!("'{text}' is not a list of columns such as 'host VARCHAR, hits BIGINT'"));
    let statements = Parser::parse_sql(&Palais, &format!("CREATE TABLE t ({text})"));
    let statements = statements.map_err(|_| wrong())?;
    let [Statement::CreateTable(create)] = statements.as_slice() else { return Err(wrong()) };
    let fields = create.columns.iter().map(|column| {
        let data_type: DataType = sql_type::arrow_type(&column.data_type)?;
        Ok(ArrowField::new(&column.name.value, data_type, true))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

/// `range(end)`, `range(start, end)`, `range(start, end, step)`; `generate_series` includes the end.
fn range(name: &str, args: &[ScalarValue], inclusive: bool) -> Result<Table> {
    let whole = |v: &ScalarValue, n: &ScalarValue| {
        v.data_type().is_integer() || n.cast_to(&v.data_type()).is_ok_and(|same| same == *v)
    };
    let number = |v: &ScalarValue| match v.cast_to(&DataType::Int64) {
        Ok(n @ ScalarValue::Int64(Some(number))) if whole(v, &n) => Ok(number),
        _ => Err(Error::Invalid(format!("{name}() takes 64-bit integers"))),
    };
    let (start, end, step) = match args {
        [end] => (0, number(end)?, 1),
        [start, end] => (number(start)?, number(end)?, 1),
        [start, end, step] => (number(start)?, number(end)?, number(step)?),
        _ => {
            return Err(Error::Invalid(format!(
                "{name}() takes one to three numbers: an end; a start and an end; and a step"
            )));
        }
    };
    if step == 0 {
        return Err(Error::Invalid(format!("the step of {name}() must not be 0")));
    }
    let end = match inclusive {
        true => match end.checked_add(step.signum()) {
            Some(end) => end,
            None => return Err(Error::Invalid(format!("the end of {name}() is out of range"))),
        },
        false => end,
    };
    let distance = (i128::from(end) - i128::from(start)) * i128::from(step.signum());
    let rows = if distance <= 0 { 0 } else { (distance - 1) / i128::from(step).abs() + 1 };
    let column = if inclusive { "generate_series" } else { "range" };
    Ok(Table {
        name: name.to_string(),
        schema: Arc::new(Schema::new(vec![ArrowField::new(column, DataType::Int64, false)])),
        source: Source::Range { start, end, step },
        rows: Some(rows as u64),
        spans: vec![Some((start.min(end) as f64, start.max(end) as f64))],
        guesses: TableEstimates::default(),
    })
}

/// `bdb('uservisits', 'tiny')` or `bdb('uservisits', rankings, uservisits)`, with documents' bytes and a seed behind
/// them: a table of the benchmark, made while it is read.
fn bdb(args: &[ScalarValue]) -> Result<Table> {
    let usage = || {
        Error::Invalid(
            "bdb() takes a table (rankings, uservisits, documents) and a set (tiny, 1node, 5nodes), or the rows of \
             rankings and of uservisits, the bytes of documents and a seed"
                .into(),
        )
    };
    let text = |i: usize| args.get(i).and_then(|v| v.try_as_str().flatten());
    let number = |i: usize, default: u64| match args.get(i).map(|v| v.cast_to(&DataType::UInt64)) {
        None => Ok(default),
        Some(Ok(ScalarValue::UInt64(Some(n)))) => Ok(n),
        Some(_) => Err(usage()),
    };
    let kind = text(0).and_then(Kind::parse).ok_or_else(usage)?;
    let spec = match text(1) {
        Some(set) => Sizes::of_set(set).ok_or_else(usage)?.table(kind, number(2, 0)?),
        None => {
            let sizes = Sizes {
                rankings: number(1, 1_200)?,
                uservisits: number(2, 10_000)?,
                documents_bytes: number(3, 6_800_000)?,
            };
            sizes.table(kind, number(4, 0)?)
        }
    };
    spec.check().map_err(Error::Invalid)?;
    Ok(Table {
        name: kind.name().to_string(),
        schema: spec.schema(),
        source: Source::Generated(spec),
        rows: spec.rows(),
        spans: vec![],
        guesses: TableEstimates::default(),
    })
}
