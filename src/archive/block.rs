//! Blocks: the separately packed parts of a member.
//!
//! | bytes | meaning |
//! |---|---|
//! | 2 | length of the payload, little-endian |
//! | 2 | check word: sum of the payload's little-endian words, an odd last byte left out |
//! | 1 | mode, the first byte of the payload: bit 0 for LZ, bit 1 for Huffman |
//! | … | data |

use super::{huffman, lz};

/// Unpacked length of each block of a member except the last, which holds the
/// rest.
pub(super) const BLOCK_BYTES: usize = 61_440;

/// Bytes of a block before its payload: length and check word.
pub(super) const HEAD_BYTES: usize = 4;

/// Bytes of the shortest block: the head, a mode byte and one byte of data.
pub(super) const SHORTEST: u64 = 6;

/// Bytes of the longest block that the length in its head allows.
pub(super) const LONGEST: u64 = HEAD_BYTES as u64 + u16::MAX as u64;

const LZ: u8 = 1;
const HUFFMAN: u8 = 2;

/// The head of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHead {
    /// Length of the payload.
    pub(super) len: u16,
    /// Sum of the words of the payload.
    pub(super) sum: u16,
}

impl BlockHead {
    pub(super) fn decode([a, b, c, d]: [u8; HEAD_BYTES]) -> BlockHead {
        BlockHead {
            len: u16::from_le_bytes([a, b]),
            sum: u16::from_le_bytes([c, d]),
        }
    }
}

fn sum(payload: &[u8]) -> u16 {
    let (words, _) = payload.as_chunks::<2>();
    let words = words.iter().map(|word| u16::from_le_bytes(*word));
    words.fold(0, u16::wrapping_add)
}

/// The sums of all ranges of some bytes.
pub(super) struct Sums {
    /// At each offset, the sum of every second byte pair before it, back to
    /// offset 0 or 1.
    before: Vec<u16>,
}

impl Sums {
    pub(super) fn of(bytes: &[u8]) -> Sums {
        let mut before = vec![0_u16; bytes.len() + 1];
        for (at, pair) in bytes.windows(2).enumerate() {
            let [low, high] = *pair else { continue };
            let sum = before.get(at).copied().unwrap_or(0);
            if let Some(place) = before.get_mut(at + 2) {
                *place = sum.wrapping_add(u16::from_le_bytes([low, high]));
            }
        }
        Sums { before }
    }

    /// The sum of a payload, an odd last byte left out; `None` if it goes on
    /// past the bytes.
    pub(super) fn of_range(&self, start: usize, end: usize) -> Option<u16> {
        self.before.get(end)?;
        let end = end - (end - start) % 2;
        Some(self.before.get(end)?.wrapping_sub(*self.before.get(start)?))
    }
}

/// Unpacks a payload to `len` bytes.
///
/// # Errors
///
/// The reason, if the payload is damaged or does not give exactly `len` bytes.
pub(super) fn decode(payload: &[u8], head: BlockHead, len: usize) -> Result<Vec<u8>, String> {
    let found = sum(payload);
    if found != head.sum {
        return Err(format!("has the sum {found:04x}, not {:04x}", head.sum));
    }
    let Some((mode, data)) = payload.split_first() else {
        return Err("has no data".to_owned());
    };
    let bytes = match *mode {
        0 => data.to_vec(),
        LZ => lz::decode(data)?,
        HUFFMAN => huffman::decode(data)?,
        3 => lz::decode(&huffman::decode(data)?)?,
        mode => return Err(format!("is packed in the unknown mode {mode}")),
    };
    if bytes.len() != len {
        return Err(format!("gives {} bytes, not {len}", bytes.len()));
    }
    Ok(bytes)
}

/// Appends `bytes` as a block, in the mode that makes it shortest. `bytes` has
/// 1 to [`BLOCK_BYTES`] bytes.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let packed = lz::encode(bytes);
    let both = huffman::encode(&packed);
    let modes = [
        (LZ, Some(packed)),
        (HUFFMAN, huffman::encode(bytes)),
        (LZ | HUFFMAN, both),
    ];
    let modes = modes
        .into_iter()
        .filter_map(|(mode, data)| Some((mode, data?)));
    let best = modes.min_by_key(|(_, data)| data.len());
    let best = best.filter(|(_, data)| data.len() < bytes.len());
    let (mode, data) = best.unwrap_or_else(|| (0, bytes.to_vec()));
    let payload = [&[mode], &data[..]].concat();
    // The unpacked bytes fit in the length field, and no longer payload is
    // chosen.
    let len = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    out.extend(len.to_le_bytes());
    out.extend(sum(&payload).to_le_bytes());
    out.extend(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(block: &[u8], len: usize) -> Result<Vec<u8>, String> {
        let (head, payload) = block.split_at(HEAD_BYTES);
        let head = BlockHead::decode(head.try_into().unwrap());
        assert_eq!(usize::from(head.len), payload.len());
        decode(payload, head, len)
    }

    fn noise(len: usize) -> Vec<u8> {
        let step = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let numbers = std::iter::successors(Some(7), step);
        numbers
            .map(|number| number.to_be_bytes()[0])
            .take(len)
            .collect()
    }

    #[test]
    fn blocks_come_back_in_the_shortest_mode() {
        let runs = vec![5; BLOCK_BYTES];
        let text = b"1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 ".repeat(400);
        let words: Vec<u8> = noise(30_000).iter().map(|byte| byte % 7).collect();
        let mut both = words.clone();
        both.extend(noise(600).repeat(10));
        for (bytes, modes) in [
            (noise(BLOCK_BYTES), &[0][..]),
            (b"x".to_vec(), &[0]),
            (runs, &[1]),
            (text, &[1, 3]),
            (words, &[2, 3]),
            (both, &[2, 3]),
        ] {
            let mut block = Vec::new();
            encode(&bytes, &mut block);
            assert!(modes.contains(&block[HEAD_BYTES]), "{modes:?}");
            assert_eq!(decoded(&block, bytes.len()).unwrap(), bytes);
            let wrong = decoded(&block, bytes.len() + 1).unwrap_err();
            assert!(wrong.starts_with("gives "), "{wrong}");
        }
    }

    #[test]
    fn the_sum_of_any_range_is_that_of_its_payload() {
        let bytes = noise(99);
        let sums = Sums::of(&bytes);
        for start in 0..bytes.len() {
            for end in start..=bytes.len() {
                assert_eq!(sums.of_range(start, end), Some(sum(&bytes[start..end])));
            }
        }
        assert_eq!(sums.of_range(90, 100), None);
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let mut block = Vec::new();
        encode(&b"a knight on the rim is dim ".repeat(30), &mut block);
        for at in HEAD_BYTES..block.len() - 1 {
            block[at] ^= 0x10;
            let why = decoded(&block, 27 * 30).unwrap_err();
            assert!(why.starts_with("has the sum"), "{at}: {why}");
            block[at] ^= 0x10;
        }
    }
}
