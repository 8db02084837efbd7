//! Makes the dataflow of a plan on a worker. The code is straight-line: every decision is in the plan.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use formats::format::Found;
use queries::explain::operator;
use queries::plan::{Exchange, Node, NodeId, Op, Side};
use timely::dataflow::Scope;

use crate::context::memory;
use crate::dataflow::credit::Pool;
use crate::dataflow::operator::{BuildBarrier, Edge, Inputs, Local, Operator, Stage, Time, Wake};
use crate::distributed::processes::{NoteReceiver, Topology, Wanted};
use crate::error::Result;
use crate::execution::run::Settings;
use crate::operators::aggregate::{Aggregate, Placement};
use crate::operators::exchange::{At, Receive, Send};
use crate::operators::expand::Expand;
use crate::operators::filter::Filter;
use crate::operators::in_order::InOrder;
use crate::operators::join::heavy_hitters::Replicas;
use crate::operators::join::hot_keys::HotKeyDetector;
use crate::operators::join::shared::Builds;
use crate::operators::join::{self, Join};
use crate::operators::limit::Limit;
use crate::operators::memory_tracker::MemoryTracker;
use crate::operators::merge::Merge;
use crate::operators::order::Order;
use crate::operators::project::Project;
use crate::operators::repeat::Repeat;
use crate::operators::scan::Scan;
use crate::operators::scan::prefetch;
use crate::operators::scan::source::ScanSource;
use crate::operators::scan::static_partition::StaticPartition;
use crate::operators::shared;
use crate::operators::sort::Sort;
use crate::operators::transform::Transform;
use crate::operators::union::Union;
use crate::operators::unnest::Unnest;
use crate::operators::values::Values;
use crate::operators::window::Window;
use crate::state::kept::{Kept, Reading};

/// The bytes that may be on their way at once in one exchange of one process.
const EXCHANGE_BYTES: usize = 32 << 20;

/// The help of an error: how a join keeps less.
const FEWER_BUILD_ROWS: &str = "read fewer columns or rows of the join's build side, which is kept";

/// The help of an error: how a sort keeps less.
const FEWER_SORTED_ROWS: &str = "read fewer columns or rows, or add LIMIT: a sort keeps all of its rows";

/// The help of an error: how a window keeps less.
const FEWER_IN_PARTITIONS: &str =
    "read fewer columns or rows, or PARTITION BY more: a window keeps the partition at hand";

/// The help of an error: how fewer rows wait for those before them.
const FEWER_ARRANGED_ROWS: &str = "read fewer columns or rows, or run with fewer --workers";

/// The bytes of rows of a worker that may wait for the rows of splits before them: about the rows of one split. So the
/// worker goes on meanwhile. The bytes are fewer where they would be too much of the memory, see [`ARRANGED_PART`].
const ARRANGED_BYTES: usize = 16 << 20;
/// All workers together may take this part of the memory limit (1/16) for such rows, or at least the credit of an exchange.
const ARRANGED_PART: u64 = 16;

/// The bytes of rows of one of `peers` workers that may wait for the rows of splits before them.
fn in_order_bytes(limit: u64, peers: usize) -> usize {
    let each = usize::try_from(limit / ARRANGED_PART / peers as u64).unwrap_or(usize::MAX);
    each.min(ARRANGED_BYTES).max(EXCHANGE_BYTES / peers)
}

/// The build sides that are the same in all rounds of a recursion, by the node of the join. There is one for all
/// workers of the process, or one for each.
#[derive(Default)]
pub struct MadeBuilds(BTreeMap<NodeId, Vec<Arc<Builds>>>);

impl MadeBuilds {
    /// The bytes of their rows, about.
    pub fn bytes(&self) -> usize {
        self.0.values().flatten().map(|builds| builds.bytes()).sum()
    }

    /// Whether the build sides of a join are complete.
    pub fn has(&self, join: NodeId) -> bool {
        self.0.get(&join).is_some_and(|made| made.iter().all(|builds| builds.get().is_some()))
    }

    /// The build sides of a join, and whether they are complete. `new` makes such that are not.
    fn of(&mut self, join: NodeId, new: impl FnOnce() -> Vec<Arc<Builds>>) -> (Vec<Arc<Builds>>, bool) {
        if self.has(join)
            && let Some(made) = self.0.get(&join)
        {
            return (made.clone(), true);
        }
        // The rows of a join that has had enough of the first ones are not all there.
        let new = new();
        self.0.insert(join, new.clone());
        (new, false)
    }
}

