//! An ordered, parallel pipeline on plain threads, for work whose result must not depend on the number of threads.
//!
//! ```text
//! deal ──▶ read ──▶ cut ──▶ work ──▶ put
//! one      many     one     many     one thread at a time
//! ```
//!
//! The pipeline assigns *lanes* in order and reads them in parallel. Each lane gives items. The pipeline cuts items into
//! pieces of work in the order of lanes, does the work in parallel, and puts the results in order.
//!
//! # Contract
//! - The order of the calls of `cut`, and of `put`, follows from the lanes alone.
//! - Memory is bounded. At most [`Limits::lanes`] lanes are open, and each holds at most [`Limits::lane_weight`] and
//!   one item. At most [`Limits::works`] pieces, and those of one more cut, are between `cut` and `put`.
//! - The oldest piece can always proceed, whatever the limits. Threads serve a later stage before an earlier one, and
//!   an older lane before a younger one. No limit holds back the oldest lane once the stages behind it are empty.
//! - The first error stops the pipeline, as do a panic of a stage and [`QueryState::stopped`]. Nothing is put after an
//!   error.

mod stages;

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use formats::threads;

use crate::context::memory::Account;
use crate::context::panics;
use crate::context::query::QueryState;
use crate::context::stack;
use crate::error::{Error, Result};
pub use stages::{Cutter, LaneItem, Limits, NextSplit, Reader, Sink, Stages, Step, Worker};

/// The time after which a thread without work looks at the flags and at lanes that wait.
const PARK: Duration = Duration::from_millis(10);

/// Runs the stages to their end or to the first error. If the calling thread works for a query, all threads of the pipeline
/// do.
///
/// # Errors
/// The first error of a stage, a panic of a stage, and [`Error::Cancelled`].
pub fn run<L, I, W, O>(stages: Stages<'_, L, I, W, O>, limits: Limits, state: &QueryState) -> Result<()>
where
    L: Send,
    I: Send,
    W: Send,
    O: Send,
{
    let Stages { deal, read, weight, cut, work, put } = stages;
    let line = Line {
        inner: Mutex::new(Inner {
            dealer: Some(deal),
            dealt: false,
            lanes: VecDeque::new(),
            first_lane: 0,
            cutter: Some(cut),
            ended: false,
            works: VecDeque::new(),
            first_work: 0,
            next_work: 0,
            sink: Some(put),
            failed: None,
        }),
        changed: Condvar::new(),
        read,
        weight,
        work,
        limits,
        state,
    };
    // The system may give fewer threads. The result is the same.
    let account = Account::entered();
    threads::side_by_side("palais-line", stack::WORKER, limits.threads.saturating_sub(1), || {
        let _entered = account.as_ref().map(Account::enter);
        line.serve();
    });
    match line.lock().failed.take() {
        Some(e) => Err(e),
        None => Ok(()),
    }
}

struct Line<'a, L, I, W, O> {
    inner: Mutex<Inner<'a, L, I, W, O>>,
    changed: Condvar,
    read: Reader<'a, L, I>,
    weight: fn(&I) -> usize,
    work: Worker<'a, W, O>,
    limits: Limits,
    state: &'a QueryState,
}

/// The state of the pipeline. A thread takes the stage, lane or piece that it works on out of its place.
struct Inner<'a, L, I, W, O> {
    dealer: Option<NextSplit<'a, L>>,
    dealt: bool,
    lanes: VecDeque<LaneSlot<L, I>>,
    /// The number of the first lane in `lanes`.
    first_lane: u64,
    cutter: Option<Cutter<'a, I, W>>,
    ended: bool,
    works: VecDeque<WorkSlot<W, O>>,
    /// The number of the first piece in `works`.
    first_work: u64,
    /// The number of the next piece that a thread takes. All pieces before it were taken.
    next_work: u64,
    sink: Option<Sink<'a, O>>,
    failed: Option<Error>,
}

struct LaneSlot<L, I> {
    lane: Option<L>,
    items: VecDeque<(I, usize)>,
    /// The weight of `items`.
    weight: usize,
    done: bool,
    waiting: bool,
}

impl<L, I> LaneSlot<L, I> {
    fn new(lane: L) -> LaneSlot<L, I> {
        LaneSlot { lane: Some(lane), items: VecDeque::new(), weight: 0, done: false, waiting: false }
    }

    fn add(&mut self, lane: L, item: I, weight: usize) {
        self.lane = Some(lane);
        self.items.push_back((item, weight));
        self.weight += weight;
    }
}

enum WorkSlot<W, O> {
    New(W),
    Taken,
    Done(O),
}

