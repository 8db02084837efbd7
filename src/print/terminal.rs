//! What standard output is.

use std::ffi::OsString;
use std::io::IsTerminal;

use super::table::TableOptions;

/// Rows of a table that are shown on a terminal.
const ROWS_ON_TERMINAL: usize = 40;

/// Rows of a table that are shown elsewhere. A table is kept in memory until its widths are known: csv has no bound.
const ROWS_ELSEWHERE: usize = 10_000;

/// The width of a terminal that does not tell it.
const WIDTH: usize = 80;

impl TableOptions {
    /// How a table is shown on standard output.
    pub fn for_standard_output() -> TableOptions {
        match std::io::stdout().is_terminal() {
            true => on_terminal(width(), |name| std::env::var_os(name)),
            false => TableOptions::for_file(),
        }
    }

    /// How a table is shown in a file or a pipe: every column whole, without colours.
    pub fn for_file() -> TableOptions {
        TableOptions { width: None, max_rows: ROWS_ELSEWHERE, color: false, unicode: true }
    }
}

/// How a table is shown on a terminal of a width, by the environment's variables.
fn on_terminal(width: Option<usize>, variable: impl Fn(&str) -> Option<OsString>) -> TableOptions {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let columns = || set("COLUMNS")?.to_str()?.parse().ok().filter(|columns| *columns > 0);
    // The first of these that is set is the locale's character set (POSIX, 8.2).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.map(|l| l.to_string_lossy().to_lowercase().replace('-', ""));
    TableOptions {
        width: Some(width.or_else(columns).unwrap_or(WIDTH)),
        max_rows: ROWS_ON_TERMINAL,
        // https://no-color.org: any value that is not empty.
        color: set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
        unicode: locale.is_some_and(|l| l.contains("utf8")),
    }
}

/// The width of the terminal that is standard output.
fn width() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request fills in the structure that is passed, which lives for the length of the call.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    (result == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> TableOptions {
        on_terminal(None, |name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_environment_decides() {
        let plain = with(&[]);
        assert_eq!((plain.width, plain.color, plain.unicode), (Some(80), true, false));
        assert!(with(&[("LANG", "de_DE.UTF-8")]).unicode);
        assert!(!with(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]).unicode);
        assert!(with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).unicode);
        assert!(!with(&[("NO_COLOR", "1")]).color && with(&[("NO_COLOR", "")]).color);
        assert!(!with(&[("TERM", "dumb")]).color);
        assert_eq!(with(&[("COLUMNS", "120")]).width, Some(120));
        assert_eq!(on_terminal(Some(99), |_| Some("7".into())).width, Some(99));
    }
}