/// The state of a plan that the workers of a process share, by node. It has the sources of scans, the credit of
/// exchanges, and the build sides of joins that share them.
pub struct Shared {
    topology: Topology,
    sources: Vec<Option<Arc<ScanSource>>>,
    readings: Vec<Option<Arc<Reading>>>,
    /// By exchange: one pool for all senders, or one for each sender if worker 0 merges or arranges. A sender that is
    /// ahead must not use up the credit that another sender needs for the next batch in order.
    pools: Vec<Vec<Arc<Pool>>>,
    /// By join: one for all workers of the process, or one for each. None where each worker makes its own.
    builds: Vec<Vec<Arc<Builds>>>,
    /// Whether the build side of a join has been made in an earlier round.
    is_made: Vec<bool>,
    /// By the node of the join, and again by the node of the exchange of its probe side.
    replicas: Vec<Option<Arc<Replicas>>>,
}

impl Shared {
    /// The state for the tree below `root` of a plan of `nodes` nodes. `kept` are the rows of the stages that it reads,
    /// by their numbers. `made` is what was made in earlier rounds, if the tree is run in rounds.
    pub fn new(
        root: &Node,
        nodes: usize,
        settings: &Settings,
        topology: Topology,
        kept: &BTreeMap<usize, Arc<Kept>>,
        mut made: Option<&mut MadeBuilds>,
    ) -> Result<Shared> {
        let (sources, pools, builds) = (vec![None; nodes], vec![vec![]; nodes], vec![vec![]; nodes]);
        let (readings, replicas, is_made) = (vec![None; nodes], vec![None; nodes], vec![false; nodes]);
        let mut shared = Shared { topology, sources, readings, pools, builds, is_made, replicas };
        shared.add(root, settings, kept, &mut made)?;
        Ok(shared)
    }

    fn add(
        &mut self,
        node: &Node,
        settings: &Settings,
        kept: &BTreeMap<usize, Arc<Kept>>,
        made: &mut Option<&mut MadeBuilds>,
    ) -> Result<()> {
        let window = prefetch::Window::new(settings.read_ahead);
        let memory_limit = settings.memory_limit.min(memory::limit());
        match &node.op {
            Op::Scan(scan) => {
                let source = ScanSource::new(scan, node.schema.clone())?;
                let source = source
                    .with_window(window, memory_limit)
                    .with_partition(StaticPartition::of(self.topology.clone(), node.id))?;
                self.sources[node.id] = Some(Arc::new(source));
            }
            Op::Shared(shared) => {
                let rows = kept.get(&shared.stage).expect("a stage is run before those that read it");
                self.readings[node.id] = Some(Arc::new(Reading::new(rows.clone())));
            }
            Op::Exchange(Exchange::Merge { .. }) => {
                let each = EXCHANGE_BYTES / self.topology.peers();
                self.pools[node.id] = (0..self.topology.workers).map(|_| Pool::new(each)).collect();
            }
            Op::Exchange(Exchange::InOrder) => {
                let each = in_order_bytes(memory_limit, self.topology.peers());
                self.pools[node.id] = (0..self.topology.workers).map(|_| Pool::new(each)).collect();
            }
            Op::Exchange(_) => self.pools[node.id] = vec![Pool::new(EXCHANGE_BYTES)],
            Op::Join(join) if join.shared || join.repeats => {
                let workers = self.topology.workers;
                let new = || match join.shared {
                    true => vec![Builds::new(workers)],
                    false => (0..workers).map(|_| Builds::new(1)).collect(),
                };
                (self.builds[node.id], self.is_made[node.id]) = match made {
                    Some(made) if join.repeats => made.of(node.id, new),
                    _ => (new(), false),
                };
            }
            Op::Join(join) if join.replicates => {
                let [build, probe] = if join.build == Side::Left { [0, 1] } else { [1, 0] };
                let schema = node.inputs[build].schema.clone();
                let replicas = Replicas::new(join, schema, node.id, self.topology.clone())?;
                self.replicas[node.inputs[probe].id] = Some(replicas.clone());
                self.replicas[node.id] = Some(replicas);
            }
            _ => {}
        }
        let is_made = |i: usize| self.is_made[node.id] && Some(i) == build_input(node);
        let inputs: Vec<&Node> =
            node.inputs.iter().enumerate().filter(|(i, _)| !is_made(*i)).map(|(_, input)| input).collect();
        inputs.into_iter().try_for_each(|input| self.add(input, settings, kept, made))
    }

