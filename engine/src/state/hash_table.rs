//! A hash table from short strings to group numbers: open addressing with linear probing, eight bytes a slot.
//!
//! A slot has half of a hash and the number of a group. The key of the group lies outside, with the keys of all groups
//! in their order. So the table of a partition's groups stays in the cache. A probe that meets another key nearly
//! always sees it by the hash alone.
//!
//! Keys are looked up 64 at a time. All their slots are read first, so that no cache miss waits for another (Boncz,
//! Zukowski, Nes: MonetDB/X100, 2005, section 4).

use super::hash::hash_view;

/// The number of slots of the first table.
const FIRST: usize = 1 << 10;
/// The number of keys that are looked up together.
const TOGETHER: usize = 64;

/// A hash table from inlined views to group numbers.
#[derive(Default)]
pub struct SlotTable {
    /// Each slot is 0, or has the upper half of a key's hash. Its lower 32 bits have the number of its group plus 1.
    /// The number of slots is a power of two.
    slots: Vec<u64>,
    /// The number of slots that are not 0.
    used: usize,
}

/// The mask of the upper half of a hash, which lies in a slot.
const HALF: u64 = !(u32::MAX as u64);

impl SlotTable {
    /// Appends the number of the group of each of these inlined views to `groups`; see [`SlotTable::intern`].
    pub fn intern_all(&mut self, views: &[u128], keys: &mut Vec<u128>, groups: &mut Vec<usize>) {
        let (mut hashes, mut slots) = ([0_u64; TOGETHER], [0_u64; TOGETHER]);
        for views in views.chunks(TOGETHER) {
            self.reserve(views.len(), keys);
            let mask = self.slots.len() - 1;
            for ((hash, slot), view) in hashes.iter_mut().zip(&mut slots).zip(views) {
                *hash = hash_view(*view);
                *slot = self.slots[*hash as usize & mask];
            }
            for ((hash, slot), view) in hashes.iter().zip(&slots).zip(views) {
                let group = (*slot as u32).wrapping_sub(1) as usize;
                if (slot ^ hash) & HALF == 0 && keys.get(group) == Some(view) {
                    groups.push(group);
                } else {
                    groups.push(self.probe(*hash, *view, keys) as usize);
                }
            }
        }
    }

    /// Gives the number of the group of an inlined view. A new key is appended to `keys`, and its index there is the
    /// number.
    pub fn intern(&mut self, view: u128, keys: &mut Vec<u128>) -> u32 {
        self.reserve(1, keys);
        self.probe(hash_view(view), view, keys)
    }

    /// Makes room for `more` keys. At most half of the slots are used.
    #[inline]
    pub fn reserve(&mut self, more: usize, keys: &[u128]) {
        if 2 * (self.used + more) > self.slots.len() {
            self.grow(2 * (self.used + more), keys);
        }
    }

    fn probe(&mut self, hash: u64, view: u128, keys: &mut Vec<u128>) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                let group = keys.len() as u32;
                keys.push(view);
                self.slots[at] = hash & HALF | u64::from(group + 1);
                self.used += 1;
                return group;
            }
            if (slot ^ hash) & HALF == 0 {
                let group = slot as u32 - 1;
                if keys[group as usize] == view {
                    return group;
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The bytes of the table.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 8
    }

    #[cold]
    fn grow(&mut self, least: usize, keys: &[u128]) {
        let size = (4 * self.slots.len()).max(least.next_power_of_two()).max(FIRST);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = hash_view(keys[(slot as u32 - 1) as usize]) as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_number_while_the_table_grows() {
        let (mut slots, mut keys) = (SlotTable::default(), Vec::new());
        // A group that is in no slot, like the group of NULL.
        keys.push(0);
        let view = |i: u128| 12 | (i * 7919) << 32;
        let first: Vec<u32> = (0..20_000).map(|i| slots.intern(view(i), &mut keys)).collect();
        assert_eq!(first, (1..=20_000).collect::<Vec<u32>>());
        let again: Vec<u32> = (0..20_000).map(|i| slots.intern(view(i), &mut keys)).collect();
        assert_eq!(again, first);
        assert_eq!(keys.len(), 20_001);
        assert_eq!(slots.intern(0, &mut keys), 20_001, "the empty string is a key");
        assert!(slots.bytes() >= 2 * 8 * 20_000 && slots.bytes() <= 8 * 8 * 20_000);
    }
}
