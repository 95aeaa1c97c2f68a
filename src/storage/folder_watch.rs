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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
