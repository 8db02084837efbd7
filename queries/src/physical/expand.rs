//! Grouping sets.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_physical_expr::expressions::Literal;

use super::{Lowered, Lowering, column};
use crate::algebra::{ColumnId, Expand, Rel};
use crate::compile::Layout;
use crate::error::{Error, Result};
use crate::estimates;
use crate::plan::{self, Op};

impl Lowering<'_> {
    /// Gives each row once for each grouping set. First come the columns that are wanted of the input. Then come the
    /// wanted keys, NULL where the set leaves one out, and what tells the sets apart.
    pub fn expand(&mut self, rel: &Rel, expand: &Expand, at: usize) -> Result<Lowered> {
        let input = self.rel(&expand.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        let schema = input.layout.schema();
        let passed = input.layout.ids().iter().copied().enumerate();
        let passed: Vec<(usize, ColumnId)> = passed.filter(|(_, id)| self.reads.is_wanted(*id, at)).collect();
        let mut keys = Vec::new();
        for (number, (id, from)) in expand.keys.iter().enumerate() {
            if self.reads.is_wanted(*id, at) {
                let present = self.compiler.compile(&self.columns.read(*from), &input.layout)?;
                let absent = ScalarValue::try_from(&self.columns.get(*from).data_type)?;
                keys.push((number, *id, present, Arc::new(Literal::new(absent)) as plan::Expr));
            }
        }
        let tells_apart = self.reads.is_wanted(expand.id, at);

        let mut sets = Vec::with_capacity(expand.sets.len());
        for (set, number) in expand.sets.iter().zip(identifiers(expand)?) {
            let mut exprs: Vec<plan::Expr> = passed.iter().map(|(i, _)| column(schema, *i)).collect();
            exprs.extend(keys.iter().map(|(number, _, present, absent)| {
                if set.contains(number) { present.clone() } else { absent.clone() }
            }));
            if tells_apart {
                exprs.push(Arc::new(Literal::new(ScalarValue::UInt64(Some(number)))));
            }
            sets.push(exprs);
        }
        let ids = passed.iter().map(|(_, id)| *id).chain(keys.iter().map(|(_, id, ..)| *id));
        let ids = ids.chain(tells_apart.then_some(expand.id)).collect();
        let layout = Layout::new(ids, &self.columns);
        let node = self.node(Op::Expand { sets }, layout.schema().clone(), vec![input.node], estimate.rows);
        Ok(Lowered { node, layout, estimate })
    }
}

/// For each set a bit for each key, the first key's the most significant, 1 where it is left out. Above them the number
/// of earlier sets with the same bits.
fn identifiers(expand: &Expand) -> Result<Vec<u64>> {
    let count = expand.keys.len();
    let too_many = || Error::Unsupported("GROUPING SETS of so many columns".into());
    let mut seen = std::collections::BTreeMap::new();
    let mut all = Vec::with_capacity(expand.sets.len());
    for set in &expand.sets {
        let bit = |key: usize| u64::from(!set.contains(&key));
        let bits = (0..count).fold(0_u64, |bits, key| bits << 1 | bit(key));
        let earlier: &mut u64 = seen.entry(bits).or_insert(0);
        let above = u32::try_from(count).ok().and_then(|count| earlier.checked_shl(count));
        let above = above.filter(|above| count < 64 && above >> count == *earlier).ok_or_else(too_many)?;
        all.push(above | bits);
        *earlier += 1;
    }
    Ok(all)
}
