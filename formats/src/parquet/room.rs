//! Memory for unpacked pages, which later pages use again.

use std::cell::RefCell;
use std::collections::VecDeque;

/// The most bytes of it that a thread keeps.
const KEPT: usize = 24 << 20;
/// Less is not kept, in bytes: the allocator has it at hand.
const SMALL: usize = 256 << 10;

thread_local! {
    static LEFT: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
}

/// Memory for a page. When it is dropped, another page gets it.
pub struct Room(Vec<u8>);

impl Room {
    /// At least so many bytes, which hold whatever they held. At most an eighth is more than was asked for: texts keep the
    /// memory of their page.
    pub fn of(bytes: usize) -> Room {
        let step = (bytes.next_power_of_two() / 16).max(1);
        let size = bytes.checked_next_multiple_of(step).unwrap_or(bytes);
        let left = LEFT.with_borrow_mut(|left| {
            let place = left.iter().position(|room| room.len() == size)?;
            left.remove(place)
        });
        Room(left.unwrap_or_else(|| vec![0; size]))
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.0);
        if !(SMALL..=KEPT).contains(&room.len()) {
            return;
        }
        // A thread that ends keeps nothing.
        let _ = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            left.push_back(room);
            while left.iter().map(Vec::len).sum::<usize>() > KEPT {
                left.pop_front();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_within_bounds() {
        let place = |room: &Room| room.as_ref().as_ptr();
        let first = Room::of(10_000_000);
        assert!((10_000_000..=11_250_000).contains(&first.as_ref().len()));
        let there = place(&first);
        drop(first);
        // A page of about the same size gets it, others don't.
        let (small, large) = (Room::of(1000), Room::of(13_000_000));
        let second = Room::of(9_990_000);
        assert_eq!(place(&second), there);
        assert!(place(&small) != there && place(&large) != there);
        assert!((1000..=1125).contains(&small.as_ref().len()));
        drop((small, second, large));
        let kept = || LEFT.with_borrow(|left| left.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(kept().len(), 2, "the small one is not kept");
        drop((Room::of(8_000_000), Room::of(KEPT + 1)));
        assert!(kept().iter().sum::<usize>() <= KEPT && kept().len() == 2, "{:?}", kept());
        assert_eq!(Room::of(0).as_ref().len(), 0);
    }
}
