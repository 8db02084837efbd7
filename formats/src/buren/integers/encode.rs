//! Integers to bytes.

use arrow_buffer::ToByteSlice;
use hashbrown::HashMap;

use super::super::chunk::Sink;
use super::super::word::Word;
use super::choose::{Choice, MOST_ENTRIES, choose};
use super::{packed, tag};
use crate::error::Result;

/// Writes integers in the encoding that fits them best.
pub fn put<W: Word>(values: &[W], sink: &mut Sink) -> Result<()> {
    match choose(values, sink.codec())? {
        Choice::Constant => {
            let value = values.first().copied().unwrap_or(W::narrow(0));
            sink.put(&[tag::CONSTANT]);
            sink.put(value.to_byte_slice());
            Ok(())
        }
        Choice::Plain => plain(values, sink),
        Choice::Packed(plans) => {
            sink.put(&[tag::PACKED]);
            packed::put(values, &plans, sink)
        }
        Choice::Runs => {
            let (lengths, values) = runs(values);
            sink.put(&[tag::RUNS]);
            sink.count(values.len())?;
            put(&lengths, sink)?;
            put(&values, sink)
        }
        Choice::Dictionary => match dictionary(values) {
            Some((places, entries)) => {
                sink.put(&[tag::DICTIONARY]);
                sink.count(entries.len())?;
                put(&places, sink)?;
                put(&entries, sink)
            }
            None => plain(values, sink),
        },
    }
}

fn plain<W: Word>(values: &[W], sink: &mut Sink) -> Result<()> {
    sink.put(&[tag::PLAIN]);
    sink.buffer(values.to_byte_slice())
}

/// The lengths of runs of equal values, and their values.
fn runs<W: Word>(values: &[W]) -> (Vec<u32>, Vec<W>) {
    values.chunk_by(|a, b| a == b).map(|run| (run.len() as u32, run[0])).unzip()
}

/// The place of each value, and the distinct values in the order of their first rows; `None` if they are too many.
fn dictionary<W: Word>(values: &[W]) -> Option<(Vec<u16>, Vec<W>)> {
    let mut known: HashMap<W, u16> = HashMap::new();
    let mut entries = Vec::new();
    let mut places = Vec::with_capacity(values.len());
    for value in values {
        let next = entries.len();
        let place = *known.entry(*value).or_insert_with(|| {
            entries.push(*value);
            next as u16
        });
        if entries.len() > MOST_ENTRIES {
            return None;
        }
        places.push(place);
    }
    Some((places, entries))
}