    fn source(&self, id: NodeId) -> Arc<ScanSource> {
        self.sources[id].clone().expect("every scan has a source")
    }

    fn reading(&self, id: NodeId) -> Arc<Reading> {
        self.readings[id].clone().expect("every reader of a stage has a reading")
    }

    /// The build side of a join, and the number of the part that `worker` builds.
    fn builds(&self, id: NodeId, worker: usize) -> (Arc<Builds>, usize) {
        match self.builds[id].as_slice() {
            [] => (Builds::new(1), 0),
            [shared] => (shared.clone(), worker),
            own => (own[worker % own.len()].clone(), 0),
        }
    }

    /// The credit of a worker of this process in an exchange.
    fn pool(&self, id: NodeId, worker: usize) -> Option<&Arc<Pool>> {
        let pools = self.pools.get(id)?;
        let worker = worker.checked_sub(self.topology.here().start)?;
        if pools.len() > 1 { pools.get(worker) } else { pools.first() }
    }
}

impl NoteReceiver for Shared {
    fn give_credit(&self, exchange: NodeId, worker: usize, bytes: usize) {
        if let Some(pool) = self.pool(exchange, worker) {
            pool.give(bytes);
        }
    }

    fn hear(&self, scan: NodeId, file: usize, found: Found) {
        if let Some(Some(source)) = self.sources.get(scan) {
            source.hear(file, found);
        }
    }

    fn give_splits(&self, scan: NodeId, process: usize) {
        if let Some(Some(source)) = self.sources.get(scan) {
            source.give(process);
        }
    }

    fn take_splits(&self, scan: NodeId, range: Range<u64>) {
        if let Some(Some(source)) = self.sources.get(scan) {
            source.take_over(range);
        }
    }

    fn assign(&self, scan: NodeId, worker: usize, before: Option<u64>) {
        if let Some(Some(source)) = self.sources.get(scan) {
            source.answer(worker, before);
        }
    }

    fn take_assigned(&self, scan: NodeId, worker: usize, split: Option<u64>) {
        if let Some(Some(source)) = self.sources.get(scan) {
            source.answered(worker, split);
        }
    }

    fn give_replica(&self, join: NodeId, wanted: Wanted) -> Result<()> {
        self.replicas.get(join).and_then(Option::as_ref).map_or(Ok(()), |r| r.give(wanted))
    }

    fn take_replica(&self, join: NodeId, hash: u64, rows: &[u8]) -> Result<()> {
        self.replicas.get(join).and_then(Option::as_ref).map_or(Ok(()), |r| r.take(hash, rows))
    }
}

/// The input of a join that is kept in a table.
fn build_input(node: &Node) -> Option<usize> {
    match &node.op {
        Op::Join(join) => Some(usize::from(join.build == Side::Right)),
        _ => None,
    }
}

/// Renders one tree of a plan on one worker.
pub struct Renderer<'a, 'scope> {
    /// The dataflow.
    pub scope: Scope<'scope, Time>,
    /// The state that the worker's operators share.
    pub local: &'a Rc<Local>,
    /// The state that the process's workers share.
    pub shared: &'a Shared,
    /// The first error of making an operator. It ends the query once the dataflow runs.
    pub failed: RefCell<Option<crate::Error>>,
}

