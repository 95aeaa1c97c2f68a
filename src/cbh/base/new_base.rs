//! Creation of a base: whole under its name, or not at all.
//!
//! Its files are made in a hidden folder beside their destination,
//! `.<base>.cbfs-new`. When all of them are durable, a marker file is written,
//! and they are moved out one by one, `.cbh` last, to unused names. After an
//! interruption, the next creation of a base of the same name completes a
//! folder with the marker and removes one without. The marker contains the source of
//! the base and the final messages of the command ([`Receipt`]). A folder that cbfs did
//! not make, or made for another user, is not touched.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::calendar;
use crate::cbh::{CodePage, Error, Family, FileKind, date};
use crate::game::Date;
use crate::storage::{
    MOST_NAME, Rights, WorkFolder, WorkFolderError, copy_plain_file, folder_of, is_same_stem,
    make_as_private, move_to_free, names_in, split_name, sync_folder,
};

/// Extension of the file that describes a base.
const INI: &str = "ini";

/// Error if the marker of an interrupted command was found.
const COMPLETED: &str = "an interrupted command had made this base from another source; it is \
     complete now, and nothing else was done; choose another name";

/// Marker file: all files are complete.
const READY: &str = ".ready";

/// Longer marker files are none of ours.
const MOST_RECEIPT_BYTES: u64 = 1 << 20;

/// What is kept of the command that made a base until all is in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// What it made the base of, on one line; empty if that is not kept.
    pub origin: String,
    /// With what it ends.
    pub code: u8,
    /// What it says at the end.
    pub lines: Vec<String>,
}

impl Receipt {
    fn encode(&self) -> String {
        let code = self.code.to_string();
        let head = [self.origin.as_str(), &code].into_iter();
        let lines: Vec<&str> = head.chain(self.lines.iter().map(String::as_str)).collect();
        lines.join("\n")
    }

    fn decode(text: &str) -> Option<Receipt> {
        let mut lines = text.split('\n').map(str::to_owned);
        Some(Receipt {
            origin: lines.next()?,
            code: lines.next()?.parse().ok()?,
            lines: lines.collect(),
        })
    }

    fn read(path: &Path) -> Option<Receipt> {
        let mut text = String::new();
        let file = open_plainly(path).ok()?;
        file.take(MOST_RECEIPT_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        Receipt::decode(&text)
    }
}

/// The folder in which a new base is made. If dropped before
/// [`finish`](NewBase::finish), it is removed.
#[derive(Debug)]
pub struct NewBase {
    /// Path of the final `.cbh`.
    target: PathBuf,
    folder: WorkFolder,
    /// Files and folders that lie there already, and stay.
    shared: Vec<PathBuf>,
}

impl NewBase {
    /// Begins a base with the `.cbh` `target`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the name is not that of a `.cbh`, a file of
    /// such a base exists, or another process is creating it; [`Error::Io`].
    pub fn begin(target: &Path) -> Result<NewBase, Error> {
        NewBase::begin_beside(target, &[], &[])
    }

    /// As [`begin`](NewBase::begin), of what `sources` have. With one that is
    /// another base, or a file, of this name in the same folder, the new base
    /// shares those of its files that have one of these `extensions`.
    ///
    /// # Errors
    ///
    /// As [`begin`](NewBase::begin).
    pub fn begin_beside(
        target: &Path,
        sources: &[PathBuf],
        extensions: &[&str],
    ) -> Result<NewBase, Error> {
        let mut new_base = NewBase::take_over(target)?;
        if new_base.is_ready() {
            new_base.folder.leave();
            new_base.move_out()?;
            return Err(refused(target, COMPLETED));
        }
        new_base.folder.clear().map_err(about(new_base.folder()))?;
        new_base.share(shared_with(target, sources, extensions)?)?;
        new_base.ensure_unused_but_shared()?;
        Ok(new_base)
    }

