//! The processes of a group, as the coordinator sees them. It waits for reports of all of them, and ends all when one
//! fails or is lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::execution::run::Sink;

use super::figures;
use super::member::{Event, Member, Reports};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::locked;
use crate::message::{Failure, Figures, Order, Raw, Report};

/// How often the coordinator looks whether the query was stopped or a process is silent, although nothing was reported.
const TICK: Duration = Duration::from_millis(50);
/// Of the time between two looks at most this counts as silence of a process: the coordinator itself may have been
/// stopped meanwhile.
const MOST_TICK: Duration = Duration::from_millis(200);
/// How long a process may take until its first report, if its patience is less. A login on a busy host or the making of
/// a container takes long.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long the coordinator waits for a more telling error after the first one: other processes often report a loss
/// before its cause is known.
const GRACE: Duration = Duration::from_millis(500);
/// How long the processes may take to end by themselves.
pub(super) const ENDING: Duration = Duration::from_secs(2);

/// The processes, and what they report.
pub(super) struct Group {
    pub members: Vec<Member>,
    pub events: Mutex<Events>,
    pub patience: Duration,
    /// The host that was lost, if one was.
    pub lost: Mutex<Option<String>>,
    /// Whether all processes were ended.
    pub has_ended: AtomicBool,
}

/// The events of all processes, in their order.
pub(super) struct Events {
    from: Receiver<Reports>,
    /// Events that came together with the one taken last.
    come: VecDeque<(usize, Event)>,
    /// Events of processes that were not needed when they came.
    later: VecDeque<(usize, Event)>,
}

impl Events {
    pub fn new(from: Receiver<Reports>) -> Events {
        Events { from, come: VecDeque::new(), later: VecDeque::new() }
    }

    /// The next event of one of the first `needed` processes. Gives a timeout after [`TICK`] without one.
    fn next(&mut self, needed: usize) -> std::result::Result<(usize, Event), RecvTimeoutError> {
        if let Some(at) = self.later.iter().position(|(process, _)| *process < needed)
            && let Some(told) = self.later.remove(at)
        {
            return Ok(told);
        }
        while self.come.is_empty() {
            let (process, events) = self.from.recv_timeout(TICK)?;
            self.come.extend(events.into_iter().map(|event| (process, event)));
        }
        let Some(told) = self.come.pop_front() else { return Err(RecvTimeoutError::Timeout) };
        if told.0 < needed {
            return Ok(told);
        }
        self.later.push_back(told);
        Err(RecvTimeoutError::Timeout)
    }
}

impl Group {
    pub fn name(&self, process: usize) -> String {
        self.members.get(process).map_or_else(String::new, |member| member.name.clone())
    }

    /// Takes the reports of the processes until all have done their part. Gives what each process has written, in the
    /// order of the processes.
    pub fn conduct(&self, rows: Option<(&Sink, &SchemaRef)>, state: &Arc<QueryState>) -> Result<Vec<Raw>> {
        let mut figures = vec![Figures::default(); self.members.len()];
        let mut written = vec![Raw(Vec::new()); self.members.len()];
        let rows = Rows::new(self, rows);
        let give = |process: usize, bytes: &[u8]| rows.take(process, bytes);
        let all = self.members.len();
        self.wait_with_rows(&|| state.stopped(), all, all, &give, |process, report| {
            match report {
                Report::Alive(now) => figures[process] = now,
                Report::Done(done) => {
                    figures[process] = done.figures;
                    figures::take(&done, process, state);
                    figures::tell(&figures, state);
                    written[process] = done.written.unwrap_or(Raw(Vec::new()));
                    return Ok(true);
                }
                other => return self.unless_alive(process, &other),
            }
            figures::tell(&figures, state);
            Ok(false)
        })?;
        Ok(written)
    }

    /// Takes reports until `wanted` processes have said what the caller waits for. `take` gets each report and says
    /// whether it is the awaited one.
    ///
    /// When one of the first `needed` processes fails, or when `stopped`, all processes are ended. Reports of the other
    /// processes stay until these are needed again.
    pub fn wait(
        &self,
        stopped: &dyn Fn() -> bool,
        needed: usize,
        wanted: usize,
        take: impl FnMut(usize, Report) -> Result<bool>,
    ) -> Result<()> {
        let none = |process, _: &[u8]| {
            let what = "the process told rows when it was not its turn".into();
            Err(Error::Protocol { host: self.name(process), what })
        };
        self.wait_with_rows(stopped, needed, wanted, &none, take)
    }

