//! What the kernel may keep: a read-only mount and a writable one differ in
//! little else.

use std::time::Duration;

use fuser::{InitFlags, KernelConfig, Version};

use super::ReadDirPlus;
use crate::vfs::{Attr, NodeKind, Size};

/// How long the kernel may keep what it was told: until it is told otherwise.
const KEEP: Duration = Duration::from_hours(24);

/// How long it may keep what there are few of (directories), what may be of
/// no use soon (that there is no such name), or what others may change while
/// nobody tells.
const KEEP_BRIEFLY: Duration = Duration::from_secs(1);

/// For what could not be told, or is another one soon: the kernel asks again
/// each time.
pub(super) const ASK_AGAIN: Duration = Duration::ZERO;

/// The first version of the protocol with epochs.
const EPOCHS: Version = Version(7, 44);

/// Largest base whose directories are always listed with attributes. Listing
/// names alone then costs a length per game, and memory in the kernel.
const SMALL_BASE: u64 = 50_000;

/// Requests the kernel may have under way for read-ahead.
const MAX_BACKGROUND: u16 = 64;

/// Largest piece that is written at once, in bytes.
const MAX_WRITE: u32 = 1 << 20;

/// How a mount serves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// Whether files can be written. The kernel sees each open then, and keeps
    /// what it has read while that is told to be the same.
    pub(super) is_writable: bool,
    pub(super) abilities: Abilities,
}

/// What the kernel can do; nothing until it has said so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    /// Takes "no such call" for "need not be asked".
    pub(super) can_skip_open: bool,
    pub(super) can_skip_opendir: bool,
    /// Can be told to ask again for every name.
    has_epochs: bool,
}

impl Profile {
    pub(super) fn new(is_writable: bool) -> Profile {
        Profile {
            is_writable,
            abilities: Abilities::default(),
        }
    }

    /// Asks the kernel for what this profile needs; `files` is how many the
    /// largest volume may have.
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
                // Its own would be of nodes, of which a file has several.
                InitFlags::FUSE_FLOCK_LOCKS,
                InitFlags::FUSE_POSIX_LOCKS,
                // There are no set-user-ID bits to be cleared at a write.
                InitFlags::FUSE_HANDLE_KILLPRIV,
            ]);
        } else {
            wanted.push(InitFlags::FUSE_EXPLICIT_INVAL_DATA);
        }
        // A refusal refuses all that was asked for at once.
        for flags in wanted {
            if let Err(missing) = config.add_capabilities(flags) {
                log::debug!("the kernel has no {missing:?}");
            }
        }
        if !self.is_writable {
            let mut can_skip = |flag| config.add_capabilities(flag).is_ok();
            self.abilities.can_skip_open = can_skip(InitFlags::FUSE_NO_OPEN_SUPPORT);
            self.abilities.can_skip_opendir = can_skip(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        }
        self.abilities.has_epochs = config.kernel_abi() >= EPOCHS;
        // Neither number is refused by fuser.
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_max_write(MAX_WRITE);
    }

    /// How long the kernel may keep a name of this, and its attributes.
    /// `is_settled` says that it stays as it is until somebody changes it.
    pub(super) fn keep(self, attr: &Attr, is_settled: bool) -> (Duration, Duration) {
        match attr.kind {
            _ if !is_settled => (ASK_AGAIN, ASK_AGAIN),
            NodeKind::Directory => (KEEP_BRIEFLY, KEEP_BRIEFLY),
            // Another length with each save of a game that is in it.
            NodeKind::File(size) if self.is_writable && size != Size::Rendered => {
                (KEEP_BRIEFLY, ASK_AGAIN)
            }
            // Whoever writes changes more than the kernel knows of.
            _ if self.is_writable && self.abilities.has_epochs => (KEEP_BRIEFLY, KEEP_BRIEFLY),
            _ if self.is_writable => (ASK_AGAIN, ASK_AGAIN),
            _ if self.abilities.has_epochs => (KEEP, KEEP),
            _ => (KEEP_BRIEFLY, KEEP),
        }
    }

    /// How long the kernel may keep that there is no such name.
    pub(super) fn keep_absence(self) -> Duration {
        if self.is_writable && !self.abilities.has_epochs {
            // A save may make it, and nobody could tell.
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
