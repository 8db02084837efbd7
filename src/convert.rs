//! `palais convert`: writes files into files of another format.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cluster::making::{Made, converted};
use engine::QueryState;
use engine::writing::dataset::partitions::columns::partition_columns;
use engine::writing::dataset::{Destination, WriteOptions};
use formats::rejects::number_lines;
use formats::store::atomic::Overwrite;
use indicatif::{DecimalBytes, HumanCount};
use schema::{FormatOptions, Source};
use session::Conversion;
use session::conversion::is_device;
use session::writers::ResultWriter;

use crate::Usage;
use crate::args;
use crate::progress::Progress;
use crate::query::warn;
use crate::say::say;
use crate::settings;
use crate::signals;
use crate::tables;

/// `palais convert`.
pub fn run(c: &args::Convert) -> anyhow::Result<()> {
    let start = Instant::now();
    engine::context::memory::set_limit(engine::context::memory::default_limit());
    let conversion = conversion(c)?;
    let (destination, format) = conversion.target()?;
    if c.verify && is_device(&c.destination) {
        let shown = c.destination.display();
        return Err(Usage(format!("{shown} is no file, and --verify could not read it back")).into());
    }
    let rejects = c.rejects.as_deref().map(|path| rejects_file(path, c.write.overwrite)).transpose()?;
    let table = Arc::new(conversion.open()?);
    let total = match &table.source {
        Source::Files(set) => set.bytes(),
        _ => 0,
    };
    let destination = match &c.partition_by {
        Some(names) => partitioned(destination, partition_columns(&table.schema, names)?)?,
        None => destination,
    };
    let options = WriteOptions { verify: c.verify, ..write_options(format, &c.write) };
    let state = Arc::new(QueryState::default());
    signals::cancel_on_interrupt(&state);
    let progress = Progress::of_bytes(total, &state, c.write.no_progress);
    let written = engine::writing::convert::convert(&table, &destination, &options, &state)?;
    drop(progress);
    let mut skipped = state.skipped();
    if let Some(mut file) = rejects {
        number_lines(&mut skipped.rejects, &table);
        session::rejects::write(file.as_mut(), skipped.rejects.kept())?;
    }
    warn(skipped);
    say(report(&Made { what: &converted(&conversion), written, took: start.elapsed() }));
    Ok(())
}

/// Begins the file of what is passed over.
fn rejects_file(path: &Path, overwrite: bool) -> anyhow::Result<Box<dyn ResultWriter>> {
    Ok(session::rejects::target(path, Overwrite::flag(overwrite))?.writer(None)?)
}

/// The destination with directories in it that the values of columns name.
fn partitioned(destination: Destination, by: Vec<usize>) -> Result<Destination, Usage> {
    match destination {
        Destination::Dataset(path) | Destination::Partitions(path, _) => {
            Ok(Destination::Partitions(path, by))
        }
        Destination::File(path) => {
            let help = "name a directory, and the encoding with --to";
            let text = format!("--partition-by writes a directory, and {} is one file", path.display());
            Err(Usage(format!("{text}\n  help: {help}")))
        }
    }
}

/// The options of writing, from flags.
pub fn write_options(format: FormatOptions, write: &args::Write) -> WriteOptions {
    let overwrite = Overwrite::flag(write.overwrite);
    let workers = settings::workers(write.workers);
    WriteOptions { format, workers, overwrite, part_bytes: None, verify: false }
}

/// The conversion that flags ask for. Looks at no file.
pub fn conversion(c: &args::Convert) -> anyhow::Result<Conversion> {
    let mut sources = tables::sources(&c.input)?;
    sources.open.rejects = c.rejects.as_ref().map(|_| Box::default());
    Ok(Conversion {
        source: c.source.clone(),
        sources,
        destination: c.destination.clone(),
        to: c.write.to.clone(),
        compression: c.write.compression.clone(),
        overwrite: c.write.overwrite,
        header: !c.no_header,
        arrays: c.arrays,
        verify: c.verify,
    })
}

/// A line for people about files that were made.
pub fn report(made: &Made<'_>) -> String {
    let Made { what, written, took } = made;
    let (rows, files) = (HumanCount(written.rows), HumanCount(written.files));
    let (bytes, seconds) = (DecimalBytes(written.bytes), took.as_secs_f64());
    let plural = if written.files == 1 { "" } else { "s" };
    format!("{what}: {rows} rows, {bytes} in {files} file{plural}, {seconds:.1} s")
}
