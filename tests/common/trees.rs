//! Trees of files to be tested: a `Vfs`, walked as a kernel does, and a
//! directory of the system.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::SystemTime;

use cbfs::vfs::{Attr, Error, Ino, NodeKind, Vfs};

use super::behaviours::{Answer, Stat, Tree};

/// A `Vfs`, walked as a kernel does.
pub struct Direct(pub Vfs);

pub fn answer<T>(ask: impl FnOnce() -> Result<T, Error>) -> Answer<T> {
    Error::unless_panic(ask).map_err(|error| error.errno())
}

impl Direct {
    /// What `lstat` finds: links are followed on the way, the last is not.
    pub fn attr(&self, path: &str) -> Answer<Attr> {
        self.resolve(path, false)
    }

    /// What `stat` finds.
    pub fn followed(&self, path: &str) -> Answer<Attr> {
        self.resolve(path, true)
    }

    fn resolve(&self, path: &str, follows_last: bool) -> Answer<Attr> {
        let mut way = vec![answer(|| self.0.attr(Ino::ROOT))?];
        let mut names: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut links = 0;
        while let Some(name) = names.pop() {
            let directory = way.last().expect("the root").ino;
            match &*name {
                "" => continue,
                ".." => drop(way.pop()),
                name => way.push(answer(|| self.0.lookup(directory, name.as_bytes()))?),
            }
            let last = *way.last().expect("something");
            if last.kind == NodeKind::Symlink && (follows_last || !names.is_empty()) {
                links += 1;
                assert!(links <= 40, "{path}: too many links");
                let target = answer(|| self.0.target(last.ino))?;
                way.pop();
                let target = String::from_utf8(target).unwrap();
                names.extend(target.split('/').rev().map(str::to_owned));
            }
        }
        Ok(way.pop().expect("something"))
    }
}

impl Tree for Direct {
    fn list(&self, path: &str) -> Answer<Vec<(String, u64)>> {
        let directory = self.followed(path)?.ino;
        let mut names = Vec::new();
        answer(|| {
            self.0.list(directory, 0, &mut |entry| {
                names.push((entry.name.to_owned(), entry.node.ino.0));
                true
            })
        })?;
        assert_eq!(names[0].0, ".");
        assert_eq!(names[1].0, "..");
        Ok(names.split_off(2))
    }

    fn stat(&self, path: &str) -> Answer<Stat> {
        let attr = self.attr(path)?;
        let mtime = attr.modified.duration_since(SystemTime::UNIX_EPOCH);
        Ok(Stat {
            ino: attr.ino.0,
            size: attr.size,
            links: u64::from(attr.links),
            is_directory: attr.kind == NodeKind::Directory,
            mtime: mtime.unwrap().as_secs(),
        })
    }

    fn read(&self, path: &str) -> Answer<Vec<u8>> {
        self.read_at(path, 0, u32::MAX)
    }

    fn read_at(&self, path: &str, offset: u64, length: u32) -> Answer<Vec<u8>> {
        let ino = self.followed(path)?.ino;
        answer(|| Ok(self.0.read(ino, offset, length)?.to_vec()))
    }
}

/// A directory of the system, which is not writable.
pub trait OnDisk: Sync {
    fn place(&self, path: &str) -> PathBuf;

    /// Checks owner, modes and times; by default, not at all.
    fn examine(&self, metadata: &Metadata) {
        let _ = metadata;
    }
}

/// The errno of an error.
pub fn system<T>(result: io::Result<T>) -> Answer<T> {
    result.map_err(|error| error.raw_os_error().expect("a number of the system"))
}

impl<T: OnDisk> Tree for T {
    fn list(&self, path: &str) -> Answer<Vec<(String, u64)>> {
        let entries = system(fs::read_dir(self.place(path)))?;
        let entries = entries.map(|entry| {
            let entry = system(entry)?;
            Ok((entry.file_name().into_string().unwrap(), entry.ino()))
        });
        entries.collect()
    }

    fn stat(&self, path: &str) -> Answer<Stat> {
        let metadata = system(fs::symlink_metadata(self.place(path)))?;
        if !metadata.is_symlink() {
            assert_eq!(metadata.mode() & 0o222, 0, "writable");
        }
        self.examine(&metadata);
        Ok(Stat {
            ino: metadata.ino(),
            size: metadata.size(),
            links: metadata.nlink(),
            is_directory: metadata.is_dir(),
            mtime: u64::try_from(metadata.mtime()).unwrap(),
        })
    }

    fn read(&self, path: &str) -> Answer<Vec<u8>> {
        system(fs::read(self.place(path)))
    }

    fn read_at(&self, path: &str, offset: u64, length: u32) -> Answer<Vec<u8>> {
        let file = system(File::open(self.place(path)))?;
        let mut bytes = vec![0; length as usize];
        let count = system(file.read_at(&mut bytes, offset))?;
        bytes.truncate(count);
        Ok(bytes)
    }
}
