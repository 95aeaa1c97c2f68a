//! All that is worked out from one state of a volume.
//!
//! When the files below a volume change, it is opened anew, and that is the
//! next snapshot. A request takes the snapshot it finds and answers from it
//! alone, so that no answer is made of two states; the snapshot lives as long
//! as somebody holds it.
//!
//! Numbers in here are those of the volume, without that of the base.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use crate::fs::content::concatenation::{Concatenations, Sources};
use crate::fs::content::lengths::{Measure, Sizes};
use crate::fs::content::text::digest;
use crate::fs::content::texts::Key;
use crate::fs::kernel::names::KernelNames;
use crate::fs::status::{Faults, Messages, Mounting};
use crate::fs::volume::{Completeness, Fault, Ino, Listing, Node, NodeKind, Size, Volume};
use crate::fs::{Attr, Background, Bytes, Error, ListingWithAttrs, Text, TextCache};

/// What all snapshots of a mount use together.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) texts: Arc<TextCache>,
    pub(crate) concatenations: Arc<Concatenations>,
    pub(crate) names: Arc<KernelNames>,
    pub(crate) background: Arc<Background>,
    /// How it is mounted, once that was told.
    pub(crate) mounting: Arc<OnceLock<Mounting>>,
    /// Bytes of texts to keep, at most.
    pub(crate) cache_bytes: usize,
    /// The latest warnings and errors.
    pub(crate) messages: Arc<Messages>,
}

impl Shared {
    pub(crate) fn new(cache_bytes: usize, messages: &Arc<Messages>) -> Shared {
        Shared {
            texts: Arc::new(TextCache::new(cache_bytes)),
            concatenations: Arc::default(),
            names: Arc::default(),
            background: Arc::default(),
            mounting: Arc::default(),
            cache_bytes,
            messages: Arc::clone(messages),
        }
    }
}

/// State shared by consecutive snapshots with only saves between them.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// Number of the first snapshot; those of the others differ from it in the
    /// low half.
    first: u64,
    next: AtomicU64,
    texts: Arc<TextCache>,
    /// The file of lengths, and what those in it must belong to.
    pub(crate) sizes_file: Option<(PathBuf, String)>,
    /// Whether all lengths are known, or a thread computes them.
    pub(crate) is_filled: AtomicBool,
    /// Whether the lengths of an earlier mount have been read.
    pub(crate) sizes_loaded: OnceLock<()>,
    /// Number of the first files that are measured, or taken by a thread.
    pub(crate) first_files_taken: AtomicU64,
    /// Defects found.
    pub(crate) faults: Faults,
    /// Whether everything was examined for defects.
    is_examined: AtomicBool,
}

impl Lineage {
    /// Numbers of snapshots, of which each line has so many.
    const NUMBERS: u64 = 1 << 32;

    fn new(texts: Arc<TextCache>, sizes_file: Option<(PathBuf, String)>) -> Lineage {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let first = NEXT.fetch_add(1, Relaxed) * Lineage::NUMBERS;
        Lineage {
            first,
            next: AtomicU64::new(first),
            texts,
            sizes_file,
            is_filled: AtomicBool::new(false),
            sizes_loaded: OnceLock::new(),
            first_files_taken: AtomicU64::new(0),
            faults: Faults::default(),
            is_examined: AtomicBool::new(false),
        }
    }

    /// The number of the next snapshot.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }
}

impl Drop for Lineage {
    fn drop(&mut self) {
        let first = self.first;
        self.texts
            .forget(|snapshot| snapshot / Lineage::NUMBERS == first / Lineage::NUMBERS);
    }
}

/// One state of a volume.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) volume: Box<dyn Volume>,
    pub(crate) sizes: Sizes,
    /// What it has in common with those before and after, between which there
    /// were saves only.
    pub(crate) line: Arc<Lineage>,
    base_number: u64,
    /// Counts the snapshots of a base, from 1.
    version: u32,
    /// Tells it from all others, of all bases.
    serial: u64,
    shared: Shared,
    /// Numbers of the rendered files that are many.
    rendered: (Ino, Ino),
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.shared.concatenations.forget_snapshot(self.serial);
    }
}

