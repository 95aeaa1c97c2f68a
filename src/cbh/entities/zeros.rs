//! Detection of the end of data in an entity file. A sparse file can be much
//! longer than its data, because a hole takes no space on disk.

use std::io;

use crate::storage::{ReadBuffer, Storage};

/// Block size for reading.
const BLOCK_BYTES: usize = 1 << 16;

/// Number of bytes at the start of a block that are tested first, because most
/// blocks with data show it there.
const PROBE_BYTES: usize = 64;

/// Number of empty blocks that may be damage between records: one megabyte.
const MOST_EMPTY: i64 = 16;

/// Returns where the data of a file end whose records end at `end`: there, or
/// at the start of its zeros if there are far more of them than of other data.
/// Zeros between records, which may be damage, are kept.
///
/// # Errors
///
/// Read errors of the storage.
pub(super) fn end_of_data(storage: &dyn Storage, end: u64) -> io::Result<u64> {
    let mut buffer = ReadBuffer::default();
    // Number of empty blocks less others, and where the file ends if it stays too high.
    let (mut surplus, mut run_begins, mut cut) = (0_i64, None, None);
    for at in (0..end).step_by(BLOCK_BYTES) {
        let left = (end - at).div_ceil(BLOCK_BYTES as u64);
        // The remaining blocks cannot make up for these.
        if i64::try_from(left).is_ok_and(|left| surplus > MOST_EMPTY + left) {
            break;
        }
        let len = usize::try_from(end - at).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
        let probe = storage.read_up_to(at, len.min(PROBE_BYTES), &mut buffer)?;
        if is_empty(probe) && is_empty(storage.read_up_to(at, len, &mut buffer)?) {
            surplus += 1;
            let begins = *run_begins.get_or_insert(at);
            if surplus > MOST_EMPTY {
                cut.get_or_insert(begins);
            }
        } else {
            surplus -= 1;
            run_begins = None;
        }
    }
    match cut.filter(|_| surplus > MOST_EMPTY) {
        Some(cut) => last_data_before(storage, cut, &mut buffer),
        None => Ok(end),
    }
}

/// Returns where the data of the block before `cut` end.
fn last_data_before(storage: &dyn Storage, cut: u64, buffer: &mut ReadBuffer) -> io::Result<u64> {
    let at = cut.saturating_sub(BLOCK_BYTES as u64);
    let block = storage.read_up_to(at, BLOCK_BYTES, buffer)?;
    let data = block.iter().rposition(|&byte| byte != 0);
    Ok(at + data.map_or(0, |last| last as u64 + 1))
}

fn is_empty(bytes: &[u8]) -> bool {
    static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    ZEROS.get(..bytes.len()) == Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    /// The end of data of a file of these blocks.
    fn end_of(blocks: &[(u8, usize)]) -> u64 {
        let blocks = blocks.iter();
        let bytes: Vec<u8> = blocks
            .map(|&(byte, count)| vec![byte; count * BLOCK_BYTES])
            .collect::<Vec<_>>()
            .concat();
        let end = bytes.len() as u64;
        end_of_data(&MemoryFile::from(bytes), end).unwrap()
    }

    #[test]
    fn data_end_where_most_of_the_file_is_zeros() {
        let block = BLOCK_BYTES as u64;
        assert_eq!(end_of(&[(1, 2), (0, 40)]), 2 * block);
        // Even with data at the end.
        assert_eq!(end_of(&[(1, 2), (0, 40), (1, 1)]), 2 * block);
        assert_eq!(end_of(&[(1, 2), (0, 4), (1, 1), (0, 40)]), 7 * block);
        assert_eq!(end_of(&[(0, 40)]), 0);
    }

    #[test]
    fn a_few_zeros_may_be_damage_and_are_kept() {
        for blocks in [
            &[(1, 40), (0, 40), (1, 2)][..],
            &[(1, 1), (0, 16), (1, 1)],
            &[(1, 1), (0, 16)],
            &[(1, 1), (0, 30), (1, 40)],
            &[],
        ] {
            let all: usize = blocks.iter().map(|(_, count)| count).sum();
            assert_eq!(end_of(blocks), (all * BLOCK_BYTES) as u64, "{blocks:?}");
        }
    }

    #[test]
    fn data_end_after_the_last_nonzero_byte() {
        let mut bytes = vec![0; 40 * BLOCK_BYTES];
        bytes[BLOCK_BYTES + 5] = 1;
        let end = bytes.len() as u64;
        let found = end_of_data(&MemoryFile::from(bytes), end).unwrap();
        assert_eq!(found, BLOCK_BYTES as u64 + 6);
    }
}
