//! What bounds a scan: the steps on the way from files to batches, each measured with those before it and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use formats::compress::compression;
use formats::format::Part;
use formats::rows::split::blocks_of;
use formats::store::input::Input;
use queries::Plan;
use queries::plan::{Node, Op, Scan};
use schema::{FileEntry, Source, Splitting};

use crate::context::query::QueryState;
use crate::error::Result;
use crate::operators::scan::source::ScanSource;

/// Bytes that are read at once, and decompressed.
const BLOCK_BYTES: u64 = 1 << 20;

/// Seconds that so many threads need for all that a plan's scans read. Each step includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bounds {
    /// To read the files' bytes.
    pub read: f64,
    /// To decompress them as well; `None` if they are not compressed as a whole.
    pub decompress: Option<f64>,
    /// To read, decompress and decode what the plan asks for of them.
    pub decode: f64,
}

/// Measures a plan's scans. `before` is called before each step.
pub fn bounds(plan: &Plan, workers: usize, before: &dyn Fn() -> Result<()>) -> Result<Bounds> {
    let mut scans = Vec::new();
    plan.trees().for_each(|root| collect(root, &mut scans));
    let mut total = Bounds::default();
    for (scan, node) in scans {
        if let Source::Files(set) = &scan.table.source {
            let compression = set.format.compression.as_str();
            before()?;
            total.read += timed(|| each_file(&set.files, workers, &|file| read(file, None)))?;
            if compression != "none" && !formats::registry::format(&set.format.encoding)?.compresses_inside()
            {
                before()?;
                let taken = timed(|| each_file(&set.files, workers, &|file| read(file, Some(compression))))?;
                total.decompress = Some(total.decompress.unwrap_or(0.0) + taken);
            }
        }
        let source = ScanSource::new(scan, node.schema.clone())?;
        let state = Arc::new(QueryState::default());
        before()?;
        total.decode += timed(|| on_threads(workers, &|| source.read_all(&state, &mut |_| Ok(()))))?;
    }
    Ok(total)
}

fn collect<'a>(node: &'a Node, scans: &mut Vec<(&'a Scan, &'a Node)>) {
    if let Op::Scan(scan) = &node.op {
        scans.push((scan, node));
    }
    node.inputs.iter().for_each(|input| collect(input, scans));
}

fn timed(what: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    what()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Does the same on so many threads; the first error counts.
fn on_threads(workers: usize, what: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(what)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Does something with each file, on so many threads.
fn each_file(
    files: &[FileEntry],
    workers: usize,
    what: &(dyn Fn(&FileEntry) -> Result<()> + Sync),
) -> Result<()> {
    let next = AtomicUsize::new(0);
    on_threads(workers, &|| {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            what(file)?;
        }
        Ok(())
    })
}

/// Reads a file block by block, and decompresses it: by the blocks that its manifest lists, if it does.
fn read(file: &FileEntry, compressed: Option<&str>) -> Result<()> {
    let input = Input::open(&file.path)?;
    if let (Some(name), Some(listed), Splitting::Blocks) = (compressed, &file.listed, file.cut) {
        let (compression, mut raw) = (compression(name)?, Vec::new());
        for block in blocks_of(file, &Part::Blocks(0..listed.blocks.len())) {
            let packed = input.read_range(&block.range)?;
            raw.clear();
            raw.reserve(block.raw);
            let expanded = compression.expand(&packed, block.raw, block.range.start == 0, &mut raw);
            expanded.map_err(|e| e.at(&file.path))?;
        }
        return Ok(());
    }
    let mut decompressor = match compressed {
        Some(name) => compression(name)?.decompressor()?,
        None => None,
    };
    let mut raw = Vec::new();
    let mut at = 0;
    loop {
        let block = input.read_range(&(at..at + BLOCK_BYTES))?;
        if block.is_empty() {
            break;
        }
        at += block.len() as u64;
        let Some(decompressor) = &mut decompressor else { continue };
        let mut packed = &block[..];
        loop {
            raw.clear();
            let consumed = decompressor.push(packed, &mut raw, BLOCK_BYTES as usize);
            packed = &packed[consumed.map_err(|e| e.at(&file.path))?..];
            if packed.is_empty() && raw.len() < BLOCK_BYTES as usize {
                break;
            }
        }
    }
    decompressor.map_or(Ok(()), |mut d| d.finish()).map_err(|e| e.at(&file.path))?;
    Ok(())
}
