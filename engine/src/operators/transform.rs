//! Streams the rows of each file, in order, through a process of the user's command, and reads typed rows back.
//!
//! A row is a line on the command's standard input, tabs separate its columns, and `\N` is NULL. The output of the
//! command is read the same way. Each file has a process of its own, whose standard input is closed at the end of the
//! file. Three threads wait for each process: one feeds it, one reads its output, one keeps the end of its standard
//! error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::CastOptions;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, SchemaRef};
use formats::reader::Driver;
use queries::plan::Transform as Plan;
use timely::scheduling::SyncActivator;

use super::Ready;
use super::scan::source::ScanSource;
use super::scan::stealing::More;
use crate::context::children::{self, Group};
use crate::context::memory::Account;
use crate::context::panics;
use crate::context::query::QueryState;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull, Wake};
use crate::error::{Error, Result};

/// The batches that wait between a process and the worker.
const WAITING: usize = 4;
/// The bytes of standard error that an error shows, from its end.
const STDERR_BYTES: usize = 2000;

/// Runs the command over files, one after another, on one worker.
pub struct Transform {
    plan: Plan,
    projection: Vec<usize>,
    schema: SchemaRef,
    source: Arc<ScanSource>,
    state: Arc<QueryState>,
    wake: Wake,
    running: Option<Running>,
    ready: Ready,
    /// How many ranges of splits this process had got from other processes when the operator last looked.
    seen: u64,
}

struct Running {
    file: String,
    child: Child,
    group: Option<Group>,
    rows: Receiver<Result<RecordBatch>>,
    feeder: Option<JoinHandle<Result<()>>>,
    stderr: Option<JoinHandle<String>>,
}

/// The first line of a command, at most 80 characters, for errors. A command may be a whole script.
fn shown(command: &str) -> String {
    const MOST: usize = 80;
    let line = command.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < command.len() => format!("{line}…"),
        None => line.to_string(),
    }
}

impl Transform {
    /// Takes files from `source`.
    pub fn new(
        plan: Plan,
        projection: Vec<usize>,
        schema: SchemaRef,
        source: Arc<ScanSource>,
        state: Arc<QueryState>,
        wake: Wake,
    ) -> Transform {
        let (running, ready) = (None, Ready::default());
        Transform { plan, projection, schema, source, state, wake, running, ready, seen: 0 }
    }

    fn start(&mut self) -> Result<bool> {
        let Some(rows) = self.source.take_file(self.state.clone())? else { return Ok(false) };
        let file = rows.name.clone();
        let failed = |e: std::io::Error| Error::Script {
            command: shown(&self.plan.command),
            file: file.clone(),
            outcome: format!("could not be started: {e}"),
            stderr: String::new(),
        };
        let mut command = Command::new("sh");
        command.args(["-c", &self.plan.command]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, group) = children::spawn(&mut command).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three were asked for")
        };
        let (sender, receiver) = sync_channel(WAITING);
        let (schema, wake) = (self.plan.schema.clone(), self.wake.sync());
        let account = Account::entered();
        let of_feeder = account.clone();
        std::thread::spawn(move || {
            let _entered = account.as_ref().map(Account::enter);
            read_rows(stdout, &schema, &sender, &wake);
            // Once the sender is dropped, the worker sees the end. A worker that has ended needs no waking.
            drop(sender);
            let _ = wake.activate();
        });
        let feeder = Some(std::thread::spawn(move || {
            let _entered = of_feeder.as_ref().map(Account::enter);
            panics::catch(|| feed(rows, BufWriter::with_capacity(1 << 16, stdin)))
        }));
        let stderr = Some(std::thread::spawn(move || last_bytes(stderr)));
        self.running = Some(Running { file, child, group: Some(group), rows: receiver, feeder, stderr });
        Ok(true)
    }

    /// Waits for the process, which has closed its output. If the process has failed, the query fails.
    fn finish(&mut self) -> Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let fed = running.feeder.take().map(JoinHandle::join);
        let stderr = running.stderr.take().and_then(|t| t.join().ok()).unwrap_or_default();
        let status = running.child.wait().map_err(|e| formats::Error::io(&running.file, "wait for", e))?;
        drop(running.group.take());
        // A command that did not get all of its input may fail for that.
        if let Some(Ok(Err(e))) = fed {
            return Err(of_file(e, &running.file));
        }
        if !status.success() {
            let stderr = stderr.trim_end();
            let stderr =
                if stderr.is_empty() { String::new() } else { format!("\n  standard error: {stderr}") };
            let outcome = match status.code() {
                Some(code) => format!("ended with exit status {code}"),
                None => format!("was ended by a signal ({status})"),
            };
            return Err(Error::Script {
                command: shown(&self.plan.command),
                file: running.file,
                outcome,
                stderr,
            });
        }
        Ok(())
    }
}

/// An error of what a command is given or prints, with the file.
fn of_file(error: Error, file: &str) -> Error {
    match error {
        Error::Compute(text) => Error::Compute(format!("transform of {file}: {text}")),
        other => other,
    }
}

/// The rows of one file, read in order.
pub struct FileRows {
    /// The file's path.
    pub name: String,
    /// The readers of its morsels, in their order.
    pub readers: VecDeque<Driver<Arc<QueryState>>>,
    /// The state of the query.
    pub state: Arc<QueryState>,
}

fn feed(rows: FileRows, mut stdin: impl Write) -> Result<()> {
    // A command may end before it has read everything. Its exit code says whether that is an error.
    let closed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(formats::Error::io(&rows.name, "feed the command with", e).into()),
    };
    for reader in rows.readers {
        for batch in reader {
            if rows.state.stopped() {
                return Ok(());
            }
            if let Err(e) = write_rows(&batch?, &mut stdin)? {
                return closed(e);
            }
        }
    }
    stdin.flush().or_else(closed)
}