    /// Completes the base with the `.cbh` `target` if a command that was
    /// interrupted had made it of `origin`, and returns what that was to say.
    ///
    /// # Errors
    ///
    /// As [`begin`](NewBase::begin).
    pub fn complete(target: &Path, origin: &str) -> Result<Option<Receipt>, Error> {
        let mut new_base = NewBase::take_over(target)?;
        if !new_base.is_ready() {
            return Ok(None);
        }
        new_base.folder.leave();
        let receipt = Receipt::read(&new_base.folder().join(READY));
        let receipt = receipt.filter(|receipt| receipt.origin == origin);
        if receipt.is_some() {
            new_base.move_out()?;
        }
        Ok(receipt)
    }

    /// Takes the hidden folder, with what an earlier command left in it.
    fn take_over(target: &Path) -> Result<NewBase, Error> {
        let is_cbh = target
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("cbh"));
        let (true, Some(stem)) = (is_cbh, target.file_stem()) else {
            let what = "not a name for a base, which ends in .cbh";
            return Err(refused(target, what));
        };
        let longest = Family::journal_of(stem);
        if longest.len() > MOST_NAME {
            let most = MOST_NAME - (longest.len() - stem.len());
            let what = format!("too long a name for a base, which has at most {most} bytes");
            return Err(refused(target, &what));
        }
        let folder = WorkFolder::begin(folder_of(target), stem);
        let folder = folder.map_err(|error| match error {
            WorkFolderError::NotOurs(folder) => {
                let what =
                    "is in the way of a new base, and was not made by cbfs for you; move it away";
                refused(&folder, what)
            }
            WorkFolderError::InUse => refused(target, "another process is making this base"),
            WorkFolderError::Io(source) => about(folder_of(target))(source),
        })?;
        Ok(NewBase {
            target: target.to_path_buf(),
            folder,
            shared: Vec::new(),
        })
    }

    /// Whether an earlier command had made all files.
    fn is_ready(&self) -> bool {
        let ready = fs::symlink_metadata(self.folder().join(READY));
        ready.is_ok_and(|stat| stat.is_file())
    }

    /// Leaves these files where they are. A copy of the `.ini` serves until the
    /// base is finished: it tells how names are stored.
    fn share(&mut self, shared: Vec<PathBuf>) -> Result<(), Error> {
        for path in &shared {
            let is_ini = split_name(path).1 == INI;
            if is_ini && path.symlink_metadata().is_ok_and(|stat| stat.is_file()) {
                copy_plain_file(path, &self.ini()).map_err(about(path))?;
            }
        }
        self.shared = shared;
        Ok(())
    }

    /// Returns whether a file or folder of this name stays where it is.
    pub fn shares(&self, path: &Path) -> bool {
        let mut shared = self.shared.iter();
        shared.any(|one| one.file_name() == path.file_name())
    }

    fn shares_ini(&self) -> bool {
        self.shared.iter().any(|path| split_name(path).1 == INI)
    }

    fn ini(&self) -> PathBuf {
        self.path().with_extension(INI)
    }

    fn ensure_unused_but_shared(&self) -> Result<(), Error> {
        match existing(&self.target, &self.shared)? {
            Some(file) => Err(taken(&self.target, &file)),
            None => Ok(()),
        }
    }

    /// Rejects a `.cbh` of whose base a file exists, or what such a base would
    /// take for its own: a folder of pictures, a journal. What it would share with
    /// one of `sources`, as in [`begin_beside`](NewBase::begin_beside), may exist.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], which names the file; [`Error::Io`].
    pub fn ensure_unused(
        target: &Path,
        sources: &[PathBuf],
        extensions: &[&str],
    ) -> Result<(), Error> {
        match existing(target, &shared_with(target, sources, extensions)?)? {
            Some(file) => Err(taken(target, &file)),
            None => Ok(()),
        }
    }

    /// Returns whether no file of a base with the `.cbh` `target` exists.
    pub fn is_free(target: &Path) -> bool {
        existing(target, &[]).is_ok_and(|file| file.is_none())
    }

