//! The chart: for each encoding a group of bars, one for each compression, all on one scale.

use session::writers::table::grouped;

use super::report::Report;
use crate::svg::Svg;

const WIDTH: f64 = 900.0;
/// Room for names before the bars, and for figures behind them.
const LEFT: f64 = 210.0;
const RIGHT: f64 = 190.0;
const BAR: f64 = 15.0;
const GAP: f64 = 14.0;
const HEAD: f64 = 70.0;

/// The colours of compressions.
const COLOURS: [(&str, &str); 6] = [
    ("none", "#1b7f5c"),
    ("gzip", "#c8553d"),
    ("zlib", "#d98a6a"),
    ("snappy", "#3d7dca"),
    ("lz4", "#7aaae0"),
    ("zstd", "#d9a400"),
];

/// The chart of the query's seconds, as SVG.
pub fn chart(report: &Report) -> String {
    let measured = || report.cells.iter().filter_map(|cell| Some((cell, cell.measured()?)));
    let longest = measured().map(|(_, m)| m.query_seconds).fold(f64::MIN_POSITIVE, f64::max);
    let mut encodings: Vec<_> = measured().map(|(cell, _)| cell.encoding).collect();
    encodings.dedup();
    let height = HEAD + BAR * measured().count() as f64 + GAP * encodings.len() as f64;
    let mut svg = Svg::new(WIDTH, height);
    svg.text(12.0, 26.0, 18, "start", &format!("{}: seconds of the query", report.title));
    let about = format!("{} rows, {} workers: {}", grouped(report.rows), report.workers, report.query);
    svg.text(12.0, 48.0, 12, "start", &about);
    let (mut y, mut encoding) = (HEAD, "");
    for (cell, m) in measured() {
        if cell.encoding != encoding {
            y += if encoding.is_empty() { 0.0 } else { GAP };
            encoding = cell.encoding;
            svg.text(12.0, y + BAR - 3.0, 14, "start", encoding);
        }
        let width = ((WIDTH - LEFT - RIGHT) * m.query_seconds / longest).max(1.0);
        let colour = COLOURS.iter().find(|(name, _)| *name == cell.compression).map_or("#888888", |(_, c)| c);
        svg.text(LEFT - 8.0, y + BAR - 3.0, 12, "end", cell.compression);
        svg.bar(LEFT, y, width, BAR - 3.0, colour);
        let figures = format!("{:.3} s, {:.1} MB", m.query_seconds, m.bytes as f64 / 1e6);
        svg.text(LEFT + width + 6.0, y + BAR - 3.0, 12, "start", &figures);
        y += BAR;
    }
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn there_is_a_bar_for_each_pair_that_was_measured() {
        let mut report = report();
        report.query = "SELECT a < b & c".into();
        let svg = chart(&report);
        assert_eq!(svg.matches("<rect x=").count(), 4, "{svg}");
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("0.500 s, 90.0 MB"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
