//! The figures of all pairs: tables for people, CSV and JSON for programs.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use session::writers::table::grouped;

use super::cell::{Cell, Measured, Outcome};
use super::{chart, grid, history};

/// What `palais bench formats` has measured.
#[derive(Serialize)]
pub struct Report {
    /// A description of the table.
    pub title: String,
    /// The query.
    pub query: String,
    /// Worker threads.
    pub workers: usize,
    /// How often the query ran after its first run.
    pub rounds: u32,
    /// Whether the system was asked to forget the files before each run.
    pub cold: bool,
    /// The rows of the table.
    pub rows: u64,
    /// Whether the query is that of the experiment of 2016.
    #[serde(skip)]
    pub history: bool,
    /// The pairs.
    pub cells: Vec<Cell>,
}

const MEGA: f64 = 1e6;

/// How the query ran, as text for people.
pub fn runs(rounds: u32, cold: bool) -> String {
    let from = if cold { "each from the disk" } else { "from memory" };
    format!("median of {rounds} runs after a first one, {from}")
}

/// The figures of a pair in a line.
pub fn line(cell: &Cell) -> String {
    let pair = format!("{} {}", cell.encoding, cell.compression);
    match &cell.outcome {
        Outcome::Refused { refused } => format!("{pair}: {refused}"),
        Outcome::Failed { error } => format!("{pair}: {error}"),
        Outcome::Measured(m) => {
            let unpacked = m.decompress_seconds.map_or(String::new(), |s| format!(" decompress {s:.3},"));
            format!(
                "{pair}: {:.1} MB written in {:.2} s; query {:.3} s, first run {:.3} s, {:.0} MB/s, {:.2} million rows \
                 a second and core, {:.0} MiB; read {:.3},{unpacked} decode {:.3} s; bound by {}",
                m.bytes as f64 / MEGA,
                m.write_seconds,
                m.query_seconds,
                m.first_seconds,
                m.bytes_per_second / MEGA,
                m.rows_per_core_second / MEGA,
                m.peak_resident_bytes as f64 / f64::from(1 << 20),
                m.read_seconds,
                m.decode_seconds,
                m.bound_by,
            )
        }
    }
}

