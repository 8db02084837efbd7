//! The segments of a message where they lie, and the pointers in them.
//!
//! A pointer is a word. Its two lowest bits tell its kind:
//!
//! ```text
//! 0 struct   offset (30 bits, signed), words of the data section (16), pointers (16)
//! 1 list     offset (30 bits, signed), size of an element (3), elements (29)
//! 2 far      two words (1 bit), offset in the segment (29), segment (32)
//! ```
//!
//! Offsets are words, those of structs and lists from the word behind the pointer. A far pointer leads to a landing pad
//! in another segment. The pad is the pointer itself. Or it has two words, a far pointer to the object and a pointer
//! that tells its kind, with the offset 0.

use std::ops::Range;

use crate::rows::walk::Wrong;

/// More segments than this no message has that the Cap'n Proto libraries read.
const MOST_SEGMENTS: usize = 512;

/// A list that lies in its segment.
pub struct List {
    start: usize,
    /// The number of its items.
    pub count: usize,
    /// The bits of an item, of which so many bytes are data and so many pointers. A bit has no bytes.
    bits: usize,
    data: usize,
    pointers: usize,
    segment: usize,
}

impl List {
    /// An item that is a struct, or a value which begins one.
    pub fn structure(&self, index: usize) -> Result<Struct, String> {
        if self.bits == 1 {
            return Err("a list of bits is none of structs".into());
        }
        let data = self.start + index * self.bits / 8;
        let pointers = data + self.data;
        Ok(Struct { data, pointers, end: pointers + self.pointers, segment: self.segment })
    }

    /// An item that is a value of 2^`size` bits, or a struct that begins with one.
    pub fn value(&self, index: usize, size: u32) -> Result<Struct, String> {
        if self.data * 8 < 1 << size {
            return Err(format!("a list of values has items of {} bits, not {}", self.bits, 1 << size));
        }
        self.structure(index)
    }

    /// An item that is a pointer, or a struct that begins with one.
    pub fn pointer(&self, index: usize) -> Result<Struct, String> {
        if self.pointers == 0 {
            return Err("a list has values where pointers are expected".into());
        }
        self.structure(index)
    }
}

/// The kind of a pointer to a list.
const LIST: u64 = 1;

/// The size of the elements of a list of bytes, as a pointer tells it.
const BYTES: u64 = 2;

/// The same of pointers, and of structs.
const POINTERS: u64 = 6;
const COMPOSITE: u64 = 7;

/// The bits of a pointer that tell its kind, and the size of a list's elements.
pub const KIND_AND_SIZE: u64 = 7 << 32 | 3;

/// Those bits of a pointer to a list of bytes.
pub const LIST_OF_BYTES: u64 = 2 << 32 | 1;

/// What a message is split in.
pub enum Framed {
    /// It has one segment, which lies here.
    One(Range<usize>),
    /// It has several.
    Many(Vec<Range<usize>>),
    /// It goes on behind the bytes at hand.
    Short,
}

/// The word at a place.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// The bytes of the sections of the struct behind a pointer: of data, and of pointers.
#[inline(always)]
pub fn sections(pointer: u64) -> (usize, usize) {
    ((pointer >> 32 & 0xffff) as usize * 8, (pointer >> 48) as usize * 8)
}

/// Reads the segment table of the message at `at`, which has at most `most` bytes.
#[inline(always)]
pub fn frame(bytes: &[u8], at: usize, most: usize) -> Result<Framed, Wrong> {
    let Some(head) = word(bytes, at) else { return Ok(Framed::Short) };
    if head as u32 != 0 {
        return table(bytes, at, most);
    }
    let size = (head >> 32) as usize * 8;
    if size > most {
        return Err(too_long(size, most));
    }
    let end = at + 8 + size;
    Ok(if end <= bytes.len() { Framed::One(at + 8..end) } else { Framed::Short })
}

/// The bytes of a message, as far as its first words tell. They are those of its first word, of the table of segments,
/// or of all of it. It has at most `most` bytes.
#[inline(always)]
pub fn length(bytes: &[u8], most: usize) -> Result<usize, Wrong> {
    match word(bytes, 0) {
        None => Ok(8),
        Some(head) if head as u32 != 0 => length_of_many(bytes, most),
        Some(head) => {
            let size = (head >> 32) as usize * 8;
            if size > most { Err(too_long(size, most)) } else { Ok(8 + size) }
        }
    }
}

#[cold]
fn length_of_many(bytes: &[u8], most: usize) -> Result<usize, Wrong> {
    let segments = segments(bytes, 0, most)?;
    let before_last = bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count) as usize);
    Ok(segments.and_then(|segments| Some(segments.last()?.end)).unwrap_or(table_bytes(before_last)))
}

