//! The lists that values are picked from, as views over one buffer each, so that a pick copies 16 bytes.

use std::sync::OnceLock;

use arrow_buffer::Buffer;

use super::agents::{Agent, all_agents};
use super::random::{Stream, take};
use super::strings::view;

/// A list of strings.
#[derive(Debug)]
pub struct List {
    /// The bytes of all strings.
    pub buffer: Buffer,
    /// The views of the strings, long ones in buffer 0.
    pub views: Vec<u128>,
}

impl List {
    fn new<'a>(strings: impl Iterator<Item = &'a str>) -> List {
        let (mut bytes, mut views) = (Vec::new(), Vec::new());
        for string in strings {
            views.push(view(string.as_bytes(), 0, bytes.len() as u32));
            bytes.extend_from_slice(string.as_bytes());
        }
        List { buffer: Buffer::from_vec(bytes), views }
    }
}

/// The locales: a country of three letters, a hyphen, a language of two.
const LOCALES: &str = include_str!("locales.txt");

/// A thousand words of an English dictionary.
const WORDS: &str = include_str!("words.txt");

/// The country codes, one for each locale, so that country and language of a row go together.
pub fn countries() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List::new(LOCALES.lines().map(|locale| &locale[..3])))
}

/// The language codes, in the order of [`countries`].
pub fn languages() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List::new(LOCALES.lines()))
}

/// The search words.
pub fn words() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List::new(WORDS.lines()))
}

/// The search words as text, for documents.
pub fn word_texts() -> &'static [&'static str] {
    static LIST: OnceLock<Vec<&'static str>> = OnceLock::new();
    LIST.get_or_init(|| WORDS.lines().collect())
}

/// Of a hundred visits, those whose user agent is not in the list.
const RANDOM_AGENTS: u64 = 24;

/// The places that the listed agents share, each about as many as its weight asks for.
const SLOTS: usize = 1 << 14;

/// The listed user agents with their weights.
#[derive(Debug)]
pub struct Agents {
    /// The agents.
    pub list: List,
    slots: Vec<u16>,
}

impl Agents {
    fn new(agents: &[Agent]) -> Agents {
        let list = List::new(agents.iter().map(|agent| agent.text.as_str()));
        // Each agent gets one slot, and the remaining ones are divided by weight.
        let total: f64 = agents.iter().map(|agent| agent.weight).sum();
        let spare = (SLOTS - agents.len()) as f64;
        let (mut slots, mut sum) = (Vec::with_capacity(SLOTS), 0.0);
        for (i, agent) in agents.iter().enumerate() {
            sum += agent.weight;
            let end = i + 1 + (spare * (sum / total) + 0.5) as usize;
            slots.resize(end.min(SLOTS), i as u16);
        }
        Agents { list, slots }
    }

    /// The view of an agent of the list (long ones in buffer 0), or nothing where a random one is due.
    #[inline]
    pub fn pick(&self, mut bits: u64) -> Option<u128> {
        if take(&mut bits, 100) < RANDOM_AGENTS {
            return None;
        }
        let slot = take(&mut bits, self.slots.len() as u64);
        Some(self.list.views[self.slots[slot as usize] as usize])
    }
}

/// The user agents.
pub fn agents() -> &'static Agents {
    static AGENTS: OnceLock<Agents> = OnceLock::new();
    AGENTS.get_or_init(|| Agents::new(&all_agents()))
}

/// Appends a random user agent: `[A-Z][a-z]{4,23}/d.d`.
pub fn write_random_agent(stream: &mut Stream, out: &mut Vec<u8>) {
    let mut text = [0u8; 28];
    let mut bits = stream.next();
    let letters = 4 + take(&mut bits, 20) as usize;
    let version = [b'0' + take(&mut bits, 10) as u8, b'.', b'0' + take(&mut bits, 10) as u8];
    text[0] = b'A' + take(&mut bits, 26) as u8;
    for run in text[1..=letters].chunks_mut(10) {
        let mut bits = stream.next();
        run.iter_mut().for_each(|letter| *letter = b'a' + take(&mut bits, 26) as u8);
    }
    text[letters + 1] = b'/';
    text[letters + 2..letters + 5].copy_from_slice(&version);
    out.extend_from_slice(&text[..letters + 5]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lists_are_whole_and_distinct() {
        assert_eq!(WORDS.lines().collect::<HashSet<_>>().len(), 1000);
        assert!(WORDS.lines().all(|w| w.len() >= 3 && w.bytes().all(|b| b.is_ascii_lowercase())));
        assert!(LOCALES.lines().all(|l| l.len() == 6 && l.as_bytes()[3] == b'-'));
        assert_eq!(countries().views.len(), languages().views.len());
    }

    #[test]
    fn every_agent_has_a_slot_and_none_needs_quotes() {
        let agents = agents();
        assert_eq!(agents.slots.len(), SLOTS);
        let used: HashSet<_> = agents.slots.iter().collect();
        assert_eq!(used.len(), agents.list.views.len());
        let texts = all_agents();
        assert!((1_900..2_100).contains(&texts.len()), "{}", texts.len());
        assert_eq!(texts.iter().map(|a| &a.text).collect::<HashSet<_>>().len(), texts.len());
        for agent in &texts {
            assert!(agent.text.bytes().all(|b| (b' '..0x7f).contains(&b) && b != b',' && b != b'"'));
            assert!(agent.text.len() < 256);
        }
    }
}
