//! `--stats`: the figures of a run as JSON.

use std::path::Path;

use session::Statistics;

/// Writes the figures to a file.
pub fn write(statistics: &Statistics, path: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(statistics)?;
    std::fs::write(path, text + "\n").map_err(|e| formats::Error::io(path, "write", e))?;
    Ok(())
}
