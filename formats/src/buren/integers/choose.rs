//! Which encoding fits integers best.

use arrow_buffer::ToByteSlice;
use hashbrown::HashSet;

use super::super::compress::Codec;
use super::super::word::{BLOCK, Word};
use super::packed::{self, Plan};
use crate::columns::bits::bits;
use crate::error::Result;

/// The values that are looked at, where it takes more than a pass over all of them.
const SAMPLE: usize = 8 * BLOCK;
/// The values that are compressed to see what it makes of them.
const TRIED: usize = 2 * BLOCK;
/// Places of dictionaries have 16 bits.
pub const MOST_ENTRIES: usize = 1 << 16;

/// An encoding of integers.
pub enum Choice<W> {
    /// One value.
    Constant,
    /// As they are.
    Plain,
    /// Packed by these plans.
    Packed(Vec<Plan<W>>),
    /// Runs of equal values.
    Runs,
    /// Places of the distinct values.
    Dictionary,
}

/// The encoding that is expected to take the fewest bytes, plainer ones preferred.
pub fn choose<W: Word>(values: &[W], codec: Codec) -> Result<Choice<W>> {
    let n = values.len();
    let changes = values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if changes == 0 {
        return Ok(Choice::Constant);
    }
    let plans: Vec<Plan<W>> = values.chunks(BLOCK).map(packed::plan).collect();
    let plain = n * W::BYTES;
    let packed = packed::size(&plans, n);
    let (mut best, mut least) = (Choice::Plain, plain * 19 / 20);
    if packed <= least {
        (best, least) = (Choice::Packed(plans), packed);
    }
    let runs = changes + 1;
    if runs * 3 <= n {
        // The values of runs are about as wide as those of rows, their lengths some bits wider than the mean one.
        let each = packed as f64 * 8.0 / n as f64 + bits((n / runs) as u64) as f64 + 2.0;
        let size = (runs as f64 * each / 8.0) as usize;
        if size * 4 <= least * 3 {
            (best, least) = (Choice::Runs, size);
        }
    }
    let sample: Vec<W> = pieces(values).copied().collect();
    if least * 8 >= n * 10 {
        let distinct = sample.iter().collect::<HashSet<_>>().len();
        let size = n * bits(distinct as u64 * 2) / 8 + distinct * 2 * W::BYTES;
        if distinct * 4 <= sample.len() && distinct * 2 <= MOST_ENTRIES && size * 4 <= least * 3 {
            (best, least) = (Choice::Dictionary, size);
        }
    }
    // Packed bits are noise to a compression. Where it finds more in plain values, they stay plain.
    if codec != Codec::None {
        let bytes = sample[..sample.len().min(TRIED)].to_byte_slice();
        if let Some(compressed) = codec.compress(bytes)?
            && (compressed.len() as f64 / bytes.len() as f64) * (plain as f64) < 0.8 * least as f64
        {
            best = Choice::Plain;
        }
    }
    Ok(best)
}

/// Eight runs of values from all over.
fn pieces<W>(values: &[W]) -> impl Iterator<Item = &W> {
    let stride = if values.len() <= SAMPLE { BLOCK } else { values.len() / 8 };
    values.chunks(stride).flat_map(|piece| &piece[..piece.len().min(BLOCK)])
}
