//! Interrupts and panics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use engine::QueryState;

static RUNNING: Mutex<Weak<QueryState>> = Mutex::new(Weak::new());
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit code of an internal error, EX_SOFTWARE of sysexits(3).
const INTERNAL: i32 = 70;

/// A panic anywhere ends the process: timely itself would hang or abort.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        let payload = info.payload();
        let text = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        eprintln!(
            "internal error: {text}{place}\n  help: this is a bug in palais; please report it with the query"
        );
        engine::children::kill_all();
        std::process::exit(INTERNAL);
    }));
}

/// An interrupt (Ctrl-C) or a request to end cancels this query; a second one ends the process at once.
pub fn cancel_on_interrupt(state: &Arc<QueryState>) {
    *RUNNING.lock().expect("nothing panics with this lock") = Arc::downgrade(state);
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let mut set = signal_set();
        // SAFETY: the set is initialised; blocking signals in this thread, before workers start, makes all later
        // threads inherit the mask, so that only the thread below takes them.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        let wait = move || loop {
            let mut signal = 0;
            // SAFETY: the set is initialised and `signal` is a valid place for the result.
            unsafe { libc::sigwait(&raw const set, &raw mut signal) };
            let _ = &mut set;
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            if let Some(state) = RUNNING.lock().expect("nothing panics with this lock").upgrade() {
                state.cancel();
            } else {
                std::process::exit(130);
            }
        };
        let spawned = std::thread::Builder::new().name("palais-signals".into()).spawn(wait);
        debug_assert!(spawned.is_ok(), "without the thread an interrupt would be ignored");
    });
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
