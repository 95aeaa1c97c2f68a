//! Kvetka's opening books: `X_0.kob`, `X_1.kob` … with `X.kin` and `X.ksf`.
//!
//! | file | content |
//! |---|---|
//! | `files.rs` | locates the files |
//! | `header.rs` | the header at the start of the first `.kob` |
//! | `block.rs` | the blocks that follow, and the elements in them |
//! | `element.rs` | the data of an element |
//! | `key.rs` | the board of an element |
//! | `move_code.rs` | the moves of an element |
//! | `strings.rs` | titles, comments, names |
//! | `kin.rs` | from a key to a block |
//! | `index.rs` | from a key to a block, without the `.kin` |
//! | `ksf.rs` | the games that elements reference |
//! | `open.rs`, `find.rs`, `check.rs` | opening; look-up; checks that the files
//! agree |
//!
//! The `.kob` files are one stream of blocks, sorted by key. The `.kin` has the
//! first key of each block: a look-up is a binary search in it, and the read of
//! one block. If the `.kin` is missing or wrong, all blocks are read once and
//! their first keys kept in memory.

mod block;
mod check;
mod element;
mod files;
mod find;
mod header;
mod index;
mod key;
mod kin;
mod ksf;
mod move_code;
mod open;
mod strings;

pub use files::KvetkaFiles;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use encoding_rs::Encoding;

use self::block::{BLOCK_BYTES, KvetkaBlock};
use self::element::Layout;
use self::index::KinIndex;
use self::key::{board_of, key_of};
use self::kin::Kin;
use self::ksf::Ksf;
use super::cache::PageCache;
use super::defects::Defects;
use super::{
    Book, BookFacts, CanonicalBoard, Error, GameReference, GameSource, PositionRecord,
    ReferencedGame, Scanned, in_file,
};
use crate::bytes::Malformed;
use crate::game::Defect;
use crate::storage::{JoinedFiles, ReadBuffer, Storage};

/// Number of blocks per read when all are read.
const BLOCKS_AT_ONCE: u64 = 32;

/// Options for opening a book.
#[derive(Clone, Copy, Debug, Default)]
pub struct KvetkaOptions {
    /// Code page of names that are not UTF-8; the default is Windows-1251.
    pub code_page: Option<&'static Encoding>,
}

/// A Kvetka book, open for reading.
#[derive(Debug)]
pub struct KvetkaBook {
    facts: BookFacts,
    /// The `.kob` files, in order.
    paths: Vec<PathBuf>,
    others: [PathBuf; 2],
    file: JoinedFiles,
    /// Offset of the first block.
    begin: u64,
    blocks: u64,
    layout: Layout,
    page: &'static Encoding,
    cache: PageCache,
    kin: Option<Kin>,
    /// The index, made when it is first needed. It replaces the `.kin` from
    /// then on.
    index: OnceLock<KinIndex>,
    making: Mutex<()>,
    ksf: Option<Ksf>,
    defects: Defects,
}

impl KvetkaBook {
    fn io(&self, source: io::Error) -> Error {
        let file = self.paths.first().cloned().unwrap_or_default();
        Error::Io { file, source }
    }

    fn ksf_io(&self, source: io::Error) -> Error {
        let [_, file] = self.others.clone();
        Error::Io { file, source }
    }

    /// Offset of a block in the concatenation of the `.kob` files.
    fn offset_of(&self, block: u64) -> u64 {
        self.begin + block * BLOCK_BYTES as u64
    }

    /// The file that contains the byte of a block, by its name if there are several,
    /// and the offset in it.
    fn place(&self, block: u64, offset: usize) -> (Option<Cow<'_, str>>, u64) {
        let (number, offset) = self.file.place(self.offset_of(block) + offset as u64);
        let name = self.paths.get(number).and_then(|path| path.file_name());
        let name = name.filter(|_| self.paths.len() > 1);
        (name.map(OsStr::to_string_lossy), offset)
    }

    /// The defect of a block. If there are several `.kob` files, it names the
    /// file.
    fn in_block(&self, block: u64, Malformed { offset, what }: Malformed) -> Defect {
        let (name, offset) = self.place(block, offset);
        Defect {
            file: "kob",
            offset,
            what: in_file(what, name.as_deref()),
        }
    }

    fn note(&self, block: u64, malformed: Malformed) {
        self.defects.note(self.in_block(block, malformed));
    }

