//! The public test suites of JSON, MessagePack and CBOR: what they demand, with the real binary.
//!
//! They lie beside the project, in `../shared/corpora`. Where they do not, the tests say so and pass.

use std::fs;
use std::path::{Path, PathBuf};

use process::{Finished, palais};
use serde_json::Value;

#[path = "support/process.rs"]
mod process;

fn corpus(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpora").join(name);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

fn select(path: &Path) -> Finished {
    palais(["query", &format!("SELECT * FROM '{}'", path.display()), "--workers", "1"])
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// Texts that the suite wants accepted, and whose objects have a key twice: which value is meant nobody knows (RFC 8259,
/// section 4), and DuckDB refuses them too.
const KEY_TWICE: [&str; 2] = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"];

/// Texts that the suite wants refused and that are read: each with its reason.
const LENIENT_JSON: &[(&str, &str)] = &[
    ("n_number_NaN.json", "NaN is read, as Python and DuckDB write it"),
    ("n_number_infinity.json", "Infinity is read, as Python and DuckDB write it"),
    ("n_number_minus_infinity.json", "-Infinity is read, as Python and DuckDB write it"),
];

#[test]
fn json_texts_are_accepted_and_refused_as_the_suite_has_it() {
    let Some(corpus) = corpus("json/test_parsing") else { return };
    let home = tempfile::tempdir().expect("a directory can be made");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(corpus).expect("the suite can be listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read(&path).expect("a text can be read");
        seen += 1;

        // As the value of a column of an array of objects every text is read whole, whatever it is.
        let wrapped = home.path().join("wrapped.json");
        fs::write(&wrapped, [b"[{\"v\":\n", text.as_slice(), b"}]"].concat()).expect("a file can be written");
        // By itself it is rows only if it is an object or an array of objects.
        let bare = home.path().join("bare.json");
        fs::write(&bare, &text).expect("a file can be written");
        for (place, path) in [("in a row", &wrapped), ("by itself", &bare)] {
            let done = select(path);
            let (accepted, refused) = (done.code() == Some(0), done.code() == Some(1));
            let no_row = done.stderr.contains("an object") || done.stderr.contains("no columns");
            let lenient = LENIENT_JSON.iter().any(|(text, _)| *text == name) && place == "in a row";
            let right = match name.split('_').next() {
                _ if KEY_TWICE.contains(&name.as_str()) => refused && done.stderr.starts_with("error: "),
                Some("y") => accepted || (place == "by itself" && refused && no_row),
                Some("n") if lenient => accepted,
                Some("n") => refused && done.stderr.starts_with("error: "),
                _ => accepted || refused,
            };
            if !right {
                wrong.push(format!("{name} {place} {}: {}", done.ending(), done.stderr));
            }
        }
    }
    assert!(seen > 300, "the suite has {seen} texts");
    assert!(wrong.is_empty(), "{} outcomes are others:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the column `v` of a file holds, as JSON.
fn value(path: &Path) -> Result<Value, String> {
    let sql = format!("SELECT v FROM '{}'", path.display());
    let done = palais(["query", &sql, "--workers", "1", "--format", "jsonl"]);
    match done.code() {
        Some(0) => {
            let row: Value =
                serde_json::from_str(&done.stdout).map_err(|e| format!("{e}: {}", done.stdout))?;
            Ok(row["v"].clone())
        }
        _ => Err(format!("it {}: {}", done.ending(), done.stderr)),
    }
}

fn close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| close(a, b)))
        }
        // Values of mixed kinds are their JSON text.
        (Value::String(text), other) if !other.is_string() => {
            serde_json::from_str::<Value>(text).is_ok_and(|found| !found.is_string() && close(&found, other))
        }
        _ => match (found.as_f64(), expected.as_f64()) {
            (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-15 * b.abs(),
            _ => found == expected,
        },
    }
}

/// A row of one value, which is the whole file.
fn check(home: &Path, name: &str, row: &[u8], expected: &Value, wrong: &mut Vec<String>) {
    let path = home.join(name);
    fs::write(&path, row).expect("a file can be written");
    match value(&path) {
        Ok(found) if close(&found, expected) => {}
        Ok(found) => wrong.push(format!("{row:02x?} is {found}, and not {expected}")),
        Err(error) => wrong.push(format!("{row:02x?}: {error}")),
    }
}

