//! Long texts that are written once and then read.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;

/// A text in a file without a name: it needs no memory, and nothing is left of it,
/// however the program ends.
#[derive(Debug)]
pub struct Spool {
    file: File,
    bytes: u64,
}

impl Spool {
    /// Begins a text.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn begin() -> io::Result<BufWriter<File>> {
        Ok(BufWriter::with_capacity(1 << 16, tempfile::tempfile()?))
    }

    /// The text that was written.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn end(mut writer: BufWriter<File>) -> io::Result<Spool> {
        writer.flush()?;
        let bytes = writer.stream_position()?;
        let (file, _) = writer.into_parts();
        Ok(Spool { file, bytes })
    }

    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Up to `length` bytes from `offset` on; fewer at the end only.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn read(&self, offset: u64, length: u32) -> io::Result<Vec<u8>> {
        let wanted = self.bytes.saturating_sub(offset).min(u64::from(length));
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    ///
    /// Those of the file; [`io::ErrorKind::UnexpectedEof`] behind its end.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_pieces() {
        let mut text = Vec::new();
        for number in 0..50_000 {
            writeln!(text, "{number}").unwrap();
        }
        let mut out = Spool::begin().unwrap();
        out.write_all(&text).unwrap();
        let spool = Spool::end(out).unwrap();
        assert_eq!(spool.bytes(), text.len() as u64);
        for start in [0, 77_777, text.len() - 3] {
            let end = text.len().min(start + 10_000);
            assert_eq!(spool.read(start as u64, 10_000).unwrap(), text[start..end]);
        }
        assert!(spool.read(spool.bytes(), 10).unwrap().is_empty());
        assert!(spool.read(u64::MAX, 10).unwrap().is_empty());
        assert!(spool.read_exact_at(&mut [0; 4], spool.bytes() - 3).is_err());
    }
}
