//! `.cbfs/`: the status files of a mount.
//!
//! | path | number |
//! |---|---|
//! | `.cbfs/` | kind 62, index 1 |
//! | `.cbfs/rejected/` | 2; empty where nothing can be saved |
//! | entries of it | 16 and on, see room `drafts` |
//! | `.cbfs/status`, `status.json` | 3, 4: the same facts |
//! | `.cbfs/defects.txt` | 5: a line for each defect met |
//! | `.cbfs/find.txt` | 6: a line for each query that was refused lately |
//!
//! It lies in the root of each base, and in that of a directory of bases; the
//! numbers are of a kind that no volume uses.
//!
//! The files are made when somebody asks for one, all of the same moment, and
//! made anew when somebody looks one up a second later. Each is told with the
//! mark of its text, as rendered files are, so that the kernel keeps the texts
//! apart; and what was told a moment ago is not replaced, since whoever was
//! told is about to read it.

mod faults;
mod messages;
mod report;
mod sheet;

pub(crate) use faults::Faults;
pub use messages::Messages;
pub use report::Mounting;
pub(crate) use report::{Base, of_base, of_folder};

use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::fs::tree::Tree;
use crate::fs::volume::{DirEntry, Ino, Node, NodeKind, Size};
use crate::fs::{Attr, Bytes, Error, ListingWithAttrs, Text};

/// The name of the directory.
pub(crate) const NAME: &str = ".cbfs";

/// Its place in the listing of a root: after all others.
pub(crate) const COOKIE: u64 = 1 << 40;

/// The directory.
pub(crate) const DIRECTORY: Ino = Ino::new(KIND, 1);

pub(crate) const KIND: u8 = 62;

/// The directory of rejected drafts.
pub(crate) const REJECTED: Ino = Ino::new(KIND, 2);

/// Names and numbers of the files, and of the directory before them. Their
/// cookies count from 3.
const ENTRIES: [(&str, Ino); 5] = [
    ("rejected", REJECTED),
    ("status", Ino::new(KIND, 3)),
    ("status.json", Ino::new(KIND, 4)),
    ("defects.txt", Ino::new(KIND, 5)),
    ("find.txt", Ino::new(KIND, 6)),
];

/// Age at which a text is built again.
const RENEWAL: Duration = Duration::from_secs(1);

/// A text stays for this time after a reply reported it.
const MOMENT: Duration = Duration::from_millis(50);

/// Age at which a text is built again in any case.
const AT_LATEST: Duration = Duration::from_secs(5);

/// Whether this is the number of something in `.cbfs/`, or of that itself.
pub(crate) fn holds(ino: Ino) -> bool {
    ino.kind() == KIND
}

/// Returns whether the file is built again and again, so that its attributes
/// must not be cached.
pub(crate) fn is_volatile(ino: Ino) -> bool {
    holds(ino.within_base()) && ino.index() > REJECTED.index()
}

/// The texts of the files at one moment.
#[derive(Clone, Debug)]
pub(crate) struct StatusReport {
    pub(crate) status: String,
    pub(crate) json: String,
    pub(crate) defects: String,
    pub(crate) find: String,
}

/// What a `.cbfs/` is about.
pub(crate) trait Subject {
    /// When it last changed.
    fn modified(&self) -> SystemTime;

    /// How it is mounted, if that was told.
    fn mounting(&self) -> Option<&Mounting>;

    /// What is to be said of it now.
    fn report(&self) -> StatusReport;
}

/// One `.cbfs/`.
#[derive(Debug, Default)]
pub(crate) struct About(Mutex<Option<Contents>>);

#[derive(Debug)]
struct Contents {
    /// Since it was mounted.
    made: Duration,
    reported: Duration,
    /// In the order of [`ENTRIES`], and since when each is so.
    texts: [(Text, SystemTime); 4],
}

impl Contents {
    fn new(subject: &dyn Subject, before: Option<&Contents>) -> Contents {
        let mounting = subject.mounting();
        let made = mounting.map_or(Duration::ZERO, Mounting::uptime);
        let time = mounting.map_or_else(|| subject.modified(), |all| all.started + made);
        let report = subject.report();
        let mut texts = [report.status, report.json, report.defects, report.find]
            .map(|text| (Text::from(text.into_bytes()), time));
        for (text, before) in texts
            .iter_mut()
            .zip(before.iter().flat_map(|old| &old.texts))
        {
            if text.0.mark() == before.0.mark() {
                *text = before.clone();
            }
        }
        Contents {
            made,
            reported: made,
            texts,
        }
    }

    /// Whether it is to be replaced. Without a clock, always.
    fn is_due(&self, mounting: Option<&Mounting>) -> bool {
        let Some(now) = mounting.map(Mounting::uptime) else {
            return true;
        };
        let age = now.saturating_sub(self.made);
        age >= AT_LATEST || age >= RENEWAL && now.saturating_sub(self.reported) >= MOMENT
    }

