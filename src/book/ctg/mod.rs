//! ChessBase's opening books: `X.ctg` with `X.cto` and `X.ctb`.
//!
//! | file | content |
//! |---|---|
//! | `files.rs` | locates the files |
//! | `header.rs` | the first page of the `.ctg` |
//! | `page.rs` | the other pages, and the records on them |
//! | `signature.rs` | the board of a record |
//! | `opcode.rs` | the moves of a record |
//! | `hash.rs` | the hash of a signature |
//! | `directory.rs` | `.ctb` and `.cto`: from a hash to a page |
//! | `table.rs` | `.ctb` and `.cto` in memory, or read in pieces |
//! | `index.rs` | from a hash to pages, without the directory |
//! | `check.rs` | checks that the files agree |
//!
//! The book is a hash file of the classic UNIX dbm kind. The `.ctb` leads from
//! the bits of a hash to a leaf, and the `.cto` from the leaf to a page. A
//! position is on that page or not in the book. If the `.ctb` is missing or
//! wrong, the `.cto` alone suffices, since only leaves have pages. If that is
//! missing or wrong, too, all pages are read once to make an index.

mod check;
mod directory;
mod files;
mod hash;
mod header;
mod index;
mod opcode;
mod page;
mod signature;
mod table;

pub use files::CtgFiles;

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use self::directory::{Bitmap, Entries, LeafPage, nodes};
use self::files::HOLDS;
use self::hash::hash;
use self::index::PageIndex;
use self::page::{CtgPage, PAGE_BYTES};
use self::signature::Signature;
use self::table::CtgTable;
use super::cache::PageCache;
use super::defects::Defects;
use super::{
    Book, BookFacts, BookFormat, BookMember, CanonicalBoard, Error, PositionRecord, Scanned,
};
use crate::bytes::Malformed;
use crate::game::Defect;
use crate::storage::{DiskFile, ReadBuffer, Storage};

/// Number of cached pages: 16 MiB.
const CACHED_PAGES: usize = 4096;

/// Maximum number of pages of a book that is indexed: 4 GiB.
const MAX_INDEXED_PAGES: u64 = 1 << 20;

/// A CTG book, open for reading.
#[derive(Debug)]
pub struct CtgBook {
    facts: BookFacts,
    path: PathBuf,
    file: Box<dyn Storage>,
    pages: u64,
    cache: PageCache,
    bitmap: Option<Bitmap>,
    entries: Option<Entries>,
    /// The index, made when it is first needed.
    index: Mutex<Option<Arc<PageIndex>>>,
    defects: Defects,
}

/// The result of a look-up in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A page, and its node.
    Page {
        page: u64,
        node: u64,
        /// Whether `.ctb` and `.cto` agree, as far as they exist.
        is_sound: bool,
    },
    /// A leaf without a page. Books of ChessBase have none.
    Nowhere,
    /// There is no directory, or its entries are missing or wrong.
    Unknown,
}

impl CtgBook {
    /// Opens the book of the file `path`. It reads little, so the time does not
    /// depend on the size of the book.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`]; [`Error::Missing`] if there is no `.ctg`;
    /// [`Error::Malformed`] if the `.ctg` has no header; [`Error::Io`].
    pub fn open(path: &Path) -> Result<CtgBook, Error> {
        CtgBook::open_files(&CtgFiles::locate(path)?)
    }

    fn open_files(files: &CtgFiles) -> Result<CtgBook, Error> {
        let open = |(path, is_there): &(PathBuf, bool)| -> Result<Option<Box<dyn Storage>>, Error> {
            if !is_there {
                return Ok(None);
            }
            match DiskFile::open(path) {
                Ok(file) => Ok(Some(Box::new(file))),
                Err(source) => Err(Error::Io {
                    file: path.clone(),
                    source,
                }),
            }
        };
        let [positions, entries, bitmap] = &files.paths;
        let opened = [open(positions)?, open(entries)?, open(bitmap)?];
        CtgBook::from_files(files, opened)
    }