impl Snapshot {
    /// The snapshot with this `version` of a base; lengths are kept for the
    /// next mount in `sizes_file`.
    pub(crate) fn new(
        volume: Box<dyn Volume>,
        base_number: u64,
        version: u32,
        sizes_file: Option<PathBuf>,
        shared: Shared,
    ) -> Snapshot {
        let sizes_file = sizes_file.and_then(|path| Some((path, volume.fingerprint()?)));
        let line = Lineage::new(Arc::clone(&shared.texts), sizes_file);
        volume.faults(&mut |fault| line.faults.add(fault));
        let serial = line.number();
        Snapshot {
            sizes: Sizes::of(serial),
            line: Arc::new(line),
            base_number,
            version,
            serial,
            shared,
            rendered: volume.rendered(),
            volume,
        }
    }

    /// The next one, after a save that made other texts of `touched` and
    /// maybe of files that are not among the many. All else is shared.
    pub(crate) fn after(&self, volume: Box<dyn Volume>, version: u32, touched: &[Ino]) -> Snapshot {
        let serial = self.line.number();
        let rendered = volume.rendered();
        Snapshot {
            sizes: self.sizes.after(serial, touched, rendered),
            line: Arc::clone(&self.line),
            base_number: self.base_number,
            version,
            serial,
            shared: self.shared.clone(),
            rendered,
            volume,
        }
    }

