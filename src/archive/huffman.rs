//! The Huffman stage of a block.
//!
//! | bits | meaning |
//! |---|---|
//! | 16 | number of unpacked bytes, big-endian |
//! | 256 × (4 + n) | for each byte value the length n of its code, and the code |
//! | … | the codes of the data |
//!
//! Bits are read from the highest bit of each byte to the lowest, and no field
//! is aligned. A code length of 0 marks a value that does not occur. The codes
//! are stored explicitly and need not be canonical. They form a complete prefix
//! code.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Length of the longest code in bits.
const LONGEST: u32 = 15;

/// Number of bits that index the first table. Codes that are longer continue in
/// a second table.
const FIRST_BITS: u32 = 11;

/// Number of entries in the second table per entry of the first.
const SPREAD: usize = 1 << (LONGEST - FIRST_BITS);

/// Flag of an entry of the first table that points into the second.
const LEADS_ON: u16 = 0x8000;

/// Number of codes, of at most 15 bits each, that are decoded per refill of 64
/// bits.
const AT_ONCE: usize = 3;

/// Number of bytes that may be read behind the end.
const SLACK: usize = 8;

/// A bit reader, highest bit first.
struct HuffmanBits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u32,
    /// The next bits, left-aligned.
    next: u64,
}

impl<'a> HuffmanBits<'a> {
    /// The last [`SLACK`] bytes of `bytes` are padding and not part of the
    /// data.
    fn new(bytes: &'a [u8]) -> HuffmanBits<'a> {
        HuffmanBits {
            bytes,
            at: 0,
            held: 0,
            next: 0,
        }
    }

    /// Refills the buffer to at least 56 bits, with zeros behind the end.
    #[inline]
    fn refill(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let word = rest
            .first_chunk()
            .map_or(0, |word| u64::from_be_bytes(*word));
        self.next |= word.wrapping_shr(self.held);
        // None of these can overflow. Checked arithmetic would cost a tenth of
        // the time.
        let taken = 63_u32.wrapping_sub(self.held) >> 3;
        self.at = self.at.wrapping_add(taken as usize);
        self.held |= 0b11_1000;
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.next = self.next.wrapping_shl(count);
        self.held = self.held.wrapping_sub(count);
    }

    /// Takes up to 16 bits.
    #[inline]
    fn take(&mut self, count: u32) -> u16 {
        let bits = self.next.checked_shr(64 - count).unwrap_or(0);
        self.skip(count);
        u16::try_from(bits).unwrap_or(u16::MAX)
    }

    /// Number of bits taken so far.
    fn position(&self) -> usize {
        (self.at * 8).saturating_sub(self.held as usize)
    }

    /// Number of bits in the data.
    fn len(&self) -> usize {
        self.bytes.len().saturating_sub(SLACK) * 8
    }
}

/// A code: its length, and its bits left-aligned in 15 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Code {
    start: u16,
    len: u32,
    value: u8,
}

impl Code {
    /// Number of 15-bit patterns that begin with this code.
    fn span(self) -> usize {
        1 << (LONGEST - self.len)
    }
}

/// Decoding table: maps each bit pattern to a value and the length of its code.
struct HuffmanTable {
    first: Box<[u16; 1 << FIRST_BITS]>,
    /// Groups of [`SPREAD`] entries, one per entry of the first table that
    /// points here.
    second: Vec<u16>,
}

impl HuffmanTable {
    /// Reads the table of codes. The data begins at the next bit.
    fn read(bits: &mut HuffmanBits<'_>) -> Result<HuffmanTable, &'static str> {
        let mut codes = Vec::with_capacity(256);
        for value in 0..=u8::MAX {
            bits.refill();
            let len = u32::from(bits.take(4));
            if len > 0 {
                let start = bits.take(len) << (LONGEST - len);
                codes.push(Code { start, len, value });
            }
        }
        if bits.position() > bits.len() {
            return Err("ends inside its table of codes");
        }
        HuffmanTable::new(codes)
    }

    fn new(mut codes: Vec<Code>) -> Result<HuffmanTable, &'static str> {
        codes.sort_unstable();
        let mut end = 0;
        for code in &codes {
            // The codes must cover all 15-bit patterns, in order, without gap
            // or overlap.
            if usize::from(code.start) != end {
                return Err("has codes that are not a complete prefix code");
            }
            end += code.span();
        }
        if end != 1 << LONGEST {
            return Err("has codes that are not a complete prefix code");
        }
        let mut table = HuffmanTable {
            first: Box::new([0; 1 << FIRST_BITS]),
            second: Vec::new(),
        };
        for code in codes {
            table.add(code);
        }
        Ok(table)
    }

