//! A volume of the mount and its editions.
//!
//! Nothing stale is ever told, and no reader gets a mixture:
//!
//! * Whoever is told of a file (by look-up or listing) is told the **mark** of
//!   its content with it. The kernel keeps the files of different marks
//!   apart, whatever their number.
//! * The kernel's reads do not say which content they are about; it is the
//!   one that was told last. If the present edition has another, the text
//!   comes from an earlier edition, or from the texts being read, or the
//!   read fails.
//!
//! Numbers in here are those of the volume, without the slot.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::about::{self, About, Mounting, Report, Subject};
use super::broken::Broken;
use super::edition::{Edition, Reading, Shared};
use super::editor::{Refusal, Saved, Touched};
use super::held::Held;
use super::saves::Edit;
use super::source::Source;
use super::volume::{Ino, Listing, Node, NodeKind, Volume};
use super::words::Words;
use super::{Attr, Bytes, Error, ListingWithAttrs, Text};

/// Editions kept for readers that began with them, and for so many looks at
/// the source; of those that share nearly all with the next one, more.
const EARLIER: usize = 4;
const SAVED: usize = 64;
const LOOKS: u32 = 20;

/// So often is a request answered anew because something was saved meanwhile.
const TRIES: usize = 16;

/// One volume of a mount, as it is now and as it was.
#[derive(Debug)]
pub(super) struct Slot {
    number: u64,
    /// What it is opened from; none if it never changes.
    source: Option<Box<dyn Source>>,
    shared: Shared,
    editions: Mutex<Editions>,
    /// Held while the source is opened.
    watch: Mutex<Watch>,
    /// Mark of the content of each file that was told last.
    told: Words,
    /// The directories that somebody was told of.
    directories: Mutex<BTreeSet<Ino>>,
    /// The same for what the volume remembers while the kernel holds it.
    held: Held,
    about: About,
    shown: Mutex<Shown>,
    unsynced: Mutex<Unsynced>,
}

/// Whether something was saved that a power cut may take.
#[derive(Clone, Copy, Debug, Default)]
enum Unsynced {
    #[default]
    Nothing,
    /// Since nobody knows when,
    Something,
    /// since then at the latest.
    Since(Instant),
}

/// What is shown, for who asks how that came.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Why the present state cannot be opened, if it cannot.
    pub(super) complaint: Option<String>,
    /// Whether that is all there is to show.
    pub(super) is_broken: bool,
    /// How many times something else was shown,
    pub(super) changes: u32,
    /// and when for the last time.
    pub(super) changed: Option<SystemTime>,
}

#[derive(Debug, Default)]
struct Editions {
    current: Option<Arc<Edition>>,
    /// The latest first, and how many looks at the source it is kept for.
    earlier: VecDeque<(Arc<Edition>, u32)>,
}

impl Editions {
    /// Whether the oldest one is to go.
    fn has_too_many(&self) -> bool {
        let editions = self.current.iter();
        let editions = editions.chain(self.earlier.iter().map(|(edition, _)| edition));
        let pairs = editions.clone().zip(editions.skip(1));
        let lines = pairs.filter(|(one, other)| !one.is_of_line(other)).count();
        lines > EARLIER || self.earlier.len() > SAVED
    }
}

/// What is known of the source.
#[derive(Debug, Default)]
struct Watch {
    /// Its state before the present edition was opened.
    state: String,
    /// Whether it was opened once more after the last change: a write within
    /// the same tick of the file system's clock leaves no other trace.
    is_settled: bool,
    /// Why it could not be opened the last time.
    complaint: Option<String>,
    /// Whether that is all there is to show.
    is_broken: bool,
    version: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// A slot whose volume is opened from `source` when first looked into.
    pub(super) fn new(number: u64, source: Option<Box<dyn Source>>, shared: Shared) -> Slot {
        Slot {
            number,
            source,
            shared,
            editions: Mutex::default(),
            watch: Mutex::default(),
            told: Words::default(),
            directories: Mutex::default(),
            held: Held::default(),
            about: About::default(),
            shown: Mutex::default(),
            unsynced: Mutex::default(),
        }
    }

    /// What is shown, and how that came.
    pub(super) fn shown(&self) -> Shown {
        lock(&self.shown).clone()
    }

