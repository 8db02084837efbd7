//! Walks over records that are built as records before them were.
//!
//! Between two values of a record stand bytes that other records have as well, as in `,"user":{"name":`. Where they
//! stand behind the same value, they lead to the same next one, with the same objects and arrays around it. So what
//! was met is kept as a graph. A node is a place of values, as in `user.name` or `tags[].weight`, and an edge has the
//! bytes between two of them. Walking a record is following it: bytes are compared, and not taken apart again. What a
//! record has that none had before it is walked over by [`Cursor`], which says what is wrong, too. That records of a
//! file are alike is what Mison speculates on as well (Li et al., VLDB 2017).

use std::collections::HashMap;

use super::cursor::Cursor;
use super::decode::name;
use crate::rows::keys::{Keys, UNKNOWN};
use crate::rows::noted::{Places, StructPlaces};
use crate::rows::walk::{Span, is_missing};

/// No more is kept from so many ways and places on, and no more ways from one place.
const MOST_KEPT: usize = 4096;
const MOST_FROM_ONE: usize = 32;
/// The most bytes of a way.
const MOST_BYTES: usize = 256;
/// Records of more bytes than that are not kept, nor those with more values, or with longer paths to them.
const MOST_OF_RECORD: usize = 64 << 10;
const MOST_STEPS: usize = 4096;
const MOST_OF_PATH: usize = 1024;
/// So many more records may be unlike those before them than are like them; then no more are compared.
const MOST_MISSED: i64 = 256;

/// The place of no value: the end of a record.
const END: usize = usize::MAX;

/// What leads from one value to another.
struct Way {
    /// Its bytes.
    text: Box<[u8]>,
    /// The first 16 of them as a number, and the bits that count.
    head: u128,
    mask: u128,
    /// What begins and ends in it.
    notes: Box<[Note]>,
    /// The place to which it leads.
    to: usize,
    /// The slot of the value there, if it is wanted.
    slot: Option<usize>,
    /// Whether a struct is wanted: no other value will do.
    is_struct: bool,
}

/// A wanted object or array that has values.
struct Note {
    slot: usize,
    /// Where in the bytes of the way it begins, or ends.
    at: usize,
    begins: bool,
}

impl Way {
    /// Whether it goes on here, to a value that lies at its end.
    #[inline(always)]
    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        let is_same = match bytes.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            Some(head) => {
                (u128::from_le_bytes(*head) ^ self.head) & self.mask == 0
                    && (self.text.len() <= 16 || bytes[at + 16..].starts_with(&self.text[16..]))
            }
            None => bytes[at..].starts_with(&self.text),
        };
        is_same && (self.to == END || is_single(&bytes[at + self.text.len()..]))
    }
}

/// Whether a value begins here that holds no others.
#[inline(always)]
fn is_single(text: &[u8]) -> bool {
    match text {
        [b'{', rest @ ..] => rest.first() == Some(&b'}'),
        [b'[', rest @ ..] => rest.first() == Some(&b']'),
        // An array ends that was taken to have values, or there is more space than was taken.
        [b']' | b' ' | b'\t' | b'\r' | b'\n', ..] => false,
        _ => true,
    }
}

/// What lies where values are looked for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// The columns of a record, which have these keys.
    Columns(&'a Keys, &'a Places),
    /// A struct.
    Struct(&'a StructPlaces),
    /// Anything, in which nothing is noted.
    Anything,
}

impl<'a> Wanted<'a> {
    /// The slot of a key, and what is wanted of its value. `None` if the key is none of those that are known.
    fn of_key(self, raw: &[u8]) -> Option<(Option<usize>, Wanted<'a>)> {
        let within = |of: &'a Option<StructPlaces>| of.as_ref().map_or(Wanted::Anything, Wanted::Struct);
        match self {
            Wanted::Anything => Some((None, Wanted::Anything)),
            Wanted::Columns(keys, places) => match keys.named(name(raw)?) {
                Some(UNKNOWN) => None,
                Some(slot) => Some((Some(slot), within(&places.of_slots[slot]))),
                None => Some((None, Wanted::Anything)),
            },
            Wanted::Struct(places) => match places.keys.named(name(raw)?)? {
                UNKNOWN => None,
                field => Some((Some(places.first + field), within(&places.within[field]))),
            },
        }
    }
}

