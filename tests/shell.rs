//! `palais shell` on a terminal, and with a script on standard input.

#[path = "support/process.rs"]
mod process;
#[path = "support/terminal.rs"]
mod terminal;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use process::run;
use tempfile::TempDir;
use terminal::Terminal;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// palais in this directory, with nothing of the user's own.
fn palais(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    command.args(arguments).current_dir(home).env("HOME", home).env("PAGER", "");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "PALAIS_PAGER", "LESS", "NO_COLOR", "LINES", "COLUMNS"]
    {
        command.env_remove(name);
    }
    command
}

/// A shell that waits for the first statement.
fn shell(command: &mut Command) -> Terminal {
    let mut shell = Terminal::start(command, 24, 80);
    shell.until("palais> ");
    shell
}

fn leave(mut shell: Terminal) {
    shell.send(CTRL_D);
    let (status, shown) = shell.end();
    assert_eq!(status.code(), Some(0), "{shown}");
}

#[test]
fn statements_are_run_as_they_are_typed() {
    let home = home();
    let mut shell = shell(&mut palais(home.path(), &[]));
    shell.send("CREATE TEMP TABLE t AS\rSELECT range AS n,\r'x;y' AS s FROM range(40);\r");
    shell.until("(40 rows");
    shell.send("SELECT sum(n) AS total FROM t; SELECT max(n) + 1000 FROM t;\r");
    let shown = shell.until("1039");
    assert!(shown.contains("total") && shown.contains("780"), "{shown}");
    shell.until("palais> ");
    // What was not ended goes on, and what was typed is left with Ctrl-C.
    shell.send("SELECT 1\r");
    shell.send(CTRL_C);
    shell.send("SELECT 40 + 2;\r");
    shell.until("42");
    leave(shell);
}

#[test]
fn an_error_has_a_mark_and_does_not_end_the_shell() {
    let home = home();
    let mut shell = shell(&mut palais(home.path(), &["shell"]));
    shell.send("SELECT nme FROM (VALUES (1)) t(name);\r");
    shell.until("error: there is no column 'nme'");
    shell.until("\n         ^^^\n");
    shell.send("SELECT 1 +;\r");
    shell.until("error: SQL syntax");
    shell.until("^");
    shell.send("SELECT 9223372036854775807 + 1;\r");
    shell.until("error: overflow");
    shell.send(".nothing\r");
    shell.until("there is no command .nothing");
    shell.send("SELECT 40 + 2;\r");
    shell.until("42");
    leave(shell);
}

#[test]
fn an_interrupt_cancels_the_query() {
    let home = home();
    let mut shell = shell(&mut palais(home.path(), &["shell"]));
    for _ in 0..2 {
        shell.send(
            "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range + b.range < 0;\r",
        );
        // The bar shows that it runs.
        shell.until(" left");
        shell.send(CTRL_C);
        shell.until("interrupted");
        shell.until("palais> ");
    }
    shell.send("SELECT 40 + 2;\r");
    shell.until("42");
    leave(shell);
}

