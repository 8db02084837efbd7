//! Compressions: what is written is read, by these readers and by other tools; damage and early ends are errors.

use std::process::{Command, Stdio};

use formats::Result;
use formats::compress::{by_suffix, compression, names, sniff};

use crate::common::*;

/// Decompresses, given so many bytes at a time and taking so many at a time.
fn unpack(name: &str, bytes: &[u8], give: usize, take: usize) -> Result<Vec<u8>> {
    let mut decompressor = compression(name)?.decompressor()?.expect("a real compression");
    let (mut all, mut out) = (Vec::new(), Vec::new());
    for mut part in bytes.chunks(give) {
        loop {
            out.clear();
            let consumed = decompressor.push(part, &mut out, take)?;
            // What was asked for is exceeded by a block of the format at most, so memory stays bounded.
            let block = match name {
                "snappy" => 64 << 10,
                "lz4" => 4 << 20,
                _ => take.max(64),
            };
            assert!(out.len() <= take + block, "{name} gave {} bytes for {take}", out.len());
            let filled = out.len() >= take;
            all.extend_from_slice(&out);
            part = &part[consumed..];
            if part.is_empty() && !filled {
                break;
            }
            assert!(consumed > 0 || !out.is_empty(), "{name} makes no progress");
        }
    }
    decompressor.finish()?;
    Ok(all)
}

fn text(len: usize) -> Vec<u8> {
    let mut random = Random(5);
    let words = ["alpha,", "beta,", "12345,", "0.25\n", "2020-01-01,", "\"q\"\n"];
    let mut text = Vec::new();
    while text.len() < len {
        text.extend_from_slice(random.pick(&words).as_bytes());
        text.push(b'a' + random.below(26) as u8);
    }
    text.truncate(len);
    text
}

fn real() -> impl Iterator<Item = &'static str> {
    names().iter().copied().filter(|n| *n != "none")
}

#[test]
fn pieces_come_back_whole() {
    let long = text(300_000);
    let noise: Vec<u8> = (0..100_000).scan(Random(9), |r, _| Some(r.next() as u8)).collect();
    for name in real() {
        for pieces in
            [vec![], vec![&b""[..]], vec![b"x"], vec![&long, b"", &noise, &long[..1000]], vec![&noise]]
        {
            let packed = units(name, &pieces);
            let raw = pieces.concat();
            for (give, take) in [(1 << 20, 1 << 20), (1, 2000), (7, 1000), (4096, 1), (100_000, 70_000)] {
                if take == 1 && raw.len() > 10_000 {
                    continue;
                }
                assert_eq!(unpack(name, &packed, give, take).unwrap(), raw, "{name} {give} {take}");
            }
        }
    }
}

#[test]
fn concatenated_files_are_read_to_the_end() {
    for name in real() {
        let (first, second) = (text(50_000), text(1000));
        let mut packed = units(name, &[&first]);
        packed.extend(units(name, &[&second, &first]));
        assert_eq!(
            unpack(name, &packed, 333, 1 << 16).unwrap(),
            [first.clone(), second, first].concat(),
            "{name}"
        );
    }
}

#[test]
fn an_early_end_is_an_error_at_every_byte() {
    for name in real() {
        let packed = units(name, &[&text(700), &text(90)]);
        // Cuts between two snappy chunks, which nothing shows; and cuts between two frames or members.
        let mut whole = Vec::new();
        for end in 0..packed.len() {
            match unpack(name, &packed[..end], 1 << 20, 1 << 20) {
                Ok(_) => whole.push(end),
                Err(e) => assert!(e.to_string().contains("ends in the middle of"), "{name} {end}: {e}"),
            }
        }
        let expected = match name {
            "snappy" | "zstd" => 2,
            "zlib" => 0,
            _ => 1,
        };
        assert_eq!(whole.len(), expected, "{name} {whole:?}");
    }
}

#[test]
fn damage_never_panics_and_checksums_notice_it() {
    let mut random = Random(21);
    let raw = text(5000);
    for name in real() {
        let packed = units(name, &[&raw, &raw[..100]]);
        for _ in 0..1000 {
            let mut damaged = packed.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            if let Ok(text) = unpack(name, &damaged, 1 << 20, 1 << 16) {
                // Parts of headers that carry no meaning may change; text may not.
                assert_eq!(text, [&raw[..], &raw[..100]].concat(), "{name} byte {at}");
            }
        }
        for _ in 0..500 {
            let len = random.below(200);
            let mut noise: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            let head = packed.len().min(random.below(12));
            noise.splice(..head.min(noise.len()), packed[..head].iter().copied());
            let _ = unpack(name, &noise, 50, 1 << 16);
        }
    }
}

