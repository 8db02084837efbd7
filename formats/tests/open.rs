//! From locations to tables, with real files.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use formats::format::{ScanOptions, format};
use formats::open::{OpenOptions, SchemaChoice, open, open_data_dir};
use formats::reader::BlockingReader;
use schema::manifest::{Manifest, PartFile};
use schema::{FileSet, FormatOptions, Source, Table};

/// A directory with these files.
fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (file, bytes) in files {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    dir
}

fn texts(files: &[(&str, &str)]) -> tempfile::TempDir {
    tree(&files.iter().map(|(name, text)| (*name, text.as_bytes())).collect::<Vec<_>>())
}

fn at(dir: &tempfile::TempDir, location: &str, options: &OpenOptions) -> formats::Result<Table> {
    open(dir.path().join(location).to_str().unwrap(), "t", options)
}

fn table(dir: &tempfile::TempDir, location: &str) -> Table {
    at(dir, location, &OpenOptions::default()).unwrap()
}

/// The message of the error, without the directory's name.
fn message(dir: &tempfile::TempDir, location: &str, options: &OpenOptions) -> String {
    let error = at(dir, location, options).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

fn set(table: &Table) -> &FileSet {
    let Source::Files(set) = &table.source else { panic!("not a table of files") };
    set
}

fn columns(table: &Table) -> Vec<(&str, DataType)> {
    table.schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().clone())).collect()
}

/// All rows as text, read as a scan reads them: file columns by the file's layout, constants behind them.
fn rows(table: &Table) -> Vec<Vec<String>> {
    let set = set(table);
    let encoding = format(&set.format.encoding).unwrap();
    let fields = table.schema.fields()[..set.file_columns].to_vec();
    let usual = Arc::new(Schema::new(fields));
    let mut rows = Vec::new();
    for file in &set.files {
        let layout = set.layout(file);
        let schema = layout.map_or(&usual, |l| &l.schema).clone();
        let mut options = set.format.clone();
        options.compression = layout.map_or(&options.compression, |l| &l.compression).clone();
        let projection = (0..schema.fields().len()).collect();
        let scan = ScanOptions { schema, projection, bounds: vec![], batch_rows: 1000, format: options };
        for morsel in encoding.split(&Arc::new(file.clone()), &scan, 1 << 20).unwrap() {
            let reader = encoding.reader(&morsel, &scan).unwrap();
            for batch in BlockingReader::open(morsel, reader).unwrap() {
                let batch = batch.unwrap();
                for row in 0..batch.num_rows() {
                    let value = |column: usize| match layout.map_or(Some(column), |l| l.columns[column]) {
                        Some(place) => shown(batch.column(place), row),
                        None => "NULL".into(),
                    };
                    let constants = file.constants.iter().map(|c| c.clone().unwrap_or("NULL".into()));
                    rows.push((0..set.file_columns).map(value).chain(constants).collect());
                }
            }
        }
    }
    rows
}

/// One value as text; strings in quotes.
fn shown(array: &dyn Array, row: usize) -> String {
    let text = arrow_cast::display::array_value_to_string(array, row).unwrap();
    match array.data_type() {
        _ if array.is_null(row) => "NULL".into(),
        DataType::Utf8View => format!("{text:?}"),
        _ => text,
    }
}

/// The bytes of a file of one block.
fn encoded(encoding: &str, batch: &RecordBatch) -> Vec<u8> {
    let options = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
    let encoder = format(encoding).unwrap().encoder(&batch.schema(), &options).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    assembler.append(encoder.encode(std::slice::from_ref(batch)).unwrap(), &mut out).unwrap();
    assembler.finish(&mut out).unwrap();
    out
}

fn numbers(name: &str, from: i64, rows: i64) -> RecordBatch {
    let text = Arc::new(StringViewArray::from_iter_values((from..from + rows).map(|i| format!("row {i}"))));
    let schema = Schema::new(vec![
        Field::new(name, DataType::Int64, false),
        Field::new("text", DataType::Utf8View, true),
    ]);
    let values = Arc::new(Int64Array::from_iter_values(from..from + rows));
    RecordBatch::try_new(Arc::new(schema), vec![values, text]).unwrap()
}

