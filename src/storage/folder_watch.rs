//! Whether files and folders may have changed, by what `stat` says of them.

use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder that has changed is listed again so many times: a file system
/// whose clock ticks slowly may not show a second change by its time.
const RELISTINGS: u32 = 4;

/// A line that differs whenever the content of the file could differ.
pub fn identity(stat: &Metadata) -> String {
    let mut line = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        line,
        "{}:{}:{}:{}.{}:{}.{}",
        stat.dev(),
        stat.ino(),
        stat.size(),
        stat.mtime(),
        stat.mtime_nsec(),
        stat.ctime(),
        stat.ctime_nsec()
    );
    line
}

/// A line that differs whenever the content of one of the files could differ.
pub fn identities<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let mut line = String::new();
    for path in paths {
        line.push_str(&present_identity(path));
        line.push(' ');
    }
    line
}

/// The identity of the file that has this path now, or why it has none.
fn present_identity(path: &Path) -> String {
    fs::metadata(path).map_or_else(|error| error.to_string(), |stat| identity(&stat))
}

/// Time of the last change of a file; 1970 if it does not exist.
pub fn modified(path: &Path) -> SystemTime {
    let stat = fs::metadata(path);
    stat.and_then(|stat| stat.modified()).unwrap_or(UNIX_EPOCH)
}

/// Whether a folder has to be listed again.
#[derive(Debug, Default)]
pub struct Relisting {
    identity: String,
    left: u32,
}

impl Relisting {
    /// Returns whether the names in the folder may differ from those at the
    /// last call.
    pub fn is_due(&mut self, folder: &Path) -> bool {
        let identity = present_identity(folder);
        if identity != self.identity {
            self.identity = identity;
            self.left = RELISTINGS;
        }
        let is_due = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_due
    }

    /// Notes that the folder could not be listed: so it has to be again.
    pub fn note_failure(&mut self) {
        self.identity.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_could_not_be_listed_is_listed_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut relisting = Relisting::default();
        while relisting.is_due(folder.path()) {}
        relisting.note_failure();
        assert!(relisting.is_due(folder.path()));
    }

    #[test]
    fn a_folder_is_listed_again_until_its_clock_has_ticked() {
        let folder = tempfile::tempdir().unwrap();
        let mut relisting = Relisting::default();
        let mut due = || (0..8).filter(|_| relisting.is_due(folder.path())).count();
        assert_eq!(due(), 4);
        assert_eq!(due(), 0);
        fs::write(folder.path().join("x"), "").unwrap();
        assert_eq!(due(), 4);
    }

    #[test]
    fn files_that_may_have_changed_have_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let all = || identities(paths.iter().map(AsRef::as_ref));
        let mut seen = vec![all()];
        assert_eq!(modified(&paths[0]), UNIX_EPOCH);
        for (path, text) in [(&paths[0], "1"), (&paths[1], "2"), (&paths[1], "33")] {
            fs::write(path, text).unwrap();
            seen.push(all());
        }
        let time = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let file = fs::File::options().write(true).open(&paths[0]).unwrap();
        file.set_modified(time).unwrap();
        assert_eq!(modified(&paths[0]), time);
        seen.push(all());
        assert_eq!(all(), seen[4]);
        let different: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(different.len(), seen.len());
    }
}
