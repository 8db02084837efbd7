//! The first line that a process sends the coordinator, with its version: `palais process 0.1.0 (c68be9eb0a2d)`.
//!
//! The process writes it before it reads anything of the coordinator, and the form of the line never changes. So the
//! coordinator knows a process of another version, whatever else that version changes.

use std::io::{self, Read, Write};

/// The bytes before the version.
const BEFORE: &[u8] = b"palais process ";

/// The longest line, in bytes, with its end.
const LONGEST: usize = 200;

/// Writes the line with the version.
///
/// # Errors
/// Errors of the writer, and a version that is no short text of one line.
pub fn write(out: &mut impl Write, version: &str) -> io::Result<()> {
    let line = [BEFORE, version.as_bytes(), b"\n"].concat();
    if line.len() > LONGEST || version.contains(|c: char| c.is_control()) {
        return Err(io::Error::other("the version is no short line"));
    }
    out.write_all(&line)?;
    out.flush()
}

/// The first line of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstLine {
    /// The process is palais, of this version.
    Version(String),
    /// The process is something else, and sends this.
    Other(String),
    /// The output ended before any byte.
    Over,
}

/// Reads the first line of a process, and no byte behind it.
pub fn read(from: &mut impl Read) -> FirstLine {
    let mut line = Vec::new();
    let is_whole = loop {
        let mut byte = [0];
        match from.read(&mut byte) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Ok(1) if byte[0] != b'\n' => line.push(byte[0]),
            Ok(1) => break true,
            _ => break false,
        }
        if line.len() >= LONGEST {
            break false;
        }
    };
    let version = line.strip_prefix(BEFORE).filter(|_| is_whole);
    let version = version.and_then(|version| std::str::from_utf8(version).ok());
    match version {
        Some(version) if !version.contains(|c: char| c.is_control()) => FirstLine::Version(version.into()),
        _ if line.is_empty() && !is_whole => FirstLine::Over,
        _ => FirstLine::Other(line.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read, and what is left.
    fn told(bytes: &[u8]) -> (FirstLine, usize) {
        let mut rest = bytes;
        (read(&mut rest), rest.len())
    }

    #[test]
    fn the_line_is_that_of_all_versions() {
        let mut bytes = Vec::new();
        write(&mut bytes, "0.1.0 (c68be9eb0a2d)").unwrap();
        assert_eq!(bytes, b"palais process 0.1.0 (c68be9eb0a2d)\n");
        bytes.extend(b"what follows");
        assert_eq!(told(&bytes), (FirstLine::Version("0.1.0 (c68be9eb0a2d)".into()), 12));
        assert!(write(&mut bytes, "1\n2").is_err() && write(&mut bytes, &"1".repeat(LONGEST)).is_err());
    }

    #[test]
    fn what_others_tell_is_shown() {
        let other = |text: &str| FirstLine::Other(text.to_string());
        assert_eq!(told(b""), (FirstLine::Over, 0));
        assert_eq!(told(b"Welcome!\nto"), (other("Welcome!"), 2));
        assert_eq!(told(b"\n"), (other(""), 0));
        assert_eq!(told(b"palais process 1.0"), (other("palais process 1.0"), 0));
        assert_eq!(told(b"palais process \x1b[2J\n"), (other("palais process \\x1b[2J"), 0));
        assert_eq!(told(b"palais process \xff\n"), (other("palais process \\xff"), 0));
        assert_eq!(told(&[b'a'; LONGEST + 5]), (other(&"a".repeat(LONGEST)), 5));
    }
}
