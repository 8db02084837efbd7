//! Unsigned integers of 8 to 64 bits, as which all values of fixed width are encoded.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};
use fastlanes::FoR;

/// The values of a block of packed integers.
pub const BLOCK: usize = 1024;

/// An unsigned integer that can be packed.
pub trait Word: ArrowNativeType + ToByteSlice + std::hash::Hash + Ord {
    /// The bits of a value.
    const BITS: usize;
    /// The bytes of a value.
    const BYTES: usize = Self::BITS / 8;

    /// The value as 64 bits.
    fn wide(self) -> u64;
    /// The low bits.
    fn narrow(wide: u64) -> Self;
    /// The value as a signed number.
    fn signed(self) -> i64;
    /// The sum without its carry.
    fn plus(self, other: Self) -> Self;
    /// The difference without its borrow.
    fn minus(self, other: Self) -> Self;

    /// Packs a block of 1024 values, less `base`, into `width` bits each.
    fn pack(width: usize, base: Self, values: &[Self; BLOCK], out: &mut Vec<u8>);

    /// The values of a full block, `base` added; `packed` has 128 × `width` bytes.
    fn unpack(width: usize, base: Self, packed: &[Self], out: &mut [Self; BLOCK]);
}

macro_rules! word {
    ($word:ty, $signed:ty) => {
        impl Word for $word {
            const BITS: usize = <$word>::BITS as usize;

            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn narrow(wide: u64) -> Self {
                wide as $word
            }

            #[inline(always)]
            fn signed(self) -> i64 {
                i64::from(self as $signed)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn pack(width: usize, base: Self, values: &[Self; BLOCK], out: &mut Vec<u8>) {
                let offsets: [Self; BLOCK] = std::array::from_fn(|i| values[i].wrapping_sub(base));
                let mut packed = vec![0; 128 * width / Self::BYTES];
                // SAFETY: there are 1024 values, room for 1024 × `width` bits, and `width` is at most the bits of a
                // word, since it is the width of one.
                unsafe { fastlanes::BitPacking::unchecked_pack(width, &offsets, &mut packed) };
                out.extend_from_slice(packed.to_byte_slice());
            }

            fn unpack(width: usize, base: Self, packed: &[Self], out: &mut [Self; BLOCK]) {
                assert!(width <= Self::BITS as usize && packed.len() * Self::BYTES == 128 * width);
                // SAFETY: the lengths are those that the line above asks for.
                unsafe { FoR::unchecked_unfor_pack(width, packed, base, out) };
            }
        }
    };
}

word!(u8, i8);
word!(u16, i16);
word!(u32, i32);
word!(u64, i64);

/// Bytes as words; copied if they are not aligned. Bytes behind the last whole word are left out.
pub fn words<W: Word>(bytes: &Buffer) -> ScalarBuffer<W> {
    let length = bytes.len() / W::BYTES;
    let bytes = bytes.slice_with_length(0, length * W::BYTES);
    let aligned = bytes.as_ptr().align_offset(align_of::<W>()) == 0;
    let bytes = if aligned { bytes } else { Buffer::from_slice_ref(bytes.as_slice()) };
    ScalarBuffer::new(bytes, 0, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<W: Word>() {
        for width in 0..=W::BITS {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let values: [W; BLOCK] = std::array::from_fn(|i| {
                W::narrow((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask).plus(W::narrow(7))
            });
            let mut bytes = Vec::new();
            W::pack(width, W::narrow(7), &values, &mut bytes);
            assert_eq!(bytes.len(), 128 * width);
            let mut found = [W::narrow(0); BLOCK];
            W::unpack(width, W::narrow(7), &words(&Buffer::from(bytes)), &mut found);
            assert!(values == found, "{width} of {}", W::BITS);
        }
    }

    #[test]
    fn every_width_comes_back() {
        round_trip::<u8>();
        round_trip::<u16>();
        round_trip::<u32>();
        round_trip::<u64>();
    }

    #[test]
    fn values_lie_where_the_specification_says() {
        // The first 16 lanes of a block of 64-bit words of width 1: bit `row` of word `lane` is the value of that place.
        let order = [0, 4, 2, 6, 1, 5, 3, 7];
        for place in [0, 1, 16, 127, 128, 500, 1023] {
            let mut values = [0u64; BLOCK];
            values[place] = 1;
            let mut bytes = Vec::new();
            u64::pack(1, 0, &values, &mut bytes);
            let found: Vec<(usize, u32)> = bytes
                .chunks_exact(8)
                .enumerate()
                .map(|(lane, word)| (lane, u64::from_le_bytes(word.try_into().unwrap())))
                .filter(|(_, word)| *word != 0)
                .map(|(lane, word)| (lane, word.trailing_zeros()))
                .collect();
            let [(lane, row)] = found[..] else { panic!("{found:?}") };
            let row = row as usize;
            assert_eq!(order[row / 8] * 16 + row % 8 * 128 + lane, place);
        }
    }
}
