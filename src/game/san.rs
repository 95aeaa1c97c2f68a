//! A move in short algebraic notation, as the tree keeps it.

/// Standard algebraic notation of one ply with its check or mate mark, such
/// as `Nf3`, `Qa1xb2#`, `exd8=N+`; a null move is `--`.
///
/// Seven bytes hold every one of them, so a tree of plies needs no other
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct San {
    bytes: [u8; San::MAX],
    len: u8,
}

impl San {
    /// The longest notation: `Qa1xb2#`.
    const MAX: usize = 7;

    /// The null move, `--`.
    pub const NULL: San = San {
        bytes: [b'-', b'-', 0, 0, 0, 0, 0],
        len: 2,
    };

    /// The empty notation, to [`push`](San::push) to.
    pub(super) const EMPTY: San = San {
        bytes: [0; San::MAX],
        len: 0,
    };

    /// Appends one ASCII byte; one that does not fit is left out, which the
    /// notation of a chess move never asks for.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.len)) {
            *place = byte;
            self.len += 1;
        }
    }

    /// The notation, ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The notation as a string.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}
