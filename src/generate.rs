//! `palais generate`: the benchmark's tables to files.

use std::sync::Arc;
use std::time::Instant;

use engine::QueryState;
use schema::FormatOptions;
use schema::bdb::{Kind, Sizes};

use crate::Usage;
use crate::args;
use crate::convert::{report, write_options};
use crate::progress::Progress;
use crate::signals;

/// A part file has about this many bytes of text where nobody says how many parts there are.
const PART_BYTES: u64 = 256_000_000;

/// `palais generate`.
pub fn run(g: &args::Generate) -> anyhow::Result<()> {
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
    let format = FormatOptions {
        encoding: g.write.to.clone().unwrap_or_else(|| "csv".into()),
        compression: g.write.compression.clone().unwrap_or_else(|| "none".into()),
        ..FormatOptions::default()
    };
    let options = write_options(format, &g.write);
    for table in Kind::ALL {
        let spec = sizes.table(table, g.seed);
        if spec.units() == 0 && g.set.is_none() {
            continue;
        }
        let start = Instant::now();
        let total = spec.units().saturating_mul(spec.unit_bytes());
        let parts = g.parts.map_or((total / PART_BYTES).clamp(1, 100_000) as usize, |parts| parts as usize);
        let state = Arc::new(QueryState::default());
        signals::cancel_on_interrupt(&state);
        let progress = Progress::of_bytes(total, &state, g.write.no_progress);
        let directory = g.directory.join(table.name());
        let written = engine::generate::generate(&spec, parts, &directory, &options, &state)?;
        drop(progress);
        report(table.name(), &written, start);
    }
    Ok(())
}