fn outcome(seen: usize, least: usize, wrong: &[String]) {
    assert!(seen >= least, "the suite has {seen} values");
    assert!(wrong.is_empty(), "{} of {seen} values are others:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn messagepack_values_are_those_of_the_suite() {
    let Some(path) = corpus("msgpack/msgpack-test-suite.json") else { return };
    let suite: Value = serde_json::from_slice(&fs::read(path).expect("the suite can be read")).expect("JSON");
    let home = tempfile::tempdir().expect("a directory can be made");
    let (mut seen, mut wrong) = (0, Vec::new());
    for (group, cases) in suite.as_object().expect("groups") {
        for case in cases.as_array().expect("cases") {
            let expected = match group.split('.').nth(1) {
                // What applications mean by extensions of their own is not known: their number and bytes are text.
                Some("ext") => {
                    let hex = case["ext"][1].as_str().expect("hexadecimal").replace('-', "");
                    serde_json::json!({ "type": case["ext"][0], "data": format!("\\x{hex}") })
                }
                Some("array" | "map" | "nested") => {
                    case.get("array").or(case.get("map")).expect("an array or a map").clone()
                }
                Some("nil") => Value::Null,
                Some("bool") => case["bool"].clone(),
                Some("binary") => {
                    let hex = case["binary"].as_str().expect("hexadecimal").replace('-', "");
                    Value::String(format!("\\x{hex}"))
                }
                Some("string-ascii" | "string-utf8" | "string-emoji") => case["string"].clone(),
                Some("timestamp") => {
                    let (seconds, nanos) = (case["timestamp"][0].as_i64(), case["timestamp"][1].as_u64());
                    let (seconds, nanos) = (seconds.expect("seconds"), nanos.expect("nanoseconds"));
                    if nanos % 1000 != 0 && !(-9_223_372_036..9_223_372_036).contains(&seconds) {
                        // 64 bits of nanoseconds reach from 1677 to 2262.
                        continue;
                    }
                    timestamp(seconds, nanos)
                }
                _ => case.get("bignum").map_or_else(
                    || case["number"].clone(),
                    |big| serde_json::from_str(big.as_str().expect("digits")).expect("a number"),
                ),
            };
            for bytes in case["msgpack"].as_array().expect("byte strings") {
                let bytes = bytes_of(bytes.as_str().expect("hexadecimal"));
                seen += 1;
                let row = [b"\x81\xa1v", bytes.as_slice()].concat();
                check(home.path(), "v.msgpack", &row, &expected, &mut wrong);
            }
        }
    }
    outcome(seen, 200, &wrong);
}

/// A moment as palais writes it, in the digits of its unit.
fn timestamp(seconds: i64, nanos: u64) -> Value {
    let sql = match nanos % 1000 {
        0 => format!("to_timestamp_micros({})", seconds * 1_000_000 + (nanos / 1000) as i64),
        _ => format!("to_timestamp_nanos({})", i128::from(seconds) * 1_000_000_000 + i128::from(nanos)),
    };
    let done = palais(["query", &format!("SELECT {sql} AS v"), "--format", "jsonl"]);
    let row: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.stderr));
    Value::String(format!("{}Z", row["v"].as_str().expect("a timestamp is a string").trim_end_matches('Z')))
}

#[test]
fn cbor_values_are_those_of_the_suite() {
    let Some(path) = corpus("cbor/appendix_a.json") else { return };
    let suite: Value = serde_json::from_slice(&fs::read(path).expect("the suite can be read")).expect("JSON");
    let home = tempfile::tempdir().expect("a directory can be made");
    let (mut seen, mut wrong) = (0, Vec::new());
    for case in suite.as_array().expect("cases") {
        let bytes = bytes_of(case["hex"].as_str().expect("hexadecimal"));
        let expected = match (case.get("decoded"), case["diagnostic"].as_str()) {
            (Some(decoded), _) => decoded.clone(),
            (None, Some(special @ ("NaN" | "Infinity" | "-Infinity"))) => Value::String(special.into()),
            (None, Some(bytes)) if bytes.starts_with("h'") => {
                Value::String(format!("\\x{}", &bytes[2..bytes.len() - 1]))
            }
            (None, Some("{1: 2, 3: 4}")) => serde_json::json!({ "1": 2, "3": 4 }),
            (None, Some(simple)) if simple.starts_with("simple") => Value::String(simple.into()),
            // Tags and what is not told are looked at elsewhere.
            _ => continue,
        };
        seen += 1;
        check(home.path(), "v.cbor", &[b"\xa1\x61v", bytes.as_slice()].concat(), &expected, &mut wrong);
    }
    outcome(seen, 65, &wrong);
}