    /// Calls `look` with all blocks in order, until it breaks.
    fn each_block(
        &self,
        look: &mut dyn FnMut(u64, KvetkaBlock<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut buffer = ReadBuffer::default();
        let mut next = 0;
        while next < self.blocks {
            let count = BLOCKS_AT_ONCE.min(self.blocks - next);
            let bytes = usize::try_from(count).unwrap_or(0) * BLOCK_BYTES;
            let read = self.file.read(self.offset_of(next), bytes, &mut buffer);
            let read = read.map_err(|source| self.io(source))?;
            for (block, bytes) in (next..).zip(read.chunks_exact(BLOCK_BYTES)) {
                if look(block, KvetkaBlock::new(bytes)).is_break() {
                    return Ok(());
                }
            }
            next += count;
        }
        Ok(())
    }

    /// Calls `visit` with the readable records of a block, until it breaks.
    fn visit_block(
        &self,
        number: u64,
        block: KvetkaBlock<'_>,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> ControlFlow<()> {
        if let Some(fault) = block.fault() {
            defect(self.in_block(number, fault));
        }
        for element in block.elements() {
            let read = element.and_then(|element| match board_of(element.key) {
                Ok(board) => Ok((element, board)),
                Err(malformed) => Err(Malformed::new(element.offset, malformed.what)),
            });
            let (element, board) = match read {
                Ok(read) => read,
                Err(malformed) => {
                    defect(self.in_block(number, malformed));
                    continue;
                }
            };
            let (record, fault) = element.decode(self.layout);
            if let Some(fault) = fault {
                defect(self.in_block(number, fault));
            }
            let (name, offset) = self.place(number, element.offset);
            visit(Scanned {
                board: &board,
                record: &record,
                file: "kob",
                name: name.as_deref(),
                offset,
            })?;
        }
        ControlFlow::Continue(())
    }
}

impl Book for KvetkaBook {
    fn facts(&self) -> &BookFacts {
        &self.facts
    }

    fn defects(&self) -> Vec<Defect> {
        self.defects.list()
    }

    fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
        match key_of(board) {
            Some(key) => self.find_key(&key),
            None => Ok(None),
        }
    }

    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        self.each_block(&mut |number, block| self.visit_block(number, block, visit, defect))
    }

    fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        check::check(self, defect)
    }

    fn sources(&self) -> Result<Vec<GameSource>, Error> {
        let Some(ksf) = &self.ksf else {
            return Ok(Vec::new());
        };
        let sources = ksf.sources(self.layout.order, &mut |defect| self.defects.note(defect));
        sources.map_err(|source| self.ksf_io(source))
    }

    fn game(&self, reference: GameReference) -> Result<Option<ReferencedGame>, Error> {
        let Some(ksf) = &self.ksf else {
            return Ok(None);
        };
        let strings = (self.layout.order, self.page);
        let game = ksf.game(reference, strings, &mut |defect| self.defects.note(defect));
        game.map_err(|source| self.ksf_io(source))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn sample() -> KvetkaBook {
        let path = Path::new("fixtures/book/kvetka.kin");
        KvetkaBook::open(path, KvetkaOptions::default()).unwrap()
    }

    #[test]
    fn a_defect_of_a_block_is_told_at_its_place_in_one_of_the_files() {
        // The first file has a header of 50 bytes and one block.
        for (block, offset, file) in [(0, 55, "_0"), (1, 5, "_1"), (2, 2053, "_1")] {
            let wanted = Defect {
                file: "kob",
                offset,
                what: format!("why (in kvetka{file}.kob)"),
            };
            assert_eq!(sample().in_block(block, Malformed::new(5, "why")), wanted);
        }
    }

    #[test]
    fn blocks_are_read_in_order_until_it_is_enough() {
        for most in 1..=3 {
            let mut numbers = Vec::new();
            let mut look = |number, _: KvetkaBlock<'_>| {
                numbers.push(number);
                if numbers.len() == most {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            sample().each_block(&mut look).unwrap();
            assert!(numbers.into_iter().eq(0..most as u64));
        }
    }

    #[test]
    fn games_are_known_by_the_file_that_names_them() {
        let mut book = sample();
        let sources = book.sources().unwrap();
        assert_eq!(sources[0].address, "%currentdirkvetka.pgn");
        let games = sources[0].games;
        let known = |book: &KvetkaBook, game| {
            let game = book.game(GameReference { source: 0, game }).unwrap();
            game.is_some_and(|game| !game.white.is_empty())
        };
        assert!(games > 0 && (0..games).all(|game| known(&book, game)));
        assert!(!known(&book, games));
        book.ksf = None;
        assert!(book.sources().unwrap().is_empty() && !known(&book, 0));
    }

    #[test]
    fn a_record_is_told_where_its_element_begins() {
        let file = |name| std::fs::read(Path::new("fixtures/book").join(name)).unwrap();
        let files = ["kvetka_0.kob", "kvetka_1.kob"].map(file);
        let mut visit = |scanned: Scanned<'_>| {
            let at = usize::try_from(scanned.offset).unwrap();
            let key = key_of(scanned.board).unwrap();
            let number = usize::from(scanned.name == Some("kvetka_1.kob"));
            // Its length stands before the key, in one or two bytes.
            let behind = &files[number][at + 1..];
            let is_there = behind.starts_with(&key) || behind[1..].starts_with(&key);
            assert!(is_there, "{at}");
            let what = format!("odd (in kvetka_{number}.kob)");
            assert_eq!(scanned.defect("odd".to_owned()).what, what);
            ControlFlow::Continue(())
        };
        sample().scan(&mut visit, &mut |_| {}).unwrap();
    }
}
