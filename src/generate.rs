//! `palais generate`: writes the tables of the benchmark into files.

use std::sync::Arc;
use std::time::Instant;

use cluster::making::{GeneratedTable, Generation, Made};
use engine::QueryState;
use schema::FormatOptions;
use schema::bdb::{Kind, Sizes, Spec};

use crate::Usage;
use crate::args;
use crate::convert::{report, write_options};
use crate::progress::Progress;
use crate::say::say;
use crate::signals;

/// About how many bytes of text a part file has, if the user gives no number of parts.
const PART_BYTES: u64 = 256_000_000;

/// `palais generate`.
pub fn run(g: &args::Generate) -> anyhow::Result<()> {
    let Generation { tables, format, .. } = generation(g)?;
    let options = write_options(format, &g.write);
    for GeneratedTable { spec, parts, bytes } in tables {
        let start = Instant::now();
        let state = Arc::new(QueryState::default());
        signals::cancel_on_interrupt(&state);
        let progress = Progress::of_bytes(bytes, &state, g.write.no_progress);
        let directory = g.directory.join(spec.table.name());
        let written = engine::writing::generate::generate(&spec, parts, &directory, &options, &state)?;
        drop(progress);
        say(report(&Made { what: spec.table.name(), written, took: start.elapsed() }));
    }
    Ok(())
}

/// The tables that flags ask for.
pub fn generation(g: &args::Generate) -> anyhow::Result<Generation> {
    let (directory, overwrite) = (g.directory.clone(), g.write.overwrite);
    Ok(Generation { directory, tables: tables(g)?, format: format(&g.write), overwrite })
}

fn tables(g: &args::Generate) -> anyhow::Result<Vec<GeneratedTable>> {
    let sizes = match &g.set {
        Some(name) => Sizes::of_set(name),
        None => g.rankings.map(|rankings| Sizes {
            rankings,
            uservisits: g.uservisits.unwrap_or(0),
            documents_bytes: g.documents.unwrap_or(0),
        }),
    };
    let sizes = sizes.ok_or_else(|| {
        let sets = Sizes::SETS.join(", ");
        Usage(format!("--set SET (one of {sets}) or --rankings N is needed"))
    })?;
    let specs = Kind::ALL.map(|table| sizes.table(table, g.seed));
    let specs = specs.into_iter().filter(|spec| spec.units() > 0 || g.set.is_some());
    let wanted = |spec: Spec| {
        let bytes = spec.units().saturating_mul(spec.unit_bytes());
        let parts = g.parts.map_or((bytes / PART_BYTES).clamp(1, 100_000) as usize, |parts| parts as usize);
        GeneratedTable { spec, parts, bytes }
    };
    Ok(specs.map(wanted).collect())
}

/// The format of the files. Rows of MessagePack and CBOR are arrays: the manifest beside them has the names of columns,
/// and the benchmark measures values.
fn format(write: &args::Write) -> FormatOptions {
    let encoding = write.to.as_deref().unwrap_or("csv");
    let usual = formats::registry::format(encoding).map_or("none", |format| format.usual_compression());
    FormatOptions {
        encoding: encoding.into(),
        compression: write.compression.as_deref().unwrap_or(usual).into(),
        row_arrays: true,
        ..FormatOptions::default()
    }
}
