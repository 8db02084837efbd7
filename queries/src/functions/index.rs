//! Finds a row of the table of functions by a name.
//!
//! A hash table with open addressing, which the compiler makes: nothing is computed when the program starts.

use super::table::ALL;

/// The slots of the hash table, a power of two.
const SLOTS: usize = 2048;

/// In each slot the number of a row of [`ALL`] plus 1, or 0. A row has a slot for each of its names.
static TABLE: [u16; SLOTS] = table();

/// The number of the row of [`ALL`] with this name, in lower case; the first one if several have it.
pub fn row(name: &str) -> Option<usize> {
    let mut slot = hash(name.as_bytes());
    while TABLE[slot] > 0 {
        let row = usize::from(TABLE[slot] - 1);
        if ALL[row].name == name || ALL[row].aliases.contains(&name) {
            return Some(row);
        }
        slot = (slot + 1) % SLOTS;
    }
    None
}

const fn table() -> [u16; SLOTS] {
    let mut table = [0; SLOTS];
    let (mut row, mut names) = (0, 0);
    while row < ALL.len() {
        put(&mut table, ALL[row].name, row);
        let mut alias = 0;
        while alias < ALL[row].aliases.len() {
            put(&mut table, ALL[row].aliases[alias], row);
            alias += 1;
        }
        names += 1 + alias;
        row += 1;
    }
    assert!(2 * names <= SLOTS, "half of the slots stay empty, so that searches are short");
    table
}

const fn put(table: &mut [u16; SLOTS], name: &str, row: usize) {
    let mut slot = hash(name.as_bytes());
    while table[slot] > 0 {
        slot = (slot + 1) % SLOTS;
    }
    table[slot] = row as u16 + 1;
}

/// The slot where the search for a name begins: FNV-1a.
const fn hash(name: &[u8]) -> usize {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < name.len() {
        hash = (hash ^ name[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_row() {
        for (number, described) in ALL.iter().enumerate() {
            for name in described.names() {
                let found = row(name).expect("the name is in the table");
                assert!(found <= number && ALL[found].names().any(|known| known == name), "{name}");
            }
        }
        assert_eq!(row("no such function"), None);
        assert_eq!(row(""), None);
    }
}
