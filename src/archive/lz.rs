//! The LZ stage of a block: literals, runs and references within the block.
//!
//! A control word of 16 bits, little-endian, describes the next 16 items from
//! its highest bit down: 0 is a literal byte, 1 a token. With `h` and `l` the
//! high and low half of a token's first byte:
//!
//! | h | bytes | meaning |
//! |---|---|---|
//! | 0 | 2 | the second byte, l + 3 times |
//! | 1 | 3 | the third byte, l + 16 · second + 19 times |
//! | 2 | 3 | 16 + third bytes, from l + 16 · second + 3 before |
//! | 3…15 | 2 | h bytes, from l + 16 · second + 3 before |

use super::block::BLOCK_BYTES;

/// Number of bytes that are copied at once where there is room. Excess bytes
/// are overwritten later.
const STRIDE: usize = 16;

/// Length of the longest token.
const TOKEN_BYTES: usize = 3;

const SHORTEST: usize = 3;
const LONGEST_REFERENCE: usize = 271;
const LONGEST_SHORT_REFERENCE: usize = 15;
const LONGEST_SHORT_RUN: usize = 18;
const LONGEST_RUN: usize = 4114;
const FARTHEST: usize = 4098;

/// Unpacks the LZ stage. Returns at most [`BLOCK_BYTES`] bytes.
///
/// # Errors
///
/// The reason: a token is cut off, refers to bytes before the block, or expands
/// beyond the longest block.
pub(super) fn decode(packed: &[u8]) -> Result<Vec<u8>, &'static str> {
    // One stride may read or write behind the ends.
    let mut input = Vec::with_capacity(packed.len() + STRIDE);
    input.extend_from_slice(packed);
    input.resize(packed.len() + STRIDE, 0);
    let mut output = vec![0; BLOCK_BYTES + STRIDE];
    let (mut at, mut len) = (0, 0);
    while at < packed.len() {
        let Some(control) = packed.get(at..).and_then(|rest| rest.first_chunk()) else {
            return Err("ends inside a control word");
        };
        let mut control = u16::from_le_bytes(*control);
        at += 2;
        let mut items = u16::BITS;
        while items > 0 && at < packed.len() {
            let left = u32::try_from(packed.len() - at).unwrap_or(u32::MAX);
            let literals = control.leading_zeros().min(items).min(left);
            if literals > 0 {
                copy_stride(&input, at, &mut output, len);
                at += literals as usize;
                len += literals as usize;
                items -= literals;
                control = control.checked_shl(literals).unwrap_or(0);
            } else {
                let token = input.get(at..).and_then(|rest| rest.first_chunk());
                let token: &[u8; TOKEN_BYTES] = token.ok_or("ends inside a token")?;
                let (size, count) = expand(*token, &mut output, len)?;
                at += size;
                len += count;
                items -= 1;
                control <<= 1;
            }
            if at > packed.len() {
                return Err("ends inside a token");
            }
            if len > BLOCK_BYTES {
                return Err("gives more bytes than a block holds");
            }
        }
    }
    output.truncate(len);
    Ok(output)
}

fn copy_stride(from: &[u8], at: usize, to: &mut [u8], len: usize) {
    let stride = from.get(at..).and_then(|rest| rest.first_chunk::<STRIDE>());
    let place = to.get_mut(len..).and_then(|rest| rest.first_chunk_mut());
    if let (Some(stride), Some(place)) = (stride, place) {
        *place = *stride;
    }
}

/// Expands a token behind the first `len` bytes. Returns the length of the
/// token and the number of bytes it gave.
fn expand(
    token: [u8; TOKEN_BYTES],
    output: &mut [u8],
    len: usize,
) -> Result<(usize, usize), &'static str> {
    let [first, second, third] = token;
    let number = usize::from(first & 15) + 16 * usize::from(second);
    let (size, count) = match first >> 4 {
        0 => (2, usize::from(first & 15) + SHORTEST),
        1 => (3, number + LONGEST_SHORT_RUN + 1),
        2 => (3, usize::from(third) + LONGEST_SHORT_REFERENCE + 1),
        short => (2, usize::from(short)),
    };
    let Some(place) = output.get_mut(len..len + count) else {
        return Err("gives more bytes than a block holds");
    };
    match first >> 4 {
        0 => place.fill(second),
        1 => place.fill(third),
        _ => copy_back(output, len, number + SHORTEST, count)?,
    }
    Ok((size, count))
}

