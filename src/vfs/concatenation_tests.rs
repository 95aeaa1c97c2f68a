//! Files in one piece, as a mount shows them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::SystemTime;

use std::sync::Arc;

use super::{
    Completeness, DirEntry, Error, Ino, Listing, Node, NodeKind, Options, Size, Vfs, Volume,
    VolumeSize,
};

const FILES: Ino = Ino(2);
const WHOLE: Ino = Ino(3);

/// Texts in one directory, and a file of all of them.
#[derive(Debug)]
struct Made {
    /// `None` cannot be read.
    texts: Mutex<Vec<Option<Vec<u8>>>>,
    renderings: AtomicU32,
    /// The listing breaks off after so many.
    listed: usize,
}

impl Made {
    fn new(texts: Vec<Option<Vec<u8>>>) -> Arc<Made> {
        Arc::new(Made {
            listed: texts.len(),
            texts: Mutex::new(texts),
            renderings: AtomicU32::new(0),
        })
    }

    fn whole(&self) -> Vec<u8> {
        let texts = self.texts.lock().unwrap();
        texts.iter().flatten().flatten().copied().collect()
    }

    fn change(&self, number: usize, text: Option<Vec<u8>>) {
        self.texts.lock().unwrap()[number] = text;
    }
}

fn node(ino: Ino) -> Node {
    Node {
        ino,
        kind: match ino {
            Ino::ROOT | FILES => NodeKind::Directory,
            WHOLE => NodeKind::File(Size::Concatenation(FILES)),
            _ => NodeKind::File(Size::Rendered),
        },
        links: 1,
        modified: SystemTime::UNIX_EPOCH,
    }
}

impl Volume for Arc<Made> {
    fn lookup(&self, _: Ino, _: &[u8]) -> Result<Node, Error> {
        Err(Error::NotFound)
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        Ok(node(ino))
    }

    fn parent(&self, _: Ino) -> Result<Ino, Error> {
        Ok(Ino::ROOT)
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let listed = u32::try_from(self.listed).unwrap();
        let numbers = match directory {
            Ino::ROOT => 0..0,
            _ => 0..listed,
        };
        if directory == Ino::ROOT {
            let entry = DirEntry {
                name: "whole",
                node: node(WHOLE),
                cookie: 3,
            };
            let _ = after < 3 && listing(&entry);
        }
        for number in numbers {
            let entry = DirEntry {
                name: "any",
                node: node(Ino::new(1, number)),
                // With gaps, as ids have.
                cookie: 3 * u64::from(number) + 3,
            };
            if entry.cookie > after && !listing(&entry) {
                return Ok(());
            }
        }
        if directory == FILES && self.listed < self.texts.lock().unwrap().len() {
            return Err(Error::Damaged("the listing breaks off".to_owned()));
        }
        Ok(())
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        self.renderings.fetch_add(1, Relaxed);
        let texts = self.texts.lock().unwrap();
        text.extend_from_slice(b"begun and ");
        let number = usize::try_from(ino.index()).unwrap();
        let found = texts[number].as_ref();
        let found = found.ok_or_else(|| Error::Damaged("on purpose".to_owned()))?;
        text.truncate(text.len() - 10);
        text.extend_from_slice(found);
        Ok(Completeness::Whole)
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize::default()
    }

    fn rendered(&self) -> (Ino, Ino) {
        let last = u32::try_from(self.texts.lock().unwrap().len()).unwrap();
        (Ino::new(1, 0), Ino::new(1, last.saturating_sub(1)))
    }
}

/// Numbers without order, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Texts of all lengths; some are empty, some cannot be read, and one is
/// far longer than the others.
fn made() -> Arc<Made> {
    let mut dice = Dice(7);
    let texts = (0..3000).map(|number| {
        let length = match number {
            700 => (2 << 20) + 5,
            1500..1800 => 0,
            _ if number % 10 == 9 => return None,
            _ => dice.below(1600),
        };
        Some(
            (0..length)
                .map(|at| u8::try_from((at + number) % 251).unwrap())
                .collect(),
        )
    });
    Made::new(texts.collect())
}

fn vfs(made: &Arc<Made>, cache_bytes: usize) -> Vfs {
    Vfs::new(
        Box::new(Arc::clone(made)),
        &Options {
            cache_bytes,
            ..Options::default()
        },
    )
}

