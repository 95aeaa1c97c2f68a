//! Cache times and kernel features of a mount, which depend on whether it is
//! writable.

use std::time::Duration;

use fuser::{InitFlags, KernelConfig, Version};

use super::ReadDirPlus;
use crate::vfs::{Attr, NodeKind, Size};

/// Time for which the kernel may cache what is invalidated when it changes.
const KEEP: Duration = Duration::from_secs(86_400);

/// Time for which the kernel may cache directories, which are few; missing
/// names; and content that others may change without an invalidation.
const KEEP_BRIEFLY: Duration = Duration::from_secs(1);

/// Cache time of values that could not be read or will change soon: the kernel
/// asks each time.
pub(super) const ASK_AGAIN: Duration = Duration::ZERO;

/// First protocol version with epochs.
const EPOCHS: Version = Version(7, 44);

/// Number of games up to which directories are always listed with attributes.
/// Without them, a listing does not need the length of each game, nor memory of
/// the kernel.
const SMALL_BASE: u64 = 50_000;

/// Maximum number of pending requests of the kernel for read-ahead.
const MAX_BACKGROUND: u16 = 64;

/// Maximum size of a write request, in bytes.
const MAX_WRITE: u32 = 1 << 20;

/// Caching behaviour of a mount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// Whether the mount is writable. If so, the kernel sends each open to
    /// cbfs, and keeps its pages only when told that the content is the same.
    pub(super) is_writable: bool,
    pub(super) features: Features,
}

/// Features of the kernel; none until it has reported them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Features {
    /// The kernel accepts that `open` is not implemented, and skips it.
    pub(super) can_skip_open: bool,
    pub(super) can_skip_opendir: bool,
    /// The kernel can invalidate all names at once.
    has_epochs: bool,
}

impl Profile {
    pub(super) fn new(is_writable: bool) -> Profile {
        Profile {
            is_writable,
            features: Features::default(),
        }
    }

    /// Requests the features of the kernel that this profile needs. `files` is
    /// the number of files of the largest volume.
    pub(super) fn negotiate(
        &mut self,
        config: &mut KernelConfig,
        readdirplus: ReadDirPlus,
        files: u64,
    ) {
        let mut wanted = vec![
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
        ];
        wanted.extend(readdirplus_flags(readdirplus, files));
        if self.is_writable {
            wanted.extend([
                InitFlags::FUSE_AUTO_INVAL_DATA,
                InitFlags::FUSE_ATOMIC_O_TRUNC,
                // Locks of the kernel would be those of nodes, of which a file
                // has several.
                InitFlags::FUSE_FLOCK_LOCKS,
                InitFlags::FUSE_POSIX_LOCKS,
                // There are no set-user-ID bits to clear.
                InitFlags::FUSE_HANDLE_KILLPRIV,
            ]);
        } else {
            wanted.push(InitFlags::FUSE_EXPLICIT_INVAL_DATA);
        }
        // One unsupported feature makes fuser refuse all, so they are requested
        // one by one.
        for flags in wanted {
            if let Err(missing) = config.add_capabilities(flags) {
                log::debug!("the kernel has no {missing:?}");
            }
        }
        if !self.is_writable {
            let mut can_skip = |flag| config.add_capabilities(flag).is_ok();
            self.features.can_skip_open = can_skip(InitFlags::FUSE_NO_OPEN_SUPPORT);
            self.features.can_skip_opendir = can_skip(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        }
        self.features.has_epochs = config.kernel_abi() >= EPOCHS;
        // fuser accepts both numbers.
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_max_write(MAX_WRITE);
    }

    /// Cache times of a name and its attributes. `is_settled` means that it
    /// stays unchanged until something writes to it.
    pub(super) fn keep(self, attr: &Attr, is_settled: bool) -> (Duration, Duration) {
        match attr.kind {
            _ if !is_settled => (ASK_AGAIN, ASK_AGAIN),
            NodeKind::Directory => (KEEP_BRIEFLY, KEEP_BRIEFLY),
            // The length changes with each save of a game in it.
            NodeKind::File(size) if self.is_writable && size != Size::Rendered => {
                (KEEP_BRIEFLY, ASK_AGAIN)
            }
            // A save can change more than the names that the kernel knows.
            _ if self.is_writable && self.features.has_epochs => (KEEP_BRIEFLY, KEEP_BRIEFLY),
            _ if self.is_writable => (ASK_AGAIN, ASK_AGAIN),
            _ if self.features.has_epochs => (KEEP, KEEP),
            _ => (KEEP_BRIEFLY, KEEP),
        }
    }

    /// Cache time of the information that a name does not exist.
    pub(super) fn keep_absence(self) -> Duration {
        if self.is_writable && !self.features.has_epochs {
            // A save may create it, without an invalidation.
            ASK_AGAIN
        } else {
            KEEP_BRIEFLY
        }
    }
}

fn readdirplus_flags(readdirplus: ReadDirPlus, files: u64) -> Option<InitFlags> {
    let plus = InitFlags::FUSE_DO_READDIRPLUS;
    let auto = InitFlags::FUSE_READDIRPLUS_AUTO;
    match readdirplus {
        ReadDirPlus::On => Some(plus),
        ReadDirPlus::BySize if files <= SMALL_BASE => Some(plus),
        ReadDirPlus::Auto | ReadDirPlus::BySize => Some(plus | auto),
        ReadDirPlus::Off => None,
    }
}
