//! Scans: the columns that are read, and of which texts the beginnings are enough; and readers of stages.

use std::collections::BTreeMap;

use datafusion_common::ScalarValue;
use schema::ColumnPrefix;

use super::{Lowered, Lowering, bounds};
use crate::algebra::{ColumnId, Expr, Kind, Rel, Scan, Shared};
use crate::compile::Layout;
use crate::error::Result;
use crate::estimates;
use crate::plan::{self, Op};

impl Lowering<'_> {
    /// Lowers the scan with number `at`. `prefixes` are what its columns are seen through, if that is known.
    pub fn scan(
        &mut self,
        rel: &Rel,
        scan: &Scan,
        at: usize,
        prefixes: Vec<ColumnPrefix>,
    ) -> Result<Lowered> {
        let wanted = |id: &ColumnId| self.reads.is_wanted(*id, at);
        let (projection, ids): (Vec<usize>, Vec<ColumnId>) =
            scan.columns.iter().copied().enumerate().filter(|(_, id)| wanted(id)).unzip();
        let layout = Layout::new(ids, &self.columns);
        let estimate = estimates::of(rel, &[]);
        let op = Op::Scan(plan::Scan {
            table: scan.table.clone(),
            projection,
            bounds: bounds::bounds(scan),
            prefixes,
            filters: scan.bounds.iter().map(|e| self.columns.show_names(e)).collect(),
            fetch: scan.fetch,
            in_order: false,
            transform: scan.transform.clone(),
        });
        let mut node = self.node(op, layout.schema().clone(), vec![], estimate.rows);
        node.single = false;
        Ok(Lowered { node, layout, estimate })
    }

    /// Lowers a reader of a stage.
    pub fn shared(&mut self, rel: &Rel, shared: &Shared, at: usize) -> Result<Lowered> {
        self.stages.insert(shared.stage);
        let wanted = |id: &ColumnId| self.reads.is_wanted(*id, at);
        let (projection, ids): (Vec<usize>, Vec<ColumnId>) =
            shared.columns.iter().copied().enumerate().filter(|(_, id)| wanted(id)).unzip();
        let layout = Layout::new(ids, &self.columns);
        let estimate = estimates::of(rel, &[]);
        let Shared { stage, fetch, .. } = *shared;
        let op = Op::Shared(plan::Shared { stage, projection, fetch, in_order: false });
        let mut node = self.node(op, layout.schema().clone(), vec![], estimate.rows);
        node.single = false;
        Ok(Lowered { node, layout, estimate })
    }

    /// Lowers what lies below an operator that sees nothing of its columns but through these expressions.
    pub fn below(&mut self, rel: &Rel, at: usize, exprs: &[&Expr]) -> Result<Lowered> {
        match rel {
            Rel::Scan(node) => self.scan(rel, node, at, prefixes(node, exprs)),
            _ => self.rel(rel, at),
        }
    }
}

/// The columns of which expressions take nothing but the first characters, and how many at most.
fn prefixes(scan: &Scan, exprs: &[&Expr]) -> Vec<ColumnPrefix> {
    // For each column the characters that are wanted; all of them if it stands by itself.
    let mut wanted: BTreeMap<ColumnId, usize> = BTreeMap::new();
    let mut want = |id: ColumnId, chars: usize| {
        let most = wanted.entry(id).or_default();
        *most = chars.max(*most);
    };
    for e in exprs {
        e.look(&mut |e| match &e.kind {
            Kind::Column(id) => {
                want(*id, usize::MAX);
                true
            }
            Kind::Call { function, args } if function.name() == "substr" => match beginning(args) {
                Some((id, chars)) => {
                    want(id, chars);
                    false
                }
                None => true,
            },
            _ => true,
        });
    }
    let columns = scan.columns.iter().enumerate().filter_map(|(column, id)| {
        let chars = *wanted.get(id)?;
        (1..usize::MAX).contains(&chars).then_some(ColumnPrefix { column, chars })
    });
    columns.collect()
}

/// The column and the number of characters of `substr(column, 1, number)`.
fn beginning(args: &[Expr]) -> Option<(ColumnId, usize)> {
    let [text, start, length] = args else { return None };
    match (start.as_literal(), length.as_literal()) {
        (Some(ScalarValue::Int64(Some(1))), Some(ScalarValue::Int64(Some(chars)))) => {
            Some((text.as_column()?, usize::try_from(*chars).ok()?))
        }
        _ => None,
    }
}
