//! Columns of lists, structs and maps under construction.
//!
//! The values of a range are taken apart into the places of the values in them, some thousand at a time. Columns of
//! their own are extended by these. So no work goes deeper than the column's type, however deep a value is nested.
//!
//! A value that holds a bad one is bad, and NULL as a whole. What of it has reached the columns within by then is left
//! out when the array is made. So of a struct that is NULL the fields are NULL too, and lists that are NULL are empty
//! (`arrays`).

mod arrays;

use arrow_schema::{DataType, FieldRef, Fields};

use super::column::{Bad, Column, Found, TextBlock, Within};
use super::keys::{Keys, UNKNOWN, Unknown};
use super::syntax::{Syntax, Token};
use super::walk::{MISSING, Span, is_missing, spans};

/// So many places are gathered before the columns within are extended by them.
const GATHERED: usize = 4096;

/// Lists of one size have at most so many items: those that are NULL take as much room as the others.
const MOST_FIXED: i32 = 1 << 16;

/// A column of lists, structs or maps.
pub struct Nested {
    kind: Kind,
    /// The columns within: the items; the fields; the keys and the values.
    columns: Vec<Column>,
    /// The way to each of them, for errors.
    paths: Vec<String>,
    /// Where the items of each row end; of structs none is looked at.
    ends: Vec<i32>,
    /// Whether there were more items than offsets of lists can count: lists of one size in lists can ask for that.
    overflows: bool,
    rows: usize,
    /// Rows that are NULL, those that were bad among them.
    nulls: Vec<u32>,
    /// Rows that were bad: what lies in them is to be left out.
    spoiled: Vec<u32>,
    /// The places that were gathered, one for each column in turn.
    places: Vec<Span>,
}

enum Kind {
    List(FieldRef),
    /// Lists of so many items each.
    Fixed(FieldRef, usize),
    Struct(Fields, Keys),
    /// The struct of an entry, its fields, and whether keys are said to be in order.
    Map(FieldRef, Fields, bool),
}

/// What is wrong with values of a stretch.
#[derive(Default)]
struct Faults {
    bad: Vec<Bad>,
    /// The first of them, and where in it the bad value lies.
    first: Option<(Bad, Option<Within>)>,
}

impl Faults {
    fn add(&mut self, bad: Bad, within: impl FnOnce() -> Option<Within>) {
        if self.first.as_ref().is_none_or(|(first, _)| bad.record < first.record) {
            self.first = Some((bad, within()));
        }
        self.bad.push(bad);
    }
}

/// The values of a stretch that are being taken apart.
struct Stage<'a, 'b, S> {
    syntax: S,
    stretch: &'a TextBlock<'b>,
    /// Where the values lie.
    values: &'a [Span],
    /// The row of the first of them.
    first_row: usize,
    faults: Faults,
    replaced: u64,
    unknown: Unknown,
}

