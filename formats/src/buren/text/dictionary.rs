//! The distinct values of a sequence, and how often each occurs.

use hashbrown::HashMap;

/// The distinct values in the order of their first rows.
pub struct Distinct<'a> {
    /// The distinct values.
    pub entries: Vec<&'a [u8]>,
    /// For each row the place in `entries`.
    pub places: Vec<u32>,
    /// How often each occurs.
    pub counts: Vec<u32>,
}

/// Finds the distinct values.
pub fn distinct<'a>(values: &[&'a [u8]]) -> Distinct<'a> {
    // The order of entries is that of the rows, so the map's random seed does not show in the file.
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut found =
        Distinct { entries: Vec::new(), places: Vec::with_capacity(values.len()), counts: Vec::new() };
    for value in values {
        let next = found.entries.len() as u32;
        let place = *known.entry(value).or_insert_with(|| {
            found.entries.push(value);
            found.counts.push(0);
            next
        });
        found.counts[place as usize] += 1;
        found.places.push(place);
    }
    found
}

/// The values that occur again, those that occur once, and for each row the place among the former, or their number.
pub struct RepeatedValues<'a> {
    /// The values that occur again.
    pub entries: Vec<&'a [u8]>,
    /// For each row the place in `entries`, or as many as these.
    pub places: Vec<u32>,
    /// The values that occur once.
    pub rest: Vec<&'a [u8]>,
}

impl<'a> Distinct<'a> {
    /// Parts the values that occur again from those that occur once.
    pub fn frequent(&self) -> RepeatedValues<'a> {
        let again = self.counts.iter().filter(|count| **count > 1).count() as u32;
        let (mut entries, mut rest) = (Vec::new(), Vec::new());
        let mut moved = Vec::with_capacity(self.entries.len());
        for (entry, count) in self.entries.iter().zip(&self.counts) {
            if *count > 1 {
                moved.push(entries.len() as u32);
                entries.push(*entry);
            } else {
                moved.push(again);
                rest.push(*entry);
            }
        }
        let places = self.places.iter().map(|place| moved[*place as usize]).collect();
        RepeatedValues { entries, places, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_rows() {
        let values: [&[u8]; 6] = [b"b", b"once", b"a", b"", b"a", b"b"];
        let found = distinct(&values);
        assert_eq!(found.entries, [b"b".as_slice(), b"once", b"a", b""]);
        assert_eq!(
            (found.places.as_slice(), found.counts.as_slice()),
            ([0, 1, 2, 3, 2, 0].as_slice(), [2, 1, 2, 1].as_slice())
        );
        let frequent = found.frequent();
        assert_eq!(frequent.entries, [b"b".as_slice(), b"a"]);
        assert_eq!(frequent.rest, [b"once".as_slice(), b""]);
        assert_eq!(frequent.places, [0, 2, 1, 2, 1, 0]);
    }
}
