//! The connection between a caller and the process of a node that leads for it. The caller has nodes run a statement or
//! make files.
//!
//! The caller asks a node (see [`crate::node`]) and gets a connection to a process of it. Over that it sends a
//! [`crate::leader::Request`]. The process answers with the columns of the result, its rows and how it ended. Both ends
//! say once a second that they live. An end that hears nothing of the other one ends too.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use engine::context::query::Skipped;
use engine::execution::run::Sink;
use engine::{QueryState, Results};
use serde::{Deserialize, Serialize};

use crate::brief::brief;
use crate::error::{Error, Result};
use crate::locked;
use crate::message::{self, Failure, Figures, Frame, Raw};
use crate::node::{Ask, Fate, NodeClient};
use crate::socket::Socket;

/// How often each end says that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// How often the caller looks whether the query was stopped.
const TICK: Duration = Duration::from_millis(50);

/// The most bytes of a request, with its statement and all else.
const REQUEST: u32 = 16 << 20;

/// The error of a query that another client has cancelled.
const CANCELLED: &str = "the query was cancelled";

/// A message from the caller.
#[derive(Serialize, Deserialize)]
pub enum Word {
    /// What is to be run. This is the first message.
    Request(Raw),
    /// The caller lives.
    Alive,
}

/// A message from the process that leads.
#[derive(Serialize, Deserialize)]
pub enum Response {
    /// The columns of the result, as a batch without rows that [`engine::distributed::wire::encode_with_schema`] gives.
    Columns(Raw),
    /// How far the query has come.
    Alive(Figures),
    /// A warning for the caller.
    Warning(String),
    /// All rows were sent. Figures at the end, and what readers have passed over.
    Done(Figures, Skipped),
    /// The query failed.
    Failed(Failure),
    /// A step begins that reads or makes about so many bytes.
    Work(u64),
    /// A line for people about what was done.
    Note(String),
}

/// A message from the process that leads besides rows and figures.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// [`Response::Warning`].
    Warning(String),
    /// [`Response::Work`].
    Work(u64),
    /// [`Response::Note`].
    Note(String),
}

/// A statement that nodes run, as its caller sees it.
pub struct Remote {
    socket: Socket,
    door: NodeClient,
    /// The name of the query on the nodes.
    pub query: String,
    /// Whether the statement writes files on the nodes.
    writes: bool,
}

impl Remote {
    /// Has nodes run a statement or make files. `writes` says that files appear on the nodes.
    ///
    /// # Errors
    /// The node can't be reached, is of another version, or refuses, or the request is too long.
    pub fn ask(door: &NodeClient, statement: &str, request: Vec<u8>, writes: bool) -> Result<Remote> {
        if request.len() as u64 > u64::from(REQUEST) {
            let what = format!("what is asked has {} bytes, and {REQUEST} are the most", request.len());
            return Err(Error::Node { node: door.address.clone(), what });
        }
        let (mut socket, query) = door.enter(&Ask::Query { statement: brief(statement) })?;
        let sent = message::write(&mut socket, &Word::Request(Raw(request)));
        let prepared = sent.and_then(|()| socket.set_read_timeout(Some(door.patience)));
        let remote = Remote { socket, door: door.clone(), query, writes };
        prepared.map_err(|e| remote.lost(&e))?;
        Ok(remote)
    }

    fn failed(&self, what: impl Into<String>) -> Error {
        Error::Node { node: self.door.address.clone(), what: what.into() }
    }

    /// The error that the process that leads was lost. Its files may have appeared before.
    fn lost(&self, e: &std::io::Error) -> Error {
        match self.loss(e) {
            e if self.writes => Error::Appearing(Box::new(e)),
            e => e,
        }
    }

