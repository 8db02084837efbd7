//! Where the values of wanted columns are noted, and which column the key of a field names.

use std::collections::HashMap;

use crate::format::ScanOptions;

/// Where the values of wanted columns are noted. A column that is wanted twice has one slot.
pub struct ColumnSlots {
    /// For each column of the schema its slot, if it is wanted.
    pub of_schema: Vec<Option<usize>>,
    /// For each column of the batch its slot.
    pub of_batch: Vec<usize>,
    /// How many there are.
    pub count: usize,
}

impl ColumnSlots {
    /// The slots of the columns that a scan wants.
    pub fn new(scan: &ScanOptions) -> ColumnSlots {
        let mut slots =
            ColumnSlots { of_schema: vec![None; scan.schema.fields().len()], of_batch: Vec::new(), count: 0 };
        for &column in &scan.projection {
            let slot = *slots.of_schema[column].get_or_insert_with(|| {
                slots.count += 1;
                slots.count - 1
            });
            slots.of_batch.push(slot);
        }
        slots
    }
}

/// Finds the slot of a key: the place where the values of its column are noted.
pub struct Keys {
    by_name: HashMap<Vec<u8>, usize>,
    /// The keys of the record before, in order, with their slots: most records have the same.
    order: Vec<(Vec<u8>, Option<usize>)>,
}

impl Keys {
    /// Finds the columns that a scan wants by their names.
    pub fn new(scan: &ScanOptions, slots: &ColumnSlots) -> Keys {
        let named = scan.schema.fields().iter().zip(&slots.of_schema);
        Keys::of(named.filter_map(|(field, slot)| Some((field.name().as_str(), (*slot)?))))
    }

    /// Finds the slots of these names.
    pub fn of<'a>(names: impl Iterator<Item = (&'a str, usize)>) -> Keys {
        let by_name = names.map(|(name, slot)| (name.as_bytes().to_vec(), slot)).collect();
        Keys { by_name, order: Vec::new() }
    }

    /// The slot of the key that is number `place` in its record, from its bytes as they stand; `decode` makes a name
    /// of them.
    #[inline]
    pub fn slot(
        &mut self,
        place: usize,
        raw: &[u8],
        decode: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<usize> {
        match self.order.get(place) {
            Some((key, slot)) if key == raw => *slot,
            _ => self.look_up(place, raw, decode(raw)),
        }
    }

    /// The key that the record before had at this place, as it stood.
    #[inline]
    pub fn expected(&self, place: usize) -> Option<&[u8]> {
        self.order.get(place).map(|(key, _)| key.as_slice())
    }

    /// The slot of that key.
    #[inline]
    pub fn expected_slot(&self, place: usize) -> Option<usize> {
        self.order.get(place).and_then(|(_, slot)| *slot)
    }

    #[cold]
    fn look_up(&mut self, place: usize, raw: &[u8], name: Option<Vec<u8>>) -> Option<usize> {
        // What is no text has the name that it was given where columns were inferred.
        let slot = name.and_then(|name| self.by_name.get(String::from_utf8_lossy(&name).as_bytes()).copied());
        self.order.truncate(place);
        if self.order.len() == place {
            self.order.push((raw.to_vec(), slot));
        }
        slot
    }
}
