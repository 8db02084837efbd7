//! The contract of an operator, and the glue that makes it a timely one.
//!
//! # Contract
//! An operator is pushed batches on numbered ports and pulled for batches. The glue calls
//! - `pull` until it says [`Pull::Empty`] or [`Pull::Blocked`],
//! - then `push` with one batch of a port that the operator wants,
//! - `end` once for each port, after its last batch; after the last `end`, `pull` until `Empty`, and never again.
//!
//! An operator that says `Blocked` has arranged for its activation. Between two calls at most about 50 ms of work are
//! done, so that errors, cancel and enough are seen in time: the glue looks at the flags between calls.
//!
//! The glue bounds what lies between two operators of a worker: a producer is not pulled while its consumer has
//! [`Gate::LIMIT`] batches waiting. Together with the credit of exchanges this bounds the memory of a query's channels.
//!
//! A port that is fed by an operator of the same worker ends when that operator does; one that is fed by an exchange ends
//! with timely's frontier, once the senders of all workers are done. In several processes it does not once the query has
//! failed: rows of those that go on would be taken for all. They are ended by their starter.
//!
//! - [`gate`]: what operators of one worker wait for.
//! - [`runner`]: drives one operator.

mod gate;
mod runner;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use queries::plan::NodeId;
use timely::container::NoopBuilder;
use timely::dataflow::channels::pact::{DistributorPact, Pipeline};
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::{Capability, generic::InputHandleCore};
use timely::dataflow::{Scope, Stream};
use timely::progress::frontier::MutableAntichain;
use timely::scheduling::{Activator, SyncActivator};
use timely::worker::Worker;

use crate::context::query::QueryState;
use crate::dataflow::batch::{ExchangeBatch, ToTarget};
use crate::dataflow::credit::Credit;
use crate::distributed::processes::{Note, Topology};
use crate::error::Result;
pub use gate::{BuildBarrier, Gate};
use runner::Runner;

/// The timestamps of a batch query: there is one.
pub type Time = u64;

/// A stream of exchange batches.
pub type ExchangeBatches<'scope> = Stream<'scope, Time, ExchangeBatch>;

/// What an operator says when it is pulled.
pub enum Pull {
    /// Rows.
    Batch(ExchangeBatch),
    /// Nothing more without input.
    Empty,
    /// Nothing now; it will be activated.
    Blocked,
}

/// Computes batches from batches.
pub trait Operator {
    /// Takes a batch of a port.
    fn push(&mut self, port: usize, given: ExchangeBatch) -> Result<()>;

    /// A port has had its last batch.
    fn end(&mut self, port: usize) -> Result<()>;

    /// The next batch.
    fn pull(&mut self) -> Result<Pull>;

    /// The bytes of rows and states that it keeps, about: what is told when memory runs out.
    fn kept(&self) -> usize {
        0
    }

    /// Whether a batch of this port can be taken now.
    fn wants(&self, _port: usize) -> bool {
        true
    }

    /// Gives the rows that it has kept back for larger batches at the next pulls: the rows behind come from another split.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether `push` takes the exchange batches that say which split begins. For other operators the glue calls `flush`, and
    /// passes such a batch on.
    fn takes_beginnings(&self) -> bool {
        false
    }
}

/// How an operator is woken.
#[derive(Clone)]
pub struct Wake {
    /// From its own worker.
    pub local: Rc<Activator>,
    /// The path for waking it from other threads.
    pub path: Vec<usize>,
    worker: Rc<Worker>,
}

impl Wake {
    /// A handle that other threads can use.
    pub fn sync(&self) -> SyncActivator {
        self.worker.sync_activator_for(self.path.clone())
    }

    /// The same as a waker, for what is not timely's.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::new(Activates(Mutex::new(self.sync()))))
    }
}

#[cfg(test)]
impl Wake {
    /// Of an operator that a test drives; whoever is to be woken is in no dataflow.
    pub fn of_no_dataflow() -> Wake {
        use timely::communication::Allocator;
        use timely::communication::allocator::thread::Thread;
        let worker = Worker::new(timely::WorkerConfig::default(), Allocator::Thread(Thread::default()), None);
        let local = Rc::new(worker.activator_for(Rc::from([0])));
        Wake { local, path: vec![0], worker: Rc::new(worker) }
    }
}

/// Activates an operator. The worker may have ended, which needs nobody.
struct Activates(Mutex<SyncActivator>);

impl std::task::Wake for Activates {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).activate();
    }
}

/// What the operators of one worker share.
pub struct Local {
    /// Shared with the other workers of the process.
    pub state: Arc<QueryState>,
    /// The worker's number, over all processes.
    pub index: usize,
    /// The number of workers over all processes.
    pub peers: usize,
    /// Where its process stands among the others.
    pub topology: Topology,
    /// Whether a node's consumer on this worker has enough.
    pub enough: Vec<Cell<bool>>,
    wakes: RefCell<Vec<Rc<Activator>>>,
    worker: Rc<Worker>,
}

impl Local {
    /// For a plan of so many nodes.
    pub fn new(worker: &Worker, state: Arc<QueryState>, topology: Topology, nodes: usize) -> Rc<Local> {
        Rc::new(Local {
            state,
            index: worker.index(),
            peers: worker.peers(),
            topology,
            enough: (0..nodes).map(|_| Cell::new(false)).collect(),
            wakes: RefCell::default(),
            worker: Rc::new(worker.clone()),
        })
    }

    /// Wakes every operator of this worker, so that each looks at the flags.
    pub fn wake_all(&self) {
        self.wakes.borrow().iter().for_each(|w| w.activate());
    }

