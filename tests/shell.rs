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
const PROMPT: &str = "palais> ";

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// palais in this directory, with nothing of the user's own.
fn palais(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    command.args(arguments).current_dir(home).env("HOME", home).env("PAGER", "").env("LC_ALL", "C.UTF-8");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "PALAIS_PAGER", "LESS", "NO_COLOR", "LINES", "COLUMNS"]
    {
        command.env_remove(name);
    }
    command
}

/// A shell that waits for the first statement.
struct Shell(Terminal);

impl Shell {
    fn start(command: &mut Command) -> Shell {
        let mut terminal = Terminal::start(command, 24, 80);
        terminal.prompt(PROMPT);
        Shell(terminal)
    }

    /// Types a line, and gives what is shown before the next prompt.
    fn says(&mut self, line: &str) -> String {
        self.0.send(line);
        self.0.send("\r");
        self.0.prompt(PROMPT)
    }

    /// Leaves, with all well.
    fn leave(mut self) {
        self.0.send(CTRL_D);
        let (status, shown) = self.0.end();
        assert_eq!(status.code(), Some(0), "{shown}");
    }
}

#[test]
fn statements_are_run_as_they_are_typed() {
    let home = home();
    let mut shell = Shell::start(&mut palais(home.path(), &[]));
    let shown = shell.says("CREATE TEMP TABLE t AS\rSELECT range AS n,\r'x;y' AS s FROM range(40);");
    assert!(shown.contains("(40 rows"), "{shown}");
    let shown = shell.says("SELECT sum(n) AS total FROM t; SELECT max(n) + 1000 FROM t;");
    assert!(shown.contains("total") && shown.contains("780") && shown.contains("1039"), "{shown}");
    // What was not ended is left with Ctrl-C.
    shell.0.send("SELECT 1\r");
    shell.0.send(CTRL_C);
    shell.0.prompt(PROMPT);
    assert!(shell.says("SELECT 40 + 2;").contains("42"));
    // What is typed before the prompt comes is not lost.
    shell.0.send("SELECT 2000 + 1;\rSELECT 2000 + 2;\r");
    shell.0.until(" 2001 │");
    shell.0.until(" 2002 │");
    shell.0.prompt(PROMPT);
    shell.leave();
}

#[test]
fn an_error_has_a_mark_and_does_not_end_the_shell() {
    let home = home();
    let mut shell = Shell::start(&mut palais(home.path(), &["shell"]));
    let shown = shell.says("SELECT nme FROM (VALUES (1)) t(name);");
    assert!(
        shown.contains("error: there is no column 'nme'") && shown.contains("\n           ^^^\n"),
        "{shown}"
    );
    // Lines count from the prompt, and the line is the one that is wrong.
    let shown = shell.says("SELECT 1;SELECT '日本',\r 'é', größer\rFROM (SELECT 1 AS größe) t;");
    let place = "line 2, column 7\n    'é', größer\n         ^^^^^^\n  help: did you mean größe?";
    assert!(shown.contains(place), "{shown}");
    let shown = shell.says("SELECT 1,\r  CAST('x' AS BYTES) FROM range(1);");
    let place =
        "line 2, column 15\n    CAST('x' AS BYTES) FROM range(1);\n                ^^^^^\n  help: write BLOB";
    assert!(shown.contains(place), "{shown}");
    let shown = shell.says("SELECT 1 +;");
    assert!(shown.contains("error: SQL syntax") && shown.contains('^'), "{shown}");
    assert!(shell.says("SELECT 9223372036854775807 + 1;").contains("error: overflow"));
    assert!(shell.says("SELECT E'\\xe9';").contains("error: "));
    assert!(shell.says(".nothing").contains("there is no command .nothing"));
    assert!(shell.says("SELECT 40 + 2;").contains("42"));
    shell.leave();
}

#[test]
fn an_interrupt_cancels_the_query() {
    let home = home();
    let mut shell = Shell::start(&mut palais(home.path(), &["shell"]));
    for _ in 0..2 {
        shell.0.send(
            "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range + b.range < 0;\r",
        );
        // The bar shows that it runs.
        shell.0.until(" left");
        shell.0.send(CTRL_C);
        shell.0.until("interrupted");
        shell.0.prompt(PROMPT);
    }
    assert!(shell.says("SELECT 40 + 2;").contains("42"));
    shell.leave();
}

