//! Where bytes occur in 64 bytes at a time: bit `i` of a mask is set if byte `i` is the one sought.

/// 64 bytes of text.
pub type Chunk = [u8; 64];

/// The masks of three needles.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn masks(chunk: &Chunk, needles: [u8; 3]) -> [u64; 3] {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

    let lane = |i: usize| {
        let lane: &[u8; 16] = chunk[16 * i..16 * (i + 1)].try_into().expect("a quarter of 64 bytes is 16");
        // SAFETY: SSE2 is part of every x86-64, and the load, which may be unaligned, reads the 16 bytes of `lane`.
        unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
    };
    let lanes = [lane(0), lane(1), lane(2), lane(3)];
    needles.map(|needle| {
        // SAFETY: SSE2 is part of every x86-64.
        let quarter = |i: usize| unsafe {
            _mm_movemask_epi8(_mm_cmpeq_epi8(lanes[i], _mm_set1_epi8(needle as i8))) as u32
        };
        (0..4).fold(0, |mask, i| mask | u64::from(quarter(i)) << (16 * i))
    })
}

/// The masks of three needles.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn masks(chunk: &Chunk, needles: [u8; 3]) -> [u64; 3] {
    portable_masks(chunk, needles)
}

/// The masks of three needles, eight bytes at a time in a 64-bit word.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub fn portable_masks(chunk: &Chunk, needles: [u8; 3]) -> [u64; 3] {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut masks = [0; 3];
    for (i, word) in chunk.chunks_exact(8).enumerate() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        let word = u64::from_le_bytes(bytes);
        for (mask, needle) in masks.iter_mut().zip(needles) {
            let differs = word ^ (ONES * u64::from(needle));
            // 0x80 in each byte of `differs` that is zero; no carry crosses bytes, so this is exact.
            let zero = !(((differs & LOW) + LOW) | differs | LOW);
            // Gathers the eight top bits into one byte.
            let gathered = (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            *mask |= gathered << (8 * i);
        }
    }
    masks
}

/// Bit `i` of the result is the parity of bits `0..=i`: set from each opening quote to just before its closing one.
#[inline(always)]
pub fn prefix_xor(mut mask: u64) -> u64 {
    mask ^= mask << 1;
    mask ^= mask << 2;
    mask ^= mask << 4;
    mask ^= mask << 8;
    mask ^= mask << 16;
    mask ^ mask << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_agree_with_a_loop() {
        let mut state = 1u64;
        for _ in 0..2000 {
            let mut chunk = [0; 64];
            for byte in &mut chunk {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *byte = b"\x00\x01,\n\"\x80\xffa-+"[(state >> 33) as usize % 10];
            }
            let needles = [b',', b'\n', b'"'];
            let naive = needles.map(|n| (0..64).filter(|&i| chunk[i] == n).fold(0u64, |m, i| m | 1 << i));
            assert_eq!(masks(&chunk, needles), naive);
            assert_eq!(portable_masks(&chunk, needles), naive);
            let naive_parity =
                (0..64).fold(0u64, |m, i| m | u64::from((naive[2] << (63 - i)).count_ones() & 1) << i);
            assert_eq!(prefix_xor(naive[2]), naive_parity);
        }
    }
}