/// What a record is made of.
enum Step {
    Begins { slot: usize, at: usize },
    Ends { slot: usize, at: usize },
    Value { path: Vec<u8>, slot: Option<usize>, is_struct: bool, span: Span },
}

/// The ways between the values of a file's records.
#[derive(Default)]
pub struct Ways {
    /// Those from each place on. Records begin at the first place.
    from: Vec<Vec<Way>>,
    by_path: HashMap<Vec<u8>, usize>,
    count: usize,
    /// By how many more records were unlike others than like them.
    missed: i64,
}

impl Ways {
    /// Walks over a record, and notes where its wanted values lie. If it is not built as others were, or something is
    /// wrong with it, that is false, and what was noted is nothing.
    #[inline]
    pub fn walk(&mut self, bytes: &[u8], record: Span, found: &mut [Span]) -> bool {
        if self.missed > MOST_MISSED {
            return false;
        }
        let whole = self.follow(bytes, record, found).is_some();
        self.missed = (self.missed + if whole { -1 } else { 1 }).max(-MOST_MISSED);
        whole
    }

    #[inline]
    fn follow(&mut self, bytes: &[u8], (start, end): Span, found: &mut [Span]) -> Option<()> {
        let mut cursor = Cursor::new(bytes, start);
        let (mut place, mut at) = (0, start);
        loop {
            let ways = self.from.get_mut(place)?;
            let mut nth = ways.iter().position(|way| way.is_at(bytes, at))?;
            if nth > 0 {
                ways.swap(nth, nth - 1);
                nth -= 1;
            }
            let way = &ways[nth];
            for note in &way.notes {
                match note.begins {
                    true => note_place(found, note.slot, (at + note.at, at + note.at))?,
                    false => found[note.slot].1 = at + note.at,
                }
            }
            at += way.text.len();
            if way.to == END {
                return (at == end).then_some(());
            }
            let first = *bytes.get(at)?;
            if way.is_struct && !matches!(first, b'n' | b'{') {
                return None;
            }
            let behind = match first {
                b'"' => cursor.string(at + 1)?,
                b'0'..=b'9' | b'-' => cursor.number(at)?,
                _ => cursor.value(at, 1)?,
            };
            if let Some(slot) = way.slot {
                note_place(found, slot, (at, behind))?;
            }
            (at, place) = (behind, way.to);
        }
    }

    /// Keeps the ways of a record that is whole.
    pub fn keep(&mut self, bytes: &[u8], record: Span, keys: &Keys, places: &Places) {
        let has_room = self.count + self.from.len() < MOST_KEPT && record.1 - record.0 <= MOST_OF_RECORD;
        if self.missed > MOST_MISSED || !has_room {
            return;
        }
        let mut steps = Vec::new();
        if take_apart(bytes, record, Wanted::Columns(keys, places), &[], &mut steps).is_some() {
            self.keep_steps(bytes, record, steps);
        }
    }

    fn keep_steps(&mut self, bytes: &[u8], (start, end): Span, steps: Vec<Step>) {
        let (mut place, mut at, mut notes) = (self.place(&[]), start, Vec::new());
        for step in steps {
            match step {
                Step::Begins { slot, at: begin } => notes.push(Note { slot, at: begin - at, begins: true }),
                Step::Ends { slot, at: end } => notes.push(Note { slot, at: end - at, begins: false }),
                Step::Value { path, slot, is_struct, span } => {
                    let (to, notes) = (self.place(&path), std::mem::take(&mut notes));
                    self.keep_way(place, &bytes[at..span.0], notes, to, slot, is_struct);
                    (place, at) = (to, span.1);
                }
            }
        }
        self.keep_way(place, &bytes[at..end], notes, END, None, false);
    }

