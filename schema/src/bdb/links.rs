//! How many links lead to a page, and which page a link leads to.
//!
//! Pages are numbered from the most to the least popular. HiBench draws the target of each link by Zipf's law with
//! exponent 1/2, discretised. Page `i` of `n`, counted from 1, has the integer weight `w(i) = round(1.5 sqrt(n / i))`.
//! This is its class Zipfian with the tail of 1.5 that it finds for 40 links a page and a space ratio of 0.1. The
//! rounding is what keeps the least popular pages above 10 links. With exact weights a hundred times as many would fall
//! below, against the published result of query 1C.
//!
//! HiBench counts the links of each page, which takes memory for every page. The count of one page is binomial with
//! very many draws of a very small probability. So it is drawn from Poisson's law around its mean here.

use super::random::{Stream, unit};

/// The weight of the last page before it is rounded.
const TAIL: f64 = 1.5;

/// The mean number of links on a page: 0.05 of a length that is normal around 800 and rounded to a whole number,
/// rounded down. The length modulo 20 is uniform, so that rounding down costs 9.5 / 20 on average.
pub const LINKS_PER_PAGE: f64 = 40.0 - 9.5 / 20.0;

/// The number of levels that are summed one by one; the rest is integrated, which is exact to 1e-8 by then.
const EXACT_LEVELS: u64 = 1 << 14;

/// The law of links between `pages` pages.
#[derive(Debug, Clone)]
pub struct Links {
    pages: u64,
    /// Links that lead to a page, on average, for each unit of its weight.
    per_weight: f64,
    /// For level k = 1, 2, … the sum over levels up to it of `Links::level`; the last also holds what is beyond.
    cumulated: Vec<f64>,
}

impl Links {
    /// The law for this many pages, at least one.
    pub fn new(pages: u64) -> Links {
        let mut cumulated = Vec::new();
        let mut total = 0.0;
        for k in 1..=EXACT_LEVELS {
            let level = level(pages, k);
            if level == 0 {
                break;
            }
            total += level as f64;
            cumulated.push(total);
        }
        if cumulated.len() as u64 == EXACT_LEVELS {
            // The levels beyond hold together about n 1.5^2 times the integral of 1/x^2 from here.
            total += pages as f64 * TAIL * TAIL / EXACT_LEVELS as f64;
        }
        Links { pages, per_weight: LINKS_PER_PAGE * pages as f64 / total, cumulated }
    }

    /// The mean number of links to a page, counted from 0.
    #[inline]
    pub fn mean(&self, page: u64) -> f64 {
        self.per_weight * weight(self.pages, page)
    }

    /// The page, counted from 0, that a link leads to.
    pub fn target(&self, stream: &mut Stream) -> u64 {
        // The weight of a page is the number of levels that hold it, and level k holds the first level(k) pages: a
        // level is drawn by its size, then a page from it. What lies beyond the last level goes to the first page.
        let total = LINKS_PER_PAGE * self.pages as f64 / self.per_weight;
        let at = unit(stream.next()) * total;
        let k = self.cumulated.partition_point(|&sum| sum <= at) as u64 + 1;
        stream.below(level(self.pages, k).max(1))
    }
}

/// The weight of a page counted from 0.
#[inline]
fn weight(pages: u64, page: u64) -> f64 {
    (TAIL * (pages as f64 / (page + 1) as f64).sqrt() + 0.5).floor()
}

/// How many pages have at least the weight `k`.
fn level(pages: u64, k: u64) -> u64 {
    let ratio = TAIL / (k as f64 - 0.5);
    ((pages as f64 * ratio * ratio) as u64).min(pages)
}

/// Draws from Poisson's law by inversion, exactly and at a cost in proportion to the mean. Beyond [`MAX_EXACT`] it
/// draws from the normal law of the same mean and variance. The few most popular pages of a large table can't be told
/// from that.
///
/// Neighbouring pages mostly share a mean, so that the exponential is kept from one draw to the next.
#[derive(Debug, Default)]
pub struct Poisson {
    mean: f64,
    /// The mean is the sum of this many equal pieces, each small enough that `exp(-piece)` is an ordinary number.
    pieces: u32,
    piece: f64,
    zero: f64,
}

/// Larger means are drawn from the normal law, so that no row costs more than some 10 microseconds.
const MAX_EXACT: f64 = 4096.0;

/// The largest mean that is drawn in one piece.
const MAX_PIECE: f64 = 64.0;

/// No piece gives more than this: the probability is below 1e-100.
const MAX_COUNT: usize = 400;

/// `1 / k`, so that the loop multiplies.
static RECIPROCALS: [f64; MAX_COUNT + 1] = {
    let mut table = [0.0; MAX_COUNT + 1];
    let mut k = 1;
    while k <= MAX_COUNT {
        table[k] = 1.0 / k as f64;
        k += 1;
    }
    table
};