    fn add(&mut self, code: Code) {
        let meaning = u16::try_from(code.len << 8).unwrap_or(0) | u16::from(code.value);
        let start = usize::from(code.start);
        let at = start / SPREAD;
        if code.len <= FIRST_BITS {
            let place = self.first.get_mut(at..at + code.span() / SPREAD);
            place.unwrap_or_default().fill(meaning);
            return;
        }
        let Some(entry) = self.first.get_mut(at) else {
            return;
        };
        // The codes are sorted, so codes that share an entry follow each other.
        if *entry & LEADS_ON == 0 {
            let number = u16::try_from(self.second.len() / SPREAD).unwrap_or(0);
            *entry = LEADS_ON | number;
            self.second.resize(self.second.len() + SPREAD, 0);
        }
        let from = usize::from(*entry & !LEADS_ON) * SPREAD + start % SPREAD;
        let place = self.second.get_mut(from..from + code.span());
        place.unwrap_or_default().fill(meaning);
    }

    /// Reads the next code and returns its value.
    #[inline]
    fn next(&self, bits: &mut HuffmanBits<'_>) -> u8 {
        let pattern = (bits.next >> (64 - FIRST_BITS)) as usize;
        let mut meaning = self.first.get(pattern).copied().unwrap_or_default();
        if meaning & LEADS_ON != 0 {
            let rest = (bits.next >> (64 - LONGEST)) as usize % SPREAD;
            let at = usize::from(meaning & !LEADS_ON) * SPREAD + rest;
            meaning = self.second.get(at).copied().unwrap_or_default();
        }
        let [value, len] = meaning.to_le_bytes();
        bits.skip(u32::from(len));
        value
    }
}

/// Unpacks the Huffman stage. Returns at most 65,535 bytes.
///
/// # Errors
///
/// The reason: table or data is cut off, or the codes are no complete prefix
/// code.
pub(super) fn decode(packed: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut padded = Vec::with_capacity(packed.len() + SLACK);
    padded.extend_from_slice(packed);
    padded.resize(packed.len() + SLACK, 0);
    let mut bits = HuffmanBits::new(&padded);
    bits.refill();
    let len = usize::from(bits.take(16));
    let table = HuffmanTable::read(&mut bits)?;
    let mut bytes = vec![0; len];
    let (groups, rest) = bytes.as_chunks_mut::<AT_ONCE>();
    for group in groups {
        bits.refill();
        for place in group {
            *place = table.next(&mut bits);
        }
    }
    for place in rest {
        bits.refill();
        *place = table.next(&mut bits);
    }
    // One known writer omits zero bits at the end of the last code.
    let last = bytes.last().map_or(0, |value| table.len_of(*value));
    if len > 0 && bits.position() >= bits.len() + last.max(1) {
        return Err("ends inside its data");
    }
    Ok(bytes)
}

impl HuffmanTable {
    /// Length in bits of the code of a value that occurs.
    fn len_of(&self, value: u8) -> usize {
        let mut all = self.first.iter().chain(&self.second);
        let meaning =
            all.find(|meaning| **meaning & LEADS_ON == 0 && meaning.to_le_bytes()[0] == value);
        meaning.map_or(0, |meaning| usize::from(meaning.to_le_bytes()[1]))
    }
}

/// A bit writer, highest bit first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    held: u32,
    /// The bits that do not fill a byte yet, right-aligned.
    last: u32,
}

impl BitWriter {
    /// Appends up to 16 bits.
    fn put(&mut self, bits: u16, count: u32) {
        self.last = self.last << count | u32::from(bits);
        self.held += count;
        while self.held >= 8 {
            self.held -= 8;
            let [byte, ..] = (self.last >> self.held).to_le_bytes();
            self.bytes.push(byte);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.put(0, 8 - self.held);
        }
        self.bytes
    }
}

