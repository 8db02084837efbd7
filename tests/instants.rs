//! Instants and UUIDs on their way through files: what a label of a time zone changes, and what it does not.

use std::path::Path;

use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

const INSTANTS: &str = "tests/slt/data/instants.parquet";
const NESTED: &str = "tests/slt/data/nested.parquet";

/// What a query prints.
fn csv(sql: &str) -> String {
    succeed(&["query", "--format", "csv", sql]).stdout
}

/// The same questions of the same instants, whichever file they are in.
fn answers(path: &Path) -> Vec<String> {
    let path = text(path);
    [
        "SELECT id, berlin, east, utc FROM '{}' ORDER BY id",
        "SELECT id FROM '{}' WHERE berlin >= '2024-01-01' ORDER BY id",
        "SELECT id FROM '{}' WHERE berlin >= DATE '2024-01-01' ORDER BY id",
        "SELECT id FROM '{}' WHERE berlin::DATE >= '2024-01-01' ORDER BY id",
        "SELECT id FROM '{}' WHERE east = TIMESTAMP '2023-12-31 23:00:00' ORDER BY id",
        "SELECT extract(hour FROM berlin), extract(hour FROM east) FROM '{}' ORDER BY id",
        "SELECT berlin::DATE, count(*) FROM '{}' GROUP BY 1 ORDER BY 1",
        "SELECT min(berlin), max(east) FROM '{}'",
        "SELECT a.id FROM '{}' a JOIN '{}' b ON a.berlin = b.east ORDER BY 1",
    ]
    .map(|sql| csv(&sql.replace("{}", path)).replace(".000000Z", "Z").replace(".000Z", "Z"))
    .into()
}

#[test]
fn an_instant_is_the_same_in_every_file() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let expected = answers(Path::new(INSTANTS));
    assert!(
        expected[0].starts_with("id,berlin,east,utc\n1,2023-12-31T22:30:00Z,2023-12-31T22:30:00Z,"),
        "{}",
        expected[0]
    );
    assert_eq!(expected[1], "id\n3\n4\n5\n8\n");
    for name in ["t.parquet", "t.arrow", "t.buren", "t.csv", "t.jsonl", "t.msgpack", "t.cbor"] {
        let (queried, converted) =
            (home.path().join(format!("q.{name}")), home.path().join(format!("c.{name}")));
        succeed(&["query", &format!("COPY (FROM '{INSTANTS}') TO '{}'", text(&queried))]);
        succeed(&["convert", INSTANTS, text(&converted), "--verify", "--no-progress"]);
        assert_eq!(answers(&queried), expected, "{name}");
        assert_eq!(answers(&converted), expected, "{name}");
    }
}

#[test]
fn convert_keeps_the_zone_and_a_query_writes_utc() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for name in ["t.parquet", "t.arrow", "t.buren"] {
        let converted = home.path().join(name);
        succeed(&["convert", INSTANTS, text(&converted), "--no-progress"]);
        let schema = succeed(&["schema", text(&converted)]).stdout;
        assert!(schema.contains("'Europe/Berlin'") && schema.contains("'+02:00'"), "{name}: {schema}");
        let queried = home.path().join(format!("q.{name}"));
        succeed(&["query", &format!("COPY (FROM '{INSTANTS}') TO '{}'", text(&queried))]);
        let schema = succeed(&["schema", text(&queried)]).stdout;
        assert!(!schema.contains("Europe/Berlin") && schema.contains("WITH TIME ZONE"), "{name}: {schema}");
        // Files that differ in their labels are one table.
        let both = home.path().join(format!("*{name}"));
        assert_eq!(
            csv(&format!("SELECT count(DISTINCT berlin), count(*) FROM '{}'", text(&both))).lines().nth(1),
            Some("7,16")
        );
    }
}

#[test]
fn an_instant_is_another_constant_than_a_timestamp_of_its_value() {
    let (local, instant) =
        ("TIMESTAMP '2024-01-01 00:00:00'", "CAST('2024-01-01 00:00:00+00:00' AS TIMESTAMP WITH TIME ZONE)");
    let both = "2024-01-01T00:00:00,2024-01-01T00:00:00Z\n";
    let sql = format!("SELECT max({local}) AS a, max({instant}) AS b FROM range(3)");
    assert_eq!(csv(&sql), format!("a,b\n{both}"));
    let when = |value| format!("CASE WHEN range > 1 THEN {value} END");
    let sql = format!("SELECT {} AS a, {} AS b FROM range(3) WHERE range = 2", when(local), when(instant));
    assert_eq!(csv(&sql), format!("a,b\n{both}"));
}

#[test]
fn uuids_are_text_in_every_file() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let expected = csv(&format!("SELECT id, u FROM '{NESTED}' ORDER BY id"));
    assert!(expected.contains("\n3,550e8400-e29b-41d4-a716-446655440000\n4,\n"), "{expected}");
    for name in ["t.parquet", "t.arrow", "t.buren", "t.csv", "t.jsonl"] {
        let path = home.path().join(name);
        succeed(&["query", &format!("COPY (SELECT id, u FROM '{NESTED}') TO '{}'", text(&path))]);
        assert_eq!(csv(&format!("SELECT id, u FROM '{}' ORDER BY id", text(&path))), expected, "{name}");
    }
}

#[test]
fn all_processes_have_the_time_of_the_query() {
    let sql = "SELECT count(DISTINCT current_date - 1), count(DISTINCT now()), min(current_date - range::INT) = current_date - 999 \
               FROM range(1000)";
    let several = succeed(&["cluster", "run", "--local", "2", "--format", "csv", sql]).stdout;
    assert_eq!(several.lines().nth(1), Some("1,1,true"), "{several}");
}