    /// The place of values with this way to them.
    fn place(&mut self, path: &[u8]) -> usize {
        let next = self.from.len();
        let place = *self.by_path.entry(path.to_vec()).or_insert(next);
        if place == next {
            self.from.push(Vec::new());
        }
        place
    }

    fn keep_way(
        &mut self,
        from: usize,
        text: &[u8],
        notes: Vec<Note>,
        to: usize,
        slot: Option<usize>,
        is_struct: bool,
    ) {
        let ways = &mut self.from[from];
        let is_kept = ways.iter().any(|way| *way.text == *text && (way.to == END) == (to == END));
        if is_kept || ways.len() == MOST_FROM_ONE || text.len() > MOST_BYTES {
            return;
        }
        let (mut head, mut mask) = ([0; 16], [0; 16]);
        let some = text.len().min(16);
        head[..some].copy_from_slice(&text[..some]);
        mask[..some].fill(255);
        ways.push(Way {
            text: text.into(),
            head: u128::from_le_bytes(head),
            mask: u128::from_le_bytes(mask),
            notes: notes.into(),
            to,
            slot,
            is_struct,
        });
        self.count += 1;
    }
}

/// Notes where a value lies. There is only one of a record: which of two is meant, nobody knows.
#[inline(always)]
fn note_place(found: &mut [Span], slot: usize, place: Span) -> Option<()> {
    if !is_missing(found[slot]) {
        return None;
    }
    found[slot] = place;
    Some(())
}

/// Takes an object apart. `None` if it has what is not kept.
fn take_apart(
    bytes: &[u8],
    (start, end): Span,
    wanted: Wanted,
    path: &[u8],
    steps: &mut Vec<Step>,
) -> Option<()> {
    let mut members = Vec::new();
    Cursor::new(&bytes[..end], start).record(&mut |key, value| members.push((key, value))).ok()?;
    for ((from, to), value) in members {
        let raw = &bytes[from..to];
        let (slot, wanted) = wanted.of_key(raw)?;
        let path = [path, &(raw.len() as u64).to_le_bytes(), raw].concat();
        step(bytes, value, slot, wanted, path, steps)?;
    }
    Some(())
}

