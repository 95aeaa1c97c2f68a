//! Bringing saves from the journal into the files of the base.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::record::{Action, Record};
use super::{Directory, Error, Stamp, WritableFile};

/// The files that are being written.
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
        for record in records {
            for step in &record.steps {
                if let Some(name) = record.file(step) {
                    self.step(name, &step.action, record)
                        .map_err(Error::io(name))?;
                }
            }
        }
        for (name, file) in &self.files {
            file.sync().map_err(Error::io(name))?;
        }
        if self.has_changed_names {
            self.directory.sync().map_err(Error::io(OsStr::new(".")))?;
        }
        Ok(())
    }

    /// The stamp a file was left with; `None` if it is not there, or was only
    /// looked for.
    pub(super) fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        self.files.get(name).map(|file| file.stamp()).transpose()
    }

    fn step(&mut self, name: &OsStr, action: &Action, record: &Record) -> io::Result<()> {
        match action {
            Action::Remove => {
                self.has_changed_names = true;
                self.files.remove(name);
                match self.directory.remove(name) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
            Action::Create => {
                // Its name may not have been synced when this was done before.
                self.has_changed_names = true;
                self.file(name)?.set_len(0)
            }
            Action::Write { offset, new, .. } => {
                self.file(name)?.write_at(*offset, record.part(new))
            }
            Action::SetLen(len) => self.file(name)?.set_len(*len),
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
