//! Threads that do the same work side by side.

use std::thread::Builder;

use crate::memory::count_to_the_end;

/// Does the work on this thread and on so many others, with stacks of so many bytes, and waits for all of them. With fewer
/// threads, where the system has no more, it takes longer.
///
/// Each of them is joined. One whose handle is dropped is detached, and glibc looks at it once more after that (its bug
/// 19951). If it has ended meanwhile, a stack this large is no longer mapped, and the process ends.
pub fn side_by_side(name: &str, stack: usize, others: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let own = || {
            count_to_the_end();
            work();
        };
        let start = |_| Builder::new().name(name.into()).stack_size(stack).spawn_scoped(scope, own).ok();
        let threads: Vec<_> = (0..others).map_while(start).collect();
        work();
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}
