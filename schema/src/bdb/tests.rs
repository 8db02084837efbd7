//! The tables as a whole: purity, order, joins and distributions. Seeds are fixed, so that a bound of five standard
//! errors either always holds or never does.

use std::collections::{HashMap, HashSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Int32Type};

use super::parts::Division;
use super::url::Urls;
use super::*;

fn sizes(rankings: u64, uservisits: u64, documents_bytes: u64) -> Sizes {
    Sizes { rankings, uservisits, documents_bytes }
}

fn all(spec: Spec) -> RecordBatch {
    spec.batch(0..u64::MAX, &(0..spec.schema().fields().len()).collect::<Vec<_>>())
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<&str> {
    batch.column(column).as_string_view().iter().map(|s| s.expect("no nulls")).collect()
}

fn ints(batch: &RecordBatch, column: usize) -> Vec<i32> {
    batch.column(column).as_primitive::<Int32Type>().values().to_vec()
}

/// The chi-square statistic of counts against equal expectations lies within five deviations of its mean.
fn assert_uniform(counts: &[u64], what: &str) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    let freedom = counts.len() as f64 - 1.0;
    assert!((chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{what}: chi-square {chi} of {freedom}");
}

#[test]
fn any_range_and_projection_gives_the_same_rows() {
    for kind in Kind::ALL {
        let spec = sizes(3_000, 30_000, 1_000_000).table(kind, 5);
        let whole = all(spec);
        assert_eq!(whole.schema(), spec.schema());
        assert_eq!(spec.rows().unwrap_or(whole.num_rows() as u64), whole.num_rows() as u64);
        let (generator, mut row, mut unit, mut step) = (spec.generator(), 0, 0, 1);
        while unit < spec.units() {
            let piece = generator.batch(unit..unit + step, &(0..whole.num_columns()).collect::<Vec<_>>());
            assert_eq!(piece, whole.slice(row, piece.num_rows()));
            for column in 0..whole.num_columns() {
                let alone = generator.batch(unit..unit + step, &[column]);
                assert_eq!(alone.column(0), piece.column(column));
            }
            assert_eq!(generator.batch(unit..unit + step, &[]).num_rows(), piece.num_rows());
            row += piece.num_rows();
            unit += step;
            step = step * 3 % 701;
        }
        assert_eq!(row, whole.num_rows());
    }
}

#[test]
fn seeds_give_different_rows_and_empty_tables_work() {
    for kind in Kind::ALL {
        let of = |seed| all(sizes(100, 100, 50_000).table(kind, seed));
        assert_ne!(of(1), of(2));
        assert_eq!(all(sizes(0, 0, 0).table(kind, 1)).num_rows(), 0);
    }
    // Visits without rankings still have a page.
    assert_eq!(all(sizes(0, 10, 0).table(Kind::UserVisits, 1)).num_rows(), 10);
}

/// The rows of a seed are frozen: a change of any draw changes them, and everybody's data with them.
#[test]
fn rows_are_frozen() {
    let hash_of = |kind| {
        let batch = all(sizes(1_200, 10_000, 200_000).table(kind, 0));
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |bytes: &[u8]| {
            bytes.iter().for_each(|&b| hash = (hash ^ b as u64).wrapping_mul(0x100_0000_01b3));
        };
        for column in batch.columns() {
            match column.data_type() {
                DataType::Utf8View => {
                    column.as_string_view().iter().flatten().for_each(|s| add(s.as_bytes()))
                }
                DataType::Int32 => {
                    column.as_primitive::<Int32Type>().values().iter().for_each(|v| add(&v.to_le_bytes()));
                }
                DataType::Date32 => {
                    column.as_primitive::<Date32Type>().values().iter().for_each(|v| add(&v.to_le_bytes()));
                }
                _ => column.as_primitive::<Float32Type>().values().iter().for_each(|v| add(&v.to_le_bytes())),
            }
        }
        hash
    };
    let frozen = [16_029_943_005_844_731_150, 1_517_115_399_343_233_944, 5_233_331_936_124_375_723];
    assert_eq!(Kind::ALL.map(hash_of), frozen);
}

#[test]
fn no_url_comes_twice() {
    let urls = Urls::new(9);
    let mut seen = HashSet::new();
    let mut lengths = [0u64; 91];
    let mut letters = [0u64; 26];
    let (mut first, mut url) = ([0u64; 26], Vec::new());
    for page in (0..100_000).chain(MAX_PAGES - 1_000..MAX_PAGES) {
        url.clear();
        urls.write(page, &mut url);
        lengths[url.len() - 10] += 1;
        url.iter().for_each(|b| letters[(b - b'a') as usize] += 1);
        first[(url[0] - b'a') as usize] += 1;
        // What is unique is the beginning: nothing that follows can make two URLs equal.
        assert!(seen.insert(<[u8; 10]>::try_from(&url[..10]).unwrap()), "page {page}");
    }
    assert_uniform(&lengths, "lengths");
    assert_uniform(&letters, "letters");
    assert_uniform(&first, "first letters");
}

#[test]
fn ranks_have_the_law_of_links() {
    let spec = sizes(200_000, 0, 0).table(Kind::Rankings, 3);
    let ranks = ints(&spec.batch(0..u64::MAX, &[1]), 0);
    let pages = ranks.len() as f64;
    let mean = ranks.iter().map(|&r| r as f64).sum::<f64>() / pages;
    // The sum of Poisson variables has the variance of its mean.
    assert!((mean - links::LINKS_PER_PAGE).abs() < 5.0 * (links::LINKS_PER_PAGE / pages).sqrt(), "{mean}");
    // The published shares of rows above 1000, 100 and 10 do not depend on the number of pages but for the
    // discreteness of the weights, which is 1 page of some 70 for the first.
    for (threshold, published) in [(1000, 32_888.0), (100, 3_331_851.0), (10, 89_974_976.0)] {
        let share = published / 90_000_000.0;
        let count = ranks.iter().filter(|&&r| r > threshold).count() as f64;
        let deviation = (pages * share * (1.0 - share)).sqrt();
        assert!((count - pages * share).abs() < 5.0 * deviation + 1.0, "{count} above {threshold}");
    }
}

#[test]
fn rankings_descend_in_each_part() {
    let spec = sizes(160_000, 0, 0).table(Kind::Rankings, 3);
    let generator = spec.generator();
    for parts in [1, 4] {
        let deal = Division::new(spec.units(), parts);
        for part in 0..parts {
            let ranks: Vec<f64> = deal
                .ranges(part, 0..u64::MAX)
                .into_iter()
                .flat_map(|range| ints(&generator.batch(range, &[1]), 0))
                .map(f64::from)
                .collect();
            // Means of runs of a twentieth: their noise is far below the steps between them until the weight of the
            // last pages, 2, makes them equal.
            let means: Vec<f64> = ranks
                .chunks(ranks.len() / 20)
                .map(|run| run.iter().sum::<f64>() / run.len() as f64)
                .collect();
            assert!(means.windows(2).all(|w| w[1] < w[0] + 1.0), "{means:?}");
            assert!(means[0] > 3.0 * means[19]);
        }
    }
}

#[test]
fn parts_hold_the_rows_of_the_whole() {
    for kind in Kind::ALL {
        let spec = sizes(5_000, 20_000, 2_000_000).table(kind, 8);
        let generator = spec.generator();
        let rows = |parts| {
            let deal = Division::new(spec.units(), parts);
            let mut rows: Vec<String> = (0..parts)
                .flat_map(|part| deal.ranges(part, 0..u64::MAX))
                .flat_map(|range| {
                    let batch = generator.batch(range, &[0]);
                    texts(&batch, 0).into_iter().map(str::to_string).collect::<Vec<_>>()
                })
                .collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(1), rows(7));
    }
}

#[test]
fn visits_come_in_runs_to_pages_of_rankings() {
    let sizes = sizes(20_000, 172_000, 0);
    let pages = all(sizes.table(Kind::Rankings, 3));
    let number: HashMap<_, _> = texts(&pages, 0).into_iter().zip(0u64..).collect();
    let visits = sizes.table(Kind::UserVisits, 3).batch(0..u64::MAX, &[1]);
    let visited: Vec<u64> = texts(&visits, 0).into_iter().map(|url| number[url]).collect();
    assert!(visited.is_sorted(), "the pages of one file ascend");
    let mut counts = vec![0u64; 20_000];
    visited.iter().for_each(|&page| counts[page as usize] += 1);
    let runs = 1 + visited.windows(2).filter(|w| w[0] != w[1]).count();
    let mean_run = visited.len() as f64 / runs as f64;
    assert!((8.5..8.7).contains(&mean_run), "{mean_run}");
    // Every page is as likely as any other, popular or not; a cell of 952 pages takes 1 / 952 off the variance.
    assert_uniform(&counts, "visits of pages");
}

#[test]
fn cells_hold_at_every_proportion() {
    for (pages, visits) in
        [(1, 100_000), (3, 100_000), (100_000, 7), (7, 7), (1_025, 1_000_000), (50_000, 50_001)]
    {
        let spec = sizes(pages, visits, 0).table(Kind::UserVisits, 1);
        let generator = spec.generator();
        let whole = generator.batch(0..u64::MAX, &[1]);
        assert_eq!(whole.num_rows() as u64, visits);
        for row in [0, 1, visits / 3, visits / 2, visits - 1] {
            let one = generator.batch(row..row + 1, &[1]);
            assert_eq!(one, whole.slice(row as usize, one.num_rows()), "{pages} pages, row {row}");
        }
    }
}

#[test]
fn columns_of_visits_have_their_laws() {
    let spec = sizes(20_000, 200_000, 0).table(Kind::UserVisits, 4);
    let visits = all(spec);
    let rows = visits.num_rows();
    let mut octets = [[0u64; 256]; 4];
    for address in texts(&visits, 0) {
        let parts: Vec<usize> = address.split('.').map(|o| o.parse().unwrap()).collect();
        assert_eq!(parts.len(), 4);
        parts.iter().enumerate().for_each(|(i, &o)| octets[i][o] += 1);
    }
    for (octets, range) in octets.iter().zip([1..255, 0..255, 0..255, 1..255]) {
        assert_uniform(&octets[range.clone()], "octets");
        assert_eq!(octets[range].iter().sum::<u64>(), rows as u64);
    }
    let dates = visits.column(2).as_primitive::<Date32Type>().values();
    assert!(dates.iter().all(|d| (0..15_461).contains(d)), "1970-01-01 to 2012-04-30");
    let mut months = [0u64; 71];
    dates.iter().for_each(|&d| months[(d * 71 / 15_461) as usize] += 1);
    let (mut fine, mut revenue) = (0, [0u64; 64]);
    for value in visits.column(3).as_primitive::<Float32Type>().values() {
        assert!((0.0..1.0).contains(value));
        revenue[(value * 64.0) as usize] += 1;
        fine += u64::from(value * (1 << 23) as f32 != (value * (1 << 23) as f32).floor());
    }
    assert_uniform(&revenue, "revenue");
    assert!(fine > rows as u64 * 2 / 5, "the last of 24 bits is used");
    let agents = texts(&visits, 4);
    let random = agents.iter().filter(|a| is_random_agent(a)).count() as f64 / rows as f64;
    // No listed agent has this form.
    assert!((random - 0.24).abs() < 5.0 * (0.24f64 * 0.76 / rows as f64).sqrt(), "{random}");
    for (country, language) in texts(&visits, 5).into_iter().zip(texts(&visits, 6)) {
        assert_eq!((country.len(), language.len()), (3, 6));
        assert!(language.starts_with(country));
    }
    let mut words = HashMap::new();
    texts(&visits, 7).into_iter().for_each(|w| *words.entry(w).or_insert(0u64) += 1);
    assert_eq!(words.len(), 1000);
    assert_uniform(&words.into_values().collect::<Vec<_>>(), "words");
    let mut durations = [0u64; 10];
    ints(&visits, 8).into_iter().for_each(|d| durations[d as usize - 1] += 1);
    assert_uniform(&durations, "durations");
}

fn is_random_agent(agent: &str) -> bool {
    let Some((name, version)) = agent.split_once('/') else { return false };
    let name = name.as_bytes();
    (5..=24).contains(&name.len())
        && name[0].is_ascii_uppercase()
        && name[1..].iter().all(u8::is_ascii_lowercase)
        && version.len() == 3
        && version.as_bytes()[1] == b'.'
}

/// 126.8 GB were published for 775 million rows.
#[test]
fn a_visit_is_as_long_as_a_published_one() {
    let visits = all(sizes(20_000, 100_000, 0).table(Kind::UserVisits, 4));
    let text = |column| texts(&visits, column).iter().map(|s| s.len()).sum::<usize>() as f64;
    let revenue = visits.column(3).as_primitive::<Float32Type>().values();
    let digits = revenue.iter().map(|v| v.to_string().len()).sum::<usize>() as f64;
    let durations = ints(&visits, 8).iter().map(|d| d.to_string().len()).sum::<usize>() as f64;
    let strings: f64 = [0, 1, 4, 5, 6, 7].into_iter().map(text).sum();
    let row = (strings + digits + durations) / visits.num_rows() as f64 + 10.0 + 9.0;
    assert!((row - 163.6).abs() < 2.0, "{row}");
}

#[test]
fn documents_are_pages_of_lines_with_links() {
    let sizes = sizes(5_000, 0, 20_000_000);
    let rankings = all(sizes.table(Kind::Rankings, 3));
    let number: HashMap<_, _> = texts(&rankings, 0).into_iter().zip(0usize..).collect();
    let batch = all(sizes.table(Kind::Documents, 3));
    let lines = texts(&batch, 0);
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert!((bytes as f64 / 20e6 - 1.0).abs() < 0.05, "{bytes}");
    let is_first = |line: &str| line.starts_with("http") && line.split(' ').count() == 5;
    let starts: Vec<usize> = (0..lines.len()).filter(|&i| is_first(lines[i])).collect();
    assert_eq!(starts.len() as u64, sizes.table(Kind::Documents, 3).units());
    let mut popular = 0;
    let mut all_links = 0;
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(lines.len());
        let body = &lines[start + 1..end];
        let first: Vec<&str> = lines[start].split(' ').collect();
        assert_eq!(number[&first[0][7..]], i % 5_000);
        assert_eq!(first[2].len(), 14);
        assert_eq!(first[4].parse::<usize>().unwrap(), body.iter().map(|l| l.len() + 1).sum::<usize>());
        assert!((20..=200).contains(&body.len()));
        let links: Vec<_> =
            body.iter().flat_map(|l| l.split(' ')).filter(|w| w.starts_with("http://")).collect();
        assert!((5..=40).contains(&links.len()));
        assert!(body.iter().all(|l| !l.starts_with("http")));
        all_links += links.len();
        popular += links.iter().filter(|l| number[&l[7..]] < 50).count();
    }
    // The share of links to the first hundredth of the pages, by the law of rankings.
    let law = links::Links::new(5_000);
    let share = (0..50).map(|p| law.mean(p)).sum::<f64>() / (5_000.0 * links::LINKS_PER_PAGE);
    let deviation = (share * (1.0 - share) / all_links as f64).sqrt();
    assert!((popular as f64 / all_links as f64 - share).abs() < 5.0 * deviation);
}