/// Takes a value apart.
fn step(
    bytes: &[u8],
    span: Span,
    slot: Option<usize>,
    wanted: Wanted,
    path: Vec<u8>,
    steps: &mut Vec<Step>,
) -> Option<()> {
    let (start, end) = span;
    let is_struct = matches!(wanted, Wanted::Struct(_));
    let is_object = bytes[start] == b'{';
    if steps.len() > MOST_STEPS || path.len() > MOST_OF_PATH {
        return None;
    }
    if is_single(&bytes[start..end]) {
        if is_struct && !matches!(bytes[start], b'n' | b'{') {
            return None;
        }
        steps.push(Step::Value { path, slot, is_struct, span });
        return Some(());
    }
    if is_struct && !is_object {
        return None;
    }
    steps.extend(slot.map(|slot| Step::Begins { slot, at: start }));
    let before = steps.len();
    if is_object {
        take_apart(bytes, span, wanted, &path, steps)?;
    } else {
        let mut items = Vec::new();
        Cursor::new(&bytes[..end], start).list(&mut |item| items.push(item))?;
        // No key is so long.
        let path = [&path[..], &u64::MAX.to_le_bytes()].concat();
        for item in items {
            step(bytes, item, None, Wanted::Anything, path.clone(), steps)?;
        }
    }
    // Nothing but space lies in it.
    if steps.len() == before {
        return None;
    }
    steps.extend(slot.map(|slot| Step::Ends { slot, at: end }));
    Some(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Fields, Schema};
    use schema::FormatOptions;

    use super::*;
    use crate::format::ScanOptions;
    use crate::rows::keys::ColumnSlots;

    /// The columns `id`, `user` with `name` and `at.place`, and `tags`, of which all are wanted.
    struct Reader(Keys, Places, Ways, usize);

    impl Reader {
        fn new() -> Reader {
            let of = |fields: Vec<Field>| DataType::Struct(Fields::from(fields));
            let text = |name: &str| Field::new(name, DataType::Utf8, true);
            let at = Field::new("at", of(vec![text("place")]), true);
            let user = Field::new("user", of(vec![text("name"), at]), true);
            let schema = Arc::new(Schema::new(vec![text("id"), user, text("tags")]));
            let format = FormatOptions { open_keys: true, ..FormatOptions::default() };
            let scan = ScanOptions {
                schema,
                projection: vec![0, 1, 2],
                bounds: Vec::new(),
                prefixes: Vec::new(),
                unseen: schema::DeferredValidation::Nothing,
                batch_rows: 1,
                format,
            };
            let slots = ColumnSlots::new(&scan);
            Reader(Keys::new(&scan, &slots), Places::of(&scan, &slots), Ways::default(), slots.count)
        }

        fn walk(&mut self, record: &str) -> Option<Vec<String>> {
            // Other records stand around it.
            let bytes = format!("{{}}\n{record}\n{{\"id\":1}}\n");
            let span = (3, 3 + record.len());
            let mut found = vec![(1, 0); self.1.each];
            self.1.begin(&mut found, true);
            let whole = self.2.walk(bytes.as_bytes(), span, &mut found);
            if !whole && Cursor::new(&bytes.as_bytes()[..span.1], span.0).record(&mut |_, _| {}).is_ok() {
                self.2.keep(bytes.as_bytes(), span, &self.0, &self.1);
            }
            let text = |place: &Span| {
                if is_missing(*place) { String::new() } else { bytes[place.0..place.1].into() }
            };
            let (slots, fields) = (&found[..self.3], &found[self.3 + 1..]);
            whole.then(|| slots.iter().chain(fields).map(text).collect())
        }
    }

    #[test]
    fn records_like_others_are_followed() {
        let mut reader = Reader::new();
        let record = |id: &str, name: &str, tags: &str| {
            format!(r#"{{"id":{id}, "user":{{"name":{name},"at":{{"place":"x"}}}},"tags":{tags}}}"#)
        };
        assert_eq!(reader.walk(&record("1", "\"a\"", "[1,2]")), None, "none was before");
        for (id, name, tags) in [
            ("1", "\"a\"", "[1,2]"),
            ("-20.5e3", r#""a \"long\" name, \u00e4""#, "[1,2,3,4]"),
            ("null", "null", "[\"a\",false]"),
            ("12345678901234567890", "\"\"", "[0]"),
        ] {
            let user = format!(r#"{{"name":{name},"at":{{"place":"x"}}}}"#);
            let places = [id, &user, tags, name, r#"{"place":"x"}"#, "\"x\""];
            assert_eq!(reader.walk(&record(id, name, tags)).unwrap(), places);
        }
        // The ways to an empty list, and from one, are others.
        assert_eq!(reader.walk(&record("1", "2", "[]")), None);
        assert_eq!(reader.walk(&record("1", "2", "[]")).unwrap()[2], "[]");
        // So are those with more space.
        let spaced = r#"{"id":  1, "user":{"name": 1,"at":{"place":"x"}},"tags":[ 3]}"#;
        assert_eq!(reader.walk(spaced), None);
        assert_eq!(reader.walk(spaced).unwrap()[2], "[ 3]");
        // Ways of several records make one.
        let fields = |record: &mut Reader, text: &str| record.walk(text).map(|found| found.join("|"));
        assert_eq!(fields(&mut reader, r#"{"tags":[{"a":1},{"a":1},{"a":[2]}]}"#), None);
        assert_eq!(
            fields(&mut reader, r#"{"tags":[{"a":1},{"a":2},{"a":3},{"a":[4]}]}"#).unwrap(),
            r#"||[{"a":1},{"a":2},{"a":3},{"a":[4]}]|||"#
        );
        assert_eq!(fields(&mut reader, r#"{"id":1}"#), None);
        assert_eq!(fields(&mut reader, r#"{"id":2}"#).unwrap(), "2|||||");
        assert_eq!(fields(&mut reader, r#"{"user":null}"#), None);
        assert_eq!(fields(&mut reader, r#"{"user":null}"#).unwrap(), "|null||||");
        assert_eq!(fields(&mut reader, "{}"), None);
        assert_eq!(fields(&mut reader, "{}").unwrap(), "|||||");
    }

    #[test]
    fn what_was_not_met_or_is_wrong_is_not_followed() {
        let mut reader = Reader::new();
        for record in
            [r#"{"id":1,"user":{"name":"a"},"tags":[1,{"b":2}]}"#, r#"{"id":1,"id":2}"#, r#"{"user":{}}"#]
        {
            assert_eq!(reader.walk(record), None);
        }
        assert!(reader.walk(r#"{"id":1,"user":{"name":"a"},"tags":[1,{"b":2}]}"#).is_some());
        for record in [
            // A wanted key twice, also within a struct: each of its ways is known.
            r#"{"id":1,"id":2}"#,
            // Structs that are none.
            r#"{"id":1,"user":"x","tags":[1,{"b":2}]}"#,
            r#"{"user":1}"#,
            r#"{"user":[]}"#,
            // Keys that no column has.
            r#"{"id":1,"x":1}"#,
            r#"{"id":1,"user":{"names":1}}"#,
            // No JSON.
            r#"{"id":01,"user":{"name":"a"},"tags":[1,{"b":2}]}"#,
            r#"{"id":1.,"user":{"name":"a"},"tags":[1,{"b":2}]}"#,
            r#"{"id":,"user":{"name":"a"},"tags":[1,{"b":2}]}"#,
            r#"{"id":1,"user":{"name":"a},"tags":[1,{"b":2}]}"#,
            "{\"id\":1,\"user\":{\"name\":\"a\tb\"},\"tags\":[1,{\"b\":2}]}",
            r#"{"id":1,"user":{"name":"\x"},"tags":[1,{"b":2}]}"#,
            r#"{"id":1,"user":{"name":"a"},"tags":[1,{"b":2}]"#,
            r#"{"id":1,"user":{"name":"a"},"tags":[1,{"b":2}]} x"#,
            r#"{"id":1,"user":{"name":"a"},"tags":[1,{"b":2"#,
        ] {
            for _ in 0..2 {
                assert_eq!(reader.walk(record), None, "{record}");
            }
        }
    }

    #[test]
    fn records_of_many_kinds_end_the_search() {
        let mut reader = Reader::new();
        for i in 0..1000 {
            assert_eq!(reader.walk(&format!(r#"{{"tags":{{"{i}":1}}}}"#)), None);
        }
        assert!(reader.2.count <= 2 * MOST_MISSED as usize, "{}", reader.2.count);
        assert_eq!(reader.walk(r#"{"tags":{"0":1}}"#), None, "although it was met");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut reader = Reader::new();
        let long = format!(r#"{{"tags":[{}0]}}"#, "0,".repeat(MOST_STEPS));
        let deep = format!(r#"{{"tags":{}1{}}}"#, r#"{"a":"#.repeat(120), "}".repeat(120));
        for record in [long, deep, format!(r#"{{"tags":{{"{}":1}}}}"#, "k".repeat(MOST_BYTES))] {
            assert_eq!((reader.walk(&record), reader.walk(&record)), (None, None));
        }
        for i in 0..MOST_KEPT {
            // Between others that are alike, so that the search goes on.
            reader.walk(r#"{"id":1}"#);
            reader.walk(&format!(r#"{{"tags":{{"{i}":1}}}}"#));
        }
        assert!(reader.2.count + reader.2.from.len() < MOST_KEPT + 10);
        assert!(reader.walk(r#"{"id":1}"#).is_some());
    }
}
