//! Where the members of a struct lie, which follows from all their numbers and types.

use super::names::{Room, Type};
use super::syntax::{Member, MemberKind, TypeName};
use crate::structs::Chosen;
use crate::structs::places::{Owner, Sections};
use crate::text::TextError;
use crate::text::described::{joined, refused};

/// A member of a struct, with its place.
pub struct Placed<'a> {
    pub member: &'a Member,
    owner: Owner,
    /// The union that it is a member of, and the group or union around it.
    pub union: Option<usize>,
    around: Option<usize>,
    /// The value of that union's discriminant that chooses it.
    value: Option<u16>,
    /// Of a field: its type, and where its value or pointer lies.
    pub field: Option<(Type, u32)>,
    /// Of a union: its own index. Of groups and unions: their members.
    pub own_union: Option<usize>,
    pub children: Vec<usize>,
}

/// The members of one struct.
pub struct Layouts<'a> {
    /// The struct's name with those around it.
    full: String,
    sections: Sections,
    pub placed: Vec<Placed<'a>>,
    /// How many members each union has that have a value.
    values: Vec<u16>,
    /// The numbers of fields and unions.
    numbers: Vec<(u16, usize)>,
}

impl<'a> Layouts<'a> {
    /// The members of the struct of this name, without their places, and the indices of those that lie in no other.
    pub fn of(members: &'a [Member], full: String) -> Result<(Layouts<'a>, Vec<usize>), TextError> {
        let (sections, placed) = (Sections::default(), Vec::new());
        let mut layouts = Layouts { full, sections, placed, values: Vec::new(), numbers: Vec::new() };
        let top = layouts.note(members, Owner::Struct, None, None)?;
        layouts.numbers.sort_by_key(|&(number, _)| number);
        Ok((layouts, top))
    }

    /// Gives all members their places; their types are found so.
    pub fn place_all(
        &mut self,
        resolve: impl Fn(&TypeName) -> Result<Type, TextError>,
    ) -> Result<(), TextError> {
        for place in 0..self.numbers.len() {
            let (number, index) = self.numbers[place];
            if usize::from(number) != place {
                let message = format!("the number is {number}, where {place} is the next one");
                return Err(refused(&self.path(index), message));
            }
            self.choose(index);
            self.place(index, &resolve)?;
        }
        Ok(())
    }

    /// The name of a member with those around it.
    pub fn path(&self, index: usize) -> String {
        let Placed { member, around, .. } = &self.placed[index];
        joined(&around.map_or_else(|| self.full.clone(), |around| self.path(around)), &member.name)
    }

    /// When a member is there, if it is one of a union.
    pub fn chosen(&self, index: usize) -> Option<Chosen> {
        let Placed { union, value, .. } = self.placed[index];
        // A member without a value has no field, and no column.
        Some(Chosen { tag: self.sections.discriminant(union?)?, value: value? })
    }

    /// Places the field or the discriminant whose number is next.
    fn place(
        &mut self,
        index: usize,
        resolve: impl Fn(&TypeName) -> Result<Type, TextError>,
    ) -> Result<(), TextError> {
        let Placed { owner, own_union, member, .. } = self.placed[index];
        let MemberKind::Field { type_name, .. } = &member.kind else {
            if own_union.is_none_or(|own| self.sections.add_discriminant(own)) {
                return Ok(());
            }
            let message = "the number of the union is greater than those of two members";
            return Err(refused(&self.path(index), message));
        };
        let kind = resolve(type_name)?;
        let at = match kind.room() {
            Room::None => {
                self.sections.add_void(owner);
                0
            }
            Room::Data(size) => self.sections.add_data(owner, size),
            Room::Pointer => self.sections.add_pointer(owner),
        };
        self.placed[index].field = Some((kind, at));
        Ok(())
    }

    /// Notes members that belong to an owner, or are those of a union; gives their indices.
    fn note(
        &mut self,
        members: &'a [Member],
        owner: Owner,
        union: Option<usize>,
        around: Option<usize>,
    ) -> Result<Vec<usize>, TextError> {
        let mut noted = Vec::with_capacity(members.len());
        for member in members {
            let owner = match union {
                Some(union) => self.sections.branch(union),
                None => owner,
            };
            let index = self.placed.len();
            self.placed.push(Placed {
                member,
                owner,
                union,
                around,
                value: None,
                field: None,
                own_union: None,
                children: Vec::new(),
            });
            noted.push(index);
            match &member.kind {
                MemberKind::Field { number, .. } => self.numbers.push((*number, index)),
                MemberKind::Group(members) => {
                    self.placed[index].children = self.note(members, owner, None, Some(index))?;
                }
                MemberKind::Union { number, members } => {
                    if union.is_some() && member.name.is_empty() {
                        return Err(refused(&self.path(index), "a union within a union has a name"));
                    }
                    if members.len() < 2 {
                        return Err(refused(&self.path(index), "a union has at least two members"));
                    }
                    let own = self.sections.union(owner);
                    self.values.push(0);
                    self.numbers.extend(number.map(|number| (number, index)));
                    self.placed[index].own_union = Some(own);
                    self.placed[index].children = self.note(members, owner, Some(own), Some(index))?;
                }
            }
        }
        Ok(noted)
    }

    /// Gives a member of a union its value, and first what lies around it.
    fn choose(&mut self, index: usize) {
        if let Some(around) = self.placed[index].around {
            self.choose(around);
        }
        if let (Some(union), None) = (self.placed[index].union, self.placed[index].value) {
            self.placed[index].value = Some(self.values[union]);
            self.values[union] += 1;
        }
    }
}