/// Returns for each byte value the length in bits of its optimal code of at
/// most [`LONGEST`] bits; 0 if the value does not occur.
fn lengths(bytes: &[u8]) -> [u32; 256] {
    let mut counts = [0_u64; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    // A code of a single value would not be complete.
    let missing = 2_usize.saturating_sub(counts.iter().filter(|count| **count > 0).count());
    let unused = counts.iter_mut().filter(|count| **count == 0);
    unused.take(missing).for_each(|count| *count = 1);
    loop {
        let lengths = lengths_of(&counts);
        if lengths.iter().all(|len| *len <= LONGEST) {
            return lengths;
        }
        for count in counts.iter_mut().filter(|count| **count > 0) {
            *count = count.div_ceil(2);
        }
    }
}

/// As [`lengths`], from the number of occurrences, without a limit of the
/// length.
fn lengths_of(counts: &[u64; 256]) -> [u32; 256] {
    // Builds the tree from its leaves: the two rarest nodes are joined again
    // and again.
    let mut parents: Vec<usize> = vec![0; counts.len()];
    let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = used
        .map(|(value, count)| Reverse((*count, value)))
        .collect();
    while let (Some(Reverse(one)), Some(Reverse(other))) = (heap.pop(), heap.pop()) {
        let parent = parents.len();
        parents.push(0);
        for (_, child) in [one, other] {
            if let Some(place) = parents.get_mut(child) {
                *place = parent;
            }
        }
        if heap.is_empty() {
            break;
        }
        heap.push(Reverse((one.0 + other.0, parent)));
    }
    let root = parents.len() - 1;
    let mut lengths = [0; 256];
    let used = lengths.iter_mut().zip(counts).enumerate();
    for (value, (len, _)) in used.filter(|(_, (_, count))| **count > 0) {
        let mut node = value;
        while node != root {
            node = parents.get(node).copied().unwrap_or(root);
            *len += 1;
        }
    }
    lengths
}

/// Packs at most 65,535 bytes; `None` if there are more.
pub(super) fn encode(bytes: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(bytes.len()).ok()?;
    let lengths = lengths(bytes);
    let mut order: Vec<(u32, usize)> = lengths.iter().copied().zip(0..).collect();
    order.retain(|(len, _)| *len > 0);
    order.sort_unstable();
    let mut codes = [(0_u16, 0_u32); 256];
    let mut start = 0_u32;
    for (len, value) in order {
        let code = u16::try_from(start >> (LONGEST - len)).unwrap_or_default();
        if let Some(place) = codes.get_mut(value) {
            *place = (code, len);
        }
        start += 1 << (LONGEST - len);
    }
    let mut writer = BitWriter::default();
    writer.put(len, 16);
    for (code, len) in codes {
        writer.put(u16::try_from(len).unwrap_or_default(), 4);
        writer.put(code, len);
    }
    for byte in bytes {
        let (code, len) = codes.get(usize::from(*byte)).copied().unwrap_or_default();
        writer.put(code, len);
    }
    Some(writer.finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A stage with codes as they are given.
    fn stage(codes: &[(u8, u16, u32)], len: u16, data: &[(u16, u32)]) -> Vec<u8> {
        let mut writer = BitWriter::default();
        writer.put(len, 16);
        for value in 0..=u8::MAX {
            let code = codes.iter().find(|(it, ..)| *it == value);
            let (_, bits, count) = code.copied().unwrap_or_default();
            writer.put(u16::try_from(count).unwrap(), 4);
            writer.put(bits, count);
        }
        for (bits, count) in data {
            writer.put(*bits, *count);
        }
        writer.finish()
    }

    #[test]
    fn codes_are_taken_as_they_are_given() {
        // Not canonical: the shortest code is the highest.
        let codes = [(b'a', 1, 1), (b'b', 0b01, 2), (b'c', 0b00, 2)];
        let packed = stage(&codes, 4, &[(1, 1), (1, 2), (0, 2), (1, 1)]);
        assert_eq!(decode(&packed).unwrap(), b"abca");
    }

    #[test]
    fn codes_of_any_length_are_found() {
        let mut codes: Vec<(u8, u16, u32)> =
            (1..=15).map(|len| (200 + len, 1, u32::from(len))).collect();
        codes.push((7, 0, 15));
        let data: Vec<(u16, u32)> = codes.iter().map(|(_, bits, len)| (*bits, *len)).collect();
        let expected: Vec<u8> = codes.iter().map(|(value, ..)| *value).collect();
        assert_eq!(decode(&stage(&codes, 16, &data)).unwrap(), expected);
    }

    #[test]
    fn an_invalid_prefix_code_is_refused() {
        let wrong = Err("has codes that are not a complete prefix code");
        for codes in [
            // Too few, too many, one that begins another, none, one.
            &[(1, 0, 2), (2, 1, 2), (3, 2, 2)][..],
            &[(1, 0, 1), (2, 1, 1), (3, 1, 1)],
            &[(1, 0, 1), (2, 1, 2), (3, 3, 2)],
            &[],
            &[(1, 0, 1)],
        ] {
            assert_eq!(decode(&stage(codes, 1, &[(0, 8)])), wrong, "{codes:?}");
        }
    }

    #[test]
    fn truncated_data_is_refused() {
        let codes = [(b'a', 1, 1), (b'b', 0b01, 2), (b'c', 0b00, 2)];
        let packed = stage(&codes, 40, &[(0, 2); 40]);
        assert!(decode(&packed).is_ok());
        assert_eq!(
            decode(&packed[..packed.len() - 1]),
            Err("ends inside its data")
        );
        assert_eq!(
            decode(&packed[..100]),
            Err("ends inside its table of codes")
        );
        assert!(decode(&[]).is_err());
    }

    #[test]
    fn rare_values_have_codes_of_fifteen_bits_at_most() {
        let mut bytes = Vec::new();
        let (mut one, mut other) = (1, 1);
        for value in 0..20 {
            bytes.extend(std::iter::repeat_n(value, one));
            (one, other) = (other, one + other);
        }
        bytes.truncate(60_000);
        assert_eq!(decode(&encode(&bytes).unwrap()).unwrap(), bytes);
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            alphabet in 0..255u8,
        ) {
            let bytes: Vec<u8> = bytes.iter().map(|byte| byte % (alphabet + 1)).collect();
            prop_assert_eq!(decode(&encode(&bytes).unwrap()).unwrap(), bytes);
        }

        #[test]
        fn any_bytes_are_read_or_refused(packed in prop::collection::vec(any::<u8>(), 0..2000)) {
            // Whatever comes, nothing is read behind the end.
            let _ = decode(&packed);
        }
    }
}
