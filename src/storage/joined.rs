//! Several files read as one.

use std::io;

use super::{ReadBuffer, Storage};

/// A concatenation of files. The offset of each file is fixed when they are
/// joined: a file that is truncated later leaves a gap and moves no other.
#[derive(Debug)]
pub struct JoinedFiles {
    parts: Vec<JoinedPart>,
    len: u64,
}

#[derive(Debug)]
struct JoinedPart {
    file: Box<dyn Storage>,
    start: u64,
    end: u64,
}

impl JoinedFiles {
    /// Joins files in this order.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub fn new(files: Vec<Box<dyn Storage>>) -> io::Result<JoinedFiles> {
        let mut parts = Vec::with_capacity(files.len());
        let mut len: u64 = 0;
        for file in files {
            let start = len;
            len = start
                .checked_add(file.len()?)
                .ok_or_else(|| io::Error::other("files too long to be joined"))?;
            let end = len;
            parts.push(JoinedPart { file, start, end });
        }
        Ok(JoinedFiles { parts, len })
    }

    /// Returns the index of the file that contains the byte at `offset`, and
    /// the offset in it. Offsets beyond the end belong to the last file.
    pub fn place(&self, offset: u64) -> (usize, u64) {
        let after = self.parts.partition_point(|part| part.start <= offset);
        let number = after.saturating_sub(1);
        let start = self.parts.get(number).map_or(0, |part| part.start);
        (number, offset - start)
    }
}

impl Storage for JoinedFiles {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn ensure_kept(&self, end: u64) -> io::Result<()> {
        for part in self.parts.iter().take_while(|part| part.start < end) {
            part.file.ensure_kept(end.min(part.end) - part.start)?;
        }
        Ok(())
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        let (number, within) = self.place(offset);
        let parts = self.parts.get(number..).unwrap_or_default();
        if let [only] = parts {
            return only.file.read_up_to(within, len, buffer);
        }
        if let [first, ..] = parts
            && len as u64 <= first.end.saturating_sub(offset)
        {
            return first.file.read_up_to(within, len, buffer);
        }
        let mut joined = Vec::new();
        for part in parts {
            let at = offset + joined.len() as u64;
            let wanted = (len - joined.len()) as u64;
            let wanted = wanted.min(part.end.saturating_sub(at));
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            let mut exact = ReadBuffer::default();
            let read = part.file.read_up_to(at - part.start, wanted, &mut exact)?;
            joined.extend_from_slice(read);
            if joined.len() == len || read.len() < wanted {
                break;
            }
        }
        Ok(buffer.put(joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    fn joined(lengths: &[usize]) -> (JoinedFiles, Vec<u8>) {
        let whole: Vec<u8> = (0..200).collect();
        let mut rest = whole.as_slice();
        let mut files: Vec<Box<dyn Storage>> = Vec::new();
        for &length in lengths {
            let (part, after) = rest.split_at(length);
            files.push(Box::new(MemoryFile::from(part.to_vec())));
            rest = after;
        }
        let len: usize = lengths.iter().sum();
        (JoinedFiles::new(files).unwrap(), whole[..len].to_vec())
    }

    #[test]
    fn files_are_read_as_if_they_were_one() {
        for lengths in [vec![40], vec![10, 0, 25, 5], vec![0, 0, 3], vec![]] {
            let (files, whole) = joined(&lengths);
            assert_eq!(files.len().unwrap(), whole.len() as u64);
            for from in 0..whole.len() + 3 {
                for len in 0..whole.len() + 3 {
                    let expected = whole.get(from..).unwrap_or_default();
                    let expected = &expected[..len.min(expected.len())];
                    let mut buffer = ReadBuffer::default();
                    let read = files.read_up_to(from as u64, len, &mut buffer).unwrap();
                    assert_eq!(read, expected, "{lengths:?} {from} {len}");
                }
            }
        }
    }

    #[test]
    fn a_byte_is_known_by_its_file() {
        let (files, _) = joined(&[10, 0, 25, 5]);
        assert_eq!(files.place(0), (0, 0));
        assert_eq!(files.place(9), (0, 9));
        assert_eq!(files.place(10), (2, 0));
        assert_eq!(files.place(39), (3, 4));
        assert_eq!(files.place(50), (3, 15));
    }

    #[test]
    fn a_file_that_was_cut_short_moves_no_other() {
        #[derive(Debug)]
        struct Short;
        impl Storage for Short {
            fn len(&self) -> io::Result<u64> {
                Ok(10)
            }
            fn read_up_to<'a>(
                &'a self,
                _offset: u64,
                _len: usize,
                buffer: &'a mut ReadBuffer,
            ) -> io::Result<&'a [u8]> {
                Ok(buffer.put(vec![1, 2]))
            }
        }
        let second = Box::new(MemoryFile::from(vec![7; 10]));
        let files = JoinedFiles::new(vec![Box::new(Short), second]).unwrap();
        let mut buffer = ReadBuffer::default();
        assert_eq!(files.read_up_to(0, 15, &mut buffer).unwrap(), [1, 2]);
        assert_eq!(files.read_up_to(12, 3, &mut buffer).unwrap(), [7, 7, 7]);
        assert!(files.read(0, 15, &mut buffer).is_err());
    }

    #[test]
    fn each_file_is_asked_for_its_part_of_what_is_to_be_kept() {
        /// A file of ten bytes, of which seven are left.
        #[derive(Debug)]
        struct Cut;
        impl Storage for Cut {
            fn len(&self) -> io::Result<u64> {
                Ok(10)
            }
            fn ensure_kept(&self, end: u64) -> io::Result<()> {
                assert!(end <= 10);
                match end {
                    0..=7 => Ok(()),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            fn read_up_to<'a>(
                &'a self,
                _offset: u64,
                _len: usize,
                _buffer: &'a mut ReadBuffer,
            ) -> io::Result<&'a [u8]> {
                Ok(&[])
            }
        }
        let first = Box::new(MemoryFile::from(vec![7; 5]));
        let last = Box::new(MemoryFile::from(vec![7; 5]));
        let files = JoinedFiles::new(vec![first, Box::new(Cut), last]).unwrap();
        let is_kept = [0, 5, 6, 12, 13, 15, 20, 99].map(|end| files.ensure_kept(end).is_ok());
        let wanted = [true, true, true, true, false, false, false, false];
        assert_eq!(is_kept, wanted);
    }
}
