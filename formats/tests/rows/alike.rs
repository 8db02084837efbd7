//! Records of JSON read the same whatever records stood before them, although those that are built as others were are
//! read in another way.

use std::sync::Arc;

use formats::reader::Skipped;
use schema::OnError;
use schema::text::ddl;

use crate::common::*;

const COLUMNS: &str = "CREATE TABLE t (id BIGINT, \"user\" STRUCT(\"name\" VARCHAR, age INTEGER, place STRUCT(x DOUBLE, y \
                       DOUBLE)), tags STRUCT(a VARCHAR, b BIGINT)[], any VARCHAR, \"a\"\"b\" BOOLEAN)";

/// A value of any kind, mostly of this one: keys with kinds of their own, in an order, or what is no object.
fn value(random: &mut Random, kind: char, space: &str, depth: usize) -> String {
    let kind =
        if random.below(150) == 0 { random.pick(&['i', 's', 'u', 'p', 't', 'a', 'n', 'e']) } else { kind };
    match kind {
        'i' => {
            ["0", "7", "-12", "123456", "1.5", "2e3", "-0", "12345678901234567890123"][random.below(8)].into()
        }
        's' => [r#""""#, r#""a""#, r#""a longer text than sixteen""#, r#""\"q\" \u00e4""#, "\"ä\"", "\"7\""]
            [random.below(6)]
        .into(),
        'u' => object(random, &[("name", 's'), ("age", 'i'), ("place", 'p')], space, depth),
        'p' => object(random, &[("x", 'i'), ("y", 'i')], space, depth),
        't' => list(random, 'o', space, depth),
        'o' => object(random, &[("a", 's'), ("b", 'i')], space, depth),
        'b' => random.pick(&["true", "false"]).into(),
        'a' if depth < 3 => match random.below(5) {
            0 => list(random, 'a', space, depth),
            1 => object(random, &[("a", 'a'), ("b", 's'), ("a]", 't')], space, depth),
            2 => value(random, 's', space, depth),
            _ => value(random, 'i', space, depth),
        },
        'e' => random.pick(&["{}", "[]", "{ }", "NaN", "[[]]"]).into(),
        _ => "null".into(),
    }
}

fn list(random: &mut Random, kind: char, space: &str, depth: usize) -> String {
    let items: Vec<_> = (0..random.below(4)).map(|_| value(random, kind, space, depth + 1)).collect();
    format!("[{}]", items.join(&format!(",{space}")))
}

fn object(random: &mut Random, keys: &[(&str, char)], space: &str, depth: usize) -> String {
    let mut fields = Vec::new();
    for &(key, kind) in keys {
        // Most records have the same keys; some lack one, or have it twice or under a name that is none.
        for _ in 0..[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2]
            [random.below(if depth == 0 { 15 } else { 16 })]
        {
            let key = if random.below(120) == 0 { "other" } else { key };
            fields.push(format!("\"{key}\":{space}{}", value(random, kind, space, depth + 1)));
        }
    }
    if random.below(10) == 0 {
        let last = fields.pop();
        fields.splice(0..0, last);
    }
    format!("{{{}}}", fields.join(&format!(",{space}")))
}

fn record(random: &mut Random, space: &str) -> Vec<u8> {
    let keys = [("id", 'i'), ("user", 'u'), ("tags", 't'), ("any", 'a'), (r#"a\"b"#, 'b')];
    let mut text = object(random, &keys, space, 0).into_bytes();
    if random.below(25) == 0 {
        let at = random.below(text.len());
        match random.below(3) {
            0 => drop(text.remove(at)),
            1 => text[at] = random.pick(b"{}[]\",:0 \\x\t\xff"),
            _ => text.insert(at, random.pick(b"{}[]\",:0 \\x\t\xff")),
        }
    }
    text
}

#[test]
fn a_record_reads_the_same_whatever_stood_before_it() {
    let schema = Arc::new(ddl::parse(COLUMNS).unwrap().remove(0).1);
    let (mut random, mut rows, mut skipped_rows, mut unknown) = (Random(11), 0, 0, 0);
    for round in 0..150 {
        let mut options = options("jsonl");
        (options.on_error, options.open_keys) =
            (random.pick(&[OnError::Skip, OnError::Null]), random.below(3) > 0);
        let mut scan = scan(&schema, &options);
        if random.below(2) == 0 {
            scan.projection.retain(|_| random.below(3) > 0);
        }
        let (space, end) = (random.pick(&["", " "]), random.pick(&["\n", "\r\n", " \n"]));
        let records: Vec<_> = (0..60).map(|_| record(&mut random, space)).collect();
        let lines: Vec<_> = records.iter().map(|record| [record, end.as_bytes()].concat()).collect();
        let projected = Arc::new(scan.schema.project(&scan.projection).unwrap());
        let (together, skipped) = read_whole(&lines.concat(), &scan).unwrap();
        let together = concat(&projected, &together);
        let (mut alone, mut skipped_alone) = (Vec::new(), Skipped::default());
        for line in &lines {
            let (batches, skipped) = read_whole(line, &scan).unwrap();
            skipped_alone.add(&skipped);
            alone.extend(batches);
        }
        let alone = concat(&together.schema(), &alone);
        for (i, line) in (0..alone.num_rows().min(together.num_rows())).zip(&records) {
            if skipped.rows == 0 {
                assert_eq!(
                    together.slice(i, 1),
                    alone.slice(i, 1),
                    "{round}: {}",
                    String::from_utf8_lossy(line)
                );
            }
        }
        assert_eq!(together, alone, "round {round}");
        let counts = |s: &Skipped| (s.rows, s.values, s.replaced, s.unknown, s.unknown_key.clone());
        assert_eq!(counts(&skipped), counts(&skipped_alone), "round {round}");
        together.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
        rows += together.num_rows();
        skipped_rows += skipped.rows;
        unknown += skipped.unknown;
    }
    assert!(rows > 5000 && skipped_rows > 1000 && unknown > 300, "{rows} {skipped_rows} {unknown}");
}
