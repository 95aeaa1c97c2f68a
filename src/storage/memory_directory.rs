//! A simulated folder in memory, with power cuts, for tests.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use super::directory::{several_names, stranger};
use super::{Directory, OpenFile, ReadBuffer, Stamp, Storage, WritableFile};

/// Media write this many bytes atomically.
const SECTOR: usize = 512;

/// A folder in memory with the worst permitted behaviour. A power cut loses any
/// part of what was not synced, also names. A failed sync has lost the data,
/// which can still be read until the power cut.
///
/// It counts the operations that change or sync something, and can make any of
/// them fail.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirectory {
    machine: Arc<Mutex<Machine>>,
}

/// A simulated failure.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedFailure {
    /// Error number of the system.
    pub errno: i32,
    /// Whether a failing write writes the first half of its bytes.
    pub writes_half: bool,
    /// Whether all later operations fail, too.
    pub lasts: bool,
}

impl SimulatedFailure {
    /// One operation fails, by an error of the medium or for want of room; a write
    /// writes nothing or a half.
    pub const PASSING: [SimulatedFailure; 4] = [
        SimulatedFailure::once(libc::EIO, false),
        SimulatedFailure::once(libc::EIO, true),
        SimulatedFailure::once(libc::ENOSPC, false),
        SimulatedFailure::once(libc::ENOSPC, true),
    ];

    const fn once(errno: i32, writes_half: bool) -> SimulatedFailure {
        SimulatedFailure {
            errno,
            writes_half,
            lasts: false,
        }
    }
}