/// Runs `check` while `helpers` threads read ahead.
fn with_helpers(vfs: &Vfs, helpers: usize, check: impl FnOnce()) {
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| vfs.read_ahead());
        }
        while vfs.background().helpers() < helpers {
            thread::yield_now();
        }
        let stop = Stop(vfs);
        check();
        drop(stop);
    });
}

/// Stops the threads also when a check fails.
struct Stop<'a>(&'a Vfs);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.background().stop();
    }
}

fn assert_part(vfs: &Vfs, whole: &[u8], offset: u64, length: u32) {
    let from = usize::try_from(offset).unwrap().min(whole.len());
    let to = (from + length as usize).min(whole.len());
    let part = vfs.read(WHOLE, offset, length).unwrap();
    assert!(*part == whole[from..to], "{length} bytes at {offset}");
}

#[test]
fn every_part_is_that_of_all_texts_one_after_the_other() {
    for (cache_bytes, helpers) in [(0, 0), (0, 2), (4 << 20, 1), (64 << 20, 0), (64 << 20, 3)] {
        let made = made();
        let whole = made.whole();
        let vfs = vfs(&made, cache_bytes);
        with_helpers(&vfs, helpers, || {
            assert_eq!(vfs.attr(WHOLE).unwrap().size, whole.len() as u64);
            let mut dice = Dice(1);
            for _ in 0..300 {
                let offset = dice.below(whole.len() as u64 + 5000);
                let limit = 1 << dice.below(21);
                let length = u32::try_from(dice.below(limit)).unwrap();
                assert_part(&vfs, &whole, offset, length);
            }
            for step in [4096, 100_000, 131_072, 1 << 20] {
                for offset in (0..=whole.len() as u64).step_by(step as usize) {
                    assert_part(&vfs, &whole, offset, step);
                }
            }
            assert_part(&vfs, &whole, 0, u32::MAX);
            assert_part(&vfs, &whole, u64::MAX >> 1, 10);
        });
    }
}

#[test]
fn four_readers_at_once_get_what_is_theirs() {
    let made = made();
    let whole = &made.whole();
    let vfs = &vfs(&made, 16 << 20);
    with_helpers(vfs, 2, || {
        thread::scope(|scope| {
            for reader in 0..4 {
                scope.spawn(move || {
                    let start = whole.len() as u64 / 4 * reader;
                    for offset in (start..whole.len() as u64).step_by(50_000) {
                        assert_part(vfs, whole, offset, 50_000);
                    }
                });
            }
        });
    });
}

#[test]
fn a_sequential_reader_renders_each_text_at_most_twice() {
    let texts = (0..5000).map(|_| Some(vec![b'x'; 1000]));
    let made = Made::new(texts.collect());
    for helpers in [0, 2] {
        let vfs = vfs(&made, 64 << 20);
        with_helpers(&vfs, helpers, || {
            made.renderings.store(0, Relaxed);
            assert_eq!(vfs.attr(WHOLE).unwrap().size, 5_000_000);
            assert_eq!(made.renderings.swap(0, Relaxed), 5000, "for the length");
            let whole = made.whole();
            for offset in (0..5_000_000).step_by(1 << 17) {
                assert_part(&vfs, &whole, offset, 1 << 17);
            }
            assert_eq!(made.renderings.load(Relaxed), 5000, "for the text");
        });
    }
}

#[test]
fn a_look_here_and_there_renders_what_it_shows() {
    let texts = (0..50_000).map(|_| Some(vec![b'x'; 1000]));
    let made = Made::new(texts.collect());
    let vfs = vfs(&made, 64 << 20);
    vfs.attr(WHOLE).unwrap();
    made.renderings.store(0, Relaxed);
    for offset in [49_999_900, 10_000_500, 30_000_000, 20_000_000] {
        assert_eq!(vfs.read(WHOLE, offset, 100).unwrap().len(), 100);
    }
    assert_eq!(made.renderings.load(Relaxed), 4);
}