fn given(fields: &[(&str, DataType)]) -> OpenOptions {
    let fields: Vec<_> = fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect();
    let schema = Some(SchemaChoice::Given(Arc::new(Schema::new(fields))));
    OpenOptions { schema, ..OpenOptions::default() }
}

fn gzip(text: &str) -> Vec<u8> {
    formats::compress::compression("gzip").unwrap().compress(text.as_bytes().to_vec()).unwrap().bytes
}

#[test]
fn a_file_of_a_column_format() {
    for encoding in ["parquet", "arrow", "buren"] {
        let bytes = encoded(encoding, &numbers("n", 0, 10));
        let dir = tree(&[(&format!("a.{encoding}"), &bytes), ("b.csv", &bytes), ("c", &bytes)]);
        for name in [&format!("a.{encoding}"), "b.csv", "c"] {
            let table = table(&dir, name);
            assert_eq!(table.rows, Some(10));
            assert_eq!(columns(&table), [("n", DataType::Int64), ("text", DataType::Utf8View)]);
            let set = set(&table);
            assert_eq!((set.format.encoding.as_str(), set.format.compression.as_str()), (encoding, "none"));
            assert_eq!((set.files.len(), set.bytes()), (1, bytes.len() as u64));
            assert_eq!(rows(&table)[9], ["9", "\"row 9\""]);
        }
    }
}

#[test]
fn files_of_a_directory_and_a_glob() {
    let part = |from| encoded("parquet", &numbers("n", from, 5));
    let dir = tree(&[
        ("t/b.parquet", &part(5)),
        ("t/a.parquet", &part(0)),
        ("t/sub/c.parquet", &part(10)),
        ("t/_SUCCESS", b""),
        ("t/.hidden.csv", b"x"),
    ]);
    let first = |rows: Vec<Vec<String>>| rows.into_iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    let whole: Vec<String> = (0..15).map(|i| i.to_string()).collect();
    assert_eq!(first(rows(&table(&dir, "t"))), whole);
    assert_eq!(table(&dir, "t").rows, Some(15));
    assert_eq!(first(rows(&table(&dir, "t/*.parquet"))), whole[..10]);
    assert_eq!(first(rows(&table(&dir, "t/**/*.parquet"))), whole);
}