    /// Path of the `.cbh` in the hidden folder.
    pub fn path(&self) -> PathBuf {
        self.folder()
            .join(self.target.file_name().unwrap_or_default())
    }

    /// The folder for all files of the base.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates the files of a base without games, as `ChessBase` does.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn make_empty(&self, now: SystemTime) -> Result<(), Error> {
        let cbh = self.path();
        for (extension, bytes) in empty_files() {
            let file = cbh.with_extension(extension);
            fs::write(&file, bytes).map_err(about(&file))?;
        }
        if self.shares_ini() {
            return Ok(());
        }
        let ini = self.ini();
        let title = cbh.file_stem().unwrap_or_default().to_string_lossy();
        fs::write(&ini, description(&title, now)).map_err(about(&ini))
    }

    /// Makes the `.ini` that of another base, and declares its names as UTF-8.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn describe_as(&self, ini: &[u8]) -> Result<(), Error> {
        if self.shares_ini() {
            return Ok(());
        }
        let file = self.ini();
        let mut text = ini.to_vec();
        if !says_utf8(ini) {
            if !ini.is_empty() && !ini.ends_with(b"\n") {
                text.extend(b"\r\n");
            }
            text.extend(NAMES_ARE_UTF8.bytes());
        }
        fs::write(&file, text).map_err(about(&file))
    }

    /// Gives all files the mode and group of the file `model`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn make_like(&self, model: &Path) -> Result<(), Error> {
        let rights = Rights::of(model).map_err(about(model))?;
        let files = all_in(self.folder()).map_err(about(self.folder()))?;
        for file in files.iter().filter(|file| !WorkFolder::is_lock(file)) {
            let given = open_plainly(file).and_then(|open| rights.give(&open));
            given.map_err(about(file))?;
        }
        Ok(())
    }

    /// Takes the rights of others from all files that they do not have to the file
    /// `source`, of which the base was made.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn make_as_private(&self, source: &Path) -> Result<(), Error> {
        let files = all_in(self.folder()).map_err(about(self.folder()))?;
        for file in files.iter().filter(|file| !WorkFolder::is_lock(file)) {
            let made = open_plainly(file).and_then(|open| make_as_private(&open, source));
            made.map_err(about(file))?;
        }
        Ok(())
    }

    /// Moves the base to its place. When this returns, it is durable.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if another process made a file of it meanwhile;
    /// [`Error::Io`].
    pub fn finish(self) -> Result<(), Error> {
        self.finish_with(&Receipt::default())
    }

    /// As [`finish`](NewBase::finish). If this is interrupted, the next command
    /// that makes the base of the same finds the receipt.
    ///
    /// # Errors
    ///
    /// As [`finish`](NewBase::finish).
    pub fn finish_with(mut self, receipt: &Receipt) -> Result<(), Error> {
        let folder = self.folder().to_path_buf();
        let io = about(&folder);
        let ready = folder.join(READY);
        if self.shares_ini() && self.ini().exists() {
            fs::remove_file(self.ini()).map_err(&io)?;
        }
        sync_all(self.folder()).map_err(&io)?;
        self.ensure_unused_but_shared()?;
        self.ensure_free()?;
        let text = receipt.encode();
        let made = File::create_new(&ready).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        made.and_then(|()| sync_folder(self.folder()))
            .and_then(|()| sync_folder(folder_of(&self.target)))
            .map_err(&io)?;
        // From here on the base is completed, now or by the next process.
        self.folder.leave();
        self.move_out()
    }

    /// Rejects names that other files or folders have, such as the folder of
    /// pictures.
    fn ensure_free(&self) -> Result<(), Error> {
        for file in self.made()? {
            let to = self.destination_of(&file);
            if fs::symlink_metadata(&to).is_ok() {
                return Err(taken(&self.target, &to));
            }
        }
        Ok(())
    }

    fn destination_of(&self, file: &Path) -> PathBuf {
        folder_of(&self.target).join(file.file_name().unwrap_or_default())
    }

    /// The files and folders of the base, `.cbh` last.
    fn made(&self) -> Result<Vec<PathBuf>, Error> {
        let io = about(self.folder());
        let (base, _) = split_name(&self.path());
        let (mut files, mut headers) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.folder()).map_err(&io)? {
            let path = entry.map_err(&io)?.path();
            let (stem, extension) = split_name(&path);
            // Some file systems give names back in another case.
            if !is_same_stem(&stem, &base) {
                continue;
            }
            match extension.as_str() {
                "cbh" => headers.push(path),
                _ => files.push(path),
            }
        }
        files.extend(headers);
        Ok(files)
    }

    /// Moves all files to their destination, `.cbh` last.
    fn move_out(&mut self) -> Result<(), Error> {
        let folder = self.folder().to_path_buf();
        let io = about(&folder);
        for file in self.made()? {
            let to = self.destination_of(&file);
            move_to_free(&file, &to).map_err(about(&to))?;
        }
        if fs::symlink_metadata(self.path()).is_ok() {
            let what = "the new base is whole, but its file system gives its files other names; \
                 move all of them from here to the folder above";
            return Err(refused(&folder, what));
        }
        sync_folder(folder_of(&self.target))
            .and_then(|()| self.folder.remove())
            .map_err(&io)
    }
}

