//! A connection to the kernel that another program has opened and mounted, as
//! `mount.fuse3 -o drop_privileges` does, and handed over as `/dev/fd/N` in place
//! of a directory.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::sys::stat::{major, minor};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// The device number of `/dev/fuse`, as Linux's list of devices has it.
const DEVICE: (u64, u64) = (10, 229);

/// The descriptor that a path names, as `/dev/fd/5` does.
pub fn descriptor_of(mountpoint: &Path) -> Option<i32> {
    let number = mountpoint.strip_prefix("/dev/fd").ok()?.to_str()?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok())?
}

/// Checks that a descriptor is an open `/dev/fuse`.
///
/// # Errors
///
/// Says what it is instead.
pub fn ensure_is_fuse(descriptor: i32) -> Result<(), String> {
    let metadata = fs::metadata(format!("/proc/self/fd/{descriptor}"));
    let metadata = metadata.map_err(|_| "no open descriptor".to_owned())?;
    let device = (major(metadata.rdev()), minor(metadata.rdev()));
    if metadata.file_type().is_char_device() && device == DEVICE {
        return Ok(());
    }
    Err("no open /dev/fuse".to_owned())
}

/// Returns a duplicate of a descriptor of this process.
///
/// # Errors
///
/// Those of `pidfd_getfd(2)`, which Linux has since 5.6.
pub(super) fn duplicate(descriptor: i32) -> io::Result<OwnedFd> {
    // The standard library has no safe way from a number to what it stands for.
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn only_names_of_descriptors_are_descriptors() {
        for (path, descriptor) in [
            ("/dev/fd/5", Some(5)),
            ("/dev/fd/", None),
            ("/dev/fd/5/a", None),
            ("/dev/fd/+5", None),
            ("/dev/fd/99999999999", None),
            ("/mnt/5", None),
            ("5", None),
        ] {
            assert_eq!(descriptor_of(Path::new(path)), descriptor, "{path}");
        }
    }

    #[test]
    fn a_descriptor_is_duplicated_and_told_from_the_device() {
        let file = File::open("Cargo.toml").unwrap();
        assert_eq!(
            ensure_is_fuse(file.as_raw_fd()),
            Err("no open /dev/fuse".to_owned())
        );
        assert!(ensure_is_fuse(i32::MAX).is_err());
        let mut text = String::new();
        let mut copy = File::from(duplicate(file.as_raw_fd()).unwrap());
        copy.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("[package]"));
        if let Ok(device) = File::options().read(true).write(true).open("/dev/fuse") {
            assert_eq!(ensure_is_fuse(device.as_raw_fd()), Ok(()));
        }
    }
}
