//! How the process ends: interrupts, panics, aborts, and errors where no caller can get them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use engine::QueryState;
use session::Cancel;

use crate::say::say;

static RUNNING: Mutex<Weak<QueryState>> = Mutex::new(Weak::new());
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How long a cancelled query may take to stop. A thread that waits for the system (for a pipe into which nothing is
/// written, or for a disk) doesn't see that it was cancelled.
const GRACE: Duration = Duration::from_millis(700);

/// The exit code after an interrupt, 128 + SIGINT.
const INTERRUPT: i32 = 130;

/// The exit code of an internal error, EX_SOFTWARE of sysexits(3).
pub const INTERNAL: u8 = 70;

/// Has a panic end the process, unless it is caught.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        // A caught panic becomes the error of a file or of a query.
        if formats::panics::is_caught(info) {
            return;
        }
        let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        let payload = info.payload();
        let text = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        if cluster::worker::is_loss(std::thread::current().name(), &text) {
            // The coordinator ends this process.
            wait_for_the_end();
        }
        say(format_args!(
            "internal error: {text}{place}\n  help: this is a bug in palais; please report it with the query"
        ));
        leave();
        std::process::exit(INTERNAL.into());
    }));
}

/// Ends the process with an error, from any thread at any place. The allocator calls it, which can give no error back,
/// and threads that watch another one. Tells the error to the process that started this one ([`tell_failures_by`]), and
/// leaves nothing behind.
pub fn fail(error: &anyhow::Error) -> ! {
    static FAILING: AtomicBool = AtomicBool::new(false);
    if FAILING.swap(true, Ordering::SeqCst) {
        // Another thread, or this one for another reason, is about to end the process.
        wait_for_the_end();
    }
    let (message, code) = crate::describe(error.as_ref());
    let told = TELL.get().is_some_and(|tell| {
        // This thread may hold a lock that telling needs.
        let (done, waiting) = channel();
        let failure = (message.clone(), code);
        let tell = move || {
            let _ = done.send(tell(failure.0, failure.1));
        };
        let thread = std::thread::Builder::new().name("palais-fail".into()).spawn(tell);
        thread.is_ok() && waiting.recv_timeout(TELLING) == Ok(true)
    });
    match told {
        // The message may still be on its way, and is lost if this end closes first. The other process ends this one.
        true => std::thread::sleep(TELLING),
        false => say(format_args!("{message}")),
    }
    leave();
    std::process::exit(code.into())
}

/// How long the other process may take to read why this one ends.
const TELLING: Duration = Duration::from_secs(2);

/// Sends a failure, its message and exit code, to the process that started this one; false if there is none.
type Tell = Box<dyn Fn(String, u8) -> bool + Send + Sync>;

static TELL: OnceLock<Tell> = OnceLock::new();

/// Sets how a failure is sent to the process that started this one. Without it the message goes to standard error.
pub fn tell_failures_by(tell: impl Fn(String, u8) -> bool + Send + Sync + 'static) {
    // Set once: a process serves one coordinator or caller.
    let _ = TELL.set(Box::new(tell));
}

/// Has a request for memory beyond `--memory-limit` end the process: an allocator can give no error.
pub fn end_at_memory_limit() {
    engine::context::memory::end_by(|error| fail(&error.into()));
}

/// Has an abort (a stack that overflows, a panic while another one unwinds) end the process as a panic does, with
/// nothing left behind. Call it after [`take_interrupts`], whose thread does the work.
pub fn end_on_abort() {
    extern "C" fn ask(_: libc::c_int) {
        // SAFETY: both calls are safe within a handler of signals; they touch no memory.
        unsafe { libc::kill(libc::getpid(), ABORTED) };
        for _ in 0..ENDING_SECONDS {
            // SAFETY: as above. The thread that aborts must not go on.
            unsafe { libc::sleep(1) };
        }
    }
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask. The handler calls only what may be called in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ask as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
    }
}

/// The signal by which a thread that aborts tells the thread that takes signals.
const ABORTED: libc::c_int = libc::SIGUSR2;