impl Poisson {
    /// A number drawn from the law of this mean, at least 0.
    #[inline]
    pub fn draw(&mut self, mean: f64, stream: &mut Stream) -> u64 {
        if mean > MAX_EXACT {
            // The sum of twelve uniform numbers has the variance 1 and is all but normal.
            let sum: f64 = (0..12).map(|_| unit(stream.next())).sum();
            return (mean + mean.sqrt() * (sum - 6.0) + 0.5) as u64;
        }
        if mean != self.mean {
            let pieces = (mean / MAX_PIECE).ceil().max(1.0);
            let piece = mean / pieces;
            *self = Poisson { mean, pieces: pieces as u32, piece, zero: exp_of_minus(piece) };
        }
        let mut sum = 0;
        for _ in 0..self.pieces {
            let bits = unit(stream.next());
            let mut probability = self.zero;
            let mut cumulated = probability;
            let mut count = 0;
            while cumulated <= bits && count < MAX_COUNT {
                count += 1;
                probability *= self.piece * RECIPROCALS[count];
                cumulated += probability;
            }
            sum += count as u64;
        }
        sum
    }
}

/// `exp(-x)` for `0 <= x <= 64`, by operations whose last bit IEEE 754 fixes; the mathematical library's may differ
/// from one machine to the next. The relative error is below 1e-12.
fn exp_of_minus(x: f64) -> f64 {
    let y = -x / 1024.0;
    let mut series = 1.0;
    for k in (1..=10).rev() {
        series = 1.0 + series * y / k as f64;
    }
    for _ in 0..10 {
        series *= series;
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bdb::random::Key;

    #[test]
    fn exponential_is_exact_enough() {
        for x in [0.0, 1e-9, 0.5, 1.0, 12.7, 25.47, 39.5, 63.9, 64.0] {
            let (ours, theirs) = (exp_of_minus(x), (-x).exp());
            assert!((ours - theirs).abs() <= theirs * 1e-11, "{x}: {ours} {theirs}");
        }
    }

    #[test]
    fn poisson_has_its_mean_and_variance() {
        let mut poisson = Poisson::default();
        for mean in [0.7, 25.47, 64.0, 101.9, 1000.0, 4096.0, 4097.0, 1e6] {
            let n = 20_000;
            let key = Key::new(7, b"poisson ");
            let draws: Vec<f64> = (0..n).map(|i| poisson.draw(mean, &mut key.stream(i)) as f64).collect();
            let average = draws.iter().sum::<f64>() / n as f64;
            let variance = draws.iter().map(|d| (d - average).powi(2)).sum::<f64>() / n as f64;
            // Five standard errors; that of the variance is about mean * sqrt(2 / n) for means above 1.
            assert!((average - mean).abs() < 5.0 * (mean / n as f64).sqrt(), "{mean}: {average}");
            assert!((variance - mean).abs() < 5.0 * (mean + mean.sqrt()) * (2.0 / n as f64).sqrt());
        }
    }

    #[test]
    fn weights_are_the_levels_that_hold_a_page() {
        for pages in [1, 2, 3, 10, 1_200, 4_567] {
            let total: f64 = (0..pages).map(|p| weight(pages, p)).sum();
            let links = Links::new(pages);
            assert_eq!(*links.cumulated.last().unwrap(), total, "{pages} pages");
            let mean: f64 = (0..pages).map(|p| links.mean(p)).sum::<f64>() / pages as f64;
            assert!((mean - LINKS_PER_PAGE).abs() < 1e-9);
        }
    }

    #[test]
    fn targets_follow_the_weights() {
        let (pages, n) = (500, 200_000);
        let links = Links::new(pages);
        let key = Key::new(1, b"targets ");
        let mut counts = vec![0f64; pages as usize];
        for i in 0..n {
            counts[links.target(&mut key.stream(i)) as usize] += 1.0;
        }
        let total: f64 = (0..pages).map(|p| weight(pages, p)).sum();
        let chi: f64 = (0..pages)
            .map(|p| {
                let expected = n as f64 * weight(pages, p) / total;
                (counts[p as usize] - expected).powi(2) / expected
            })
            .sum();
        // 499 degrees of freedom: mean 499, standard deviation 31.6.
        assert!((chi - 499.0).abs() < 5.0 * 31.6, "{chi}");
    }

    /// The counts of query 1 that were published for 90 million pages, from the probabilities alone.
    #[test]
    fn expected_ranks_give_the_published_counts() {
        let pages = 90_000_000;
        let links = Links::new(pages);
        let mut expected = [0.0; 3];
        for k in 1..=(TAIL * (pages as f64).sqrt() + 0.5) as u64 {
            let pages_here = (level(pages, k) - level(pages, k + 1)) as f64;
            let mean = links.per_weight * k as f64;
            for (threshold, sum) in [1000, 100, 10].into_iter().zip(&mut expected) {
                *sum += pages_here * above(mean, threshold);
            }
        }
        for (ours, published) in expected.into_iter().zip([32_888.0, 3_331_851.0, 89_974_976.0]) {
            assert!((ours - published).abs() < published * 5e-4, "{ours} against {published}");
        }
    }

    /// The probability that Poisson's law of this mean gives more than `threshold`.
    fn above(mean: f64, threshold: u64) -> f64 {
        if (mean - threshold as f64).abs() > 20.0 * mean.sqrt() + 20.0 {
            return if mean > threshold as f64 { 1.0 } else { 0.0 };
        }
        let mut log_p = -mean;
        let mut below = log_p.exp();
        for k in 1..=threshold {
            log_p += (mean / k as f64).ln();
            below += log_p.exp();
        }
        1.0 - below
    }
}
