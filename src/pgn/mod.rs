//! Portable Game Notation, as cbfs writes it.
//!
//! The text of a game is canonical: the same game, the same bytes. It keeps
//! to the export format of the PGN standard: tag pairs (the seven tag roster
//! first), an empty line, the moves in lines of at most 79 characters broken
//! at blanks only, the result, an empty line. What the standard has no tag
//! for stands in tags whose names begin with `Cbh`.
//!
//! | module | part of the text |
//! |---|---|
//! | [`tags`] | the tag pairs |
//! | [`movetext`] | moves, variations, the result |
//! | [`writer`] | words into lines |

mod movetext;
mod tags;
mod writer;

use crate::game::{Defect, Game};

/// Changes whenever the text of any game would: sizes remembered under
/// another version are of no use.
pub const RENDER_VERSION: u32 = 1;

/// Appends the PGN text of `game` to `out`, ending in an empty line. What
/// could not be read of it stands in a last comment.
pub fn encode(game: &Game, defects: &[Defect], out: &mut Vec<u8>) {
    tags::encode(game, out);
    out.push(b'\n');
    movetext::encode(game, defects, out);
    out.extend_from_slice(b"\n\n");
}
