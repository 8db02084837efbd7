//! Bytes to views.

use arrow_buffer::Buffer;

use super::super::chunk::Source;
use super::super::integers::decode::{Integers, ends};
use super::super::word::BLOCK;
use super::letters::{Alphabet, MOST_LETTERS};
use super::symbols::Table;
use super::views::Out;
use super::{addresses, tag};
use crate::error::{Error, Result};

/// Texts of a chunk, of which any range or choice can be read.
pub enum Texts {
    /// One value in every row.
    Constant(Buffer),
    /// Value after value.
    Plain(Spans, Buffer),
    /// Symbols of a small alphabet.
    Letters(Spans, Alphabet, Integers<u32>),
    /// IPv4 addresses.
    Addresses(Integers<u32>),
    /// Codes of symbols.
    Symbols(Spans, Table, Buffer),
    /// Distinct values.
    Dictionary(Integers<u16>, Out),
    /// Runs: the row behind the end of each, and their values.
    Runs(Vec<u32>, Box<Texts>),
    /// Distinct values, and others.
    RepeatedValues(RepeatedValues),
}

/// Where values lie: lengths, and for each block of rows where its first value begins.
pub struct Spans {
    lengths: Integers<u32>,
    starts: Vec<usize>,
    /// The end of the last value.
    total: usize,
}

/// A dictionary of the values that occur again, and the rest.
pub struct RepeatedValues {
    pub(super) places: Integers<u16>,
    pub(super) entries: Out,
    /// For each block of rows the number of values of the rest before it.
    before: Vec<usize>,
    pub(super) rest: Box<Texts>,
}

impl Spans {
    fn open(source: &mut Source, rows: usize) -> Result<Spans> {
        let lengths = Integers::open(source, rows)?;
        let mut starts = Vec::with_capacity(rows.div_ceil(BLOCK));
        let mut total = 0usize;
        let mut scratch = [0; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            starts.push(total);
            let block = &mut scratch[..BLOCK.min(rows - from)];
            lengths.read(from, block)?;
            total += block.iter().map(|&length| length as usize).sum::<usize>();
        }
        Ok(Spans { lengths, starts, total })
    }

    /// Where the value of a row begins, and the lengths of the values from there on.
    pub(super) fn range(&self, from: usize, rows: usize) -> Result<(usize, Vec<u32>)> {
        let block = from / BLOCK;
        let before = self.lengths.range(block * BLOCK, from - block * BLOCK)?;
        let start = self.starts.get(block).copied().unwrap_or(self.total);
        let start = start + before.iter().map(|&length| length as usize).sum::<usize>();
        Ok((start, self.lengths.range(from, rows)?))
    }
}

impl Texts {
    /// Reads the description of `rows` values; `text` says whether they have to be UTF-8.
    pub fn open(source: &mut Source, rows: usize, text: bool) -> Result<Texts> {
        source.below(|source| match source.tag()? {
            tag::CONSTANT => Ok(Texts::Constant(source.buffer()?)),
            tag::PLAIN => {
                let spans = Spans::open(source, rows)?;
                let data = source.exactly(spans.total)?;
                Ok(Texts::Plain(spans, data))
            }
            tag::LETTERS => {
                let count = usize::from(source.input().u8()?);
                let alphabet = Alphabet::new(source.input().take(count)?);
                let alphabet = alphabet.ok_or_else(|| source.damaged("an alphabet that is none"))?;
                let spans = Spans::open(source, rows)?;
                if spans.total > MOST_LETTERS {
                    return Err(source.damaged(format_args!("{} letters", spans.total)));
                }
                let fours = Integers::open(source, spans.total.div_ceil(4))?;
                Ok(Texts::Letters(spans, alphabet, fours))
            }
            tag::ADDRESSES => Integers::open(source, rows).map(Texts::Addresses),
            tag::SYMBOLS => {
                let table = Table::open(source)?;
                let spans = Spans::open(source, rows)?;
                let data = source.exactly(spans.total)?;
                Ok(Texts::Symbols(spans, table, data))
            }
            tag::DICTIONARY => {
                let count = source.count(rows.min(1 << 16))?;
                let places = Integers::open(source, rows)?;
                let entries = Texts::open(source, count, text)?.all(count, text)?;
                Ok(Texts::Dictionary(places, entries))
            }
            tag::RUNS => {
                let count = source.count(rows)?;
                let ends = ends(source, count, rows)?;
                Ok(Texts::Runs(ends, Box::new(Texts::open(source, count, text)?)))
            }
            tag::FREQUENT => RepeatedValues::open(source, rows, text).map(Texts::RepeatedValues),
            other => Err(source.damaged(format_args!("there is no encoding {other} of text"))),
        })
    }

    fn all(&self, rows: usize, text: bool) -> Result<Out> {
        let mut out = Out::new(text);
        self.read(0, rows, None, &mut out)?;
        Ok(out)
    }

