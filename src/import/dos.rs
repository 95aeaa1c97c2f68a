//! The pages of DOS into UTF-8, as a text is read.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use oem_cp::code_table::DECODING_TABLE_CP_MAP;
use oem_cp::code_table_type::TableType;

/// A code page of DOS, such as 437 or 850.
#[derive(Clone, Copy)]
pub struct DosPage {
    number: u16,
    table: &'static TableType,
}

impl DosPage {
    /// The page of this label: `437`, `cp850`, `ibm852`.
    pub fn from_label(label: &str) -> Option<DosPage> {
        let label = label.to_ascii_lowercase();
        let number = ["cp", "ibm", "dos"]
            .iter()
            .find_map(|prefix| label.strip_prefix(prefix))
            .unwrap_or(&label);
        let number = number.trim_start_matches('-').parse().ok()?;
        let table = DECODING_TABLE_CP_MAP.get(&number)?;
        Some(DosPage { number, table })
    }
}

impl fmt::Display for DosPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} of DOS", self.number)
    }
}

impl fmt::Debug for DosPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DosPage").field(&self.number).finish()
    }
}

/// Gives a text as UTF-8: what is that already stays, all other bytes are of
/// the page. Lines stay lines.
pub(super) struct DosReader<R> {
    source: R,
    page: DosPage,
    /// Bytes that may begin a character of UTF-8.
    pending: Vec<u8>,
    decoded: String,
    start: usize,
    read: u64,
    is_over: bool,
    has_decoded: Arc<AtomicBool>,
}

impl<R: BufRead> DosReader<R> {
    /// `has_decoded` becomes true at the first byte that is of the page.
    pub(super) fn new(page: DosPage, source: R, has_decoded: Arc<AtomicBool>) -> DosReader<R> {
        DosReader {
            source,
            page,
            pending: Vec::new(),
            decoded: String::new(),
            start: 0,
            read: 0,
            is_over: false,
            has_decoded,
        }
    }

    fn decode_more(&mut self) -> io::Result<()> {
        let available = self.source.fill_buf()?;
        let len = available.len();
        self.is_over = len == 0;
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(available);
        self.source.consume(len);
        self.decoded.clear();
        self.start = 0;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (valid, bad, is_cut) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None, false),
                Err(error) => {
                    let (valid, bad) = rest
                        .split_at_checked(error.valid_up_to())
                        .unwrap_or((&[], rest));
                    let valid = std::str::from_utf8(valid).unwrap_or_default();
                    (valid, bad.split_first(), error.error_len().is_none())
                }
            };
            self.decoded.push_str(valid);
            let Some((first, after)) = bad else { break };
            if is_cut && !self.is_over {
                self.pending = rest.get(valid.len()..).unwrap_or_default().to_vec();
                break;
            }
            let Some(c) = self.page.table.decode_char_checked(*first) else {
                let at = self.read + (bytes.len() - after.len()) as u64;
                let what = format!(
                    "the byte {first:#04x} before offset {at} of the text is no character of {}",
                    self.page
                );
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            };
            self.decoded.push(c);
            self.has_decoded.store(true, Relaxed);
            rest = after;
        }
        self.read += (bytes.len() - self.pending.len()) as u64;
        Ok(())
    }
}

impl<R: BufRead> Read for DosReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.start >= self.decoded.len() && !self.is_over {
            self.decode_more()?;
        }
        let mut rest = self
            .decoded
            .as_bytes()
            .get(self.start..)
            .unwrap_or_default();
        let length = rest.read(bytes)?;
        self.start += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(label: &str, bytes: &[u8], at_once: usize) -> io::Result<String> {
        let page = DosPage::from_label(label).unwrap();
        let source = BufReader::with_capacity(at_once, bytes);
        let mut text = String::new();
        DosReader::new(page, source, Arc::default()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn bytes_of_dos_become_letters_and_utf_8_stays() {
        let text = b"M\x81ller, K\x94ln, Wei\xe1, H\xc3\xbcbner \xe2\x82";
        for at_once in [1, 2, 3, 100] {
            let western = read("437", text, at_once).unwrap();
            assert_eq!(western, "Müller, Köln, Weiß, Hübner Γé");
        }
        assert_eq!(read("cp850", b"\x9b \x9d", 1).unwrap(), "ø Ø");
        assert_eq!(read("IBM852", b"Rados\x88aw", 9).unwrap(), "Radosław");
        assert!(DosPage::from_label("12").is_none());
    }

    #[test]
    fn a_byte_that_the_page_has_not_is_an_error() {
        let error = read("857", b"ab\xe7c", 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(
            error.to_string().contains("0xe7 before offset 3"),
            "{error}"
        );
    }
}
