//! Names of columns that must differ.

use std::collections::HashMap;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers() {
        assert_eq!(distinct(["i", "j"]), None);
        assert_eq!(distinct(["i", "i", "i_1", "I"]).unwrap(), ["i", "i_1", "i_1_1", "I_2"]);
        assert_eq!(distinct(["a", "A_1", "a"]).unwrap(), ["a", "A_1", "a_2"]);
    }
}
