//! A base of the older format taken to change it, or why it is read-only.

use std::io;

use super::Error;
use crate::cbh::{self, FileKind};
use crate::storage::{self, Store, StoreAccess};

/// So many moments another writer is waited for that is about to end.
const MOST_WAITS: u32 = 500;

/// Takes a base to change it, as the writer with this label. `is_ending` says
/// whether the writer that has it is about to let go of it, and takes a moment
/// if so.
///
/// # Errors
///
/// As [`cbh::Family::store`].
pub fn take(
    family: &cbh::Family,
    label: &str,
    is_ending: fn(&str) -> bool,
) -> Result<Store, Error> {
    let mut waits = 0..MOST_WAITS;
    loop {
        let taken = family.store(StoreAccess::ReadWrite, label);
        let is_waiting = match &taken {
            Err(Error::Store {
                source: storage::Error::InUse { label, .. },
                ..
            }) => waits.next().is_some() && is_ending(label),
            _ => false,
        };
        if !is_waiting {
            return taken;
        }
    }
}

/// The reason to show a base read-only that cannot be opened to change it; `None`
/// if it cannot be shown either, or another process has it.
pub fn read_only_after(family: &cbh::Family, error: &Error) -> Option<String> {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error {
        Error::Store {
            source: storage::Error::Untrusted { .. },
            ..
        } => Some(format!(
            "{error}; the base is mounted read-only, without the saves in that journal: unmount it, do \
            one of these, and mount it again"
        )),
        Error::Store {
            source: storage::Error::Renamed { .. },
            ..
        } => Some(format!(
            "{error}; until then it is shown without them, to read only"
        )),
        Error::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded) => {
            Some(without_room(family, error))
        }
        Error::Io { source, .. }
            if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
        {
            Some(error.to_string())
        }
        error => is_of_another_base(error).then(|| {
            format!(
                "{error}; the base is shown without it, to read only: unmount, move it away, and \
                 mount again"
            )
        }),
    }
}

/// What is told of a base that has saves in its journal and no room for them,
/// or none for a journal.
fn without_room(family: &cbh::Family, error: &Error) -> String {
    let journal = family.directory().join(family.journal());
    let base = family.default_path(FileKind::Headers);
    let base = base.display();
    let is_of_journal = matches!(error, Error::Io { file, .. } if *file == journal);
    if is_of_journal {
        return format!("{error}: there is no room to save; make room and mount {base} again");
    }
    format!(
        "{error}: nothing is lost, but there is no room to bring the saves in {} into the base; \
         they are shown, to read only; make room and run `cbfs check --repair {base}`, or mount \
         it again",
        journal.display()
    )
}

/// Whether the journal beside a base is not one of it.
fn is_of_another_base(error: &Error) -> bool {
    use storage::Error::{DoesNotFit, Unreadable};
    matches!(
        error,
        Error::Store {
            source: DoesNotFit { .. } | Unreadable { .. },
            ..
        }
    )
}