impl<'scope> Renderer<'_, 'scope> {
    /// Renders the tree. The operator that `end` makes takes its rows.
    pub fn root(&self, node: &Node, end: impl FnOnce(Wake) -> Box<dyn Operator>) {
        let edge = self.node(node, &[]);
        self.stage(node, "output", false).add(Inputs::Local(vec![edge]), end);
    }

    fn stage(&self, node: &Node, name: &str, counts: bool) -> Stage<'_, 'scope> {
        Stage {
            scope: self.scope,
            local: self.local,
            node: node.id,
            name: name.to_string(),
            counts,
            gated: true,
        }
    }

    /// Keeps the error of making an operator. `edge` takes the place of the operator until the error ends the query.
    fn fail(&self, e: crate::Error, edge: Edge<'scope>) -> Edge<'scope> {
        self.failed.borrow_mut().get_or_insert(e);
        edge
    }

    /// Renders a node. The scans below it start once `barriers` are open.
    fn node(&self, node: &Node, barriers: &[Rc<BuildBarrier>]) -> Edge<'scope> {
        let input = |i: usize| self.node(&node.inputs[i], barriers);
        match &node.op {
            Op::Scan(scan) if scan.transform.is_some() => {
                self.stage(node, "transform", true).add(Inputs::None, |wake| {
                    let plan = scan.transform.clone().expect("it was looked at");
                    let (source, state) = (self.shared.source(node.id), self.local.state.clone());
                    Box::new(Transform::new(
                        plan,
                        scan.projection.clone(),
                        node.schema.clone(),
                        source,
                        state,
                        wake,
                    ))
                })
            }
            Op::Scan(_) => self.stage(node, "scan", true).add(Inputs::None, |wake| {
                Box::new(Scan::new(
                    self.shared.source(node.id),
                    self.local.state.clone(),
                    barriers.to_vec(),
                    wake,
                    self.local.index,
                ))
            }),
            Op::Shared(plan) => self.stage(node, "shared", true).add(Inputs::None, |wake| {
                Box::new(shared::Shared::new(
                    plan,
                    node.schema.clone(),
                    self.shared.reading(node.id),
                    self.local.state.clone(),
                    barriers.to_vec(),
                    wake,
                ))
            }),
            Op::Values(batches) => self
                .stage(node, "values", true)
                .add(Inputs::None, |_| Box::new(Values::new(batches, self.local.index))),
            Op::Filter { predicate } => {
                let edge = input(0);
                self.stage(node, "filter", true).add(Inputs::Local(vec![edge]), |_| {
                    Box::new(Filter::new(predicate.clone(), node.schema.clone()))
                })
            }
            Op::Project { exprs } => {
                let edge = input(0);
                self.stage(node, "project", true).add(Inputs::Local(vec![edge]), |_| {
                    Box::new(Project::new(exprs.clone(), node.schema.clone()))
                })
            }
            Op::Expand { sets } => {
                let edge = input(0);
                self.stage(node, "expand", true).add(Inputs::Local(vec![edge]), |_| {
                    Box::new(Expand::new(sets.clone(), node.schema.clone()))
                })
            }
            Op::Aggregate(plan) => {
                let edge = input(0);
                let schema = node.inputs[0].schema.clone();
                let place = Placement {
                    index: self.local.index,
                    peers: self.local.peers,
                    spread: !node.inputs[0].single,
                };
                let state = self.local.state.clone();
                match Aggregate::new(plan, schema, node.schema.clone(), place, state) {
                    Ok(op) => {
                        let op = MemoryTracker::new(op, operator(node), "group by fewer distinct values");
                        self.stage(node, "aggregate", true).add(Inputs::Local(vec![edge]), |_| Box::new(op))
                    }
                    Err(e) => self.fail(e, edge),
                }
            }
            Op::Join(plan) => {
                let barrier = Rc::new(BuildBarrier::default());
                let mut for_probe = barriers.to_vec();
                for_probe.push(barrier.clone());
                let build = |input: &Node| match self.shared.is_made[node.id] {
                    true => {
                        self.stage(input, "made", false).add(Inputs::None, |_| Box::new(Values::new(&[], 0)))
                    }
                    false => self.node(input, barriers),
                };
                let (left, right) = match plan.build {
                    Side::Left => (build(&node.inputs[0]), self.node(&node.inputs[1], &for_probe)),
                    Side::Right => (self.node(&node.inputs[0], &for_probe), build(&node.inputs[1])),
                };
                let schemas = (node.inputs[0].schema.clone(), node.inputs[1].schema.clone());
                let (builds, part) = self.shared.builds(node.id, self.local.index);
                self.stage(node, "join", true).add(Inputs::Local(vec![left, right]), |wake| {
                    let replicas = self.shared.replicas[node.id].clone();
                    let at = join::Placement {
                        builds,
                        part,
                        replicas,
                        index: self.local.index,
                        latch: barrier,
                        wake,
                    };
                    let join = Join::new(plan, schemas.0, schemas.1, node.schema.clone(), at);
                    Box::new(MemoryTracker::new(join, operator(node), FEWER_BUILD_ROWS))
                })
            }
            Op::Sort { keys, fetch } => {
                let edge = input(0);
                match Order::new(keys.clone(), &node.schema) {
                    Ok(order) => self.stage(node, "sort", true).add(Inputs::Local(vec![edge]), |_| {
                        let sort = Sort::new(order, *fetch, node.schema.clone());
                        Box::new(MemoryTracker::new(sort, operator(node), FEWER_SORTED_ROWS))
                    }),
                    Err(e) => self.fail(e, edge),
                }
            }
            Op::Window(plan) => {
                let edge = input(0);
                match Window::new(plan, &node.inputs[0].schema, node.schema.clone()) {
                    Ok(op) => {
                        let op = MemoryTracker::new(op, operator(node), FEWER_IN_PARTITIONS);
                        self.stage(node, "window", true).add(Inputs::Local(vec![edge]), |_| Box::new(op))
                    }
                    Err(e) => self.fail(e, edge),
                }
            }
            Op::Limit { skip, fetch } => {
                let edge = input(0);
                self.stage(node, "limit", true).add(Inputs::Local(vec![edge]), |_| {
                    Box::new(Limit::new(*skip, *fetch, node.inputs[0].clone(), self.local.clone()))
                })
            }
            Op::Repeat => {
                let edge = input(0);
                self.stage(node, "repeat", true)
                    .add(Inputs::Local(vec![edge]), |_| Box::new(Repeat::new(node.schema.clone())))
            }
            Op::Unnest(unnest) => {
                let edge = input(0);
                self.stage(node, "unnest", true)
                    .add(Inputs::Local(vec![edge]), |_| Box::new(Unnest::new(*unnest, node.schema.clone())))
            }
            Op::Union => {
                let edges = (0..node.inputs.len()).map(input).collect();
                self.stage(node, "union", true)
                    .add(Inputs::Local(edges), |_| Box::new(Union::new(node.schema.clone())))
            }
            Op::Exchange(exchange) => {
                let edge = input(0);
                self.exchange(node, exchange, edge)
            }
        }
    }

    fn exchange(&self, node: &Node, exchange: &Exchange, edge: Edge<'scope>) -> Edge<'scope> {
        let sender = Stage { gated: false, ..self.stage(node, "exchange", false) };
        let sent = sender.add(Inputs::Local(vec![edge]), |wake| {
            let Local { index, peers, topology, .. } = &**self.local;
            let pool = self.shared.pool(node.id, *index).expect("every exchange has credit").clone();
            let (here, processes) = (topology.here(), topology.processes.clone());
            let at = At { index: *index, here, peers: *peers, processes };
            let replicas = self.shared.replicas[node.id].clone();
            let watch = replicas.map(|replicas| HotKeyDetector::new(replicas, topology.here(), *peers));
            Box::new(Send::new(exchange, &node.schema, at, pool, wake).watching(watch))
        });
        // The rows of the last operator count as the node's.
        let arranges = matches!(exchange, Exchange::Merge { .. } | Exchange::InOrder);
        let received = self.stage(node, "receive", !arranges).add(Inputs::Exchange(sent.stream), |_| {
            Box::new(Receive::new(node.schema.clone(), self.local.topology.clone()))
        });
        match exchange {
            Exchange::Merge { keys, fetch } => match Order::new(keys.clone(), &node.schema) {
                Ok(order) => self.stage(node, "merge", true).add(Inputs::Local(vec![received]), |_| {
                    let merge = Merge::new(order, node.schema.clone(), self.local.peers, *fetch);
                    Box::new(MemoryTracker::new(merge, operator(node), FEWER_SORTED_ROWS))
                }),
                Err(e) => self.fail(e, received),
            },
            Exchange::InOrder => {
                self.stage(node, "in order", true).add(Inputs::Local(vec![received]), |_| {
                    Box::new(MemoryTracker::new(
                        InOrder::new(self.local.peers),
                        operator(node),
                        FEWER_ARRANGED_ROWS,
                    ))
                })
            }
            Exchange::Hash(_) | Exchange::Broadcast | Exchange::Gather => received,
        }
    }
}