#[derive(Debug, Default)]
struct Machine {
    /// The state that programs see.
    seen: Medium,
    /// The state that survives a power cut for certain.
    durable: Medium,
    /// The operations between the two states, in order.
    unsynced: Vec<Operation>,
    inodes: u64,
    operations: u64,
    fault: Option<(u64, SimulatedFailure)>,
    locked: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Medium {
    names: BTreeMap<OsString, u64>,
    files: BTreeMap<u64, FileContent>,
}

#[derive(Clone, Debug, Default)]
struct FileContent {
    bytes: Vec<u8>,
    /// Time of the last change, counted in operations.
    modified: i64,
    /// User id of the owner; 0 is the user who opens the folder.
    owner: u32,
}

#[derive(Clone, Debug)]
enum Operation {
    Write {
        inode: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        inode: u64,
        len: u64,
    },
    Name {
        name: OsString,
        inode: u64,
    },
    Remove {
        name: OsString,
    },
    Rename {
        from: OsString,
        to: OsString,
        inode: u64,
    },
}

impl Operation {
    /// The file whose content is changed; `None` if names are changed.
    fn inode(&self) -> Option<u64> {
        match self {
            Operation::Write { inode, .. } | Operation::SetLen { inode, .. } => Some(*inode),
            _ => None,
        }
    }
}

impl Medium {
    fn apply(&mut self, operation: &Operation, now: i64) {
        match operation {
            Operation::Write {
                inode,
                offset,
                bytes,
            } => {
                let content = self.files.entry(*inode).or_default();
                let start = usize::try_from(*offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(bytes.len());
                content.bytes.resize(content.bytes.len().max(end), 0);
                if let Some(target) = content.bytes.get_mut(start..end) {
                    target.copy_from_slice(bytes);
                }
                content.modified = now;
            }
            Operation::SetLen { inode, len } => {
                let content = self.files.entry(*inode).or_default();
                content
                    .bytes
                    .resize(usize::try_from(*len).unwrap_or(usize::MAX), 0);
                content.modified = now;
            }
            Operation::Name { name, inode } => {
                self.names.insert(name.clone(), *inode);
            }
            Operation::Remove { name } => {
                self.names.remove(name);
            }
            Operation::Rename { from, to, inode } => {
                self.names.remove(from);
                self.names.insert(to.clone(), *inode);
            }
        }
    }
}

impl Machine {
    /// Counts an operation. Fails if it is to fail.
    fn count(&mut self) -> Result<(), (SimulatedFailure, io::Error)> {
        let number = self.operations;
        self.operations += 1;
        match self.fault {
            Some((at, fault)) if number == at || (number > at && fault.lasts) => {
                Err((fault, io::Error::from_raw_os_error(fault.errno)))
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, operation: Operation) {
        let now = i64::try_from(self.operations).unwrap_or(i64::MAX);
        self.seen.apply(&operation, now);
        self.unsynced.push(operation);
    }

    /// Splits a write into sectors. Each is one change of the whole sector,
    /// with earlier writes to it included, as the medium writes it.
    fn write(&mut self, inode: u64, offset: u64, bytes: &[u8]) {
        let now = i64::try_from(self.operations).unwrap_or(i64::MAX);
        let end = offset + bytes.len() as u64;
        let whole = Operation::Write {
            inode,
            offset,
            bytes: bytes.to_vec(),
        };
        self.seen.apply(&whole, now);
        let sector_bytes = SECTOR as u64;
        for sector in offset / sector_bytes..end.div_ceil(sector_bytes) {
            let bytes = self.seen.files.get(&inode).map_or(&[][..], |content| {
                let start = usize::try_from(sector * sector_bytes).unwrap_or(usize::MAX);
                let rest = content.bytes.get(start..).unwrap_or_default();
                rest.chunks(SECTOR).next().unwrap_or_default()
            });
            self.unsynced.push(Operation::Write {
                inode,
                offset: sector * sector_bytes,
                bytes: bytes.to_vec(),
            });
        }
    }

    /// Removes and returns the unsynced changes of names, or of this file.
    fn take_unsynced(&mut self, inode: Option<u64>) -> Vec<Operation> {
        self.unsynced
            .extract_if(.., |operation| operation.inode() == inode)
            .collect()
    }

    fn inode(&self, name: &OsStr) -> io::Result<u64> {
        let inode = self.seen.names.get(name).copied();
        inode.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn stamp(&self, inode: u64) -> Stamp {
        let content = self.seen.files.get(&inode);
        let modified = (content.map_or(0, |content| content.modified), 0);
        Stamp {
            device: 0,
            inode,
            len: content.map_or(0, |content| content.bytes.len() as u64),
            modified,
            changed: modified,
            links: self.seen.names.values().filter(|of| **of == inode).count() as u64,
            owner: content.map_or(0, |content| content.owner),
        }
    }
}

impl MemoryDirectory {
    /// An empty folder.
    pub fn new() -> MemoryDirectory {
        MemoryDirectory::default()
    }

    /// Puts a synced file there, in place of any file with the name.
    pub fn put(&self, name: impl Into<OsString>, bytes: impl Into<Vec<u8>>) {
        let mut machine = self.machine();
        machine.inodes += 1;
        let inode = machine.inodes;
        let name = name.into();
        let content = FileContent {
            bytes: bytes.into(),
            modified: i64::try_from(machine.operations).unwrap_or(i64::MAX),
            owner: 0,
        };
        let Machine { seen, durable, .. } = &mut *machine;
        for medium in [seen, durable] {
            medium.names.insert(name.clone(), inode);
            medium.files.insert(inode, content.clone());
        }
    }

    /// Adds a synced hard link to a file.
    pub fn link(&self, name: &OsStr, other: impl Into<OsString>) {
        let mut machine = self.machine();
        if let Ok(inode) = machine.inode(name) {
            let other = other.into();
            machine.durable.names.insert(other.clone(), inode);
            machine.seen.names.insert(other, inode);
        }
    }

    /// Changes the owner of a file to this user id.
    pub fn give(&self, name: &OsStr, owner: u32) {
        let mut machine = self.machine();
        if let Ok(inode) = machine.inode(name) {
            let Machine { seen, durable, .. } = &mut *machine;
            for medium in [seen, durable] {
                medium.files.entry(inode).or_default().owner = owner;
            }
        }
    }

    /// All files with their content.
    pub fn files(&self) -> BTreeMap<OsString, Vec<u8>> {
        let machine = self.machine();
        let bytes = |inode: &u64| {
            let content = machine.seen.files.get(inode).cloned();
            content.unwrap_or_default().bytes
        };
        let names = machine.seen.names.iter();
        names
            .map(|(name, inode)| (name.clone(), bytes(inode)))
            .collect()
    }

    /// Number of operations so far that changed or synced something.
    pub fn operations(&self) -> u64 {
        self.machine().operations
    }

    /// Makes the operation with this number, from 0, fail.
    pub fn fail_at(&self, operation: u64, fault: SimulatedFailure) {
        self.machine().fault = Some((operation, fault));
    }

    /// Ends all failures.
    pub fn heal(&self) {
        self.machine().fault = None;
    }

    /// The folder as the next process finds it after all processes were killed.
    #[must_use]
    pub fn after_kill(&self) -> MemoryDirectory {
        let machine = self.machine();
        MemoryDirectory::of(Machine {
            seen: machine.seen.clone(),
            durable: machine.durable.clone(),
            unsynced: machine.unsynced.clone(),
            inodes: machine.inodes,
            operations: 0,
            fault: None,
            locked: Vec::new(),
        })
    }

    /// Number of unsynced changes, each of at most a sector, that a power cut
    /// may keep or lose.
    pub fn unsynced(&self) -> usize {
        self.machine().unsynced.len()
    }

    /// The folder after a power cut that kept, of the unsynced changes, those
    /// with these numbers, from 0.
    #[must_use]
    pub fn after_power_cut(&self, keeps: impl Fn(usize) -> bool) -> MemoryDirectory {
        let machine = self.machine();
        let mut medium = machine.durable.clone();
        for (at, operation) in machine.unsynced.iter().enumerate() {
            if keeps(at) {
                medium.apply(operation, 0);
            }
        }
        MemoryDirectory::of(Machine {
            seen: medium.clone(),
            durable: medium,
            inodes: machine.inodes,
            ..Machine::default()
        })
    }

    fn of(machine: Machine) -> MemoryDirectory {
        MemoryDirectory {
            machine: Arc::new(Mutex::new(machine)),
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock()
    }

    fn handle(&self, inode: u64) -> MemoryHandle {
        MemoryHandle {
            directory: self.clone(),
            inode,
            has_lock: AtomicBool::new(false),
        }
    }
}

impl Directory for MemoryDirectory {
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let inode = self.machine().inode(name)?;
        Ok(Box::new(self.handle(inode)))
    }

    fn open_writable(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let machine = self.machine();
        let inode = machine.inode(name)?;
        let links = machine.stamp(inode).links;
        drop(machine);
        if links > 1 {
            return Err(several_names(links));
        }
        Ok(Box::new(self.handle(inode)))
    }

    fn create(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let mut machine = self.machine();
        if machine.inode(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        machine.count().map_err(|(_, error)| error)?;
        machine.inodes += 1;
        let inode = machine.inodes;
        let name = name.to_owned();
        machine.change(Operation::Name { name, inode });
        drop(machine);
        Ok(Box::new(self.handle(inode)))
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        let mut machine = self.machine();
        machine.inode(name)?;
        machine.count().map_err(|(_, error)| error)?;
        let name = name.to_owned();
        machine.change(Operation::Remove { name });
        Ok(())
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let mut machine = self.machine();
        let inode = machine.inode(from)?;
        machine.count().map_err(|(_, error)| error)?;
        let (from, to) = (from.to_owned(), to.to_owned());
        machine.change(Operation::Rename { from, to, inode });
        Ok(())
    }

    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        let machine = self.machine();
        let inode = machine.inode(name).ok();
        Ok(inode.map(|inode| machine.stamp(inode)))
    }

    fn ensure_trusted(&self, stamp: &Stamp) -> io::Result<()> {
        match stamp.owner {
            0 => Ok(()),
            owner => Err(stranger(owner)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut machine = self.machine();
        machine.count().map_err(|(_, error)| error)?;
        for operation in machine.take_unsynced(None) {
            machine.durable.apply(&operation, 0);
        }
        Ok(())
    }
}

#[cfg(test)]
impl super::FolderTree for MemoryDirectory {
    fn names(&self) -> Vec<OsString> {
        self.files().into_keys().collect()
    }

    fn folder(&self, _: &OsStr) -> Option<Arc<dyn super::FolderTree>> {
        None
    }
}

/// An open file of a [`MemoryDirectory`].
#[derive(Debug)]
struct MemoryHandle {
    directory: MemoryDirectory,
    inode: u64,
    has_lock: AtomicBool,
}

impl Drop for MemoryHandle {
    fn drop(&mut self) {
        if self.has_lock.load(Relaxed) {
            let mut machine = self.directory.machine();
            machine.locked.retain(|inode| *inode != self.inode);
        }
    }
}

impl Storage for MemoryHandle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.directory.machine().stamp(self.inode).len)
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        let read = |offset, len, bytes: &mut Vec<u8>| {
            bytes.clear();
            let machine = self.directory.machine();
            if let Some(content) = machine.seen.files.get(&self.inode) {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = content.bytes.get(start..).unwrap_or_default();
                bytes.extend(rest.iter().take(len));
            }
            Ok(())
        };
        // A buffer that reads ahead must not keep it: files of a test change.
        // So it gets a new number.
        let number = super::buffer::next_file_number();
        let read = buffer.read(number, offset, len, || self.len(), read)?;
        Ok(read.get(..len).unwrap_or(read))
    }
}

impl OpenFile for MemoryHandle {
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(self.directory.machine().stamp(self.inode))
    }
}

impl WritableFile for MemoryHandle {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut machine = self.directory.machine();
        match machine.count() {
            Ok(()) => {
                machine.write(self.inode, offset, bytes);
                Ok(())
            }
            Err((fault, error)) => {
                if fault.writes_half {
                    let (half, _) = bytes.split_at(bytes.len() / 2);
                    machine.write(self.inode, offset, half);
                }
                Err(error)
            }
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut machine = self.directory.machine();
        machine.count().map_err(|(_, error)| error)?;
        let inode = self.inode;
        machine.change(Operation::SetLen { inode, len });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut machine = self.directory.machine();
        let counted = machine.count();
        if let Err((SimulatedFailure { lasts: true, .. }, error)) = counted {
            return Err(error);
        }
        let operations = machine.take_unsynced(Some(self.inode));
        counted.map_err(|(_, error)| error)?;
        for operation in operations {
            machine.durable.apply(&operation, 0);
        }
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut machine = self.directory.machine();
        let is_free = !machine.locked.contains(&self.inode);
        if is_free {
            machine.locked.push(self.inode);
            self.has_lock.store(true, Relaxed);
        }
        Ok(is_free || self.has_lock.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &MemoryDirectory) -> String {
        let files = directory.files().into_iter();
        let files = files.map(|(name, bytes)| format!("{}={}", name.display(), bytes.len()));
        files.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_power_cut_keeps_what_was_synced_and_any_part_of_the_rest() {
        let directory = MemoryDirectory::new();
        directory.put("a", *b"old");
        let file = directory.create(OsStr::new("b")).unwrap();
        file.write_at(510, b"1234").unwrap();
        directory.remove(OsStr::new("a")).unwrap();
        assert_eq!(directory.unsynced(), 4);
        assert_eq!(names(&directory), "b=514");
        assert_eq!(names(&directory.after_kill()), "b=514");
        assert_eq!(names(&directory.after_power_cut(|_| false)), "a=3");
        assert_eq!(names(&directory.after_power_cut(|at| at == 0)), "a=3 b=0");
        assert_eq!(names(&directory.after_power_cut(|at| at != 2)), "b=512");
        file.sync().unwrap();
        assert_eq!(names(&directory.after_power_cut(|at| at == 0)), "a=3 b=514");
        directory.sync().unwrap();
        assert_eq!(names(&directory.after_power_cut(|_| false)), "b=514");
    }

    #[test]
    fn a_lock_is_of_one_open_file_until_it_is_closed() {
        let directory = MemoryDirectory::new();
        directory.put("a", *b"");
        let [first, second] = [(); 2].map(|()| directory.open_writable(OsStr::new("a")).unwrap());
        let locks = [&first, &second, &first].map(|file| file.try_lock().unwrap());
        assert_eq!(locks, [true, false, true]);
        drop(first);
        assert!(second.try_lock().unwrap());
    }

    #[test]
    fn a_sync_that_fails_loses_what_it_was_to_keep() {
        let directory = MemoryDirectory::new();
        directory.put("a", *b"old");
        let file = directory.open_writable(OsStr::new("a")).unwrap();
        let fault = SimulatedFailure {
            errno: libc::EIO,
            writes_half: true,
            lasts: false,
        };
        directory.fail_at(1, fault);
        file.write_at(0, b"new!").unwrap();
        file.sync().unwrap_err();
        file.sync().unwrap();
        assert_eq!(directory.files()[OsStr::new("a")], b"new!");
        let after = directory.after_power_cut(|_| true);
        assert_eq!(after.files()[OsStr::new("a")], b"old");
        directory.fail_at(directory.operations(), fault);
        file.write_at(0, b"half").unwrap_err();
        assert_eq!(directory.files()[OsStr::new("a")], b"haw!");
    }
}
