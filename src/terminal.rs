//! What the terminal is like.

use std::io::IsTerminal;

use crate::print::TableOptions;

/// The rows of a table that goes to a terminal: the first and the last half of so many.
const SHOWN_ROWS: usize = 40;

/// The rows of one that goes elsewhere. A table is held whole until its widths are known, so that there must be an end.
const WRITTEN_ROWS: usize = 10_000;

/// How a table is shown: fitted to the terminal, or in its full width where it goes elsewhere.
pub fn table_options(to_stdout: bool) -> TableOptions {
    let terminal = to_stdout && std::io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|n| std::env::var(n).ok()).find(|v| !v.is_empty());
    let utf8 = locale.is_some_and(|l| l.to_ascii_lowercase().replace('-', "").contains("utf8"));
    TableOptions {
        width: terminal.then(width),
        max_rows: if terminal { SHOWN_ROWS } else { WRITTEN_ROWS },
        color: terminal && !set("NO_COLOR"),
        unicode: utf8,
    }
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