    /// Adds the values of the rows from `from` on, or those of them that are chosen, ascending and counted from `from`.
    pub fn read(&self, from: usize, rows: usize, chosen: Option<&[u32]>, out: &mut Out) -> Result<()> {
        match self {
            Texts::Constant(value) => {
                let start = out.len();
                out.append(value.clone(), 0, &[value.len() as u32])?;
                let value = out.split_off(start);
                out.put_back(std::iter::repeat_n(value[0], chosen.map_or(rows, <[u32]>::len)));
                Ok(())
            }
            Texts::Plain(spans, data) => {
                let (start, lengths) = spans.range(from, rows)?;
                match chosen {
                    None => out.append(data.clone(), start, &lengths),
                    Some(chosen) => gather(data, start, &lengths, chosen, out),
                }
            }
            Texts::Letters(spans, alphabet, fours) => {
                let (start, lengths) = spans.range(from, rows)?;
                let letters = |start: usize, length: usize| -> Result<(Buffer, usize)> {
                    let (first, end) = (start / 4, (start + length).div_ceil(4));
                    Ok((alphabet.letters(fours.range(first, end - first)?), start % 4))
                };
                match chosen {
                    // A block of fours is unpacked for each value that is read alone.
                    Some(chosen) if chosen.len() * 16 < rows => {
                        let (mut found, mut kept) = (Vec::new(), Vec::with_capacity(chosen.len()));
                        for (at, length) in spots(start, &lengths, chosen) {
                            let (value, within) = letters(at, length)?;
                            found.extend_from_slice(&value[within..within + length]);
                            kept.push(length as u32);
                        }
                        out.append(Buffer::from_vec(found), 0, &kept)
                    }
                    _ => {
                        let total = lengths.iter().map(|&length| length as usize).sum();
                        let (data, start) = letters(start, total)?;
                        match chosen {
                            None => out.append(data, start, &lengths),
                            Some(chosen) => gather(&data, start, &lengths, chosen, out),
                        }
                    }
                }
            }
            Texts::Addresses(numbers) => {
                match chosen {
                    None => addresses::append(&numbers.range(from, rows)?, out),
                    Some(chosen) => addresses::append(&numbers.pick(from, chosen)?, out),
                }
                Ok(())
            }
            Texts::Symbols(spans, table, data) => {
                let (start, lengths) = spans.range(from, rows)?;
                let (mut found, mut at) = (Vec::new(), 0);
                let mut decode = |(start, length)| -> Result<u32> {
                    let end = table.decode(&data[start..start + length], &mut found, at)?;
                    Ok((end - std::mem::replace(&mut at, end)) as u32)
                };
                let kept: Vec<u32> = match chosen {
                    None => every(start, &lengths).map(&mut decode).collect::<Result<_>>()?,
                    Some(chosen) => spots(start, &lengths, chosen).map(&mut decode).collect::<Result<_>>()?,
                };
                found.truncate(at);
                out.append(Buffer::from_vec(found), 0, &kept)
            }
            Texts::Dictionary(places, entries) => {
                let shift = out.share(entries);
                let places = match chosen {
                    None => places.range(from, rows)?,
                    Some(chosen) => places.pick(from, chosen)?,
                };
                check(&places, entries.len())?;
                let views = entries.views();
                match shift.is_none() {
                    true => out.put_back(places.iter().map(|place| views[usize::from(*place)])),
                    false => out.put_back(places.iter().map(|place| shift.of(views[usize::from(*place)]))),
                }
                Ok(())
            }
            Texts::Runs(ends, values) => runs(ends, values, from, rows, chosen, out),
            Texts::RepeatedValues(frequent) => frequent.read(from, rows, chosen, out),
        }
    }
}

/// Where each value lies.
pub(super) fn every(start: usize, lengths: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    lengths.iter().scan(start, |at, &length| {
        let start = *at;
        *at += length as usize;
        Some((start, length as usize))
    })
}

/// Where the values of chosen rows lie.
fn spots(start: usize, lengths: &[u32], chosen: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    let (mut row, mut at) = (0, start);
    chosen.iter().map(move |&wanted| {
        let wanted = wanted as usize;
        at += lengths[row..wanted].iter().map(|&length| length as usize).sum::<usize>();
        row = wanted;
        (at, lengths[wanted] as usize)
    })
}

/// Adds copies of the values of chosen rows.
fn gather(data: &Buffer, start: usize, lengths: &[u32], chosen: &[u32], out: &mut Out) -> Result<()> {
    let (mut found, mut kept) = (Vec::new(), Vec::with_capacity(chosen.len()));
    for (at, length) in spots(start, lengths, chosen) {
        found.extend_from_slice(&data[at..at + length]);
        kept.push(length as u32);
    }
    out.append(Buffer::from_vec(found), 0, &kept)
}

