//! The contract of an operator, and the glue that makes a timely operator of it.
//!
//! # Contract
//! An operator takes batches on numbered ports, and gives batches when it is pulled. The glue calls
//! - `pull` until it says [`Pull::Empty`] or [`Pull::Blocked`],
//! - then `push` with one batch of a port that the operator wants,
//! - `end` once for each port, after its last batch; after the last `end`, `pull` until `Empty`, and never again.
//!
//! An operator that says `Blocked` has arranged that something activates it. A call takes at most about 50 ms. The glue
//! looks at the flags between two calls, so that it sees errors, cancel and enough in time.
//!
//! The glue bounds the batches between two operators of a worker: it does not pull a producer while [`Gate::LIMIT`]
//! batches wait before its consumer. Together with the credit of exchanges this bounds the memory of a query's
//! channels.
//!
//! A port that an operator of the same worker feeds ends when that operator ends. A port that an exchange feeds ends
//! with timely's frontier, once the senders of all workers are done.
//!
//! If a query in several processes fails, a failed process holds back the frontier. The other processes would otherwise
//! take the rows that they have for all rows. The coordinator ends them.
//!
//! - `gate`: the events that operators of one worker wait for.
//! - `runner`: drives one operator.

mod gate;
mod runner;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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

/// The type of the timestamps of a batch query. There is only one timestamp.
pub type Time = u64;

/// A stream of exchange batches.
pub type ExchangeBatches<'scope> = Stream<'scope, Time, ExchangeBatch>;

/// The answer of an operator to a pull.
pub enum Pull {
    /// Rows.
    Batch(ExchangeBatch),
    /// No batch until the operator gets more input.
    Empty,
    /// No batch now. Something will activate the operator.
    Blocked,
}

/// Computes batches from batches.
pub trait Operator {
    /// Takes a batch of a port.
    fn push(&mut self, port: usize, given: ExchangeBatch) -> Result<()>;

    /// Notes that a port has had its last batch.
    fn end(&mut self, port: usize) -> Result<()>;

    /// The next batch.
    fn pull(&mut self) -> Result<Pull>;

    /// The bytes of the rows and states that the operator keeps, about. An error names them when memory runs out.
    fn kept(&self) -> usize {
        0
    }

    /// Whether a batch of this port can be taken now.
    fn wants(&self, _port: usize) -> bool {
        true
    }

    /// Makes the operator give the rows at the next pulls that it holds back for larger batches: the rows behind them
    /// come from another split.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether `push` takes the exchange batches that say which split begins. If not, the glue calls `flush`, and
    /// passes such a batch on itself.
    fn takes_beginnings(&self) -> bool {
        false
    }
}

/// Wakes an operator.
#[derive(Clone)]
pub struct Wake {
    /// Wakes the operator from its own worker.
    pub local: Rc<Activator>,
    /// The operator's address in the dataflow, by which other threads wake it.
    pub path: Vec<usize>,
    worker: Rc<Worker>,
}

impl Wake {
    /// A handle by which other threads wake the operator.
    pub fn sync(&self) -> SyncActivator {
        self.worker.sync_activator_for(self.path.clone())
    }

    /// The same handle as a waker of the standard library.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::new(Activates(Mutex::new(self.sync()))))
    }
}

#[cfg(test)]
impl Wake {
    /// The handle of an operator that a test drives. The operator is in no dataflow, so that nothing is woken.
    pub fn of_no_dataflow() -> Wake {
        use timely::communication::Allocator;
        use timely::communication::allocator::thread::Thread;
        let worker = Worker::new(timely::WorkerConfig::default(), Allocator::Thread(Thread::default()), None);
        let local = Rc::new(worker.activator_for(Rc::from([0])));
        Wake { local, path: vec![0], worker: Rc::new(worker) }
    }
}

/// Activates an operator. Does nothing if its worker has ended.
struct Activates(Mutex<SyncActivator>);

impl std::task::Wake for Activates {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).activate();
    }
}

/// The state that the operators of one worker share.
pub struct Local {
    /// The state of the query, which the workers of the process share.
    pub state: Arc<QueryState>,
    /// The worker's number, over all processes.
    pub index: usize,
    /// The number of workers over all processes.
    pub peers: usize,
    /// The place of the worker's process among the processes of the query.
    pub topology: Topology,
    /// Whether the consumer on this worker has enough rows, by node.
    pub enough: Vec<Cell<bool>>,
    wakes: RefCell<Vec<Rc<Activator>>>,
    worker: Rc<Worker>,
}

impl Local {
    /// The state for a plan of `nodes` nodes.
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

    /// Notes that the consumer of a node has enough rows, on every worker of every process.
    pub fn set_enough(&self, node: NodeId) {
        self.state.set_enough(node);
        self.topology.tell_others(Note::Enough { stage: self.topology.stage as u32, node: node as u32 });
    }

    /// The credit of an exchange batch from another process. Dropping it gives the credit back to that process.
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

/// A stream, with the gate between its producer and its consumer.
pub struct Edge<'scope> {
    /// The batches.
    pub stream: ExchangeBatches<'scope>,
    gate: Rc<Gate>,
}

/// The inputs of an operator.
pub enum Inputs<'scope> {
    /// From operators of this worker.
    Local(Vec<Edge<'scope>>),
    /// From senders on all workers.
    Exchange(ExchangeBatches<'scope>),
    /// No inputs.
    None,
}

/// An operator that is being added to the dataflow.
pub struct Stage<'a, 'scope> {
    /// The dataflow.
    pub scope: Scope<'scope, Time>,
    /// The state that this worker's operators share.
    pub local: &'a Rc<Local>,
    /// The node of the plan.
    pub node: NodeId,
    /// The operator's name in messages.
    pub name: String,
    /// Whether the operator's rows count as the node's. An exchange is several operators, of which the last one counts.
    pub counts: bool,
    /// Whether the gate of its consumer bounds it. Credit bounds the sender of an exchange instead.
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
                assert!(!panics, "a test asks for this");
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

/// The operator that panics.
static PANICS: OnceLock<String> = OnceLock::new();

/// Makes the operator of this name panic when it is first scheduled, in all queries of the process. A program of the tests
/// calls it, and palais never does.
pub fn panic_in(name: String) {
    // A second call is of the same test.
    let _ = PANICS.set(name);
}

/// Whether a test wants the operator of this name to panic, see [`panic_in`].
pub(crate) fn panics_for_a_test(name: &str) -> bool {
    PANICS.get().is_some_and(|given| given == name)
}

fn take<P: timely::communication::Pull<timely::dataflow::channels::Message<Time, ExchangeBatch>>>(
    input: &mut InputHandleCore<Time, ExchangeBatch, P>,
    queue: &mut VecDeque<ExchangeBatch>,
) {
    input.for_each(|_, given| queue.push_back(std::mem::take(given)));
}