    /// The consumer of a node has enough rows, on every worker of every process.
    pub fn set_enough(&self, node: NodeId) {
        self.state.set_enough(node);
        self.topology.tell_others(Note::Enough { stage: self.topology.stage as u32, node: node as u32 });
    }

    /// What gives the credit of an exchange batch back to the process that it came from.
    fn credit(&self, node: NodeId, given: &ExchangeBatch) -> Option<Arc<Credit>> {
        let (wire, processes) = (given.wire.as_ref()?, self.topology.processes.as_ref()?);
        let sender = given.source as usize / self.topology.workers;
        let (stage, node) = (self.topology.stage as u32, node as u32);
        let loan = crate::distributed::wire::transfer::number(wire.bytes());
        let note = Note::Absorbed { stage, node, source: given.source, bytes: wire.owed, loan };
        (wire.owed > 0 && sender < processes.count)
            .then(|| Credit::of(processes.network.clone(), sender, note))
    }

    fn enough(&self, node: NodeId) -> bool {
        self.enough[node].get() || self.state.enough(node)
    }
}

/// A stream and the gate of the operator that reads it.
pub struct Edge<'scope> {
    /// The batches.
    pub stream: ExchangeBatches<'scope>,
    gate: Rc<Gate>,
}

/// How an operator's inputs come in.
pub enum Inputs<'scope> {
    /// From operators of this worker.
    Local(Vec<Edge<'scope>>),
    /// From senders on all workers.
    Exchange(ExchangeBatches<'scope>),
    /// It has none.
    None,
}

/// A stage of the glue: an operator that is being added to the dataflow.
pub struct Stage<'a, 'scope> {
    /// The dataflow.
    pub scope: Scope<'scope, Time>,
    /// What this worker's operators share.
    pub local: &'a Rc<Local>,
    /// The plan's node.
    pub node: NodeId,
    /// What the operator is called in messages.
    pub name: String,
    /// Whether its rows count as the node's (an exchange is two operators, one of which counts).
    pub counts: bool,
    /// Whether the gate of its consumer bounds it; the sender of an exchange is bounded by credit instead.
    pub gated: bool,
}

impl<'scope> Stage<'_, 'scope> {
    /// Adds an operator that gives batches to one consumer.
    pub fn add(self, inputs: Inputs<'scope>, make: impl FnOnce(Wake) -> Box<dyn Operator>) -> Edge<'scope> {
        let mut builder = OperatorBuilder::new(self.name.clone(), self.scope);
        let gate_out = Rc::new(Gate::default());
        let (mut gates, mut pipelines, mut exchanged) = (Vec::<Option<Rc<Gate>>>::new(), Vec::new(), None);
        match inputs {
            Inputs::Local(edges) => {
                for edge in edges {
                    gates.push(Some(edge.gate));
                    pipelines.push(builder.new_input(edge.stream, Pipeline));
                }
            }
            Inputs::Exchange(stream) => {
                gates.push(None);
                exchanged = Some(builder.new_input(stream, DistributorPact(|_| ToTarget)));
            }
            Inputs::None => {}
        }
        let (output, stream) = builder.new_output::<ExchangeBatch>();
        let mut output: OutputBuilder<Time, NoopBuilder<ExchangeBatch>> = OutputBuilder::from(output);
        let path = builder.operator_info().address.to_vec();
        let activator = Rc::new(self.local.worker.activator_for(builder.operator_info().address));
        self.local.wakes.borrow_mut().push(activator.clone());
        let wake = Wake { local: activator.clone(), path, worker: self.local.worker.clone() };
        gates.iter().flatten().for_each(|gate| gate.tell(activator.clone()));
        let ports = gates.len();
        let panics = panics_for_a_test(&self.name);
        let mut runner = Runner {
            operator: Some(make(wake)),
            queues: (0..ports).map(|_| VecDeque::new()).collect(),
            ended: vec![false; ports],
            gates,
            gate_out: self.gated.then(|| gate_out.clone()),
            activator,
            local: self.local.clone(),
            node: self.node,
            name: self.name,
            counts: self.counts,
            next_port: 0,
            beginning: None,
        };
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop();
            move |frontiers: &[MutableAntichain<Time>]| {
                assert!(!panics, "PALAIS_TEST_PANIC asks for this");
                for (port, input) in pipelines.iter_mut().enumerate() {
                    take(input, &mut runner.queues[port]);
                }
                if let Some(input) = &mut exchanged {
                    let from = runner.queues[0].len();
                    take(input, &mut runner.queues[0]);
                    for given in runner.queues[0].iter_mut().skip(from) {
                        if given.wire.is_some() {
                            given.credit = runner.local.credit(runner.node, given);
                        }
                    }
                }
                let mut session = output.activate();
                let done = match &capability {
                    Some(capability) => runner.run(frontiers, &mut |mut given| {
                        session.session_with_builder(capability).give_container(&mut given);
                    }),
                    None => {
                        runner.discard();
                        false
                    }
                };
                if done && !runner.holds() {
                    capability = None::<Capability<Time>>;
                }
            }
        });
        Edge { stream, gate: gate_out }
    }
}

/// Whether the operator of this name is to panic when it first has something to do: for the tests of what a panic does.
pub(crate) fn panics_for_a_test(name: &str) -> bool {
    cfg!(feature = "test-switches")
        && std::env::var_os("PALAIS_TEST_PANIC").is_some_and(|given| given == name)
}

fn take<P: timely::communication::Pull<timely::dataflow::channels::Message<Time, ExchangeBatch>>>(
    input: &mut InputHandleCore<Time, ExchangeBatch, P>,
    queue: &mut VecDeque<ExchangeBatch>,
) {
    input.for_each(|_, given| queue.push_back(std::mem::take(given)));
}
