//! Constants, unions and repeated rows.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use datafusion_common::ScalarValue;

use super::{Lowered, Lowering, invalid};
use crate::algebra::{ColumnId, Expr, Kind, Rel, Repeat, Union, Values};
use crate::compile::Layout;
use crate::error::Result;
use crate::estimates;
use crate::plan::{Node, Op};

/// A row of a relation of constants.
enum Row {
    Known(Vec<ScalarValue>),
    /// One that has the value of a subquery or a random number, or can't be computed: that is an error only if it is run.
    Computed(Vec<Expr>),
}

impl Lowering<'_> {
    /// Lowers rows of constants: they are computed here as far as they can be.
    pub fn values(&mut self, rel: &Rel, values: &Values, at: usize) -> Result<Lowered> {
        let wanted = values.columns.iter().copied().enumerate();
        let (places, ids): (Vec<usize>, Vec<ColumnId>) =
            wanted.filter(|(_, id)| self.reads.is_wanted(*id, at)).unzip();
        let layout = Layout::new(ids, &self.columns);
        let estimate = estimates::of(rel, &[]);
        let rows = values.rows.iter().map(|row| self.row(row, &places, &layout));
        let (mut known, mut nodes) = (Vec::new(), Vec::new());
        for row in rows.collect::<Vec<_>>() {
            match row {
                Row::Known(values) => known.push(values),
                Row::Computed(exprs) => nodes.push(self.computed_row(&exprs, &layout)?),
            }
        }
        if !known.is_empty() || nodes.is_empty() {
            let rows = known.len() as f64;
            let batches = if known.is_empty() { vec![] } else { vec![batch(&known, &layout)?] };
            nodes.insert(0, self.node(Op::Values(batches), layout.schema().clone(), vec![], rows));
        }
        let node = match nodes.len() {
            1 => nodes.swap_remove(0),
            _ => self.node(Op::Union, layout.schema().clone(), nodes, estimate.rows),
        };
        Ok(Lowered { node, layout, estimate })
    }

    fn row(&self, row: &[Expr], places: &[usize], layout: &Layout) -> Row {
        let cells = || places.iter().filter_map(|place| row.get(*place));
        let types = layout.schema().fields().iter().map(|field| field.data_type());
        let known = cells().zip(types).map(|(e, t)| {
            let value = self.constant(e)?;
            if value.data_type() == *t { Some(value) } else { value.cast_to(t).ok() }
        });
        known
            .collect::<Option<Vec<_>>>()
            .map_or_else(|| Row::Computed(cells().cloned().collect()), Row::Known)
    }

    /// The value of an expression without columns, if it is known by now.
    fn constant(&self, e: &Expr) -> Option<ScalarValue> {
        if let Some(value) = e.as_literal() {
            return Some(value.clone());
        }
        if e.is_volatile() || e.any(&mut |e| matches!(e.kind, Kind::Stage(_))) {
            return None;
        }
        self.compiler.constant(e).ok()
    }

    fn computed_row(&mut self, row: &[Expr], layout: &Layout) -> Result<Node> {
        let one = one_row()?;
        let exprs = row.iter().map(|e| self.compile(e, &Layout::empty())).collect::<Result<_>>()?;
        let input = self.node(Op::Values(vec![one.clone()]), one.schema(), vec![], 1.0);
        Ok(self.node(Op::Project { exprs }, layout.schema().clone(), vec![input], 1.0))
    }

    /// Lowers a union: each input gives the wanted columns in one order, that of the first one if it may.
    pub fn union(&mut self, rel: &Rel, union: &Union, at: usize) -> Result<Lowered> {
        let mut given: Vec<(usize, ColumnId)> = union.columns.iter().copied().enumerate().collect();
        given.retain(|(_, id)| self.reads.is_wanted(*id, at));
        self.reads.arrange(&mut given, |(_, id)| *id);
        let mut input_at = at + 1;
        let (mut nodes, mut estimates) = (Vec::new(), Vec::new());
        for (input, from) in &union.inputs {
            let next = self.reads.next(input_at);
            let rows = self.rel(input, input_at)?;
            let ids: Vec<ColumnId> = given.iter().filter_map(|(i, _)| from.get(*i).copied()).collect();
            let Lowered { node, estimate, .. } = self.arranged(rows, &ids)?;
            nodes.push(node);
            estimates.push(estimate);
            input_at = next;
        }
        let estimate = estimates::of(rel, &estimates.iter().collect::<Vec<_>>());
        let layout = Layout::new(given.into_iter().map(|(_, id)| id).collect(), &self.columns);
        let schema = layout.schema().clone();
        let node = match nodes.is_empty() {
            true => self.node(Op::Values(vec![]), schema, vec![], 0.0),
            false => self.node(Op::Union, schema, nodes, estimate.rows),
        };
        Ok(Lowered { node, layout, estimate })
    }

    /// Gives each row as often as its last column says.
    pub fn repeat(&mut self, rel: &Rel, repeat: &Repeat, at: usize) -> Result<Lowered> {
        let input = self.rel(&repeat.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        let mut ids = self.wanted(&input, at);
        let layout = Layout::new(ids.clone(), &self.columns);
        ids.push(repeat.times);
        let node = self.arranged(input, &ids)?.node;
        let node = self.node(Op::Repeat, layout.schema().clone(), vec![node], estimate.rows);
        Ok(Lowered { node, layout, estimate })
    }
}

/// One row without columns.
fn one_row() -> Result<RecordBatch> {
    batch(&[vec![]], &Layout::empty())
}

fn batch(rows: &[Vec<ScalarValue>], layout: &Layout) -> Result<RecordBatch> {
    let mut columns = Vec::with_capacity(layout.ids().len());
    for (i, field) in layout.schema().fields().iter().enumerate() {
        let array = ScalarValue::iter_to_array(rows.iter().filter_map(|row| row.get(i).cloned()))?;
        columns.push(arrow_cast::cast(&array, field.data_type()).map_err(invalid)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(layout.schema()), columns, &options).map_err(invalid)
}