/// What stands for NULL, as in Hive.
const NULL: &str = "\\N";

fn write_rows(batch: &RecordBatch, out: &mut impl Write) -> Result<std::io::Result<()>> {
    if let [column] = batch.columns()
        && column.data_type() == &DataType::Utf8View
    {
        for line in column.as_string_view() {
            let line = line.unwrap_or(NULL);
            if line.contains('\n') {
                return Err(not_one("a line break", "row", batch, 0));
            }
            let written = out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n"));
            if written.is_err() {
                return Ok(written);
            }
        }
        return Ok(Ok(()));
    }
    let options = FormatOptions::default().with_null(NULL);
    let columns = batch
        .columns()
        .iter()
        .map(|c| ArrayFormatter::try_new(c, &options))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let mut line = String::new();
    for row in 0..batch.num_rows() {
        line.clear();
        for (i, column) in columns.iter().enumerate() {
            let begin = line.len();
            column.value(row).write(&mut line)?;
            match line[begin..].find(['\n', '\t']).map(|at| line.as_bytes()[begin + at]) {
                Some(b'\n') => return Err(not_one("a line break", "row", batch, i)),
                Some(_) => return Err(not_one("a tab", "value", batch, i)),
                None => line.push(if i + 1 < columns.len() { '\t' } else { '\n' }),
            }
        }
        if let Err(e) = out.write_all(line.as_bytes()) {
            return Ok(Err(e));
        }
    }
    Ok(Ok(()))
}

/// The error of a value that the command would read as two.
fn not_one(found: &str, of: &str, batch: &RecordBatch, column: usize) -> Error {
    let schema = batch.schema();
    Error::Compute(format!(
        "a value of column {} has {found} in it, and would be more than one {of} for the command of transform()\n  \
         help: write a file without it, with COPY (SELECT …) and replace(), and transform that",
        schema.field(column).name()
    ))
}

fn read_rows(
    stdout: impl Read,
    schema: &SchemaRef,
    sender: &SyncSender<Result<RecordBatch>>,
    wake: &SyncActivator,
) {
    let mut lines = BufReader::with_capacity(1 << 16, stdout);
    let mut number = 0;
    loop {
        let batch = panics::catch(|| read_batch(&mut lines, schema, &mut number));
        let last = !matches!(&batch, Ok(Some(_)));
        let gone = match batch {
            Ok(Some(batch)) => sender.send(Ok(batch)).is_err(),
            Ok(None) => false,
            Err(e) => sender.send(Err(e)).is_err(),
        };
        if last || gone {
            return;
        }
        // A worker that has ended needs no waking.
        let _ = wake.activate();
    }
}

fn read_batch(lines: &mut impl BufRead, schema: &SchemaRef, number: &mut u64) -> Result<Option<RecordBatch>> {
    let mut builders: Vec<StringViewBuilder> =
        schema.fields().iter().map(|_| StringViewBuilder::new()).collect();
    let mut line = Vec::new();
    let first = *number + 1;
    while *number + 1 - first < BATCH_ROWS as u64 {
        line.clear();
        let read = lines
            .read_until(b'\n', &mut line)
            .map_err(|e| formats::Error::io("the command", "read from", e))?;
        if read == 0 {
            break;
        }
        *number += 1;
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        let values: Vec<&str> = text.split('\t').collect();
        if values.len() != builders.len() {
            return Err(Error::Compute(format!(
                "line {number} that the command printed has {} columns where {} were declared: '{text}'",
                values.len(),
                builders.len()
            )));
        }
        for (builder, value) in builders.iter_mut().zip(values) {
            builder.append_option((value != NULL).then_some(value));
        }
    }
    let rows = (*number + 1 - first) as usize;
    if rows == 0 {
        return Ok(None);
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let columns = builders.iter_mut().zip(schema.fields()).map(|(builder, field)| {
        let text: ArrayRef = Arc::new(builder.finish());
        arrow_cast::cast_with_options(&text, field.data_type(), &strict).map_err(|e| {
            let told = queries::messages::plain(&e.to_string());
            // The help there is for casts that a statement has.
            let (told, _) = told.split_once("\n  help: ").unwrap_or((&told, ""));
            Error::Compute(format!(
                "column {} of lines {first} to {number} that the command printed: {told}\n  \
                 help: declare it as VARCHAR; TRY_CAST gives NULL where it is no such value",
                field.name()
            ))
        })
    });
    Ok(Some(batch_of(schema, columns.collect::<Result<Vec<_>>>()?, rows)?))
}

fn last_bytes(mut from: impl Read) -> String {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        kept.extend(&buffer[..n]);
        let over = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..over);
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

impl Operator for Transform {
    fn push(&mut self, _port: usize, _given: ExchangeBatch) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        loop {
            if !self.ready.is_empty() {
                return Ok(self.ready.pull());
            }
            let Some(running) = &self.running else {
                if self.start()? {
                    continue;
                }
                match self.source.more(&mut self.seen, || self.wake.sync()) {
                    More::Now => continue,
                    More::Later => return Ok(Pull::Blocked),
                    More::Nothing => return Ok(Pull::Empty),
                }
            };
            match running.rows.try_recv() {
                Ok(batch) => {
                    let batch = batch.map_err(|e| of_file(e, &running.file))?;
                    let columns = self.projection.iter().map(|i| batch.column(*i).clone()).collect();
                    self.ready.add(batch_of(&self.schema, columns, batch.num_rows())?);
                }
                Err(TryRecvError::Empty) => return Ok(Pull::Blocked),
                Err(TryRecvError::Disconnected) => self.finish()?,
            }
        }
    }
}