/// Appends `count` bytes, copied from `distance` bytes before the end at `len`.
fn copy_back(
    output: &mut [u8],
    len: usize,
    distance: usize,
    count: usize,
) -> Result<(), &'static str> {
    let Some(from) = len.checked_sub(distance) else {
        return Err("refers to what is before the block");
    };
    if count <= STRIDE && distance >= count {
        let stride = output.get(from..).and_then(|rest| rest.first_chunk());
        let stride: Option<[u8; STRIDE]> = stride.copied();
        let place = output
            .get_mut(len..)
            .and_then(|rest| rest.first_chunk_mut());
        if let (Some(stride), Some(place)) = (stride, place) {
            *place = stride;
            return Ok(());
        }
    }
    if distance >= count {
        output.copy_within(from..from + count, len);
        return Ok(());
    }
    // If `count` exceeds `distance`, bytes that were just written are copied
    // again.
    for step in 0..count {
        let byte = output.get(from + step).copied().unwrap_or_default();
        if let Some(place) = output.get_mut(len + step) {
            *place = byte;
        }
    }
    Ok(())
}

/// Hash chains: for each position, the previous one with the same hash of three
/// bytes.
struct HashChains {
    last: Vec<u32>,
    before: Vec<u32>,
}

const NO_POSITION: u32 = u32::MAX;
const HASH_BITS: u32 = 13;

/// Number of earlier positions that are tried.
const TRIES: usize = 32;

impl HashChains {
    fn new(len: usize) -> HashChains {
        HashChains {
            last: vec![NO_POSITION; 1 << HASH_BITS],
            before: vec![NO_POSITION; len],
        }
    }

    fn hash(bytes: &[u8], at: usize) -> Option<usize> {
        let [one, two, three]: [u8; SHORTEST] = *bytes.get(at..)?.first_chunk()?;
        let number = u32::from_le_bytes([one, two, three, 0]);
        usize::try_from(number.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)).ok()
    }

    fn add(&mut self, bytes: &[u8], at: usize) {
        let last = HashChains::hash(bytes, at).and_then(|hash| self.last.get_mut(hash));
        if let (Some(last), Some(before)) = (last, self.before.get_mut(at)) {
            *before = *last;
            *last = u32::try_from(at).unwrap_or(NO_POSITION);
        }
    }

    /// Length and distance of the longest match. The match does not overlap the
    /// current position: the known writers make no such reference.
    fn longest(&self, bytes: &[u8], at: usize) -> (usize, usize) {
        let mut best = (0, 0);
        let last = HashChains::hash(bytes, at).and_then(|hash| self.last.get(hash));
        let mut place = last.copied().unwrap_or(NO_POSITION);
        for _ in 0..TRIES {
            let from = usize::try_from(place).unwrap_or(usize::MAX);
            let Some(distance) = at.checked_sub(from).filter(|far| *far <= FARTHEST) else {
                break;
            };
            if distance >= SHORTEST {
                let most = distance.min(LONGEST_REFERENCE);
                let len = same_bytes(bytes, from, at, most);
                if len > best.0 {
                    best = (len, distance);
                }
            }
            place = self.before.get(from).copied().unwrap_or(NO_POSITION);
        }
        best
    }
}

/// Length of the common run of bytes at two positions, at most `most`.
fn same_bytes(bytes: &[u8], one: usize, other: usize, most: usize) -> usize {
    let of = |at: usize| bytes.get(at..).unwrap_or_default().iter().take(most);
    of(one).zip(of(other)).take_while(|(a, b)| a == b).count()
}