/// The bytes of the table of so many segments and one: four bytes, and four for each segment, up to a word.
fn table_bytes(before_last: usize) -> usize {
    (before_last.div_ceil(2) + 1) * 8
}

#[cold]
fn table(bytes: &[u8], at: usize, most: usize) -> Result<Framed, Wrong> {
    Ok(match segments(bytes, at, most)? {
        Some(segments) if segments.last().is_some_and(|last| last.end <= bytes.len()) => {
            Framed::Many(segments)
        }
        _ => Framed::Short,
    })
}

/// Where the segments lie, if the table of them is whole.
fn segments(bytes: &[u8], at: usize, most: usize) -> Result<Option<Vec<Range<usize>>>, Wrong> {
    let count = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let Some(before_last) = count(at) else { return Ok(None) };
    if before_last >= MOST_SEGMENTS {
        return Err(Wrong::fatal(format!(
            "the message is said to have {} segments, of which {MOST_SEGMENTS} are read; this is no Cap'n Proto \
             stream, or it is packed",
            before_last as u64 + 1
        )));
    }
    let mut end = at + table_bytes(before_last);
    let mut segments = Vec::with_capacity(before_last + 1);
    for number in 0..=before_last {
        let Some(words) = count(at + 4 + 4 * number) else { return Ok(None) };
        segments.push(end..end + words * 8);
        end += words * 8;
        if end - at > most {
            return Err(too_long(end - at, most));
        }
    }
    Ok(Some(segments))
}

fn too_long(bytes: usize, most: usize) -> Wrong {
    Wrong::fatal(format!(
        "the message is said to have {bytes} bytes or more, of which a record may have {most}; either this is no \
         Cap'n Proto stream (or it is packed), or --max-record is too low"
    ))
}

/// The segments of one message.
#[derive(Clone, Copy)]
pub struct Segments<'a> {
    /// The bytes that the places are of.
    pub bytes: &'a [u8],
    /// Where each segment lies.
    pub places: &'a [Range<usize>],
}

/// What a pointer points to.
struct Object {
    /// The pointer that tells its kind.
    pointer: u64,
    /// Where it begins; may lie outside of the segment.
    start: i64,
    segment: usize,
}

/// A struct, whose sections lie in their segment.
#[derive(Clone, Copy)]
pub struct Struct {
    /// Where the data section begins.
    pub data: usize,
    /// Where it ends and the pointers begin.
    pub pointers: usize,
    /// Where these end.
    pub end: usize,
    segment: usize,
}