#[test]
fn what_was_typed_is_there_the_next_time() {
    let home = home();
    let mut first = Shell::start(&mut palais(home.path(), &["shell"]));
    assert!(first.says("SELECT 40 +\r2;").contains("42"));
    first.leave();
    let history = home.path().join(".local/state/palais/history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let mut second = Shell::start(&mut palais(home.path(), &["shell"]));
    second.0.send(UP);
    second.0.until("2;");
    assert!(second.says("").contains("42"));
    second.leave();
}

#[test]
fn tab_completes_words_tables_columns_and_paths() {
    let home = home();
    fs::write(home.path().join("visits.csv"), "page,elapsed\na,40\nb,2\n").unwrap();
    let mut shell = Shell::start(&mut palais(home.path(), &["shell", "--table", "visits=visits.csv"]));
    let mut completes = |typed: &str, whole: &str, rest: &str, expected: &str| {
        shell.0.send(typed);
        shell.0.until(whole);
        assert!(shell.says(rest).contains(expected), "{typed}{rest}");
    };
    completes("SEL\t", "SELECT", " sum(elapsed) FROM visits;", "42");
    completes("SELECT sum(elapsed) FROM vis\t", "FROM visits", ";", "42");
    completes("select 1000 + max(elap\t", "elapsed", ") from visits;", "1040");
    completes("select 1000 + min(elapsed) from 'vis\t", "'visits.csv", "';", "1002");
    shell.leave();
}

#[test]
fn commands_show_and_change_what_they_say() {
    let home = home();
    let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    write("t.csv", "a,b\n1,x\n");
    write("more.sql", "-- a script\n.mode csv\nSELECT a + 41 AS\n  answer FROM t;\n.mode auto\n");
    write("self.sql", ".read self.sql\n");
    write("wrong.sql", "SELECT 1;\n/* forgotten\nSELECT 2;\n");
    fs::create_dir(home.path().join("below")).unwrap();
    let mut shell = Shell::start(&mut palais(home.path(), &["shell", "--table", "t=t.csv"]));
    for (line, expected) in [
        (".help", ".maxrows N"),
        (".tables", "│ t "),
        ("CREATE VIEW v AS SELECT a AS only FROM t;", ""),
        (".schema t", "a BIGINT"),
        ("\\d v", "CREATE VIEW v (only)"),
        (".read more.sql", "answer\n42\n"),
        (".read self.sql", "20 scripts run each other"),
        (".read wrong.sql", "error: "),
        (".timer off", ""),
        (".width 20; ", ""),
        (".maxrows 4", ""),
        ("SELECT range FROM range(100);", "96 more rows"),
        (".maxrows none", "error: .maxrows takes N, and was given 'none'"),
        (".mode xls", "there are auto, table"),
        (".output out.jsonl", ""),
        ("SELECT a FROM t; SELECT b FROM t;", ""),
        (".output", ""),
        (".output out.jsonl", "error: out.jsonl: cannot create"),
        (".mode parquet", ""),
        ("SELECT 1;", "error: parquet is not text"),
        (".mode", "error: .mode takes FORMAT"),
        (".mode auto", ""),
        (".cd below", ""),
        ("SELECT count(*) + 41 FROM '../t.csv';", "42"),
        (".cd nowhere", "error: nowhere"),
    ] {
        let shown = shell.says(line);
        assert!(shown.contains(expected), "{line}: {shown}");
    }
    shell.0.send(".quit\r");
    let (status, shown) = shell.0.end();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert_eq!(fs::read_to_string(home.path().join("out.jsonl")).unwrap(), "{\"a\":1}\n{\"b\":\"x\"}\n");
}

#[test]
fn a_pager_shows_what_does_not_fit() {
    let home = home();
    let paged = home.path().join("paged");
    let mut command = palais(home.path(), &["shell"]);
    let mut shell = Shell::start(command.env("PAGER", "cat > paged; echo was pag''ed"));
    let shown = shell.says("SELECT 40 + 2;");
    assert!(shown.contains("42") && shown.contains("(1 row") && !paged.exists(), "{shown}");
    let shown = shell.says("SELECT range FROM range(300);");
    assert!(shown.contains("was paged") && shown.contains("(300 rows"), "{shown}");
    let text = fs::read_to_string(&paged).unwrap();
    assert!(text.contains("299") && text.lines().count() == 305, "{text}");
    assert!(shell.says("SELECT repeat('wide ', 40) AS w;").contains("was paged"));
    assert!(fs::read_to_string(&paged).unwrap().contains(&"wide ".repeat(40)));
    // One that has seen enough ends the result, and nothing is wrong.
    shell.says(".mode csv");
    shell.says(".pager head -n 2 > paged; echo had en''ough");
    let shown = shell.says("SELECT range AS n FROM range(100000000);");
    assert!(shown.contains("had enough") && !shown.contains("error"), "{shown}");
    assert_eq!(fs::read_to_string(&paged).unwrap(), "n\n0\n");
    // It takes interrupts, and palais waits for it.
    shell.says(".pager echo wai''ts; exec sleep 1000000");
    shell.0.send("SELECT range AS n FROM range(300);\r");
    shell.0.until("waits");
    shell.0.send(CTRL_C);
    shell.0.prompt(PROMPT);
    shell.says(".mode table");
    shell.says(".pager off");
    assert!(shell.says("SELECT range FROM range(300);").contains("260 more rows"));
    shell.leave();
}

#[test]
fn a_pager_gets_nothing_of_the_progress_bar() {
    let home = home();
    let mut command = palais(home.path(), &["shell", "--workers", "1"]);
    let mut shell = Shell::start(command.env("PAGER", "cat > paged; echo was pag''ed"));
    // It runs long enough for the bar to appear, and then gives more rows than the terminal has lines.
    shell.0.send(
        "SELECT a.range % 300 AS n, count(*) AS c FROM range(30000) a, range(2000) b \
         WHERE a.range + b.range >= 0 GROUP BY n;\r",
    );
    shell.0.until(" left");
    let shown = shell.0.prompt(PROMPT);
    let (_, behind) = shown.split_once("was paged").expect("the rows are paged");
    assert!(!behind.contains(" left"), "{behind}");
    let text = fs::read_to_string(home.path().join("paged")).unwrap();
    assert_eq!(text.lines().count(), 305, "{text}");
    // A bar is drawn over what was there before; colours are those of the table.
    assert!(!["\r", "\x1b[2K", " left"].iter().any(|part| text.contains(part)), "{text}");
    shell.leave();
}

#[test]
fn a_plan_fits_the_terminal() {
    let home = home();
    let sql = "SELECT range % 7 AS k, count(*) AS n FROM range(100000) GROUP BY k ORDER BY n DESC, k LIMIT 3";
    let mut shell = Shell::start(&mut palais(home.path(), &["shell", "--workers", "2"]));
    shell.says(".timer off");
    let shown = shell.says(&format!("EXPLAIN ANALYZE {sql};"));
    let plan = &shown[shown.find("         rows").expect("there are headings")..];
    assert!(plan.lines().all(|line| line.chars().count() <= 80), "{plan}");
    for part in ["final aggregate by", "scan range", "100,000", " a worker", "planned in"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let plan = shell.says(&format!("EXPLAIN {sql};"));
    assert!(plan.contains("\nmerge on worker 0"), "{plan}");
    shell.leave();
    // Off a terminal it is a line for each operator, without quotes.
    let done = process::palais(["query", &format!("EXPLAIN ANALYZE {sql}")]);
    let operators = done.stdout.lines().filter(|line| line.contains(" a worker")).count();
    assert!(operators > 4 && !done.stdout.contains('"'), "{}: {}", done.ending(), done.stdout);
    let rows = run(&mut palais(home.path(), &["query", &format!("EXPLAIN {sql}"), "--format", "jsonl"]));
    assert!(rows.stdout.starts_with("{\"plan\":\"merge on worker 0"), "{}", rows.stdout);
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
    assert_eq!(script("SELECT 1;\n/* forgotten\nSELECT 2;\n", &[]).code(), Some(1));
    fs::write(home.path().join("first"), "SET workers = 1;\nCREATE VIEW w AS SELECT 7 AS n;\n").unwrap();
    let done = script("SELECT n FROM w;\n.quit\nSELECT x;\n", &["--init", "first", "--format", "jsonl"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "{\"n\":7}\n"), "{}", done.stderr);
}

#[test]
fn what_the_user_wants_first_is_run_first() {
    let home = home();
    let config = home.path().join(".config/palais");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("init.sql"), "CREATE VIEW v AS SELECT 42 AS n;\n.mode csv\nSELECT nme;\n").unwrap();
    let mut with = Shell::start(&mut palais(home.path(), &["shell"]));
    assert!(with.says("SELECT * FROM v;").contains("\nn\n42\n"));
    with.leave();
    let mut without = Shell::start(&mut palais(home.path(), &["shell", "--no-init"]));
    assert!(without.says("SELECT * FROM v;").contains("error: "));
    without.leave();
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
