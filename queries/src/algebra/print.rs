//! Relations and expressions as text: what a test of a rule compares, and what an error shows.

use std::fmt::{self, Write};

use super::window::{Bound, Frame};
use super::{
    Call, ColumnId, Columns, Expr, JoinKind, Kind, Rel, SortKey, Subquery, SubqueryKind, WindowCall,
};

/// Text that is being written.
struct Text {
    text: String,
    /// Whether the number of a column stands behind its name.
    numbered: bool,
}

impl Text {
    fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl Columns {
    /// An expression as text.
    pub fn show(&self, e: &Expr) -> String {
        let mut out = Text { text: String::new(), numbered: true };
        // Writing to a string does not fail.
        let _ = self.expr(&mut out, e);
        out.text
    }

    /// An expression as text, columns by their names alone.
    pub fn show_names(&self, e: &Expr) -> String {
        let mut out = Text { text: String::new(), numbered: false };
        let _ = self.expr(&mut out, e);
        out.text
    }

    /// A relation as text, a line a node, inputs indented below it.
    pub fn show_rel(&self, rel: &Rel) -> String {
        let mut out = Text { text: String::new(), numbered: true };
        let _ = self.rel(&mut out, rel, 0);
        out.text
    }

    fn column(&self, out: &mut Text, id: ColumnId) -> fmt::Result {
        out.push_str(&self.get(id).name);
        if out.numbered { write!(out, "#{}", id.0) } else { Ok(()) }
    }

    fn columns(&self, out: &mut Text, ids: &[ColumnId]) -> fmt::Result {
        self.list(out, ids, |out, id| self.column(out, *id))
    }

    fn list<T>(
        &self,
        out: &mut Text,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Text, T) -> fmt::Result,
    ) -> fmt::Result {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            write(out, item)?;
        }
        Ok(())
    }

    fn exprs<'a>(&self, out: &mut Text, exprs: impl IntoIterator<Item = &'a Expr>) -> fmt::Result {
        self.list(out, exprs, |out, e| self.expr(out, e))
    }

    fn computed(&self, out: &mut Text, exprs: &[(ColumnId, Expr)]) -> fmt::Result {
        self.list(out, exprs, |out, (id, e)| {
            self.column(out, *id)?;
            out.push_str(" := ");
            self.expr(out, e)
        })
    }

    fn joined(&self, out: &mut Text, terms: &[Expr], by: &str) -> fmt::Result {
        for (i, term) in terms.iter().enumerate() {
            if i > 0 {
                write!(out, " {by} ")?;
            }
            self.within(out, term)?;
        }
        Ok(())
    }

    /// An expression as a part of another one.
    fn within(&self, out: &mut Text, e: &Expr) -> fmt::Result {
        let is_single = matches!(
            e.kind,
            Kind::Column(_) | Kind::Literal(_) | Kind::Call { .. } | Kind::Cast { .. } | Kind::Stage(_)
        );
        if is_single {
            return self.expr(out, e);
        }
        out.push('(');
        self.expr(out, e)?;
        out.push(')');
        Ok(())
    }

    fn expr(&self, out: &mut Text, e: &Expr) -> fmt::Result {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match &e.kind {
            Kind::Column(id) => self.column(out, *id),
            Kind::Literal(value) => write!(out, "{value}"),
            Kind::Binary(op, left, right) => {
                self.within(out, left)?;
                write!(out, " {op} ")?;
                self.within(out, right)
            }
            Kind::And(terms) => self.joined(out, terms, "AND"),
            Kind::Or(terms) => self.joined(out, terms, "OR"),
            Kind::Not(inner) => {
                out.push_str("NOT ");
                self.within(out, inner)
            }
            Kind::IsNull(inner) => {
                self.within(out, inner)?;
                out.push_str(" IS NULL");
                Ok(())
            }
            Kind::Negative(inner) => {
                out.push('-');
                self.within(out, inner)
            }
            Kind::Cast { expr, safe } => {
                out.push_str(if *safe { "TRY_CAST(" } else { "CAST(" });
                self.expr(out, expr)?;
                write!(out, " AS {})", e.data_type)
            }
            Kind::Case { operand, branches, otherwise } => {
                out.push_str("CASE");
                if let Some(operand) = operand {
                    out.push(' ');
                    self.within(out, operand)?;
                }
                for (when, then) in branches {
                    out.push_str(" WHEN ");
                    self.expr(out, when)?;
                    out.push_str(" THEN ");
                    self.expr(out, then)?;
                }
                if let Some(otherwise) = otherwise {
                    out.push_str(" ELSE ");
                    self.expr(out, otherwise)?;
                }
                out.push_str(" END");
                Ok(())
            }
            Kind::InList { expr, list, negated } => {
                self.within(out, expr)?;
                write!(out, " {}IN (", not(*negated))?;
                self.exprs(out, list)?;
                out.push(')');
                Ok(())
            }
            Kind::Between { expr, low, high, negated } => {
                self.within(out, expr)?;
                write!(out, " {}BETWEEN ", not(*negated))?;
                self.within(out, low)?;
                out.push_str(" AND ");
                self.within(out, high)
            }
            Kind::Like { expr, pattern, negated, case_insensitive } => {
                self.within(out, expr)?;
                write!(out, " {}{} ", not(*negated), if *case_insensitive { "ILIKE" } else { "LIKE" })?;
                self.within(out, pattern)
            }
            Kind::Call { function, args } => {
                write!(out, "{}(", function.name())?;
                self.exprs(out, args)?;
                out.push(')');
                Ok(())
            }
            Kind::Stage(number) => write!(out, "stage {number}"),
            Kind::Subquery(subquery) => self.subquery(out, subquery),
        }
    }

    fn subquery(&self, out: &mut Text, subquery: &Subquery) -> fmt::Result {
        match &subquery.kind {
            SubqueryKind::Scalar => {}
            SubqueryKind::Exists => out.push_str("EXISTS "),
            SubqueryKind::Any { op, values } | SubqueryKind::All { op, values } => {
                self.exprs(out, values)?;
                let all = matches!(subquery.kind, SubqueryKind::All { .. });
                write!(out, " {op} {} ", if all { "ALL" } else { "ANY" })?;
            }
        }
        out.push_str("(subquery of ");
        self.columns(out, &subquery.columns)?;
        out.push(')');
        Ok(())
    }

    fn keys(&self, out: &mut Text, keys: &[SortKey]) -> fmt::Result {
        self.list(out, keys, |out, key| {
            self.expr(out, &key.expr)?;
            out.push_str(if key.descending { " DESC" } else { "" });
            out.push_str(if key.nulls_first { " NULLS FIRST" } else { "" });
            Ok(())
        })
    }

    fn call(&self, out: &mut Text, call: &Call) -> fmt::Result {
        write!(out, "{}({}", call.function.name(), if call.distinct { "DISTINCT " } else { "" })?;
        self.exprs(out, &call.args)?;
        if !call.order_by.is_empty() {
            out.push_str(" ORDER BY ");
            self.keys(out, &call.order_by)?;
        }
        out.push(')');
        if let Some(filter) = &call.filter {
            out.push_str(" FILTER ");
            self.within(out, filter)?;
        }
        Ok(())
    }

    fn window_call(&self, out: &mut Text, call: &WindowCall) -> fmt::Result {
        write!(out, "{}({}", call.function.name(), if call.distinct { "DISTINCT " } else { "" })?;
        self.exprs(out, &call.args)?;
        out.push_str(if call.ignore_nulls { " IGNORE NULLS)" } else { ")" });
        if let Some(filter) = &call.filter {
            out.push_str(" FILTER ");
            self.within(out, filter)?;
        }
        let Frame { units, start, end, exclude, key } = &call.frame;
        write!(out, " over {} keys {units} ", call.order)?;
        if let Some(key) = key {
            self.within(out, key)?;
            out.push(' ');
        }
        self.bound(out, start)?;
        out.push_str(" to ");
        self.bound(out, end)?;
        write!(out, "{exclude}")
    }

    fn bound(&self, out: &mut Text, bound: &Bound) -> fmt::Result {
        match bound {
            Bound::First => out.push_str("first"),
            Bound::Before(n) => write!(out, "{n} before")?,
            Bound::Current => out.push_str("current"),
            Bound::After(n) => write!(out, "{n} after")?,
            Bound::Last => out.push_str("last"),
            Bound::Value(value) => self.within(out, value)?,
        }
        Ok(())
    }

    fn rel(&self, out: &mut Text, rel: &Rel, depth: usize) -> fmt::Result {
        write!(out, "{:1$}", "", 2 * depth)?;
        match rel {
            Rel::Scan(node) => {
                write!(out, "scan {} ", node.table.name)?;
                self.columns(out, &node.columns)?;
                if !node.bounds.is_empty() {
                    out.push_str(" bounds ");
                    self.joined(out, &node.bounds, "AND")?;
                }
                if let Some(fetch) = node.fetch {
                    write!(out, " fetch {fetch}")?;
                }
            }
            Rel::Values(node) => {
                write!(out, "values of {} rows ", node.rows.len())?;
                self.columns(out, &node.columns)?;
            }
            Rel::Filter(node) => {
                out.push_str("filter ");
                self.joined(out, &node.predicates, "AND")?;
            }
            Rel::Map(node) => {
                out.push_str("map ");
                self.computed(out, &node.exprs)?;
            }
            Rel::Join(node) => {
                let kind = match node.kind {
                    JoinKind::Inner => "inner",
                    JoinKind::Left => "left",
                    JoinKind::Full => "full",
                    JoinKind::Semi => "semi",
                    JoinKind::Anti => "anti",
                    JoinKind::AntiNullAware => "anti null-aware",
                    JoinKind::Mark(_) => "mark",
                    JoinKind::Single => "single",
                };
                write!(out, "{kind} join ")?;
                if let JoinKind::Mark(mark) = node.kind {
                    self.column(out, mark)?;
                    out.push(' ');
                }
                self.joined(out, &node.predicates, "AND")?;
            }
            Rel::Aggregate(node) => {
                out.push_str("aggregate by ");
                self.columns(out, &node.keys)?;
                for (id, call) in &node.calls {
                    out.push_str("; ");
                    self.column(out, *id)?;
                    out.push_str(" := ");
                    self.call(out, call)?;
                }
                if !node.totals.is_empty() {
                    write!(out, "; {} totals", node.totals.len())?;
                }
            }
            Rel::Window(node) => {
                out.push_str("window by ");
                self.exprs(out, &node.partition)?;
                out.push_str(" order ");
                self.keys(out, &node.order)?;
                for (id, call) in &node.calls {
                    out.push_str("; ");
                    self.column(out, *id)?;
                    out.push_str(" := ");
                    self.window_call(out, call)?;
                }
            }
            Rel::Expand(node) => {
                out.push_str("expand ");
                self.list(out, &node.keys, |out, (id, from)| {
                    self.column(out, *id)?;
                    out.push_str(" := ");
                    self.column(out, *from)
                })?;
                write!(out, " sets {:?} ", node.sets)?;
                self.column(out, node.id)?;
            }
            Rel::Sort(node) => {
                out.push_str("sort ");
                self.keys(out, &node.keys)?;
                if let Some(fetch) = node.fetch {
                    write!(out, " fetch {fetch}")?;
                }
            }
            Rel::Limit(node) => {
                write!(
                    out,
                    "limit {} from {}",
                    node.fetch.map_or("all".into(), |n| n.to_string()),
                    node.skip
                )?;
            }
            Rel::Union(node) => {
                out.push_str("union ");
                self.columns(out, &node.columns)?;
                for (_, from) in &node.inputs {
                    out.push_str(" of ");
                    self.columns(out, from)?;
                }
            }
            Rel::Repeat(node) => {
                out.push_str("repeat ");
                self.column(out, node.times)?;
            }
            Rel::Unnest(node) => {
                out.push_str(if node.keeps { "unnest, keeping " } else { "unnest " });
                self.computed(out, &node.lists)?;
                if let Some(place) = node.place {
                    out.push_str(" place ");
                    self.column(out, place)?;
                }
            }
            Rel::Shared(node) => {
                write!(out, "shared {} ", node.stage)?;
                self.columns(out, &node.columns)?;
                if let Some(fetch) = node.fetch {
                    write!(out, " fetch {fetch}")?;
                }
            }
        }
        out.push('\n');
        rel.inputs().into_iter().try_for_each(|input| self.rel(out, input, depth + 1))
    }
}
