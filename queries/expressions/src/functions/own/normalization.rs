//! Forms of Unicode (UAX #15): characters that are written in several ways in one of them, and without their marks.

use arrow_array::ArrayRef;
use datafusion_common::Result;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

use super::arguments::Call;
use super::{Own, ResultType, Takes};

const COMPOSING: ComposingNormalizerBorrowed = ComposingNormalizerBorrowed::new_nfc();
const DECOMPOSING: DecomposingNormalizerBorrowed = DecomposingNormalizerBorrowed::new_nfd();

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "nfc_normalize",
        takes: &[&[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: nfc,
    },
    Own {
        name: "strip_accents",
        takes: &[&[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: strip_accents,
    },
];

fn nfc(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        out.push_str(&COMPOSING.normalize(text));
        Ok(true)
    })
}

fn strip_accents(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let categories = CodePointMapData::<GeneralCategory>::new();
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        if text.is_ascii() {
            out.push_str(text);
            return Ok(true);
        }
        let bare: String = DECOMPOSING
            .normalize_iter(text.chars())
            .filter(|c| !GeneralCategoryGroup::Mark.contains(categories.get(*c)))
            .collect();
        out.push_str(&COMPOSING.normalize(&bare));
        Ok(true)
    })
}
