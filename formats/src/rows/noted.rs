//! Where the fields of structs lie, as far as that was noted while their records were walked over. Then nobody walks over
//! a struct again to take it apart.
//!
//! A record's places begin with one for each slot of its columns. Behind these comes one that says whether fields were
//! noted, and then one for each field.

use arrow_schema::{DataType, Fields};

use super::keys::{ColumnSlots, Keys};
use super::walk::{MISSING, Span};
use crate::format::ScanOptions;

/// The fields of so many structs are noted, in all columns together: each takes room in every record.
const MOST: usize = 256;

/// What stands in the place that says so if fields were noted.
const WERE_NOTED: Span = (usize::MAX, usize::MAX);

/// The places of the fields of a struct.
pub struct StructPlaces {
    /// That of the first field.
    pub first: usize,
    /// Which field a key names.
    pub keys: Keys,
    /// Those of the structs among the fields.
    pub within: Vec<Option<StructPlaces>>,
}

impl StructPlaces {
    /// Those of a struct whose first field has this place; `next` is the place behind all of them.
    fn of(fields: &Fields, next: &mut usize, end: usize) -> Option<StructPlaces> {
        let first = *next;
        if fields.is_empty() || fields.len() > end - first {
            return None;
        }
        *next += fields.len();
        let within = fields.iter().map(|field| match field.data_type() {
            DataType::Struct(fields) => StructPlaces::of(fields, next, end),
            _ => None,
        });
        let keys = Keys::of(fields.iter().enumerate().map(|(i, field)| (field.name().as_str(), i)));
        Some(StructPlaces { first, within: within.collect(), keys })
    }
}

/// The places of a record's columns and of the fields in them.
pub struct Places {
    /// For each slot of a column those of its fields, if it is a struct.
    pub of_slots: Vec<Option<StructPlaces>>,
    /// How many places a record has.
    pub each: usize,
}

impl Places {
    /// Those of the columns that a scan wants.
    pub fn of(scan: &ScanOptions, slots: &ColumnSlots) -> Places {
        let mut of_slots: Vec<_> = (0..slots.count).map(|_| None).collect();
        let first = slots.count + 1;
        let mut next = first;
        for (field, slot) in scan.schema.fields().iter().zip(&slots.of_schema) {
            if let (DataType::Struct(fields), Some(slot)) = (field.data_type(), slot) {
                of_slots[*slot] = StructPlaces::of(fields, &mut next, first + MOST);
            }
        }
        Places { of_slots, each: if next == first { slots.count } else { next } }
    }

    /// Notes nothing of a record's fields yet, or that all of them were noted.
    pub fn begin(&self, record: &mut [Span], were_noted: bool) {
        if let Some((said, fields)) = record[self.of_slots.len()..].split_first_mut() {
            *said = if were_noted { WERE_NOTED } else { MISSING };
            fields.fill(MISSING);
        }
    }

    /// What was noted in the column of a slot, of records one after another.
    pub fn noted<'a>(&'a self, found: &'a [Span], slot: usize) -> Option<Noted<'a>> {
        let places = self.of_slots[slot].as_ref()?;
        Some(Noted { found, each: self.each, said: self.of_slots.len(), places })
    }
}

/// What was noted of the structs of a column.
#[derive(Clone, Copy)]
pub struct Noted<'a> {
    /// The places of records from the one on that has the first of the structs.
    found: &'a [Span],
    each: usize,
    said: usize,
    places: &'a StructPlaces,
}

impl<'a> Noted<'a> {
    /// Where the fields of a struct lie; `None` if that was not noted.
    #[inline(always)]
    pub fn fields(&self, nth: usize) -> Option<&'a [Span]> {
        let record = &self.found[nth * self.each..][..self.each];
        let width = self.places.within.len();
        (record[self.said] == WERE_NOTED).then(|| &record[self.places.first..][..width])
    }

    /// What was noted of a field, if it is a struct itself, from this struct on.
    pub fn within(&self, field: usize, nth: usize) -> Option<Noted<'a>> {
        let places = self.places.within[field].as_ref()?;
        Some(Noted { found: &self.found[nth * self.each..], places, ..*self })
    }
}
