//! Mounted file systems, from `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountInfo {
    /// Id of the mount. It can be reused after unmounting.
    pub id: String,
    /// Device number, `major:minor`. It identifies the mounted file system; the
    /// minor number is that of the FUSE connection.
    pub device: String,
    /// The mount point.
    pub mountpoint: PathBuf,
    /// Type of the file system, such as `fuse.cbfs`.
    pub kind: String,
    /// The mounted source.
    pub source: OsString,
}

impl MountInfo {
    /// Whether cbfs serves it: its type is `fuse.` and the name that the program was
    /// called by, as a helper of mount(8) or mount.fuse(8) too.
    pub fn is_cbfs(&self) -> bool {
        let names = ["cbfs", "mount.cbfs", "mount.fuse.cbfs"];
        let called = self.kind.strip_prefix("fuse.");
        let name = called.and_then(|path| path.rsplit('/').next());
        name.is_some_and(|name| names.contains(&name))
    }
}

/// Returns the topmost mount at `mountpoint`. The path must be canonical;
/// nothing at it is accessed.
///
/// # Errors
///
/// If `/proc` is not available.
pub fn mount_at(mountpoint: &Path) -> io::Result<Option<MountInfo>> {
    let mut mounts = all()?.into_iter();
    Ok(mounts.rfind(|mount| mount.mountpoint == mountpoint))
}

/// Returns where cbfs is mounted.
///
/// # Errors
///
/// If `/proc` is not available.
pub fn mount_points() -> io::Result<Vec<PathBuf>> {
    let ours = all()?.into_iter().filter(MountInfo::is_cbfs);
    Ok(ours.map(|mount| mount.mountpoint).collect())
}

fn all() -> io::Result<Vec<MountInfo>> {
    let lines = fs::read("/proc/self/mountinfo")?;
    Ok(lines
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .collect())
}

/// Parses `36 35 0:57 / /mnt ro,nosuid shared:1 - fuse.cbfs /base.cbh
/// ro,user_id=0`.
fn parse(line: &[u8]) -> Option<MountInfo> {
    let mut fields = line.split(|byte| *byte == b' ');
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let id = text(fields.next()?);
    let device = text(fields.nth(1)?);
    let mountpoint = unescape(fields.nth(1)?);
    fields.find(|field| *field == b"-")?;
    Some(MountInfo {
        id,
        device,
        mountpoint: PathBuf::from(mountpoint),
        kind: text(fields.next()?),
        source: unescape(fields.next()?),
    })
}

/// Decodes escapes such as `\040`, which stand for blanks, tabs, line ends and
/// backslashes.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .first_chunk::<3>()
            .filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some([a, b, c]) = digits {
            let value = u32::from(a - b'0') * 64 + u32::from(b - b'0') * 8 + u32::from(c - b'0');
            bytes.push(u8::try_from(value).unwrap_or(b'?'));
            rest = after.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(bytes)
}

/// Returns a mount point as `/proc` shows it: absolute, without symbolic links.
/// The last component is not accessed, because access to a mount with a stuck
/// daemon would block.
///
/// # Errors
///
/// If the parent directory does not exist.
pub fn canonical(mountpoint: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(mountpoint)?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) if name.as_bytes() != b".." => {
            Ok(parent.canonicalize()?.join(name))
        }
        _ => absolute.canonicalize(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_read() {
        let line = br"36 35 0:57 / /mnt/my\040base ro,nosuid shared:1 master:2 - fuse.cbfs /a\134b,c.cbh ro";
        let mount = parse(line).unwrap();
        assert_eq!((mount.id.as_str(), mount.device.as_str()), ("36", "0:57"));
        assert_eq!(mount.mountpoint, Path::new("/mnt/my base"));
        assert_eq!(mount.kind, "fuse.cbfs");
        assert!(mount.is_cbfs());
        let of_kind = |kind: &str| MountInfo {
            kind: kind.to_owned(),
            ..mount.clone()
        };
        assert!(of_kind("fuse.mount.fuse.cbfs").is_cbfs());
        assert!(of_kind("fuse./sbin/mount.fuse.cbfs").is_cbfs());
        assert!(!of_kind("fuse.sshfs").is_cbfs() && !of_kind("cbfs").is_cbfs());
        assert_eq!(mount.source, r"/a\b,c.cbh");
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 0:57 / /mnt ro - fuse"), None);
    }

    #[test]
    fn the_root_is_mounted() {
        assert!(mount_at(Path::new("/")).unwrap().is_some());
        assert_eq!(mount_at(Path::new("/no/such/path")).unwrap(), None);
    }
}
