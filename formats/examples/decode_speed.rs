//! How fast a column format is written and read: `decode_speed FORMAT COMPRESSION [ROWS | FILE.parquet]`.
//!
//! Writes a table like the benchmark's `uservisits`, or what lies in a Parquet file, to a temporary file. Then it reads
//! its first and fourth column (`sourceIP` and `adRevenue`) and all columns, on one thread from the page cache, five
//! times each. A given file is read and written by the `parquet` crate as well, as that does it by default. Rates are
//! by the thread's time on a core, system calls included, so that other work on the machine shows little.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Date32Array, Float32Array, Int32Array, RecordBatch, StringViewArray};
use arrow_schema::SchemaRef;
use formats::columns::types::read_schema;
use formats::format::{Format, ScanOptions};
use formats::reader::Driver;
use formats::registry::format;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use schema::{FileEntry, FormatOptions};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn letters(&mut self, from: u64, to: u64) -> String {
        let length = from + self.below(to - from + 1);
        (0..length).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}

fn visits(numbers: &mut Numbers, agents: &[String], words: &[String], rows: usize) -> RecordBatch {
    let mut url = String::new();
    let strings = |of: &mut dyn FnMut(usize) -> String| {
        Arc::new((0..rows).map(|i| Some(of(i))).collect::<StringViewArray>()) as _
    };
    let ip = strings(&mut |_| {
        let part = |n: &mut Numbers, from, to| from + n.below(to - from + 1);
        let (a, b) = (part(numbers, 1, 254), part(numbers, 0, 254));
        format!("{a}.{b}.{}.{}", part(numbers, 0, 254), part(numbers, 1, 254))
    });
    let urls = strings(&mut |_| {
        if url.is_empty() || numbers.below(86) < 10 {
            url = numbers.letters(10, 100);
        }
        url.clone()
    });
    let agent = strings(&mut |_| match numbers.below(100) {
        0..24 => format!("{}/{}.{}", numbers.letters(5, 24), numbers.below(10), numbers.below(10)),
        _ => agents[numbers.below(agents.len() as u64) as usize].clone(),
    });
    let country = strings(&mut |_| agents[numbers.below(150) as usize][..3].to_string());
    let language = strings(&mut |_| agents[numbers.below(150) as usize][..6].to_string());
    let word = strings(&mut |_| words[numbers.below(words.len() as u64) as usize].clone());
    let date = (0..rows).map(|_| Some(numbers.below(15_460) as i32)).collect::<Date32Array>();
    let revenue = (0..rows).map(|_| Some(numbers.below(1 << 24) as f32 / (1 << 24) as f32));
    let revenue = revenue.collect::<Float32Array>();
    let duration = (0..rows).map(|_| Some(1 + numbers.below(10) as i32)).collect::<Int32Array>();
    RecordBatch::try_from_iter([
        ("sourceIP", ip),
        ("destURL", urls),
        ("visitDate", Arc::new(date) as _),
        ("adRevenue", Arc::new(revenue) as _),
        ("userAgent", agent),
        ("countryCode", country),
        ("languageCode", language),
        ("searchWord", word),
        ("duration", Arc::new(duration) as _),
    ])
    .expect("the columns have one length")
}

/// The seconds that this thread has been on a core.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e9)
}

/// A made table, in batches of as many rows as a row group has.
fn made(rows: usize, group: usize) -> Vec<RecordBatch> {
    let mut numbers = Numbers(88_172_645_463_325_252);
    let agents: Vec<String> = (0..2000).map(|_| numbers.letters(10, 60)).collect();
    let words: Vec<String> = (0..1000).map(|_| numbers.letters(4, 12)).collect();
    let starts = (0..rows).step_by(group);
    starts.map(|start| visits(&mut numbers, &agents, &words, group.min(rows - start))).collect()
}

