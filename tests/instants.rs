//! Instants and UUIDs on their way through files: what a label of a time zone changes, and what it does not.

use std::path::Path;

use process::palais;
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

/// The time zone of a session with another offset in summer.
const BERLIN: &str = "SET TimeZone = 'Europe/Berlin'";

#[test]
fn results_are_printed_with_the_offset_of_the_zone() {
    let sql = "SELECT TIMESTAMPTZ '2024-01-01 10:00Z' AS a, [TIMESTAMPTZ '2024-07-01 10:00:00.5Z'] AS b, \
               {'c': TIMESTAMP '2024-01-01 10:00'} AS d";
    for (format, expected) in [
        (
            "csv",
            "a,b,d\n2024-01-01T11:00:00+01:00,[2024-07-01T12:00:00.500000000+02:00],{c: 2024-01-01T10:00:00}\n",
        ),
        (
            "jsonl",
            "{\"a\":\"2024-01-01T11:00:00+01:00\",\"b\":[\"2024-07-01T12:00:00.500000000+02:00\"],\
             \"d\":{\"c\":\"2024-01-01T10:00:00\"}}\n",
        ),
        (
            "markdown",
            "| a | b | d |\n| --- | --- | --- |\n| 2024-01-01T11:00:00+01:00 \
             | \\[2024-07-01T12:00:00.500000000+02:00\\] | {c: 2024-01-01T10:00:00} |\n",
        ),
    ] {
        let zoned = ["query", "--time-zone", "europe/berlin", "--format", format, sql];
        assert_eq!(succeed(&zoned).stdout, expected, "{format}");
        let set = ["query", "--format", format, &format!("{BERLIN}; {sql}")];
        assert_eq!(succeed(&set).stdout, expected, "{format}");
    }
    let table = succeed(&["query", "--time-zone", "Asia/Kolkata", "--format", "table", sql]).stdout;
    assert!(table.contains("2024-01-01T15:30:00+05:30"), "{table}");
    let reset = format!(
        "{BERLIN}; RESET TimeZone; SELECT now()::DATE = current_date AS d, TIMESTAMPTZ '2024-01-01' AS a"
    );
    assert_eq!(csv(&reset), "d,a\ntrue,2024-01-01T00:00:00Z\n");
}

#[test]
fn the_zone_is_set_told_and_given_back() {
    for (sql, expected) in [
        ("SHOW TimeZone", "UTC"),
        ("SET TIME ZONE 'Asia/Tokyo'; SHOW TIME ZONE", "Asia/Tokyo"),
        ("SET SESSION time_zone TO 'america/new_york'; SHOW timezone", "America/New_York"),
        ("SET TIME ZONE 'Asia/Tokyo'; SET TIME ZONE LOCAL; SELECT current_setting('timezone')", "UTC"),
        ("SET TimeZone = 'Etc/UTC'; SHOW TimeZone", "Etc/UTC"),
    ] {
        assert_eq!(csv(sql).lines().last(), Some(expected), "{sql}");
    }
    for (sql, expected) in [
        ("SET TimeZone = 'Europe/Berln'", "there is no time zone 'Europe/Berln'"),
        ("SET TimeZone = 'Europe/Berln'", "did you mean Europe/Berlin"),
        ("SET TimeZone = 'berlin'", "did you mean Europe/Berlin"),
        ("SET TimeZone = '+02:00'", "names are those of the IANA database"),
        ("SET TimeZone = ''", "expected a value for the setting timezone"),
        ("SELECT TIMESTAMP '2024-01-01' AT TIME ZONE 'Europa/Berlin'", "did you mean Europe/Berlin"),
        ("SELECT current_setting('workers')", "current_setting() knows no setting 'workers'"),
    ] {
        let done = palais(["query", sql]);
        assert_eq!(done.code(), Some(1), "{sql}");
        assert!(done.stderr.contains(expected), "{sql}: {}", done.stderr);
    }
    let flag = palais(["query", "--time-zone", "Europe/Berln", "SELECT 1"]);
    assert_eq!(flag.code(), Some(2));
    assert!(flag.stderr.contains("did you mean Europe/Berlin"), "{}", flag.stderr);
}