    /// Lets it be known what is shown from now on.
    fn note(&self, watch: &Watch, is_change: bool) {
        let mut shown = lock(&self.shown);
        shown.complaint.clone_from(&watch.complaint);
        shown.is_broken = watch.is_broken;
        if is_change {
            shown.changes = shown.changes.saturating_add(1);
            let mounting = self.shared.mounting.get();
            shown.changed = mounting.map(Mounting::time).or(shown.changed);
        }
    }

    /// Shows `volume` from now on.
    fn publish(&self, volume: Box<dyn Volume>, watch: &mut Watch) -> Arc<Edition> {
        watch.version = watch.version.wrapping_add(1);
        let sizes_file = self.source.as_ref().and_then(|source| source.sizes_file());
        let shared = self.shared.clone();
        // If it changes right now nobody could say whose lengths these are.
        let source = self.source.as_ref();
        let is_still = source.is_none_or(|source| source.state() == watch.state);
        let sizes_file = sizes_file.filter(|_| is_still);
        let edition = Edition::new(volume, self.number, watch.version, sizes_file, shared);
        let edition = self.put(edition);
        self.shared.background.saw_edition();
        edition
    }

    /// Lets this edition take the place of the present one.
    fn put(&self, edition: Edition) -> Arc<Edition> {
        let edition = Arc::new(edition);
        let mut editions = lock(&self.editions);
        let before = editions.current.replace(Arc::clone(&edition));
        let mut outdated = Vec::new();
        if let Some(before) = before {
            editions.earlier.push_front((before, LOOKS));
            while editions.has_too_many() {
                outdated.extend(editions.earlier.pop_back());
            }
        }
        drop(editions);
        // It may take a while to be cleared away.
        drop(outdated);
        edition
    }

    /// Saves one edit of what is shown, and shows what is stored then.
    pub(super) fn save(&self, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let mut watch = lock(&self.watch);
        let edition = self.opened().ok_or(Error::Stale)?;
        let editor = edition.volume.editor().ok_or(Error::ReadOnly)?;
        let edited = edit(editor);
        if edited.is_err() && edition.volume.is_over() {
            // It is saved, but cannot be shown: it is opened anew, soon.
            watch.state.clear();
            self.shared.background.hurry();
        }
        let mut saved = edited?;
        if let Some(volume) = saved.volume.take() {
            self.note_save();
            match &saved.touched {
                Touched::Any => drop(self.publish(volume, &mut watch)),
                Touched::Files(touched) => {
                    watch.version = watch.version.wrapping_add(1);
                    self.put(edition.after(volume, watch.version, touched));
                }
            }
        }
        Ok(saved)
    }

    /// Notes that something is to be synced.
    pub(super) fn note_save(&self) {
        let mut unsynced = lock(&self.unsynced);
        if matches!(*unsynced, Unsynced::Nothing) {
            *unsynced = Unsynced::Something;
        }
    }

    /// Notes that all saved so far is being synced.
    pub(super) fn begin_sync(&self) {
        *lock(&self.unsynced) = Unsynced::Nothing;
    }

    /// Whether something was known to be saved `after` so long.
    pub(super) fn is_sync_due(&self, now: Instant, after: Duration) -> bool {
        let mut unsynced = lock(&self.unsynced);
        match *unsynced {
            Unsynced::Nothing => false,
            Unsynced::Something => {
                *unsynced = Unsynced::Since(now);
                false
            }
            Unsynced::Since(since) => now.saturating_duration_since(since) >= after,
        }
    }

    /// Answers from what is shown now; if something is saved meanwhile, from
    /// what is shown then.
    fn answer<T>(&self, ask: impl Fn(&Arc<Edition>) -> Result<T, Error>) -> Result<T, Error> {
        let mut edition = self.edition();
        for _ in 0..TRIES {
            match ask(&edition) {
                Err(Error::Stale) if edition.volume.is_over() => {}
                answered => return answered,
            }
            // It is shown when who saves is done.
            drop(lock(&self.watch));
            edition = self.edition();
        }
        ask(&edition)
    }