/// The rows of a Parquet file, and how fast the `parquet` crate reads and writes them.
fn given(path: &str) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let mut batches = Vec::new();
    for _ in 0..5 {
        let start = cpu_seconds()?;
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.with_batch_size(8192).build()?;
        batches = reader.collect::<Result<Vec<RecordBatch>, _>>()?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        println!("arrow-rs reads {path}: {:.1} M rows/s", rows as f64 / (cpu_seconds()? - start) / 1e6);
    }
    let start = cpu_seconds()?;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties))?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    let bytes = writer.into_inner()?.len();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let rate = rows as f64 / (cpu_seconds()? - start) / 1e6;
    println!("arrow-rs writes Parquet with zstd: {bytes} bytes, {rate:.2} M rows/s");
    Ok(batches)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (name, compression) = (arguments[1].as_str(), arguments[2].as_str());
    let format = format(name)?;
    let options = FormatOptions { compression: compression.into(), ..FormatOptions::default() };
    let path = std::env::temp_dir().join(format!("decode-speed-{}.{name}", std::process::id()));
    let source = arguments.get(3).map_or("2000000", String::as_str);
    let group = format.encoder(&made(1, 1)[0].schema(), &options)?.block_rows();
    let batches = if let Ok(rows) = source.parse() { made(rows, group) } else { given(source)? };
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches)?;
    drop(batches);
    let schema = Arc::new(read_schema(&whole.schema()));
    write(format, &options, &schema, &whole, &path)?;
    let read = read(format, &options, &schema, whole.num_rows(), &path);
    std::fs::remove_file(&path)?;
    read
}

fn write(
    format: &dyn Format,
    options: &FormatOptions,
    schema: &SchemaRef,
    table: &RecordBatch,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    let encoder = format.encoder(schema, options)?;
    let mut assembler = encoder.assembler()?;
    let mut out = BufWriter::new(File::create(path)?);
    assembler.begin(&mut out)?;
    let (mut written, mut seconds) = (0, 0.0);
    while written < table.num_rows() {
        let rows = encoder.block_rows().min(table.num_rows() - written);
        // As they come from a reader.
        let batches: Vec<RecordBatch> =
            (0..rows).step_by(8192).map(|at| table.slice(written + at, 8192.min(rows - at))).collect();
        let start = cpu_seconds()?;
        let block = encoder.encode(&batches)?;
        seconds += cpu_seconds()? - start;
        assembler.append(block, &mut out)?;
        written += rows;
    }
    assembler.finish(&mut out)?;
    out.flush()?;
    let bytes = std::fs::metadata(path)?.len();
    let (name, compression) = (format.name(), &options.compression);
    let rate = written as f64 / seconds / 1e6;
    println!("{name} {compression}: {written} rows, {bytes} bytes, encoded at {rate:.2} M rows/s");
    Ok(())
}

fn read(
    format: &dyn Format,
    options: &FormatOptions,
    schema: &SchemaRef,
    rows: usize,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    let entry = Arc::new(FileEntry::new(path, std::fs::metadata(path)?.len(), 0));
    let all = schema.fields().len();
    for (what, projection) in
        [("the first and the fourth column", vec![0, 3.min(all - 1)]), ("all columns", (0..all).collect())]
    {
        let scan = ScanOptions {
            schema: schema.clone(),
            projection,
            bounds: vec![],
            prefixes: vec![],
            unseen: schema::DeferredValidation::Nothing,
            batch_rows: 8192,
            format: options.clone(),
        };
        for _ in 0..5 {
            let start = cpu_seconds()?;
            let mut read = 0;
            for morsel in format.split(&entry, &scan, 8 << 20)? {
                let reader = format.reader(&morsel, &scan)?;
                for batch in Driver::open(&morsel, reader)? {
                    read += std::hint::black_box(batch?).num_rows();
                }
            }
            assert_eq!(read, rows, "every row is read once");
            println!("  {what}: {:.1} M rows/s", rows as f64 / (cpu_seconds()? - start) / 1e6);
        }
    }
    Ok(())
}
