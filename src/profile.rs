//! `--profile`: shows where the processor time of a run goes, as a flame graph. Without the flag there is no timer, and
//! nothing is different.
//!
//! - [`sampler`]: takes samples of the stacks of threads by a timer.
//! - [`flame`]: draws the flame graph.

mod flame;
mod sampler;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use formats::store::atomic::{AtomicWrite, Overwrite};

use flame::Flame;
use sampler::{INTERVAL, Sampler};

/// A profile that is being taken.
pub struct Profile {
    aside: AtomicWrite,
    file: File,
    sampler: Sampler,
}

impl Profile {
    /// Begins a profile. Opens the file first, so that the user knows at once if it can't be written.
    pub fn start(path: &Path, overwrite: bool) -> anyhow::Result<Profile> {
        let (aside, file) = AtomicWrite::file(path, Overwrite::flag(overwrite))?;
        let sampler = Sampler::start().context("--profile: no samples can be taken")?;
        Ok(Profile { aside, file, sampler })
    }

    /// Ends the profile, and writes its drawing; `what` is its title.
    pub fn finish(self, what: &str) -> anyhow::Result<()> {
        let Profile { aside, mut file, sampler } = self;
        let (samples, lost) = sampler.finish().context("--profile: the timer can't be stopped")?;
        let mut flame = Flame::default();
        for sample in &samples {
            flame.add(std::iter::once(&sample.thread).chain(&sample.functions));
        }
        let mut about = format!(
            "{} samples, at most one each {} ms of processor time",
            flame.samples(),
            INTERVAL.as_millis()
        );
        if lost > 0 {
            about += &format!("; there was no room for the {lost} behind them");
        }
        let written = file.write_all(flame.draw(what, &about).as_bytes());
        written.map_err(|e| formats::Error::io(aside.destination(), "write", e))?;
        Ok(aside.commit()?)
    }
}
