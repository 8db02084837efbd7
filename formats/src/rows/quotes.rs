//! The automaton of quotes in csv, and what a range of bytes does to each of its states.
//!
//! A quote opens only at the beginning of a field; inside, two quotes are one, and a single one closes. Everywhere
//! else a quote is a byte like any other.

/// The bytes that the automaton looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Between fields.
    pub delimiter: u8,
    /// Around fields.
    pub quote: u8,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// At the first byte of a record.
    RecordStart,
    /// At the first byte of a field that is not the first.
    FieldStart,
    /// In a field, outside quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Behind a quote inside quotes: it closed, or this is the second of a pair.
    QuoteInQuoted,
}

use State::{FieldStart, QuoteInQuoted, Quoted, RecordStart, Unquoted};

/// All states, in the order of their numbers.
const STATES: [State; 5] = [RecordStart, FieldStart, Unquoted, Quoted, QuoteInQuoted];

impl State {
    /// The state behind one more byte.
    #[inline]
    pub fn step(self, byte: u8, marks: Marks) -> State {
        match self {
            Quoted if byte == marks.quote => QuoteInQuoted,
            Quoted => Quoted,
            QuoteInQuoted | RecordStart | FieldStart if byte == marks.quote => Quoted,
            _ if byte == b'\n' => RecordStart,
            _ if byte == marks.delimiter => FieldStart,
            _ => Unquoted,
        }
    }

    /// The state behind these bytes; visits little but the quotes among them.
    pub fn advance(mut self, bytes: &[u8], marks: Marks) -> State {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self {
                RecordStart | FieldStart | QuoteInQuoted => {
                    self = self.step(rest[0], marks);
                    at += 1;
                }
                Quoted => match memchr::memchr(marks.quote, rest) {
                    None => return Quoted,
                    Some(quote) => {
                        self = QuoteInQuoted;
                        at += quote + 1;
                    }
                },
                Unquoted => {
                    // A quote counts only behind a delimiter or a newline. The first byte of `rest` is in a field.
                    let opening = memchr::memchr_iter(marks.quote, rest).find(|&quote| {
                        quote > 0 && matches!(rest[quote - 1], b if b == b'\n' || b == marks.delimiter)
                    });
                    match opening {
                        None => return Unquoted.step(rest[rest.len() - 1], marks),
                        Some(quote) => {
                            self = Quoted;
                            at += quote + 1;
                        }
                    }
                }
            }
        }
        self
    }
}

/// What a range of bytes does: for each state before it the state behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition([State; 5]);

impl Transition {
    /// What no bytes do.
    pub fn identity() -> Transition {
        Transition(STATES)
    }

    /// What bytes do that were seen to end in this state.
    pub fn to(state: State) -> Transition {
        Transition([state; 5])
    }

    /// What bytes do where every newline ends a record.
    pub fn of_lines(bytes: &[u8]) -> Transition {
        match bytes.last() {
            None => Transition::identity(),
            Some(b'\n') => Transition([RecordStart; 5]),
            Some(_) => Transition([Unquoted; 5]),
        }
    }

    /// As numbers of states.
    pub fn numbers(&self) -> [u8; 5] {
        self.0.map(|state| state as u8)
    }

    /// What [`Transition::numbers`] gave; `None` for other numbers.
    pub fn of_numbers(numbers: [u8; 5]) -> Option<Transition> {
        let mut states = STATES;
        for (state, number) in states.iter_mut().zip(numbers) {
            *state = *STATES.get(usize::from(number))?;
        }
        Some(Transition(states))
    }

    /// The state behind the range.
    pub fn apply(&self, before: State) -> State {
        self.0[before as usize]
    }

    /// Adds bytes at the end of the range.
    pub fn extend(&mut self, bytes: &[u8], marks: Marks) {
        let Some((&first, rest)) = bytes.split_first() else { return };
        // Behind one byte most states are the same, so the rest is mostly scanned twice and not five times.
        let mut known = [None; 5];
        for state in &mut self.0 {
            let next = state.step(first, marks);
            *state = *known[next as usize].get_or_insert_with(|| next.advance(rest, marks));
        }
    }
}

/// Where the first record begins in bytes before which the automaton is in `state`: behind a newline that ends a
/// record, or at once. If there is none, the state behind the bytes.
pub fn first_record(mut state: State, bytes: &[u8], marks: Marks) -> Result<usize, State> {
    if marks.quote == b'\n' && state != RecordStart {
        // Nothing is quoted, so that any newline is the one.
        return match memchr::memchr(b'\n', bytes).map(|newline| newline + 1) {
            Some(at) if at < bytes.len() => Ok(at),
            Some(_) => Err(RecordStart),
            None if bytes.is_empty() => Err(state),
            None => Err(Unquoted),
        };
    }
    for (i, &byte) in bytes.iter().enumerate() {
        if state == RecordStart {
            return Ok(i);
        }
        state = state.step(byte, marks);
    }
    Err(state)
}

/// Bytes after which [`last_record`] notes the state.
const STRIDE: usize = 16 << 10;

/// Where the last record begins, or where one would, in bytes that begin with a record: behind the last newline that
/// ends one.
pub fn last_record(bytes: &[u8], marks: Marks) -> Option<usize> {
    let end = memchr::memrchr(b'\n', bytes)? + 1;
    let mut states = vec![RecordStart];
    for stride in bytes[..end].chunks(STRIDE) {
        states.push(states[states.len() - 1].advance(stride, marks));
    }
    if states.pop() == Some(RecordStart) {
        return Some(end);
    }
    // The newline is quoted: the last one that is not lies further to the front.
    for (number, (stride, mut state)) in bytes[..end].chunks(STRIDE).zip(states).enumerate().rev() {
        let mut last = None;
        for (byte, behind) in stride.iter().zip(1..) {
            state = state.step(*byte, marks);
            last = if state == RecordStart { Some(behind) } else { last };
        }
        if let Some(behind) = last {
            return Some(number * STRIDE + behind);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks { delimiter: b',', quote: b'"' };

    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let mut seed = 7u64;
        (0..3000).map(move |i| {
            (0..i % 40)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    b"\"\"\",\n\raab"[(seed >> 33) as usize % 9]
                })
                .collect()
        })
    }

    #[test]
    fn advance_agrees_with_single_steps() {
        for text in texts() {
            for state in STATES {
                let slow = text.iter().fold(state, |s, &b| s.step(b, MARKS));
                assert_eq!(
                    state.advance(&text, MARKS),
                    slow,
                    "{state:?} {:?}",
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }

    #[test]
    fn the_last_record_begins_behind_the_last_newline_outside_quotes() {
        for text in texts().chain([[vec![b'"'; STRIDE * 2 + 1], b"\n".repeat(STRIDE)].concat()]) {
            let mut state = RecordStart;
            let mut last = None;
            for (byte, behind) in text.iter().zip(1..) {
                state = state.step(*byte, MARKS);
                last = if state == RecordStart { Some(behind) } else { last };
            }
            assert_eq!(last_record(&text, MARKS), last, "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn transitions_compose() {
        for text in texts() {
            let cut = text.len() / 3;
            let mut transition = Transition::identity();
            transition.extend(&text[..cut], MARKS);
            transition.extend(&text[cut..], MARKS);
            for state in STATES {
                assert_eq!(transition.apply(state), state.advance(&text, MARKS));
            }
        }
    }
}