    /// Shows a volume that does not change.
    pub(super) fn show(&self, volume: Box<dyn Volume>) {
        self.publish(volume, &mut lock(&self.watch));
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn source(&self) -> Option<&dyn Source> {
        self.source.as_deref()
    }

    /// What is shown now, if it was looked into.
    pub(super) fn opened(&self) -> Option<Arc<Edition>> {
        lock(&self.editions).current.clone()
    }

    /// What is shown now.
    pub(super) fn edition(&self) -> Arc<Edition> {
        self.opened().unwrap_or_else(|| {
            let (edition, complaint) = self.open();
            if let Some(why) = complaint {
                log::warn!("{why}");
            }
            edition
        })
    }

    /// Opens the source if that was not done; gives the edition and why it is
    /// only about an error, if it is.
    pub(super) fn open(&self) -> (Arc<Edition>, Option<String>) {
        let mut watch = lock(&self.watch);
        if let Some(opened) = self.opened() {
            return (opened, None);
        }
        let opened = match &self.source {
            Some(source) => {
                watch.state = source.state();
                open_source(source.as_ref())
            }
            None => Err("there is nothing".to_owned()),
        };
        let volume = opened.unwrap_or_else(|why| {
            let broken = self.broken(&why);
            watch.complaint = Some(why);
            watch.is_broken = true;
            broken
        });
        watch.is_settled = true;
        self.note(&watch, false);
        (self.publish(volume, &mut watch), watch.complaint.clone())
    }

    fn broken(&self, why: &str) -> Box<dyn Volume> {
        let source = self.source.as_ref();
        let modified = source.map_or(UNIX_EPOCH, |source| source.modified());
        Box::new(Broken::new(why, modified))
    }

    /// Looks whether the source has changed, and if so opens it anew; gives
    /// whether something else is shown now.
    pub(super) fn refresh(&self) -> bool {
        let (Some(source), Some(_)) = (&self.source, self.opened()) else {
            return false;
        };
        self.forget_earlier();
        let mut watch = lock(&self.watch);
        let state = source.state();
        let is_changed = state != watch.state;
        if !is_changed && watch.is_settled && watch.complaint.is_none() {
            return false;
        }
        let was_broken = watch.is_broken;
        let volume = match open_source(source.as_ref()) {
            Ok(volume) => {
                watch.complaint = None;
                watch.is_broken = false;
                volume
            }
            Err(why) => {
                if watch.complaint.as_ref() == Some(&why) {
                    return false;
                }
                log::warn!("{why}");
                watch.complaint = Some(why.clone());
                if !watch.is_broken {
                    self.note(&watch, false);
                    return false;
                }
                self.broken(&why)
            }
        };
        // Opened once more to be sure, it is no change.
        self.note(&watch, is_changed || was_broken);
        watch.is_settled = !is_changed;
        watch.state = state;
        self.publish(volume, &mut watch);
        true
    }

    fn forget_earlier(&self) {
        let mut outdated = Vec::new();
        let mut editions = lock(&self.editions);
        for (_, looks) in &mut editions.earlier {
            *looks = looks.saturating_sub(1);
        }
        while editions
            .earlier
            .back()
            .is_some_and(|(_, looks)| *looks == 0)
        {
            outdated.extend(editions.earlier.pop_back());
        }
        drop(editions);
        drop(outdated);
    }

    /// Stops showing anything, until looked into again.
    pub(super) fn close(&self) {
        let editions = std::mem::take(&mut *lock(&self.editions));
        drop(editions);
    }

    /// Notes that the kernel is told of `attr`, by a look-up or a listing.
    fn tell(&self, edition: &Edition, attr: &Attr) {
        match attr.kind {
            _ if edition.volume.is_held(attr.ino) => self.held.tell(attr.ino, Some(attr)),
            NodeKind::Directory => self.tell_directory(attr.ino),
            _ => {
                self.told.set(attr.ino, attr.generation.into());
            }
        }
    }

    /// Notes that `directory` was listed.
    fn tell_listed(&self, edition: &Edition, directory: Ino) {
        // Who lists one that is held was told of it before.
        if !edition.volume.is_held(directory) {
            self.tell_directory(directory);
        }
    }

    pub(super) fn tell_directory(&self, ino: Ino) {
        lock(&self.directories).insert(ino);
    }

    /// The directories that somebody was told of, by numbers of the mount.
    pub(super) fn told_directories(&self) -> Vec<Ino> {
        let mut directories = self.held.directories();
        directories.extend(lock(&self.directories).iter());
        let numbers = directories.into_iter();
        numbers.map(|ino| ino.in_slot(self.number)).collect()
    }

    /// See [`Vfs::forget`](super::Vfs::forget).
    pub(super) fn forget(&self, ino: Ino, lookups: u64) {
        if self.held.forget(ino, lookups)
            && let Some(edition) = self.opened()
        {
            edition.volume.forget(ino);
        }
    }

    /// Mark of the content that was told last, if one was.
    fn told(&self, ino: Ino) -> Option<u32> {
        let told = u32::try_from(self.told.get(ino)).ok();
        told.filter(|mark| *mark > 0)
            .or_else(|| self.held.told(ino))
    }

    /// See [`Vfs::lookup_at_once`](super::Vfs::lookup_at_once).
    pub(super) fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        if about::holds(directory) {
            return self.about.lookup(self, directory, name);
        }
        if directory == Ino::ROOT && name == about::NAME.as_bytes() {
            return self.about.attr(self, about::DIRECTORY);
        }
        self.answer(|edition| {
            let attr = edition.attr_at_once(&edition.volume.lookup(directory, name)?)?;
            self.tell(edition, &attr);
            Ok(attr)
        })
    }

