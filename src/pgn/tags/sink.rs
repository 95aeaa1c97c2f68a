//! Where the tags of a game go: into its PGN, or wherever else they are wanted.

use std::collections::HashSet;

use super::append_escaped;

/// Takes the tags of a game, in order.
pub trait TagSink {
    /// Begins the tag with this name.
    fn begin(&mut self, name: &str);

    /// Where the value of the tag is written.
    fn value(&mut self) -> &mut Vec<u8>;

    /// Ends the tag.
    fn end(&mut self);

    /// Appends text to a value, with the escapes that the sink needs.
    fn append(text: &str, value: &mut Vec<u8>);

    /// The names of all tags so far.
    fn names(&self) -> HashSet<Vec<u8>>;
}

/// Text, in which each tag has a line.
pub(super) struct TagLines<'o> {
    out: &'o mut Vec<u8>,
    /// Where the first line begins.
    first: usize,
}

impl<'o> TagLines<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> TagLines<'o> {
        let first = out.len();
        TagLines { out, first }
    }
}

impl TagSink for TagLines<'_> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so a name that is known costs a copy of fixed size"
    )]
    fn begin(&mut self, name: &str) {
        self.out.push(b'[');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b" \"");
    }

    #[inline]
    fn value(&mut self) -> &mut Vec<u8> {
        self.out
    }

    #[inline]
    fn end(&mut self) {
        self.out.extend_from_slice(b"\"]\n");
    }

    #[inline]
    fn append(text: &str, value: &mut Vec<u8>) {
        append_escaped(text, value);
    }

    fn names(&self) -> HashSet<Vec<u8>> {
        let text = self.out.get(self.first..).unwrap_or_default();
        let names = text.split(|&byte| byte == b'\n').filter_map(|line| {
            let name = line.strip_prefix(b"[")?;
            name.split(|&byte| byte == b' ').next()
        });
        names.map(<[u8]>::to_vec).collect()
    }
}