    /// Whether there were saves only between this one and the other.
    pub(crate) fn shares_lineage(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.line, &other.line)
    }

    /// Whether it is not the first of its line.
    pub(crate) fn is_later(&self) -> bool {
        self.serial != self.line.first
    }

    fn text_key(&self, ino: Ino) -> Key {
        (self.sizes.origin(ino), ino)
    }

    /// The numbers of the many files, used or not, as the mount knows them.
    pub(crate) fn rendered(&self) -> (Ino, Ino) {
        let (first, last) = self.rendered;
        (
            first.in_base(self.base_number),
            last.in_base(self.base_number),
        )
    }

    /// How many numbers there are for the many files, used or not.
    pub(crate) fn capacity(&self) -> u64 {
        let (first, last) = self.rendered;
        (last.0 + 1).saturating_sub(first.0)
    }

    /// What concatenations are made from.
    pub(crate) fn sources(&self) -> Sources<'_> {
        Sources {
            snapshot: self.serial,
            volume: &*self.volume,
            sizes: &self.sizes,
            texts: &self.shared.texts,
            background: &self.shared.background,
        }
    }

    /// Tells it from all other snapshots.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether this is that snapshot.
    pub(crate) fn is(&self, other: &Snapshot) -> bool {
        self.serial == other.serial
    }

    /// Whether it is a rendered file by its number alone.
    fn is_numerous(&self, ino: Ino) -> bool {
        (self.rendered.0..=self.rendered.1).contains(&ino)
    }

    /// The file of this number, and how to read it; directories and links are
    /// errors.
    pub(crate) fn file(&self, ino: Ino) -> Result<ReadWay, Error> {
        if self.is_numerous(ino) {
            return Ok(ReadWay::Rendered);
        }
        let node = self.volume.node(ino)?;
        match node.kind {
            NodeKind::Directory => Err(Error::IsADirectory),
            NodeKind::Symlink => Err(Error::Invalid),
            NodeKind::File(Size::Rendered) => Ok(ReadWay::Rendered),
            NodeKind::File(size) => Ok(ReadWay::Pieces {
                size,
                mark: self.mark_of(&node, self.bytes_of(ino, size)?),
            }),
        }
    }

    /// As [`attr_of`](Snapshot::attr_of), but for a length that takes long to
    /// find out.
    pub(crate) fn attr_at_once(&self, node: &Node) -> Result<Attr, Error> {
        let is_long = || {
            self.volume.known_size(node.ino).is_none()
                && self.volume.long_work(node.ino, None).is_some()
        };
        if node.kind == NodeKind::File(Size::Computed) && is_long() {
            return Ok(self.unsized_attr(node));
        }
        self.attr_of(node)
    }

    /// All but the length, which no mark depends on.
    fn unsized_attr(&self, node: &Node) -> Attr {
        Attr {
            is_sized: false,
            ..Attr::of(node, 0, self.mark_of(node, 0))
        }
    }

    pub(crate) fn attr_of(&self, node: &Node) -> Result<Attr, Error> {
        let (size, generation) = match node.kind {
            NodeKind::Directory => return Ok(Attr::of_directory(node)),
            NodeKind::File(Size::Rendered) => {
                return Ok(rendered_attr(node, self.measure(node.ino)?));
            }
            NodeKind::File(size) => {
                let bytes = self.bytes_of(node.ino, size)?;
                (bytes, self.mark_of(node, bytes))
            }
            NodeKind::Symlink => {
                let target = self.volume.target(node.ino)?;
                (target.len() as u64, digest(&target))
            }
        };
        Ok(Attr::of(node, size, generation))
    }

    /// How long a file is; what is not known is found out.
    fn bytes_of(&self, ino: Ino, size: Size) -> Result<u64, Error> {
        match size {
            Size::Known(bytes) => Ok(bytes),
            Size::Computed => self.volume.size(ino),
            Size::Rendered => Ok(u64::from(self.measure(ino)?.bytes)),
            Size::Concatenation(directory) => {
                let concatenations = &self.shared.concatenations;
                concatenations.length(self.sources(), directory)
            }
        }
    }

    /// Up to `length` bytes from `offset` on of a file that is read in pieces.
    pub(crate) fn read(
        &self,
        ino: Ino,
        size: Size,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        if let Size::Concatenation(directory) = size {
            let concatenations = &self.shared.concatenations;
            return concatenations.read(self.sources(), directory, offset, length);
        }
        self.shared.background.is_read.store(true, Relaxed);
        let mut bytes = Vec::new();
        self.volume.read(ino, offset, length, &mut bytes)?;
        Ok(Bytes::Own(bytes))
    }

    /// Returns the mark of a file that is read in pieces.
    fn mark_of(&self, node: &Node, size: u64) -> u32 {
        let size = if self.volume.is_constant() { 0 } else { size };
        let time = node.modified.duration_since(UNIX_EPOCH);
        let nanoseconds = time.map_or(0, |time| time.as_nanos());
        let version = if self.volume.is_as_stored(node.ino) {
            0
        } else {
            self.version
        };
        let facts = [nanoseconds, u128::from(size), u128::from(version)];
        digest(facts.map(u128::to_le_bytes).as_flattened())
    }

    fn measure(&self, ino: Ino) -> Result<Measure, Error> {
        if let Some(measure) = self.sizes.get(ino) {
            return Ok(measure);
        }
        let text = self.text(ino)?;
        // `render` has stored the measure. If it is missing, no caller uses its completeness.
        Ok(self.sizes.get(ino).unwrap_or(Measure {
            bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
            mark: text.mark(),
            completeness: Completeness::Partial,
        }))
    }

    /// As [`Volume::list`], with what `stat` says of each entry.
    pub(crate) fn list_with_attrs(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        self.shared.background.is_listed.store(true, Relaxed);
        // A page of files whose lengths are not known is rendered in one go.
        let mut renderer = None;
        let listing: &mut Listing<'_> = &mut |entry| {
            let node = &entry.node;
            if node.kind != NodeKind::File(Size::Rendered) {
                return listing(entry, self.listed_attr(node));
            }
            if let Some(measure) = self.sizes.get(node.ino) {
                return listing(entry, Some(Ok(rendered_attr(node, measure))));
            }
            let render = renderer.get_or_insert_with(|| self.volume.renderer());
            self.shared
                .background
                .note_render(node.ino.in_base(self.base_number));
            let key = self.text_key(node.ino);
            // Its error, if any, comes again with the attributes.
            let _ = self
                .shared
                .texts
                .get_or_render(key, || self.render(node.ino, render));
            listing(entry, Some(self.attr_of(node)))
        };
        self.volume.list(directory, after, listing)
    }

    /// Returns the attributes; `None` if they are slow to compute, because a
    /// listing may need only names.
    fn listed_attr(&self, node: &Node) -> Option<Result<Attr, Error>> {
        match node.kind {
            NodeKind::File(Size::Computed) if self.volume.is_constant() => {
                let attr = self.unsized_attr(node);
                let known = self.volume.known_size(node.ino);
                Some(Ok(Attr {
                    size: known.unwrap_or(attr.size),
                    is_sized: known.is_some(),
                    ..attr
                }))
            }
            NodeKind::File(Size::Computed) => None,
            NodeKind::File(Size::Concatenation(directory)) => {
                let concatenations = &self.shared.concatenations;
                concatenations.known_length(self.sources(), directory)?;
                Some(self.attr_of(node))
            }
            _ => Some(self.attr_of(node)),
        }
    }

    /// The text of a rendered file, because someone asked for it.
    pub(crate) fn text(&self, ino: Ino) -> Result<Text, Error> {
        let background = &self.shared.background;
        let number = ino.in_base(self.base_number);
        if self.is_numerous(ino) {
            background.note_read(number, self.rendered().1);
        }
        self.shared.texts.get_or_render(self.text_key(ino), || {
            background.note_render(number);
            background.is_read.store(true, Relaxed);
            self.render(ino, |ino, text| self.volume.render(ino, text))
        })
    }

    /// Whether the text is in the cache.
    pub(crate) fn has_text(&self, ino: Ino) -> bool {
        self.shared.texts.contains(self.text_key(ino))
    }

    /// Puts a text into the cache.
    pub(crate) fn keep_text(&self, ino: Ino, text: Text) {
        self.shared.texts.insert(self.text_key(ino), text);
    }

    /// Renders, and remembers the length; holds no lock.
    pub(crate) fn render(
        &self,
        ino: Ino,
        mut render: impl FnMut(Ino, &mut Vec<u8>) -> Result<Completeness, Error>,
    ) -> Result<Text, Error> {
        let mut text = Vec::with_capacity(2048);
        let rendered = Error::unless_panic(|| render(ino, &mut text)).and_then(|completeness| {
            let bytes = u32::try_from(text.len()).ok();
            let bytes = bytes.filter(|bytes| *bytes <= Measure::MAX_BYTES);
            Ok((completeness, bytes.ok_or(Error::TooLarge)?))
        });
        match &rendered {
            Ok((Completeness::Whole, _)) => {}
            Ok((Completeness::Partial, _)) => self.note_faults(ino, None),
            Err(error) => self.note_faults(ino, Some(error)),
        }
        let (completeness, bytes) = rendered?;
        let text = Text::from(text);
        let measure = Measure {
            bytes,
            mark: text.mark(),
            completeness,
        };
        self.sizes.set(ino, measure);
        Ok(text)
    }

    /// Records, once, the defects of a file that is incomplete or could not be
    /// rendered because of `error`.
    pub(crate) fn note_faults(&self, ino: Ino, error: Option<&Error>) {
        if matches!(error, Some(Error::NotFound | Error::Stale)) || !self.line.faults.begin(ino) {
            return;
        }
        let mut count = 0;
        let asked = Error::unless_panic(|| {
            self.volume.faults_of(ino, &mut |fault| {
                count += 1;
                self.line.faults.add(fault);
            });
            Ok(())
        });
        let reported = asked.as_ref().err().or(error);
        if let Some(error) = reported.filter(|_| count == 0) {
            self.line.faults.add(Fault {
                record: ino.index(),
                file: "",
                offset: 0,
                line: format!("file {}: {error}", ino.index()),
            });
        }
    }

    /// Looks at all that rendering does not, and notes what is wrong there:
    /// then all is known of it.
    pub(crate) fn examine(&self) {
        let asked = Error::unless_panic(|| {
            let note = &mut |fault| self.line.faults.add(fault);
            self.volume.examine(note)
        });
        match asked {
            Ok(()) => self.line.is_examined.store(true, Relaxed),
            Err(error) => log::warn!("looking for defects: {error}"),
        }
    }

    /// Whether all that could be wrong was looked at.
    pub(crate) fn is_examined(&self) -> bool {
        self.line.is_examined.load(Relaxed)
    }

    /// How many lengths of the many files are known.
    pub(crate) fn known_lengths(&self) -> u64 {
        let (first, last) = self.rendered;
        self.sizes.count(first, last)
    }
}

/// What `stat` says of a rendered file of this length.
fn rendered_attr(node: &Node, measure: Measure) -> Attr {
    Attr::of(node, measure.bytes.into(), measure.mark)
}

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadWay {
    /// As one text.
    Rendered,
    /// Piece by piece; what tells its content from others.
    Pieces { size: Size, mark: u32 },
}
