//! What is guessed of files before they are read decides plans and no results; EXPLAIN shows it, and EXPLAIN ANALYZE what came.

use std::fs;
use std::path::Path;

use process::palais;

#[path = "support/process.rs"]
mod process;

/// What a command prints, where `@` stands for the directory of the tables.
fn printed(home: &Path, command: &[&str], sql: &str) -> String {
    let sql = sql.replace('@', &home.display().to_string());
    let format: &[&str] = if sql.starts_with("COPY") { &[] } else { &["--format", "csv"] };
    let done = palais([command, format, &[&sql]].concat());
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{sql}: {}", done.ending());
    done.stdout
}

const ONE: [&str; 3] = ["query", "--workers", "2"];
const SEVERAL: [&str; 6] = ["cluster", "run", "--local", "2", "--workers", "1"];

/// Sales, each of an item and with a code that about 80 of them have, and the items.
fn write_tables(home: &Path, suffix: &str) {
    for (name, query) in [
        (
            "sales",
            "SELECT range AS id, range % 5000 AS item, range % 3 AS shop, range * range % 5003 AS code FROM range(200000)",
        ),
        ("items", "SELECT range AS item, concat('item ', range) AS title FROM range(5000)"),
    ] {
        printed(home, &ONE, &format!("COPY ({query}) TO '@/{name}.{suffix}'"));
    }
}

/// How many thousands of rows are expected where this stands: `222k`.
fn thousands(about: &str) -> u64 {
    about
        .strip_suffix('k')
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no thousands: {about}"))
}

/// The join of a plan.
fn join(plan: &str) -> &str {
    plan.lines().find(|line| line.contains(" join on ")).unwrap_or_else(|| panic!("no join: {plan}"))
}

#[test]
fn the_side_that_a_filter_makes_small_is_kept() {
    let home = tempfile::tempdir().unwrap();
    for suffix in ["csv", "jsonl.gz"] {
        write_tables(home.path(), suffix);
        let query = |filter: &str| {
            format!(
                "SELECT count(*) AS n, min(title) AS title FROM '@/sales.{suffix}' s \
                 JOIN '@/items.{suffix}' i ON s.item = i.item WHERE {filter}"
            )
        };
        let codes =
            printed(home.path(), &ONE, "SELECT count(*) FROM range(200000) WHERE range * range % 5003 = 16");
        let few: u64 = codes.lines().last().unwrap().parse().unwrap();
        for (filter, build, n) in [("s.code = 16", "left", few), ("s.shop = 2", "right", 66_666)] {
            for command in [&ONE[..], &SEVERAL] {
                let plan = printed(home.path(), command, &format!("EXPLAIN {}", query(filter)));
                assert!(join(&plan).contains(&format!("build {build}")), "{suffix} {filter}: {plan}");
                let rows = printed(home.path(), command, &query(filter));
                assert!(rows.starts_with(&format!("n,title\n{n},")), "{suffix} {filter}: {rows}");
            }
        }
    }
}

#[test]
fn a_table_whose_beginning_misleads_has_the_rows_that_it_has() {
    let home = tempfile::tempdir().unwrap();
    // Short records first: the guess is some ten times too high.
    let long = "x".repeat(100);
    let mut text = String::from("a,b\n");
    (0..30_000).for_each(|i| text += &format!("{i},\n"));
    (0..30_000).for_each(|i| text += &format!("{i},{long}\n"));
    fs::write(home.path().join("t.csv"), text).unwrap();
    let of = |sql: &str| printed(home.path(), &ONE, sql);
    assert_eq!(of("SELECT count(*) AS n FROM '@/t.csv'"), "n\n60000\n");
    assert_eq!(of("SELECT count(*) AS n, min(a) AS a FROM '@/t.csv' WHERE a < 0"), "n,a\n0,\n");
    let analyzed = of("EXPLAIN ANALYZE SELECT a FROM '@/t.csv' WHERE b IS NOT NULL");
    let scan = analyzed.lines().find(|line| line.contains("scan ")).unwrap();
    assert!(scan.contains("60,000"), "{analyzed}");
}

