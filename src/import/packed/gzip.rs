//! All members of a gzip file, one after the other, as one text.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// As gzip(1) does, it passes over zeros behind a member: tapes and tar fill
/// their blocks with them.
pub(super) struct GzipDecoder<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipDecoder<R> {
    pub(super) fn new(source: R) -> GzipDecoder<R> {
        GzipDecoder {
            member: Some(GzDecoder::new(source)),
        }
    }
}

/// Whether anything but zeros follows, which are read.
fn has_more(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let available = source.fill_buf()?;
        let zeros = available.iter().take_while(|byte| **byte == 0).count();
        if zeros < available.len() || available.is_empty() {
            let has_more = !available.is_empty();
            source.consume(zeros);
            return Ok(has_more);
        }
        source.consume(zeros);
    }
}

impl<R: BufRead> Read for GzipDecoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.member.as_mut().filter(|_| !bytes.is_empty()) {
            let length = member.read(bytes)?;
            if length > 0 {
                return Ok(length);
            }
            let more = has_more(member.get_mut())?;
            let source = self.member.take().map(GzDecoder::into_inner);
            self.member = source.filter(|_| more).map(GzDecoder::new);
        }
        Ok(0)
    }
}
