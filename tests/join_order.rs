//! Joins run in the order that costs least by estimates, and give the same rows.

use std::path::Path;

use process::palais;

#[path = "support/process.rs"]
mod process;

/// What a statement prints, where `@` stands for the directory of the tables.
fn printed(home: &Path, sql: &str) -> String {
    let sql = sql.replace('@', &home.display().to_string());
    let done = palais(["query", &sql]);
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{sql}: {}", done.ending());
    done.stdout
}

/// Four tables, of which the last one keeps few rows of the first: by text the first two are joined first.
fn write_tables(home: &Path) {
    for (name, query) in [
        ("sales", "SELECT range AS id, range % 5000 AS item, range % 1000 AS shop FROM range(200000)"),
        ("items", "SELECT range AS item, concat('item ', range) AS title FROM range(5000)"),
        ("shops", "SELECT range AS shop, range % 100 AS town FROM range(1000)"),
        ("towns", "SELECT range AS town, concat('town ', range) AS name FROM range(100)"),
    ] {
        for suffix in ["parquet", "csv"] {
            printed(home, &format!("COPY ({query}) TO '@/{name}.{suffix}'"));
        }
    }
}

/// The scans of a plan, in the order of its lines.
fn scans(plan: &str) -> Vec<&str> {
    fn scanned(line: &str) -> Option<&str> {
        let path = line.split("scan ").nth(1)?.split(" [").next()?;
        path.rsplit('/').next()?.split('.').next()
    }
    plan.lines().filter_map(scanned).collect()
}

#[test]
fn the_relation_that_keeps_few_rows_is_joined_early() {
    let home = tempfile::tempdir().unwrap();
    write_tables(home.path());
    let query = |suffix: &str| {
        format!(
            "SELECT count(*) AS n, min(title) AS least, max(id) AS most \
             FROM '@/sales.{suffix}' s JOIN '@/items.{suffix}' i ON s.item = i.item \
             JOIN '@/shops.{suffix}' p ON s.shop = p.shop JOIN '@/towns.{suffix}' t ON p.town = t.town \
             WHERE t.town = 17"
        )
    };
    let plan = |suffix: &str| printed(home.path(), &format!("EXPLAIN {}", query(suffix)));
    for plan in [plan("parquet"), plan("csv")] {
        assert_eq!(scans(&plan), ["sales", "shops", "towns", "items"], "{plan}");
    }
    let rows = |suffix: &str| printed(home.path(), &query(suffix));
    assert_eq!(rows("parquet"), rows("csv"));
    assert_eq!(rows("parquet"), "n,least,most\n2000,item 1017,199917\n");
}

#[test]
fn a_key_that_can_fail_keeps_its_place() {
    let home = tempfile::tempdir().unwrap();
    let number = "CASE WHEN range < 100000 THEN 'no number' ELSE CAST(range % 10 AS VARCHAR) END";
    for (name, query) in [
        ("texts", format!("SELECT range AS k, {number} AS s FROM range(200000)")),
        ("numbers", "SELECT range AS k FROM range(100000, 200000)".to_string()),
        ("tags", "SELECT range AS x, range % 5 AS tag FROM range(10)".to_string()),
    ] {
        printed(home.path(), &format!("COPY ({query}) TO '@/{name}.parquet'"));
    }
    // By estimates it would be cheaper to join the tags first: with all texts, of which half are no numbers.
    let sql = "SELECT count(*) AS n FROM '@/texts.parquet' a JOIN '@/numbers.parquet' b ON a.k = b.k \
               JOIN '@/tags.parquet' c ON c.x = CAST(a.s AS BIGINT) WHERE c.tag = 1";
    let plan = printed(home.path(), &format!("EXPLAIN {sql}"));
    assert_eq!(scans(&plan), ["texts", "numbers", "tags"], "{plan}");
    assert_eq!(printed(home.path(), sql), "n\n20000\n");
}

/// Sales of which one in ten has returns, two of them, in shops of which one town has few.
fn write_returns(home: &Path) {
    write_tables(home);
    let returns = "SELECT range AS nr, range % 20000 * 10 AS id FROM range(40000)";
    printed(home, &format!("COPY ({returns}) TO '@/returns.parquet'"));
}

#[test]
fn a_selective_inner_join_goes_below_a_left_join() {
    let home = tempfile::tempdir().unwrap();
    write_returns(home.path());
    let left_first = "FROM '@/sales.parquet' s LEFT JOIN '@/returns.parquet' r ON s.id = r.id \
                      JOIN '@/shops.parquet' p ON s.shop = p.shop";
    // The left join is an input of the inner one: it moves above.
    let left_inside = "FROM '@/shops.parquet' p \
                       JOIN ('@/sales.parquet' s LEFT JOIN '@/returns.parquet' r ON s.id = r.id) ON s.shop = p.shop";
    // What is filled up is joined further.
    let chain = "FROM '@/sales.parquet' s LEFT JOIN '@/returns.parquet' r ON s.id = r.id \
                 LEFT JOIN '@/items.parquet' i ON r.nr = i.item JOIN '@/shops.parquet' p ON s.shop = p.shop";
    for (from, order) in [
        (left_first, ["sales", "shops", "returns"].as_slice()),
        (left_inside, &["shops", "sales", "returns"]),
        (chain, &["sales", "shops", "returns", "items"]),
    ] {
        let sql = format!("SELECT count(*) AS n, count(r.id) AS returned {from} WHERE p.town = 20");
        let plan = printed(home.path(), &format!("EXPLAIN {sql}"));
        assert_eq!(scans(&plan), order, "{plan}");
        assert_eq!(printed(home.path(), &sql), "n,returned\n4000,4000\n");
    }
}

#[test]
fn a_left_join_goes_below_an_inner_join_that_repeats_its_rows() {
    let home = tempfile::tempdir().unwrap();
    write_returns(home.path());
    // Each shop has 200 sales: the name of its town is looked up before.
    let sql = "SELECT count(*) AS n, count(t.name) AS named FROM '@/shops.parquet' p \
               JOIN '@/sales.parquet' s ON p.shop = s.shop LEFT JOIN '@/towns.parquet' t ON p.town = t.town + 50";
    let plan = printed(home.path(), &format!("EXPLAIN {sql}"));
    assert_eq!(scans(&plan), ["shops", "sales", "towns"], "what can fail keeps its place: {plan}");
    let sql = sql.replace("t.town + 50", "t.town");
    let plan = printed(home.path(), &format!("EXPLAIN {sql}"));
    assert_eq!(scans(&plan), ["shops", "towns", "sales"], "{plan}");
    assert_eq!(printed(home.path(), &sql), "n,named\n200000,200000\n");
}
