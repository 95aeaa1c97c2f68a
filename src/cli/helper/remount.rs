//! `mount -o remount,ro`: makes a mount read-only in the kernel, or writable again.
//!
//! The daemon goes on as it is. What was saved before is on the disk afterwards.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::cli::Failure;
use crate::fuse::mount_at;

/// The option that asks for it.
pub(super) const REMOUNT: &str = "remount";

/// Flags of mount(8) that the kernel can change, with the word for each and for its
/// contrary.
const FLAGS: [(&str, &str, MsFlags, FsFlags); 6] = [
    ("ro", "rw", MsFlags::MS_RDONLY, FsFlags::ST_RDONLY),
    ("nosuid", "suid", MsFlags::MS_NOSUID, FsFlags::ST_NOSUID),
    ("nodev", "dev", MsFlags::MS_NODEV, FsFlags::ST_NODEV),
    ("noexec", "exec", MsFlags::MS_NOEXEC, FsFlags::ST_NOEXEC),
    ("noatime", "atime", MsFlags::MS_NOATIME, FsFlags::ST_NOATIME),
    (
        "sync",
        "async",
        MsFlags::MS_SYNCHRONOUS,
        FsFlags::ST_SYNCHRONOUS,
    ),
];

/// Changes what the kernel allows in a mount. The other options of fstab stay as they
/// were mounted.
pub(super) fn run(directory: &Path, options: &str) -> Result<(), Failure> {
    let about = |why: &dyn std::fmt::Display| Failure::about(directory, why);
    let place = directory.canonicalize().map_err(|error| about(&error))?;
    let mounted = mount_at(&place).map_err(|error| about(&error))?;
    if !mounted.is_some_and(|mounted| mounted.is_cbfs()) {
        return Err(about(&"nothing of cbfs is mounted there"));
    }
    let present = statvfs(&place).map_err(|error| about(&io::Error::from(error)))?;
    let flags = flags(present.flags(), options);
    if !flags.contains(MsFlags::MS_RDONLY) {
        ensure_can_be_written(&place).map_err(|why| about(&why))?;
    } else if let Err(error) = File::open(&place).and_then(|directory| directory.sync_all()) {
        return Err(about(&error));
    }
    let none = None::<&Path>;
    let changed = mount(none, &place, none, flags | MsFlags::MS_REMOUNT, none);
    changed.map_err(|errno| match errno {
        Errno::EBUSY => about(&"a file in it is open to be written; close it first"),
        errno => about(&io::Error::from(errno)),
    })
}

/// The flags that are set, changed by words of `options`, of which the last counts.
fn flags(present: FsFlags, options: &str) -> MsFlags {
    let mut flags = MsFlags::empty();
    for (word, contrary, flag, set) in FLAGS {
        let mut said = options
            .split(',')
            .filter(|option| [word, contrary].contains(option));
        let is_set = said
            .next_back()
            .map_or(present.contains(set), |it| it == word);
        flags.set(flag, is_set);
    }
    flags
}

/// A daemon that mounted read-only has nothing to write with.
fn ensure_can_be_written(directory: &Path) -> Result<(), String> {
    let status = directory.join(".cbfs/status.json");
    let text = fs::read(&status).map_err(|error| error.to_string())?;
    let status: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if status.get("read_only").is_some_and(|it| it == false) {
        return Ok(());
    }
    Err("it was mounted read-only; unmount it, and mount it again".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_and_what_is_not_said_stays() {
        let present = FsFlags::ST_NOSUID | FsFlags::ST_NODEV;
        for (options, expected) in [
            ("remount", MsFlags::MS_NOSUID | MsFlags::MS_NODEV),
            (
                "remount,ro,dev,uid=7",
                MsFlags::MS_NOSUID | MsFlags::MS_RDONLY,
            ),
            ("ro,suid,remount,rw", MsFlags::MS_NODEV),
        ] {
            assert_eq!(flags(present, options), expected, "{options}");
        }
    }
}