/// The files of these `extensions` that lie beside `target` and belong to the
/// first of `sources` that has its name.
fn shared_with(
    target: &Path,
    sources: &[PathBuf],
    extensions: &[&str],
) -> Result<Vec<PathBuf>, Error> {
    let Some(source) = sources.iter().find(|source| is_beside(source, target)) else {
        return Ok(Vec::new());
    };
    let directory = folder_of(source);
    let mut shared = Vec::new();
    for name in names_in(directory).map_err(about(directory))? {
        let path = folder_of(target).join(name);
        let (stem, extension) = split_name(&path);
        if is_same_stem(&stem, &stem_of(source)) && extensions.contains(&&*extension) {
            shared.push(path);
        }
    }
    Ok(shared)
}

/// Returns whether both have the same name, but for the extension, in the same
/// folder.
fn is_beside(source: &Path, target: &Path) -> bool {
    let folders = [source, target].map(|path| folder_of(path).canonicalize().ok());
    let [from, to] = &folders;
    let own = split_name(target).0;
    from.is_some() && from == to && is_same_stem(&stem_of(source), &own)
}

/// The name of a file without its extension, nor that of a packed PGN file.
fn stem_of(source: &Path) -> OsString {
    let stem = split_name(source).0;
    match split_name(Path::new(&stem)) {
        (inner, extension) if extension == "pgn" => inner,
        _ => stem,
    }
}

/// Returns an existing file or folder of a base of this name that is not
/// `shared`.
fn existing(target: &Path, shared: &[PathBuf]) -> Result<Option<PathBuf>, Error> {
    let directory = folder_of(target);
    let io = about(directory);
    for entry in fs::read_dir(directory).map_err(&io)? {
        let path = entry.map_err(&io)?.path();
        let is_of_base = Family::is_file_of(target, &path) || Family::would_inherit(target, &path);
        if is_of_base && !shared.contains(&path) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// All files and folders in a folder, each behind its content.
fn all_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            }
            if kind.is_dir() || kind.is_file() {
                all.push(entry.path());
            }
        }
    }
    all.reverse();
    Ok(all)
}