    fn text(&self, ino: Ino) -> Result<&(Text, SystemTime), Error> {
        let place = (ino.index() as usize).checked_sub(3);
        let text = place.and_then(|place| self.texts.get(place));
        text.filter(|_| holds(ino)).ok_or(Error::NotFound)
    }

    fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        let (text, modified) = self.text(ino)?;
        let node = node_of(ino, *modified);
        Ok(Attr::of(&node, text.len() as u64, text.mark()))
    }
}

impl About {
    /// Does something with the texts that were told last.
    fn with<T>(&self, subject: &dyn Subject, ask: impl FnOnce(&Contents) -> T) -> T {
        let mut contents = self.0.lock();
        ask(contents.get_or_insert_with(|| Contents::new(subject, None)))
    }

    /// What `stat` says of a file, to someone who looks it up now.
    fn tell(&self, subject: &dyn Subject, ino: Ino) -> Result<Attr, Error> {
        let mut contents = self.0.lock();
        let present = contents.take();
        let is_due = |present: &Contents| present.is_due(subject.mounting());
        let mut next = match present {
            Some(present) if !is_due(&present) => present,
            before => Contents::new(subject, before.as_ref()),
        };
        next.reported = subject.mounting().map_or(next.made, Mounting::uptime);
        contents.insert(next).attr(ino)
    }
}

/// The `.cbfs/` of something.
#[derive(Clone, Copy)]
pub(crate) struct StatusTree<'s> {
    about: &'s About,
    subject: &'s dyn Subject,
}

impl About {
    /// This one, about `subject`.
    pub(crate) fn of<'s>(&'s self, subject: &'s dyn Subject) -> StatusTree<'s> {
        StatusTree {
            about: self,
            subject,
        }
    }
}

impl StatusTree<'_> {
    /// A directory, or a file as a listing without attributes has it.
    fn node(&self, ino: Ino) -> Node {
        node_of(ino, self.subject.modified())
    }

    /// What `stat` says to someone who is told of it now.
    fn reported(&self, ino: Ino) -> Result<Attr, Error> {
        match ino {
            REJECTED => Ok(Attr::of_directory(&self.node(REJECTED))),
            file => self.about.tell(self.subject, file),
        }
    }
}

impl Tree for StatusTree<'_> {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        self.parent(directory)?;
        let mut entries = ENTRIES.into_iter().filter(|_| directory == DIRECTORY);
        let found = entries.find(|(entry, _)| entry.as_bytes() == name);
        self.reported(found.ok_or(Error::NotFound)?.1)
    }

    fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        match ino {
            DIRECTORY | REJECTED => Ok(Attr::of_directory(&self.node(ino))),
            _ => self.about.with(self.subject, |contents| contents.attr(ino)),
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        match directory {
            DIRECTORY => Ok(Ino::ROOT),
            REJECTED => Ok(DIRECTORY),
            _ if ENTRIES.iter().any(|(_, ino)| *ino == directory) => Err(Error::NotADirectory),
            _ => Err(Error::NotFound),
        }
    }

    fn list(
        &self,
        directory: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        self.parent(directory)?;
        let entries = (3..).zip(ENTRIES).filter(|_| directory == DIRECTORY);
        for (cookie, (name, ino)) in entries.filter(|(cookie, _)| *cookie > after) {
            let node = self.node(ino);
            let attr = with_attrs.then(|| self.reported(ino));
            if !listing(&DirEntry { name, node, cookie }, attr) {
                break;
            }
        }
        Ok(())
    }

    /// Of the text that was told last.
    fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        if [DIRECTORY, REJECTED].contains(&ino) {
            return Err(Error::IsADirectory);
        }
        self.about.with(self.subject, |contents| {
            let (text, _) = contents.text(ino)?;
            Ok(text.part(offset, length))
        })
    }
}

fn node_of(ino: Ino, modified: SystemTime) -> Node {
    let (kind, links) = match ino {
        DIRECTORY => (NodeKind::Directory, 3),
        REJECTED => (NodeKind::Directory, 2),
        _ => (NodeKind::File(Size::Rendered), 1),
    };
    Node {
        ino,
        kind,
        links,
        modified,
    }
}

