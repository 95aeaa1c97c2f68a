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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::book::kvetka::KvetkaOptions;
    use crate::book::kvetka::block::BLOCK_BYTES;
    use crate::book::{Book, SourceKind};

    /// The defects of the sample book after a change of one of its files.
    fn told(file: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<(&'static str, u64, String)> {
        let (folder, sample) = (tempfile::tempdir().unwrap(), Path::new("fixtures/book"));
        for name in ["kvetka.kin", "kvetka.ksf", "kvetka_0.kob", "kvetka_1.kob"] {
            fs::copy(sample.join(name), folder.path().join(name)).unwrap();
        }
        let path = folder.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
        let path = folder.path().join("kvetka.kin");
        let book = KvetkaBook::open(&path, KvetkaOptions::default()).unwrap();
        let mut told = Vec::new();
        let mut tell = |defect: Defect| told.push((defect.file, defect.offset, defect.what));
        book.check(&mut tell).unwrap();
        told
    }

    #[test]
    fn a_key_that_is_not_the_one_of_its_block_is_told() {
        assert_eq!(told("kvetka.kin", |_| ()), []);
        let found = told("kvetka.kin", |keys| keys[43] ^= 1);
        let what = "not the first key of block 1".to_owned();
        assert_eq!(found, [("kin", 22, what)]);
    }

    #[test]
    fn a_key_that_is_there_twice_is_told() {
        let found = told("kvetka_0.kob", |bytes| {
            let at = bytes.len() - BLOCK_BYTES;
            let elements = KvetkaBlock::new(&bytes[at..]);
            let elements: Vec<_> = elements.elements().flatten().collect();
            let (key, behind) = (*elements[0].key, at + elements[1].rest_offset);
            bytes[behind - key.len()..behind].copy_from_slice(&key);
        });
        let (file, _, what) = &found[0];
        assert_eq!(*file, "kob");
        assert!(what.starts_with("the key of an element is not after the one before it"));
    }

    #[test]
    fn a_game_beyond_those_of_its_source_is_told() {
        let path = Path::new("fixtures/book/kvetka.kin");
        let book = KvetkaBook::open(path, KvetkaOptions::default()).unwrap();
        let mut last = None;
        let mut visit = |scanned: crate::book::Scanned<'_>| {
            let record = scanned.record;
            last = last.max(record.sample.iter().chain(&record.last_here).max().copied());
            ControlFlow::Continue(())
        };
        book.scan(&mut visit, &mut |_| {}).unwrap();
        let GameReference { source, game } = last.unwrap();
        let of_games = |games| GameSource {
            kind: SourceKind::Pgn,
            is_bad: false,
            address: String::new(),
            games,
        };
        let count = |sources: Option<&[GameSource]>| {
            let mut told = 0;
            let mut look = |number, block: KvetkaBlock<'_>| {
                check_games(&book, number, block, sources, &mut |_| told += 1);
                ControlFlow::Continue(())
            };
            book.each_block(&mut look).unwrap();
            told
        };
        let mut sources = vec![of_games(u32::MAX); usize::from(source)];
        assert!(count(Some(&sources)) > 0);
        sources.push(of_games(game + 1));
        assert_eq!(count(Some(&sources)), 0);
        sources[usize::from(source)].games = game;
        assert!(count(Some(&sources)) > 0);
        assert_eq!(count(None), 0);
    }
}
