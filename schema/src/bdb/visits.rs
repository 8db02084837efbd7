//! `uservisits`: visits to pages drawn uniformly, all visits to a page one after the other, pages ascending.
//!
//! HiBench draws a page for each visit and groups the visits by page. The same is done here in *cells*. A cell is a run
//! of at most 1,024 pages that gets its exact share of the visits, about 8,000. So the rows of a cell are known by
//! arithmetic. Inside, each visit draws its page, and the counts give the rows of each page. So the number of visits to
//! a page is binomial, as it is in HiBench. Only the sum over a cell lacks its spread of about 1 %.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float32Array, Int32Array};

use super::lists;
use super::random::{Key, below, take};
use super::strings::Strings;
use super::url::Urls;

/// The days from 1970-01-01 to 2012-04-30: the end of the range, 2012-05-01 at midnight, is not reached.
const DAYS: u64 = 15_461;

/// The visits of a cell, about, and so the cost of a look into it.
const CELL_VISITS: u64 = 8192;

/// The most pages of a cell.
const CELL_PAGES: u64 = 1024;

/// Makes the columns of uservisits.
#[derive(Debug, Clone)]
pub struct Visits {
    urls: Urls,
    pages: u64,
    visits: u64,
    cell_pages: u64,
    page: Key,
    address: Key,
    date: Key,
    revenue: Key,
    agent: Key,
    locale: Key,
    word: Key,
    duration: Key,
}

impl Visits {
    /// Prepares the table of this many visits to this many pages, at least one.
    pub fn new(seed: u64, pages: u64, visits: u64, urls: Urls) -> Visits {
        let cell_pages =
            (CELL_VISITS as u128 * pages as u128 / visits.max(1) as u128).clamp(1, CELL_PAGES as u128);
        let key = |tag| Key::new(seed, tag);
        Visits {
            urls,
            pages,
            visits,
            cell_pages: cell_pages as u64,
            page: key(b"visPage "),
            address: key(b"sourceIP"),
            date: key(b"visitDat"),
            revenue: key(b"adRevenu"),
            agent: key(b"userAgen"),
            locale: key(b"locale  "),
            word: key(b"searchWo"),
            duration: key(b"duration"),
        }
    }

    /// One column of some rows.
    pub fn column(&self, column: usize, range: Range<u64>) -> ArrayRef {
        match column {
            0 => self.addresses(range),
            1 => self.destinations(range),
            2 => {
                let date = |row| below(self.date.at(row), DAYS) as i32;
                Arc::new(Date32Array::from_iter_values(range.map(date)))
            }
            3 => {
                // 24 bits over 2^24: every such float is exact.
                let revenue = |row| (self.revenue.at(row) >> 40) as f32 * (1.0 / (1 << 24) as f32);
                Arc::new(Float32Array::from_iter_values(range.map(revenue)))
            }
            4 => self.agents(range),
            5 => self.picks(range, self.locale, lists::countries()),
            6 => self.picks(range, self.locale, lists::languages()),
            7 => self.picks(range, self.word, lists::words()),
            8 => {
                let duration = |row| 1 + below(self.duration.at(row), 10) as i32;
                Arc::new(Int32Array::from_iter_values(range.map(duration)))
            }
            _ => panic!("uservisits has no column {column}"),
        }
    }

    fn addresses(&self, range: Range<u64>) -> ArrayRef {
        let rows = (range.end - range.start) as usize;
        let mut strings = Strings::new(rows, rows * 14);
        for row in range {
            let mut bits = self.address.at(row);
            let made = strings.write(|out| write_address(&mut bits, out));
            strings.push_view(made);
        }
        strings.finish()
    }

    fn destinations(&self, range: Range<u64>) -> ArrayRef {
        let rows = (range.end - range.start) as usize;
        // Each run of visits writes its URL once.
        let runs = rows as u64 / (self.visits / self.pages).max(1) + 1;
        let mut strings = Strings::new(rows, runs as usize * 56);
        self.runs(range, |page, n| {
            let url = strings.write(|out| self.urls.write(page, out));
            strings.repeat(url, n);
        });
        strings.finish()
    }

