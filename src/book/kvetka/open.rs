//! Opens a book. It reads little, so the time does not depend on the size of
//! the book.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use super::block::{BLOCK_BYTES, KvetkaBlock};
use super::element::Layout;
use super::files::HOLDS;
use super::header;
use super::key::KEY_BYTES;
use super::kin::Kin;
use super::ksf::Ksf;
use super::strings::{ByteOrder, USUAL_PAGE};
use super::{KvetkaBook, KvetkaFiles, KvetkaOptions};
use crate::book::cache::PageCache;
use crate::book::defects::Defects;
use crate::book::{BookFacts, BookFormat, BookMember, Error};
use crate::game::Defect;
use crate::storage::{DiskFile, JoinedFiles, Storage};

/// Number of cached blocks: 16 MiB.
const CACHED_BLOCKS: usize = 8192;

/// Number of sources and of blocks whose strings decide the byte order.
const ASKED: usize = 16;

/// A function that opens a file.
type Open<'a> = &'a dyn Fn(&Path) -> Result<Box<dyn Storage>, Error>;

fn open_on_disk(path: &Path) -> Result<Box<dyn Storage>, Error> {
    match DiskFile::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(source) => Err(io(path)(source)),
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let file = path.to_path_buf();
    move |source| Error::Io {
        file: file.clone(),
        source,
    }
}

fn member(
    path: &Path,
    holds: &'static str,
    file: Option<&dyn Storage>,
) -> Result<BookMember, Error> {
    let bytes = file.map(Storage::len).transpose();
    Ok(BookMember {
        path: path.to_path_buf(),
        holds,
        bytes: bytes.map_err(io(path))?,
    })
}

impl KvetkaBook {
    /// Opens the book of the file `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], also for another type of book;
    /// [`Error::Missing`] if there is no `_0.kob`; [`Error::Malformed`] if it
    /// has no header; [`Error::Io`].
    pub fn open(path: &Path, options: KvetkaOptions) -> Result<KvetkaBook, Error> {
        KvetkaBook::open_with(KvetkaFiles::locate(path)?, options, &open_on_disk)
    }

    fn open_with(
        files: KvetkaFiles,
        options: KvetkaOptions,
        open: Open<'_>,
    ) -> Result<KvetkaBook, Error> {
        let first = files.positions.first().cloned().unwrap_or_default();
        let mut members = Vec::new();
        let mut parts = Vec::new();
        for path in &files.positions {
            let part = open(path)?;
            members.push(member(path, HOLDS[0], Some(part.as_ref()))?);
            parts.push(part);
        }
        let file = JoinedFiles::new(parts).map_err(io(&first))?;
        let header = header::read(&file, &first)?;
        let [(kin, has_kin), (ksf, has_ksf)] = files.others;
        let kin_file = has_kin.then(|| open(&kin)).transpose()?;
        let ksf_file = has_ksf.then(|| open(&ksf)).transpose()?;
        members.push(member(&kin, HOLDS[1], kin_file.as_deref())?);
        members.push(member(&ksf, HOLDS[2], ksf_file.as_deref())?);
        let begin = header.bytes as u64;
        let present = file.len().map_err(io(&first))?.saturating_sub(begin);
        let blocks = (present / BLOCK_BYTES as u64).min(header.blocks.into());
        let mut book = KvetkaBook {
            facts: BookFacts {
                format: BookFormat::Kvetka,
                stem: files.stem.to_string_lossy().into_owned(),
                title: None,
                members,
                pages: blocks,
                page_bytes: BLOCK_BYTES as u64,
                positions: None,
                games: None,
                header: header.fields,
            },
            paths: files.positions,
            others: [kin, ksf],
            file,
            begin,
            blocks,
            layout: Layout {
                has_games: header.has_games,
                order: ByteOrder::Big,
            },
            page: options.code_page.unwrap_or(USUAL_PAGE),
            cache: PageCache::new(CACHED_BLOCKS, BLOCK_BYTES),
            kin: None,
            index: OnceLock::new(),
            making: Mutex::default(),
            ksf: None,
            defects: Defects::default(),
        };
        book.note_lengths(present, header.blocks, files.stray.as_deref());
        book.take_ksf(ksf_file)?;
        book.take_kin(kin_file)?;
        book.layout.order = book.byte_order(header.caption.clone())?;
        let title = book.layout.order.decode(&header.caption);
        book.facts.title = (!title.is_empty()).then_some(title);
        Ok(book)
    }

    fn say(&self, file: &'static str, offset: u64, what: String) {
        self.defects.note(Defect { file, offset, what });
    }

    fn note_lengths(&self, present: u64, named: u32, stray: Option<&Path>) {
        let rest = present % BLOCK_BYTES as u64;
        let blocks = present / BLOCK_BYTES as u64;
        let counter = self.begin.saturating_sub(4);
        if blocks != u64::from(named) {
            let what = format!("the header names {named} blocks, {blocks} are there");
            self.say("kob", counter, what);
        }
        if rest > 0 {
            let (_, offset) = self.file.place(self.begin + present - rest);
            let what = format!("the file ends inside a block, {rest} bytes of it are there");
            self.say("kob", offset, what);
        }
        if let Some(stray) = stray {
            let name = stray.file_name().unwrap_or_default().to_string_lossy();
            let what = format!("{name} is left aside: no file has the number before it");
            self.say("kob", 0, what);
        }
    }