enum Job<'a, L, I, W, O> {
    Put(Sink<'a, O>, O),
    Work(u64, W),
    Cut(Cutter<'a, I, W>, LaneItem<I>),
    Read(u64, L),
    Deal(NextSplit<'a, L>),
}

impl<'a, L, I, W, O> Inner<'a, L, I, W, O> {
    /// Takes the job that is nearest to the end of the pipeline.
    fn pick(&mut self, limits: &Limits) -> Option<Job<'a, L, I, W, O>> {
        if let Some(WorkSlot::Done(_)) = self.works.front()
            && let Some(sink) = self.sink.take()
        {
            self.first_work += 1;
            match self.works.pop_front() {
                Some(WorkSlot::Done(out)) => return Some(Job::Put(sink, out)),
                _ => unreachable!("the front was looked at under the same lock"),
            }
        }
        let next = (self.next_work - self.first_work) as usize;
        if let Some(slot) = self.works.get_mut(next)
            && let WorkSlot::New(work) = std::mem::replace(slot, WorkSlot::Taken)
        {
            self.next_work += 1;
            return Some(Job::Work(self.next_work - 1, work));
        }
        if self.works.len() < limits.works.max(1)
            && let Some(job) = self.pick_cut()
        {
            return Some(job);
        }
        for (i, slot) in self.lanes.iter_mut().enumerate() {
            if slot.weight < limits.lane_weight.max(1)
                && !slot.waiting
                && let Some(lane) = slot.lane.take()
            {
                return Some(Job::Read(self.first_lane + i as u64, lane));
            }
        }
        if self.lanes.len() < limits.lanes.max(1) && !self.dealt {
            return self.dealer.take().map(Job::Deal);
        }
        None
    }

    fn pick_cut(&mut self) -> Option<Job<'a, L, I, W, O>> {
        self.cutter.as_ref()?;
        while self.lanes.front().is_some_and(|slot| slot.done && slot.items.is_empty()) {
            self.lanes.pop_front();
            self.first_lane += 1;
        }
        let piece = match self.lanes.front_mut() {
            Some(slot) => {
                let (item, weight) = slot.items.pop_front()?;
                slot.weight -= weight;
                LaneItem::Item(item)
            }
            None if self.dealt && !self.ended => {
                self.ended = true;
                LaneItem::End
            }
            None => return None,
        };
        Some(Job::Cut(self.cutter.take()?, piece))
    }

    /// Whether all results were put.
    fn finished(&self) -> bool {
        self.ended && self.cutter.is_some() && self.works.is_empty() && self.sink.is_some()
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    fn stop_waiting(&mut self) {
        self.lanes.iter_mut().for_each(|slot| slot.waiting = false);
    }
}

impl<'a, L, I, W, O> Line<'a, L, I, W, O> {
    fn lock(&self) -> MutexGuard<'_, Inner<'a, L, I, W, O>> {
        self.inner.lock().expect("no stage runs while the lock is held")
    }

    /// Does jobs until the pipeline has finished or failed. Each thread runs it.
    fn serve(&self) {
        let mut inner = self.lock();
        loop {
            if inner.failed.is_none() && self.state.stopped() {
                inner.fail(Error::Cancelled);
            }
            if inner.failed.is_some() || inner.finished() {
                drop(inner);
                self.changed.notify_all();
                return;
            }
            inner = match inner.pick(&self.limits) {
                Some(job) => {
                    drop(inner);
                    // A stage that has panicked is not called again: an error ends all stages.
                    let inner = panics::catch(|| Ok(self.perform(job))).unwrap_or_else(|e| {
                        let mut inner = self.lock();
                        inner.fail(e);
                        inner
                    });
                    self.changed.notify_all();
                    inner
                }
                None => {
                    let (mut inner, timeout) =
                        self.changed.wait_timeout(inner, PARK).expect("no stage runs while the lock is held");
                    if timeout.timed_out() {
                        inner.stop_waiting();
                    }
                    inner
                }
            };
        }
    }

    /// Does a job, and puts its result into its place.
    fn perform(&self, job: Job<'a, L, I, W, O>) -> MutexGuard<'_, Inner<'a, L, I, W, O>> {
        match job {
            Job::Put(mut sink, out) => {
                let result = sink(out);
                let mut inner = self.lock();
                inner.sink = Some(sink);
                result.unwrap_or_else(|e| inner.fail(e));
                inner
            }
            Job::Work(number, work) => {
                let result = (self.work)(work);
                let mut inner = self.lock();
                match result {
                    Ok(out) => {
                        let place = (number - inner.first_work) as usize;
                        inner.works[place] = WorkSlot::Done(out);
                    }
                    Err(e) => inner.fail(e),
                }
                inner
            }
            Job::Cut(mut cutter, piece) => {
                let mut works = Vec::new();
                let result = cutter(piece, &mut works);
                let mut inner = self.lock();
                inner.cutter = Some(cutter);
                inner.works.extend(works.into_iter().map(WorkSlot::New));
                result.unwrap_or_else(|e| inner.fail(e));
                inner
            }
            Job::Read(number, mut lane) => {
                let result = (self.read)(&mut lane);
                let weight = if let Ok(Step::Item(item)) = &result { (self.weight)(item) } else { 0 };
                let mut inner = self.lock();
                let place = (number - inner.first_lane) as usize;
                match result {
                    Ok(Step::Wait) => {
                        inner.lanes[place].lane = Some(lane);
                        inner.lanes[place].waiting = true;
                        return inner;
                    }
                    Ok(Step::Item(item)) => inner.lanes[place].add(lane, item, weight),
                    Ok(Step::Done) => inner.lanes[place].done = true,
                    Err(e) => inner.fail(e),
                }
                inner.stop_waiting();
                inner
            }
            Job::Deal(mut dealer) => {
                let result = dealer();
                let mut inner = self.lock();
                match result {
                    Ok(Some(lane)) => {
                        inner.dealer = Some(dealer);
                        inner.lanes.push_back(LaneSlot::new(lane));
                    }
                    Ok(None) => inner.dealt = true,
                    Err(e) => inner.fail(e),
                }
                inner
            }
        }
    }
}

#[cfg(test)]
mod tests;