    /// Opens the book with the files `[.ctg, .cto, .ctb]`.
    fn from_files(
        files: &CtgFiles,
        opened: [Option<Box<dyn Storage>>; 3],
    ) -> Result<CtgBook, Error> {
        let [(path, _), (entries_path, _), (bitmap_path, _)] = files.paths.clone();
        let [file, entries, bitmap] = opened;
        let Some(file) = file else {
            return Err(Error::Missing {
                file: path,
                holds: HOLDS[0],
            });
        };
        let defects = Defects::default();
        let io = |path: &Path| {
            let file = path.to_path_buf();
            move |source| Error::Io { file, source }
        };
        let bytes = file.len().map_err(io(&path))?;
        let Some(pages) = (bytes / PAGE_BYTES as u64).checked_sub(1) else {
            return Err(Error::Malformed {
                file: path,
                offset: 0,
                what: format!("a file of {bytes} bytes has no header page and is no book"),
            });
        };
        let table = |file: Option<Box<dyn Storage>>| file.map(CtgTable::open).transpose();
        let entries = table(entries).map_err(io(&entries_path))?;
        let bitmap = table(bitmap).map_err(io(&bitmap_path))?;
        let lengths = [
            Some(bytes),
            entries.as_ref().map(CtgTable::len),
            bitmap.as_ref().map(CtgTable::len),
        ];
        let members = files.paths.iter().zip(HOLDS).zip(lengths);
        let members = members.map(|(((path, _), holds), bytes)| BookMember {
            path: path.clone(),
            holds,
            bytes,
        });
        let entries = entries.map(|table| Entries::open(table, pages));
        let entries = entries.transpose().map_err(io(&entries_path))?;
        let bitmap = bitmap.map(Bitmap::open).transpose();
        let bitmap = bitmap.map_err(io(&bitmap_path))?;
        let mut facts = BookFacts {
            format: BookFormat::Ctg,
            stem: files.stem.to_string_lossy().into_owned(),
            title: None,
            members: members.collect(),
            pages,
            page_bytes: PAGE_BYTES as u64,
            positions: None,
            games: None,
            header: Vec::new(),
        };
        let mut buffer = ReadBuffer::default();
        let first = file.read_up_to(0, PAGE_BYTES, &mut buffer);
        header::read(first.map_err(io(&path))?, &mut facts);
        let directory = (entries.as_ref(), bitmap.as_ref());
        check::lengths(&facts, bytes, directory, &mut |defect| defects.note(defect));
        Ok(CtgBook {
            facts,
            path,
            file,
            pages,
            cache: PageCache::new(CACHED_PAGES, PAGE_BYTES),
            bitmap: bitmap.flatten(),
            entries: entries.flatten(),
            index: Mutex::default(),
            defects,
        })
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io {
            file: self.path.clone(),
            source,
        }
    }

    /// Looks up a hash in the directory.
    fn route(&self, hash: u32) -> io::Result<Route> {
        let Some(entries) = &self.entries else {
            return Ok(Route::Unknown);
        };
        if let Some(bitmap) = &self.bitmap {
            let node = bitmap.leaf(hash)?;
            if let LeafPage::Page(page) = entries.place(node)? {
                return Ok(Route::Page {
                    page,
                    node,
                    is_sound: true,
                });
            }
        }
        let mut route = Route::Nowhere;
        for node in nodes(hash).take_while(|&node| node < entries.end()) {
            match entries.place(node)? {
                LeafPage::Page(page) => {
                    if self.bitmap.is_some() {
                        self.defects.note(directory::misled(node));
                    }
                    return Ok(Route::Page {
                        page,
                        node,
                        is_sound: self.bitmap.is_none(),
                    });
                }
                LeafPage::None => {}
                LeafPage::Damaged => {
                    route = Route::Unknown;
                    self.defects.note(entries.fault(node));
                }
            }
        }
        Ok(route)
    }

    /// Searches a page for the record with this signature.
    fn search(&self, page: u64, signature: &Signature) -> io::Result<Option<PositionRecord>> {
        let offset = offset_of(page);
        self.cache.with(self.file.as_ref(), offset, |bytes| {
            let page = CtgPage::new(bytes);
            let damage = |malformed| self.defects.note(on_page(offset, malformed));
            let record = page.find(signature.as_bytes(), damage);
            if record.is_none()
                && let Some(fault) = page.fault()
            {
                self.defects.note(on_page(offset, fault));
            }
            record.map(|record| record.decode())
        })
    }

