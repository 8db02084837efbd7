//! Files that processes write together: the rows of a query, or files that are made without a query.

use std::sync::Arc;

use engine::QueryState;
use engine::writing::dataset::Written;

use super::{Cluster, Query};
use crate::error::{Error, Result};
use crate::locked;
use crate::message::{Order, Raw, Report};

impl Cluster {
    /// Has all processes plan a query, run it and write its rows.
    ///
    /// # Errors
    /// Errors of the query and of writing, and a process that is lost meanwhile.
    pub fn write(&self, query: &Query<'_>, state: &Arc<QueryState>) -> Result<Written> {
        let _turn = self.turn()?;
        self.plan(query, true, state)?.run(&self.group);
        self.finish(state)
    }

    /// Has all processes make files, each its share. The bytes of `job` are a [`crate::making::files::Job`]. Adds the
    /// figures of the processes to `state`.
    ///
    /// # Errors
    /// Errors of making the files, and a process that is lost meanwhile.
    pub fn make(&self, job: &[u8], state: &Arc<QueryState>) -> Result<Written> {
        let (_turn, group) = (self.turn()?, &self.group);
        let members = &group.members;
        members.iter().for_each(|member| member.tell(Order::Make(Raw(job.to_vec()))));
        let begun = self.begun(state)?.told.unwrap_or(Raw(Vec::new()));
        members.iter().for_each(|member| member.tell(Order::Join(begun.clone())));
        let mut told = vec![Raw(Vec::new()); members.len()];
        let all = members.len();
        group.wait(&|| state.stopped(), all, all, |process, report| match report {
            Report::Joined(seen) => {
                told[process] = seen;
                Ok(true)
            }
            other => group.unless_alive(process, &other),
        })?;
        members.iter().for_each(|member| member.tell(Order::Write(told.clone())));
        self.finish(state)
    }

    /// Waits until all processes have written, and has process 0 make the files appear.
    fn finish(&self, state: &Arc<QueryState>) -> Result<Written> {
        let group = &self.group;
        let written = group.conduct(None, state)?;
        group.members[0].tell(Order::Finish(written));
        let mut all = Written::default();
        let finished = group.wait(&|| state.stopped(), 1, 1, |process, report| match report {
            Report::Finished(finished) => {
                all = finished;
                Ok(true)
            }
            other => group.unless_alive(process, &other),
        });
        finished.map_err(|e| match e.lost() {
            None => e,
            Some(_) => {
                // Process 0 may have made the files appear before it was lost. A second run would find them there.
                *locked(&group.lost) = None;
                Error::Appearing(Box::new(e))
            }
        })?;
        Ok(all)
    }
}