#[test]
fn rows_stand_beside_what_was_expected() {
    let home = tempfile::tempdir().unwrap();
    write_tables(home.path(), "csv");
    let of = |command: &[&str], sql: &str| printed(home.path(), command, sql);
    let plan = of(&ONE, "EXPLAIN SELECT id FROM '@/sales.csv' WHERE shop = 1");
    // The file begins with numbers of few digits.
    let about = |of: &str| {
        let line = plan.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {plan}"));
        thousands(line.split("(about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default())
    };
    assert!((60..80).contains(&about("filter ")) && (190..240).contains(&about("scan ")), "{plan}");
    // Nothing is known of the sum of two columns.
    let far = "EXPLAIN ANALYZE SELECT id FROM '@/sales.csv' WHERE item + shop = 7";
    for command in [&ONE[..], &SEVERAL] {
        let analyzed = of(command, far);
        let line = |of: &str| analyzed.lines().find(|line| line.contains(of)).unwrap_or_default();
        let words = |of: &str| line(of).split_whitespace().take(3).map(String::from).collect::<Vec<_>>();
        assert!(line("operator").starts_with("         rows    about         busy"), "{analyzed}");
        assert_eq!(words("scan ")[0], "200,000", "{analyzed}");
        assert!((190..240).contains(&thousands(&words("scan ")[1])), "{analyzed}");
        assert!(thousands(&words("filter ")[1]) > 10 && words("filter ")[2] == "!", "{analyzed}");
        assert!(analyzed.contains("\n! more than 10 times the rows expected"), "{analyzed}");
    }
    // A LIMIT ends what is below it.
    let near = of(&ONE, "EXPLAIN ANALYZE SELECT id FROM '@/sales.csv' WHERE shop = 1 LIMIT 3");
    assert!(!near.contains('!'), "{near}");
    let stats = home.path().join("stats.json");
    let flag = ["query", "--overwrite", "--stats", stats.to_str().unwrap()];
    of(&flag, "SELECT id FROM '@/sales.csv' WHERE item + shop = 7");
    let stats: serde_json::Value = serde_json::from_str(&fs::read_to_string(stats).unwrap()).unwrap();
    let operators = stats["operators"].as_array().unwrap();
    let filter = operators.iter().find(|o| o["operator"].as_str().unwrap().starts_with("filter")).unwrap();
    assert_eq!((filter["is_misestimated"].as_bool(), filter["rows"].as_u64()), (Some(true), Some(40)));
    assert!(filter["estimated_rows"].as_u64().unwrap() > 10_000, "{filter}");
}

#[test]
fn the_order_of_joins_over_csv_is_not_that_of_the_text() {
    let home = tempfile::tempdir().unwrap();
    write_tables(home.path(), "csv");
    let shops = "SELECT range AS shop, concat('shop ', range) AS name FROM range(3)";
    printed(home.path(), &ONE, &format!("COPY ({shops}) TO '@/shops.csv'"));
    let sql = "SELECT count(*) AS n FROM '@/sales.csv' s JOIN '@/shops.csv' p ON s.shop = p.shop \
               JOIN '@/items.csv' i ON s.item = i.item WHERE i.title = 'item 17'";
    for command in [&ONE[..], &SEVERAL] {
        let plan = printed(home.path(), command, &format!("EXPLAIN {sql}"));
        let scanned =
            |line: &str| line.split("scan ").nth(1).map(|rest| rest.split(" [").next().unwrap().to_string());
        let scans: Vec<String> = plan.lines().filter_map(scanned).collect();
        let names: Vec<&str> = scans.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        let (items, shops) =
            (names.iter().position(|n| *n == "items.csv"), names.iter().position(|n| *n == "shops.csv"));
        assert!(names.len() == 3 && items < shops, "{plan}");
        assert!(printed(home.path(), command, sql).ends_with("\n40\n"));
    }
}
