//! palais: SQL over files on timely dataflow.
//!
//! The binary parses flags into resolved settings, calls the packages that do the work, and prints. It turns every
//! error into one message and an exit code. Nothing is computed here.
//!
//! Exit codes: 0 done; 1 the query or the data failed; 2 wrong usage; 70 an internal error; 130 interrupted.

mod allocator;
mod args;
mod bench;
mod cluster;
mod convert;
mod flags;
mod generate;
mod inspect;
mod placement;
mod print;
mod profile;
mod progress;
mod query;
mod say;
mod schema;
mod settings;
mod shell;
mod signals;
mod stats;
mod svg;
mod tables;
mod terminal;
mod watch;

use std::error::Error;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use say::say;

/// An error of usage, as opposed to a query or data that fail.
#[derive(Debug)]
pub(crate) struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Runs the program: reads its arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    allocator::keep_freed_memory();
    give_threads_stacks();
    signals::install_panic_hook();
    signals::end_at_memory_limit();
    signals::take_interrupts();
    signals::end_on_abort();
    let args = match Args::try_parse_from(arguments()) {
        Ok(args) => args,
        Err(e) => {
            // Help and versions go to standard output. The message of an error quotes the command line, so it is
            // escaped.
            if e.use_stderr() {
                say(e.render().to_string().trim_end());
                return ExitCode::from(2);
            }
            let _ = e.print();
            return ExitCode::SUCCESS;
        }
    };
    // Planning recurses once for each level of an expression: `a AND b AND …` of thousands of terms is as deep.
    let thread = std::thread::Builder::new().name("palais".into()).stack_size(engine::context::stack::DEEP);
    let outcome = match thread.spawn(move || {
        engine::context::stack::mark_deep();
        run(args.command)
    }) {
        // A panic of the thread has ended the process in the hook.
        Ok(running) => running.join().unwrap_or(Ok(())),
        Err(e) => Err(anyhow::anyhow!("cannot start a thread: {e}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let (message, code) = describe(e.as_ref());
            if !message.is_empty() {
                say(message);
            }
            ExitCode::from(code)
        }
    }
}

/// The arguments. `query` is put before a statement that stands in the place of a command. Where there are none, `shell`
/// is put if a user types, and `query` if statements come from a file or a pipe.
fn arguments() -> Vec<OsString> {
    let mut all: Vec<OsString> = std::env::args_os().collect();
    if all.len() == 1 && !std::io::stdin().is_terminal() {
        all.push("query".into());
    } else if all.len() == 1 && std::io::stdout().is_terminal() {
        all.push("shell".into());
    }
    // A statement that begins with a comment would be taken for a flag.
    for word in all.iter_mut().skip(1) {
        if word
            .as_encoded_bytes()
            .strip_prefix(b"--")
            .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
        {
            let mut statement = OsString::from(" ");
            statement.push(&word);
            *word = statement;
        }
    }
    // No command and no flag has a space in it.
    let is_statement = |word: &OsString| {
        let word = word.to_string_lossy();
        !word.starts_with('-') && word.trim().contains(char::is_whitespace)
    };
    if all.get(1).is_some_and(is_statement) {
        all.insert(1, "query".into());
    }
    all
}

/// Gives the threads that are started from now on, those of other packages too, more stack than usual.
#[expect(
    clippy::disallowed_methods,
    reason = "no other thread runs yet, and threads of other packages take no setting"
)]
fn give_threads_stacks() {
    // SAFETY: this is the only thread, so that none reads the environment meanwhile.
    unsafe { std::env::set_var("RUST_MIN_STACK", engine::context::stack::WORKER.to_string()) };
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Query(q) => query::run(&q),
        Command::Bdb(b) => query::run_bdb(&b),
        Command::Convert(c) => convert::run(&c),
        Command::Generate(g) => generate::run(&g),
        Command::Schema(s) => schema::run(&s),
        Command::Inspect(i) => inspect::run(&i),
        Command::Shell(s) => shell::run(&s),
        Command::Watch(w) => watch::run(&w),
        Command::Cluster(c) => cluster::run(&c),
        Command::Node(n) => cluster::node::serve(&n),
        Command::Bench(b) => bench::run(&b),
        Command::Completions { shell } => {
            let mut command = <Args as clap::CommandFactory>::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "palais", &mut script);
            Ok(print::text(&String::from_utf8_lossy(&script))?)
        }
    }
}

/// The cause of this type, if an error has one.
pub(crate) fn cause<T: Error + Send + Sync + 'static>(e: &anyhow::Error) -> Option<&T> {
    find(e.as_ref())
}

/// An error, and its causes one after another.
fn chain<'a>(e: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(e), |e| (*e).source())
}

fn find<'a, T: Error + 'static>(e: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(e).find_map(|cause| cause.downcast_ref())
}

/// The message and the exit code of an error.
pub(crate) fn describe(e: &(dyn Error + 'static)) -> (String, u8) {
    if let Some(usage) = find::<Usage>(e) {
        return (format!("error: {usage}"), 2);
    }
    if let Some(wrong @ session::Error::Settings(_)) = find(e) {
        return (format!("error: {wrong}"), 2);
    }
    let of_processes = find::<::cluster::Error>(e);
    if let Some(wrong @ ::cluster::Error::Usage(_)) = of_processes {
        return (format!("error: {wrong}"), 2);
    }
    let elsewhere = matches!(of_processes, Some(::cluster::Error::Cancelled));
    if elsewhere || matches!(find(e), Some(engine::Error::Cancelled)) {
        return ("interrupted".into(), 130);
    }
    if let Some(panic @ engine::Error::Panic { .. }) = find(e) {
        return (panic.to_string(), signals::INTERNAL);
    }
    if let Some(::cluster::Error::Failed { code, .. } | ::cluster::Error::Told { code, .. }) = of_processes {
        return (format!("error: {e}"), *code);
    }
    if matches!(find(e), Some(session::writers::Error::Closed)) {
        // The reader of the output has enough.
        return (String::new(), 0);
    }
    (format!("error: {}", causes(e)), 1)
}

/// The texts of an error and its causes. Most errors of palais contain the text of their cause, which is then not
/// repeated.
fn causes(e: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in chain(e).map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
