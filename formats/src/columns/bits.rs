//! Numbers of some bits each, one after the other.

/// The bits that a number needs.
pub fn bits(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// Writes numbers of `width` bits one after the other, low bits first.
pub fn pack(numbers: impl Iterator<Item = u64>, width: usize, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u128, 0);
    for number in numbers {
        word |= u128::from(number) << filled;
        filled += width;
        while filled >= 8 {
            out.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(word as u8);
    }
}
