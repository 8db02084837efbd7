//! A split range: the morsels that one of several processes reads where rows keep their order (`palais cluster convert`).
//!
//! The table is divided by the bytes of its files: between two files where that is about right, otherwise between two
//! morsels of one file. In csv a quote may be open where a morsel begins. So each process first looks at its morsels of a
//! divided csv file, and tells the processes behind it what these morsels do to quotes.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use formats::format::{Format, Found, Morsel};
use formats::reader::Driver;
use formats::threads;
use schema::FileEntry;
use serde::{Deserialize, Serialize};

use super::source::ScanSource;
use crate::context::memory::Account;
use crate::context::panics;
use crate::context::stack;
use crate::error::{Error, Result};

/// No file is divided where a range gets at most one in so many parts larger or smaller by that.
const SLACK: u64 = 8;

/// Where a split range begins or ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SplitPosition {
    /// The number of the file.
    pub file: usize,
    /// The number of the morsel in the file.
    pub morsel: usize,
}

/// The morsels between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitRange {
    /// The first morsel.
    pub from: SplitPosition,
    /// The morsel behind the last one.
    pub to: SplitPosition,
}

/// What a morsel of a csv file does to quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotes {
    /// The number of the file.
    pub file: usize,
    /// The number of the morsel.
    pub morsel: u32,
    /// As [`Found::Quotes`] has it.
    pub states: [u8; 5],
}

impl SplitRange {
    /// The files that have a morsel in the range.
    pub fn files(&self) -> Range<usize> {
        match self.from < self.to {
            true => self.from.file..self.to.file + usize::from(self.to.morsel > 0),
            false => self.from.file..self.from.file,
        }
    }

    /// The morsels of a file that are in the range, by their numbers; the file has `count`.
    fn morsels(&self, file: usize, count: usize) -> Range<usize> {
        let at = |place: SplitPosition, otherwise| {
            if place.file == file { place.morsel.min(count) } else { otherwise }
        };
        match self.files().contains(&file) {
            true => at(self.from, 0)..at(self.to, count),
            false => 0..0,
        }
    }

    /// The morsels of a file that are in the range. `before` are known states of quotes, which their readers get.
    pub fn keep(
        &self,
        format: &dyn Format,
        file: usize,
        mut morsels: Vec<Morsel>,
        before: &[Quotes],
    ) -> Vec<Morsel> {
        if let Some(borders) = morsels.first().and_then(|first| format.borders(first)) {
            for &Quotes { morsel, states, .. } in before.iter().filter(|quotes| quotes.file == file) {
                borders.hear(Found::Quotes { morsel, states });
            }
        }
        let Range { start, end } = self.morsels(file, morsels.len());
        morsels.truncate(end);
        morsels.split_off(start.min(end))
    }

    /// The states of quotes that the reader of the first morsel needs, out of `told`, those of all processes.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn before(&self, source: &ScanSource, told: &[Quotes]) -> Result<Vec<Quotes>> {
        let SplitPosition { file, morsel } = self.from;
        let is_before = |quotes: &&Quotes| quotes.file == file && (quotes.morsel as usize) < morsel;
        let before: Vec<Quotes> = told.iter().filter(is_before).copied().collect();
        // A reader would wait for what is missing for ever.
        if morsel > 0 && source.has_borders(file) && before.len() != morsel {
            let what =
                "processes of this group have not told all that they found in the file before this part";
            return Err(Error::Processes(format!("{what}\n  help: please report this")));
        }
        Ok(before)
    }

    /// What the morsels of the last file do to quotes, if the file goes on in the range of another process.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn look(&self, source: &ScanSource, workers: usize) -> Result<Vec<Quotes>> {
        let file = self.to.file;
        if self.to.morsel == 0 || !self.files().contains(&file) || !source.has_borders(file) {
            return Ok(Vec::new());
        }
        let morsels = source.morsels(file)?;
        let found: Arc<Mutex<Vec<Quotes>>> = Arc::default();
        if let Some(format) = source.format()
            && let Some(borders) = morsels.first().and_then(|first| format.borders(first))
        {
            let found = found.clone();
            borders.tell(Box::new(move |what| {
                if let Found::Quotes { morsel, states } = what {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push(Quotes { file, morsel, states });
                }
            }));
        }
        let mine = &morsels[self.morsels(file, morsels.len())];
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let account = Account::entered();
        let serve = || {
            let _entered = account.as_ref().map(Account::enter);
            while let Some(morsel) = mine.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(e) = panics::catch(|| look_at(source, morsel)) {
                    next.store(mine.len(), Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                }
            }
        };
        let others = workers.min(mine.len()).saturating_sub(1);
        threads::side_by_side("palais-look", stack::WORKER, others, serve);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(e) => Err(e),
            None => Ok(found.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }
}

