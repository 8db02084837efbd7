//! The stages and the limits of the pipeline.

use crate::error::Result;

/// The answer of a lane that is read.
pub enum Step<I> {
    /// An item.
    Item(I),
    /// An older lane has to get further first.
    Wait,
    /// The lane has no more items.
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

/// The input of `cut`, in order.
pub enum LaneItem<I> {
    /// The next item.
    Item(I),
    /// All items were given.
    End,
}

/// See [`Stages::deal`].
pub type NextSplit<'a, L> = Box<dyn FnMut() -> Result<Option<L>> + Send + 'a>;
/// See [`Stages::read`].
pub type Reader<'a, L, I> = Box<dyn Fn(&mut L) -> Result<Step<I>> + Sync + 'a>;
/// See [`Stages::cut`].
pub type Cutter<'a, I, W> = Box<dyn FnMut(LaneItem<I>, &mut Vec<W>) -> Result<()> + Send + 'a>;
/// See [`Stages::work`].
pub type Worker<'a, W, O> = Box<dyn Fn(W) -> Result<O> + Sync + 'a>;
/// See [`Stages::put`].
pub type Sink<'a, O> = Box<dyn FnMut(O) -> Result<()> + Send + 'a>;

/// The stages of a pipeline. `L` is a lane, `I` an item, `W` a piece of work and `O` its result.
pub struct Stages<'a, L, I, W, O> {
    /// Gives the next lane. It should leave the opening of files to `read`, because only one thread at a time calls it.
    pub deal: NextSplit<'a, L>,
    /// Gives the next item of a lane.
    pub read: Reader<'a, L, I>,
    /// Gives the memory that an item takes, in bytes, for [`Limits::lane_weight`].
    pub weight: fn(&I) -> usize,
    /// Appends the pieces of work that an item completes.
    pub cut: Cutter<'a, I, W>,
    /// Does one piece of work.
    pub work: Worker<'a, W, O>,
    /// Takes the results, in order.
    pub put: Sink<'a, O>,
}

/// The bounds of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of threads, at least 1.
    pub threads: usize,
    /// The most open lanes, at least 1.
    pub lanes: usize,
    /// The weight, in bytes, of the items of a lane at which it is not read further.
    pub lane_weight: usize,
    /// The most pieces of work, at least 1.
    pub works: usize,
}

impl Limits {
    /// The limits at which every thread is busy, and little more.
    pub fn new(threads: usize) -> Limits {
        let threads = threads.max(1);
        Limits { threads, lanes: threads + 1, lane_weight: 16 << 20, works: threads + 2 }
    }
}
