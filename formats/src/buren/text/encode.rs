//! Texts to bytes: which encoding fits is decided on samples and counts, and by the sizes that follow from them.

use fsst::Compressor;
use hashbrown::HashSet;

use super::super::chunk::Sink;
use super::super::compress::Codec;
use super::super::integers::encode::put as put_integers;
use super::dictionary::distinct;
use super::letters::{Alphabet, MOST_LETTERS, MOST_SYMBOLS, bits_of_four, histogram};
use super::{addresses, symbols, tag};
use crate::columns::bits::bits;
use crate::error::Result;

/// Values are looked at in so many runs from all over, of at most as many values.
const PIECES: usize = 8;
const PIECE: usize = 512;
/// Bytes of values that sizes are estimated from.
const SAMPLE_BYTES: usize = 1 << 14;
/// Runs have to be this long, on the average.
const RUN: usize = 3;
/// What is left of a byte of text in an encoding value by value, about.
const SHRUNK: f64 = 0.6;
/// Places of dictionaries have 16 bits.
const MOST_ENTRIES: usize = 1 << 16;

/// Writes values in the encoding that is expected to take the fewest bytes. `note` is given some values among which are
/// all distinct ones, few if that is known, in a single call.
pub fn put(values: &[&[u8]], sink: &mut Sink, note: &mut dyn FnMut(&[&[u8]])) -> Result<()> {
    let runs: usize = values.chunk_by(|a, b| a == b).count();
    if runs <= 1 {
        note(&values[..runs]);
        sink.put(&[tag::CONSTANT]);
        return sink.buffer(values.first().copied().unwrap_or_default());
    }
    if runs * RUN <= values.len() {
        let (lengths, values): (Vec<u32>, Vec<&[u8]>) =
            values.chunk_by(|a, b| a == b).map(|run| (run.len() as u32, run[0])).unzip();
        sink.put(&[tag::RUNS]);
        sink.count(values.len())?;
        put_integers(&lengths, sink)?;
        return distinct_or_not(&values, sink, note);
    }
    distinct_or_not(values, sink, note)
}

/// Runs of values from all over.
fn pieces<'a, 'b>(values: &'b [&'a [u8]]) -> impl Iterator<Item = &'b &'a [u8]> {
    let stride = if values.len() <= PIECES * PIECE { PIECE } else { values.len() / PIECES };
    values.chunks(stride).flat_map(|piece| &piece[..piece.len().min(PIECE)])
}

fn total(values: &[&[u8]]) -> usize {
    values.iter().map(|v| v.len()).sum()
}

/// With a dictionary, if values repeat.
fn distinct_or_not(values: &[&[u8]], sink: &mut Sink, note: &mut dyn FnMut(&[&[u8]])) -> Result<()> {
    let sample: HashSet<&[u8]> = pieces(values).copied().collect();
    let looked_at = pieces(values).count();
    if sample.len() * 4 > looked_at * 3 {
        note(values);
        return leaf(values, sink);
    }
    let found = distinct(values);
    note(&found.entries);
    let n = values.len();
    // Whatever else is done with values, it makes about the same of each byte.
    let bytes = |values: &[&[u8]]| SHRUNK * total(values) as f64 + values.len() as f64;
    let entries = bytes(&found.entries);
    let places = |entries: usize| (n * bits(entries.saturating_sub(1) as u64)) as f64 / 8.0;
    let (mut encoding, mut least) = (None, bytes(values) * 0.9);
    if found.entries.len() <= MOST_ENTRIES {
        let size = places(found.entries.len()) + entries;
        if size < least {
            (encoding, least) = (Some(tag::DICTIONARY), size);
        }
    }
    let again = found.counts.iter().filter(|count| **count > 1).count();
    if again < MOST_ENTRIES && again < found.entries.len() {
        let size = places(again + 1) + entries;
        if size < least * 0.95 {
            encoding = Some(tag::FREQUENT);
        }
    }
    let narrow = |places: Vec<u32>| -> Vec<u16> { places.iter().map(|p| *p as u16).collect() };
    match encoding {
        Some(tag::DICTIONARY) => {
            sink.put(&[tag::DICTIONARY]);
            sink.count(found.entries.len())?;
            put_integers(&narrow(found.places), sink)?;
            leaf(&found.entries, sink)
        }
        Some(_) => {
            let frequent = found.frequent();
            sink.put(&[tag::FREQUENT]);
            sink.count(frequent.entries.len())?;
            sink.count(frequent.rest.len())?;
            put_integers(&narrow(frequent.places), sink)?;
            leaf(&frequent.entries, sink)?;
            leaf(&frequent.rest, sink)
        }
        None => leaf(values, sink),
    }
}

