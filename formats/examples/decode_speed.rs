//! How fast a column format is written and read: `decode_speed FORMAT COMPRESSION [ROWS]`.
//!
//! Writes a table like the benchmark's `uservisits` to a temporary file, then reads `sourceIP` and `adRevenue`, and
//! all columns, on one thread from the page cache, three times each. Rates are by the thread's time on a core, system
//! calls included, so that other work on the machine does not show.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::{Date32Array, Float32Array, Int32Array, RecordBatch, StringViewArray};
use formats::format::{ScanOptions, format};
use formats::reader::BlockingReader;
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
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (name, compression) = (arguments[1].as_str(), arguments[2].as_str());
    let rows: usize = arguments.get(3).map_or(Ok(2_000_000), |n| n.parse())?;
    let format = format(name)?;
    let options = FormatOptions { compression: compression.into(), ..FormatOptions::default() };
    let path = std::env::temp_dir().join(format!("decode-speed-{}.{name}", std::process::id()));

    let mut numbers = Numbers(88_172_645_463_325_252);
    let agents: Vec<String> = (0..2000).map(|_| numbers.letters(10, 60)).collect();
    let words: Vec<String> = (0..1000).map(|_| numbers.letters(4, 12)).collect();
    let schema = visits(&mut numbers, &agents, &words, 1).schema();
    let encoder = format.encoder(&schema, &options)?;
    let mut assembler = encoder.assembler()?;
    let mut out = BufWriter::new(File::create(&path)?);
    assembler.begin(&mut out)?;
    let (mut written, mut seconds) = (0, 0.0);
    while written < rows {
        let n = encoder.block_rows().min(rows - written);
        let batch = visits(&mut numbers, &agents, &words, n);
        let start = cpu_seconds()?;
        let block = encoder.encode(&[batch])?;
        seconds += cpu_seconds()? - start;
        assembler.append(block, &mut out)?;
        written += n;
    }
    assembler.finish(&mut out)?;
    out.flush()?;
    let bytes = std::fs::metadata(&path)?.len();
    let rate = |seconds: f64| rows as f64 / seconds / 1e6;
    println!("{name} {compression}: {rows} rows, {bytes} bytes, encoded at {:.2} M rows/s", rate(seconds));

    let entry = Arc::new(FileEntry::new(path.clone(), bytes, 0));
    for (what, projection) in [("sourceIP, adRevenue", vec![0, 3]), ("all columns", (0..9).collect())] {
        let scan = ScanOptions {
            schema: schema.clone(),
            projection,
            bounds: vec![],
            batch_rows: 8192,
            format: options.clone(),
        };
        for _ in 0..3 {
            let start = cpu_seconds()?;
            let mut read = 0;
            for morsel in format.split(&entry, &scan, 8 << 20)? {
                let reader = format.reader(&morsel, &scan)?;
                for batch in BlockingReader::open(morsel, reader)? {
                    read += std::hint::black_box(batch?).num_rows();
                }
            }
            assert_eq!(read, rows, "every row is read once");
            println!("  {what}: {:.1} M rows/s", rate(cpu_seconds()? - start));
        }
    }
    std::fs::remove_file(&path)?;
    Ok(())
}
