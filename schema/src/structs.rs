//! How the structs of a Cap'n Proto file lie, as its `.capnp` file says: which place each column has.
//!
//! A layout goes with a schema of the same shape. Its members stand in the order of the columns; those of an embedded
//! struct, and of a group, stand in the order of the struct's fields. [`places`] computes the places.

pub mod places;

use serde::{Deserialize, Serialize};

/// The members of a struct that are columns, or fields of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructLayout {
    /// The members, in the order of the columns.
    pub members: Vec<MemberLayout>,
    /// How many values a row of this struct has in all columns within one another, lists not counted.
    pub leaves: usize,
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLayout {
    /// Its name, for errors.
    pub name: String,
    /// When it is there, if it is a member of a union. Else it always is.
    pub chosen: Option<Chosen>,
    /// What it is, and where it lies.
    pub kind: MemberKind,
}

/// When a member of a union is there: the union's discriminant has this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Where the discriminant begins in the data section, as a multiple of 16 bits.
    pub tag: u32,
    /// Its value.
    pub value: u16,
}

/// What a member is, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberKind {
    /// `Void`: true where it is there.
    Void,
    /// A value of the data section.
    Data {
        /// What it is.
        kind: DataKind,
        /// Where it begins, as a multiple of its bits.
        offset: u32,
        /// The bits with which those in the section are combined by exclusive or: those of the default value.
        default: u64,
    },
    /// What a pointer leads to.
    Pointer {
        /// What that is.
        kind: PointerKind,
        /// The pointer's number.
        number: u32,
        /// The bytes of a text or of data where the pointer is null. It is NULL there if this is `None`.
        default: Option<Vec<u8>>,
    },
    /// A group, or a union with a name: members that lie in the same struct.
    Group(StructLayout),
    /// A union of `null :Void` and this member, which is what it is; NULL where that is not there.
    Optional(Box<MemberLayout>),
}

/// What a value of the data section is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataKind {
    /// `Bool`.
    Bool,
    /// `Int8`.
    Int8,
    /// `Int16`.
    Int16,
    /// `Int32`.
    Int32,
    /// `Int64`.
    Int64,
    /// `UInt8`.
    UInt8,
    /// `UInt16`.
    UInt16,
    /// `UInt32`.
    UInt32,
    /// `UInt64`.
    UInt64,
    /// `Float32`.
    Float32,
    /// `Float64`.
    Float64,
    /// An enum, with the names of its values by their numbers.
    Enum(Vec<String>),
}

impl DataKind {
    /// The binary logarithm of the bits of its values.
    pub fn log_bits(&self) -> u32 {
        match self {
            DataKind::Bool => 0,
            DataKind::Int8 | DataKind::UInt8 => 3,
            DataKind::Int16 | DataKind::UInt16 | DataKind::Enum(_) => 4,
            DataKind::Int32 | DataKind::UInt32 | DataKind::Float32 => 5,
            DataKind::Int64 | DataKind::UInt64 | DataKind::Float64 => 6,
        }
    }
}

/// What a pointer leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointerKind {
    /// `Text`: bytes and a NUL.
    Text,
    /// `Data`: bytes.
    Data,
    /// A struct.
    Struct(Box<StructLayout>),
    /// A list.
    List(Box<ItemKind>),
}

/// What the items of a list are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemKind {
    /// Values that lie in the list.
    Data(DataKind),
    /// What pointers in the list lead to. Structs lie in the list themselves.
    Pointer(PointerKind),
}

impl MemberLayout {
    /// How many values it has in a row, in all columns within it, lists not counted.
    pub fn leaves(&self) -> usize {
        match &self.kind {
            MemberKind::Group(layout) => layout.leaves,
            MemberKind::Optional(member) => member.leaves(),
            MemberKind::Pointer { kind: PointerKind::Struct(layout), .. } => layout.leaves,
            _ => 1,
        }
    }
}

impl StructLayout {
    /// The layout of a struct with these members.
    pub fn new(members: Vec<MemberLayout>) -> StructLayout {
        let leaves = members.iter().map(MemberLayout::leaves).sum();
        StructLayout { members, leaves }
    }
}