/// Packs the bytes of a block.
pub(super) fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len());
    let mut chains = HashChains::new(bytes.len());
    let mut items = Vec::with_capacity(16 * TOKEN_BYTES);
    let (mut at, mut control, mut count) = (0, 0_u16, 0);
    while let Some(byte) = bytes.get(at) {
        let run = bytes.get(at..).unwrap_or_default().iter();
        let run = run.take(LONGEST_RUN).take_while(|it| *it == byte).count();
        let (len, distance) = chains.longest(bytes, at);
        let step = if run >= SHORTEST && run >= len {
            push_run(&mut items, *byte, run);
            run
        } else if len >= SHORTEST {
            push_reference(&mut items, len, distance);
            len
        } else {
            items.push(*byte);
            1
        };
        if step > 1 {
            control |= 0x8000 >> count;
        }
        for passed in at..at + step {
            chains.add(bytes, passed);
        }
        at += step;
        count += 1;
        if count == 16 || at == bytes.len() {
            packed.extend(control.to_le_bytes());
            packed.append(&mut items);
            (control, count) = (0, 0);
        }
    }
    packed
}

/// Splits a number into the low half of a token's first byte and its second
/// byte.
fn halves(number: usize) -> (u8, u8) {
    let low = u8::try_from(number & 15).unwrap_or_default();
    (low, u8::try_from(number >> 4).unwrap_or_default())
}

fn push_run(items: &mut Vec<u8>, byte: u8, run: usize) {
    if run <= LONGEST_SHORT_RUN {
        items.extend([halves(run - SHORTEST).0, byte]);
    } else {
        let (low, rest) = halves(run - LONGEST_SHORT_RUN - 1);
        items.extend([0x10 | low, rest, byte]);
    }
}

fn push_reference(items: &mut Vec<u8>, len: usize, distance: usize) {
    let (low, rest) = halves(distance - SHORTEST);
    match u8::try_from(len.saturating_sub(LONGEST_SHORT_REFERENCE + 1)) {
        Ok(longer) if len > LONGEST_SHORT_REFERENCE => {
            items.extend([0x20 | low, rest, longer]);
        }
        _ => items.extend([u8::try_from(len << 4).unwrap_or_default() | low, rest]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_token_stands_for_its_bytes() {
        let run = [0x00, 0x80, 0x10, 0x01, b'X'];
        assert_eq!(decode(&run).unwrap(), [b'X'; 35]);
        assert_eq!(decode(&[0, 0x10, b'A', b'B', b'C']).unwrap(), b"ABC");
        assert_eq!(decode(&[0, 0x80, 0x02, b'x']).unwrap(), b"xxxxx");
        assert_eq!(
            decode(&[0, 0x10, b'a', b'b', b'c', 0x30, 0]).unwrap(),
            b"abcabc"
        );
        let overlapping = [0, 0x10, b'a', b'b', b'c', 0x20, 0, 0];
        assert_eq!(decode(&overlapping).unwrap(), b"abcabcabcabcabcabca");
        assert_eq!(decode(&[]).unwrap(), b"");
    }

    #[test]
    fn tokens_that_cannot_be_are_refused() {
        assert_eq!(decode(&[0]), Err("ends inside a control word"));
        assert_eq!(decode(&[0, 0x80, 0x10, 1]), Err("ends inside a token"));
        let before = [0, 0x40, b'a', 0x30, 0];
        assert_eq!(decode(&before), Err("refers to what is before the block"));
        let too_much: Vec<u8> = [[0xff, 0xff].as_slice(), &[0x1f, 0xff, 0].repeat(16)].concat();
        assert_eq!(
            decode(&too_much),
            Err("gives more bytes than a block holds")
        );
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            parts in prop::collection::vec(
                (any::<u8>(), 1..40usize, any::<bool>(), 0..4u8), 0..400),
        ) {
            let mut bytes = Vec::new();
            for (byte, count, is_run, alphabet) in parts {
                let next = |step: usize| byte.wrapping_add(u8::try_from(step).unwrap() % (alphabet + 1));
                bytes.extend((0..count).map(|step| if is_run { byte } else { next(step) }));
            }
            bytes.truncate(BLOCK_BYTES);
            prop_assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn any_bytes_are_read_or_refused(packed in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(bytes) = decode(&packed) {
                prop_assert!(bytes.len() <= BLOCK_BYTES);
            }
        }
    }
}
