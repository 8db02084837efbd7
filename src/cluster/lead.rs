//! `palais cluster lead`: the process of a node that leads a request of a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use anyhow::Context;
use cluster::leader::{PATIENCE, Program};
use cluster::node::FAILED;
use cluster::remote::Requester;

use super::{failure, failure_of, streams};
use crate::Usage;
use crate::args;
use crate::convert::report;
use crate::placement::VERSION;
use crate::query::warn;
use crate::say::{self, say};
use crate::signals;

/// `palais cluster lead`.
pub fn lead(started: &args::Started) -> anyhow::Result<()> {
    signals::end_with_parent(started.parent);
    let (Some(path), Some(id)) = (&started.node, &started.query) else {
        return Err(Usage("nodes start this".into()).into());
    };
    say::to_node();
    let (orders, reports) = streams().context("cannot take the standard streams")?;
    let told = Arc::new(AtomicI32::new(0));
    let code = told.clone();
    let end = move |why: Option<String>| {
        // This goes to the log of the node.
        why.into_iter().for_each(say);
        signals::end(code.load(Ordering::SeqCst))
    };
    let (caller, request) = Requester::take(orders, reports, PATIENCE, end)?;
    let (telling, code) = (caller.clone(), told.clone());
    signals::tell_failures_by(move |message, exit| {
        let failure = failure_of(&message, exit);
        // This goes to the log of the node.
        say(&failure.message);
        code.store(FAILED, Ordering::SeqCst);
        telling.failed(failure);
        true
    });
    let program = Program {
        version: VERSION,
        begun: signals::cancel_on_interrupt,
        log: |text| say(text),
        skipped: warn,
        report,
    };
    match cluster::leader::lead(path, id, &caller, &request, program) {
        Ok(()) => caller.done(),
        Err(e) => {
            let failure = failure(&e);
            // This goes to the log of the node.
            say(&failure.message);
            told.store(FAILED, Ordering::SeqCst);
            caller.failed(failure);
        }
    }
    // The last message may still be on its way, and is lost if this end closes first. The caller closes the connection
    // once it has all.
    loop {
        std::thread::park();
    }
}
