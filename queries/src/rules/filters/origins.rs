//! In which part of a tree a column is made.
//!
//! The relations of a tree are numbered in a walk from the top, so that those of each part have numbers that follow
//! each other. To know which side of a join has a column is a comparison of numbers. To ask each side for its columns
//! would take a time that grows with the square of the number of joins.

use crate::algebra::{ColumnId, Rel};

/// The relations of a tree by number.
#[derive(Debug, Default)]
pub struct Origins {
    /// The number of the relation that makes a column, by the number of the column.
    makers: Vec<Option<usize>>,
    /// How many relations there are in each part, by the number of the one at its top.
    sizes: Vec<usize>,
}

impl Origins {
    /// Numbers the relations of a tree.
    pub fn of(rel: &Rel) -> Origins {
        let mut origins = Origins::default();
        origins.add(rel);
        origins
    }

    fn add(&mut self, rel: &Rel) -> usize {
        let number = self.sizes.len();
        self.sizes.push(1);
        for id in rel.made_here() {
            let place = id.0 as usize;
            if place >= self.makers.len() {
                self.makers.resize(place + 1, None);
            }
            if let Some(maker) = self.makers.get_mut(place) {
                *maker = Some(number);
            }
        }
        let size = 1 + rel.inputs().into_iter().map(|input| self.add(input)).sum::<usize>();
        if let Some(known) = self.sizes.get_mut(number) {
            *known = size;
        }
        size
    }

    /// How many relations there are in the part whose top has a number.
    pub fn size(&self, top: usize) -> usize {
        self.sizes.get(top).copied().unwrap_or(1)
    }

    /// The number of the relation that makes a column.
    pub fn maker(&self, id: ColumnId) -> Option<usize> {
        self.makers.get(id.0 as usize).copied().flatten()
    }

    /// Whether a column is made in the part whose top has a number.
    pub fn is_in(&self, id: ColumnId, top: usize) -> bool {
        self.maker(id).is_some_and(|maker| (top..top + self.size(top)).contains(&maker))
    }
}