#[test]
fn what_the_zone_is_not_known_to_mean_is_refused() {
    let z = "(VALUES ('hour', TIMESTAMPTZ '2024-01-01')) v(part, z)";
    for (what, expected) in [
        ("date_part(part, z)", "date_part() of a part that is not constant"),
        ("date_diff(part, z, z)", "date_diff() of a part that is not constant"),
        ("arrow_cast(z, 'Utf8')", "arrow_cast() from"),
        ("to_timestamp_millis(z)", "to_timestamp_millis() of a TIMESTAMP(9) WITH TIME ZONE"),
    ] {
        let sql = format!("SELECT {what} FROM {z}");
        let done = palais(["query", "--time-zone", "Europe/Berlin", &sql]);
        assert_eq!(done.code(), Some(1), "{sql}: {}", done.stdout);
        assert!(done.stderr.contains(expected), "{sql}: {}", done.stderr);
    }
    let free =
        csv(&format!("{BERLIN}; SELECT date_part(part, z AT TIME ZONE 'Europe/Berlin') AS h FROM {z}"));
    assert_eq!(free, "h\n0.0\n");
}

#[test]
fn files_and_plans_in_utc_do_not_depend_on_the_zone() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let sql = "SELECT id, berlin FROM 'tests/slt/data/instants.parquet' WHERE id < 4 ORDER BY id";
    for name in ["t.csv", "t.jsonl", "t.json", "t.parquet", "t.arrow"] {
        let [utc, zoned] = ["utc", "zoned"].map(|one| home.path().join(format!("{one}.{name}")));
        succeed(&["query", &format!("COPY ({sql}) TO '{}'", text(&utc))]);
        succeed(&["query", &format!("{BERLIN}; COPY ({sql}) TO '{}'", text(&zoned))]);
        let bytes = [&utc, &zoned].map(|path| std::fs::read(path).expect("the file can be read"));
        assert!(bytes[0] == bytes[1], "{name}");
    }
    let parts = home.path().join("parts");
    let copy = format!("{BERLIN}; COPY ({sql}) TO '{}' (FORMAT csv, PARTITION_BY (berlin))", text(&parts));
    succeed(&["query", &copy]);
    let back = format!("{BERLIN}; SELECT id, berlin::VARCHAR AS b FROM '{}' ORDER BY id", text(&parts));
    // The values in the names of directories are texts.
    let expected = "id,b\n1,2023-12-31T22:30:00Z\n2,2023-12-31T23:00:00Z\n3,2024-01-01T00:00:00Z\n";
    assert_eq!(csv(&back), expected);
    // Nothing is computed of the zone where nothing depends on it, and what does shows it.
    let explained = |sql: &str| csv(&format!("{BERLIN}; EXPLAIN {sql}"));
    let scan = "FROM 'tests/slt/data/instants.parquet' WHERE berlin >= '2024-01-01'";
    let plan = explained(scan);
    assert!(plan.contains("zone maps: berlin >=") && !plan.contains("at_time_zone"), "{plan}");
    let plan = explained("SELECT berlin::DATE FROM 'tests/slt/data/instants.parquet'");
    assert!(plan.contains("at_time_zone(") && plan.contains("Europe/Berlin"), "{plan}");
}

#[test]
fn views_and_macros_mean_the_zone_of_the_time_when_they_are_read() {
    let made = "CREATE VIEW v AS SELECT hour(TIMESTAMPTZ '2024-01-01 10:00Z') AS h; \
                CREATE MACRO of(z) AS hour(z)";
    let read = "SELECT h, of(TIMESTAMPTZ '2024-01-01 10:00Z') AS m FROM v";
    assert_eq!(csv(&format!("{made}; {BERLIN}; {read}")), "h,m\n11,11\n");
    assert_eq!(csv(&format!("{BERLIN}; {made}; SET TimeZone = 'Asia/Tokyo'; {read}")), "h,m\n19,19\n");
}
