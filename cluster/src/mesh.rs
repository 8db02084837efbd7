//! The sockets between the processes of one run of a query.
//!
//! Each pair of processes has one socket for notes, as long as the query runs, and one for the channels of timely in
//! each stage. The process of a pair with the greater number connects. A process listens only while it waits for
//! others. It closes connections that do not show the token in time.
//!
//! - [`link`]: the sockets for channels, which compress where that is quicker.
//! - `meet`: connects the processes.

pub mod link;
pub(crate) mod meet;

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::distributed::processes::{Channels, Network, Note, Notes};
use engine::distributed::wire::transfer::Transfers;
use serde::{Deserialize, Serialize};
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};

use crate::compression::Compression;
use crate::handshake::{Hello, Kind};
use crate::lobby::Lobby;
use crate::locked;
use crate::message::{self, Raw};
use crate::socket::Socket;
use crate::tls::Tls;
use link::{Carried, Link};

/// A process sends something at least this often on a socket for notes.
const BEAT: Duration = Duration::from_secs(1);
/// How long a process that has done its part waits for the goodbye of the others.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long credit waits for more credit before it is sent back: each message about it wakes two threads on both sides.
/// Senders have credit for many batches.
const GATHER: Duration = Duration::from_millis(2);

/// A message from a process to another one.
#[derive(Serialize, Deserialize)]
pub enum Word {
    /// The process lives.
    Alive,
    /// A note of the dataflow.
    Note(Note),
    /// The value of a scalar subquery.
    Value(usize, Raw),
    /// The process has read these cross-memory transfers; see [`engine::distributed::wire::transfer`].
    Returned(Vec<u64>),
    /// The process has done its part, and sends no more.
    Goodbye,
}

/// Called when another process is lost, with its number and the reason.
pub type OnLost = Arc<dyn Fn(usize, String) + Send + Sync>;

/// What [`Mesh::start`] needs to know.
pub struct Settings {
    /// The number of this process.
    pub process: usize,
    /// Workers of each process.
    pub workers: usize,
    /// The address at which each process listens. That of this process belongs to the listener.
    pub addresses: Vec<SocketAddr>,
    /// What connections of this run say of themselves. `from`, `to` and `kind` do not count.
    pub hello: Hello,
    /// The token that the processes of this query show each other.
    pub token: [u8; 32],
    /// How bytes on channels are compressed.
    pub compression: Compression,
    /// For connections with TLS.
    pub tls: Option<Tls>,
    /// Another process from which nothing was heard for so long is lost.
    pub patience: Duration,
    /// Called then.
    pub on_lost: OnLost,
}

/// The sockets of this process.
pub struct Mesh {
    settings: Settings,
    notes: Arc<Notes>,
    listener: Arc<TcpListener>,
    /// The connections whose other end has shown the token, by what they carry and the process that they come from.
    came: Arc<Mutex<HashMap<(Kind, u32), Socket>>>,
    lobby: Lobby,
    tellers: Mutex<Vec<Option<Teller>>>,
    values: Arc<Values>,
    over: Arc<Over>,
    carried: Arc<Carried>,
    loans: Arc<Transfers>,
}

/// The way to another process.
struct Teller {
    /// Words to send. `None` says that there is credit to give back.
    words: Sender<Option<Word>>,
    credit: Arc<Mutex<Credit>>,
}

/// What is to be given back to another process.
#[derive(Default)]
struct Credit {
    /// Bytes by stage, exchange and sender.
    bytes: HashMap<(u32, u32, u32), u64>,
    /// Transfers that were read.
    loans: Vec<u64>,
}

impl Credit {
    /// Takes all of it as words.
    fn take(&mut self) -> impl Iterator<Item = Word> {
        let loans = std::mem::take(&mut self.loans);
        let bytes = self.bytes.drain().map(|((stage, node, source), bytes)| {
            Word::Note(Note::Absorbed { stage, node, source, bytes, loan: None })
        });
        // Memory is freed before its credit lets the other process use it again.
        (!loans.is_empty()).then_some(Word::Returned(loans)).into_iter().chain(bytes)
    }
}

