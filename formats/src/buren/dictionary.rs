//! Decides whether a dictionary of text or bytes pays, and builds it.

use arrow_array::{Array, BinaryViewArray};
use hashbrown::HashMap;

/// After so many rows, of which more than half are distinct, no dictionary is tried any further.
const SAMPLE: usize = 4096;
/// Indices have at most two bytes.
const MOST: usize = 1 << 16;

/// The distinct values in the order of their first rows, and for each row the place of its value.
pub struct Dictionary<'a> {
    /// The distinct values.
    pub entries: Vec<&'a [u8]>,
    /// For each row the place in `entries`; 0 for NULL.
    pub indices: Vec<u16>,
}

/// The dictionary of an array; `None` if it has too many distinct values.
pub fn build(array: &BinaryViewArray) -> Option<Dictionary<'_>> {
    // The order of entries is that of the rows, so the map's random seed does not show in the file.
    let mut places: HashMap<&[u8], u16> = HashMap::new();
    let mut entries: Vec<&[u8]> = Vec::new();
    let mut indices = Vec::with_capacity(array.len());
    for (row, value) in array.iter().enumerate() {
        let Some(value) = value else {
            indices.push(0);
            continue;
        };
        // Equal values often follow one another.
        if let Some(&last) = indices.last()
            && entries.get(usize::from(last)) == Some(&value)
        {
            indices.push(last);
            continue;
        }
        let next = entries.len();
        let place = *places.entry(value).or_insert_with(|| {
            entries.push(value);
            next as u16
        });
        if entries.len() > MOST || (row == SAMPLE && entries.len() > SAMPLE / 2) {
            return None;
        }
        indices.push(place);
    }
    Some(Dictionary { entries, indices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_rows() {
        let array = BinaryViewArray::from_iter([Some("b"), None, Some("a"), Some("a"), Some(""), Some("b")]);
        let dictionary = build(&array).unwrap();
        assert_eq!(dictionary.entries, [b"b".as_slice(), b"a", b""]);
        assert_eq!(dictionary.indices, [0, 0, 1, 1, 2, 0]);
    }

    #[test]
    fn many_distinct_values_get_no_dictionary_and_65536_do() {
        let distinct = |n: usize, rows: usize| {
            BinaryViewArray::from_iter_values((0..rows).map(|i| (i % n).to_string().into_bytes()))
        };
        assert!(build(&distinct(6000, 6000)).is_none());
        // Distinct values that come after the sample.
        let late = |n: usize| {
            let values = (0..SAMPLE + n).map(|i| i.saturating_sub(SAMPLE).to_string().into_bytes());
            BinaryViewArray::from_iter_values(values)
        };
        let most = late(MOST);
        assert_eq!(build(&most).unwrap().entries.len(), MOST);
        assert_eq!(build(&most).unwrap().indices.last(), Some(&u16::MAX));
        assert!(build(&late(MOST + 1)).is_none());
    }
}
