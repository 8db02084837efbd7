//! Requests of stores, a few at a time, on threads that end when nothing is left to ask.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

use bytes::Bytes;

use super::remote::Store;
use crate::memory::count_to_the_end;
use crate::panics;

/// The most requests of a process that are under way.
pub const AT_ONCE: usize = 16;
/// The stack of a thread that waits for a store, in bytes.
const STACK: usize = 1 << 20;

/// The bytes of a range of a file, that are there or on their way.
pub struct Request {
    state: Mutex<State>,
    done: Condvar,
}

enum State {
    /// They are not there. Whoever is to be woken.
    Waiting(Vec<Waker>),
    Done(Result<Bytes, Arc<io::Error>>),
}

struct Job {
    store: Arc<dyn Store>,
    name: Arc<str>,
    range: Range<u64>,
    /// Nobody waits for a request that was dropped.
    request: Weak<Request>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { jobs: VecDeque::new(), threads: 0 });

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to read a range of a file.
pub fn start(store: Arc<dyn Store>, name: Arc<str>, range: Range<u64>) -> Arc<Request> {
    let request = Arc::new(Request { state: Mutex::new(State::Waiting(Vec::new())), done: Condvar::new() });
    let mut all = queue();
    all.jobs.push_back(Job { store, name, range, request: Arc::downgrade(&request) });
    if all.threads < AT_ONCE {
        let thread = std::thread::Builder::new().name("palais-store".into()).stack_size(STACK);
        match thread.spawn(serve) {
            Ok(_) => all.threads += 1,
            // The threads that there are do it later.
            Err(_) if all.threads > 0 => {}
            Err(e) => {
                all.jobs.pop_back();
                drop(all);
                request.finish(Err(e));
            }
        }
    }
    request
}

/// Serves requests until none is left.
fn serve() {
    count_to_the_end();
    loop {
        let mut all = queue();
        let Some(job) = all.jobs.pop_front() else {
            all.threads -= 1;
            return;
        };
        drop(all);
        let Some(request) = job.request.upgrade() else { continue };
        let read = panics::catch(|| job.store.read(&job.name, job.range));
        request.finish(read.unwrap_or_else(|panic| Err(io::Error::other(panic.text))));
    }
}

impl Request {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, read: io::Result<Bytes>) {
        let before = std::mem::replace(&mut *self.state(), State::Done(read.map_err(Arc::new)));
        self.done.notify_all();
        if let State::Waiting(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// The bytes, if they are there; else the waker is called when they are.
    pub fn poll(&self, waker: &Waker) -> Poll<io::Result<Bytes>> {
        match &mut *self.state() {
            State::Done(read) => Poll::Ready(copied(read)),
            State::Waiting(wakers) => {
                if !wakers.iter().any(|known| known.will_wake(waker)) {
                    wakers.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    /// Those of the store.
    pub fn wait(&self) -> io::Result<Bytes> {
        let mut state = self.state();
        loop {
            match &*state {
                State::Done(read) => return copied(read),
                State::Waiting(_) => state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The same error for each who waits.
fn copied(read: &Result<Bytes, Arc<io::Error>>) -> io::Result<Bytes> {
    read.clone().map_err(|e| io::Error::new(e.kind(), e))
}