/// An encoding of values one by one.
enum Way {
    Addresses(Vec<u32>),
    Letters(Alphabet),
    Symbols(Box<Compressor>),
    Plain,
}

fn choose(values: &[&[u8]], sink: &Sink) -> Result<Way> {
    let some = values.iter().step_by(values.len().div_ceil(16).max(1));
    if some.clone().all(|v| addresses::parse(v).is_some())
        && let Some(numbers) = values.iter().map(|v| addresses::parse(v)).collect::<Option<Vec<u32>>>()
    {
        return Ok(Way::Addresses(numbers));
    }
    let bytes = total(values) as f64;
    let (mut sample, mut sampled) = (Vec::new(), 0);
    for value in values.iter().step_by((bytes as usize / SAMPLE_BYTES).max(1)) {
        sample.push(*value);
        sampled += value.len();
        if sampled > 2 * SAMPLE_BYTES {
            break;
        }
    }
    let codec = sink.codec();
    let stored = |bytes: &[u8]| -> Result<f64> {
        Ok(codec.compress(bytes)?.map_or(bytes.len(), |compressed| compressed.len()) as f64)
    };
    let scale = bytes / sampled.max(1) as f64;
    // What is easier to read is preferred: plain values to encoded ones, and these to compressed ones.
    let favour = if codec == Codec::None { 0.9 } else { 1.1 };
    let (mut best, mut least) = (Way::Plain, stored(&sample.concat())? * scale * favour);
    let counts = histogram(values.iter().copied());
    let alphabet: Vec<u8> = (0..=255).filter(|byte| counts[usize::from(*byte)] > 0).collect();
    if bytes <= MOST_LETTERS as f64
        && alphabet.len() <= MOST_SYMBOLS
        && alphabet.last().is_none_or(u8::is_ascii)
        && let Some(alphabet) = Alphabet::new(&alphabet)
    {
        let size = bytes * bits_of_four(alphabet.symbols().len()) as f64 / 32.0;
        if size < least {
            (best, least) = (Way::Letters(alphabet), size);
        }
    }
    if sampled > 0 {
        let compressor = symbols::train(&sample);
        let encoded = symbols::encode(&compressor, &sample);
        let size = stored(&encoded.codes)? * scale + encoded.table.len() as f64;
        if size < least {
            best = Way::Symbols(Box::new(compressor));
        }
    }
    Ok(best)
}

/// Values one by one.
fn leaf(values: &[&[u8]], sink: &mut Sink) -> Result<()> {
    if values.chunk_by(|a, b| a == b).nth(1).is_none() {
        sink.put(&[tag::CONSTANT]);
        return sink.buffer(values.first().copied().unwrap_or_default());
    }
    let lengths = || values.iter().map(|v| v.len() as u32).collect::<Vec<_>>();
    match choose(values, sink)? {
        Way::Addresses(numbers) => {
            sink.put(&[tag::ADDRESSES]);
            put_integers(&numbers, sink)
        }
        Way::Letters(alphabet) => {
            sink.put(&[tag::LETTERS, alphabet.symbols().len() as u8]);
            sink.put(alphabet.symbols());
            put_integers(&lengths(), sink)?;
            put_integers(&alphabet.fours(values.iter().copied()), sink)
        }
        Way::Symbols(compressor) => {
            let encoded = symbols::encode(&compressor, values);
            sink.put(&[tag::SYMBOLS]);
            sink.put(&encoded.table);
            put_integers(&encoded.lengths, sink)?;
            sink.buffer(&encoded.codes)
        }
        Way::Plain => {
            sink.put(&[tag::PLAIN]);
            put_integers(&lengths(), sink)?;
            sink.buffer(&values.concat())
        }
    }
}