/// The links of a root with those of `.cbfs/`; 1 says that nobody counted.
pub(crate) fn links_of_root(links: u32) -> u32 {
    match links {
        1 => 1,
        counted => counted.saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use std::sync::Mutex;
    use std::time::{Instant, UNIX_EPOCH};

    use super::*;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A subject whose clock is set by the test.
    struct Counting {
        reports: Mutex<u32>,
        mounting: Mounting,
    }

    impl Counting {
        fn new() -> Counting {
            Counting {
                reports: Mutex::new(0),
                mounting: Mounting {
                    mountpoint: PathBuf::from("/mnt"),
                    is_writable: false,
                    options: Vec::new(),
                    readdirplus: "auto",
                    has_xattr: false,
                    process: 1,
                    started: UNIX_EPOCH,
                    since: *START,
                    clock: || *START + NOW.get(),
                },
            }
        }
    }

    impl Subject for Counting {
        fn modified(&self) -> SystemTime {
            UNIX_EPOCH
        }

        fn mounting(&self) -> Option<&Mounting> {
            Some(&self.mounting)
        }

        fn report(&self) -> StatusReport {
            let mut reports = self.reports.lock().unwrap();
            *reports += 1;
            StatusReport {
                status: format!("report {reports}\n").repeat(*reports as usize),
                json: "{}\n".to_owned(),
                defects: String::new(),
                find: String::new(),
            }
        }
    }

    fn read(about: &About, subject: &Counting, ino: Ino) -> String {
        let bytes = about.of(subject).read(ino, 0, u32::MAX).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_file_is_made_anew_once_a_second_and_only_when_looked_up() {
        let (about, subject) = (About::default(), Counting::new());
        let first = about.of(&subject).lookup(DIRECTORY, b"status").unwrap();
        for milliseconds in [0, 100, 999] {
            NOW.set(Duration::from_millis(milliseconds));
            assert_eq!(
                about.of(&subject).lookup(DIRECTORY, b"status").unwrap(),
                first
            );
        }
        // Who was told a moment ago reads what he was told.
        NOW.set(Duration::from_millis(1020));
        assert_eq!(
            about.of(&subject).lookup(DIRECTORY, b"status").unwrap(),
            first
        );
        NOW.set(Duration::from_secs(60));
        assert_eq!(about.of(&subject).attr(first.ino).unwrap(), first);
        assert_eq!(read(&about, &subject, first.ino), "report 1\n");
        assert_eq!(*subject.reports.lock().unwrap(), 1);
        let second = about.of(&subject).lookup(DIRECTORY, b"status").unwrap();
        assert_eq!(read(&about, &subject, first.ino), "report 2\n".repeat(2));
        assert_eq!(second.size, 18);
        assert_eq!(second.ino, first.ino);
        assert_ne!(second.generation, first.generation);
        assert_eq!(second.modified, UNIX_EPOCH + Duration::from_secs(60));
        // What says the same is the same, time included.
        let json = about
            .of(&subject)
            .lookup(DIRECTORY, b"status.json")
            .unwrap();
        assert_eq!(json.modified, UNIX_EPOCH);
        assert_eq!(*subject.reports.lock().unwrap(), 2);
    }

    #[test]
    fn status_is_rebuilt_for_constant_readers_too() {
        let (about, subject) = (About::default(), Counting::new());
        for milliseconds in (0..=10_000).step_by(20) {
            NOW.set(Duration::from_millis(milliseconds));
            about.of(&subject).lookup(DIRECTORY, b"status").unwrap();
        }
        assert_eq!(*subject.reports.lock().unwrap(), 3);
    }

    #[test]
    fn only_what_is_listed_can_be_looked_up() {
        let (about, subject) = (About::default(), Counting::new());
        let mut listed = Vec::new();
        about
            .of(&subject)
            .list(DIRECTORY, 0, true, &mut |entry, attr| {
                let attr = attr.unwrap().unwrap();
                let found = about.of(&subject).lookup(DIRECTORY, entry.name.as_bytes());
                assert_eq!(found.unwrap(), attr);
                assert_eq!(about.of(&subject).attr(attr.ino).unwrap(), attr);
                listed.push((entry.name.to_owned(), entry.cookie));
                true
            })
            .unwrap();
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "rejected",
                "status",
                "status.json",
                "defects.txt",
                "find.txt"
            ]
        );
        let errno = |directory, name: &[u8]| {
            about
                .of(&subject)
                .lookup(directory, name)
                .unwrap_err()
                .errno()
        };
        assert_eq!(errno(DIRECTORY, b"Status"), libc::ENOENT);
        assert_eq!(errno(DIRECTORY, b""), libc::ENOENT);
        assert_eq!(errno(REJECTED, b"status"), libc::ENOENT);
        assert_eq!(errno(Ino::new(KIND, 3), b"x"), libc::ENOTDIR);
        assert_eq!(errno(Ino::new(KIND, 9), b"x"), libc::ENOENT);
        for index in [0, 7, u32::MAX] {
            let error = about.of(&subject).attr(Ino::new(KIND, index)).unwrap_err();
            assert_eq!(error.errno(), libc::ENOENT, "{index}");
        }
        let error = about.of(&subject).read(REJECTED, 0, 1).unwrap_err();
        assert_eq!(error.errno(), libc::EISDIR);
    }
}
