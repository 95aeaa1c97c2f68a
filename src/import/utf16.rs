//! UTF-16 into UTF-8, as it is read.

use std::io::{self, BufRead, ErrorKind, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

/// So many bytes, as of `[Event "`, tell UTF-16 without a mark from other texts.
const LOOKED_AT: usize = 16;

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    /// The order of a text's bytes, by its mark, or by every other byte being
    /// zero, as no other text has it; `None` if it is no UTF-16.
    pub(super) fn of(head: &[u8]) -> Option<Utf16> {
        match head {
            [0xff, 0xfe, ..] => return Some(Utf16::Little),
            [0xfe, 0xff, ..] => return Some(Utf16::Big),
            _ => {}
        }
        let units = || head.chunks_exact(2).take(LOOKED_AT / 2);
        let all = |low: usize| {
            units().count() > 1
                && units().all(|unit| {
                    let is_zero = |at: usize| unit.get(at) == Some(&0);
                    !is_zero(low) && is_zero(1 - low)
                })
        };
        if all(0) {
            return Some(Utf16::Little);
        }
        all(1).then_some(Utf16::Big)
    }

    fn encoding(self) -> &'static Encoding {
        match self {
            Utf16::Little => UTF_16LE,
            Utf16::Big => UTF_16BE,
        }
    }
}

/// Gives a text of UTF-16 as UTF-8, without its mark. What is no character is
/// an error: nothing is replaced.
pub(super) struct Utf16Reader<R> {
    source: R,
    decoder: Decoder,
    read: u64,
    /// What was decoded and not yet given, from `start` on.
    decoded: Vec<u8>,
    start: usize,
    is_finished: bool,
}

impl<R: BufRead> Utf16Reader<R> {
    pub(super) fn new(order: Utf16, source: R) -> Utf16Reader<R> {
        Utf16Reader {
            source,
            decoder: order.encoding().new_decoder_with_bom_removal(),
            read: 0,
            decoded: Vec::new(),
            start: 0,
            is_finished: false,
        }
    }

    fn decode_more(&mut self) -> io::Result<()> {
        let available = self.source.fill_buf()?;
        let is_last = available.is_empty();
        // Each unit comes to three bytes at most.
        let most = self
            .decoder
            .max_utf8_buffer_length_without_replacement(available.len());
        let most = most.ok_or(ErrorKind::OutOfMemory)?;
        self.decoded.clear();
        self.decoded.resize(most, 0);
        self.start = 0;
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(available, &mut self.decoded, is_last);
        self.decoded.truncate(written);
        self.source.consume(read);
        self.read += read as u64;
        self.is_finished = is_last;
        if let DecoderResult::Malformed(..) = result {
            let what = format!("no UTF-16 before offset {} of the text", self.read);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf16Reader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.start >= self.decoded.len() && !self.is_finished {
            self.decode_more()?;
        }
        let mut rest = self.decoded.get(self.start..).unwrap_or_default();
        let length = rest.read(bytes)?;
        self.start += length;
        Ok(length)
    }
}
