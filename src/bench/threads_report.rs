//! The figures of `palais bench threads`: tables for people with what they advise, CSV and JSON for programs, a chart.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use session::writers::table::grouped;

use super::grid;
use super::threads::{Figure, Set};
use crate::svg::Svg;

/// A setting is as good as the quickest one if it takes at most this many times as long.
const AS_GOOD: f64 = 1.05;

/// What `palais bench threads` has measured.
#[derive(Serialize)]
pub struct Report {
    /// A description of the table.
    pub title: String,
    /// The query.
    pub query: String,
    /// The cores of the machine or its control group.
    pub cores: usize,
    /// The number of runs whose median was taken.
    pub rounds: u32,
    /// The files that were measured.
    pub sets: Vec<Set>,
}

impl Set {
    /// A description of the set for people.
    fn name(&self, cold: bool) -> String {
        let kind = if self.small { "small" } else { "large" };
        let from = if cold { "from the disk" } else { "from memory" };
        let (files, bytes) = (grouped(self.files), self.bytes as f64 / 1e6);
        let plural = if self.files == 1 { "" } else { "s" };
        format!("{files} {kind} file{plural}, {} {}, {bytes:.1} MB, {from}", self.encoding, self.compression)
    }

    /// The kinds of figures that there are: from memory (`false`) and from the disk (`true`).
    fn kinds(&self) -> impl Iterator<Item = bool> {
        [false, true].into_iter().filter(|&cold| self.of(cold).next().is_some())
    }

    fn of(&self, cold: bool) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| figure.cold == cold)
    }

    fn quickest(&self, cold: bool) -> Option<&Figure> {
        self.of(cold).min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// The advised setting. Of the settings that are as good as the quickest one, it has the fewest workers, and then
    /// the fewest parts read ahead.
    fn advised(&self, cold: bool) -> Option<&Figure> {
        let least = self.quickest(cold)?.seconds;
        let good = self.of(cold).filter(|figure| figure.seconds <= least * AS_GOOD);
        good.min_by_key(|figure| (figure.workers, figure.read_ahead))
    }

    /// How many times as long as the quickest setting this one takes.
    fn times(&self, cold: bool, workers: u16, read_ahead: u16) -> Option<f64> {
        let is_it = |f: &&Figure| (f.workers, f.read_ahead) == (workers, read_ahead);
        Some(self.of(cold).find(is_it)?.seconds / self.quickest(cold)?.seconds)
    }
}

/// The advice for a set in a line.
pub fn line(set: &Set) -> String {
    let of = |cold: bool| {
        let (best, advised) = (set.quickest(cold)?, set.advised(cold)?);
        let setting = |f: &Figure| format!("--workers {} --read-ahead {}", f.workers, f.read_ahead);
        let quickest = format!("quickest {:.4} s with {}", best.seconds, setting(best));
        let name = set.name(cold);
        Some(match best == advised {
            true => format!("{name}: {quickest}"),
            false => format!("{name}: {quickest}; {} takes {:.4} s", setting(advised), advised.seconds),
        })
    };
    set.kinds().filter_map(of).collect::<Vec<_>>().join("\n")
}

impl Report {
    /// The tables and the advice.
    pub fn text(&self) -> String {
        let mut out =
            format!("{}, {} cores, median of {} runs\n{}\n", self.title, self.cores, self.rounds, self.query);
        for (set, cold) in self.panels() {
            let mut lines = vec![vec![String::from("workers \\ read ahead")]];
            for figure in set.of(cold) {
                let (workers, read_ahead) = (figure.workers.to_string(), figure.read_ahead.to_string());
                if lines.last().is_none_or(|line| line[0] != workers) {
                    lines.push(vec![workers]);
                }
                if lines.len() == 2 {
                    lines[0].push(read_ahead);
                }
                if let Some(line) = lines.last_mut() {
                    line.push(format!("{:.4}", figure.seconds));
                }
            }
            grid(&mut out, &format!("seconds, {}", set.name(cold)), &lines);
        }
        let _ = writeln!(
            out,
            "\nAdvice: the quickest, and what is within {:.0} % of it",
            100.0 * (AS_GOOD - 1.0)
        );
        for set in &self.sets {
            let _ = writeln!(out, "  {}", line(set).replace('\n', "\n  "));
        }
        if let Some((workers, read_ahead, most)) = self.overall() {
            let _ = writeln!(
                out,
                "  For all of these: --workers {workers} --read-ahead {read_ahead}, nowhere more than {most:.2} times \
                 the quickest"
            );
        }
        out
    }

