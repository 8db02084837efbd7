//! `documents`: crawled pages, a line of text a row.
//!
//! A page begins with a line of five tokens, `http://URL IP DATE TYPE LENGTH`, DATE being 14 digits and LENGTH the
//! bytes of the lines that follow. These are 20 to 200 lines of 5 to 15 words each. Among the words lie 5 to 40 links
//! `http://URL`, never at the beginning of a line. So only a page's first line looks like one.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::links::Links;
use super::lists::word_texts;
use super::random::{Key, Stream, take};
use super::strings::{Strings, view};
use super::url::{MAX_LENGTH, MIN_LENGTH, Urls};
use super::visits::write_address;

const LINES: Range<u64> = 20..201;
const LINKS: Range<u64> = 5..41;
const WORDS: Range<u64> = 5..16;
const SCHEME: &[u8] = b"http://";
const TYPES: [&str; 4] = ["text/html", "text/html", "text/html", "text/plain"];

/// The mean length of a page in bytes, line ends included.
pub fn mean_page_bytes() -> f64 {
    let mean = |range: Range<u64>| (range.start + range.end - 1) as f64 / 2.0;
    let words = word_texts();
    let word = words.iter().map(|w| w.len()).sum::<usize>() as f64 / words.len() as f64 + 1.0;
    let url = (SCHEME.len() + 1) as f64 + (MIN_LENGTH + MAX_LENGTH) as f64 / 2.0;
    let body = mean(LINES) * mean(WORDS) * word + mean(LINKS) * url;
    // Address, date, type and length with a blank or line end behind each.
    let first = url + 14.0 + 15.0 + 10.25 + 6.0;
    first + body
}

/// The number of pages that take about this many bytes.
pub fn pages(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { ((bytes as f64 / mean_page_bytes() + 0.5) as u64).max(1) }
}

/// Makes the lines of documents.
#[derive(Debug, Clone)]
pub struct Documents {
    urls: Urls,
    pages: u64,
    links: Links,
    text: Key,
}

impl Documents {
    /// Prepares documents that link to this many pages, at least one.
    pub fn new(seed: u64, pages: u64, urls: Urls) -> Documents {
        Documents { urls, pages, links: Links::new(pages), text: Key::new(seed, b"document") }
    }

    /// The number of lines of these pages, and the column `line` as often as `projection` asks for it.
    pub fn columns(&self, range: Range<u64>, projection: &[usize]) -> (usize, Vec<ArrayRef>) {
        assert!(projection.iter().all(|&c| c == 0), "documents has one column");
        if projection.is_empty() {
            let lines = |page| 1 + self.shape(page).0 as usize;
            return (range.map(lines).sum(), Vec::new());
        }
        let pages = (range.end - range.start) as usize;
        let mut strings = Strings::new(pages * 112, pages * mean_page_bytes() as usize * 5 / 4);
        for page in range {
            self.write_page(page, &mut strings);
        }
        let rows = strings.len();
        let lines = strings.finish();
        (rows, projection.iter().map(|_| lines.clone()).collect())
    }

    /// The lines and links of a page, and the stream that its text is drawn from.
    fn shape(&self, page: u64) -> (u64, u64, Stream) {
        let mut stream = self.text.stream(page);
        let lines = LINES.start + stream.below(LINES.end - LINES.start);
        let links = LINKS.start + stream.below(LINKS.end - LINKS.start);
        (lines, links, stream)
    }

    fn write_page(&self, page: u64, strings: &mut Strings) {
        let (lines, links, mut stream) = self.shape(page);
        let mut links_of_line = [0u8; LINES.end as usize];
        for _ in 0..links {
            links_of_line[stream.below(lines) as usize] += 1;
        }
        // The first line names the length of what follows, so that it is made last.
        let first = strings.len();
        strings.push_view(view(b"", 0, 0));
        let mut length = 0;
        for &links in &links_of_line[..lines as usize] {
            let line = strings.write(|out| self.write_line(links, &mut stream, out));
            length += line as u32 as u64 + 1;
            strings.push_view(line);
        }
        let line = strings.write(|out| self.write_first(page, length, &mut stream, out));
        strings.set_view(first, line);
    }

    /// `http://URL IP DATE TYPE LENGTH`. The crawl takes the pages in the order of rankings, again and again.
    fn write_first(&self, page: u64, length: u64, stream: &mut Stream, out: &mut Vec<u8>) {
        out.extend_from_slice(SCHEME);
        self.urls.write(page % self.pages, out);
        out.push(b' ');
        write_address(&mut stream.next(), out);
        let mut bits = stream.next();
        let mut next = |n| take(&mut bits, n);
        let date = [2012, 1 + next(4), 1 + next(28), next(24), next(60), next(60)]
            .into_iter()
            .fold(0, |digits, field| digits * 100 + field);
        let kind = TYPES[next(TYPES.len() as u64) as usize];
        out.extend_from_slice(format!(" {date} {kind} {length}").as_bytes());
    }

    fn write_line(&self, links: u8, stream: &mut Stream, out: &mut Vec<u8>) {
        let words = word_texts();
        let mut bits = stream.next();
        let count = WORDS.start + take(&mut bits, WORDS.end - WORDS.start);
        // The links of a line stand together, behind one of its words.
        let place = take(&mut bits, count);
        for i in 0..count {
            if i > 0 {
                out.push(b' ');
            }
            // Three picks of a thousand from one number of 64 bits leave 34 of them.
            if i % 3 == 0 {
                bits = stream.next();
            }
            out.extend_from_slice(words[take(&mut bits, words.len() as u64) as usize].as_bytes());
            if i == place {
                for _ in 0..links {
                    out.push(b' ');
                    out.extend_from_slice(SCHEME);
                    self.urls.write(self.links.target(stream), out);
                }
            }
        }
    }
}