impl Teller {
    fn tell(&self, word: Word) {
        let word = match word {
            Word::Note(Note::Absorbed { stage, node, source, bytes, loan }) => {
                let mut credit = locked(&self.credit);
                let is_first = credit.bytes.is_empty();
                *credit.bytes.entry((stage, node, source)).or_default() += bytes;
                credit.loans.extend(loan);
                if !is_first {
                    return;
                }
                None
            }
            word => Some(word),
        };
        // Sending fails if the other process is lost. The thread that has noticed the loss reports it.
        let _ = self.words.send(word);
    }
}

/// The values of scalar subqueries, by stage.
#[derive(Default)]
struct Values {
    known: Mutex<HashMap<usize, Vec<u8>>>,
    came: Condvar,
}

#[derive(Default)]
struct Over {
    /// This process has done its part and waits for no other.
    ended: AtomicBool,
    /// How many other processes have said goodbye, or are lost.
    gone: Mutex<usize>,
    changed: Condvar,
}

impl Mesh {
    /// Connects this process to all others for notes. Incoming notes go into `notes`.
    ///
    /// # Errors
    /// Another process can't be reached in time. `on_lost` was called.
    pub fn start(
        settings: Settings,
        listener: Arc<TcpListener>,
        notes: Arc<Notes>,
        carried: Arc<Carried>,
        loans: Arc<Transfers>,
    ) -> engine::Result<Arc<Mesh>> {
        let mesh = Arc::new(Mesh {
            settings,
            notes,
            listener,
            came: Arc::default(),
            lobby: Lobby::default(),
            tellers: Mutex::default(),
            values: Arc::default(),
            over: Arc::default(),
            carried,
            loans,
        });
        let sockets = mesh.meet(Kind::Notes)?;
        let mut tellers = Vec::new();
        for (peer, socket) in sockets.into_iter().enumerate() {
            let Some(socket) = socket else {
                tellers.push(None);
                continue;
            };
            let started = mesh.converse(peer, socket);
            tellers.push(Some(started.map_err(|e| engine::Error::Start(e.to_string()))?));
        }
        *locked(&mesh.tellers) = tellers;
        Ok(mesh)
    }

    fn processes(&self) -> usize {
        self.settings.addresses.len()
    }

    /// Starts the two threads of a socket for notes, one that writes and one that reads. Gives what the first one
    /// sends.
    fn converse(&self, peer: usize, socket: Socket) -> io::Result<Teller> {
        let (words, told) = channel();
        let credit = Arc::<Mutex<Credit>>::default();
        let given = credit.clone();
        let writing = socket.try_clone()?;
        let lost = self.settings.on_lost.clone();
        let over = self.over.clone();
        let write = move || {
            if let Err(e) = tell(writing, &told, &given)
                && !over.ended.load(Ordering::SeqCst)
            {
                lost(peer, e.to_string());
            }
        };
        std::thread::Builder::new().name(format!("palais-tell-{peer}")).spawn(write)?;
        socket.set_read_timeout(Some(self.settings.patience))?;
        let (notes, values, over) = (self.notes.clone(), self.values.clone(), self.over.clone());
        let loans = self.loans.clone();
        let (lost, patience) = (self.settings.on_lost.clone(), self.settings.patience);
        let read = move || {
            let outcome = hear(socket, &notes, &values, &loans);
            *locked(&over.gone) += 1;
            over.changed.notify_all();
            if let Err(e) = outcome
                && !over.ended.load(Ordering::SeqCst)
            {
                lost(peer, reason(&e, patience));
            }
        };
        std::thread::Builder::new().name(format!("palais-hear-{peer}")).spawn(read)?;
        Ok(Teller { words, credit })
    }

