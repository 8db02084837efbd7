//! Typed expressions over columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Operator, ScalarUDF, Volatility};

use super::{ColumnId, Rel};

/// An expression and its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What is computed.
    pub kind: Kind,
    /// The type of the value.
    pub data_type: DataType,
}

/// What an expression computes. Operands have the types that the operation takes: the constructors in [`crate::types`]
/// see to that.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A column.
    Column(ColumnId),
    /// A constant.
    Literal(ScalarValue),
    /// A comparison, arithmetic, bits, `||`, a regular expression, `IS [NOT] DISTINCT FROM`; never AND and OR.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// True if all are, in the order of evaluation.
    And(Vec<Expr>),
    /// True if one is, in the order of evaluation.
    Or(Vec<Expr>),
    /// Not true.
    Not(Box<Expr>),
    /// Whether it is NULL.
    IsNull(Box<Expr>),
    /// The negative number.
    Negative(Box<Expr>),
    /// A cast to the expression's type.
    Cast {
        /// What is cast.
        expr: Box<Expr>,
        /// Whether a value that can't be cast is NULL (`TRY_CAST`).
        safe: bool,
    },
    /// The first branch whose condition is true, or whose value equals the operand.
    Case {
        /// What is compared.
        operand: Option<Box<Expr>>,
        /// Conditions or values, and results.
        branches: Vec<(Expr, Expr)>,
        /// The result if none is taken; NULL without.
        otherwise: Option<Box<Expr>>,
    },
    /// Whether a value is, or is not, in a list.
    InList {
        /// The value.
        expr: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
    },
    /// Whether a value is, or is not, between two.
    Between {
        /// The value.
        expr: Box<Expr>,
        /// The least.
        low: Box<Expr>,
        /// The greatest.
        high: Box<Expr>,
        /// NOT BETWEEN.
        negated: bool,
    },
    /// Whether a text is, or is not, like a pattern. `\` escapes.
    Like {
        /// The text.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// NOT LIKE.
        negated: bool,
        /// ILIKE.
        case_insensitive: bool,
    },
    /// A call of a function.
    Call {
        /// The function.
        function: Arc<ScalarUDF>,
        /// The arguments, of the types that it takes.
        args: Vec<Expr>,
    },
    /// The value of the scalar subquery that is run as this stage.
    Stage(usize),
    /// A subquery, until a rule makes a join or a stage of it.
    Subquery(Box<Subquery>),
}

/// A subquery in an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// What is asked of its rows.
    pub kind: SubqueryKind,
    /// Its rows. It may read columns of the relations around it.
    pub rel: Rel,
    /// Its columns.
    pub columns: Vec<ColumnId>,
}

/// What is asked of a subquery's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryKind {
    /// The value of the only row, NULL if there is none.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// Whether a comparison of these values with the columns is true for some row: `IN`, `= ANY`, `< ANY`. Three outcomes.
    Any {
        /// The comparison of each value with its column.
        op: Operator,
        /// The values, one a column, of the columns' types.
        values: Vec<Expr>,
    },
    /// Whether it is true for all rows. Three outcomes.
    All {
        /// The comparison of each value with its column.
        op: Operator,
        /// The values, one a column, of the columns' types.
        values: Vec<Expr>,
    },
}

impl Expr {
    /// A constant.
    pub fn literal(value: ScalarValue) -> Expr {
        Expr { data_type: value.data_type(), kind: Kind::Literal(value) }
    }

    /// True, false or NULL.
    pub fn boolean(value: impl Into<Option<bool>>) -> Expr {
        Expr::literal(ScalarValue::Boolean(value.into()))
    }