/// How many seconds a thread that aborts waits for the end of the process, before it ends the process itself.
const ENDING_SECONDS: u32 = 10;

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// Takes interrupts (Ctrl-C) and requests to end in a thread of its own. Call it before any other thread is started:
/// threads inherit that these signals are blocked, so that this thread alone takes them.
///
/// The first signal cancels the query that runs. A second one, or one while no query runs, ends the process. So does a
/// query that has not stopped after [`GRACE`].
pub fn take_interrupts() {
    let set = signal_set();
    // SAFETY: the set is initialised; the call changes the mask of this thread alone.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    let wait = move || {
        loop {
            let mut signal = 0;
            // SAFETY: the set is initialised and `signal` is a valid place for the result.
            unsafe { libc::sigwait(&raw const set, &raw mut signal) };
            if signal == libc::SIGINT && IS_SHELL.load(Ordering::Relaxed) {
                interrupt_shell();
                continue;
            }
            if signal == ABORTED {
                say(format_args!(
                    "internal error: a thread was aborted\n  help: this is a bug in palais; please report it with the query"
                ));
                end(INTERNAL.into());
            }
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
            match running {
                Some(state) if !INTERRUPTED.swap(true, Ordering::SeqCst) => {
                    state.cancel();
                    end_soon();
                }
                _ => {
                    leave();
                    say("interrupted");
                    std::process::exit(INTERRUPT);
                }
            }
        }
    };
    if std::thread::Builder::new().name("palais-signals".into()).spawn(wait).is_err() {
        // Without the thread no other one would take the signals, so they keep their usual effect.
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

/// Whether an interrupt only cancels a statement, and does not end the process.
static IS_SHELL: AtomicBool = AtomicBool::new(false);

/// The statement that an interrupt cancels in a shell, and when an interrupt came.
static STATEMENT: Mutex<Option<(Cancel, Option<Instant>)>> = Mutex::new(None);

/// Has the terminal give pasted text as if it were typed. A line editor asks for marks around it.
const PASTE_AS_TYPED: &[u8] = b"\x1b[?2004l";

/// The settings of the terminal before the process changed them.
static TERMINAL: OnceLock<libc::termios> = OnceLock::new();

/// Restores the present settings of the terminal if the process ends early: a line editor changes them.
pub fn keep_terminal() {
    // SAFETY: an all-zero termios is valid, and the call writes one to the place given.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(libc::STDIN_FILENO, &raw mut settings) == 0 {
            let _ = TERMINAL.set(settings);
        }
    }
}

/// From now on an interrupt cancels the statement that runs, and does not end the process. A second one ends it, if the
/// statement has not stopped after [`GRACE`]: a thread may wait for a pipe into which nothing is written.
pub fn interrupts_cancel() {
    IS_SHELL.store(true, Ordering::Relaxed);
}

/// Whether a pager has the terminal. A pager takes interrupts too.
static PAGES: AtomicBool = AtomicBool::new(false);

/// A statement that runs until this is dropped, and the statement within which it runs.
pub struct Running(Option<(Cancel, Option<Instant>)>);

/// Lets an interrupt cancel this statement, until the given value is dropped.
pub fn running(cancel: &Cancel) -> Running {
    Running(STATEMENT.lock().unwrap_or_else(PoisonError::into_inner).replace((cancel.clone(), None)))
}

impl Drop for Running {
    fn drop(&mut self) {
        *STATEMENT.lock().unwrap_or_else(PoisonError::into_inner) = self.0.take();
    }
}

/// Sets whether a pager has the terminal. If it has, a second interrupt is for the pager.
pub fn pages(is_so: bool) {
    PAGES.store(is_so, Ordering::Relaxed);
}

/// Unblocks all signals in a process that is about to begin; this one blocks some ([`take_interrupts`]).
///
/// # Errors
/// The system refuses it.
pub fn take_none() -> std::io::Result<()> {
    // SAFETY: an all-zero set is valid storage for sigemptyset, which initialises it; both calls may be made between fork
    // and exec.
    let changed = unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    };
    if changed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn interrupt_shell() {
    match &mut *STATEMENT.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((cancel, asked @ None)) => {
            *asked = Some(Instant::now());
            cancel.cancel();
        }
        Some((_, Some(asked))) if asked.elapsed() > GRACE && !PAGES.load(Ordering::Relaxed) => {
            say("interrupted");
            end(INTERRUPT);
        }
        Some(_) | None => {}
    }
}

/// Lets an interrupt cancel this query from now on.
pub fn cancel_on_interrupt(state: &Arc<QueryState>) {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(state);
}

/// Ends the process after [`GRACE`], if it has not ended by itself.
fn end_soon() {
    let end = || {
        std::thread::sleep(GRACE);
        leave();
        say("interrupted");
        std::process::exit(INTERRUPT);
    };
    // Without the thread the user has to interrupt a second time.
    let _ = std::thread::Builder::new().name("palais-end".into()).spawn(end);
}

/// Has the system kill this process when the process that started it ends. A process that is stopped would not see the
/// end of its input. `parent` is the number of the other process, where it is known, because that may have ended
/// before.
pub fn end_with_parent(parent: Option<u32>) {
    // SAFETY: prctl(2) with this option takes a signal and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent) {
        end(1);
    }
}

/// Has files that this process is writing removed if it is killed.
pub fn sweep_up() {
    formats::store::atomic::sweep_with(&["cluster", "cleanup"]);
}

/// Ends the process and what it has started. Removes files that are not whole.
pub fn end(code: i32) -> ! {
    leave();
    std::process::exit(code)
}

/// Does what is left for a process that ends without unwinding.
fn leave() {
    // SAFETY: the first two calls touch no memory, the other ones read the settings and the bytes, which are whole.
    unsafe {
        if let Some(settings) = TERMINAL.get()
            // A process in the background would be stopped for it.
            && libc::tcgetpgrp(libc::STDIN_FILENO) == libc::getpgrp()
        {
            libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const *settings);
            libc::write(libc::STDOUT_FILENO, PASTE_AS_TYPED.as_ptr().cast(), PASTE_AS_TYPED.len());
        }
    }
    engine::context::children::end_all();
    formats::store::atomic::remove_all();
}

fn signal_set() -> libc::sigset_t {
    // SAFETY: an all-zero set is valid storage for sigemptyset, which initialises it; the other calls take a set that
    // is initialised.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGHUP);
        libc::sigaddset(&raw mut set, ABORTED);
        set
    }
}
