//! Where the fields of a struct lie: what the Cap'n Proto compiler computes.
//!
//! The compiler goes over the fields by their numbers. A pointer takes the next place of the pointer section. A value
//! of 2^n bits takes the smallest hole of the data section that holds it and is cut out of its beginning. Else it takes
//! the beginning of a new word. What is left of either becomes holes, at most one of each size.
//!
//! Members of a union share their places: each is a [`Owner::Branch`] of it. The first one takes new places of the struct
//! around. A later one uses these again, smallest hole first, then makes one of them larger where a hole lies behind it,
//! and only then takes a new place. The discriminant takes its 16 bits just before the second member, or where the
//! union has a number of its own. (`StructLayout` in the compiler's `node-translator.c++`.)

/// The sizes of values, as binary logarithms of their bits, are below this.
const SIZES: usize = 6;

/// The holes of 2^n bits, as multiples of their sizes. 0 means that there is none: no hole is at the very beginning.
#[derive(Debug, Clone, Copy, Default)]
struct Holes([u32; SIZES]);

impl Holes {
    fn take(&mut self, size: usize) -> Option<u32> {
        let hole = *self.0.get(size)?;
        if hole != 0 {
            self.0[size] = 0;
            return Some(hole);
        }
        let offset = self.take(size + 1)? * 2;
        self.0[size] = offset + 1;
        Some(offset)
    }

    /// Adds holes of growing sizes below `limit`, of which the first, of this size, begins here.
    fn add(&mut self, size: usize, mut offset: u32, limit: usize) {
        for hole in self.0.get_mut(size..limit).into_iter().flatten() {
            *hole = offset;
            offset = offset.div_ceil(2);
        }
    }

    /// Joins a value with the holes behind it until it is 2^`factor` times as large.
    fn expand(&mut self, size: usize, offset: u32, factor: usize) -> bool {
        if factor == 0 {
            return true;
        }
        if self.0.get(size) != Some(&(offset + 1)) || !self.expand(size + 1, offset >> 1, factor - 1) {
            return false;
        }
        self.0[size] = 0;
        true
    }

    /// The size of the smallest hole that holds a value of this size.
    fn smallest(&self, size: usize) -> Option<usize> {
        (size..SIZES).find(|&size| self.0[size] != 0)
    }
}

/// What fields belong to.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    /// The struct, or a group of it.
    Struct,
    /// A member of a union, with its index.
    Branch(usize),
}

/// A part of the data section that the members of a union share.
#[derive(Debug, Clone, Copy)]
struct Location {
    size: usize,
    offset: u32,
}

#[derive(Debug)]
struct Union {
    owner: Owner,
    branches: usize,
    discriminant: Option<u32>,
    data: Vec<Location>,
    pointers: Vec<u32>,
}

/// How far a member of a union uses a location.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    /// So much of its beginning, if it does at all.
    used: Option<usize>,
    holes: Holes,
}

#[derive(Debug)]
struct Branch {
    union: usize,
    usage: Vec<Usage>,
    pointers: usize,
    has_members: bool,
}

/// The sections of a struct, as far as they are given away.
#[derive(Debug, Default)]
pub struct Sections {
    words: u32,
    holes: Holes,
    pointers: u32,
    unions: Vec<Union>,
    branches: Vec<Branch>,
}

impl Sections {
    /// A union of this owner; gives its index.
    pub fn union(&mut self, owner: Owner) -> usize {
        self.unions.push(Union {
            owner,
            branches: 0,
            discriminant: None,
            data: Vec::new(),
            pointers: Vec::new(),
        });
        self.unions.len() - 1
    }

    /// A further member of a union.
    pub fn branch(&mut self, union: usize) -> Owner {
        self.branches.push(Branch { union, usage: Vec::new(), pointers: 0, has_members: false });
        Owner::Branch(self.branches.len() - 1)
    }

    /// The words of the data section.
    pub fn words(&self) -> u32 {
        self.words
    }

    /// The pointers.
    pub fn pointers(&self) -> u32 {
        self.pointers
    }

    /// Where the discriminant of a union begins, as a multiple of 16 bits.
    pub fn discriminant(&self, union: usize) -> Option<u32> {
        self.unions[union].discriminant
    }

    /// Makes room for the discriminant of a union; false if it has one.
    pub fn add_discriminant(&mut self, union: usize) -> bool {
        if self.unions[union].discriminant.is_some() {
            return false;
        }
        let offset = self.add_data(self.unions[union].owner, 4);
        self.unions[union].discriminant = Some(offset);
        true
    }

    /// A field without a value.
    pub fn add_void(&mut self, owner: Owner) {
        if let Owner::Branch(branch) = owner {
            self.member(branch);
            self.add_void(self.unions[self.branches[branch].union].owner);
        }
    }

    /// A pointer; gives its number.
    pub fn add_pointer(&mut self, owner: Owner) -> u32 {
        let Owner::Branch(branch) = owner else {
            self.pointers += 1;
            return self.pointers - 1;
        };
        self.member(branch);
        let Branch { union, pointers, .. } = &mut self.branches[branch];
        let (union, number) = (*union, *pointers);
        *pointers += 1;
        if let Some(&pointer) = self.unions[union].pointers.get(number) {
            return pointer;
        }
        let pointer = self.add_pointer(self.unions[union].owner);
        self.unions[union].pointers.push(pointer);
        pointer
    }

