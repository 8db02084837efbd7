//! csv: headers, delimiters, types, and files that differ.

use arrow_schema::DataType;
use formats::discover::OpenOptions;

use crate::common::*;

#[test]
fn csv_with_a_schema() {
    let dir = texts(&[
        ("plain.csv", "1,x\n2,y\n"),
        ("named.csv", "N,text\n1,x\n"),
        ("turned.csv", "text,n\nx,1\n"),
    ]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    let plain = at(&dir, "plain.csv", &options).unwrap();
    assert!(!set(&plain).format.header);
    assert_eq!(columns(&plain)[1].1, DataType::Utf8View);
    assert_eq!(rows(&plain), [["1", "\"x\""], ["2", "\"y\""]]);
    assert_eq!(plain.rows, None);
    let named = at(&dir, "named.csv", &options).unwrap();
    assert!(set(&named).format.header);
    assert_eq!(rows(&named), [["1", "\"x\""]]);
    assert!(message(&dir, "turned.csv", &options).contains("in another order"));
    let forced = OpenOptions { header: Some(true), ..options };
    assert_eq!(rows(&at(&dir, "plain.csv", &forced).unwrap()), [["2", "\"y\""]]);
}

#[test]
fn a_first_row_is_not_taken_for_new_names() {
    let dir = texts(&[
        ("u/a.csv", "x,y\n1,2\n"),
        ("u/b.csv", "3,4\n5,6\n"),
        ("v/a.csv", "x,y\n1,2\n"),
        ("v/b.csv", "y,z\n3,4\n"),
    ]);
    let union = OpenOptions { union_by_name: true, ..OpenOptions::default() };
    let error = message(&dir, "u", &union);
    assert!(error.contains("b.csv: its first record is a row") && error.contains("--header"), "{error}");
    let named = at(&dir, "v", &union).unwrap();
    assert_eq!(rows(&named), [["1", "2", "NULL"], ["NULL", "3", "4"]]);
    let none = OpenOptions { header: Some(false), ..union };
    assert_eq!(rows(&at(&dir, "u", &none).unwrap()).len(), 4);
}

#[test]
fn a_header_may_be_long() {
    for (delimiter, count) in [(",", 6_000), (";", 6_000), (",", 80_000)] {
        let record = |of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<Vec<_>>().join(delimiter);
        let text = format!("{}\n{}\n", record(&|i| format!("name_{i:06}")), record(&|i| format!("text {i}")));
        let dir = texts(&[("long.csv", &text)]);
        let table = at(&dir, "long.csv", &OpenOptions::default()).unwrap();
        assert!(set(&table).format.header, "{count}");
        let (first, last) = (&columns(&table)[0], &columns(&table)[count - 1]);
        assert_eq!((first.0, last.0), ("name_000000", format!("name_{:06}", count - 1).as_str()));
        assert_eq!(rows(&table).len(), 1);
    }
}

#[test]
fn an_offset_says_nothing_of_a_timestamp_without_a_zone() {
    let lines = "x\n2024-01-02 10:00:00\n2024-01-02 10:00:00+02\n";
    let dir = texts(&[
        ("o.csv", lines),
        ("o.jsonl", "{\"x\":\"2024-01-02 10:00:00\"}\n{\"x\":\"2024-01-02 10:00:00+02\"}\n"),
    ]);
    let one = OpenOptions { infer_rows: 1, ..OpenOptions::default() };
    for name in ["o.csv", "o.jsonl"] {
        assert_eq!(rows(&at(&dir, name, &one).unwrap()), [["2024-01-02T10:00:00"], ["2024-01-02T10:00:00"]]);
    }
}

#[test]
fn delimiters_come_from_options_suffix_or_content() {
    let dir = texts(&[("a.tsv", "1\tx,y\n"), ("a.csv", "1;x,y\n2;z\n"), ("a.dat", "1|x\n2|y\n")]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    assert_eq!(rows(&at(&dir, "a.tsv", &options).unwrap()), [["1", "\"x,y\""]]);
    assert_eq!(set(&at(&dir, "a.dat", &options).unwrap()).format.delimiter, b'|');
    let semicolon = OpenOptions { delimiter: Some(b';'), ..options };
    assert_eq!(rows(&at(&dir, "a.csv", &semicolon).unwrap()), [["1", "\"x,y\""], ["2", "\"z\""]]);
}

#[test]
fn csv_is_inferred_with_its_header_and_delimiter() {
    let dir = texts(&[
        ("a.csv", "id;when;what\n1;2026-01-31;x\n2;;\"y;z\"\n"),
        ("b.csv", "1,2.5,abc\n2,3,def\n"),
        ("c.tsv", "name\tn\nx\t1\n"),
        ("d", "id,name\n1,x\n"),
    ]);
    let a = table(&dir, "a.csv");
    assert_eq!(
        columns(&a),
        [("id", DataType::Int64), ("when", DataType::Date32), ("what", DataType::Utf8View)]
    );
    assert_eq!(rows(&a), [["1", "2026-01-31", "\"x\""], ["2", "NULL", "\"y;z\""]]);
    let types: Vec<_> = columns(&table(&dir, "b.csv")).into_iter().map(|(_, t)| t).collect();
    assert_eq!(types, [DataType::Int64, DataType::Float64, DataType::Utf8View]);
    assert_eq!(rows(&table(&dir, "b.csv")).len(), 2);
    assert_eq!(rows(&table(&dir, "c.tsv")), [["\"x\"", "1"]]);
    assert_eq!(columns(&table(&dir, "d"))[0], ("id", DataType::Int64));
}

#[test]
fn csv_files_that_differ() {
    let dir = texts(&[
        ("a.csv", "id,name\n1,x\n"),
        ("b.csv", "name,id,score\ny,2.5,7\n"),
        ("c.csv", "id,name\nabc,z\n"),
        ("d.csv", "id\n9\n"),
        ("e.csv", "id,name\n0.5,z\n"),
        ("f.csv", "id,name\n"),
    ]);
    let none = OpenOptions::default();
    let said = message(&dir, "[ab].csv", &none);
    assert!(
        said.contains("column 1 is 'name' (VARCHAR) here and 'id' (BIGINT) there")
            && said.contains("column 'score' (BIGINT) is only here"),
        "{said}"
    );
    let said = message(&dir, "[ac].csv", &none);
    assert!(said.starts_with("c.csv: ") && said.contains("'id' is VARCHAR here and BIGINT there"), "{said}");
    assert!(message(&dir, "[ad].csv", &none).contains("column 'name' (VARCHAR) is only there"));
    let wider = table(&dir, "[ae].csv");
    assert_eq!(columns(&wider)[0], ("id", DataType::Float64));
    assert_eq!(rows(&wider), [["1.0", "\"x\""], ["0.5", "\"z\""]]);
    assert_eq!(rows(&table(&dir, "[af].csv")).len(), 1, "a header alone is a file without rows");
    let united = at(&dir, "[abd].csv", &OpenOptions { union_by_name: true, ..none }).unwrap();
    assert_eq!(
        columns(&united),
        [("id", DataType::Float64), ("name", DataType::Utf8View), ("score", DataType::Int64)]
    );
    assert_eq!(rows(&united), [["1.0", "\"x\"", "NULL"], ["2.5", "\"y\"", "7"], ["9.0", "NULL", "NULL"]]);
}

#[test]
fn names_beside_a_file_without_are_no_values() {
    let dir = texts(&[("a.csv", "1,2\n3,4\n"), ("b.csv", "id,n\n5,6\n"), ("c.csv", "x,7\n")]);
    let none = OpenOptions::default();
    let said = message(&dir, "[ab].csv", &none);
    assert!(said.starts_with("b.csv: its first record has names") && said.contains("--header"), "{said}");
    assert!(message(&dir, "[ac].csv", &none).contains("'column1' is VARCHAR here and BIGINT there"));
}

#[test]
fn types_come_from_the_first_file_that_has_values() {
    let dir =
        texts(&[("a.csv", "id,x\n"), ("b.csv", "id,x\n1,\n"), ("c.csv", "id,x\n2,\n"), ("d.csv", "a,b\n\n")]);
    assert_eq!(columns(&table(&dir, "[abc].csv")), [("id", DataType::Int64), ("x", DataType::Utf8View)]);
    assert_eq!(columns(&table(&dir, "d.csv")), [("a", DataType::Utf8View), ("b", DataType::Utf8View)]);
}

#[test]
fn twice_the_same_name() {
    let dir = texts(&[("a.csv", "id,id\n1,2\n")]);
    let names = [("id", DataType::Int64), ("id_1", DataType::Int64)];
    assert_eq!(columns(&table(&dir, "a.csv")), names);
    let twice = given(&[("id", DataType::Int64), ("id", DataType::Int64)]);
    assert!(message(&dir, "a.csv", &twice).contains("two columns are called 'id'"));
}

#[test]
fn blank_lines_may_stand_before_the_header() {
    let dir = texts(&[("a.csv", "\n\r\nname,city\nada,london\n"), ("b.csv", "\n\nn\n\n7\n")]);
    assert_eq!(rows(&table(&dir, "a.csv")), [["\"ada\"", "\"london\""]]);
    assert_eq!(rows(&table(&dir, "b.csv")), [["NULL"], ["7"]], "of one column, a blank line is a row");
}

#[test]
fn files_of_a_schema_have_a_header_all_or_none() {
    let dir = texts(&[
        ("a.csv", "name,city\nada,london\n"),
        ("b.csv", "bob,paris\n"),
        ("c.csv", "Name,City\ncal,rome\n"),
        ("d.csv", "city,name\nx,y\n"),
        ("e.csv", ""),
        ("f.csv", "\n\nname,\"city\"\nfay,oslo\n"),
    ]);
    let options = given(&[("name", DataType::Utf8), ("city", DataType::Utf8)]);
    let said = |location: &str| {
        let error = try_rows(&at(&dir, location, &options).unwrap()).unwrap_err().to_string();
        error.replace(&format!("{}/", dir.path().display()), "")
    };
    let message = said("[ab].csv");
    assert!(message.starts_with("b.csv: its first record does not hold the names"), "{message}");
    assert!(message.contains("--header"));
    assert!(said("[bc].csv").starts_with("c.csv: its first record holds the names"));
    assert!(said("[ad].csv").starts_with("d.csv: its first record names the columns"));
    assert_eq!(rows(&at(&dir, "[acef].csv", &options).unwrap()).len(), 3);
    let none = OpenOptions { header: Some(false), ..options };
    assert_eq!(rows(&at(&dir, "[ab].csv", &none).unwrap()).len(), 3);
}

#[test]
fn lines_that_end_in_carriage_returns_alone_are_named() {
    let dir = texts(&[("a.csv", "a,b\r1,2\r3,4\r"), ("b.csv", "\"a\rb\",c")]);
    let said = message(&dir, "a.csv", &OpenOptions::default());
    assert!(said.contains("a.csv: its lines end in carriage returns alone"), "{said}");
    assert_eq!(columns(&table(&dir, "b.csv")).len(), 2);
}

#[test]
fn records_are_looked_at_in_batches_up_to_as_many_as_are_asked_for() {
    for (rows, wide) in [(1, 3), (1023, 3), (1024, 3), (1025, 300), (2048, 3), (2500, 3), (6145, 40)] {
        let record = |i: usize| format!("{i},{}\n", "x".repeat(wide));
        let text: String = (0..rows).map(record).collect();
        let dir = texts(&[("a.csv", &text), ("b.csv", &format!("{text}2.5,x\n7,x\n"))]);
        let type_of = |file: &str, infer_rows: usize| {
            let options = OpenOptions { infer_rows, ..OpenOptions::default() };
            columns(&at(&dir, file, &options).unwrap())[0].1.clone()
        };
        assert_eq!(type_of("a.csv", 10_000), DataType::Int64, "{rows}");
        assert_eq!(type_of("b.csv", 10_000), DataType::Float64, "{rows}");
        assert_eq!(type_of("b.csv", rows + 1), DataType::Float64, "{rows}");
        assert_eq!(type_of("b.csv", rows), DataType::Int64, "{rows}");
    }
}