#[test]
fn what_was_typed_is_there_the_next_time() {
    let home = home();
    let mut first = shell(&mut palais(home.path(), &["shell"]));
    first.send("SELECT 40 +\r2;\r");
    first.until("42");
    first.until("palais> ");
    leave(first);
    let history = home.path().join(".local/state/palais/history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let mut second = shell(&mut palais(home.path(), &["shell"]));
    second.send(UP);
    second.until("2;");
    second.send("\r");
    second.until("42");
    leave(second);
}

#[test]
fn tab_completes_words_tables_columns_and_paths() {
    let home = home();
    fs::write(home.path().join("visits.csv"), "page,seconds\na,40\nb,2\n").unwrap();
    let mut shell = shell(&mut palais(home.path(), &["shell", "--table", "visits=visits.csv"]));
    shell.send("SEL\t sum(seconds) FROM vis\t;\r");
    shell.until("42");
    shell.until("palais> ");
    shell.send("select max(secon\t) + 1000 from 'vis\t';\r");
    shell.until("1040");
    shell.until("palais> ");
    shell.send("SELECT 1000 + min(sec");
    shell.send("\x01\x05");
    shell.send("onds) FROM visits;\r");
    shell.until("1002");
    leave(shell);
}

#[test]
fn commands_show_and_change_what_they_say() {
    let home = home();
    let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    write("t.csv", "a,b\n1,x\n");
    write("more.sql", "-- a script\n.mode csv\nSELECT a + 41 AS\n  answer FROM t;\n.mode auto\n");
    fs::create_dir(home.path().join("below")).unwrap();
    let mut shell = shell(&mut palais(home.path(), &["shell", "--table", "t=t.csv"]));
    let mut says = |line: &str, expected: &str| {
        shell.send(line);
        shell.send("\r");
        shell.until(expected);
        shell.until("palais> ");
    };
    says(".help", ".maxrows N");
    says(".tables", "│ t ");
    says("CREATE VIEW v AS SELECT a AS only FROM t;", "\n");
    says(".schema t", "a BIGINT");
    says("\\d v", "CREATE VIEW v (only)");
    says(".read more.sql", "answer\n42\n");
    says(".timer off", "\n");
    says(".width 20; ", "\n");
    says(".maxrows 4", "\n");
    says("SELECT range FROM range(100);", "96 more rows");
    says(".maxrows none", "error: .maxrows takes N, and was given 'none'");
    says(".mode xls", "there are auto, table");
    says(".output out.jsonl", "\n");
    says("SELECT a FROM t; SELECT b FROM t;", "\n");
    says(".output", "\n");
    says(".output out.jsonl", "error: out.jsonl: cannot create");
    says(".mode parquet", "\n");
    says("SELECT 1;", "error: parquet is not text");
    says(".mode", "error: .mode takes FORMAT");
    says(".mode auto", "\n");
    says(".cd below", "\n");
    says("SELECT count(*) + 41 FROM '../t.csv';", "42");
    says(".cd nowhere", "error: nowhere");
    fs::write(home.path().join("below/self.sql"), ".read self.sql\n").unwrap();
    says(".read self.sql", "20 scripts run each other");
    shell.send(".quit\r");
    let (status, shown) = shell.end();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert_eq!(fs::read_to_string(home.path().join("out.jsonl")).unwrap(), "{\"a\":1}\n{\"b\":\"x\"}\n");
}

#[test]
fn a_pager_shows_what_does_not_fit() {
    let home = home();
    let paged = home.path().join("paged");
    let mut command = palais(home.path(), &["shell"]);
    let mut shell = shell(command.env("PAGER", "cat > paged; echo was paged"));
    shell.send("SELECT 40 + 2;\r");
    let shown = shell.until("(1 row");
    assert!(shown.contains("42") && !paged.exists(), "{shown}");
    shell.send("SELECT range FROM range(300);\r");
    shell.until("was paged");
    shell.until("(300 rows");
    let text = fs::read_to_string(&paged).unwrap();
    assert!(text.contains("299") && text.lines().count() == 305, "{text}");
    shell.send("SELECT repeat('wide ', 40) AS w;\r");
    shell.until("was paged");
    assert!(fs::read_to_string(&paged).unwrap().contains(&"wide ".repeat(40)));
    // One that has seen enough ends the result, and nothing is wrong.
    shell.send(
        ".mode csv\r.pager head -n 2 > paged; echo had enough\rSELECT range AS n FROM range(100000000);\r",
    );
    shell.until("had enough");
    shell.until("palais> ");
    assert_eq!(fs::read_to_string(&paged).unwrap(), "n\n0\n");
    shell.send(".mode table\r.pager off\rSELECT range FROM range(300);\r");
    shell.until("260 more rows");
    leave(shell);
}

#[test]
fn a_script_on_standard_input_ends_at_its_first_error() {
    let home = home();
    let script = |text: &str, arguments: &[&str]| {
        fs::write(home.path().join("script"), text).unwrap();
        let mut command = palais(home.path(), &[&["shell"], arguments].concat());
        let shell = format!("'{}' \"$@\" < script", env!("CARGO_BIN_EXE_palais"));
        let words: Vec<_> = command.get_args().map(|word| word.to_owned()).collect();
        let mut whole = Command::new("sh");
        whole.args(["-c", &shell, "sh"]).args(words).current_dir(home.path()).env("HOME", home.path());
        command.stdin(Stdio::null());
        run(&mut whole)
    };
    let done = script(
        "CREATE VIEW v AS SELECT 42 AS n;\n\n.tables\nSELECT *\nFROM v;\nSELECT n + 1 AS m FROM v",
        &[],
    );
    assert_eq!(
        (done.code(), done.stdout.as_str()),
        (Some(0), "table_name\nv\nn\n42\nm\n43\n"),
        "{}",
        done.stderr
    );
    assert_eq!(done.stderr, "");
    let done = script("SELECT 1 AS n;\nSELECT x;\nSELECT 2;\n", &[]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(1), "n\n1\n"), "{}", done.stderr);
    assert_eq!(script(".mode xls", &[]).code(), Some(2));
    assert_eq!(script("SELECT 'a;", &[]).code(), Some(1));
    fs::write(home.path().join("first"), "SET workers = 1;\nCREATE VIEW w AS SELECT 7 AS n;\n").unwrap();
    let done = script("SELECT n FROM w;\n.quit\nSELECT x;\n", &["--init", "first", "--format", "jsonl"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "{\"n\":7}\n"), "{}", done.stderr);
}

#[test]
fn what_the_user_wants_first_is_run_first() {
    let home = home();
    let config = home.path().join(".config/palais");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("init.sql"), "CREATE VIEW v AS SELECT 42 AS n;\n.mode csv\n").unwrap();
    let mut with = shell(&mut palais(home.path(), &["shell"]));
    with.send("SELECT * FROM v;\r");
    with.until("n\n42\n");
    leave(with);
    let mut without = shell(&mut palais(home.path(), &["shell", "--no-init"]));
    without.send("SELECT * FROM v;\r");
    without.until("error: ");
    leave(without);
}

#[test]
fn without_a_terminal_there_is_no_shell() {
    let home = home();
    let out = File::create(home.path().join("out")).unwrap();
    let mut terminal = Terminal::start(&mut palais(home.path(), &["query", "SELECT 40 + 2 AS n"]), 24, 80);
    terminal.until("42");
    let mut alone = palais(home.path(), &[]);
    let status = alone.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