/// Drives the reader of a morsel until it has looked at the quotes, which it does first.
fn look_at(source: &ScanSource, morsel: &Morsel) -> Result<()> {
    let (Some(format), Some(options)) = (source.format(), source.options(&morsel.file)) else {
        return Ok(());
    };
    let file = &morsel.file;
    let reader = format.reader(morsel, options).map_err(|e| e.at(&file.path))?;
    // The rows that it may come to are read again, and counted then.
    Driver::open(morsel, reader)?.step()?;
    Ok(())
}

/// Divides the files of a table among processes. Gives the position where each range begins, and the end of the last one.
/// The last process gets what is no file.
///
/// # Errors
/// A file that can't be read.
pub fn divide(source: &ScanSource, files: &[FileEntry], processes: usize) -> Result<Vec<SplitPosition>> {
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    let slack = total / processes.max(1) as u64 / SLACK;
    let mut places = vec![SplitPosition { file: 0, morsel: 0 }];
    let (mut file, mut before) = (0, 0);
    for process in 1..processes {
        let at = (u128::from(total) * process as u128 / processes as u128) as u64;
        while let Some(whole) = files.get(file).filter(|whole| before + whole.bytes <= at) {
            (file, before) = (file + 1, before + whole.bytes);
        }
        places.push(match files.get(file) {
            Some(divided) => place_in(source, file, divided.bytes, at - before, slack)?,
            None => SplitPosition { file, morsel: 0 },
        });
    }
    places.push(SplitPosition { file: files.len().max(1), morsel: 0 });
    Ok(places)
}

/// The position nearest to a byte of a file at which the file can be divided.
fn place_in(source: &ScanSource, file: usize, bytes: u64, at: u64, slack: u64) -> Result<SplitPosition> {
    let (begin, end) = (SplitPosition { file, morsel: 0 }, SplitPosition { file: file + 1, morsel: 0 });
    if at.min(bytes - at) <= slack {
        return Ok(if at <= bytes - at { begin } else { end });
    }
    let morsels = source.morsels(file)?;
    let mut nearest = (at, begin);
    let mut reached = 0;
    for (number, morsel) in morsels.iter().enumerate() {
        reached += morsel.bytes;
        let place =
            if number + 1 == morsels.len() { end } else { SplitPosition { file, morsel: number + 1 } };
        if reached.abs_diff(at) < nearest.0 {
            nearest = (reached.abs_diff(at), place);
        }
    }
    Ok(nearest.1)
}

/// The split range of a process, and the number of its first part file. Each file, and each piece of a divided file, is a
/// part. `None` if there is no such process.
pub fn of_process(places: &[SplitPosition], process: usize) -> Option<(SplitRange, usize)> {
    let (from, to) = (*places.get(process)?, *places.get(process + 1)?);
    let mut inside: Vec<&SplitPosition> =
        places[..=process].iter().filter(|place| place.morsel > 0).collect();
    inside.dedup();
    Some((SplitRange { from, to }, from.file + inside.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: usize, morsel: usize) -> SplitPosition {
        SplitPosition { file, morsel }
    }

    #[test]
    fn parts_are_numbered_in_the_order_of_ranges() {
        let places =
            [place(0, 0), place(0, 3), place(0, 3), place(0, 5), place(2, 0), place(2, 7), place(3, 0)];
        let mut next = 0;
        for process in 0..places.len() - 1 {
            let (range, first) = of_process(&places, process).unwrap();
            let files = range.files();
            assert!(files.is_empty() || first == next, "{process}: {first}, not {next}");
            next += files.len();
        }
        // Three pieces of file 0, all of file 1, two pieces of file 2.
        assert_eq!((next, of_process(&places, places.len() - 1)), (6, None));
    }

    #[test]
    fn a_stretch_has_the_morsels_between_its_places() {
        let range = SplitRange { from: place(1, 4), to: place(3, 2) };
        let morsels: Vec<_> = (0..5).map(|file| range.morsels(file, 9)).collect();
        assert_eq!(morsels, [0..0, 4..9, 0..9, 0..2, 0..0]);
        let inside = SplitRange { from: place(1, 4), to: place(1, 6) };
        assert_eq!((inside.files(), inside.morsels(1, 9)), (1..2, 4..6));
        let empty = SplitRange { from: place(1, 4), to: place(1, 4) };
        assert!(empty.files().is_empty() && empty.morsels(1, 9).is_empty());
    }
}
