//! Chooses which columns of a table are shown and how wide, for a terminal of some width.

/// A column of text is not made narrower than this to fit more columns.
const NARROW: usize = 12;

/// The width that a column needs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The width of its widest cell, its name included.
    pub widest: usize,
    /// The width below which the column must not be shortened: that of the widest number, or 0. Half a number is a
    /// wrong one.
    pub least: usize,
}

impl Need {
    fn narrowest(&self) -> usize {
        self.widest.min(NARROW.max(self.least))
    }
}

/// Which columns are shown and how wide.
#[derive(Debug, PartialEq, Eq)]
pub struct Fit {
    /// The positions of the columns shown and their widths, in order.
    pub columns: Vec<(usize, usize)>,
    /// How many of `columns` stand before the gap of columns that were left out; `None` if none were.
    pub gap: Option<usize>,
}

/// Fits columns into `width` characters, frame included; `None` is any width.
///
/// Shortens the widest columns first, all to the same width. If that is not enough, leaves out columns in the middle.
/// Shows at least one column, however narrow the terminal.
pub fn fit(needs: &[Need], width: Option<usize>) -> Fit {
    let all: Vec<usize> = (0..needs.len()).collect();
    let Some(width) = width else {
        return Fit { columns: all.iter().map(|&c| (c, needs[c].widest)).collect(), gap: None };
    };
    if frame(all.len()) + all.iter().map(|&c| needs[c].narrowest()).sum::<usize>() <= width {
        return Fit { columns: shorten(needs, &all, width), gap: None };
    }
    // Columns are taken from both ends in turn. The gap is a column of one character.
    let (mut left, mut right) = (0, needs.len());
    let mut used = frame(1) + 1;
    while left < right {
        let column = if left <= needs.len() - right { left } else { right - 1 };
        used += frame(1) - frame(0) + needs[column].narrowest();
        if used > width && left > 0 {
            break;
        }
        match column == left {
            true => left += 1,
            false => right -= 1,
        }
    }
    let shown: Vec<usize> = (0..left).chain(right..needs.len()).collect();
    let columns = shorten(needs, &shown, width.saturating_sub(frame(1) - frame(0) + 1));
    Fit { columns, gap: Some(left) }
}

/// The characters around `n` columns: `│ a │ b │`.
fn frame(n: usize) -> usize {
    3 * n + 1
}

/// The widths of the columns shown: the greatest common bound with which they fit.
fn shorten(needs: &[Need], shown: &[usize], width: usize) -> Vec<(usize, usize)> {
    let at = |bound: usize| shown.iter().map(move |&c| needs[c].widest.min(bound.max(needs[c].narrowest())));
    let fits = |bound: usize| frame(shown.len()) + at(bound).sum::<usize>() <= width;
    let (mut low, mut high) = (0, shown.iter().map(|&c| needs[c].widest).max().unwrap_or(0));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    shown.iter().copied().zip(at(low)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(widest: usize) -> Need {
        Need { widest, least: 0 }
    }

    fn number(widest: usize) -> Need {
        Need { widest, least: widest }
    }

    fn total(fit: &Fit) -> usize {
        let gap = if fit.gap.is_some() { 4 } else { 0 };
        frame(fit.columns.len()) + fit.columns.iter().map(|(_, w)| w).sum::<usize>() + gap
    }

    #[test]
    fn what_fits_is_left_alone() {
        let needs = [text(5), number(7)];
        let whole = Fit { columns: vec![(0, 5), (1, 7)], gap: None };
        assert_eq!(fit(&needs, Some(19)), whole);
        assert_eq!(fit(&needs, None), whole);
        assert_eq!(fit(&[], Some(10)), Fit { columns: vec![], gap: None });
    }

    #[test]
    fn the_widest_text_is_shortened_first_and_numbers_never() {
        let fitted = fit(&[text(100), number(20), text(30), text(15)], Some(90));
        assert_eq!(fitted, Fit { columns: vec![(0, 21), (1, 20), (2, 21), (3, 15)], gap: None });
        assert!(total(&fitted) <= 90);
    }

    #[test]
    fn columns_in_the_middle_are_left_out() {
        let fitted = fit(&[number(10); 20], Some(60));
        let shown: Vec<usize> = fitted.columns.iter().map(|(c, _)| *c).collect();
        assert_eq!(shown, [0, 1, 18, 19]);
        assert_eq!(fitted.gap, Some(2));
        assert!(total(&fitted) <= 60);
    }

    #[test]
    fn one_column_is_always_shown() {
        let fitted = fit(&[number(30), text(50)], Some(10));
        assert_eq!(fitted, Fit { columns: vec![(0, 30)], gap: Some(1) });
        let fitted = fit(&[text(50)], Some(5));
        assert_eq!(fitted.columns, [(0, 12)]);
    }

    #[test]
    fn every_width_is_kept_where_it_can_be() {
        for width in 40..200 {
            for n in 1..30 {
                let needs: Vec<Need> = (0..n)
                    .map(|i| if i % 3 == 0 { number(1 + i * 7 % 19) } else { text(1 + i * 13 % 70) })
                    .collect();
                let fitted = fit(&needs, Some(width));
                assert!(total(&fitted) <= width, "{n} columns in {width}: {fitted:?}");
            }
        }
    }
}
