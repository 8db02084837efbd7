//! Streams of frames whose headers tell how long each part is. Bytes are pushed in pieces of any size, and a part is
//! decoded once it is whole. It is decoded in place where it lies in one piece, else from a copy.

/// The first `len` bytes of what was kept in `part` and the input together, or `None` if there are fewer. Then the
/// input is moved to `part`. They are consumed if `consume` says so, and stay where they are otherwise; whoever
/// consumes them clears `part` when they are decoded.
pub fn take<'part, 'input: 'part>(
    part: &'part mut Vec<u8>,
    len: usize,
    input: &mut &'input [u8],
    consume: bool,
) -> Option<&'part [u8]> {
    if part.is_empty() && input.len() >= len {
        let (head, tail) = input.split_at(len);
        if consume {
            *input = tail;
        }
        return Some(head);
    }
    let some = len.saturating_sub(part.len()).min(input.len());
    let (head, tail) = input.split_at(some);
    part.extend_from_slice(head);
    *input = tail;
    part.get(..len)
}