    /// As [`Group::wait`]; rows go to `give`.
    fn wait_with_rows(
        &self,
        stopped: &dyn Fn() -> bool,
        needed: usize,
        wanted: usize,
        give: &dyn Fn(usize, &[u8]) -> Result<()>,
        mut take: impl FnMut(usize, Report) -> Result<bool>,
    ) -> Result<()> {
        let mut events = locked(&self.events);
        let (mut said, mut had) = (0, vec![false; self.members.len()]);
        let mut silent = vec![Duration::ZERO; self.members.len()];
        let mut allowed: Vec<Duration> = self.members.iter().map(|member| self.allowed(member)).collect();
        let mut failed: Option<(Error, Instant)> = None;
        let mut last = Instant::now();
        while said < wanted {
            let event = events.next(needed);
            let passed = last.elapsed().min(MOST_TICK);
            last = Instant::now();
            silent.iter_mut().for_each(|silent| *silent += passed);
            if stopped() && failed.is_none() {
                self.end();
                return Err(Error::Cancelled);
            }
            let error = match event {
                Ok((process, Event::Report(report))) => {
                    silent[process] = Duration::ZERO;
                    self.members[process].begun.store(true, Ordering::Relaxed);
                    allowed[process] = self.patience;
                    match report {
                        Report::Failed(failure) => Some(self.failed(process, failure)),
                        Report::Lost { peer, reason } => Some(self.lost(process, peer, reason)),
                        report if failed.is_none() => match take(process, report) {
                            Ok(true) => {
                                said += usize::from(!std::mem::replace(&mut had[process], true));
                                None
                            }
                            Ok(false) => None,
                            Err(e) => Some(e),
                        },
                        _ => None,
                    }
                }
                Ok((process, Event::Rows(bytes))) => {
                    silent[process] = Duration::ZERO;
                    if failed.is_none() { give(process, &bytes).err() } else { None }
                }
                Ok((_, Event::Other(error))) => Some(error),
                Ok((process, Event::Over)) => Some(self.members[process].ending()),
                Err(RecvTimeoutError::Disconnected) => {
                    Some(Error::System("all threads that listen have ended".into()))
                }
                Err(RecvTimeoutError::Timeout) => {
                    let lost = (0..needed).find(|process| silent[*process] > allowed[*process]);
                    lost.map(|process| Error::Silent { host: self.name(process), patience: allowed[process] })
                }
            };
            if let Some(error) = error
                && failed.as_ref().is_none_or(|(known, _)| known.tells() < error.tells())
            {
                failed = Some((error, failed.map_or_else(|| last + GRACE, |(_, until)| until)));
            }
            if failed.as_ref().is_some_and(|(error, until)| error.tells() > 2 || last >= *until) {
                break;
            }
        }
        let Some((error, _)) = failed else { return Ok(()) };
        drop(events);
        *locked(&self.lost) = error.lost().map(String::from);
        self.end();
        Err(error)
    }

    /// How long this process may be silent.
    fn allowed(&self, member: &Member) -> Duration {
        match member.begun.load(Ordering::Relaxed) {
            true => self.patience,
            false => self.patience.max(BEGINNING),
        }
    }

    fn failed(&self, process: usize, failure: Failure) -> Error {
        // A process that was stopped does not know why; the report of another process tells.
        if failure.code == 130 {
            return Error::Cancelled;
        }
        Error::Failed { host: self.name(process), message: failure.message, code: failure.code }
    }

    fn lost(&self, process: usize, peer: usize, reason: String) -> Error {
        Error::Lost { host: self.name(process), peer: self.name(peer), reason }
    }

    /// Passes over a report that the process lives. Any other report is an error here, because it came when it was not
    /// the turn of the process.
    pub fn unless_alive(&self, process: usize, report: &Report) -> Result<bool> {
        let name = match report {
            Report::Listening { .. } => "that it listens",
            Report::Opened(_) => "of tables",
            Report::Planned { .. } => "that it has planned",
            Report::Joined(_) => "that it takes part",
            Report::Finished(_) => "that it has finished",
            Report::Alive(_) => return Ok(false),
            Report::Lost { .. } | Report::Failed(_) => "that it failed",
            Report::Done(_) => "that it is done",
        };
        let what = format!("the process told {name} when it was not its turn");
        Err(Error::Protocol { host: self.name(process), what })
    }

    /// Asks all processes to end, and kills those that have not ended within [`ENDING`].
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        for member in &self.members {
            member.tell(Order::Stop);
            member.release();
        }
        // A process that is lost does not end by itself. The others are given time to remove the files that they have
        // begun.
        let lost = locked(&self.lost).clone();
        self.members.iter().filter(|member| lost.as_ref() == Some(&member.name)).for_each(Member::kill);
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline && !self.members.iter().all(Member::is_over) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.members.iter().for_each(Member::kill);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn what_a_process_tells_while_it_is_not_needed_is_looked_at_later() {
        let (tell, told) = sync_channel(4);
        let mut events = Events::new(told);
        tell.send((1, vec![Event::Over])).unwrap();
        tell.send((0, vec![Event::Rows(vec![7]), Event::Rows(vec![8])])).unwrap();
        assert!(matches!(events.next(1), Err(RecvTimeoutError::Timeout)));
        assert!(matches!(events.next(1), Ok((0, Event::Rows(rows))) if rows == [7]));
        tell.send((0, vec![Event::Over])).unwrap();
        assert!(matches!(events.next(2), Ok((1, Event::Over))));
        assert!(matches!(events.next(2), Ok((0, Event::Rows(rows))) if rows == [8]));
        assert!(matches!(events.next(2), Ok((0, Event::Over))));
        drop(tell);
        assert!(matches!(events.next(2), Err(RecvTimeoutError::Disconnected)));
    }
}
