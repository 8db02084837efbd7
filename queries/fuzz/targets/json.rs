//! What functions of JSON read: a path in the first line, and a text behind it.

use expressions::functions::json::path::Path;
use expressions::functions::json::reader::Reader;
use expressions::functions::json::tape::Tape;
use expressions::functions::json::writer::{is_normal, normal};

/// Follows a path through a text, in one pass and through all of its values. It panics if these don't agree, or if the normal
/// form of the text is none.
pub fn check(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes);
    let (path, text) = input.split_once('\n').unwrap_or(("$", &input));
    let whole = Reader::whole(text);
    let tape = Tape::of(text);
    assert_eq!(whole.as_ref().err(), tape.as_ref().err(), "one of both readers takes it");
    let path = Path::of(path).ok();
    if let Some(path) = &path {
        assert_eq!(whole.as_ref().err(), path.find(text).as_ref().err(), "what follows a path is read");
    }
    let (Ok(whole), Ok(tape)) = (whole, tape) else { return };
    assert_eq!(tape.range(0), whole);

    let value = &text[whole];
    let mut written = String::new();
    normal(value, &mut written);
    assert_eq!(Reader::whole(&written), Ok(0..written.len()), "the normal form is JSON");
    let mut again = String::new();
    normal(&written, &mut again);
    assert_eq!(written, again, "there is one normal form");
    assert!(!is_normal(value) || value == written, "what is normal is written as it is");

    let Some(path) = path else { return };
    // Beyond a bound it is an error.
    let Ok(all) = path.all(&tape) else { return };
    if !path.is_wild() {
        let found = path.find(text).ok().flatten();
        assert_eq!(found, all.first().map(|value| tape.range(*value)), "both ways lead to one value");
    }
}
