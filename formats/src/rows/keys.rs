//! Where the values of wanted columns are noted, and which column the key of a field names. Keys that name no column are
//! counted where columns were inferred: a key that comes later than the records that were looked at must not be lost in
//! silence.

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

/// The slot of a key that names no column, where columns were inferred. No value is noted there.
pub const UNKNOWN: usize = usize::MAX;

/// Values under keys that name no column.
#[derive(Debug, Default)]
pub struct Unknown {
    /// How many they are.
    pub values: u64,
    /// The least of the keys, so that it does not depend on how files are cut.
    pub key: Vec<u8>,
}

impl Unknown {
    /// Notes a value under this key.
    #[cold]
    pub fn see(&mut self, key: &[u8]) {
        if self.values == 0 || key < self.key.as_slice() {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.values += 1;
    }

    /// Adds those of another column.
    pub fn add(&mut self, other: Unknown) {
        if other.values > 0 {
            self.see(&other.key);
            self.values += other.values - 1;
        }
    }
}

/// Finds the slot of a key: the place where the values of its column are noted.
pub struct Keys {
    /// The slots of columns; nothing for those that are not wanted.
    by_name: HashMap<Vec<u8>, Option<usize>>,
    /// The slot of all other keys.
    other: Option<usize>,
    /// The keys of the record before, in order, with their slots: most records have the same.
    order: Vec<(Vec<u8>, Option<usize>)>,
}

impl Keys {
    /// Finds the columns that a scan wants by their names.
    pub fn new(scan: &ScanOptions, slots: &ColumnSlots) -> Keys {
        let named = scan.schema.fields().iter().zip(&slots.of_schema);
        let named = named.map(|(field, slot)| (field.name().as_bytes().to_vec(), *slot));
        // A schema that was given leaves out what it does not name.
        match scan.format.open_keys {
            true => Keys { by_name: named.collect(), other: Some(UNKNOWN), order: Vec::new() },
            false => {
                let by_name = named.filter(|(_, slot)| slot.is_some()).collect();
                Keys { by_name, other: None, order: Vec::new() }
            }
        }
    }

    /// Finds the slots of these names. Other keys are [`UNKNOWN`].
    pub fn of<'a>(names: impl Iterator<Item = (&'a str, usize)>) -> Keys {
        let by_name = names.map(|(name, slot)| (name.as_bytes().to_vec(), Some(slot))).collect();
        Keys { by_name, other: Some(UNKNOWN), order: Vec::new() }
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

    /// The slot of a name.
    pub fn named(&self, name: Vec<u8>) -> Option<usize> {
        // What is no text has the name that it was given where columns were inferred.
        let slot = self.by_name.get(String::from_utf8_lossy(&name).as_bytes());
        slot.copied().unwrap_or(self.other)
    }

    #[cold]
    fn look_up(&mut self, place: usize, raw: &[u8], name: Option<Vec<u8>>) -> Option<usize> {
        let slot = name.and_then(|name| self.named(name));
        self.order.truncate(place);
        if self.order.len() == place {
            self.order.push((raw.to_vec(), slot));
        }
        slot
    }
}
