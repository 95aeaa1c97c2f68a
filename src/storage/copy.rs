//! Durable copies of files.

use std::ffi::{OsStr, OsString};
use std::io;

use super::{Error, Storage, Store, WritableFile};

/// Number of bytes copied at once.
const AT_ONCE: usize = 1 << 20;

impl Store {
    /// Copies a file, with saves that are only in the journal, to the first of
    /// `names` that is free. When this returns, the copy survives a power cut.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: there is no copy then. `NotFound` if the file does not
    /// exist, `AlreadyExists` if no name is free.
    pub fn copy(
        &self,
        name: &OsStr,
        names: impl IntoIterator<Item = OsString>,
    ) -> Result<(), Error> {
        let missing = || Error::io(name)(io::ErrorKind::NotFound.into());
        let from = self.file(name)?.ok_or_else(missing)?;
        for copy in names {
            let to = match self.directory().create(&copy) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(Error::io(&copy))?,
            };
            let copied = copy_all(from.as_ref(), to.as_ref());
            if let Err(error) = copied.and_then(|()| self.directory().sync()) {
                // A partial copy is removed.
                let _ = self.directory().remove(&copy);
                return Err(Error::io(&copy)(error));
            }
            return Ok(());
        }
        Err(Error::io(name)(io::ErrorKind::AlreadyExists.into()))
    }
}

fn copy_all(from: &dyn Storage, to: &dyn WritableFile) -> io::Result<()> {
    let len = from.len()?;
    let (mut at, mut bytes) = (0, Vec::new());
    while at < len {
        let part = usize::try_from(len - at).unwrap_or(AT_ONCE).min(AT_ONCE);
        from.fill(at, part, &mut bytes)?;
        // Another program cut it short.
        if bytes.len() < part {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += part as u64;
        // Holes stay holes. The last byte is written in any case, for the
        // length.
        if at == len || !is_empty(&bytes) {
            to.write_at(at - part as u64, &bytes)?;
        }
    }
    to.sync()
}

fn is_empty(bytes: &[u8]) -> bool {
    let zeros = [0; 4096];
    let mut parts = bytes.chunks(zeros.len());
    parts.all(|part| zeros.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryDirectory, SimulatedFailure, Transaction};

    #[test]
    fn a_copy_under_the_first_free_name_has_saves_and_holes() {
        let directory = MemoryDirectory::new();
        let mut bytes = vec![0; 3 * AT_ONCE];
        bytes[7] = 7;
        directory.put("a", bytes.clone());
        directory.put("a.1", "taken");
        let store = Store::of_any_files(&directory).unwrap();
        let mut change = Transaction::new();
        change.write("a", 5, *b"saved");
        store.commit(&change).unwrap();
        bytes[5..10].copy_from_slice(b"saved");
        let copy = |name: &str, names: &[&str]| {
            let copied = store.copy(OsStr::new(name), names.iter().map(OsString::from));
            copied.map_err(|error| error.to_string())
        };
        copy("a", &["a.1", "a.2", "a.3"]).unwrap();
        let files = directory.files();
        assert!(files[OsStr::new("a.2")] == bytes);
        assert!(!files.contains_key(OsStr::new("a.3")));
        assert_eq!(files[OsStr::new("a.1")], b"taken");
        assert!(copy("a", &["a.1", "a.2"]).is_err());
        assert!(copy("missing", &["a.4"]).is_err());
        // Nothing is left of a copy that fails, and no other name is tried.
        let mut failed = 0;
        loop {
            directory.fail_at(
                directory.operations() + failed,
                SimulatedFailure::PASSING[2],
            );
            let Err(error) = copy("a", &["a.4", "a.5"]) else {
                break;
            };
            assert!(error.starts_with("a.4: "), "{error}");
            assert_eq!(directory.files().len(), 4, "{failed}");
            failed += 1;
        }
        // It is made, written in two parts, and synced with its name.
        assert_eq!(failed, 5);
    }
}
