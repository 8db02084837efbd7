//! `palais convert`: files to files of another format.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use engine::QueryState;
use engine::writing::atomic::Overwrite;
use engine::writing::dataset::partitions::columns::partition_columns;
use engine::writing::dataset::{Destination, WriteOptions, Written};
use formats::compress::compression;
use formats::discover::by_name;
use formats::registry::format;
use formats::store::input::STDIN;
use indicatif::{DecimalBytes, HumanCount};
use schema::{FormatOptions, Source};

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
    let (destination, format) = target_of(c)?;
    if c.verify && is_device(&c.destination) {
        let shown = c.destination.display();
        return Err(Usage(format!("{shown} is no file, and --verify could not read it back")).into());
    }
    let table = Arc::new(tables::open_one(&tables::sources(&c.input)?, &c.source)?);
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
    warn(state.skipped());
    say(report_converted(c, &written, start));
    Ok(())
}

/// The same directory with directories in it that the values of columns name.
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

/// How to write, from flags.
pub fn write_options(format: FormatOptions, write: &args::Write) -> WriteOptions {
    let overwrite = Overwrite::flag(write.overwrite);
    let workers = settings::workers(write.workers);
    WriteOptions { format, workers, overwrite, part_bytes: None, verify: false }
}

/// What was converted, for people.
pub fn report_converted(c: &args::Convert, written: &Written, start: Instant) -> String {
    let what = c.destination.display().to_string();
    report(&if c.verify { format!("{what}, verified") } else { what }, written, start)
}

/// What was written, for people.
pub fn report(what: &str, written: &Written, start: Instant) -> String {
    let (rows, files) = (HumanCount(written.rows), HumanCount(written.files));
    let (bytes, seconds) = (DecimalBytes(written.bytes), start.elapsed().as_secs_f64());
    let plural = if written.files == 1 { "" } else { "s" };
    format!("{what}: {rows} rows, {bytes} in {files} file{plural}, {seconds:.1} s")
}

/// Whether there is something that is neither a file nor a directory, such as a named pipe.
pub fn is_device(path: &Path) -> bool {
    formats::store::roots::metadata(path).is_ok_and(|there| !there.is_dir() && !there.is_file())
}

/// Where and in which format `palais convert` writes.
pub fn target_of(c: &args::Convert) -> anyhow::Result<(Destination, FormatOptions)> {
    let (destination, format) = target(&c.destination, &c.write, !c.no_header)?;
    if c.arrays && !TAGGED.contains(&format.encoding.as_str()) {
        let names = TAGGED.join(" and ");
        return Err(Usage(format!("--arrays is for {names}, and {} is written", format.encoding)).into());
    }
    Ok((destination, FormatOptions { row_arrays: c.arrays, ..format }))
}

/// The encodings whose rows are maps or arrays.
pub const TAGGED: [&str; 2] = ["msgpack", "cbor"];

/// Where and in which format is written, from the name of the destination and the flags, which must not contradict
/// one another: a file whose suffix lies is read wrongly by whoever trusts it.
fn target(path: &Path, write: &args::Write, header: bool) -> anyhow::Result<(Destination, FormatOptions)> {
    let shown = path.display();
    let usage = |text: String| anyhow::Error::from(Usage(text));
    if path == Path::new(STDIN) {
        let text = "convert writes files; palais query \"SELECT * FROM '…'\" --format FORMAT writes to standard output";
        return Err(usage(text.into()));
    }
    let named = by_name(path);
    // A file whatever its name says.
    let there = is_device(path);
    let is_file = there || named.encoding.is_some() || named.compression.is_some();
    let encoding = match (&write.to, named.encoding) {
        (Some(to), Some(named)) if to != named => {
            return Err(usage(format!("the name {shown} says {named}, and --to says {to}")));
        }
        (Some(to), _) => to.as_str(),
        (None, Some(named)) => named,
        (None, None) => {
            let names: Vec<_> = formats::registry::formats().iter().map(|f| f.name()).collect();
            return Err(usage(format!("--to ENCODING is needed; there are {}", names.join(", "))));
        }
    };
    let (inside, usual) = (format(encoding)?.compresses_inside(), format(encoding)?.usual_compression());
    let compression_name = match (&write.compression, named.compression) {
        (Some(asked), Some(named)) if asked != named => {
            return Err(usage(format!("the name {shown} says {named}, and --compression says {asked}")));
        }
        (Some(asked), None) if is_file && !there && !inside && asked != "none" => {
            let suffix = compression(asked)?.extensions().first().copied().unwrap_or_default();
            return Err(usage(format!("a file compressed with {asked} is to be called {shown}.{suffix}")));
        }
        (_, Some(named)) if inside => {
            let suggestion = path.with_extension("");
            let suggestion = suggestion.display();
            return Err(usage(format!(
                "{encoding} is compressed inside: --compression {named} with the name {suggestion}"
            )));
        }
        (Some(asked), _) => asked.as_str(),
        (None, Some(named)) => named,
        (None, None) => usual,
    };
    let destination = match is_file {
        true => Destination::File(path.to_path_buf()),
        false => Destination::Dataset(path.to_path_buf()),
    };
    let defaults = FormatOptions::default();
    let format = FormatOptions {
        encoding: encoding.into(),
        compression: compression_name.into(),
        delimiter: named.delimiter.unwrap_or(defaults.delimiter),
        header,
        ..defaults
    };
    Ok((destination, format))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(path: &str, to: Option<&str>, compression: Option<&str>) -> Result<String, String> {
        let write = args::Write {
            to: to.map(Into::into),
            compression: compression.map(Into::into),
            overwrite: false,
            workers: None,
            no_progress: true,
        };
        let (destination, format) = target(Path::new(path), &write, true).map_err(|e| e.to_string())?;
        let kind = if matches!(destination, Destination::File(_)) { "file" } else { "dataset" };
        Ok(format!("{kind} {} {} {}", format.encoding, format.compression, char::from(format.delimiter)))
    }

    #[test]
    fn names_and_flags_agree_on_the_target() {
        let ok = |path, to, compression| resolved(path, to, compression).unwrap();
        assert_eq!(ok("out", Some("csv"), None), "dataset csv none ,");
        assert_eq!(ok("out", Some("csv"), Some("zstd")), "dataset csv zstd ,");
        assert_eq!(ok("d/x.csv", None, None), "file csv none ,");
        assert_eq!(ok("x.csv.gz", None, None), "file csv gzip ,");
        assert_eq!(ok("x.tsv", Some("csv"), None), "file csv none \t");
        assert_eq!(ok("x.gz", Some("csv"), None), "file csv gzip ,");
        assert_eq!(ok("x.parquet", None, Some("zstd")), "file parquet zstd ,");
        let wrong = |path, to, compression| resolved(path, to, compression).unwrap_err();
        assert!(wrong("x.csv", Some("parquet"), None).contains("says csv, and --to says parquet"));
        assert!(wrong("out", None, None).contains("--to ENCODING is needed"));
        assert!(wrong("out", Some("xml"), None).contains("no encoding 'xml'"));
        assert!(wrong("x.csv.gz", None, Some("zstd")).contains("says gzip"));
        assert!(wrong("x.csv", None, Some("gzip")).contains("x.csv.gz"));
        assert!(wrong("x.parquet.gz", None, None).contains("compressed inside"));
    }
}
