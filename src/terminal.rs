//! What the terminal is like.

use std::io::IsTerminal;

use session::writers::TableOptions;

/// The rows of a table that goes to a terminal: the first and the last half of so many.
const SHOWN_ROWS: usize = 40;

/// How a table on standard output is shown: fitted to the terminal, or in its full width where it goes elsewhere.
pub fn table_options() -> TableOptions {
    let usual = TableOptions::default();
    if !std::io::stdout().is_terminal() {
        return usual;
    }
    let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    TableOptions { width: Some(width()), max_rows: SHOWN_ROWS, color, ..usual }
}

/// The characters in a line of the terminal; 80 where it does not say.
fn width() -> usize {
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()) {
        return columns;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes a winsize to the place given, which is one.
    let known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    if known && size.ws_col > 0 { usize::from(size.ws_col) } else { 80 }
}
