//! Reads structs as a `.capnp` file describes them: their members are rewritten as MessagePack in the order of the columns
//! (see [`crate::rows::described`]).
//!
//! A struct may be longer or shorter than the file says, as a newer or older program writes it: what is missing is 0, or
//! what the default says. A list of values may be one of structs that begin with such values, and a list of structs one of
//! values. The libraries read them so too, so that a program may make one of the other.
//!
//! # Contract
//! Pointers may lead anywhere, several of them to one place. A record makes no more bytes than it may be long
//! ([`Record::check`]), so that the time for it has a bound too.

use schema::structs::{Chosen, DataKind, ItemKind, MemberKind, MemberLayout, PointerKind, StructLayout};

use super::segments::{Framed, List, Segments, Struct, frame};
use super::unpack;
use crate::msgpack::encode as put;
use crate::rows::described::{Record, Rewrite};
use crate::rows::walk::Wrong;

/// Rewrites messages, whose structs have one layout.
pub struct StructRewrite {
    layout: StructLayout,
    max_record: usize,
    /// Where packed messages are unpacked to; `None` if they are not packed.
    unpacked: Option<Vec<u8>>,
}

impl StructRewrite {
    /// What rewrites messages into records of at most so many bytes.
    pub fn new(layout: &StructLayout, is_packed: bool, max_record: usize) -> StructRewrite {
        StructRewrite { layout: layout.clone(), max_record, unpacked: is_packed.then(Vec::new) }
    }
}

impl Rewrite for StructRewrite {
    fn rewrite(&mut self, bytes: &[u8], at: usize, record: &mut Record) -> Result<Option<usize>, Wrong> {
        let (bytes, at, packed_end) = match &mut self.unpacked {
            None => (bytes, at, None),
            Some(room) => {
                room.truncate(unpack::KEPT);
                room.shrink_to(unpack::KEPT);
                let Some((unpacked, end)) = unpack::one(bytes, at, room, self.max_record)? else {
                    return Ok(None);
                };
                (&room[..unpacked], 0, Some(end))
            }
        };
        let (places, end) = match frame(bytes, at, self.max_record)? {
            Framed::Short => return Ok(None),
            Framed::One(segment) => (vec![segment.clone()], segment.end),
            Framed::Many(places) => {
                let end = places.last().map_or(at, |last| last.end);
                (places, end)
            }
        };
        let segments = Segments { bytes, places: &places };
        let end = packed_end.unwrap_or(end);
        match (Rewriter { segments, record }).columns(&self.layout) {
            Ok(()) => Ok(Some(end)),
            Err(message) => Err(Wrong { message, next: Some(end) }),
        }
    }
}

struct Rewriter<'a, 'r> {
    segments: Segments<'a>,
    record: &'a mut Record<'r>,
}

impl Rewriter<'_, '_> {
    /// Writes the wanted members of the message's struct.
    fn columns(&mut self, layout: &StructLayout) -> Result<(), String> {
        let row = self.segments.root()?;
        for (column, member) in layout.members.iter().enumerate() {
            if self.record.wants(column) {
                let start = self.record.out.len();
                self.member(member, &row).map_err(|message| of(&member.name, &message))?;
                self.record.note(column, start);
            }
        }
        Ok(())
    }

    /// Writes a member of a struct.
    fn member(&mut self, member: &MemberLayout, row: &Struct) -> Result<(), String> {
        let is_there = member.chosen.is_none_or(|chosen| self.is_chosen(chosen, row));
        match &member.kind {
            _ if !is_there => self.record.null(member.leaves()),
            MemberKind::Void => put::boolean(true, self.record.out),
            MemberKind::Data { kind, offset, default } => {
                let bits = self.segments.bits(row, kind.log_bits(), *offset) ^ default;
                value(kind, bits, self.record.out);
            }
            MemberKind::Pointer { kind, number, default } => {
                if !self.pointer(kind, row, *number as usize)? {
                    match (default, kind) {
                        (None, _) => self.record.null(member.leaves()),
                        (Some(default), PointerKind::Text) => put::text(default, self.record.out),
                        (Some(default), _) => put::binary(default, self.record.out),
                    }
                }
            }
            MemberKind::Group(layout) => self.members(layout, row)?,
            MemberKind::Optional(member) => self.member(member, row)?,
        }
        self.record.check()
    }

