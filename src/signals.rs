//! Interrupts and panics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use engine::QueryState;

use crate::say::say;

static RUNNING: Mutex<Weak<QueryState>> = Mutex::new(Weak::new());
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How long a cancelled query may take to stop. A thread that waits for the system (for a pipe into which nobody writes,
/// for a disk) doesn't see that it was cancelled.
const GRACE: Duration = Duration::from_millis(700);

/// The exit code after an interrupt, 128 + SIGINT.
const INTERRUPT: i32 = 130;

/// The exit code of an internal error, EX_SOFTWARE of sysexits(3).
const INTERNAL: i32 = 70;

/// A panic anywhere ends the process: timely itself would hang or abort.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        // A library's panic on the bytes of a file, which `formats` catches and turns into an error.
        if formats::columns::guard::is_guarded() {
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
            // Whoever has started this process ends it.
            loop {
                std::thread::park();
            }
        }
        say(format_args!(
            "internal error: {text}{place}\n  help: this is a bug in palais; please report it with the query"
        ));
        leave();
        std::process::exit(INTERNAL);
    }));
}

/// A request for more memory at once than `--memory-limit` allows ends the process: an allocator can give no error.
pub fn end_on_too_large_requests() {
    engine::memory::on_too_large(|bytes| {
        let help = if formats::columns::guard::is_guarded() {
            "a file that is read claims more than it can hold and is damaged, or --memory-limit is too low"
        } else {
            "raise --memory-limit"
        };
        let (bytes, limit) = (engine::memory::human(bytes), engine::memory::human(engine::memory::limit()));
        say(format_args!(
            "error: out of memory: {bytes} were asked for at once, of --memory-limit {limit}\n  help: {help}"
        ));
        leave();
        std::process::exit(1);
    });
}

/// Takes interrupts (Ctrl-C) and requests to end in a thread of its own. Call it before any other thread is started:
/// threads inherit that these signals are blocked, so that only this one takes them.
///
/// The first signal cancels the query that runs; a second one, or one while none runs, ends the process, as does a
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
            let running = RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).upgrade();
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
        // Without the thread nobody would take the signals: they keep their usual effect.
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

/// An interrupt cancels this query from now on.
pub fn cancel_on_interrupt(state: &Arc<QueryState>) {
    *RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::downgrade(state);
}

/// Ends the process after [`GRACE`], if it has not ended by itself.
fn end_soon() {
    let end = || {
        std::thread::sleep(GRACE);
        leave();
        say("interrupted");
        std::process::exit(INTERRUPT);
    };
    // Without the thread a second signal is needed.
    let _ = std::thread::Builder::new().name("palais-end".into()).spawn(end);
}

/// Has the system kill this process when the one that started it ends, whatever state it is in then: one that is stopped
/// would not see that its input ends. `parent` is the number of that one, where it is known: it may have ended before.
pub fn end_with_parent(parent: Option<u32>) {
    // SAFETY: prctl(2) with this option takes a signal and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent) {
        end(1);
    }
}

/// Ends the process, and what it has started; files that are not whole are removed.
pub fn end(code: i32) -> ! {
    leave();
    std::process::exit(code)
}

/// What a process that ends without unwinding still has to do.
fn leave() {
    engine::children::end_all();
    engine::aside::remove_all();
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
        set
    }
}