/// Opens a file or folder, but not a link.
fn open_plainly(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

/// Returns when the content of a folder is durable.
fn sync_all(folder: &Path) -> io::Result<()> {
    for path in all_in(folder)? {
        if path.is_dir() {
            sync_folder(&path)?;
        } else {
            open_plainly(&path)?.sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Contents of the files of a base without games, by extension.
pub(in crate::cbh) fn empty_files() -> Vec<(&'static str, Vec<u8>)> {
    let mut headers = b"\0\0\x2c\0\x2e\x01\0\0\0\x01".to_vec();
    headers.resize(40, 0);
    headers.extend(b"\0\0\0\x01\0\0");
    let mut blobs = b"\0\x1a\0\0\0\x1a\0\0\0\0\0\0\0\0\0\0\0\x1a".to_vec();
    blobs.resize(26, 0);
    let words = |words: &[u32]| -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(32, 0);
        bytes
    };
    let entities = |data_bytes| words(&[0, 0, 1_234_567_890, data_bytes, u32::MAX, 0, 4, 0]);
    vec![
        (FileKind::Headers.extension(), headers),
        (FileKind::Moves.extension(), blobs.clone()),
        (FileKind::Annotations.extension(), blobs),
        (FileKind::Players.extension(), entities(58)),
        (FileKind::Tournaments.extension(), entities(90)),
        (FileKind::Annotators.extension(), entities(53)),
        (FileKind::Sources.extension(), entities(59)),
        (FileKind::Teams.extension(), entities(63)),
        (FileKind::Tags.extension(), entities(1608)),
        (FileKind::Extended.extension(), words(&[11, 120, 0])),
        (FileKind::TournamentExtras.extension(), words(&[3, 65, 0])),
        ("cbm", words(&[1, 0x400, 0, u32::MAX])),
    ]
}

/// The section in the `.ini` of a base that declares its names as UTF-8.
/// Programs that use such files ignore unknown sections.
const NAMES_ARE_UTF8: &str = "[cbfs]\r\nNames=UTF-8\r\n";

/// Returns whether the `.ini` of a base declares its names as UTF-8.
pub(in crate::cbh) fn says_utf8(ini: &[u8]) -> bool {
    let mut section = &b""[..];
    for line in ini.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            section = line;
        } else if section == b"[cbfs]" && line == b"Names=UTF-8" {
            return true;
        }
    }
    false
}

/// Returns the `.ini` of a base.
fn description(title: &str, now: SystemTime) -> Vec<u8> {
    let access = date::encode(today(now), 0).unwrap_or(0);
    let mut text = b"[DescrCBG]\r\nType=0\r\nTitle=".to_vec();
    text.extend(CodePage::WESTERN.encode(title));
    text.extend(format!("\r\nUsage=1\r\nAccess={access}\r\n").bytes());
    text.extend(NAMES_ARE_UTF8.bytes());
    text
}

/// Returns the date of a time in UTC.
fn today(now: SystemTime) -> Date {
    let (year, month, day) = calendar::date_at(now);
    Date { year, month, day }
}

fn about(file: &Path) -> impl Fn(io::Error) -> Error {
    let file = file.to_path_buf();
    move |source| Error::Io {
        file: file.clone(),
        source,
    }
}

/// The error for an existing `file` of a base with the name of `target`.
fn taken(target: &Path, file: &Path) -> Error {
    let advice = "choose another name";
    if target.exists() {
        let what = format!("a base of this name exists already; {advice}");
        return refused(target, &what);
    }
    let name = file.file_name().unwrap_or_default().display();
    let what = format!("a file of a base of this name, {name}, exists already; {advice}");
    refused(target, &what)
}

fn refused(file: &Path, what: &str) -> Error {
    Error::Unsupported {
        file: file.to_path_buf(),
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::time::Duration;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn names_are_utf8_if_the_section_of_cbfs_says_so() {
        let now = SystemTime::now();
        assert!(says_utf8(&description("new", now)));
        for (ini, is_utf8) in [
            ("[cbfs]\nNames=UTF-8", true),
            ("[DescrCBG]\r\nNames=UTF-8\r\n[cbfs]\r\n", false),
            ("[cbfs]\r\nNames=\r\n", false),
            ("Names=UTF-8", false),
            ("", false),
        ] {
            assert_eq!(says_utf8(ini.as_bytes()), is_utf8, "{ini:?}");
        }
    }

    #[test]
    fn a_base_is_there_when_it_is_finished_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new.cbh");
        let new_base = NewBase::begin(&target).unwrap();
        new_base.make_empty(SystemTime::now()).unwrap();
        assert_eq!(names(folder.path()), [".new.cbfs-new"]);
        assert!(NewBase::begin(&target).is_err());
        drop(new_base);
        assert_eq!(names(folder.path()), [""; 0]);
        let new_base = NewBase::begin(&target).unwrap();
        new_base.make_empty(SystemTime::now()).unwrap();
        new_base.finish().unwrap();
        assert_eq!(names(folder.path()).len(), 13);
        let error = NewBase::begin(&target).unwrap_err().to_string();
        assert!(
            error.contains("a base of this name exists already"),
            "{error}"
        );
        assert_eq!(names(folder.path()).len(), 13);
    }

    #[test]
    fn a_base_is_whole_where_names_come_back_in_another_case() {
        let folder = tempfile::tempdir().unwrap();
        let new_base = NewBase::begin(&folder.path().join("New.cbh")).unwrap();
        new_base.make_empty(SystemTime::now()).unwrap();
        for name in names(new_base.folder()) {
            let from = new_base.folder().join(&name);
            fs::rename(from, new_base.folder().join(name.to_lowercase())).unwrap();
        }
        new_base.finish().unwrap();
        let made = names(folder.path());
        assert_eq!(made.len(), 13);
        assert!(made.iter().all(|name| name.starts_with("new.")), "{made:?}");
    }

    #[test]
    fn a_base_whose_name_is_not_utf8_is_made_beside_another() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let targets = [&b"b\xe8.cbh"[..], b"b\xe9.cbh"];
        let targets = targets.map(|name| folder.path().join(OsStr::from_bytes(name)));
        for target in &targets {
            let new_base = NewBase::begin(target).unwrap();
            new_base.make_empty(SystemTime::now()).unwrap();
            let stray = new_base.folder().join(OsStr::from_bytes(b"b\xea.cbh"));
            fs::write(stray, "").unwrap();
            new_base.finish().unwrap();
        }
        let files = fs::read_dir(folder.path()).unwrap();
        assert_eq!(files.count(), 26);
        for target in &targets {
            assert!(Family::locate(target).is_ok(), "{target:?}");
        }
    }

    #[test]
    fn a_file_that_is_left_of_a_base_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new.cbh");
        assert!(NewBase::is_free(&target));
        fs::write(target.with_extension("cbt"), "").unwrap();
        assert!(!NewBase::is_free(&target));
        let error = NewBase::begin(&target).unwrap_err().to_string();
        let wanted = "new.cbh: a file of a base of this name, new.cbt, exists already";
        assert!(error.contains(wanted), "{error}");
        assert_eq!(names(folder.path()), ["new.cbt"]);
    }

    #[test]
    fn files_of_the_source_of_a_base_may_be_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for folder in [folder.path(), &inner] {
            fs::write(folder.join("new.ini"), "").unwrap();
        }
        for (source, extensions, is_shared) in [
            ("new.pgn", &["ini"][..], true),
            ("new.pgn.zst", &["ini"], true),
            ("new.old.zst", &["ini"], false),
            ("new.pgn", &["html", "ini"], true),
            ("new.pgn", &["html"], false),
            ("other.pgn", &["ini"], false),
            ("inner/new.pgn", &["ini"], false),
            ("gone/new.pgn", &["ini"], false),
        ] {
            let target = folder.path().join("new.cbh");
            let sources = ["elsewhere.pgn", source].map(|name| folder.path().join(name));
            let unused = NewBase::ensure_unused(&target, &sources, extensions);
            let begun = NewBase::begin_beside(&target, &sources, extensions);
            for error in [unused.err(), begun.err()] {
                let told = error.map_or(String::new(), |error| error.to_string());
                let is_named = told.contains("a file of a base of this name, new.ini, exists");
                assert_eq!(is_named, !is_shared, "{source} {extensions:?} {told}");
            }
        }
    }

    #[test]
    fn a_shared_description_stays_and_another_is_written_anew() {
        let section = NAMES_ARE_UTF8;
        for (shared, given, described) in [
            ("ini", "Title=given", "Title=shared".to_owned()),
            ("cko", "", section.to_owned()),
            ("cko", "Title=given", format!("Title=given\r\n{section}")),
            ("cko", "Title=given\n", format!("Title=given\n{section}")),
            ("cko", section, section.to_owned()),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("new.cbh");
            let file = target.with_extension(shared);
            fs::write(&file, "Title=shared").unwrap();
            let source = [target.with_extension("pgn")];
            let new_base = NewBase::begin_beside(&target, &source, &["ini", "cko"]).unwrap();
            let hidden = new_base.path().with_extension(INI);
            assert_eq!(hidden.exists(), shared == INI);
            for extension in ["ini", "cko", "cbg"] {
                let path = target.with_extension(extension);
                assert_eq!(new_base.shares(&path), extension == shared, "{extension}");
            }
            new_base.make_empty(SystemTime::now()).unwrap();
            new_base.describe_as(given.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(hidden).unwrap(), described);
            new_base.finish().unwrap();
            let ini = fs::read_to_string(target.with_extension(INI)).unwrap();
            assert_eq!(ini, described);
            assert_eq!(fs::read_to_string(file).unwrap(), "Title=shared");
        }
    }

    #[test]
    fn a_name_too_long_for_a_base_is_told_how_long_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let begin = |len| {
            let begun = NewBase::begin(&folder.path().join("x".repeat(len) + ".cbh"));
            begun.err().map_or(String::new(), |error| error.to_string())
        };
        let longest = (0..=255).rev().find(|len| begin(*len).is_empty()).unwrap();
        let told = begin(longest + 1);
        let most = format!("which has at most {longest} bytes");
        assert!(longest > 200 && told.ends_with(&most), "{told}");
    }

    #[test]
    fn leftovers_of_a_crash_are_completed_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new.cbh");
        let left = folder.path().join(".new.cbfs-new");
        let mut killed = NewBase::begin(&target).unwrap();
        killed.folder.leave();
        drop(killed);
        fs::create_dir_all(left.join("new.html")).unwrap();
        fs::write(left.join("new.cbh"), "half").unwrap();
        fs::write(left.join("new.html/a.jpg"), "half").unwrap();
        drop(NewBase::begin(&target).unwrap());
        assert_eq!(names(folder.path()), [""; 0]);
        let mut new_base = NewBase::begin(&target).unwrap();
        new_base.make_empty(SystemTime::now()).unwrap();
        fs::write(new_base.folder().join(READY), "").unwrap();
        fs::rename(
            new_base.path().with_extension("cbg"),
            target.with_extension("cbg"),
        )
        .unwrap();
        // The lock of a process that is gone is gone too.
        new_base.folder.leave();
        drop(new_base);
        assert_eq!(NewBase::complete(&target, "another source").unwrap(), None);
        let error = NewBase::begin(&target).unwrap_err().to_string();
        assert!(error.contains("complete now"), "{error}");
        assert_eq!(names(folder.path()).len(), 13);
    }

    #[test]
    fn the_same_command_completes_what_it_had_made_and_says_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new.cbh");
        let receipt = Receipt {
            origin: "a source".to_owned(),
            code: 1,
            lines: vec!["first".to_owned(), "second".to_owned()],
        };
        let mut new_base = NewBase::begin(&target).unwrap();
        new_base.make_empty(SystemTime::now()).unwrap();
        fs::write(new_base.folder().join(READY), receipt.encode()).unwrap();
        new_base.folder.leave();
        drop(new_base);
        assert_eq!(
            NewBase::complete(&target, "a source").unwrap(),
            Some(receipt)
        );
        assert_eq!(names(folder.path()).len(), 13);
        assert_eq!(NewBase::complete(&target, "a source").unwrap(), None);
    }

    #[test]
    fn days_are_dated() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (19_722, (2023, 12, 31)),
            (19_723, (2024, 1, 1)),
        ] {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400 + 86_399);
            let found = today(now);
            assert_eq!((found.year, found.month, found.day), date, "{days}");
        }
    }
}