    /// A value of 2^`size` bits; gives where it begins, as a multiple of its size.
    pub fn add_data(&mut self, owner: Owner, size: usize) -> u32 {
        let Owner::Branch(branch) = owner else {
            return self.holes.take(size).unwrap_or_else(|| {
                let offset = self.words << (SIZES - size);
                self.words += 1;
                self.holes.add(size, offset + 1, SIZES);
                offset
            });
        };
        self.member(branch);
        let union = self.branches[branch].union;
        let count = self.unions[union].data.len();
        self.branches[branch].usage.resize(count, Usage::default());
        let fits = |at: usize| self.branches[branch].usage[at].fits(self.unions[union].data[at], size);
        // Of equal ones the first.
        let best = (0..count).filter_map(|at| Some((fits(at)?, at))).min();
        if let Some((_, at)) = best {
            return self.branches[branch].usage[at].take(self.unions[union].data[at], size);
        }
        if let Some(offset) = (0..count).find_map(|at| self.take_larger(branch, at, size)) {
            return offset;
        }
        let offset = self.add_data(self.unions[union].owner, size);
        self.unions[union].data.push(Location { size, offset });
        self.branches[branch].usage.push(Usage { used: Some(size), holes: Holes::default() });
        offset
    }

    /// Notes that a member of a union has a field.
    fn member(&mut self, branch: usize) {
        let Branch { union, has_members, .. } = &mut self.branches[branch];
        let union = *union;
        if !std::mem::replace(has_members, true) {
            self.unions[union].branches += 1;
            if self.unions[union].branches == 2 {
                self.add_discriminant(union);
            }
        }
    }

    /// Takes a value's place in a location of the union that has to grow for it.
    fn take_larger(&mut self, branch: usize, at: usize, size: usize) -> Option<u32> {
        let union = self.branches[branch].union;
        match self.branches[branch].usage[at].used {
            None => {
                if !self.grow_location(union, at, size) {
                    return None;
                }
                self.branches[branch].usage[at].used = Some(size);
                let location = self.unions[union].data[at];
                Some(location.offset << (location.size - size))
            }
            Some(used) => {
                if !self.grow_usage(branch, at, used.max(size) + 1, true) {
                    return None;
                }
                let hole = self.branches[branch].usage[at].holes.take(size)?;
                let location = self.unions[union].data[at];
                Some((location.offset << (location.size - size)) + hole)
            }
        }
    }

    /// Makes a location of a union at least so large.
    fn grow_location(&mut self, union: usize, at: usize, size: usize) -> bool {
        let (owner, location) = (self.unions[union].owner, self.unions[union].data[at]);
        let Some(factor) = size.checked_sub(location.size).filter(|&factor| factor > 0) else { return true };
        if !self.expand(owner, location.size, location.offset, factor) {
            return false;
        }
        self.unions[union].data[at] = Location { size, offset: location.offset >> factor };
        true
    }

    /// Makes a member of a union use so much of a location.
    fn grow_usage(&mut self, branch: usize, at: usize, desired: usize, new_holes: bool) -> bool {
        if desired > SIZES || !self.grow_location(self.branches[branch].union, at, desired) {
            return false;
        }
        let usage = &mut self.branches[branch].usage[at];
        if let Some(used) = usage.used.filter(|_| new_holes) {
            usage.holes.add(used, 1, desired);
        }
        usage.used = Some(desired);
        true
    }

    /// Makes a value that lies here 2^`factor` times as large, if what lies behind it is free.
    fn expand(&mut self, owner: Owner, size: usize, offset: u32, factor: usize) -> bool {
        let Owner::Branch(branch) = owner else { return self.holes.expand(size, offset, factor) };
        if size + factor > SIZES || offset & ((1 << factor) - 1) != 0 {
            return false;
        }
        let union = self.branches[branch].union;
        for at in 0..self.branches[branch].usage.len() {
            let location = self.unions[union].data[at];
            if location.size < size || offset >> (location.size - size) != location.offset {
                continue;
            }
            let within = offset - (location.offset << (location.size - size));
            let usage = &mut self.branches[branch].usage[at];
            if within == 0 && usage.used == Some(size) {
                return self.grow_usage(branch, at, size + factor, false);
            }
            return usage.holes.expand(size, within, factor);
        }
        false
    }
}

impl Usage {
    /// The size of the smallest hole of a location that holds a value of this size.
    fn fits(&self, location: Location, size: usize) -> Option<usize> {
        match self.used {
            None => (size <= location.size).then_some(location.size),
            Some(used) if size >= used => (size < location.size).then_some(size),
            Some(used) => self.holes.smallest(size).or((used < location.size).then_some(used)),
        }
    }

    /// Takes a value's place where one [fits](Usage::fits).
    fn take(&mut self, location: Location, size: usize) -> u32 {
        let within = match self.used {
            None => {
                self.used = Some(size);
                0
            }
            Some(used) if size >= used => {
                self.holes.add(used, 1, size);
                self.used = Some(size + 1);
                1
            }
            Some(used) => self.holes.take(size).unwrap_or_else(|| {
                let within = 1 << (used - size);
                self.holes.add(size, within + 1, used);
                self.used = Some(used + 1);
                within
            }),
        };
        (location.offset << (location.size - size)) + within
    }
}
