//! Threads with a stack that is large enough for a deep statement. Code for its syntax tree, its plan and its
//! expressions calls itself once for each level. The thread that runs a statement may have a small stack, and an
//! overflow would end the process.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::context::panics;
use crate::error::{Error, Result};

/// The stack of a thread that plans, in bytes. The system gives memory only to the part that is used. A statement `a
/// AND b AND …` of thousands of terms is as deep as it is long.
pub const DEEP: usize = 512 << 20;

/// The stack of a worker, in bytes. A worker evaluates an expression, and builds an operator's inputs, with a call for
/// each level. Threads that read and write nested values have the same stack.
pub const WORKER: usize = 64 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// A thread with the stack of a worker.
pub fn worker(name: String) -> Builder {
    Builder::new().name(name).stack_size(WORKER)
}

/// Threads that were left, see [`leave`], until they are joined.
static LEFT: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Lets a thread go on, without waiting for its end. The thread is not detached, see
/// [`formats::threads::side_by_side`]. A later call of this function joins it once it has ended.
pub fn leave(thread: JoinHandle<()>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let (ended, running) = left.drain(..).partition(JoinHandle::is_finished);
    *left = running;
    left.push(thread);
    drop(left);
    let ended: Vec<JoinHandle<()>> = ended;
    // The panic hook has reported their panics.
    ended.into_iter().for_each(|thread| drop(thread.join()));
}

/// Notes that the calling thread has a stack of [`DEEP`] or [`WORKER`] bytes.
pub fn mark_deep() {
    IS_DEEP.set(true);
}

/// Runs `work`, which may recurse deeply. If the calling thread has a small stack, a thread of its own runs it.
///
/// # Errors
/// The system has no more threads, or `work` has panicked.
pub fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    if IS_DEEP.get() {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let run = || {
            mark_deep();
            panics::catch(|| Ok(work()))
        };
        let thread = Builder::new().name("palais-deep".into()).stack_size(DEEP).spawn_scoped(scope, run);
        let thread = thread.map_err(|e| Error::Start(e.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(Error::Start("the thread has panicked".into())))
    })
}

/// A shared value that is as deep as a statement. The thread that drops the last handle needs no deep stack.
#[derive(Debug)]
pub struct Deep<T: Send + Sync>(Option<Arc<T>>);

impl<T: Send + Sync> Deep<T> {
    /// The value.
    pub fn new(value: T) -> Deep<T> {
        Deep(Some(Arc::new(value)))
    }
}

impl<T: Send + Sync> From<Arc<T>> for Deep<T> {
    fn from(value: Arc<T>) -> Deep<T> {
        Deep(Some(value))
    }
}

impl<T: Send + Sync> Clone for Deep<T> {
    fn clone(&self) -> Deep<T> {
        Deep(self.0.clone())
    }
}

impl<T: Send + Sync> Deref for Deep<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl<T: Send + Sync> Drop for Deep<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take().and_then(Arc::into_inner) else { return };
        // If the system has no more threads, the value stays in memory.
        let value = std::mem::ManuallyDrop::new(Mutex::new(Some(value)));
        let _ = deep(|| drop(value.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nested(#[expect(dead_code, reason = "it is dropped")] Option<Box<Nested>>);

    #[test]
    fn what_is_deep_is_dropped_on_a_deep_stack() {
        let shallow = Builder::new().stack_size(128 << 10).spawn(|| {
            let mut nested = Nested(None);
            for _ in 0..100_000 {
                nested = Nested(Some(Box::new(nested)));
            }
            let (one, other) = (Deep::new(nested), Deep::new(1));
            drop((one.clone(), other));
            drop(one);
        });
        shallow.unwrap().join().unwrap();
    }

    #[test]
    fn work_goes_as_deep_as_it_likes() {
        fn depth(n: u64) -> u64 {
            if n == 0 { 0 } else { std::hint::black_box(1 + depth(n - 1)) }
        }
        let shallow = Builder::new().stack_size(128 << 10).spawn(|| deep(|| depth(100_000)).unwrap());
        assert_eq!(shallow.unwrap().join().unwrap(), 100_000);
    }
}