impl Report {
    /// The figures as tables for people.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}, {} rows, {} workers, {}\n{}\n",
            self.title,
            grouped(self.rows),
            self.workers,
            runs(self.rounds, self.cold),
            self.query
        );
        self.matrix(&mut out, "seconds of the query / MB of files", |_, m| {
            format!("{:.3} / {:.1}", m.query_seconds, m.bytes as f64 / MEGA)
        });
        let rate = |cell: &Cell, m: &Measured| {
            let times = self.times_2016(cell, m).map_or(String::new(), |times| format!(" ({times:.1} ×)"));
            format!("{:.2}{times}", m.rows_per_core_second / MEGA)
        };
        let against = if self.history { " (× the experiment of 2016)" } else { "" };
        self.matrix(&mut out, &format!("million rows a second and core{against}"), rate);
        self.matrix(&mut out, "seconds to write", |_, m| format!("{:.2}", m.write_seconds));
        self.matrix(&mut out, "bound by (share of the query's time)", |_, m| {
            let steps = m.steps();
            let all: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
            let longest =
                steps.iter().find(|(step, _)| *step == m.bound_by).map_or(0.0, |(_, seconds)| *seconds);
            format!("{} {:.0} %", m.bound_by, 100.0 * longest / all)
        });
        self.matrix(&mut out, "peak resident memory of the query, MiB", |_, m| {
            format!("{:.0}", m.peak_resident_bytes as f64 / f64::from(1 << 20))
        });
        out += "\nSweet spots: no other pair is both smaller and quicker\n";
        for (cell, m) in self.sweet_spots() {
            let name = format!("{} {}", cell.encoding, cell.compression);
            let _ = writeln!(out, "  {name:<24} {:>9.1} MB  {:.3} s", m.bytes as f64 / MEGA, m.query_seconds);
        }
        let mut refusals = Vec::new();
        for cell in &self.cells {
            if let Outcome::Refused { refused } = &cell.outcome
                && !refusals.contains(&(cell.encoding, refused))
            {
                refusals.push((cell.encoding, refused));
            }
        }
        for (encoding, why) in refusals {
            let _ = writeln!(out, "\nnot measured: {encoding}: {why}");
        }
        for failure in self.cells.iter().filter_map(Cell::failure) {
            let _ = writeln!(out, "\nfailed: {failure}");
        }
        out
    }

    /// How many times the rate of 2016 a pair has.
    fn times_2016(&self, cell: &Cell, m: &Measured) -> Option<f64> {
        let before =
            history::rows_per_core_second(cell.encoding, cell.compression).filter(|_| self.history)?;
        Some(m.rows_per_core_second / before)
    }

    /// A table with a line for each encoding and a column for each compression.
    fn matrix(&self, out: &mut String, title: &str, show: impl Fn(&Cell, &Measured) -> String) {
        let (mut encodings, mut compressions) = (Vec::new(), Vec::new());
        for cell in &self.cells {
            if !encodings.contains(&cell.encoding) {
                encodings.push(cell.encoding);
            }
            if !compressions.contains(&cell.compression) {
                compressions.push(cell.compression);
            }
        }
        let text = |encoding: &str, compression: &str| {
            let cell = self.cells.iter().find(|c| c.encoding == encoding && c.compression == compression)?;
            Some(match &cell.outcome {
                Outcome::Measured(m) => show(cell, m),
                Outcome::Refused { .. } => "-".into(),
                Outcome::Failed { .. } => "failed".into(),
            })
        };
        let head = [String::new()].into_iter().chain(compressions.iter().map(ToString::to_string));
        let mut lines: Vec<Vec<String>> = vec![head.collect()];
        for encoding in encodings {
            let cells =
                compressions.iter().map(|compression| text(encoding, compression).unwrap_or_default());
            lines.push([encoding.to_string()].into_iter().chain(cells).collect());
        }
        grid(out, title, &lines);
    }

    /// The pairs than which no other one is both smaller and quicker, from the smallest on.
    fn sweet_spots(&self) -> Vec<(&Cell, &Measured)> {
        let mut all: Vec<_> = self.cells.iter().filter_map(|cell| Some((cell, cell.measured()?))).collect();
        all.sort_by(|(_, a), (_, b)| a.bytes.cmp(&b.bytes).then(a.query_seconds.total_cmp(&b.query_seconds)));
        let mut quickest = f64::INFINITY;
        all.retain(|(_, m)| {
            let better = m.query_seconds < quickest;
            quickest = quickest.min(m.query_seconds);
            better
        });
        all
    }

    /// The figures as CSV, a line for each pair.
    fn csv(&self) -> String {
        let mut out = String::from(
            "encoding,compression,bytes,write_seconds,query_seconds,first_seconds,rows_per_core_second,times_2016,\
             bytes_per_second,peak_resident_bytes,read_seconds,decompress_seconds,decode_seconds,bound_by,error\n",
        );
        for cell in &self.cells {
            let (encoding, compression) = (cell.encoding, cell.compression);
            let _ = match &cell.outcome {
                Outcome::Refused { refused: error } | Outcome::Failed { error } => {
                    writeln!(
                        out,
                        "{encoding},{compression}{}\"{}\"",
                        ",".repeat(13),
                        error.replace('"', "\"\"")
                    )
                }
                Outcome::Measured(m) => {
                    let times = self.times_2016(cell, m).map_or(String::new(), |times| format!("{times:.3}"));
                    let decompress = m.decompress_seconds.map_or(String::new(), |s| format!("{s:.6}"));
                    writeln!(
                        out,
                        "{encoding},{compression},{},{:.6},{:.6},{:.6},{:.0},{times},{:.0},{},{:.6},{decompress},{:.6},{},",
                        m.bytes,
                        m.write_seconds,
                        m.query_seconds,
                        m.first_seconds,
                        m.rows_per_core_second,
                        m.bytes_per_second,
                        m.peak_resident_bytes,
                        m.read_seconds,
                        m.decode_seconds,
                        m.bound_by,
                    )
                }
            };
        }
        out
    }

    /// Writes `formats.csv`, `formats.json` and `formats.svg`.
    pub fn write(&self, directory: &Path) -> anyhow::Result<()> {
        super::write_figures(directory, "formats", self, &self.csv(), &chart::chart(self))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn cell(encoding: &'static str, compression: &'static str, megabytes: u64, seconds: f64) -> Cell {
        let outcome = Outcome::Measured(Measured {
            bytes: megabytes * 1_000_000,
            write_seconds: 1.0,
            query_seconds: seconds,
            first_seconds: seconds,
            rows_per_core_second: 1e6 / seconds,
            bytes_per_second: megabytes as f64 * MEGA / seconds,
            peak_resident_bytes: 64 << 20,
            read_seconds: 0.1,
            decompress_seconds: (compression != "none").then_some(0.2),
            decode_seconds: 0.25,
            bound_by: "computing",
        });
        Cell { encoding, compression, outcome }
    }

    /// A report of a few pairs.
    pub fn report() -> Report {
        let refused = Cell {
            encoding: "text",
            compression: "none",
            outcome: Outcome::Refused { refused: "9 \"columns\"".into() },
        };
        Report {
            title: "made rows".into(),
            query: "SELECT 1 FROM t".into(),
            workers: 2,
            rounds: 3,
            cold: false,
            rows: 2_000_000,
            history: true,
            cells: vec![
                refused,
                cell("csv", "none", 300, 1.0),
                cell("csv", "gzip", 80, 1.5),
                cell("csv", "lz4", 120, 2.0),
                cell("buren", "none", 90, 0.5),
            ],
        }
    }

    #[test]
    fn sweet_spots_are_beaten_by_none() {
        let report = report();
        let names: Vec<_> = report.sweet_spots().iter().map(|(c, _)| (c.encoding, c.compression)).collect();
        assert_eq!(names, [("csv", "gzip"), ("buren", "none")]);
    }

    #[test]
    fn tables_have_a_line_for_each_encoding() {
        let text = report().text();
        assert!(text.contains("\n  csv    1.000 / 300.0  1.500 / 80.0  2.000 / 120.0\n"), "{text}");
        assert!(text.contains("\n  buren   0.500 / 90.0\n"), "{text}");
        assert!(text.contains("(3.3 ×)"), "{text}");
        assert!(text.contains("not measured: text: 9 \"columns\""), "{text}");
    }

    #[test]
    fn every_line_has_all_fields() {
        let csv = report().csv();
        assert!(csv.contains("text,none,,,,,,,,,,,,,\"9 \"\"columns\"\"\"\n"), "{csv}");
        for line in csv.lines() {
            assert_eq!(line.matches(',').count(), 14, "{line}");
        }
    }
}
