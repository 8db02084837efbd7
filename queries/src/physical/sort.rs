//! Orders and limits.

use std::collections::BTreeSet;

use arrow_schema::SortOptions;

use super::{Lowered, Lowering, column};
use crate::algebra::{ColumnId, Limit, Rel, Sort};
use crate::error::Result;
use crate::estimates;
use crate::plan::{Exchange, Node, Op, SortKey};

impl Lowering<'_> {
    /// Sorts on each worker, then merges the runs on worker 0. A key that has to be computed is made a column first, so that
    /// it is computed once, and a random one keeps its value.
    pub fn sort(&mut self, rel: &Rel, sort: &Sort, at: usize) -> Result<Lowered> {
        let input = self.rel(&sort.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        if sort.keys.is_empty() {
            let node = match sort.fetch {
                Some(_) => self.limited(input.node, 0, sort.fetch),
                None => input.node,
            };
            return Ok(Lowered { node, estimate, ..input });
        }
        let mut computed = Vec::new();
        let mut ids = Vec::with_capacity(sort.keys.len());
        for key in &sort.keys {
            ids.push(match key.expr.as_column() {
                Some(id) => id,
                None => {
                    let name = format!("key {}", computed.len());
                    let id = self.columns.add(name, key.expr.data_type.clone());
                    computed.push((id, key.expr.clone()));
                    id
                }
            });
        }
        let of_keys: BTreeSet<ColumnId> = ids.iter().copied().collect();
        let kept = input.layout.ids().iter().copied();
        let kept = kept.filter(|id| self.reads.is_wanted(*id, at) || of_keys.contains(id)).collect();
        let input = self.computing(input, kept, computed)?;

        let schema = input.layout.schema().clone();
        let mut keys = Vec::with_capacity(ids.len());
        for (key, id) in sort.keys.iter().zip(ids) {
            let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            let expr = match input.layout.position(id) {
                Some(position) => column(&schema, position),
                None => self.compile(&self.columns.read(id), &input.layout)?,
            };
            keys.push(SortKey { expr, options });
        }
        let (rows, single) = (estimate.rows, input.node.single);
        let op = Op::Sort { keys: keys.clone(), fetch: sort.fetch };
        let mut node = self.node(op, schema, vec![input.node], rows);
        if !single {
            node = self.exchange(Exchange::Merge { keys, fetch: sort.fetch }, node);
        }
        Ok(Lowered { node, layout: input.layout, estimate })
    }

    /// Lowers a limit.
    pub fn limit(&mut self, rel: &Rel, limit: &Limit, at: usize) -> Result<Lowered> {
        let input = self.rel(&limit.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        if limit.skip == 0 && limit.fetch.is_none() {
            return Ok(Lowered { estimate, ..input });
        }
        let node = self.limited(input.node, limit.skip, limit.fetch);
        Ok(Lowered { node, estimate, ..input })
    }

    /// Keeps a range of rows: as many as are wanted at most on each worker, then on worker 0.
    fn limited(&mut self, mut input: Node, skip: usize, fetch: Option<usize>) -> Node {
        let schema = input.schema.clone();
        if !input.single {
            if let Some(n) = fetch {
                let enough = n.saturating_add(skip);
                let rows = input.rows.min(enough as f64);
                let each = Op::Limit { skip: 0, fetch: Some(enough) };
                input = self.node(each, schema.clone(), vec![input], rows);
            }
            input = self.gather(input, fetch.is_some());
        }
        let rows = fetch.map_or(input.rows, |n| input.rows.min(n as f64));
        self.node(Op::Limit { skip, fetch }, schema, vec![input], rows)
    }
}