    fn agents(&self, range: Range<u64>) -> ArrayRef {
        let rows = (range.end - range.start) as usize;
        let agents = lists::agents();
        let mut strings = Strings::with_shared(vec![agents.list.buffer.clone()], rows, rows * 5);
        for row in range {
            let bits = self.agent.at(row);
            let made = match agents.pick(bits) {
                Some(listed) => listed,
                None => strings.write(|out| lists::write_random_agent(&mut self.agent.stream(!row), out)),
            };
            strings.push_view(made);
        }
        strings.finish()
    }

    fn picks(&self, range: Range<u64>, key: Key, list: &lists::List) -> ArrayRef {
        let rows = (range.end - range.start) as usize;
        let mut strings = Strings::with_shared(vec![list.buffer.clone()], rows, 0);
        for row in range {
            strings.push_view(list.views[below(key.at(row), list.views.len() as u64) as usize]);
        }
        strings.finish()
    }

    /// Calls `run(page, n)` for each page of these rows in their order, `n` being the page's rows among them.
    pub fn runs(&self, range: Range<u64>, mut run: impl FnMut(u64, usize)) {
        if range.is_empty() {
            return;
        }
        let mut cell = self.cell_of(range.start);
        let mut counts = Vec::new();
        while self.cell_start(cell) < range.end {
            let rows = self.cell_start(cell)..self.cell_start(cell + 1);
            let first = cell * self.cell_pages;
            let pages = self.cell_pages.min(self.pages - first);
            counts.clear();
            counts.resize(pages as usize, 0u64);
            if pages == 1 {
                counts[0] = rows.end - rows.start;
            } else {
                rows.clone().for_each(|visit| counts[below(self.page.at(visit), pages) as usize] += 1);
            }
            let mut start = rows.start;
            for (page, &n) in (first..).zip(&counts) {
                let (from, to) = (start.max(range.start), (start + n).min(range.end));
                if from < to {
                    run(page, (to - from) as usize);
                }
                start += n;
            }
            cell += 1;
        }
    }

    /// The first row of a cell; of the cell after the last: the number of rows.
    fn cell_start(&self, cell: u64) -> u64 {
        let page = (cell as u128 * self.cell_pages as u128).min(self.pages as u128);
        (self.visits as u128 * page / self.pages as u128) as u64
    }

    /// The cell that holds a row.
    fn cell_of(&self, row: u64) -> u64 {
        let mut cell = (row as u128 * self.pages as u128 / self.visits as u128) as u64 / self.cell_pages;
        while self.cell_start(cell + 1) <= row {
            cell += 1;
        }
        cell
    }
}

/// Appends an address drawn from `bits`: 1..254 . 0..254 . 0..254 . 1..254.
#[inline]
pub fn write_address(bits: &mut u64, out: &mut Vec<u8>) {
    let octets = [1 + take(bits, 254), take(bits, 255), take(bits, 255), 1 + take(bits, 254)];
    let mut text = [0u8; 16];
    let mut at = 0;
    for octet in octets {
        let (digits, length) = OCTETS[octet as usize];
        text[at..at + 4].copy_from_slice(&digits);
        at += length as usize;
    }
    // Without the dot behind the last octet.
    out.extend_from_slice(&text[..at - 1]);
}

/// The decimal digits of a byte and a dot, and how many bytes they are.
static OCTETS: [([u8; 4], u8); 256] = {
    let mut table = [([0; 4], 0); 256];
    let mut i = 0;
    while i < 256 {
        let (h, t, u) = (b'0' + (i / 100) as u8, b'0' + (i / 10 % 10) as u8, b'0' + (i % 10) as u8);
        table[i] = if i >= 100 {
            ([h, t, u, b'.'], 4)
        } else if i >= 10 {
            ([t, u, b'.', 0], 3)
        } else {
            ([u, b'.', 0, 0], 2)
        };
        i += 1;
    }
    table
};
