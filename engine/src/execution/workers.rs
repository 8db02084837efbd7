//! The threads of a query's workers, and how all of them end when one of them panics.

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

/// The longest sleep of a parked worker before it looks at the flags.
pub(crate) const PARK: Duration = Duration::from_millis(20);

/// Makes the allocator of a worker, on the worker's thread. The thread waits there for the other workers.
pub(crate) type Build = Box<dyn FnOnce() -> Allocator>;

/// The channels of workers that are all in this process.
///
/// # Errors
/// timely can't make the channels.
pub(crate) fn channels_here(workers: usize) -> Result<Channels> {
    let config = timely::CommunicationConfig::Process(workers);
    let (allocators, guard) = config.try_build().map_err(Error::Start)?;
    Ok(Channels { allocators, guard })
}

/// The threads of the workers.
pub(crate) enum Workers {
    /// The threads of a query that runs in this process alone.
    Alone(Vec<JoinHandle<()>>),
    /// The threads of a query in several processes, with timely's threads that carry their messages.
    Among(WorkerGuards<()>),
}

impl Workers {
    /// Waits until all workers have ended. Gives the messages of their panics.
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

/// Starts a thread for each worker.
///
/// A query in several processes runs on timely's threads, which have the default stack of the process. That stack is
/// large enough, because each of these processes is palais' own.
///
/// # Errors
/// timely can't start its threads.
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
                // The other workers wait for this one, and are told that it does not come.
                state.break_off(Error::Start(e.to_string()));
                break;
            }
        }
    }
    Ok(Workers::Alone(threads))
}

/// Runs a worker on this thread. `among` says whether the query has workers in other processes.
pub(crate) fn run_thread(build: Build, state: &QueryState, among: bool, run: impl FnOnce(&mut Worker)) {
    let mut worker = None;
    let work = || {
        let worker = worker.insert(Worker::new(WorkerConfig::default(), build(), Some(Instant::now())));
        run(worker);
        Ok(())
    };
    if among {
        // A panic ends this process, and the coordinator ends the others: they could not see that rows are missing.
        let _ = work();
        return;
    }
    if let Err(e) = panics::catch(work) {
        state.break_off(e);
    }
    if let Some(worker) = worker {
        // A value that panics while it is dropped stays in memory.
        let _ = panics::catch(|| {
            leave(worker);
            Ok(())
        });
    }
}

/// Drops a worker with the dataflows that it has not completed. The dataflows hold a handle of the worker, and the
/// worker holds the dataflows.
#[expect(clippy::disallowed_methods, reason = "nothing is stepped any more, on any worker of the query")]
pub(super) fn leave(mut worker: Worker) {
    for dataflow in worker.installed_dataflows() {
        worker.drop_dataflow(dataflow);
    }
}