    fn take_ksf(&mut self, file: Option<Box<dyn Storage>>) -> Result<(), Error> {
        let Some(file) = file else {
            return Ok(());
        };
        let defects = &self.defects;
        let ksf = Ksf::open(file, &mut |defect| defects.note(defect));
        self.ksf = Some(ksf.map_err(|source| self.ksf_io(source))?);
        Ok(())
    }

    /// Uses the `.kin` if it can belong to the blocks. Each look-up checks its
    /// content.
    fn take_kin(&mut self, file: Option<Box<dyn Storage>>) -> Result<(), Error> {
        let Some(file) = file else {
            return Ok(());
        };
        let [path, _] = self.others.clone();
        let len = file.len().map_err(io(&path))?;
        if len % KEY_BYTES as u64 != 0 || len / (KEY_BYTES as u64) < self.blocks {
            let what = format!(
                "{len} bytes are not the first keys of {} blocks; it is ignored",
                self.blocks
            );
            self.say("kin", 0, what);
            return Ok(());
        }
        let kin = Kin::open(file, len).map_err(io(&path))?;
        for block in [0, self.blocks.saturating_sub(1)] {
            if block < self.blocks && !self.is_in_place(&kin, block)? {
                return Ok(());
            }
        }
        self.kin = Some(kin);
        Ok(())
    }

    /// Determines the byte order from title, addresses and first comments.
    fn byte_order(&self, caption: Vec<u8>) -> Result<ByteOrder, Error> {
        let mut strings = vec![caption];
        if let Some(ksf) = &self.ksf {
            let addresses = ksf.addresses(ASKED);
            strings.extend(addresses.map_err(|source| self.ksf_io(source))?);
        }
        self.each_block(&mut |number, block: KvetkaBlock<'_>| {
            for element in block.elements().flatten() {
                let comment = element.comment(self.layout.has_games);
                strings.extend(comment.map(<[u8]>::to_vec));
            }
            if number + 1 < ASKED as u64 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(ByteOrder::of(strings.iter().map(Vec::as_slice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;

    #[test]
    fn a_book_has_a_title_or_none_and_tells_its_byte_order_by_comments() {
        for (name, order) in [("kvetka", ByteOrder::Big), ("kvetka-le", ByteOrder::Little)] {
            let path = Path::new("fixtures/book").join(name).with_extension("kin");
            let mut book = KvetkaBook::open(&path, KvetkaOptions::default()).unwrap();
            let title = book.facts.title.take();
            assert!(title.is_some_and(|title| !title.is_empty()), "{name}");
            book.ksf = None;
            assert_eq!(book.byte_order(Vec::new()).unwrap(), order, "{name}");
        }
    }

    #[test]
    fn files_that_end_early_and_those_left_aside_are_told() {
        let (folder, sample) = (tempfile::tempdir().unwrap(), Path::new("fixtures/book"));
        let at = |name: &str| folder.path().join(name);
        for (name, less) in [("kvetka_0.kob", 0), ("kvetka_1.kob", 100)] {
            let bytes = std::fs::read(sample.join(name)).unwrap();
            std::fs::write(at(name), &bytes[..bytes.len() - less]).unwrap();
        }
        std::fs::write(at("kvetka_3.kob"), "").unwrap();
        let book = KvetkaBook::open(&at("kvetka_0.kob"), KvetkaOptions::default()).unwrap();
        let counter = book.begin - 4;
        let defects = book.defects().into_iter();
        let told: Vec<_> = defects.map(|defect| (defect.offset, defect.what)).collect();
        assert_eq!(
            told,
            [
                (
                    0,
                    "kvetka_3.kob is left aside: no file has the number before it"
                ),
                (counter, "the header names 3 blocks, 2 are there"),
                (
                    2048,
                    "the file ends inside a block, 1948 bytes of it are there"
                ),
            ]
            .map(|(offset, what)| (offset, what.to_owned()))
        );
    }

    #[test]
    fn first_keys_are_used_if_there_are_enough_and_those_at_both_ends_are_right() {
        let (folder, sample) = (tempfile::tempdir().unwrap(), Path::new("fixtures/book"));
        for name in ["kvetka_0.kob", "kvetka_1.kob"] {
            std::fs::copy(sample.join(name), folder.path().join(name)).unwrap();
        }
        let path = folder.path().join("kvetka.kin");
        let whole = std::fs::read(sample.join("kvetka.kin")).unwrap();
        let is_used = |keys: &[u8]| {
            std::fs::write(&path, keys).unwrap();
            let book = KvetkaBook::open(&path, KvetkaOptions::default()).unwrap();
            book.kin.is_some()
        };
        let lengths = [0, 65, 66].map(|length| is_used(&whole[..length]));
        assert_eq!((whole.len(), lengths), (66, [false, false, true]));
        let longer = [1, 22].map(|more| is_used(&[&whole[..], &vec![0; more]].concat()));
        assert_eq!(longer, [false, true]);
        let wrong = [0, 22, 44].map(|at| {
            let mut keys = whole.clone();
            keys[at] ^= 1;
            is_used(&keys)
        });
        assert_eq!(wrong, [false, true, false]);
    }
}
