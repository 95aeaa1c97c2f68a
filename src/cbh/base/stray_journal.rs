//! Journals of bases that are not there: a base that is renamed by `mv base.* …`
//! leaves its journal, which is hidden, and with it the saves that are not in its files
//! yet.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::family::Family;
use crate::storage::{DiskDirectory, has_saves, is_same_stem, names_in, split_name};

/// Those that were told: each base of a directory would tell them again.
static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Warns once of each journal in a directory that belongs to a base which is not there.
pub(super) fn warn(directory: &Path, lost: &[OsString]) {
    for lost in lost {
        let journal = directory.join(Family::journal_of(lost));
        if TOLD.lock().insert(journal.clone()) {
            log::warn!(
                "{}: saves of a database {}, which is not here; if it was renamed, give it that \
                 name again, and they are brought in; if it is gone, remove this file",
                journal.display(),
                lost.display()
            );
        }
    }
}

/// The stems of bases that are not in a directory, although it has journals of them with
/// saves.
pub(super) fn lost_in(directory: &Path, files: &DiskDirectory) -> Vec<OsString> {
    let (mut lost, mut here) = (Vec::new(), Vec::new());
    // What cannot be listed is no reason to do without the base.
    for name in names_in(directory).unwrap_or_default() {
        if let Some(stem) = Family::stem_of_journal(&name) {
            lost.push(stem.to_owned());
        } else if let (stem, extension) = split_name(Path::new(&name))
            && extension == "cbh"
        {
            here.push(stem);
        }
    }
    let is_here = |stem: &OsString| here.iter().any(|base| is_same_stem(base, stem));
    lost.retain(|stem| !is_here(stem) && has_saves(files, &Family::journal_of(stem)));
    lost.sort();
    lost
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::mem;
    use std::time::SystemTime;

    use super::*;
    use crate::cbh::base::samples;
    use crate::cbh::{Error, GameId, OpenBase, Options, Saver};
    use crate::storage::{self, StoreAccess};

    /// Gives the files of a base another name, as `mv` does: but for the hidden ones.
    fn rename(folder: &Path, from: &str, to: &str) {
        for name in names_in(folder).unwrap() {
            let name = name.to_str().unwrap();
            if let Some(rest) = name.strip_prefix(&format!("{from}.")) {
                let new = folder.join(format!("{to}.{rest}"));
                fs::rename(folder.join(name), new).unwrap();
            }
        }
    }

    #[test]
    fn a_journal_without_saves_is_nothing_to_tell_of() {
        let (copy, path) = samples::copy_of("sample");
        let files = DiskDirectory::open(copy.path(), "sample.cbh").unwrap();
        let _base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        rename(copy.path(), "sample", "other");
        assert!(copy.path().join(".sample.cbfs-journal").exists());
        assert!(lost_in(copy.path(), &files).is_empty());
    }

    #[test]
    fn a_base_is_not_saved_to_while_saves_of_its_former_name_are_left() {
        let (copy, path) = samples::copy_of("sample");
        let folder = copy.path();
        let files = DiskDirectory::open(folder, "sample.cbh").unwrap();
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        saver.set_deleted(GameId(1), true).unwrap();
        let plan = saver.finish().unwrap();
        base.store.commit(&plan.transaction).unwrap();
        // The machine stops here.
        mem::forget(base);
        rename(folder, "sample", "other");
        assert_eq!(lost_in(folder, &files), ["sample"]);
        let opened = |name: &str, access| {
            let family = Family::locate(&folder.join(name)).unwrap();
            family.store(access, "").map(drop)
        };
        let refused = opened("other.cbh", StoreAccess::ReadWrite).unwrap_err();
        let is_renamed = matches!(
            refused,
            Error::Store {
                source: storage::Error::Renamed { .. },
                ..
            }
        );
        assert!(is_renamed, "{refused}");
        opened("other.cbh", StoreAccess::ReadOnly).unwrap();
        // Those of another base say nothing of this one.
        let (another, _) = samples::copy_of("oldheaders");
        for name in names_in(another.path()).unwrap() {
            fs::copy(another.path().join(&name), folder.join(&name)).unwrap();
        }
        opened("oldheaders.cbh", StoreAccess::ReadWrite).unwrap();
        rename(folder, "other", "sample");
        assert!(lost_in(folder, &files).is_empty());
    }
}