    fn loss(&self, e: &std::io::Error) -> Error {
        use std::io::ErrorKind;
        match e.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                let seconds = self.door.patience.as_secs_f32();
                self.failed(format!("nothing was heard of the query for {seconds} seconds"))
            }
            ErrorKind::InvalidData | ErrorKind::Other => {
                self.failed(format!("what it told can't be read: {e}"))
            }
            _ => self.ending(),
        }
    }

    /// How the process that led the query ended, after it has closed the connection. A process that is killed can't
    /// tell. Neither can one that is cancelled while the caller has not read all rows before that message.
    fn ending(&self) -> Error {
        let closed = "the connection was closed before the query has ended";
        match self.door.quick().fate(&self.query, true) {
            Ok(Some(Fate { cancelled: true, .. })) => self.failed(CANCELLED),
            Ok(Some(Fate { how, stderr, .. })) => {
                Error::Ended { host: self.door.address.clone(), how, stderr }
            }
            Ok(None) => self.failed(format!("{closed}\n  help: the log of that node may tell why")),
            Err(Error::Node { what, .. }) => {
                self.failed(format!("{closed}, and it can't be asked why: {what}"))
            }
            Err(e) => e,
        }
    }

    fn told(&self, from: &mut impl Read) -> Result<Frame<Response>> {
        let told = message::read_frame(from);
        match told.and_then(|told| told.ok_or(std::io::ErrorKind::UnexpectedEof.into())) {
            Ok(Frame::Message(Response::Failed(Failure { code: 130, .. }))) => Err(self.failed(CANCELLED)),
            Ok(Frame::Message(Response::Failed(Failure { message, code }))) => {
                Err(Error::Told { message, code })
            }
            Ok(told) => Ok(told),
            Err(e) => Err(self.lost(&e)),
        }
    }

    /// Reads the next rows or figures. `hear` gets events.
    fn next(&self, from: &mut impl Read, hear: &mut impl FnMut(Event)) -> Result<Frame<Response>> {
        loop {
            match self.told(from)? {
                Frame::Message(Response::Warning(text)) => hear(Event::Warning(text)),
                Frame::Message(Response::Work(bytes)) => hear(Event::Work(bytes)),
                Frame::Message(Response::Note(text)) => hear(Event::Note(text)),
                told => return Ok(told),
            }
        }
    }

    /// Waits for the columns of the result and gives the rows. For a statement without rows it waits for the end.
    /// Figures go into `state`; stopping `state` ends the query everywhere. `hear` gets events.
    ///
    /// # Errors
    /// Errors of the statement, and a node that is lost.
    pub fn results(
        self,
        state: Arc<QueryState>,
        mut hear: impl FnMut(Event) + Send + 'static,
    ) -> Result<Results> {
        let system = |e: std::io::Error| Error::System(e.to_string());
        let (socket, stopped) = (self.socket.try_clone().map_err(system)?, Arc::downgrade(&state));
        let tell = move || {
            let (mut socket, mut last) = (socket, Instant::now());
            while let Some(state) = stopped.upgrade() {
                if state.stopped() {
                    // The other end sees that the caller is gone.
                    let _ = socket.shutdown(Shutdown::Both);
                    return;
                }
                if last.elapsed() >= BEAT {
                    last = Instant::now();
                    if message::write(&mut socket, &Word::Alive).is_err() {
                        return;
                    }
                }
                drop(state);
                std::thread::sleep(TICK);
            }
        };
        std::thread::Builder::new().name("palais-tell".into()).spawn(tell).map_err(system)?;
        let mut from = std::io::BufReader::new(self.socket.try_clone().map_err(system)?);
        let ended = |e| if state.stopped() { Error::Cancelled } else { e };
        let schema = loop {
            match self.next(&mut from, &mut hear).map_err(ended)? {
                Frame::Message(Response::Done(figures, skipped)) => {
                    // The statement gives no rows.
                    finish(&state, figures, skipped);
                    let none = Arc::new(Schema::empty());
                    return Results::fed(none, state, |_| Ok(())).map_err(|e| Error::System(e.to_string()));
                }
                Frame::Message(Response::Columns(bytes)) => {
                    break columns(&bytes.0).map_err(|e| self.lost(&std::io::Error::other(e)))?;
                }
                Frame::Message(Response::Alive(figures)) => figures.tell(&state),
                _ => return Err(self.lost(&std::io::ErrorKind::InvalidData.into())),
            }
        };
        let (rows_of, known) = (schema.clone(), state.clone());
        let feed = move |sink: &Sink| {
            loop {
                match self.next(&mut from, &mut hear)? {
                    Frame::Rows(bytes) => {
                        if !sink.give(&engine::distributed::wire::decode(&bytes, &rows_of)?) {
                            return Err(engine::Error::Cancelled);
                        }
                    }
                    Frame::Message(Response::Alive(figures)) => figures.tell(&known),
                    Frame::Message(Response::Done(figures, skipped)) => {
                        finish(&known, figures, skipped);
                        return Ok(());
                    }
                    Frame::Message(_) => {
                        return Err(self.lost(&std::io::ErrorKind::InvalidData.into()).into());
                    }
                }
            }
        };
        Results::fed(schema, state, feed).map_err(|e| Error::System(e.to_string()))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The process at the other end waits for this.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Stores the figures of a query that is done.
fn finish(state: &QueryState, figures: Figures, skipped: Skipped) {
    figures.tell(state);
    state.add_skipped(skipped);
}

fn columns(bytes: &[u8]) -> engine::Result<SchemaRef> {
    Ok(engine::distributed::wire::decode_with_schema(bytes)?.schema())
}

/// The caller of a statement, as the process that leads it sees it.
pub struct Requester {
    out: Mutex<Box<dyn Write + Send>>,
    state: Mutex<Option<Arc<QueryState>>>,
}

impl Requester {
    /// Reads the request of the caller, and starts three threads that keep up the connection. When the caller is gone,
    /// or is silent for `patience`, they call `end` with a line for the log, if there is one.
    ///
    /// # Errors
    /// No request came, or a thread can't be started.
    pub fn take(
        mut input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        patience: Duration,
        end: impl Fn(Option<String>) + Send + Sync + 'static,
    ) -> std::io::Result<(Arc<Requester>, Vec<u8>)> {
        // The message around the request takes some bytes too.
        let Some(Word::Request(Raw(request))) = message::read_up_to(&mut input, REQUEST + 64)? else {
            return Err(std::io::ErrorKind::InvalidData.into());
        };
        let caller = Arc::new(Requester { out: Mutex::new(Box::new(output)), state: Mutex::default() });
        let heard = Arc::new(Mutex::new(Instant::now()));
        let (hearing, end) = (heard.clone(), Arc::new(end));
        let ending = end.clone();
        let hear = move || {
            while let Ok(Some(Word::Alive)) = message::read_up_to(&mut input, 64) {
                *locked(&hearing) = Instant::now();
            }
            ending(None);
        };
        let telling = caller.clone();
        let beat = move || {
            loop {
                std::thread::sleep(BEAT / 2);
                telling.tell(&Response::Alive(telling.figures()));
            }
        };
        // This needs a thread of its own, because one that writes may wait for a caller that reads nothing.
        let watch = move || {
            while locked(&heard).elapsed() <= patience {
                std::thread::sleep(BEAT);
            }
            let seconds = patience.as_secs_f32();
            end(Some(format!("nothing was heard of the one who asked for {seconds} seconds")));
        };
        std::thread::Builder::new().name("palais-hear".into()).spawn(hear)?;
        std::thread::Builder::new().name("palais-beat".into()).spawn(beat)?;
        std::thread::Builder::new().name("palais-watch".into()).spawn(watch)?;
        Ok((caller, request))
    }

    /// Sends a message to the caller. If that fails the caller is gone, and the thread that reads from it ends the
    /// process.
    fn tell(&self, told: &Response) {
        let _ = message::write(&mut *locked(&self.out), told);
    }

    fn figures(&self) -> Figures {
        locked(&self.state).as_ref().map_or_else(Figures::default, |state| Figures::of(state))
    }

    /// Sends the figures of `state` from now on.
    pub fn follow(&self, state: &Arc<QueryState>) {
        *locked(&self.state) = Some(state.clone());
    }

    /// Sends the columns of the result. Call it before [`Requester::rows`].
    ///
    /// # Errors
    /// A column has a type that Arrow's IPC does not write.
    pub fn columns(&self, schema: &SchemaRef) -> engine::Result<()> {
        let none = RecordBatch::new_empty(schema.clone());
        self.tell(&Response::Columns(Raw(engine::distributed::wire::encode_with_schema(&none)?)));
        Ok(())
    }

    /// Sends a batch of the result.
    ///
    /// # Errors
    /// A column has a type that Arrow's IPC does not write.
    pub fn rows(&self, batch: &RecordBatch) -> engine::Result<()> {
        let bytes = message::rows(batch)?;
        let mut out = locked(&self.out);
        // A caller that is gone ends the process.
        let _ = out.write_all(&bytes).and_then(|()| out.flush());
        Ok(())
    }

    /// Sends a warning.
    pub fn warn(&self, text: String) {
        self.tell(&Response::Warning(text));
    }

    /// Tells the caller that a step begins that reads or makes about `bytes` bytes, and sends the figures of `state`
    /// from now on.
    pub fn begin(&self, bytes: u64, state: &Arc<QueryState>) {
        self.follow(state);
        self.tell(&Response::Work(bytes));
    }

    /// Sends a line for people about what was done.
    pub fn note(&self, text: String) {
        self.tell(&Response::Note(text));
    }

    /// Tells the caller that all rows were sent, or all files made.
    pub fn done(&self) {
        let skipped = locked(&self.state).as_ref().map_or_else(Default::default, |state| state.skipped());
        self.tell(&Response::Done(self.figures(), skipped));
    }

    /// Tells the caller that the statement failed.
    pub fn failed(&self, failure: Failure) {
        self.tell(&Response::Failed(failure));
    }
}
