//! Names: those of columns that must differ, and those that are near to one that is unknown.

use std::collections::HashMap;

use strsim::osa_distance;

/// The most names that [`nearest`] gives.
const MOST_NEAR: usize = 3;

/// Tells equal names apart, as DuckDB does: of `i`, `i`, `I` the second becomes `i_1` and the third `I_2`. Letters'
/// case makes no difference. `None` if all names differ already.
pub fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut renamed = false;
    let mut all = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let mut new = name.to_string();
        while seen.contains_key(&new.to_lowercase()) {
            let count = seen.entry(lower.clone()).or_default();
            *count += 1;
            new = format!("{name}_{count}");
            renamed = true;
        }
        seen.insert(new.to_lowercase(), 0);
        all.push(new);
    }
    renamed.then_some(all)
}

/// The names among `candidates` that are nearest to `name`, the nearest first, at most three. The case of letters does
/// not count. A name is not near if more than a third of `name` would have to change, or all of it.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = (length / 3).max(1).min(length.saturating_sub(1));
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            // The difference of lengths is a lower bound of the distance, and is cheap to compute.
            if other.chars().count().abs_diff(length) > limit {
                return None;
            }
            // Two swapped neighbours count as one mistake.
            let distance = osa_distance(&wanted, &other);
            (distance <= limit).then_some((distance, candidate))
        })
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(MOST_NEAR).map(|(_, candidate)| candidate.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_in_order_and_far_ones_not_at_all() {
        let names = ["rankings.csv", "uservisits.csv", "Ranking.csv", "documents"];
        assert_eq!(nearest("rankins.csv", names), ["Ranking.csv", "rankings.csv"]);
        assert_eq!(nearest("RANKINGS.CSV", names), ["rankings.csv", "Ranking.csv"]);
        assert_eq!(nearest("uservistis.csv", names), ["uservisits.csv"]);
        assert!(nearest("zzz", names).is_empty());
        // Two letters of four are too many, and so is the only one.
        assert!(nearest("cost", ["cash", "most wanted", "c"]).is_empty());
        assert_eq!(nearest("cost", ["cosh", "coast", "ocst"]), ["coast", "cosh", "ocst"]);
        assert!(nearest("a", ["b", "ab", "é"]).is_empty());
        assert_eq!(nearest("ab", ["b", "ba", "é"]), ["b", "ba"]);
        assert_eq!(nearest("a", ["A"]), ["A"]);
    }

    #[test]
    fn equal_names_get_numbers() {
        assert_eq!(distinct(["i", "j"]), None);
        assert_eq!(distinct(["i", "i", "i_1", "I"]).unwrap(), ["i", "i_1", "i_1_1", "I_2"]);
        assert_eq!(distinct(["a", "A_1", "a"]).unwrap(), ["a", "A_1", "a_2"]);
    }
}
