//! What the pipeline is given: its stages and its limits.

use crate::error::Result;

/// What a lane says when it is asked for more.
pub enum Step<I> {
    /// An item.
    Item(I),
    /// An older lane has to get further first.
    Wait,
    /// There is no more.
    Done,
}

impl<I> Step<I> {
    /// The same step with another item.
    pub fn map<J>(self, f: impl FnOnce(I) -> J) -> Step<J> {
        match self {
            Step::Item(item) => Step::Item(f(item)),
            Step::Wait => Step::Wait,
            Step::Done => Step::Done,
        }
    }
}

/// What `cut` is given, in order.
pub enum LaneItem<I> {
    /// The next item.
    Item(I),
    /// All items were given.
    End,
}

/// See [`Stages::deal`].
pub type Dealer<'a, L> = Box<dyn FnMut() -> Result<Option<L>> + Send + 'a>;
/// See [`Stages::read`].
pub type Reader<'a, L, I> = Box<dyn Fn(&mut L) -> Result<Step<I>> + Sync + 'a>;
/// See [`Stages::cut`].
pub type Cutter<'a, I, W> = Box<dyn FnMut(LaneItem<I>, &mut Vec<W>) -> Result<()> + Send + 'a>;
/// See [`Stages::work`].
pub type Worker<'a, W, O> = Box<dyn Fn(W) -> Result<O> + Sync + 'a>;
/// See [`Stages::put`].
pub type Sink<'a, O> = Box<dyn FnMut(O) -> Result<()> + Send + 'a>;

/// The stages. `L` is a lane, `I` an item, `W` a piece of work and `O` its result.
pub struct Stages<'a, L, I, W, O> {
    /// The next lane; opening what it reads is better left to `read`, which is not one at a time.
    pub deal: Dealer<'a, L>,
    /// The next item of a lane.
    pub read: Reader<'a, L, I>,
    /// How much memory an item takes, for [`Limits::lane_weight`].
    pub weight: fn(&I) -> usize,
    /// Appends the pieces of work that an item completes.
    pub cut: Cutter<'a, I, W>,
    /// Does one piece of work.
    pub work: Worker<'a, W, O>,
    /// Takes the results.
    pub put: Sink<'a, O>,
}

/// How much is under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads, at least one.
    pub threads: usize,
    /// Open lanes, at least one.
    pub lanes: usize,
    /// A lane that holds items of this weight is not read further.
    pub lane_weight: usize,
    /// Pieces of work, at least one.
    pub works: usize,
}

impl Limits {
    /// Enough for every thread to be busy, and little more.
    pub fn new(threads: usize) -> Limits {
        let threads = threads.max(1);
        Limits { threads, lanes: threads + 1, lane_weight: 16 << 20, works: threads + 2 }
    }
}
