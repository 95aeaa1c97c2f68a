//! Journals of bases that are not there: a base that is renamed by `mv base.* …`
//! leaves its journal, which is hidden, and with it the saves that are not in its files
//! yet.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::family::Family;
use crate::storage::{is_same_stem, names_in, split_name};

/// Those that were told: each base of a directory would tell them again.
static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Warns once of each journal in a directory that belongs to no base there.
pub(super) fn warn(directory: &Path) {
    // What cannot be listed is no reason to do without the base.
    for lost in stray_in(directory).unwrap_or_default() {
        let journal = directory.join(Family::journal_of(&lost));
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

/// The stems of bases that are not in a directory, although it has their journals.
fn stray_in(directory: &Path) -> io::Result<Vec<OsString>> {
    let (mut lost, mut here) = (Vec::new(), Vec::new());
    for name in names_in(directory)? {
        if let Some(stem) = Family::stem_of_journal(&name) {
            lost.push(stem.to_owned());
        } else if let (stem, extension) = split_name(Path::new(&name))
            && extension == "cbh"
        {
            here.push(stem);
        }
    }
    let has_content = |stem: &OsString| {
        let journal = directory.join(Family::journal_of(stem));
        fs::symlink_metadata(journal).is_ok_and(|stat| stat.is_file() && stat.len() > 0)
    };
    let is_here = |stem: &OsString| here.iter().any(|base| is_same_stem(base, stem));
    lost.retain(|stem| !is_here(stem) && has_content(stem));
    lost.sort();
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_stray_whose_base_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for name in [".a.cbfs-journal", ".b.c.cbfs-journal", ".x.cbfs-journal"] {
            write(name, "saves");
        }
        write(".empty.cbfs-journal", "");
        write("x.CBH", "");
        write("b.cbh", "");
        write("a.cbg", "");
        assert_eq!(stray_in(folder.path()).unwrap(), ["a", "b.c"]);
        write("A.cbh", "");
        write("b.c.cbh", "");
        assert!(stray_in(folder.path()).unwrap().is_empty());
        assert!(stray_in(&folder.path().join("nothing")).is_err());
    }
}