impl Nested {
    /// An empty column of a type that holds others, in which at most so many more are nested. An error is a type that
    /// can't be read.
    pub fn new(data_type: &DataType, most: usize) -> Result<Nested, DataType> {
        let within = |fields: &[FieldRef]| {
            fields
                .iter()
                .map(|f| Column::of(f.data_type(), f.is_nullable(), most))
                .collect::<Result<Vec<_>, _>>()
        };
        let (kind, columns, paths) = match data_type {
            DataType::List(item) => {
                (Kind::List(item.clone()), within(std::slice::from_ref(item))?, vec!["[]".to_string()])
            }
            DataType::FixedSizeList(item, size @ 1..=MOST_FIXED) => (
                Kind::Fixed(item.clone(), *size as usize),
                within(std::slice::from_ref(item))?,
                vec!["[]".to_string()],
            ),
            DataType::Struct(fields) => {
                let names = fields.iter().enumerate().map(|(i, field)| (field.name().as_str(), i));
                let paths = fields.iter().map(|field| format!(".{}", field.name())).collect();
                (Kind::Struct(fields.clone(), Keys::of(names)), within(fields)?, paths)
            }
            DataType::Map(entry, sorted) => match entry.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => (
                    Kind::Map(entry.clone(), fields.clone(), *sorted),
                    within(fields)?,
                    vec![" (key)".to_string(), "[]".to_string()],
                ),
                _ => return Err(data_type.clone()),
            },
            _ => return Err(data_type.clone()),
        };
        Ok(Nested {
            kind,
            columns,
            paths,
            ends: Vec::new(),
            overflows: false,
            rows: 0,
            nulls: Vec::new(),
            spoiled: Vec::new(),
            places: Vec::new(),
        })
    }

    /// The columns within.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns within.
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// The rows without a value.
    pub fn nulls(&self) -> &[u32] {
        &self.nulls
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        let items = match &self.kind {
            Kind::List(_) | Kind::Map(..) => 0,
            Kind::Fixed(_, size) => *size,
            Kind::Struct(..) => 1,
        };
        for column in &mut self.columns {
            (0..items).for_each(|_| column.push_null());
        }
        self.nulls.push(self.rows as u32);
        self.rows += 1;
        self.end_row(self.items() + items);
    }

    /// Notes that a row ends behind so many items.
    fn end_row(&mut self, items: usize) {
        self.ends.push(i32::try_from(items).unwrap_or_else(|_| {
            self.overflows = true;
            i32::MAX
        }));
    }

    /// How many items all rows so far have.
    fn items(&self) -> usize {
        self.ends.last().copied().unwrap_or_default() as usize
    }

    /// Appends one value for each field of a stretch.
    pub fn extend<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: impl Iterator<Item = Span>,
        nullable: bool,
        found: &mut Found,
    ) {
        let values: Vec<Span> = fields.collect();
        let mut stage = Stage {
            syntax,
            stretch,
            values: &values,
            first_row: self.rows,
            faults: Faults::default(),
            replaced: 0,
            unknown: Unknown::default(),
        };
        match self.kind {
            Kind::Struct(..) => self.take_structs_apart(&mut stage, nullable),
            _ => self.take_lists_apart(&mut stage, nullable),
        }
        let Faults { mut bad, first } = stage.faults;
        found.replaced += stage.replaced;
        found.unknown.add(stage.unknown);
        if let Some((first, within)) = first {
            bad.sort_by_key(|bad| bad.record);
            bad.dedup_by_key(|bad| bad.record);
            bad[0] = first;
            found.within = within;
            let rows = bad.iter().map(|bad| (stage.first_row + bad.record) as u32);
            self.spoiled.extend(rows.clone());
            self.nulls.extend(rows);
            self.nulls.sort_unstable();
            self.nulls.dedup();
            found.bad.extend(bad);
        }
    }

    fn take_structs_apart<S: Syntax>(&mut self, stage: &mut Stage<S>, nullable: bool) {
        let width = self.columns.len();
        let bytes = stage.stretch.block.as_slice();
        let mut gathered = self.rows;
        for (record, &(start, end)) in stage.values.iter().enumerate() {
            let at = self.places.len();
            let null = stage.syntax.token(bytes, start, end) == Token::Null;
            let Kind::Struct(_, keys) = &mut self.kind else { return };
            let noted = stage.stretch.noted.and_then(|noted| noted.fields(record));
            if let Some(fields) = noted.filter(|_| !null) {
                self.places.extend_from_slice(fields);
            } else {
                self.places.resize(at + width, MISSING);
            }
            if null && nullable {
                self.nulls.push(self.rows as u32);
            } else if null || noted.is_none() {
                let syntax = stage.syntax;
                let (mut place, mut unnamed, mut twice) = (0, false, false);
                let places = &mut self.places[at..];
                let unknown = &mut stage.unknown;
                let mut member = |key: Option<Span>, value: Span| {
                    let raw = key.and_then(|key| syntax.key(bytes, key));
                    let slot = match key {
                        None => Some(place).filter(|&place| place < width),
                        Some(_) => raw.as_ref().and_then(|raw| keys.slot(place, raw, |raw| syntax.name(raw))),
                    };
                    match slot {
                        Some(UNKNOWN) if syntax.token(bytes, value.0, value.1) != Token::Null => {
                            unknown.see(raw.as_deref().unwrap_or_default());
                        }
                        Some(UNKNOWN) | None => {}
                        Some(slot) => {
                            twice |= !is_missing(places[slot]);
                            places[slot] = value;
                        }
                    }
                    unnamed |= key.is_none();
                    place += 1;
                };
                let whole = !null && syntax.members(bytes, (start, end), &mut member).is_some();
                if !whole || twice || (unnamed && place != width) {
                    self.places[at..].fill(MISSING);
                    stage.faults.add(Bad { record, start, end }, || None);
                }
            }
            self.rows += 1;
            if self.places.len() >= GATHERED {
                self.pass_on(stage, gathered, |row| row);
                gathered = self.rows;
            }
            if stage.stops() {
                return;
            }
        }
        self.pass_on(stage, gathered, |row| row);
    }

    fn take_lists_apart<S: Syntax>(&mut self, stage: &mut Stage<S>, nullable: bool) {
        let map = matches!(self.kind, Kind::Map(..));
        let size = if let Kind::Fixed(_, size) = self.kind { Some(size) } else { None };
        let most = size.unwrap_or(usize::MAX);
        let bytes = stage.stretch.block.as_slice();
        let (mut gathered, width) = (self.items(), self.columns.len());
        // Rows are found by the ends of those whose items were all gathered; the row at hand is the one behind them.
        for (record, &(start, end)) in stage.values.iter().enumerate() {
            let first = self.items();
            let mut items = 0;
            let null = stage.syntax.token(bytes, start, end) == Token::Null;
            let mut bad = null && !nullable;
            if !null {
                let syntax = stage.syntax;
                let mut item = |this: &mut Nested, stage: &mut Stage<S>, key: Option<Span>, value: Span| {
                    items += 1;
                    if items > most {
                        return;
                    }
                    this.places.extend(key);
                    this.places.push(value);
                    if this.places.len() >= GATHERED {
                        this.pass_on_items(stage, gathered);
                        gathered = first + items;
                    }
                };
                let whole = match map {
                    false => {
                        syntax.elements(bytes, (start, end), &mut |value| item(self, stage, None, value))
                    }
                    true => syntax.members(bytes, (start, end), &mut |key, value| {
                        // A map that has no keys is a list; its values are bad keys then.
                        item(self, stage, Some(key.unwrap_or(MISSING)), value);
                    }),
                };
                bad = whole.is_none() || size.is_some_and(|size| size != items);
            }
            if let Some(size) = size {
                // What is no list of the size has as many items all the same.
                self.places.extend(std::iter::repeat_n(MISSING, size.saturating_sub(items) * width));
                items = size;
            }
            if null && nullable {
                self.nulls.push(self.rows as u32);
            }
            if bad {
                stage.faults.add(Bad { record, start, end }, || None);
            }
            self.rows += 1;
            self.end_row(first + items);
            if stage.stops() {
                return;
            }
        }
        self.pass_on_items(stage, gathered);
    }

    /// Extends the columns within by the items that were gathered, of which `gathered` is the number of the first.
    fn pass_on_items<S: Syntax>(&mut self, stage: &mut Stage<S>, gathered: usize) {
        let ends = std::mem::take(&mut self.ends);
        self.pass_on(stage, gathered, |item| ends.partition_point(|&end| end as usize <= item));
        self.ends = ends;
    }

    /// Extends the columns within by what was gathered. `first` is the number of the first of it among all that they
    /// hold. `row_of` tells the row in which such a number lies.
    fn pass_on<S: Syntax>(&mut self, stage: &mut Stage<S>, first: usize, row_of: impl Fn(usize) -> usize) {
        let width = self.columns.len();
        if stage.stops() {
            return self.places.clear();
        }
        let places = std::mem::take(&mut self.places);
        let Stage { syntax, stretch, values, first_row, .. } = *stage;
        for (i, (column, path)) in self.columns.iter_mut().zip(&self.paths).enumerate() {
            let mut found = Found::default();
            let noted = stretch.noted.and_then(|noted| noted.within(i, first - first_row));
            column.extend_nullable(
                syntax,
                &TextBlock { noted, ..*stretch },
                spans(&places, i, width),
                &mut found,
            );
            stage.replaced += found.replaced;
            stage.unknown.add(std::mem::take(&mut found.unknown));
            for (nth, bad) in found.bad.iter().enumerate() {
                let record = row_of(first + bad.record) - first_row;
                stage.faults.add(Bad { record, ..*bad }, || match &found.within {
                    Some(deeper) if nth == 0 => {
                        Some(Within { path: format!("{path}{}", deeper.path), ..deeper.clone() })
                    }
                    _ => Some(Within {
                        path: path.clone(),
                        data_type: column.data_type().clone(),
                        nullable: column.nullable(),
                    }),
                });
            }
            // Keys are never NULL, whatever a schema says.
            if column.nullable() && !(i == 0 && matches!(self.kind, Kind::Map(..))) {
                continue;
            }
            let nulls = column.nulls();
            for &at in &nulls[nulls.partition_point(|&at| (at as usize) < first)..] {
                let row = row_of(at as usize);
                let record = row - first_row;
                if self.nulls.binary_search(&(row as u32)).is_err()
                    && let Some(&(start, end)) = values.get(record)
                {
                    stage.faults.add(Bad { record, start, end }, || {
                        let data_type = column.data_type().clone();
                        Some(Within { path: path.clone(), data_type, nullable: false })
                    });
                }
            }
        }
        self.places = places;
        self.places.clear();
    }
}

impl<S> Stage<'_, '_, S> {
    /// Whether a bad value ends the work on the column.
    fn stops(&self) -> bool {
        self.stretch.fail_fast && self.faults.first.is_some()
    }
}
