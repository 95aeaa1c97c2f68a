//! Bringing saves from the journal into the files of the base.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::record::{Action, Record};
use super::{Directory, Error, Stamp, WritableFile};

/// The first bytes of a new file are written after the others: they say what
/// it is.
const FIRST_BYTES: u64 = 512;

/// The files that are being written.
///
/// Files are removed first, search caches that would be wrong; then what is
/// appended is brought to the medium, and only then what leads to it. So also
/// who knows nothing of the journal finds all other games as they were after a
/// power cut amid this, though not the changed ones.
///
/// All of it can be done again after any failure or crash: it comes to the
/// same.
#[derive(Debug)]
pub(super) struct Application<'a> {
    directory: &'a dyn Directory,
    files: BTreeMap<OsString, Box<dyn WritableFile>>,
    has_changed_names: bool,
}

impl<'a> Application<'a> {
    pub(super) fn new(directory: &'a dyn Directory) -> Application<'a> {
        Application {
            directory,
            files: BTreeMap::new(),
            has_changed_names: false,
        }
    }

    /// Does what the records say, and returns when it survives a power cut.
    pub(super) fn run(&mut self, records: &[Arc<Record>]) -> Result<(), Error> {
        let courses = courses(records);
        self.remove(&courses)?;
        for is_behind in [true, false] {
            for record in records {
                for step in &record.steps {
                    let name = record.file(step);
                    let course = name.and_then(|name| Some((name, courses.get(name)?)));
                    if let Some((name, course)) = course {
                        let done = self.step(name, &step.action, record, *course, is_behind);
                        done.map_err(Error::io(name))?;
                    }
                }
            }
            self.sync_files()?;
        }
        self.sync_names()
    }

    /// Removes the files to which nothing else happens.
    fn remove(&mut self, courses: &BTreeMap<&OsStr, Course>) -> Result<(), Error> {
        for (name, course) in courses {
            if *course == Course::Goes {
                let io = Error::io(name);
                self.has_changed_names |= self.directory.stamp(name).map_err(&io)?.is_some();
                self.remove_file(name).map_err(io)?;
            }
        }
        self.sync_names()
    }

    fn sync_files(&self) -> Result<(), Error> {
        for (name, file) in &self.files {
            file.sync().map_err(Error::io(name))?;
        }
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), Error> {
        if self.has_changed_names {
            self.directory.sync().map_err(Error::io(OsStr::new(".")))?;
        }
        self.has_changed_names = false;
        Ok(())
    }

    fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        match self.directory.remove(name) {
            // A folder that is named like a search cache is none.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The stamp a file was left with; `None` if it is not there, or was only
    /// looked for.
    pub(super) fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        self.files.get(name).map(|file| file.stamp()).transpose()
    }

    /// Does a step, as far as it concerns what lies behind the end that the
    /// file had, or all but that.
    fn step(
        &mut self,
        name: &OsStr,
        action: &Action,
        record: &Record,
        course: Course,
        is_behind: bool,
    ) -> io::Result<()> {
        let grows = matches!(course, Course::Grows(_));
        match action {
            Action::Write { offset, new, .. } => {
                let (at, bytes) = part_of(*offset, record.part(new), course, is_behind);
                if bytes.is_empty() {
                    return Ok(());
                }
                self.file(name)?.write_at(at, bytes)
            }
            Action::Create if is_behind == grows => {
                // Its name may not have been synced when this was done before.
                self.has_changed_names = true;
                self.file(name)?.set_len(0)
            }
            Action::Remove if !is_behind => {
                self.has_changed_names = true;
                self.files.remove(name);
                self.remove_file(name)
            }
            Action::SetLen(len) if !is_behind => self.file(name)?.set_len(*len),
            Action::Create | Action::Remove | Action::SetLen(_) => Ok(()),
        }
    }

    /// The file to write. One that is not there is to be created, or was
    /// removed by a later save when this was done before.
    fn file(&mut self, name: &OsStr) -> io::Result<&dyn WritableFile> {
        if !self.files.contains_key(name) {
            let file = match self.directory.open_writable(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.has_changed_names = true;
                    self.directory.create(name)?
                }
                opened => opened?,
            };
            self.files.insert(name.to_owned(), file);
        }
        let file = self.files.get(name).map(AsRef::as_ref);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// What records do to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It is removed, and that is all.
    Goes,
    /// It is written; what lies from here on nobody looks at before.
    Grows(u64),
    /// More than that.
    Other,
}

/// The part of a write that concerns what lies behind the end that the file
/// had, or all but that; and where it begins.
fn part_of(offset: u64, bytes: &[u8], course: Course, is_behind: bool) -> (u64, &[u8]) {
    let end = match course {
        Course::Grows(end) => end,
        Course::Goes | Course::Other => u64::MAX,
    };
    let before = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
    let (before, behind) = bytes.split_at(before.min(bytes.len()));
    if is_behind {
        (offset.max(end), behind)
    } else {
        (offset, before)
    }
}

fn courses(records: &[Arc<Record>]) -> BTreeMap<&OsStr, Course> {
    let mut courses = BTreeMap::new();
    for record in records {
        for step in &record.steps {
            let Some(before) = record.files.get(step.file) else {
                continue;
            };
            let end = before.len.unwrap_or(FIRST_BYTES);
            let alone = match &step.action {
                Action::Remove => Course::Goes,
                Action::Create if before.len.is_none() => Course::Grows(end),
                Action::Write { .. } => Course::Grows(end),
                Action::Create | Action::SetLen(_) => Course::Other,
            };
            courses
                .entry(before.name.as_os_str())
                .and_modify(|course| {
                    *course = match (*course, alone) {
                        (Course::Goes, Course::Goes) => Course::Goes,
                        (Course::Grows(end), Course::Grows(_)) => Course::Grows(end),
                        _ => Course::Other,
                    }
                })
                .or_insert(alone);
        }
    }
    courses
}