    fn members(&mut self, layout: &StructLayout, row: &Struct) -> Result<(), String> {
        put::array(layout.members.len(), self.record.out);
        for member in &layout.members {
            self.member(member, row).map_err(|message| of(&member.name, &message))?;
        }
        Ok(())
    }

    fn is_chosen(&self, chosen: Chosen, row: &Struct) -> bool {
        self.segments.bits(row, 4, chosen.tag) == u64::from(chosen.value)
    }

    /// Writes what a pointer of a struct leads to; false if it is null.
    fn pointer(&mut self, kind: &PointerKind, row: &Struct, number: usize) -> Result<bool, String> {
        match kind {
            PointerKind::Text | PointerKind::Data => {
                let Some((from, to)) = self.segments.list(row, number)? else { return Ok(false) };
                let bytes = &self.segments.bytes[from..to];
                match (kind, bytes.split_last()) {
                    (PointerKind::Data, _) => put::binary(bytes, self.record.out),
                    (_, Some((0, text))) => put::text(text, self.record.out),
                    _ => return Err("the text does not end with a NUL".into()),
                }
            }
            PointerKind::Struct(layout) => {
                let Some(row) = self.segments.structure(row, number)? else { return Ok(false) };
                self.members(layout, &row)?;
            }
            PointerKind::List(item) => {
                let Some(list) = self.segments.items(row, number)? else { return Ok(false) };
                self.list(item, &list)?;
            }
        }
        Ok(true)
    }

    fn list(&mut self, item: &ItemKind, list: &List) -> Result<(), String> {
        let place = put::begin_array(self.record.out);
        for index in 0..list.count {
            match item {
                ItemKind::Data(DataKind::Bool) => {
                    put::boolean(self.segments.bit(list, index)?, self.record.out);
                }
                ItemKind::Data(kind) => {
                    let row = list.value(index, kind.log_bits())?;
                    value(kind, self.segments.bits(&row, kind.log_bits(), 0), self.record.out);
                }
                ItemKind::Pointer(PointerKind::Struct(layout)) => {
                    let row = list.structure(index)?;
                    self.members(layout, &row)?;
                }
                ItemKind::Pointer(kind) => {
                    let row = list.pointer(index)?;
                    if !self.pointer(kind, &row, 0)? {
                        self.record.null(1);
                    }
                }
            }
            self.record.check()?;
        }
        put::end_array(place, list.count as u32, self.record.out);
        Ok(())
    }
}

/// Writes a value of the data section.
fn value(kind: &DataKind, bits: u64, out: &mut Vec<u8>) {
    match kind {
        DataKind::Bool => put::boolean(bits & 1 == 1, out),
        DataKind::Int8 => put::signed((bits as i8).into(), out),
        DataKind::Int16 => put::signed((bits as i16).into(), out),
        DataKind::Int32 => put::signed((bits as i32).into(), out),
        DataKind::Int64 => put::signed(bits as i64, out),
        DataKind::UInt8 | DataKind::UInt16 | DataKind::UInt32 | DataKind::UInt64 => put::unsigned(bits, out),
        DataKind::Float32 => put::float32(f32::from_bits(bits as u32), out),
        DataKind::Float64 => put::float64(f64::from_bits(bits), out),
        DataKind::Enum(names) => match names.get(bits as usize) {
            Some(name) => put::text(name.as_bytes(), out),
            None => put::text(bits.to_string().as_bytes(), out),
        },
    }
}

#[cold]
fn of(member: &str, message: &str) -> String {
    format!("'{member}': {message}")
}
