//! The experiment of 2016 that palais comes from: query 2A over 775 million rows on a laptop of four cores.

/// The rows of that table.
const ROWS: f64 = 775e6;
/// The cores of that laptop.
const CORES: f64 = 4.0;

/// Seconds without compression, and with snappy, lz4, gzip and zlib.
const SECONDS: [(&str, [f64; 5]); 9] = [
    ("jsonl", [855.0, 815.0, 756.0, 1037.0, 873.0]),
    ("csv", [640.0, 806.0, 616.0, 754.0, 825.0]),
    ("bincode", [377.0, 552.0, 377.0, 547.0, 551.0]),
    ("msgpack", [509.0, 723.0, 495.0, 633.0, 674.0]),
    ("cbor", [1220.0, 1564.0, 1171.0, 1361.0, 1537.0]),
    ("protobuf", [378.0, 397.0, 407.0, 570.0, 596.0]),
    ("capnproto", [242.0, 243.0, 239.0, 482.0, 416.0]),
    ("capnproto-packed", [257.0, 279.0, 278.0, 476.0, 390.0]),
    ("buren", [135.0, 139.0, 157.0, 211.0, 170.0]),
];

/// The compressions in the order of [`SECONDS`].
const COMPRESSIONS: [&str; 5] = ["none", "snappy", "lz4", "gzip", "zlib"];

/// Rows a second and core; `None` for pairs that were not measured.
pub fn rows_per_core_second(encoding: &str, compression: &str) -> Option<f64> {
    let (_, seconds) = SECONDS.iter().find(|(name, _)| *name == encoding)?;
    let column = COMPRESSIONS.iter().position(|&name| name == compression)?;
    Some(ROWS / seconds[column] / CORES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_published_table() {
        let rate =
            |encoding, compression| rows_per_core_second(encoding, compression).map(|r| (r / 1e3).round());
        assert_eq!(rate("csv", "none"), Some(303.0));
        assert_eq!(rate("buren", "none"), Some(1435.0));
        assert_eq!(rate("jsonl", "zlib"), Some(222.0));
        assert_eq!(rate("buren", "zstd"), None);
        assert_eq!(rate("parquet", "none"), None);
    }
}