    fn panels(&self) -> impl Iterator<Item = (&Set, bool)> {
        self.sets.iter().flat_map(|set| set.kinds().map(move |cold| (set, cold)))
    }

    /// The setting that is nowhere far from the quickest one: its greatest ratio to the quickest setting of a set is
    /// the least. Gives that ratio too.
    fn overall(&self) -> Option<(u16, u16, f64)> {
        let settings = self.sets.first()?.of(false).map(|f| (f.workers, f.read_ahead));
        let most = |(workers, read_ahead): (u16, u16)| {
            let times = self.panels().map(|(set, cold)| set.times(cold, workers, read_ahead));
            (workers, read_ahead, times.map(|t| t.unwrap_or(f64::INFINITY)).fold(0.0, f64::max))
        };
        settings.map(most).min_by(|a, b| a.2.total_cmp(&b.2))
    }

    /// The figures as CSV, a line for each setting of each set.
    fn csv(&self) -> String {
        let mut out = String::from(
            "small,encoding,compression,files,bytes,cold,workers,read_ahead,seconds,bytes_per_second\n",
        );
        for (set, figure) in self.sets.iter().flat_map(|set| set.figures.iter().map(move |f| (set, f))) {
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{:.6},{:.0}",
                set.small,
                set.encoding,
                set.compression,
                set.files,
                set.bytes,
                figure.cold,
                figure.workers,
                figure.read_ahead,
                figure.seconds,
                set.bytes as f64 / figure.seconds,
            );
        }
        out
    }

    /// Writes `threads.csv`, `threads.json` and `threads.svg`.
    pub fn write(&self, directory: &Path) -> anyhow::Result<()> {
        super::write_figures(directory, "threads", self, &self.csv(), &self.chart())
    }

    /// The figures as a chart. It has a panel for each set: seconds by the number of workers, a line for each number of
    /// parts read ahead.
    fn chart(&self) -> String {
        const COLUMNS: usize = 2;
        const WIDTH: f64 = 460.0;
        const HEIGHT: f64 = 250.0;
        const HEAD: f64 = 90.0;
        let rows = self.panels().count().div_ceil(COLUMNS);
        let mut svg = Svg::new(WIDTH * COLUMNS as f64, HEAD + HEIGHT * rows as f64);
        let title = format!("{}: seconds by the number of workers, {} cores", self.title, self.cores);
        svg.text(12.0, 26.0, 18, "start", &title);
        svg.text(12.0, 46.0, 12, "start", &self.query);
        let mut x = 12.0;
        for (number, read_ahead) in self.read_ahead().into_iter().enumerate() {
            svg.bar(x, 60.0, 12.0, 12.0, colour(number));
            svg.text(x + 18.0, 71.0, 12, "start", &format!("{read_ahead} read ahead"));
            x += 120.0;
        }
        for (number, (set, cold)) in self.panels().enumerate() {
            let left = WIDTH * (number % COLUMNS) as f64;
            let top = HEAD + HEIGHT * (number / COLUMNS) as f64;
            self.panel(&mut svg, set, cold, (left + 60.0, top + 24.0), (WIDTH - 84.0, HEIGHT - 70.0));
        }
        svg.finish()
    }

    fn panel(&self, svg: &mut Svg, set: &Set, cold: bool, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let longest = set.of(cold).map(|f| f.seconds).fold(f64::MIN_POSITIVE, f64::max);
        let most = set.of(cold).map(|f| f.workers).max().unwrap_or(1);
        let place = |f: &Figure| {
            let across = f64::from(f.workers) / f64::from(most);
            (x + width * across, y + height * (1.0 - f.seconds / longest))
        };
        svg.text(x, y - 8.0, 12, "start", &set.name(cold));
        svg.line(&[(x, y), (x, y + height), (x + width, y + height)], "#888888", 1.0);
        for share in [0.5, 1.0] {
            let at = y + height * (1.0 - share);
            svg.line(&[(x, at), (x + width, at)], "#dddddd", 0.7);
            svg.text(x - 6.0, at + 4.0, 11, "end", &format!("{:.3} s", longest * share));
        }
        let mut shown = Vec::new();
        for figure in set.of(cold).filter(|f| !shown.contains(&f.workers)).copied().collect::<Vec<_>>() {
            if !shown.contains(&figure.workers) {
                shown.push(figure.workers);
                svg.text(place(&figure).0, y + height + 16.0, 11, "middle", &figure.workers.to_string());
            }
        }
        svg.text(x + width / 2.0, y + height + 32.0, 11, "middle", "workers");
        for (number, read_ahead) in self.read_ahead().into_iter().enumerate() {
            let points = set.of(cold).filter(|f| f.read_ahead == read_ahead).map(place);
            svg.line(&points.collect::<Vec<_>>(), colour(number), 2.0);
        }
    }

    /// The numbers of parts read ahead.
    fn read_ahead(&self) -> Vec<u16> {
        let mut all: Vec<u16> =
            self.sets.iter().flat_map(|set| set.figures.iter().map(|f| f.read_ahead)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn colour(number: usize) -> &'static str {
    const COLOURS: [&str; 6] = ["#888888", "#7aaae0", "#3d7dca", "#1b7f5c", "#d9a400", "#c8553d"];
    COLOURS[number % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(small: bool, seconds: impl Fn(bool, u16, u16) -> f64) -> Set {
        let mut figures = Vec::new();
        for cold in [false, true] {
            for workers in [1, 2, 4] {
                for read_ahead in [0, 16] {
                    let seconds = seconds(cold, workers, read_ahead);
                    figures.push(Figure { cold, workers, read_ahead, seconds });
                }
            }
        }
        Set {
            small,
            encoding: "csv".into(),
            compression: "none".into(),
            files: 500,
            bytes: 5_000_000,
            figures,
        }
    }

    fn report() -> Report {
        let large = |_, workers: u16, _| 1.0 / f64::from(workers.min(2));
        let small = |cold, workers: u16, read_ahead: u16| {
            let wait = if cold && read_ahead == 0 { 0.5 } else { 0.0 };
            0.1 + wait + 0.001 / f64::from(workers)
        };
        let sets = vec![set(true, small), set(false, large)];
        Report { title: "made".into(), query: "SELECT 1 < 2".into(), cores: 2, rounds: 3, sets }
    }

    #[test]
    fn the_advice_is_the_least_that_is_as_good_as_the_quickest() {
        let report = report();
        let small = report.sets[0].advised(false).unwrap();
        assert_eq!((small.workers, small.read_ahead), (1, 0));
        let cold = report.sets[0].advised(true).unwrap();
        assert_eq!((cold.workers, cold.read_ahead), (1, 16));
        let large = report.sets[1].advised(true).unwrap();
        assert_eq!((large.workers, large.read_ahead), (2, 0));
        let (workers, read_ahead, most) = report.overall().unwrap();
        assert!((workers, read_ahead) == (4, 16) && most < 1.01, "{workers} {read_ahead} {most}");
    }

    #[test]
    fn tables_and_lines_have_every_setting() {
        let text = report().text();
        assert!(text.contains("seconds, 500 small files, csv none, 5.0 MB, from the disk\n"), "{text}");
        assert!(text.contains("\n  2                     0.5000  0.5000\n"), "{text}");
        assert!(text.contains("For all of these: --workers 4 --read-ahead 16"), "{text}");
        let csv = report().csv();
        assert_eq!(csv.lines().count(), 1 + 2 * 2 * 3 * 2);
        assert!(csv.lines().all(|line| line.matches(',').count() == 9), "{csv}");
        assert!(csv.contains("true,csv,none,500,5000000,true,4,0,0.600250,8329863\n"), "{csv}");
    }

    #[test]
    fn the_chart_has_a_panel_for_each_set_and_a_line_for_each_number() {
        let svg = report().chart();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 4 * 2, "{svg}");
        assert!(svg.contains("SELECT 1 &lt; 2") && svg.contains("large files, csv none"), "{svg}");
    }
}
