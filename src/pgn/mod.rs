//! Portable Game Notation, as cbfs writes and reads it.
//!
//! The text of a game is canonical: the same game, the same bytes. It keeps
//! to the export format of the PGN standard: tag pairs (the seven tag roster
//! first), an empty line, the moves in lines of at most 79 characters broken
//! at blanks only, the result, an empty line. What the standard has no tag
//! for stands in tags whose names begin with `Cbh`.
//!
//! For a save, the reader is strict: it refuses every text that it does not fully
//! understand, with line, column, what was found and what was expected. For an import,
//! it also accepts the deviations of [`lenient`].
//!
//! | module | part of the text |
//! |---|---|
//! | [`tags`] | the tag pairs, both ways |
//! | [`movetext`] | moves, variations, the result |
//! | [`private_tags`] | what tags say of all remarks |
//! | [`comment`] | texts about moves, in braces |
//! | [`command`] | other remarks, as `[%…]` commands in comments |
//! | [`exact`] | what commands of other programs do not say, in tags |
//! | [`writer`] | words into lines |
//! | [`page`] | bytes into characters |
//! | [`place`], [`error`] | line and column, and what is wrong there |
//! | [`lexer`], [`braces`] | text into tokens |
//! | [`notation`] | words into moves |
//! | [`numbers`] | move numbers, held against the moves |
//! | [`remarks`] | comments and NAGs into remarks |
//! | [`decode`](mod@decode) | tokens into games |
//! | [`lenient`] | what the reader refuses and an import understands |
//! | [`stream`] | texts of any size into games |

mod braces;
mod command;
mod comment;
mod decode;
mod error;
mod exact;
mod lenient;
mod lexer;
mod long_words;
mod movetext;
mod notation;
mod numbers;
mod page;
mod permit;
mod place;
mod private_tags;
mod remarks;
mod stream;
mod tags;
mod writer;

pub use decode::{END_OF_ONE_GAME, GameTexts, decode, decode_with_liberties};
pub use error::Error;
pub use lenient::{Liberty, VariantName, article_of};
pub(crate) use movetext::append_decimal;
pub use page::EightBitPage;
pub use permit::Permit;
pub use stream::{
    BAD_GAME, BATCH_BYTES, Extent, GamePart, InPage, Prepared, Section, Sections, Skipped, Spot,
    Trust, for_each_game_in_order, for_each_game_of_short,
};
pub(crate) use tags::roman;
pub use tags::{EventPart, TagSink, append_round};

use crate::game::{Defect, Game, Position};
use notation::Notation;
use private_tags::PrivateTags;
use shakmaty::Move;

/// Changes whenever the text of any game would: sizes remembered under
/// another version are of no use.
pub const RENDER_VERSION: u32 = 10;

/// The move that a word means in a position, in any notation that PGN is written
/// with; `Some(None)` is a null move. `None` if it means none, or several.
pub fn parse_move(position: &Position, word: &[u8]) -> Option<Option<Move>> {
    Notation::parse(word)?.find(position).ok()
}

/// Appends the PGN text of `game` to `out`, ending in an empty line. What
/// could not be read of it stands in a last comment.
///
/// # Examples
///
/// ```
/// let game = cbfs::pgn::decode(b"1. e4 e5 (1... c5) 2. Nf3 *")?;
/// let mut text = Vec::new();
/// cbfs::pgn::encode(&game, &[], &mut text);
/// let text = String::from_utf8(text).expect("PGN is UTF-8");
/// assert!(text.ends_with("\n1. e4 e5 (1... c5) 2. Nf3 *\n\n"));
/// # Ok::<(), cbfs::pgn::Error>(())
/// ```
pub fn encode(game: &Game, defects: &[Defect], out: &mut Vec<u8>) {
    encode_told(game, &PrivateTags::of(game), defects, None, out);
}

/// As [`encode`], without what only cbfs reads: tags and commands of its own,
/// and what could not be read. A game is not to be saved from such a text.
pub fn encode_clean(game: &Game, out: &mut Vec<u8>) {
    encode_told(game, &PrivateTags::nothing(), &[], None, out);
}

/// As [`encode_clean`] if the text is to be clean, else as [`encode`].
pub fn encode_as(is_clean: bool, game: &Game, defects: &[Defect], out: &mut Vec<u8>) {
    if is_clean {
        encode_clean(game, out);
    } else {
        encode(game, defects, out);
    }
}

/// As [`encode_as`], in parts: gives the tags to `sink`, and appends the moves to
/// `out`, without an end of the last line.
pub fn encode_parts(
    is_clean: bool,
    game: &Game,
    defects: &[Defect],
    sink: &mut impl TagSink,
    out: &mut Vec<u8>,
) {
    let (private, defects) = told(is_clean, game, defects);
    tags::give(game, &private, sink);
    movetext::encode(game, &private, defects, out);
}

/// Encodes games one after the other, faster where they are of one event.
#[derive(Debug)]
pub struct Encoder {
    is_clean: bool,
    event: tags::EventLines,
}

impl Encoder {
    /// Texts are to be as of [`encode_as`].
    pub fn new(is_clean: bool) -> Encoder {
        Encoder {
            is_clean,
            event: tags::EventLines::default(),
        }
    }

    /// As [`encode_as`].
    pub fn encode(&mut self, game: &Game, defects: &[Defect], out: &mut Vec<u8>) {
        let (private, defects) = told(self.is_clean, game, defects);
        encode_told(game, &private, defects, Some(&mut self.event), out);
    }
}

/// The private tags of a game and what is told of its defects.
fn told<'d>(is_clean: bool, game: &Game, defects: &'d [Defect]) -> (PrivateTags, &'d [Defect]) {
    if is_clean {
        (PrivateTags::nothing(), &[])
    } else {
        (PrivateTags::of(game), defects)
    }
}

fn encode_told(
    game: &Game,
    private: &PrivateTags,
    defects: &[Defect],
    event: Option<&mut tags::EventLines>,
    out: &mut Vec<u8>,
) {
    tags::encode(game, private, event, out);
    out.push(b'\n');
    movetext::encode(game, private, defects, out);
    out.extend_from_slice(b"\n\n");
}