    /// Returns whether the directory leads a position of the page to the page,
    /// by the same node. If not, the directory does not belong to the pages.
    fn is_in_place(&self, page: u64, node: u64) -> io::Result<bool> {
        let is_led_here = |signature: &[u8]| -> io::Result<bool> {
            let route = self.route(hash(signature))?;
            Ok(matches!(route, Route::Page { node: known, .. } if known == node))
        };
        let offset = offset_of(page);
        let is_in_place = self.cache.with(self.file.as_ref(), offset, |bytes| {
            let mut records = CtgPage::new(bytes)
                .records()
                .filter_map(Result::ok)
                .peekable();
            // An empty page has no misplaced position.
            let mut is_in_place = records.peek().is_none();
            for record in records {
                is_in_place = is_in_place || is_led_here(record.signature)?;
            }
            io::Result::Ok(is_in_place)
        })??;
        if !is_in_place {
            let what = "the directory leads the positions of this page elsewhere";
            self.defects.note(on_page(offset, Malformed::new(0, what)));
        }
        Ok(is_in_place)
    }

    fn find_record(&self, signature: &Signature) -> Result<Option<PositionRecord>, Error> {
        let hash = hash(signature.as_bytes());
        let io = |source| self.io(source);
        match self.route(hash).map_err(io)? {
            Route::Page {
                page,
                node,
                is_sound,
            } => {
                let record = self.search(page, signature).map_err(io)?;
                if record.is_some() || is_sound && self.is_in_place(page, node).map_err(io)? {
                    return Ok(record);
                }
            }
            Route::Nowhere if self.pages > MAX_INDEXED_PAGES => return Ok(None),
            Route::Nowhere | Route::Unknown => {}
        }
        for page in self.index()?.pages(hash) {
            let record = self.search(page, signature).map_err(io)?;
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    fn index(&self) -> Result<Arc<PageIndex>, Error> {
        if self.pages > MAX_INDEXED_PAGES {
            return Err(Error::Unsupported {
                file: self.path.clone(),
                what: format!(
                    "its .cto is missing or wrong, and {} pages are too many to look for positions without it",
                    self.pages
                ),
            });
        }
        let mut index = self.index.lock();
        if let Some(index) = &*index {
            return Ok(Arc::clone(index));
        }
        let mut made = PageIndex::default();
        self.each_page(&mut |number, page| {
            let records = page.records().filter_map(Result::ok);
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            made.add(number, records.map(|record| hash(record.signature)));
            ControlFlow::Continue(())
        })?;
        made.finish();
        let made = Arc::new(made);
        *index = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Calls `look` with all pages in order, until it breaks.
    fn each_page(
        &self,
        look: &mut dyn FnMut(u64, CtgPage<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut buffer = ReadBuffer::ahead();
        for number in 0..self.pages {
            let read = self.file.read(offset_of(number), PAGE_BYTES, &mut buffer);
            let bytes = read.map_err(|source| self.io(source))?;
            if look(number, CtgPage::new(bytes)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Book for CtgBook {
    fn facts(&self) -> &BookFacts {
        &self.facts
    }

    fn defects(&self) -> Vec<Defect> {
        self.defects.list()
    }

    fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
        match Signature::of(board) {
            Some(signature) if self.pages > 0 => self.find_record(&signature),
            _ => Ok(None),
        }
    }

    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        self.each_page(&mut |number, page| {
            let start = offset_of(number);
            if let Some(fault) = page.fault() {
                defect(on_page(start, fault));
            }
            for record in page.records() {
                let decoded = record.and_then(|record| {
                    let at = |malformed: Malformed| Malformed::new(record.offset, malformed.what);
                    let board = signature::decode(record.signature).map_err(at)?;
                    Ok((record, board))
                });
                let (record, board) = match decoded {
                    Ok(decoded) => decoded,
                    Err(malformed) => {
                        defect(on_page(start, malformed));
                        continue;
                    }
                };
                if record.is_even {
                    defect(on_page(start, record.odd_byte()));
                }
                visit(Scanned {
                    board: &board,
                    record: &record.decode(),
                    file: "ctg",
                    name: None,
                    offset: start + record.offset as u64,
                })?;
            }
            ControlFlow::Continue(())
        })
    }

    fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        check::check(self, defect)
    }
}

/// Offset of a page in the file.
fn offset_of(page: u64) -> u64 {
    (page + 1) * PAGE_BYTES as u64
}

/// The defect of the page that begins at `start`.
fn on_page(start: u64, Malformed { offset, what }: Malformed) -> Defect {
    Defect {
        file: "ctg",
        offset: start + offset as u64,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Position;

    /// The small sample book with each of its files, named by its extension, changed.
    fn changed(change: impl Fn(&str, &mut Vec<u8>)) -> CtgBook {
        let folder = tempfile::tempdir().unwrap();
        for extension in ["ctg", "cto", "ctb"] {
            let sample = Path::new("fixtures/book/small/small").with_extension(extension);
            let mut bytes = std::fs::read(sample).unwrap();
            change(extension, &mut bytes);
            std::fs::write(folder.path().join(format!("x.{extension}")), bytes).unwrap();
        }
        CtgBook::open(&folder.path().join("x.ctg")).unwrap()
    }

    #[test]
    fn nothing_is_looked_for_in_a_book_without_pages() {
        let book = changed(|extension, bytes| {
            if extension == "ctg" {
                bytes.truncate(PAGE_BYTES);
            }
        });
        let start = CanonicalBoard::of(&Position::default()).unwrap();
        assert!(book.find(&start).unwrap().is_none());
        assert_eq!(book.defects(), []);
    }

    #[test]
    fn a_position_that_no_entry_leads_to_is_found_all_the_same() {
        let book = changed(|extension, bytes| {
            if extension == "cto" {
                bytes[16..].fill(0xFF);
            }
        });
        let start = CanonicalBoard::of(&Position::default()).unwrap();
        assert!(book.find(&start).unwrap().is_some());
    }

    #[test]
    fn a_book_of_more_than_4_gib_is_not_indexed() {
        let sample = Path::new("fixtures/book/small/small.ctg");
        let start = CanonicalBoard::of(&Position::default()).unwrap();
        let find = |pages: u64| {
            let mut book = CtgBook::open(sample).unwrap();
            (book.entries, book.pages) = (None, pages);
            book.find(&start)
        };
        assert!(find(19).unwrap().is_some());
        // No more than 19 pages can be read.
        let read = find(MAX_INDEXED_PAGES);
        assert!(matches!(read, Err(Error::Io { .. })), "{read:?}");
        let refused = find(MAX_INDEXED_PAGES + 1);
        assert!(matches!(refused, Err(Error::Unsupported { .. })));
        // Where the directory is whole and leads nowhere, that is believed.
        let find = |pages: u64| {
            let mut book = changed(|extension, bytes| {
                if extension == "cto" {
                    bytes[16..].fill(0xFF);
                }
            });
            book.pages = pages;
            book.find(&start)
        };
        let read = find(MAX_INDEXED_PAGES);
        assert!(matches!(read, Err(Error::Io { .. })), "{read:?}");
        assert!(find(MAX_INDEXED_PAGES + 1).unwrap().is_none());
    }

    #[test]
    fn a_record_is_told_where_its_signature_begins() {
        let bytes = std::fs::read("fixtures/book/small/small.ctg").unwrap();
        let mut visit = |scanned: Scanned<'_>| {
            let signature = Signature::of(scanned.board).unwrap();
            let at = usize::try_from(scanned.offset).unwrap();
            assert!(bytes[at..].starts_with(signature.as_bytes()), "{at}");
            ControlFlow::Continue(())
        };
        changed(|_, _| {}).scan(&mut visit, &mut |_| {}).unwrap();
    }

    #[test]
    fn all_pages_are_read_only_where_the_directory_is_not_sound() {
        let known = CanonicalBoard::of(&Position::default()).unwrap();
        let other = CanonicalBoard::from_fen(b"4k3/8/8/8/8/8/8/4K3 w - -").unwrap();
        let asked = |book: CtgBook| {
            let before = book.defects().len();
            assert!(book.find(&known).unwrap().is_some());
            let is_read_for_one = book.index.lock().is_some();
            assert!(book.find(&other).unwrap().is_none());
            let is_read = book.index.lock().is_some();
            let told = book.defects().into_iter().map(|defect| defect.file);
            (is_read_for_one, is_read, told.skip(before).next_back())
        };
        let filled = |file: &str, at: usize, fill| {
            changed(|extension, bytes| {
                if extension == file {
                    bytes[at..].fill(fill);
                }
            })
        };
        assert_eq!(asked(filled("", 0, 0)), (false, false, None));
        let mut without_bits = filled("", 0, 0);
        without_bits.bitmap = None;
        assert_eq!(asked(without_bits), (false, false, None));
        assert_eq!(asked(filled("cto", 16, 0xFF)), (true, true, None));
        assert_eq!(asked(filled("cto", 16, 0x7F)), (true, true, Some("cto")));
        // The entries tell the page, though the bits do not.
        assert_eq!(asked(filled("ctb", 12, 0)), (false, true, Some("ctb")));
    }
}