#[test]
fn a_text_of_another_length_is_stale_and_nothing_is_shifted() {
    for text in [
        Some(vec![b'x'; 999]),
        Some(vec![b'x'; 1001]),
        Some(Vec::new()),
    ] {
        for helpers in [0, 2] {
            let texts = (0..3000).map(|_| Some(vec![b'x'; 1000]));
            let made = Made::new(texts.collect());
            let vfs = vfs(&made, 8 << 20);
            with_helpers(&vfs, helpers, || {
                vfs.attr(WHOLE).unwrap();
                made.change(1500, text.clone());
                let mut stale = 0;
                for offset in (0..3_000_000).step_by(100_000) {
                    match vfs.read(WHOLE, offset, 100_000) {
                        Ok(bytes) => assert_eq!(bytes.len(), 100_000),
                        Err(error) => {
                            assert_eq!(error.errno(), libc::ESTALE);
                            stale += 1;
                        }
                    }
                }
                assert!((1..15).contains(&stale), "{stale} parts are stale");
                // Whoever looks only there is told, too.
                assert_eq!(
                    vfs.read(WHOLE, 1_500_010, 10).unwrap_err().errno(),
                    libc::ESTALE
                );
            });
        }
    }
}

#[test]
fn a_text_that_cannot_be_read_any_more_is_an_error() {
    let texts = (0..3000).map(|_| Some(vec![b'x'; 1000]));
    let made = Made::new(texts.collect());
    let vfs = vfs(&made, 0);
    vfs.attr(WHOLE).unwrap();
    made.change(1500, None);
    let errno = |offset| vfs.read(WHOLE, offset, 50_000).unwrap_err().errno();
    assert_eq!(errno(1_490_000), libc::EIO, "here and there");
    assert_eq!(errno(1_500_000), libc::EIO, "reading on");
    assert_eq!(vfs.read(WHOLE, 10, 50_000).unwrap().len(), 50_000);
}

#[test]
fn lengths_are_listed_where_they_are_known() {
    let made = Made::new(vec![Some(vec![b'x'; 10]), None, Some(vec![b'y'; 20])]);
    let vfs = vfs(&made, 1 << 20);
    let listed = || {
        let mut size = None;
        vfs.list_with_attrs(Ino::ROOT, 2, &mut |entry, attr| {
            if entry.node.ino == WHOLE {
                size = attr.map(|attr| attr.unwrap().size);
            }
            true
        })
        .unwrap();
        size
    };
    assert_eq!(listed(), None);
    assert_eq!(made.renderings.load(Relaxed), 0, "names cost nothing");
    assert_eq!(vfs.attr(WHOLE).unwrap().size, 30);
    assert_eq!(listed(), Some(30));
}

#[test]
fn files_listed_before_an_error_are_in_the_concatenation() {
    let mut made = Arc::into_inner(made()).unwrap();
    for listed in [1000, 0] {
        made.listed = listed;
        let shared = Arc::new(made);
        let vfs = vfs(&shared, 1 << 20);
        let texts = shared.texts.lock().unwrap()[..listed].to_vec();
        let whole: Vec<u8> = texts.into_iter().flatten().flatten().collect();
        if listed == 0 {
            assert_eq!(vfs.attr(WHOLE).unwrap_err().errno(), libc::EIO);
        } else {
            assert_eq!(vfs.attr(WHOLE).unwrap().size, whole.len() as u64);
            assert_part(&vfs, &whole, 0, u32::MAX);
            assert_part(&vfs, &whole, whole.len() as u64 - 9, 100);
        }
        drop(vfs);
        made = Arc::into_inner(shared).unwrap();
    }
}

#[test]
fn an_empty_directory_is_an_empty_file() {
    let made = Made::new(Vec::new());
    let vfs = vfs(&made, 0);
    assert_eq!(vfs.attr(WHOLE).unwrap().size, 0);
    assert_eq!(vfs.read(WHOLE, 0, 10).unwrap().len(), 0);
    assert_eq!(vfs.read(WHOLE, 10, 10).unwrap().len(), 0);
}

#[test]
fn memory_for_indexes_is_bounded() {
    let made = made();
    let vfs = vfs(&made, 8 << 20);
    vfs.attr(WHOLE).unwrap();
    for directory in 10..200 {
        let snapshots = vfs.snapshots();
        let sources = snapshots[0].sources();
        let concatenations = &vfs.mount.shared.concatenations;
        concatenations.length(sources, Ino(directory)).unwrap();
        for offset in (0..2_000_000).step_by(1 << 16) {
            let read = concatenations.read(sources, Ino(directory), offset, 10);
            read.unwrap();
        }
        let (kept, most) = concatenations.kept();
        assert!(kept <= most);
    }
}
