//! UUIDs, which are text here: 32 hexadecimal digits in lower case, with dashes behind the 8th, 12th, 16th and 20th.

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_err};

use super::arguments::Call;
use super::{Own, ResultType, Takes};

/// The cast of text to a UUID. A name with a space is none that a user could write.
pub const CAST: &str = "cast to uuid";
/// The same, where text that is none becomes NULL.
pub const TRY_CAST: &str = "try_cast to uuid";

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: CAST,
        takes: &[&[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: |call| cast(call, false),
    },
    Own {
        name: TRY_CAST,
        takes: &[&[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| cast(call, true),
    },
];

fn cast(call: &Call, safe: bool) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        match push_uuid(text, out) {
            true => Ok(true),
            false if safe => Ok(false),
            false => exec_err!("Cannot cast string '{text}' to value of UUID type"),
        }
    })
}

/// Appends the UUID that a text says: its digits in either case, with any dashes, and braces around them or not.
fn push_uuid(text: &str, out: &mut String) -> bool {
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}'),
        None => Some(text),
    };
    let Some(bare) = bare else { return false };
    let mut digits = 0;
    for c in bare.chars() {
        match c {
            '-' => continue,
            c if c.is_ascii_hexdigit() && digits < 32 => {
                if matches!(digits, 8 | 12 | 16 | 20) {
                    out.push('-');
                }
                out.push(c.to_ascii_lowercase());
                digits += 1;
            }
            _ => return false,
        }
    }
    digits == 32
}
