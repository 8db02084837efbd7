//! buren files through the binary: what `palais inspect` prints, damage that `--check` finds, filters that are compared with
//! encoded values, files of version 0.

use std::fs;
use std::path::Path;

use process::palais;

#[path = "support/process.rs"]
mod process;

fn done(arguments: &[&str]) -> String {
    let found = palais(arguments);
    assert_eq!(found.code(), Some(0), "{arguments:?} {}:\n{}", found.ending(), found.stderr);
    found.stdout
}

/// A buren file of 5,000 rows.
fn file(directory: &Path) -> String {
    let path = directory.join("t.buren").display().to_string();
    let sql = "SELECT range AS id, CAST(range % 40 AS INT) AS few, 'page ' || (range % 7) AS page,
                 CASE WHEN range % 10 = 3 THEN NULL ELSE range * 0.25e0 END AS price
               FROM range(5000)";
    done(&["query", sql, "--output", &path]);
    path
}

#[test]
fn inspect_prints_what_lies_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path());
    let text = done(&["inspect", &path]);
    let line = |text: &str, name: &str| -> Vec<String> {
        let line = text.lines().rfind(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).split_whitespace().map(String::from).collect()
    };
    assert!(text.contains("5,000 rows in 1 row group, "), "{text}");
    assert!(text.contains("row group 0: 5,000 rows"), "{text}");
    assert!(text.contains(" VARCHAR ") && !text.contains("Utf8View"), "types are those of SQL: {text}");
    let id = line(&text, "id");
    assert_eq!(
        [&id[1], &id[3], &id[5], &id[6], &id[7], &id[8]],
        ["40,000", "0", "0", "4999", "none", "packed"]
    );
    let stored: u64 = id[2].replace(',', "").parse().unwrap();
    assert!(stored < 1000, "{text}");
    assert_eq!(line(&text, "price")[3], "500");
    assert!(text.contains("dictionary of 7("), "{text}");
    assert!(!text.contains("checksum"), "{text}");
    assert!(done(&["inspect", "--check", &path]).contains("\n5 checksums agree\n"));
}

#[test]
fn check_finds_every_damaged_chunk() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path());
    let whole = fs::read(&path).unwrap();
    let check = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        palais(["inspect", "--check", &path])
    };
    // The last byte of the first chunk of each column lies before the zeros in front of the next.
    for at in [70, whole.len() - 17] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        let found = check(&bytes);
        assert_eq!(found.code(), Some(1), "byte {at} {}", found.ending());
        assert!(found.stderr.contains("checksum"), "byte {at}: {}", found.stderr);
    }
    let mut bytes = whole.clone();
    bytes[150] ^= 1;
    let found = check(&bytes);
    assert!(found.stderr.contains("t.buren, byte 64, column id: "), "{}", found.stderr);
    let mut bytes = whole.clone();
    let end = bytes.len();
    bytes[end - 2] = 0;
    let found = check(&bytes);
    assert!(found.stderr.contains("version 0") && found.stderr.contains("convert"), "{}", found.stderr);
    assert_eq!(check(b"a,b\n1,2\n").code(), Some(1));
}

/// Filters whose bounds choose rows before the other columns are decoded give the rows that csv gives.
#[test]
fn filters_on_encoded_values_give_the_same_rows() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    done(&["generate", &at("csv"), "--rankings", "3000", "--uservisits", "30000", "--to", "csv"]);
    for table in ["rankings", "uservisits"] {
        done(&["convert", &at(&format!("csv/{table}")), &at(&format!("buren/{table}")), "--to", "buren"]);
    }
    let answer = |data: &str, sql: &str| done(&["query", sql, "--data", &at(data), "--workers", "2"]);
    let value = |sql: &str| answer("csv", sql).lines().nth(1).unwrap().trim_matches('"').to_string();
    let url = value("SELECT destURL FROM uservisits ORDER BY duration, destURL LIMIT 1");
    let ip = value("SELECT sourceIP FROM uservisits ORDER BY visitDate, sourceIP LIMIT 1");
    let agent = value("SELECT userAgent FROM uservisits ORDER BY userAgent DESC LIMIT 1");
    let conditions = [
        format!("destURL = '{url}'"),
        format!("destURL LIKE '{}%'", &url[..3]),
        format!("sourceIP = '{ip}'"),
        "sourceIP LIKE '10.%'".to_string(),
        "sourceIP BETWEEN '20.' AND '21'".to_string(),
        format!("userAgent = '{agent}'"),
        "userAgent LIKE 'Q%/3._'".to_string(),
        "visitDate = DATE '1999-12-31'".to_string(),
        "visitDate < DATE '1970-02-01' AND duration = 7".to_string(),
        "adRevenue BETWEEN 0.25 AND 0.26".to_string(),
        "countryCode = 'USA' AND searchWord LIKE 'a%' AND duration > 9".to_string(),
        "duration > 10".to_string(),
        "sourceIP = 'no address'".to_string(),
    ];
    for condition in conditions {
        let sql = format!(
            "SELECT * FROM uservisits WHERE {condition} ORDER BY sourceIP, destURL, visitDate, adRevenue, userAgent"
        );
        let expected = answer("csv", &sql);
        assert!(answer("buren", &sql) == expected, "{condition}");
    }
}