#[test]
fn frames_to_be_skipped_are_skipped() {
    let skippable = [&0x184d_2a53u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"hello"].concat();
    for name in ["lz4", "zstd"] {
        let packed = [skippable.clone(), units(name, &[b"text"]), skippable.clone()].concat();
        assert_eq!(unpack(name, &packed, 3, 100).unwrap(), b"text", "{name}");
        assert!(unpack(name, &packed[..packed.len() - 1], 3, 100).is_err(), "{name}");
    }
    let padding = [&[0xfe, 3, 0, 0][..], b"\0\0\0", &[0x80, 1, 0, 0], b"x"].concat();
    let packed = [units("snappy", &[b"text"]), padding, units("snappy", &[b"more"])].concat();
    assert_eq!(unpack("snappy", &packed, 2, 100).unwrap(), b"textmore");
    let packed = [units("gzip", &[b"text"]), vec![0; 512]].concat();
    assert_eq!(unpack("gzip", &packed, 100, 100).unwrap(), b"text");
    let packed = [units("gzip", &[b"text"]), b"garbage".to_vec()].concat();
    assert!(unpack("gzip", &packed, 100, 100).is_err());
}

#[test]
fn headers_with_names_and_comments_are_read() {
    let plain = units("gzip", &[b"text"]);
    let body = &plain[20..];
    let head = [0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3];
    let fields = b"\x03\x00abcname.csv\0a comment\0\x12\x34";
    assert_eq!(unpack("gzip", &[&head[..], fields, body].concat(), 1, 10).unwrap(), b"text");
}

#[test]
fn names_and_first_bytes_tell_the_compression() {
    let name = |path: &str| by_suffix(path.as_ref()).map(|c| c.name());
    assert_eq!(name("a/b.csv.gz"), Some("gzip"));
    assert_eq!(name("b.CSV.ZST"), Some("zstd"));
    assert_eq!(name("part-00000.deflate"), Some("zlib"));
    assert_eq!(name("b.csv"), None);
    assert_eq!(name("gz"), None);
    for name in real() {
        let packed = units(name, &[&text(1000)]);
        assert_eq!(sniff(&packed[..64]).map(|c| c.name()), Some(name));
    }
    for plain in ["", "x", "x^2 + y^2 = z^2 is what the text says, and it is text, not a stream", "1,2,3\n"] {
        assert!(sniff(plain.as_bytes()).is_none(), "{plain}");
    }
}

/// Runs a command over bytes; `None` if there is no such command.
fn through(command: &str, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let file = TempFile::new(input);
    let stdin = std::fs::File::open(file.path()).unwrap();
    let output = Command::new(command).args(args).stdin(stdin).stderr(Stdio::inherit()).output().ok()?;
    assert!(output.status.success(), "{command} {args:?}");
    Some(output.stdout)
}

#[test]
fn ordinary_tools_read_what_is_written_and_write_what_is_read() {
    let raw = text(2_500_000);
    let pieces: Vec<_> = raw.chunks(1_000_000).collect();
    for (name, tool) in [("gzip", "gzip"), ("zstd", "zstd"), ("lz4", "lz4")] {
        if let Some(read) = through(tool, &["-d", "-c"], &units(name, &pieces)) {
            assert_eq!(read, raw, "{tool}");
            let written = through(tool, &["-c"], &raw).unwrap();
            assert_eq!(unpack(name, &written, 10_000, 1 << 20).unwrap(), raw, "{tool}");
        }
    }
    let python = |code: &str, input: &[u8]| {
        through(
            "python3",
            &["-c", &format!("import sys, zlib, gzip; i = sys.stdin.buffer.read(); {code}")],
            input,
        )
    };
    let read = "sys.stdout.buffer.write(zlib.decompress(i))";
    if let Some(read) = python(read, &units("zlib", &pieces)) {
        assert_eq!(read, raw);
        let empty = python("sys.stdout.buffer.write(zlib.decompress(i))", &units("zlib", &[])).unwrap();
        assert!(empty.is_empty());
        let written = python("sys.stdout.buffer.write(zlib.compress(i))", &raw).unwrap();
        assert_eq!(unpack("zlib", &written, 10_000, 1 << 20).unwrap(), raw);
        let read = python("sys.stdout.buffer.write(gzip.decompress(i))", &units("gzip", &pieces)).unwrap();
        assert_eq!(read, raw);
    }
}
