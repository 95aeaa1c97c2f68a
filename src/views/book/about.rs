//! The files in the root, which are about the book as a whole.

use std::collections::BTreeSet;

use super::BookVolume;
use super::kept::Examined;
use crate::book::check::{Checked, check};
use crate::book::walk::Limits;
use crate::escape::{self, push_line};
use crate::fs::volume::Fault;
use crate::fs::{Error, Text};
use crate::game::Defect;

/// Lines of `warnings.txt`, at most.
const MOST_WARNINGS: usize = 10_000;

/// `README.txt`
pub(super) fn readme(volume: &BookVolume) -> String {
    let facts = volume.book.facts();
    let mut text = String::new();
    push_line(
        &mut text,
        format_args!("{}: {}", facts.stem, facts.format.name()),
    );
    if let Some(title) = &facts.title {
        push_line(&mut text, title);
    }
    text.push_str(
        "
tree/e4/c5/         the position after 1. e4 c5; uci/ is the same
line/e4 c5          the same as one name
fen/FEN/            any position: / of the FEN is :, blanks are _
unreachable/        positions that no line from the start reaches
export/             the whole book as PGN, EPD, TSV and Polyglot book

Each position has
position.fen        the position as FEN
board.txt           a picture of it, in letters
board.svg           a picture of it, with the moves as arrows
moves.tsv           the moves of the book, most games first
stats.json          all that the book says of it
line.pgn            the shortest line that leads there
book.pgn            what the book has from there, as one game
openings.pgn        the same as games that are not too long for Scid
e4 c5 Nf3           links to the positions after its moves

A position is one directory under fen/, whatever moves lead to it; any legal
move can be looked up. export/positions.tsv lists all positions. Numbers are
those of White and Black, whoever is to move. book.json says what the book
is, warnings.txt what is wrong with it. A position and its mirror images are
stored as one: \"positions\" in book.json counts what is stored, \"reached\" the
lines of export/positions.tsv.
",
    );
    text
}

/// `book.json`, with what an examination counted.
pub(super) fn json(volume: &BookVolume, checked: Option<Checked>) -> String {
    let all = volume
        .book
        .facts()
        .json(checked, volume.options.export_limit);
    escape::json(&format!("{all:#}\n"))
}

/// Result of reading the whole book.
#[derive(Clone, Debug)]
pub(super) struct Examination {
    /// `warnings.txt`
    pub(super) warnings: Text,
    /// What was counted; `None` of a book too large to be looked through by the
    /// way.
    pub(super) checked: Option<Checked>,
}

/// Looks for sources of games that are not found, and all that `cbfs check`
/// finds, a line each; of a book too large to be looked through by the way,
/// for what was met so far.
pub(super) fn examine(volume: &BookVolume) -> Result<Examination, Error> {
    let book = &*volume.book;
    let limit = volume.options.export_limit;
    let mut lines = BTreeSet::new();
    let mut text = String::new();
    let mut add = |line: String| {
        if lines.len() < MOST_WARNINGS && lines.insert(line.clone()) {
            push_line(&mut text, line);
        }
    };
    match volume.games.obstacles() {
        Ok(lines) => lines.into_iter().for_each(&mut add),
        Err(error) => add(error.to_string()),
    }
    let mut checked = None;
    if book.facts().pages > u64::from(limit) {
        let defects = book.defects().into_iter();
        defects.for_each(|defect| add(defect.to_string()));
        text += "The book was not looked through, being larger than --export-limit; `cbfs check` does that.\n";
    } else {
        let examined = look_through(volume)?;
        examined.defects.into_iter().for_each(&mut add);
        checked = Some(examined.checked);
        if lines.len() == MOST_WARNINGS {
            text += "There may be more; `cbfs check` tells all.\n";
        }
    }
    Ok(Examination {
        warnings: Text::from(text.into_bytes()),
        checked,
    })
}

/// Checks the book, unless an earlier mount did.
fn look_through(volume: &BookVolume) -> Result<Examined, Error> {
    if let Some(examined) = volume.kept.examined() {
        return Ok(examined);
    }
    let book = &*volume.book;
    let mut lines = BTreeSet::new();
    let mut defects = Vec::new();
    let mut note = |defect: Defect| {
        let line = defect.to_string();
        if lines.len() < MOST_WARNINGS && lines.insert(line.clone()) {
            defects.push(line);
        }
    };
    let limits = Limits::positions(volume.options.export_limit);
    let checked = check(book, limits, &|_| {}, &mut note)?;
    let examined = Examined { checked, defects };
    let kept = &volume.kept;
    kept.keep_examined(examined.clone(), book, &volume.options);
    Ok(examined)
}

/// As `.cbfs/defects.txt` tells it.
pub(super) fn fault(defect: &Defect) -> Fault {
    Fault {
        record: 0,
        file: defect.file,
        offset: defect.offset,
        line: defect.to_string(),
    }
}