    /// Says goodbye and waits, at most 2 seconds, until the others have: then no note of theirs is on its way.
    pub fn end(&self) {
        for teller in locked(&self.tellers).drain(..).flatten() {
            teller.tell(Word::Goodbye);
        }
        let (deadline, others) = (Instant::now() + GOODBYE, self.processes() - 1);
        let mut gone = locked(&self.over.gone);
        while *gone < others && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            gone = self.over.changed.wait_timeout(gone, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.over.ended.store(true, Ordering::SeqCst);
    }

    fn tell_word(&self, process: usize, word: Word) {
        if let Some(Some(teller)) = locked(&self.tellers).get(process) {
            teller.tell(word);
        }
    }
}

impl Network for Mesh {
    fn connect(&self, stage: usize) -> engine::Result<Channels> {
        let sockets = self.meet(Kind::Data(stage as u32))?;
        let sockets = sockets.into_iter().map(|socket| {
            socket.map(|socket| Link::new(socket, self.settings.compression, self.carried.clone()))
        });
        let hooks = timely::communication::Hooks::default();
        let inside = ProcessBuilder::new_typed_vector(self.settings.workers, hooks.refill.clone(), None);
        let (process, workers) = (self.settings.process, self.settings.workers);
        let made = initialize_networking_from_sockets(inside, sockets.collect(), process, workers, hooks);
        let (allocators, guard) = made.map_err(|e| engine::Error::Start(e.to_string()))?;
        let allocators = allocators.into_iter().map(AllocatorBuilder::Tcp).collect();
        Ok(Channels { allocators, guard: Box::new(guard) })
    }

    fn tell(&self, process: usize, note: Note) {
        self.tell_word(process, Word::Note(note));
    }

    fn tell_value(&self, stage: usize, value: Vec<u8>) {
        (0..self.processes())
            .for_each(|process| self.tell_word(process, Word::Value(stage, Raw(value.clone()))));
    }

    fn value(&self, stage: usize) -> engine::Result<Vec<u8>> {
        let mut known = locked(&self.values.known);
        loop {
            if let Some(value) = known.remove(&stage) {
                return Ok(value);
            }
            if self.notes.is_stopped() {
                return Err(engine::Error::Cancelled);
            }
            known = self.values.came.wait_timeout(known, BEAT / 10).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Why a socket failed, as text.
fn reason(e: &io::Error, patience: Duration) -> String {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing was heard for {} seconds", patience.as_secs_f32())
        }
        io::ErrorKind::UnexpectedEof => "it was closed".into(),
        _ => e.to_string(),
    }
}

/// Sends words until it has sent the goodbye.
fn tell(mut socket: Socket, told: &Receiver<Option<Word>>, credit: &Mutex<Credit>) -> io::Result<()> {
    let (mut bytes, mut said) = (Vec::new(), Instant::now());
    // When the gathered credit is sent.
    let mut due: Option<Instant> = None;
    loop {
        let until = due.unwrap_or(said + BEAT);
        let first = match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Some(word)) => Some(word),
            Ok(None) => {
                due = due.or(Some(Instant::now() + GATHER));
                continue;
            }
            Err(RecvTimeoutError::Timeout) => due.is_none().then_some(Word::Alive),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        bytes.clear();
        let mut over = false;
        if due.take_if(|due| *due <= Instant::now()).is_some() {
            locked(credit).take().try_for_each(|word| message::write(&mut bytes, &word))?;
        }
        for word in first.map(Some).into_iter().chain(told.try_iter()) {
            match word {
                Some(word) => {
                    over |= matches!(word, Word::Goodbye);
                    message::write(&mut bytes, &word)?;
                }
                None => due = due.or(Some(Instant::now() + GATHER)),
            }
        }
        socket.write_all(&bytes)?;
        said = Instant::now();
        if over {
            return socket.shutdown(Shutdown::Write);
        }
    }
}

/// Takes words until the other end says goodbye.
fn hear(socket: Socket, notes: &Notes, values: &Values, loans: &Transfers) -> io::Result<()> {
    let mut socket = io::BufReader::new(socket);
    loop {
        match message::read(&mut socket)?.ok_or(io::ErrorKind::UnexpectedEof)? {
            Word::Alive => {}
            Word::Note(note) => notes.take(note),
            Word::Returned(numbers) => loans.take_back(&numbers),
            Word::Value(stage, Raw(value)) => {
                locked(&values.known).insert(stage, value);
                values.came.notify_all();
            }
            Word::Goodbye => return Ok(()),
        }
    }
}
