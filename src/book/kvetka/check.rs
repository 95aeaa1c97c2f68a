//! Checks that the files of a Kvetka book agree with each other.

use std::ops::ControlFlow;

use super::KvetkaBook;
use super::block::KvetkaBlock;
use super::key::{KvetkaKey, board_of, key_of};
use crate::book::{CanonicalBoard, Error, GameReference, GameSource};
use crate::bytes::Malformed;
use crate::game::Defect;

/// Checks all blocks, the `.kin` and the `.ksf`.
pub(super) fn check(book: &KvetkaBook, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
    let sources = match &book.ksf {
        Some(ksf) => {
            let sources = ksf.check(book.layout.order, defect);
            Some(sources.map_err(|source| book.ksf_io(source))?)
        }
        None => None,
    };
    let mut last = None;
    let mut failed = None;
    book.each_block(&mut |number, block| {
        if let Err(error) = check_kin(book, number, block, defect) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        check_keys(book, number, block, &mut last, defect);
        check_games(book, number, block, sources.as_deref(), defect);
        book.visit_block(number, block, &mut |_| ControlFlow::Continue(()), defect)
    })?;
    failed.map_or(Ok(()), Err)
}

/// Checks that the `.kin` has the first key of a block.
fn check_kin(
    book: &KvetkaBook,
    number: u64,
    block: KvetkaBlock<'_>,
    defect: &mut dyn FnMut(Defect),
) -> Result<(), Error> {
    let Some((kin, first)) = book.kin.as_ref().zip(block.first_key()) else {
        return Ok(());
    };
    let said = kin.key(number).map_err(|source| book.io(source))?;
    if said.as_ref() != Some(first) {
        defect(Defect {
            file: "kin",
            offset: number * 22,
            what: format!("not the first key of block {number}"),
        });
    }
    Ok(())
}

/// Checks that the keys ascend and are normalized, so that look-ups find them.
fn check_keys(
    book: &KvetkaBook,
    number: u64,
    block: KvetkaBlock<'_>,
    last: &mut Option<KvetkaKey>,
    defect: &mut dyn FnMut(Defect),
) {
    for element in block.elements().flatten() {
        let mut say = |what: &str| {
            defect(book.in_block(number, Malformed::new(element.offset, what)));
        };
        if last.as_ref() >= Some(element.key) {
            say("the key of an element is not after the one before it");
        }
        *last = Some(*element.key);
        let Ok(board) = board_of(element.key) else {
            continue;
        };
        let looked_for = CanonicalBoard::of(&board.to_position());
        if looked_for.and_then(|board| key_of(&board)).as_ref() != Some(element.key) {
            say("the board is not normalized, so that no look-up finds it");
        }
    }
}

/// Checks that the games of the elements exist.
fn check_games(
    book: &KvetkaBook,
    number: u64,
    block: KvetkaBlock<'_>,
    sources: Option<&[GameSource]>,
    defect: &mut dyn FnMut(Defect),
) {
    // Without the `.ksf`, elements still reference games.
    let Some(sources) = sources else {
        return;
    };
    let is_there = |reference: &GameReference| {
        let source = sources.get(usize::from(reference.source));
        source.is_some_and(|source| reference.game < source.games)
    };
    for element in block.elements().flatten() {
        let (record, _) = element.decode(book.layout);
        let named = record.sample.iter().chain(&record.last_here);
        for GameReference { source, game } in named.filter(|reference| !is_there(reference)) {
            let what = format!("refers to game {game} of source {source}, which does not exist");
            defect(book.in_block(number, Malformed::new(element.offset, what)));
        }
    }
}
