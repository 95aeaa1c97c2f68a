//! The letters that languages have for pieces.

use std::borrow::Cow;

use super::words::is_castling;

/// Piece letters: those of king, queen, rook, bishop, knight, in each way
/// they are written.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) name: &'static str,
    letters: [&'static [&'static str]; 5],
    /// The letters of pawns, which need none.
    pawns: &'static [&'static str],
}

pub(super) const ENGLISH: [u8; 5] = *b"KQRBN";

pub(super) const LANGUAGES: [Language; 22] = [
    language(
        "figurines",
        [
            &["♔", "♚"],
            &["♕", "♛"],
            &["♖", "♜"],
            &["♗", "♝"],
            &["♘", "♞"],
        ],
    ),
    language("German letters", [&["K"], &["D"], &["T"], &["L"], &["S"]]),
    language("French letters", [&["R"], &["D"], &["T"], &["F"], &["C"]]),
    language(
        "Spanish or Italian letters",
        [&["R"], &["D"], &["T"], &["A"], &["C"]],
    ),
    language(
        "Portuguese letters",
        [&["R"], &["D"], &["T"], &["B"], &["C"]],
    ),
    language("Dutch letters", [&["K"], &["D"], &["T"], &["L"], &["P"]]),
    language(
        "Russian letters",
        [&["Кр", "КР", "Kp"], &["Ф"], &["Л"], &["С"], &["К"]],
    ),
    language("Polish letters", [&["K"], &["H"], &["W"], &["G"], &["S"]]),
    language("Czech letters", [&["K"], &["D"], &["V"], &["S"], &["J"]]),
    language(
        "Hungarian letters",
        [&["K"], &["V"], &["B"], &["F"], &["H"]],
    ),
    language("Finnish letters", [&["K"], &["D"], &["T"], &["L"], &["R"]]),
    language("Romanian letters", [&["R"], &["D"], &["T"], &["N"], &["C"]]),
    language(
        "Ukrainian letters",
        [&["Кр"], &["Ф"], &["Т"], &["С"], &["К"]],
    ),
    language("Estonian letters", [&["K"], &["L"], &["V"], &["O"], &["R"]]),
    language(
        "Icelandic letters",
        [&["K"], &["D"], &["H"], &["B"], &["R"]],
    ),
    language("Turkish letters", [&["Ş"], &["V"], &["K"], &["F"], &["A"]]),
    language("Greek letters", [&["Ρ"], &["Β"], &["Π"], &["Α"], &["Ι"]]),
    language(
        "Bulgarian letters",
        [&["Ц"], &["Д"], &["Т"], &["О"], &["К"]],
    ),
    language("Serbian letters", [&["К"], &["Д"], &["Т"], &["Л"], &["С"]]),
    language("Latvian letters", [&["K"], &["D"], &["T"], &["L"], &["Z"]]),
    language(
        "Lithuanian letters",
        [&["K"], &["V"], &["B"], &["R"], &["Ž"]],
    ),
    Language {
        name: "letters for pawns, too",
        letters: [&["K"], &["Q"], &["R"], &["B"], &["N"]],
        pawns: &["P"],
    },
];

const fn language(name: &'static str, letters: [&'static [&'static str]; 5]) -> Language {
    Language {
        name,
        letters,
        pawns: &["♙", "♟"],
    }
}

impl Language {
    /// A move with English letters; `None` if it has letters that the
    /// language has not.
    pub(super) fn in_english<'w>(&self, word: &'w [u8]) -> Option<Cow<'w, [u8]>> {
        if is_castling(word) {
            return Some(Cow::Borrowed(word));
        }
        for (ways, english) in self.letters.iter().zip(ENGLISH) {
            let rest = ways
                .iter()
                .find_map(|way| word.strip_prefix(way.as_bytes()));
            if let Some(rest) = rest {
                return Some([&[english], rest].concat().into());
            }
        }
        if word.first().is_some_and(|first| ENGLISH.contains(first)) {
            return None;
        }
        let pawn = self
            .pawns
            .iter()
            .find_map(|pawn| word.strip_prefix(pawn.as_bytes()));
        Some(self.promotion_in_english(pawn.unwrap_or(word)))
    }

    /// `e8=D+` as `e8=Q+`.
    fn promotion_in_english<'w>(&self, word: &'w [u8]) -> Cow<'w, [u8]> {
        let is_mark = |byte: &&u8| matches!(byte, b'+' | b'#' | b')');
        let marks = word.iter().rev().take_while(is_mark).count();
        let (body, marks) = word.split_at(word.len() - marks);
        for (ways, english) in self.letters.iter().zip(ENGLISH) {
            let rest = ways
                .iter()
                .find_map(|way| body.strip_suffix(way.as_bytes()));
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                return [rest, &[english], marks].concat().into();
            }
        }
        Cow::Borrowed(word)
    }
}