/// Adds the values of runs, each as often as it has rows. Only the runs of chosen rows are read.
fn runs(
    ends: &[u32],
    values: &Texts,
    from: usize,
    rows: usize,
    chosen: Option<&[u32]>,
    out: &mut Out,
) -> Result<()> {
    if rows == 0 || chosen.is_some_and(<[u32]>::is_empty) {
        return Ok(());
    }
    let first = ends.partition_point(|&end| end as usize <= from);
    let count = ends[first..].partition_point(|&end| (end as usize) < from + rows) + 1;
    let begin = out.len();
    let Some(chosen) = chosen else {
        values.read(first, count, None, out)?;
        let views = out.split_off(begin);
        out.reserve(rows);
        let mut row = from;
        for (view, &end) in views.into_iter().zip(&ends[first..]) {
            let end = (end as usize).min(from + rows);
            out.put_back(std::iter::repeat_n(view, end - row));
            row = end;
        }
        return Ok(());
    };
    // The run of each chosen row, and each such run once.
    let mut run = 0;
    let of: Vec<u32> = chosen
        .iter()
        .map(|&row| {
            while (ends[first + run] as usize) <= from + row as usize {
                run += 1;
            }
            run as u32
        })
        .collect();
    let mut once = of.clone();
    once.dedup();
    values.read(first, count, Some(&once), out)?;
    let views = out.split_off(begin);
    let mut at = 0;
    out.put_back(of.iter().map(|run| {
        while once[at] != *run {
            at += 1;
        }
        views[at]
    }));
    Ok(())
}

impl RepeatedValues {
    fn open(source: &mut Source, rows: usize, text: bool) -> Result<RepeatedValues> {
        let count = source.count(rows.min(usize::from(u16::MAX)))?;
        let others = source.count(rows)?;
        let places: Integers<u16> = Integers::open(source, rows)?;
        let entries = Texts::open(source, count, text)?.all(count, text)?;
        let rest = Box::new(Texts::open(source, others, text)?);
        let mut before = Vec::with_capacity(rows.div_ceil(BLOCK));
        let mut sum = 0;
        let mut scratch = [0; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            before.push(sum);
            let block = &mut scratch[..BLOCK.min(rows - from)];
            places.read(from, block)?;
            check(block, count + 1)?;
            sum += block.iter().filter(|place| usize::from(**place) == count).count();
        }
        if sum != others {
            return Err(
                source.damaged(format_args!("{sum} rows have a value of the rest, and it has {others}"))
            );
        }
        Ok(RepeatedValues { places, entries, before, rest })
    }

    /// How many values of the rest come before a row, and the places of the rows from there on.
    pub(super) fn range(&self, from: usize, rows: usize) -> Result<(usize, Vec<u16>)> {
        let block = from / BLOCK;
        let before = self.others(&self.places.range(block * BLOCK, from - block * BLOCK)?);
        Ok((self.before.get(block).copied().unwrap_or_default() + before, self.places.range(from, rows)?))
    }

    /// How many of some rows have a value of the rest.
    fn others(&self, places: &[u16]) -> usize {
        places.iter().filter(|place| usize::from(**place) == self.entries.len()).count()
    }

    fn read(&self, from: usize, rows: usize, chosen: Option<&[u32]>, out: &mut Out) -> Result<()> {
        let other = self.entries.len() as u16;
        let (before, places) = self.range(from, rows)?;
        let shift = out.share(&self.entries);
        let begin = out.len();
        let views = self.entries.views();
        match chosen {
            None => {
                self.rest.read(before, self.others(&places), None, out)?;
                let rest = out.split_off(begin);
                let mut at = 0;
                // Which of both a row has can't be predicted: the place is chosen without a branch, and looked up once.
                let view = |place: u16| {
                    let is_other = place == other;
                    let from = if is_other { rest.as_slice() } else { views };
                    let view = from[if is_other { at } else { usize::from(place) }];
                    at += usize::from(is_other);
                    view
                };
                match shift.is_none() {
                    true => out.put_back(places.iter().copied().map(view)),
                    false => {
                        let mut view = view;
                        out.put_back(places.iter().map(|&place| match place == other {
                            true => view(place),
                            false => shift.of(view(place)),
                        }));
                    }
                }
            }
            Some(chosen) => {
                let (mut row, mut seen) = (0, 0u32);
                let mut wanted = Vec::new();
                for &choice in chosen {
                    seen += self.others(&places[row..choice as usize]) as u32;
                    row = choice as usize;
                    if places[row] == other {
                        wanted.push(seen);
                    }
                }
                self.rest.read(before, self.others(&places), Some(&wanted), out)?;
                let mut rest = out.split_off(begin).into_iter();
                out.put_back(chosen.iter().map(|row| match views.get(usize::from(places[*row as usize])) {
                    Some(view) => shift.of(*view),
                    None => rest.next().unwrap_or_default(),
                }));
            }
        }
        Ok(())
    }
}

/// Whether all places are below `entries`.
fn check(places: &[u16], entries: usize) -> Result<()> {
    let most = places.iter().copied().max();
    if most.is_some_and(|most| usize::from(most) >= entries) {
        return Err(Error::corrupt("damaged column chunk: a place that its dictionary does not have"));
    }
    Ok(())
}
