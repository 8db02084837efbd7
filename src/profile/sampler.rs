//! Samples of the stacks of a process, taken by a timer of the system.
//!
//! `ITIMER_PROF` sends SIGPROF at each [`INTERVAL`] of processor time of all threads, to a thread that is running. The
//! handler walks the stack of that thread and writes the addresses into memory that was made ready before. It takes no
//! lock and allocates nothing. Names are found when the timer is off.
//!
//! The handler does not walk a thread that was within the C library or the unwinder, because it may hold the locks that
//! walking takes. The sample of such a thread has the one function that it was in.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Processor time between two samples. A system whose clock ticks less often gives fewer.
pub const INTERVAL: Duration = Duration::from_millis(2);

/// The words for all samples, 32 MiB: at 40 functions a stack they hold three minutes of processor time.
const WORDS: usize = 4 << 20;
/// The most functions of a stack. Those above are left out.
const DEPTH: usize = 160;
/// The words in front of the addresses of a sample: the number of addresses, and the name of the thread.
const HEADER: usize = 3;

/// Libraries whose functions may hold a lock that walking the stack takes.
const UNWALKED: [&str; 6] = ["/libc.so", "/libc-", "/libgcc_s", "/libpthread", "/ld-linux", "[vdso]"];

static SAMPLES: OnceLock<Samples> = OnceLock::new();

/// The memory to which the handler writes.
struct Samples {
    words: Box<[AtomicUsize]>,
    /// How many words handlers have taken.
    next: AtomicUsize,
    /// How many samples had no room.
    lost: AtomicUsize,
    /// How many handlers are running.
    active: AtomicUsize,
    on: AtomicBool,
    unwalked: Vec<Range<usize>>,
}

/// A stack that was sampled.
pub struct Sample {
    /// The name of the thread.
    pub thread: String,
    /// Functions, the outermost first.
    pub functions: Vec<String>,
}

/// A timer that is running.
pub struct Sampler(&'static Samples);

impl Sampler {
    /// Starts the timer. A process can start one only.
    pub fn start() -> std::io::Result<Sampler> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let words = Box::new_zeroed_slice(WORDS);
        let samples = Samples {
            // SAFETY: zeros are a valid atomic integer.
            words: unsafe { words.assume_init() },
            next: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            on: AtomicBool::new(true),
            unwalked: unwalked(&maps),
        };
        if SAMPLES.set(samples).is_err() {
            return Err(std::io::Error::other("a profile is being taken already"));
        }
        // The first walk makes the unwinder allocate what it keeps.
        walk(&mut [0; DEPTH]);
        handle(take_sample as *const () as libc::sighandler_t)?;
        set_timer(INTERVAL)?;
        Ok(Sampler(SAMPLES.get().expect("it was set above")))
    }

    /// Stops the timer. Gives the samples, and how many had no room.
    pub fn finish(self) -> std::io::Result<(Vec<Sample>, usize)> {
        let samples = self.0;
        set_timer(Duration::ZERO)?;
        samples.on.store(false, Ordering::SeqCst);
        // A signal may still be on its way. Its usual effect would end the process.
        handle(libc::SIG_IGN)?;
        while samples.active.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        let end = samples.next.load(Ordering::SeqCst).min(WORDS);
        let words: Vec<usize> = samples.words[..end].iter().map(|w| w.load(Ordering::Relaxed)).collect();
        Ok((named(&words), samples.lost.load(Ordering::Relaxed)))
    }
}

/// The addresses of the libraries whose functions are not walked from, by the system's list of mappings.
fn unwalked(maps: &str) -> Vec<Range<usize>> {
    let of_line = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let is_one = UNWALKED.iter().any(|library| rest.contains(library));
        is_one.then_some(address(start)?..address(end)?)
    };
    maps.lines().filter_map(of_line).collect()
}

