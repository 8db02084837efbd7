//! Statements of which others are made by changing them: the first ones of `seeds/`.

use std::fs;
use std::path::Path;

/// Every so many statements of a file one is taken.
const EVERY: usize = 40;

/// Paths and texts.
const JSON: &[&str] = &[
    "$.a.b[0]\n{\"x\":1,\"a\":{\"b\":[1.50,\"\\u00e9\",null]}}",
    "$..b[#-1]\n[{\"b\":[1,{\"b\":[[2]]}]},true,]",
    "/a~1b/0\n{\"a/b\" : [ 1e2 , -0, NaN ] , }",
    "$.*[*].\"a\\\"b\"\n{\"k\":[{\"a\\\"b\":\"\\ud83d\\ude00\"}]}",
    "a\n{\"a\":123456789012345678901234567890,\"a\":-1.5e-300}",
];

/// The longest statement that is taken, in bytes.
const LONGEST: usize = 600;

/// Of the target of JSON a path and a text for each sample; of the other one some statements of `tests/slt`, and some of each
/// kind that is long or deep.
pub fn files(target: &str) -> Vec<Vec<u8>> {
    if target == "json" {
        return JSON.iter().map(|sample| sample.as_bytes().to_vec()).collect();
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/slt");
    let entries = fs::read_dir(directory).expect("the directory is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "slt"));
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).expect("it can be read"));
    let tested = texts.flat_map(|text| statements(&text).into_iter().step_by(EVERY).collect::<Vec<_>>());
    tested.chain(large()).map(String::into_bytes).collect()
}

/// The statements of a file of tests: what stands behind the line that says what is expected.
fn statements(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("query ") {
            let sql: Vec<&str> = lines.by_ref().take_while(|line| *line != "----").collect();
            found.push(sql.join("\n"));
        }
    }
    found.retain(|sql| sql.len() <= LONGEST);
    found
}

fn large() -> Vec<String> {
    let list = |separator: &str, count: usize, item: &dyn Fn(usize) -> String| {
        (0..count).map(item).collect::<Vec<_>>().join(separator)
    };
    let cte = |i: usize| format!(", c{} AS (SELECT a FROM c{i} UNION ALL SELECT a FROM c{i})", i + 1);
    vec![
        format!("SELECT {} FROM t", list("||", 300, &|_| "b".into())),
        format!("SELECT {}", list("+", 300, &|_| "1".into())),
        format!("SELECT a{} FROM t", "::INT::BIGINT".repeat(60)),
        format!("SELECT a FROM t WHERE {}", list(" OR ", 300, &|i| format!("a = {i}"))),
        format!("SELECT a FROM t WHERE a IN ({})", list(", ", 300, &|i| i.to_string())),
        format!(
            "SELECT * FROM t t0 {}",
            list(" ", 40, &|i| format!("JOIN t t{} ON t{i}.a = t{}.a", i + 1, i + 1))
        ),
        format!("WITH c0 AS (SELECT 1 AS a){} SELECT count(*) FROM c7", list("", 7, &cte)),
        format!("SELECT count(*) FROM t GROUP BY CUBE ({})", list(", ", 8, &|i| format!("a + {i}"))),
        format!("SELECT {}1{}", "(SELECT ".repeat(8), ")".repeat(8)),
        format!("SELECT {}1{}", "abs(-(".repeat(7), "))".repeat(7)),
        format!("SELECT {}1{}", "CASE WHEN a > 1 THEN 2 ELSE ".repeat(12), " END".repeat(12)),
        list(" UNION ALL ", 60, &|_| "SELECT 1 AS a".into()),
        "SELECT a, (SELECT max(u.a) FROM u WHERE u.b = t.b AND u.a NOT IN (SELECT v.a FROM v WHERE v.i = u.i)) FROM t"
            .into(),
    ]
}
