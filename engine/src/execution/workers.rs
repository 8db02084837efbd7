//! The threads of a query's workers, and how they end when one of them panics.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use timely::WorkerConfig;
use timely::communication::{Allocator, AllocatorBuilder, WorkerGuards, initialize_from};
use timely::worker::Worker;

use crate::context::panics;
use crate::context::query::QueryState;
use crate::context::stack;
use crate::distributed::processes::Channels;
use crate::error::{Error, Result};

/// The most time that a parked worker sleeps before it looks at the flags.
pub(crate) const PARK: Duration = Duration::from_millis(20);

/// Makes the channels of a worker on its thread, which waits for the other workers.
pub(crate) type Build = Box<dyn FnOnce() -> Allocator>;

/// The channels of workers of this process alone.
///
/// # Errors
/// timely can't make them.
pub(crate) fn channels_here(workers: usize) -> Result<Channels> {
    let config = timely::CommunicationConfig::Process(workers);
    let (allocators, guard) = config.try_build().map_err(Error::Start)?;
    Ok(Channels { allocators, guard })
}

/// The threads of the workers.
pub(crate) enum Workers {
    /// Those of a query that runs in this process alone.
    Alone(Vec<JoinHandle<()>>),
    /// Those of one of several processes, with what carries their messages.
    Among(WorkerGuards<()>),
}

impl Workers {
    /// Waits until they have ended; gives what they panicked of.
    pub fn join(self) -> Vec<String> {
        match self {
            Workers::Alone(threads) => {
                let ended = threads.into_iter().map(JoinHandle::join);
                ended.filter_map(Result::err).map(|e| format!("{e:?}")).collect()
            }
            Workers::Among(guards) => guards.join().into_iter().filter_map(Result::err).collect(),
        }
    }
}

/// Starts a thread for each worker. timely's own have the stack that all threads of the process have, which is enough where
/// the process is palais' own, as each of several is.
pub(crate) fn start_workers(
    channels: Channels,
    work: impl Fn(Build) + Send + Sync + 'static,
    state: &QueryState,
) -> Result<Workers> {
    let is_alone = channels.allocators.iter().all(|a| matches!(a, AllocatorBuilder::Process(_)));
    if !is_alone {
        let guards = initialize_from(channels.allocators, channels.guard, move |a| work(Box::new(|| a)));
        return Ok(Workers::Among(guards.map_err(Error::Start)?));
    }
    let (work, mut threads) = (Arc::new(work), Vec::with_capacity(channels.allocators.len()));
    for (index, builder) in channels.allocators.into_iter().enumerate() {
        let AllocatorBuilder::Process(builder) = builder else { continue };
        let work = work.clone();
        match stack::worker(format!("palais-work-{index}"))
            .spawn(move || work(Box::new(|| Allocator::Process(builder.build()))))
        {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                // The others, which wait for this one, are told.
                state.break_off(Error::Start(e.to_string()));
                break;
            }
        }
    }
    Ok(Workers::Alone(threads))
}

/// The thread of a worker, `among` those of other processes or not.
pub(crate) fn run_thread(build: Build, state: &QueryState, among: bool, run: impl FnOnce(&mut Worker)) {
    let mut worker = None;
    let work = || {
        let worker = worker.insert(Worker::new(WorkerConfig::default(), build(), Some(Instant::now())));
        run(worker);
        Ok(())
    };
    if among {
        // A panic ends the process, and its starter ends the others: they could not tell that rows are missing.
        let _ = work();
        return;
    }
    if let Err(e) = panics::catch(work) {
        state.break_off(e);
    }
    if let Some(worker) = worker {
        // What panics while it is dropped stays in memory.
        let _ = panics::catch(|| {
            leave(worker);
            Ok(())
        });
    }
}

/// Drops a worker with the dataflows that it has not completed. They hold a handle of the worker, and it holds them.
#[expect(clippy::disallowed_methods, reason = "nothing is stepped any more, on any worker of the query")]
fn leave(mut worker: Worker) {
    for dataflow in worker.installed_dataflows() {
        worker.drop_dataflow(dataflow);
    }
}
