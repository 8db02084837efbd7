//! Schemas that are given: by manifests, by schema files, by the benchmark.

use arrow_schema::DataType;
use formats::discover::{OpenOptions, SchemaChoice};

use crate::common::*;

#[test]
fn a_dataset_has_what_its_manifest_says() {
    let dir = dataset();
    let table = at(&dir, "d", &OpenOptions { file_column: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(table.rows, Some(3));
    assert_eq!(
        columns(&table),
        [("n", DataType::Int64), ("s", DataType::Utf8View), ("_file", DataType::Utf8View)]
    );
    let first: Vec<_> = rows(&table).into_iter().map(|r| r[0].clone()).collect();
    assert_eq!(first, ["3", "1", "2"], "in the order of the manifest");
    let other = given(&[("x", DataType::Int64)]);
    assert!(message(&dir, "d", &other).contains("is not the one in _manifest.json"));
}

#[test]
fn a_dataset_that_is_not_whole_is_an_error() {
    let none = OpenOptions::default();
    let dir = dataset();
    std::fs::write(dir.path().join("d/part-0.csv"), "1,x\n").unwrap();
    assert!(
        message(&dir, "d", &none)
            .contains("d/part-0.csv: the file has 4 bytes, the dataset's manifest says 8")
    );
    std::fs::remove_file(dir.path().join("d/part-0.csv")).unwrap();
    assert!(message(&dir, "d", &none).contains("d/part-0.csv: the dataset's manifest lists the file"));
    let dir = dataset();
    std::fs::write(dir.path().join("d/part-2.csv"), "4,x\n").unwrap();
    assert!(message(&dir, "d", &none).contains("d/part-2.csv: the file is not in the dataset's manifest"));
    std::fs::write(dir.path().join("d/_manifest.json"), "{").unwrap();
    assert!(message(&dir, "d", &none).contains("this is not a manifest"));
}

#[test]
fn schema_files_and_the_benchmark() {
    let dir = texts(&[
        ("s.sql", "CREATE TABLE other (a INT);\nCREATE TABLE t (n BIGINT NOT NULL, s VARCHAR(5));"),
        ("bad.sql", "CREATE TABLE t (a INTT)"),
        ("x.csv", "1,x\n"),
        ("rankings.csv", "abc,1,2\n"),
        ("uservisits/part-0.csv", "x"),
        ("documents/part-0.txt", "a line"),
        ("documents.csv", "a line"),
    ]);
    let file = |name: &str| {
        let choice = SchemaChoice::parse(dir.path().join(name).to_str().unwrap());
        OpenOptions { schema: Some(choice), ..OpenOptions::default() }
    };
    assert_eq!(
        columns(&at(&dir, "x.csv", &file("s.sql")).unwrap()),
        [("n", DataType::Int64), ("s", DataType::Utf8View)]
    );
    assert!(
        message(&dir, "x.csv", &file("bad.sql"))
            .contains("bad.sql: line 1, column 19: there is no type 'INTT'")
    );
    assert!(message(&dir, "x.csv", &file("no.sql")).contains("no.sql: cannot read the schema file"));
    let bdb = OpenOptions { schema: Some(SchemaChoice::parse("bdb")), ..OpenOptions::default() };
    assert_eq!(columns(&at(&dir, "rankings.csv", &bdb).unwrap())[0].0, "pageURL");
    assert_eq!(at(&dir, "uservisits/part-0.csv", &bdb).unwrap().schema.fields().len(), 9);
    assert!(message(&dir, "x.csv", &bdb).contains("no table 't'; it has rankings, uservisits, documents"));
}

#[test]
fn a_schema_must_name_columns_that_are_there() {
    let dir = tree(&[("a.parquet", &encoded("parquet", &numbers("number", 0, 1)))]);
    let said = message(&dir, "a.parquet", &given(&[("numbr", DataType::Int64)]));
    assert!(said.contains("has no column 'numbr'") && said.contains("it has number"), "{said}");
    let wider = at(&dir, "a.parquet", &given(&[("number", DataType::Float64)])).unwrap();
    assert_eq!(rows(&wider), [["0.0"]]);
}

#[test]
fn each_file_has_the_columns_of_a_schema_in_any_case_of_letters() {
    for encoding in ["parquet", "arrow", "buren"] {
        let name = |name: &str| format!("{name}.{encoding}");
        let (a, b, c) = (name("a"), name("b"), name("c"));
        let dir = tree(&[
            (&a, &encoded(encoding, &numbers("number", 0, 1))),
            (&b, &encoded(encoding, &numbers("NUMBER", 1, 1))),
            (&c, &encoded(encoding, &numbers("other", 2, 1))),
        ]);
        let (schema, glob) =
            (given(&[("number", DataType::Int64)]), |files: &str| format!("{files}.{encoding}"));
        assert_eq!(rows(&at(&dir, &glob("[ab]"), &schema).unwrap()), [["0"], ["1"]], "{encoding}");
        let said = message(&dir, &glob("[abc]"), &schema);
        assert!(said.starts_with(&c) && said.contains("no column 'number'"), "{said}");
        assert!(said.contains("--union-by-name"), "{said}");
        let united = OpenOptions { union_by_name: true, ..schema.clone() };
        assert_eq!(rows(&at(&dir, &glob("[abc]"), &united).unwrap()), [["0"], ["1"], ["NULL"]]);
        let nowhere = OpenOptions { union_by_name: true, ..given(&[("numbr", DataType::Int64)]) };
        assert!(message(&dir, &glob("[abc]"), &nowhere).contains("no column 'numbr'"));
        // Without a schema the first file spells the name.
        let found = at(&dir, &glob("[ab]"), &OpenOptions::default()).unwrap();
        assert_eq!((columns(&found)[0].0, rows(&found).len()), ("number", 2));
    }
}
