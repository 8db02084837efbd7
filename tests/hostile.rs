//! Files that were made to harm: the process ends with an error, not by a signal.

use std::fs;

use process::palais;

#[path = "support/process.rs"]
mod process;

/// A Parquet file of one column of three texts, as pyarrow writes it with DELTA_LENGTH_BYTE_ARRAY, whose page claims to
/// hold 2^46 values: room for their lengths is made before any is read.
const FORGED: &[&str] = &[
    "504152311500154a154a2c1506150c150615061c000000800104808080808080",
    "100e000000000076616c7565203076616c7565203176616c756520321504192c",
    "35001806736368656d61150200150c250018017425004c1c0000001606191c19",
    "1c26001c150c1925060c1918017415001606167016702608491c1500150c1502",
    "003c162a190619060000001670160626081670002820706172717565742d6370",
    "702d6172726f772076657273696f6e2032362e302e31191c1c00000080000000",
    "50415231",
];

#[test]
fn a_forged_count_in_a_page_is_an_error() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = home.path().join("forged.parquet");
    let hex = FORGED.concat();
    let digits = hex.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    let bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect();
    fs::write(&path, bytes).expect("the file can be written");
    for query in ["SELECT count(t) FROM", "SELECT * FROM"] {
        let done = palais(["query", &format!("{query} '{}'", path.display())]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{}:\n{}", done.ending(), done.stderr);
        assert!(
            done.stderr.contains("error: out of memory: 256.0 TiB were asked for at once"),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains("is damaged"), "{}", done.stderr);
    }
}