/// Sets the handler of SIGPROF.
fn handle(handler: libc::sighandler_t) -> std::io::Result<()> {
    // SAFETY: an all-zero sigaction is valid storage; the handler has the three arguments that SA_SIGINFO gives it, or
    // is SIG_IGN, and calls nothing that is unsafe in a handler.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Has the system send SIGPROF at each interval of processor time; zero is never.
fn set_timer(interval: Duration) -> std::io::Result<()> {
    let each = libc::timeval { tv_sec: 0, tv_usec: libc::suseconds_t::from(interval.subsec_micros()) };
    let timer = libc::itimerval { it_interval: each, it_value: each };
    // SAFETY: `timer` is valid for the length of the call.
    let done = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The handler of SIGPROF. It may interrupt any code, so it takes no lock and allocates nothing.
extern "C" fn take_sample(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(samples) = SAMPLES.get() else { return };
    samples.active.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the place of this thread's errno; what was interrupted must find its value as it was.
    let errno = unsafe { *libc::__errno_location() };
    if samples.on.load(Ordering::SeqCst) {
        samples.take(interrupted_at(context));
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    samples.active.fetch_sub(1, Ordering::SeqCst);
}

/// The address at which the thread was interrupted.
fn interrupted_at(context: *mut c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the system gives a handler with SA_SIGINFO the context of the thread, which is valid until it returns.
    #[cfg(target_arch = "x86_64")]
    let at = unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize };
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    let at = unsafe { (*context).uc_mcontext.pc as usize };
    at
}

/// Walks the stack of this thread, from here outwards. Gives how many addresses it wrote.
fn walk(addresses: &mut [usize; DEPTH]) -> usize {
    let mut count = 0;
    let each = |frame: &backtrace::Frame| {
        addresses[count] = frame.ip() as usize;
        count += 1;
        count < DEPTH
    };
    // SAFETY: walking needs no synchronisation on Linux, where it goes through the unwinder of the C compiler. A thread
    // that was within that unwinder, or holds a lock that it takes, is not walked.
    unsafe { backtrace::trace_unsynchronized(each) };
    count
}

impl Samples {
    /// Stores the stack of this thread, which was interrupted at this address.
    fn take(&self, at: usize) {
        let mut addresses = [0; DEPTH];
        let mut taken = &[at][..];
        if !self.unwalked.iter().any(|range| range.contains(&at)) {
            let count = walk(&mut addresses);
            // Before that address come this handler and the system's call of it.
            if let Some(first) = addresses[..count].iter().position(|&address| address == at) {
                taken = &addresses[first..count];
            }
        }
        let place = self.next.fetch_add(HEADER + taken.len(), Ordering::Relaxed);
        let Some(words) = self.words.get(place..place + HEADER + taken.len()) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let mut name = [0_usize; 2];
        // SAFETY: the call writes at most 16 bytes, for which there is room.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let header = [taken.len(), name[0], name[1]];
        for (word, value) in words.iter().zip(header.iter().chain(taken)) {
            word.store(*value, Ordering::Relaxed);
        }
    }
}

/// Finds the names of the functions of samples.
fn named(words: &[usize]) -> Vec<Sample> {
    let mut names: HashMap<usize, Vec<String>> = HashMap::new();
    let (mut samples, mut rest) = (Vec::new(), words);
    // The last sample may be one for which there was no room; then its length is 0.
    while let Some((&[length, a, b], behind)) = rest.split_first_chunk::<HEADER>()
        && (1..=behind.len()).contains(&length)
    {
        let (addresses, next) = behind.split_at(length);
        let mut functions = Vec::new();
        for &address in addresses.iter().rev() {
            functions.extend_from_slice(names.entry(address).or_insert_with(|| function_names(address)));
        }
        let name = [a, b].map(usize::to_ne_bytes).concat();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        samples.push(Sample { thread: String::from_utf8_lossy(name).into_owned(), functions });
        rest = next;
    }
    samples
}

/// The functions at an address, from the outermost on. There are several where functions were inlined.
fn function_names(address: usize) -> Vec<String> {
    let mut names = Vec::new();
    backtrace::resolve(address as *mut c_void, |symbol| {
        names.extend(symbol.name().map(|name| format!("{name:#}")));
    });
    if names.is_empty() {
        names.push("unknown".into());
    }
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_libraries_are_those_of_the_mappings() {
        let maps = "\
            00400000-00500000 r-xp 00000000 08:02 1 /home/libc/palais\n\
            7f00-7f80 r-xp 00000000 08:02 2                    /usr/lib/x86_64-linux-gnu/libc.so.6\n\
            7f80-7f90 r-xp 00000000 08:02 3                    /usr/lib/x86_64-linux-gnu/libcap.so.2\n\
            7fa0-7fb0 r-xp 00000000 00:00 0                    [vdso]\n\
            nonsense\n";
        assert_eq!(unwalked(maps), [0x7f00..0x7f80, 0x7fa0..0x7fb0]);
    }

    #[test]
    fn samples_are_told_apart_and_the_functions_named() {
        let here = samples_are_told_apart_and_the_functions_named as *const () as usize + 4;
        let words = [
            1,
            usize::from_ne_bytes(*b"worker-1"),
            0,
            here,
            2,
            usize::from_ne_bytes(*b"ab\0cdefg"),
            0,
            1,
            here,
        ];
        let named = named(&words);
        assert_eq!(named.len(), 2);
        assert_eq!((named[0].thread.as_str(), named[1].thread.as_str()), ("worker-1", "ab"));
        let function = |sample: &Sample, i: usize| sample.functions[i].contains("samples_are_told_apart");
        assert!(function(&named[0], 0) && function(&named[1], 0), "{:?}", named[0].functions);
        assert_eq!(named[1].functions[1], "unknown");
        assert_eq!(
            super::named(&[]).len() + super::named(&[0, 0, 0, 0]).len() + super::named(&[9, 0, 0, 1]).len(),
            0
        );
    }
}
