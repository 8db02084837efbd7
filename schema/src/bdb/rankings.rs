//! `rankings`: row `i` is page `i`, and pages are numbered from the most to the least popular.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};

use super::links::{Links, Poisson};
use super::random::{Key, below};
use super::strings::Strings;
use super::url::Urls;

/// Makes the columns of rankings.
#[derive(Debug, Clone)]
pub struct Rankings {
    urls: Urls,
    links: Links,
    rank: Key,
    duration: Key,
}

impl Rankings {
    /// Prepares the table of `pages` pages.
    pub fn new(seed: u64, pages: u64, urls: Urls) -> Rankings {
        let links = Links::new(pages);
        Rankings { urls, links, rank: Key::new(seed, b"pageRank"), duration: Key::new(seed, b"avgDurat") }
    }

    /// One column of some rows.
    pub fn column(&self, column: usize, range: Range<u64>) -> ArrayRef {
        let rows = (range.end - range.start) as usize;
        match column {
            0 => {
                let mut strings = Strings::new(rows, rows * 56);
                for page in range {
                    let view = strings.write(|out| self.urls.write(page, out));
                    strings.push_view(view);
                }
                strings.finish()
            }
            1 => {
                let mut poisson = Poisson::default();
                // HiBench leaves out a page to which no link leads; here it would have one, in less than one of
                // 10^10 pages, so that the number of rows is what was asked for.
                let rank = |page| {
                    poisson.draw(self.links.mean(page), &mut self.rank.stream(page)).clamp(1, i32::MAX as u64)
                        as i32
                };
                Arc::new(Int32Array::from_iter_values(range.map(rank)))
            }
            2 => {
                let duration = |page| 1 + below(self.duration.at(page), 99) as i32;
                Arc::new(Int32Array::from_iter_values(range.map(duration)))
            }
            _ => panic!("rankings has no column {column}"),
        }
    }
}