impl Segments<'_> {
    /// The object that a pointer which is not null points to.
    fn follow(&self, pointer: u64, at: usize, segment: usize) -> Result<Object, String> {
        if pointer & 3 == 2 {
            return self.follow_far(pointer);
        }
        Ok(Object { pointer, start: start(pointer, at), segment })
    }

    fn follow_far(&self, far: u64) -> Result<Object, String> {
        let (pad, segment) = self.landing(far, if far & 4 == 0 { 8 } else { 16 })?;
        let first = word(self.bytes, pad).unwrap_or(0);
        if far & 4 == 0 {
            return match first & 3 {
                2 => Err("a far pointer leads to another far pointer".into()),
                _ => Ok(Object { pointer: first, start: start(first, pad), segment }),
            };
        }
        if first & 7 != 2 {
            return Err("a far pointer does not lead to a landing pad".into());
        }
        let (object, segment) = self.landing(first, 0)?;
        let pointer = word(self.bytes, pad + 8).unwrap_or(0);
        Ok(Object { pointer, start: object as i64, segment })
    }

    /// Where a far pointer leads, at `size` bytes of a segment.
    fn landing(&self, far: u64, size: usize) -> Result<(usize, usize), String> {
        let segment = (far >> 32) as usize;
        let Some(place) = self.places.get(segment) else {
            return Err(format!("a pointer names segment {segment} of {}", self.places.len()));
        };
        let at = place.start + (far as u32 >> 3) as usize * 8;
        match at + size <= place.end {
            true => Ok((at, segment)),
            false => Err(beyond()),
        }
    }

    /// The struct that the first word of the first segment points to.
    pub fn root(&self) -> Result<Struct, String> {
        let first = match self.places.first() {
            Some(first) if first.len() >= 8 => first,
            _ => return Err("the message is empty: its first segment has no pointer to a struct".into()),
        };
        let pointer = word(self.bytes, first.start).unwrap_or(0);
        let object = self.follow(pointer, first.start, 0)?;
        if object.pointer & 3 != 0 {
            return Err("the message does not begin with a pointer to a struct".into());
        }
        self.structure_of(&object)
    }

    /// The struct to which this pointer of another points; `None` if it is null.
    pub fn structure(&self, of: &Struct, number: usize) -> Result<Option<Struct>, String> {
        let Some(object) = self.object(of, number)? else { return Ok(None) };
        if object.pointer & 3 != 0 {
            return Err("a pointer leads to something that is no struct".into());
        }
        self.structure_of(&object).map(Some)
    }

    fn structure_of(&self, object: &Object) -> Result<Struct, String> {
        let (data, pointers) = sections(object.pointer);
        let at = self.within(object, data + pointers)?;
        Ok(Struct { data: at, pointers: at + data, end: at + data + pointers, segment: object.segment })
    }

    /// The list to which this pointer of a struct points; `None` if it is null.
    pub fn items(&self, of: &Struct, number: usize) -> Result<Option<List>, String> {
        let Some(object) = self.object(of, number)? else { return Ok(None) };
        if object.pointer & 3 != LIST {
            return Err("a pointer leads to something that is no list".into());
        }
        let (segment, count) = (object.segment, (object.pointer >> 35) as usize);
        let size = object.pointer >> 32 & 7;
        if size != COMPOSITE {
            // The bits of an item by the size, and how many of its bytes are pointers.
            let bits = [0, 1, 8, 16, 32, 64, 64][size as usize];
            let pointers = if size == POINTERS { 8 } else { 0 };
            let start = self.within(&object, (count * bits).div_ceil(8))?;
            return Ok(Some(List { start, count, bits, data: bits / 8 - pointers, pointers, segment }));
        }
        let start = self.within(&object, 8 + count * 8)?;
        let tag = word(self.bytes, start).unwrap_or(0);
        let (data, pointers) = sections(tag);
        let (items, each) = ((tag as u32 >> 2) as usize, data + pointers);
        if tag & 3 != 0 || items * each > count * 8 {
            return Err("a list of structs does not begin with their number and size".into());
        }
        Ok(Some(List { start: start + 8, count: items, bits: each * 8, data, pointers, segment }))
    }

    /// The value of a bit in a list of them, or of structs that begin with one.
    pub fn bit(&self, list: &List, index: usize) -> Result<bool, String> {
        if list.bits != 1 {
            return Ok(self.bits(&list.value(index, 0)?, 0, 0) == 1);
        }
        Ok(self.bytes.get(list.start + index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1))
    }

    /// The value of 2^`size` bits that lies at the multiple `offset` of them in the data section; 0 if it is not there.
    pub fn bits(&self, of: &Struct, size: u32, offset: u32) -> u64 {
        let first = (offset as usize) << size;
        // It lies in one word.
        let at = of.data + first / 64 * 8;
        if of.data + (first + (1 << size)).div_ceil(8) > of.pointers {
            return 0;
        }
        let bytes = self.bytes.get(at..of.pointers.min(at + 8)).unwrap_or_default();
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let value = u64::from_le_bytes(word) >> (first % 64);
        if size == 6 { value } else { value & ((1 << (1u32 << size)) - 1) }
    }

    /// What this pointer of a struct points to; `None` if it is null.
    fn object(&self, of: &Struct, number: usize) -> Result<Option<Object>, String> {
        let at = of.pointers + number * 8;
        if at >= of.end {
            return Ok(None);
        }
        match word(self.bytes, at).unwrap_or(0) {
            0 => Ok(None),
            pointer => self.follow(pointer, at, of.segment).map(Some),
        }
    }

    /// Where the bytes of a list lie, to which this pointer of a struct points; `None` if it is null.
    pub fn list(&self, of: &Struct, number: usize) -> Result<Option<(usize, usize)>, String> {
        let Some(object) = self.object(of, number)? else { return Ok(None) };
        if object.pointer & 3 != LIST || object.pointer >> 32 & 7 != BYTES {
            return Err("a pointer leads to something that is neither text nor data".into());
        }
        let size = (object.pointer >> 35) as usize;
        let at = self.within(&object, size)?;
        Ok(Some((at, at + size)))
    }

    /// Where an object of so many bytes begins.
    fn within(&self, object: &Object, size: usize) -> Result<usize, String> {
        let segment = &self.places[object.segment];
        match usize::try_from(object.start) {
            Ok(at) if at >= segment.start && at + size <= segment.end => Ok(at),
            _ => Err(beyond()),
        }
    }
}

/// Where the object begins to which a pointer at this place points.
fn start(pointer: u64, at: usize) -> i64 {
    at as i64 + 8 + i64::from(pointer as i32 >> 2) * 8
}

fn beyond() -> String {
    "a pointer leads out of its segment".into()
}