    /// NULL of a type.
    pub fn null(data_type: &DataType) -> Expr {
        let value = ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null);
        Expr { kind: Kind::Literal(value), data_type: data_type.clone() }
    }

    /// What gives true, false or NULL.
    pub fn condition(kind: Kind) -> Expr {
        Expr { kind, data_type: DataType::Boolean }
    }

    /// A comparison of two values of one type.
    pub fn compare(left: Expr, op: Operator, right: Expr) -> Expr {
        Expr::condition(Kind::Binary(op, Box::new(left), Box::new(right)))
    }

    /// Whether all are true. Those that are conjunctions themselves are taken apart.
    pub fn and(terms: impl IntoIterator<Item = Expr>) -> Expr {
        let mut all = Vec::new();
        terms.into_iter().for_each(|term| term.split_into(&mut all));
        match all.len() {
            0 => Expr::boolean(true),
            1 => all.swap_remove(0),
            _ => Expr::condition(Kind::And(all)),
        }
    }

    /// Whether one is true.
    pub fn or(terms: impl IntoIterator<Item = Expr>) -> Expr {
        let mut all = Vec::new();
        for term in terms {
            match term.kind {
                Kind::Or(inner) => all.extend(inner),
                _ => all.push(term),
            }
        }
        match all.len() {
            0 => Expr::boolean(false),
            1 => all.swap_remove(0),
            _ => Expr::condition(Kind::Or(all)),
        }
    }

    /// Not true.
    #[expect(clippy::should_implement_trait, reason = "SQL's NOT, beside AND and OR")]
    pub fn not(self) -> Expr {
        Expr::condition(Kind::Not(Box::new(self)))
    }

    /// Whether it is NULL.
    pub fn is_null(self) -> Expr {
        Expr::condition(Kind::IsNull(Box::new(self)))
    }

    /// The terms of a conjunction, in their order.
    pub fn split(self) -> Vec<Expr> {
        let mut all = Vec::new();
        self.split_into(&mut all);
        all
    }

    fn split_into(self, all: &mut Vec<Expr>) {
        match self.kind {
            Kind::And(terms) => terms.into_iter().for_each(|term| term.split_into(all)),
            _ => all.push(self),
        }
    }

    /// The column that it reads and nothing else.
    pub fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            Kind::Column(id) => Some(id),
            _ => None,
        }
    }

    /// The constant that it is.
    pub fn as_literal(&self) -> Option<&ScalarValue> {
        match &self.kind {
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Its parts, without what stands inside the relation of a subquery.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_) => vec![],
            Kind::Binary(_, left, right) => vec![left, right],
            Kind::And(terms) | Kind::Or(terms) | Kind::Call { args: terms, .. } => terms.iter().collect(),
            Kind::Not(e) | Kind::IsNull(e) | Kind::Negative(e) | Kind::Cast { expr: e, .. } => vec![e],
            Kind::Case { operand, branches, otherwise } => {
                let branches = branches.iter().flat_map(|(when, then)| [when, then]);
                operand.as_deref().into_iter().chain(branches).chain(otherwise.as_deref()).collect()
            }
            Kind::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            Kind::Between { expr, low, high, .. } => vec![expr, low, high],
            Kind::Like { expr, pattern, .. } => vec![expr, pattern],
            Kind::Subquery(subquery) => match &subquery.kind {
                SubqueryKind::Any { values, .. } | SubqueryKind::All { values, .. } => {
                    values.iter().collect()
                }
                SubqueryKind::Scalar | SubqueryKind::Exists => vec![],
            },
        }
    }

    /// Its parts, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_) => vec![],
            Kind::Binary(_, left, right) => vec![left, right],
            Kind::And(terms) | Kind::Or(terms) | Kind::Call { args: terms, .. } => terms.iter_mut().collect(),
            Kind::Not(e) | Kind::IsNull(e) | Kind::Negative(e) | Kind::Cast { expr: e, .. } => vec![e],
            Kind::Case { operand, branches, otherwise } => {
                let branches = branches.iter_mut().flat_map(|(when, then)| [when, then]);
                operand.as_deref_mut().into_iter().chain(branches).chain(otherwise.as_deref_mut()).collect()
            }
            Kind::InList { expr, list, .. } => std::iter::once(&mut **expr).chain(list).collect(),
            Kind::Between { expr, low, high, .. } => vec![expr, low, high],
            Kind::Like { expr, pattern, .. } => vec![expr, pattern],
            Kind::Subquery(subquery) => match &mut subquery.kind {
                SubqueryKind::Any { values, .. } | SubqueryKind::All { values, .. } => {
                    values.iter_mut().collect()
                }
                SubqueryKind::Scalar | SubqueryKind::Exists => vec![],
            },
        }
    }

    /// Looks at each part, itself first, until `visit` says that it has seen enough of a part.
    pub fn look(&self, visit: &mut dyn FnMut(&Expr) -> bool) {
        if visit(self) {
            self.children().into_iter().for_each(|child| child.look(visit));
        }
    }

    /// Whether some part is as `is` says.
    pub fn any(&self, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
        is(self) || self.children().into_iter().any(|child| child.any(is))
    }

    /// Changes each part, those inside first.
    pub fn change(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        self.children_mut().into_iter().for_each(|child| child.change(change));
        change(self);
    }

    /// Changes each part, those inside first, until one can't be.
    ///
    /// # Errors
    /// That of the change.
    pub fn try_change<E>(&mut self, change: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        self.children_mut().into_iter().try_for_each(|child| child.try_change(change))?;
        change(self)
    }

    /// The columns that it reads, with those that its subqueries read of relations around them.
    pub fn columns(&self) -> BTreeSet<ColumnId> {
        let mut columns = BTreeSet::new();
        self.collect_columns(&mut columns);
        columns
    }

    /// Adds the columns that it reads.
    pub fn collect_columns(&self, columns: &mut BTreeSet<ColumnId>) {
        self.look(&mut |e| {
            match &e.kind {
                Kind::Column(id) => {
                    columns.insert(*id);
                }
                Kind::Subquery(subquery) => columns.extend(subquery.rel.free()),
                _ => {}
            }
            true
        });
    }

    /// Puts other expressions in the place of columns, inside subqueries too.
    pub fn replace(&mut self, with: &dyn Fn(ColumnId) -> Option<Expr>) {
        self.change(&mut |e| match &mut e.kind {
            Kind::Column(id) => {
                if let Some(other) = with(*id) {
                    *e = other;
                }
            }
            Kind::Subquery(subquery) => subquery.rel.replace_free(with),
            _ => {}
        });
    }

    /// Whether it has a value of its own each time that it is evaluated.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |e| match &e.kind {
            Kind::Call { function, .. } => function.signature().volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// Whether it has a subquery that no rule has taken out yet.
    pub fn has_subquery(&self) -> bool {
        self.any(&mut |e| matches!(e.kind, Kind::Subquery(_)))
    }

    /// Whether it is true, false or NULL for all rows: a literal.
    pub fn as_bool(&self) -> Option<Option<bool>> {
        match self.as_literal()? {
            ScalarValue::Boolean(value) => Some(*value),
            ScalarValue::Null => Some(None),
            _ => None,
        }
    }
}
