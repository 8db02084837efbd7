//! The size of the terminal, and how tables fit it.

use std::io::IsTerminal;

use session::writers::TableOptions;

/// The most rows of a table that goes to a terminal: the first and the last half of them.
const SHOWN_ROWS: usize = 40;

/// The options of a table on standard output. On a terminal the table is fitted to it, elsewhere it has its full width.
pub fn table_options() -> TableOptions {
    let usual = TableOptions::default();
    if !std::io::stdout().is_terminal() {
        return usual;
    }
    let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    TableOptions { width: Some(width()), max_rows: SHOWN_ROWS, color, ..usual }
}

/// The characters in a line of the terminal; 80 if it does not say.
fn width() -> usize {
    size().1
}

/// The lines of the terminal, and the characters in a line; 24 and 80 if it does not say.
pub fn size() -> (usize, usize) {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes a winsize to the place given, which is one; where it fails both are 0.
    unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    let side = |variable: &str, told: u16, usual: usize| {
        let set = std::env::var(variable).ok().and_then(|text| text.parse().ok());
        set.or(Some(told.into())).filter(|side| *side > 0).unwrap_or(usual)
    };
    (side("LINES", size.ws_row, 24), side("COLUMNS", size.ws_col, 80))
}