    /// See [`Vfs::attr`](super::Vfs::attr).
    pub(super) fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        if about::holds(ino) {
            return self.about.attr(self, ino);
        }
        let mut attr = self.answer(|edition| edition.attr_of(&edition.volume.node(ino)?))?;
        if ino == Ino::ROOT {
            attr.links = about::links_of_root(attr.links);
        }
        match self.told(ino) {
            Some(mark) if mark != attr.generation && attr.kind != NodeKind::Directory => {
                let earlier = self.earlier(ino, mark).ok_or(Error::Stale)?;
                earlier.attr_of(&earlier.volume.node(ino)?)
            }
            _ => Ok(attr),
        }
    }

    /// Whether it can be edited.
    pub(super) fn is_edited(&self) -> bool {
        let edition = self.opened();
        edition.is_some_and(|edition| edition.volume.editor().is_some())
    }

    /// What `stat` says of the present content, which is told from now on.
    pub(super) fn present(&self, ino: Ino) -> Result<Attr, Error> {
        if about::holds(ino) {
            return self.attr(ino);
        }
        self.answer(|edition| {
            let mut attr = edition.attr_of(&edition.volume.node(ino)?)?;
            if ino == Ino::ROOT {
                attr.links = about::links_of_root(attr.links);
            }
            self.tell(edition, &attr);
            Ok(attr)
        })
    }

    /// As [`Slot::read`], of the content with this mark, whatever was told.
    pub(super) fn read_marked(
        &self,
        ino: Ino,
        mark: u32,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        self.answer(|edition| match edition.file(ino)? {
            Reading::Pieces { mark: other, .. } if other != mark => Err(Error::Stale),
            Reading::Pieces { size, .. } => edition.read(ino, size, offset, length),
            Reading::Rendered => {
                let text = self.text(edition, ino, Some(mark))?;
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let start = start.min(text.len());
                let end = start.saturating_add(length as usize).min(text.len());
                Ok(Bytes::Shared(Arc::clone(text.bytes()), start..end))
            }
        })
    }

    /// The directory that this one lies in.
    pub(super) fn parent(&self, directory: Ino) -> Result<Node, Error> {
        if about::holds(directory) {
            return match about::parent(directory)? {
                Ino::ROOT => self.root(),
                inner => Ok(about::node(self, inner)),
            };
        }
        let edition = self.edition();
        match edition.volume.parent(directory)? {
            Ino::ROOT => self.root(),
            inner => edition.volume.node(inner),
        }
    }

    fn root(&self) -> Result<Node, Error> {
        let node = self.edition().volume.node(Ino::ROOT)?;
        Ok(Node {
            links: about::links_of_root(node.links),
            ..node
        })
    }

    /// See [`Vfs::list`](super::Vfs::list); without `.` and `..`.
    pub(super) fn list(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        if about::holds(directory) {
            return about::list(self, directory, after, listing);
        }
        let edition = self.edition();
        self.tell_listed(&edition, directory);
        let mut has_room = true;
        edition.volume.list(directory, after, &mut |entry| {
            has_room = listing(entry);
            has_room
        })?;
        if directory == Ino::ROOT && has_room && after < about::COOKIE {
            listing(&about::entry(self));
        }
        Ok(())
    }

    /// As [`Slot::list`], with what `stat` says of each entry.
    pub(super) fn list_with_attrs(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        if about::holds(directory) {
            let about = &self.about;
            return about.list_with_attrs(self, directory, after, listing);
        }
        let edition = self.edition();
        self.tell_listed(&edition, directory);
        let mut has_room = true;
        let mut marks = self.told.in_order();
        edition.list_with_attrs(directory, after, &mut |entry, attr| {
            let told = attr.as_ref().and_then(|attr| attr.as_ref().ok()).copied();
            has_room = listing(entry, attr);
            match told.filter(|_| has_room) {
                Some(attr) if edition.volume.is_held(attr.ino) => {
                    self.held.tell(attr.ino, Some(&attr));
                }
                Some(attr) if attr.kind == NodeKind::Directory => self.tell_directory(attr.ino),
                Some(attr) => {
                    marks.set(attr.ino, attr.generation.into());
                }
                // The kernel takes the number all the same.
                None if has_room && edition.volume.is_held(entry.node.ino) => {
                    self.held.tell(entry.node.ino, None);
                }
                None => {}
            }
            has_room
        })?;
        if directory == Ino::ROOT && has_room && after < about::COOKIE {
            let entry = about::entry(self);
            listing(&entry, Some(Ok(Attr::of_directory(&entry.node))));
        }
        Ok(())
    }

    /// See [`Vfs::read`](super::Vfs::read).
    pub(super) fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        if about::holds(ino) {
            return self.about.read(self, ino, offset, length);
        }
        self.answer(|edition| self.read_from(edition, ino, offset, length))
    }

    fn read_from(
        &self,
        edition: &Edition,
        ino: Ino,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        let told = self.told(ino);
        match edition.file(ino) {
            Ok(Reading::Pieces { size, mark }) => {
                if told.is_some_and(|told| told != mark) {
                    self.call_back();
                    return Err(Error::Stale);
                }
                return edition.read(ino, size, offset, length);
            }
            // It may have gone; who began to read it goes on.
            Err(error) if told.is_none() => return Err(error),
            Err(error @ (Error::IsADirectory | Error::Invalid)) => return Err(error),
            Ok(Reading::Rendered) | Err(_) => {}
        }
        let text = self.text(edition, ino, told)?;
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(text.len());
        let end = start.saturating_add(length as usize).min(text.len());
        let number = ino.in_slot(self.number);
        if end < text.len() {
            self.shared.readers.began(number, &text);
        } else if offset > 0 {
            self.shared.readers.ended(number);
        }
        Ok(Bytes::Shared(Arc::clone(text.bytes()), start..end))
    }

    /// The text that was `told`, wherever it still is.
    fn text(&self, edition: &Edition, ino: Ino, told: Option<u32>) -> Result<Text, Error> {
        let Some(mark) = told else {
            return edition.text(ino);
        };
        let present = match edition.text(ino) {
            Ok(text) if text.mark() == mark => return Ok(text),
            other => other,
        };
        if let Some(text) = self.shared.readers.text(ino.in_slot(self.number), mark) {
            return Ok(text);
        }
        let earlier = self.earlier(ino, mark);
        if let Some(Ok(text)) = earlier.map(|edition| edition.text(ino))
            && text.mark() == mark
        {
            return Ok(text);
        }
        // Either the base was changed a moment ago and nobody has looked yet,
        // or this reader comes too late.
        self.call_back();
        Err(present.err().unwrap_or(Error::Stale))
    }

    /// Makes the kernel ask again for what it was told, soon.
    fn call_back(&self) {
        self.shared.names.call_back();
        self.shared.background.hurry();
    }

    /// An earlier edition in which `ino` has this mark.
    fn earlier(&self, ino: Ino, mark: u32) -> Option<Arc<Edition>> {
        let editions = lock(&self.editions);
        let has_it = |edition: &&(Arc<Edition>, u32)| {
            let measure = edition.0.sizes.get(ino);
            measure.is_some_and(|measure| measure.mark == mark)
        };
        editions
            .earlier
            .iter()
            .find(has_it)
            .map(|(edition, _)| Arc::clone(edition))
    }
}

impl Subject for Slot {
    fn modified(&self) -> SystemTime {
        let root = self.edition().volume.node(Ino::ROOT);
        root.map_or(UNIX_EPOCH, |root| root.modified)
    }

    fn mounting(&self) -> Option<&Mounting> {
        self.shared.mounting.get()
    }

    fn report(&self) -> Report {
        let source = self.source().and_then(Source::path);
        about::of_base(&self.edition(), &self.shown(), source, &self.shared)
    }
}

/// Opens `source`; a panic is a defect that stays with it.
fn open_source(source: &dyn Source) -> Result<Box<dyn Volume>, String> {
    let opened = Error::unless_panic(|| source.open().map_err(Error::Damaged));
    opened.map_err(|error| error.to_string())
}
