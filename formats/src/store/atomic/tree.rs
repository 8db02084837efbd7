//! Trees of directories by values, which palais writes without a manifest and may therefore replace.

use std::path::Path;

use super::super::roots;

/// Whether a directory holds nothing but what palais writes by the values of columns: directories called `key=value`, and in
/// them files called `part-00000.csv`. What cannot be listed counts as something else.
pub fn is_tree(directory: &Path) -> bool {
    let holds = |directory: &Path, files: bool| -> std::io::Result<bool> {
        let mut below = vec![(directory.to_path_buf(), files)];
        while let Some((directory, files)) = below.pop() {
            for entry in roots::read_dir(&directory)? {
                let entry = entry?;
                let (name, kind) = (entry.file_name(), entry.file_type()?);
                let name = name.to_string_lossy();
                let is_part = || {
                    let number = name.strip_prefix("part-").and_then(|rest| rest.split_once('.'));
                    number.is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
                };
                match name.split_once('=') {
                    Some((key, _)) if kind.is_dir() && !key.is_empty() => {
                        below.push((directory.join(entry.file_name()), true))
                    }
                    _ if files && kind.is_file() && is_part() => {}
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    };
    holds(directory, false).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    #[test]
    fn only_a_tree_of_parts_is_taken_for_one() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| -> PathBuf { home.path().join(name) };
        let make = |name: &str| {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        };
        make("t/a=1/b=x/part-00000.csv");
        make("t/a=2/part-100000.csv.gz");
        assert!(is_tree(&path("t")));
        for other in
            ["t/x.csv", "t/a=1/notes.txt", "t/part-00000.csv", "t/other/part-00000.csv", "t/a=1/part-x.csv"]
        {
            make(other);
            assert!(!is_tree(&path("t")), "{other}");
            fs::remove_file(path(other)).unwrap();
            let _ = fs::remove_dir(path("t/other"));
        }
        assert!(is_tree(&path("t")) && !is_tree(&path("none")));
    }
}