#[test]
fn stated_columns_must_agree_unless_united_by_name() {
    let fields =
        Schema::new(vec![Field::new("n", DataType::Int32, false), Field::new("x", DataType::Float64, true)]);
    let arrays = (Arc::new(Int32Array::from(vec![7])), Arc::new(Float64Array::from(vec![0.5])));
    let other = RecordBatch::try_new(Arc::new(fields), vec![arrays.0, arrays.1]).unwrap();
    let dir = tree(&[
        ("a.parquet", &encoded("parquet", &numbers("n", 0, 1))),
        ("b.parquet", &encoded("parquet", &other)),
    ]);
    let said = message(&dir, "*.parquet", &OpenOptions::default());
    assert!(said.starts_with("b.parquet: its columns differ from those of"), "{said}");
    for part in
        ["'n' is INT here and BIGINT there", "'x' (DOUBLE) is only here", "'text' (VARCHAR) is only there"]
    {
        assert!(said.contains(part), "{said}");
    }
    let united =
        at(&dir, "*.parquet", &OpenOptions { union_by_name: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(
        columns(&united),
        [("n", DataType::Int64), ("text", DataType::Utf8View), ("x", DataType::Float64)]
    );
    assert_eq!(rows(&united), [["0", "\"row 0\"", "NULL"], ["7", "NULL", "0.5"]]);
}

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
fn delimiters_come_from_options_suffix_or_content() {
    let dir = texts(&[("a.tsv", "1\tx,y\n"), ("a.csv", "1;x,y\n2;z\n"), ("a.dat", "1|x\n2|y\n")]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    assert_eq!(rows(&at(&dir, "a.tsv", &options).unwrap()), [["1", "\"x,y\""]]);
    assert_eq!(set(&at(&dir, "a.dat", &options).unwrap()).format.delimiter, b'|');
    let semicolon = OpenOptions { delimiter: Some(b';'), ..options };
    assert_eq!(rows(&at(&dir, "a.csv", &semicolon).unwrap()), [["1", "\"x,y\""], ["2", "\"z\""]]);
}

#[test]
fn rotated_logs_may_be_compressed_each_in_its_own_way() {
    let zipped = gzip("3,c\n");
    let dir = tree(&[("x.csv", b"1,a\n"), ("x.csv.1", b"2,b\n"), ("x.csv.2.gz", &zipped)]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    let table = at(&dir, "x.csv*", &options).unwrap();
    assert_eq!(rows(&table), [["1", "\"a\""], ["2", "\"b\""], ["3", "\"c\""]]);
    assert_eq!(set(&table).files.iter().map(|f| f.layout).collect::<Vec<_>>(), [None, None, Some(0)]);
    assert_eq!(set(&table).layouts[0].compression, "gzip");
}

#[test]
fn a_suffix_that_lies_is_not_believed() {
    let dir = tree(&[("a.csv", &gzip("1,x\n")), ("b.csv.gz", b"1,x\n")]);
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    for name in ["a.csv", "b.csv.gz"] {
        assert_eq!(rows(&at(&dir, name, &options).unwrap()), [["1", "\"x\""]], "{name}");
    }
    let dir = tree(&[("a.parquet.gz", &gzip("PAR1")), ("b", b"\x00\x01\x02")]);
    assert!(message(&dir, "a.parquet.gz", &OpenOptions::default()).contains("parquet file inside of gzip"));
    assert!(message(&dir, "b", &OpenOptions::default()).contains("neither its name nor its content"));
}

#[test]
fn empty_files() {
    let options = given(&[("n", DataType::Int64), ("text", DataType::Utf8)]);
    let dir = texts(&[
        ("a.csv", ""),
        ("b.csv", "1,x\n"),
        ("e/c.csv", ""),
        ("e/d", ""),
        ("z.csv.gz", ""),
        ("p.parquet", ""),
    ]);
    let empty = at(&dir, "a.csv", &options).unwrap();
    assert_eq!((empty.rows, rows(&empty).len()), (Some(0), 0));
    assert_eq!(rows(&at(&dir, "[ab].csv", &options).unwrap()), [["1", "\"x\""]]);
    assert_eq!(at(&dir, "e", &options).unwrap().rows, Some(0));
    let none = OpenOptions::default();
    let said = message(&dir, "a.csv", &none);
    assert!(
        said.starts_with("a.csv: the file is empty, so that no schema") && said.contains("--schema"),
        "{said}"
    );
    assert!(message(&dir, "e", &none).contains("all 2 files from this on are empty"));
    assert!(message(&dir, "e/d", &none).contains("its name does not tell its encoding"));
    assert!(message(&dir, "z.csv.gz", &options).contains("a gzip file never is"));
    assert!(message(&dir, "p.parquet", &none).contains("a parquet file never is"));
}

#[test]
fn encodings_must_not_mix() {
    let dir = tree(&[("t/a.csv", b"1,2\n"), ("t/b.parquet", &encoded("parquet", &numbers("n", 0, 1)))]);
    let said = message(&dir, "t", &OpenOptions::default());
    assert!(said.starts_with("t: the files are in different encodings"), "{said}");
    assert!(
        said.contains("t/a.csv is csv, ")
            && said.contains("t/b.parquet is parquet")
            && said.contains("'*.csv'"),
        "{said}"
    );
}

#[test]
fn columns_from_directories_and_the_file() {
    let options = OpenOptions { file_column: true, ..given(&[("n", DataType::Int64)]) };
    let dir = texts(&[("t/year=2025/lang=de/a.csv", "1\n"), ("t/year=2026/lang=fr/a.csv", "2\n")]);
    let table = at(&dir, "t", &options).unwrap();
    assert_eq!(
        columns(&table),
        [
            ("n", DataType::Int64),
            ("year", DataType::Int64),
            ("lang", DataType::Utf8View),
            ("_file", DataType::Utf8View)
        ]
    );
    assert_eq!(set(&table).file_columns, 1);
    let path = |name: &str| dir.path().join(name).display().to_string();
    let expected = [
        ["1".to_string(), "2025".into(), "de".into(), path("t/year=2025/lang=de/a.csv")],
        ["2".to_string(), "2026".into(), "fr".into(), path("t/year=2026/lang=fr/a.csv")],
    ];
    assert_eq!(rows(&table), expected);
    let glob = at(&dir, "t/*/lang=de/*.csv", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(rows(&glob), [["1", "2025", "de"]]);
    let below = at(&dir, "t/year=2026", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(rows(&below), [["2", "fr"]]);
    let inside = at(&dir, "t", &given(&[("YEAR", DataType::Int64)])).unwrap();
    assert_eq!(
        columns(&inside),
        [("year", DataType::Int64), ("lang", DataType::Utf8View)],
        "the directory's column counts"
    );
    assert_eq!(rows(&inside), [["2025", "de"], ["2026", "fr"]]);
    let twice = OpenOptions { file_column: true, ..given(&[("_file", DataType::Int64)]) };
    assert!(message(&dir, "t", &twice).contains("has a column '_file'"));
}

/// A dataset of two csv files.
fn dataset() -> tempfile::TempDir {
    let dir = texts(&[("d/part-1.csv", "3,z\n"), ("d/part-0.csv", "1,x\n2,y\n")]);
    let part =
        |name: &str, rows, bytes| PartFile { name: name.into(), rows, bytes, crc32: 0, blocks: vec![] };
    let schema =
        Schema::new(vec![Field::new("n", DataType::Int64, false), Field::new("s", DataType::Utf8, true)]);
    let files = vec![part("part-1.csv", 1, 4), part("part-0.csv", 2, 8)];
    let manifest = Manifest::new(Some("t".into()), Arc::new(schema), FormatOptions::default(), files);
    manifest.write(&dir.path().join("d")).unwrap();
    dir
}

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
fn damaged_and_missing_files_are_named() {
    let dir = texts(&[("a.parquet", "PAR1 and then nothing of use PAR1"), ("b.csv", "1")]);
    let said = message(&dir, "a.parquet", &OpenOptions::default());
    assert!(said.starts_with("a.parquet"), "{said}");
    let said = message(&dir, "b.cvs", &OpenOptions::default());
    assert!(
        said.starts_with("b.cvs: there is no such file") && said.contains("did you mean b.csv?"),
        "{said}"
    );
    assert!(message(&dir, "b.csv/x", &OpenOptions::default()).starts_with("b.csv/x: "));
}

#[test]
fn a_data_directory_is_a_list_of_tables() {
    let dir = texts(&[
        ("d/rankings/part-0", "x"),
        ("d/visits.csv.gz", "x"),
        ("d/README", "x"),
        ("d/_tmp/x.csv", "x"),
        ("e/a.csv", "x"),
        ("e/A.parquet", "x"),
    ]);
    let tables = open_data_dir(&dir.path().join("d")).unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(
        tables,
        [("rankings".to_string(), path("d/rankings")), ("visits".to_string(), path("d/visits.csv.gz"))]
    );
    let both = open_data_dir(&dir.path().join("e")).unwrap();
    assert_eq!(both, [("A".to_string(), path("e/A.parquet")), ("a".to_string(), path("e/a.csv"))]);
    assert!(open_data_dir(Path::new("/nowhere/d")).unwrap_err().to_string().contains("there is no"));
    assert!(open_data_dir(&dir.path().join("e/a.csv")).unwrap_err().to_string().contains("not a directory"));
    let dir = dataset();
    let tables = open_data_dir(&dir.path().join("d")).unwrap();
    assert_eq!(tables, [("d".to_string(), dir.path().join("d").display().to_string())]);
}

#[test]
fn many_files_are_listed_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..1000 {
        std::fs::write(dir.path().join(format!("{i:05}.csv")), "1\n").unwrap();
    }
    let table = open(dir.path().to_str().unwrap(), "t", &given(&[("n", DataType::Int64)])).unwrap();
    assert_eq!(set(&table).files.len(), 1000);
    assert!(set(&table).files.windows(2).all(|w| w[0].path < w[1].path));
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
fn other_encodings_of_text() {
    let dir = texts(&[
        ("a.jsonl", "{\"n\": 1, \"s\": \"x\"}\n{\"n\": 2.5}\n"),
        ("b", "{\"n\": 1}\n"),
        ("c.log", "a line, and\nanother\n"),
        ("d", "1\n2\n"),
        ("access.log.1", "x,y\n"),
    ]);
    let a = table(&dir, "a.jsonl");
    assert_eq!(columns(&a), [("n", DataType::Float64), ("s", DataType::Utf8View)]);
    assert_eq!(rows(&a)[1], ["2.5", "NULL"]);
    assert_eq!(rows(&table(&dir, "b")), [["1"]]);
    for (name, first) in [("c.log", "\"a line, and\""), ("d", "\"1\""), ("access.log.1", "\"x,y\"")] {
        let table = table(&dir, name);
        assert_eq!(columns(&table), [("line", DataType::Utf8View)]);
        assert_eq!(rows(&table)[0], [first]);
    }
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
fn types_come_from_the_first_file_that_has_values() {
    let dir =
        texts(&[("a.csv", "id,x\n"), ("b.csv", "id,x\n1,\n"), ("c.csv", "id,x\n2,\n"), ("d.csv", "a,b\n\n")]);
    assert_eq!(columns(&table(&dir, "[abc].csv")), [("id", DataType::Int64), ("x", DataType::Utf8View)]);
    assert_eq!(columns(&table(&dir, "d.csv")), [("a", DataType::Utf8View), ("b", DataType::Utf8View)]);
}

#[test]
fn compressed_files_of_nothing() {
    let (nothing, rows_) = (gzip(""), gzip("id,x\n1,y\n"));
    let dir = tree(&[("a.csv.gz", &nothing), ("b.csv.gz", &rows_), ("c/a.csv.gz", &nothing)]);
    assert_eq!(rows(&table(&dir, "*.csv.gz")), [["1", "\"y\""]]);
    assert!(message(&dir, "c", &OpenOptions::default()).contains("the file is empty"));
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
fn json_keys_may_be_missing_but_not_new() {
    let dir = texts(&[
        ("a.jsonl", "{\"n\": 1, \"s\": \"x\"}\n"),
        ("b.jsonl", "{\"n\": 2}\n"),
        ("c.jsonl", "{\"m\": 3}\n"),
    ]);
    assert_eq!(rows(&table(&dir, "[ab].jsonl")), [["1", "\"x\""], ["2", "NULL"]]);
    let said = message(&dir, "*.jsonl", &OpenOptions::default());
    assert!(said.starts_with("c.jsonl: ") && said.contains("column 'm' (BIGINT) is only here"), "{said}");
    let united = at(&dir, "*.jsonl", &OpenOptions { union_by_name: true, ..OpenOptions::default() }).unwrap();
    assert_eq!(rows(&united)[2], ["NULL", "NULL", "3"]);
}

/// A named pipe into which a thread writes these bytes.
fn pipe(dir: &tempfile::TempDir, name: &str, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
    let path = dir.path().join(name);
    let text = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string for the length of the call.
    assert_eq!(unsafe { libc::mkfifo(text.as_ptr(), 0o600) }, 0);
    std::thread::spawn(move || std::fs::write(path, bytes).unwrap())
}

#[test]
fn pipes_are_looked_at_and_then_read() {
    let dir = tempfile::tempdir().unwrap();
    let csv: String = (0..300_000).map(|i| format!("{i},row {i}\n")).collect();
    for (name, bytes) in [
        ("csv", format!("n,text\n{csv}").into_bytes()),
        ("gzip", gzip(&format!("n,text\n{csv}"))),
        ("parquet", encoded("parquet", &numbers("n", 0, 300_000))),
        ("buren", encoded("buren", &numbers("n", 0, 300_000))),
        ("arrow", encoded("arrow", &numbers("n", 0, 300_000))),
    ] {
        let writer = pipe(&dir, name, bytes);
        let table = table(&dir, name);
        assert_eq!(columns(&table), [("n", DataType::Int64), ("text", DataType::Utf8View)], "{name}");
        let all = rows(&table);
        assert_eq!((all.len(), &all[299_999]), (300_000, &vec!["299999".into(), "\"row 299999\"".into()]));
        assert_eq!(rows(&table).len(), 300_000, "{name} again");
        writer.join().unwrap();
    }
}
