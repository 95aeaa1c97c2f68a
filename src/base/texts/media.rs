//! Pictures and whatever else lies in the media folder of a base.
//!
//! Shown are the regular files directly in the folder. What is shown is fixed
//! when first asked for; sizes and contents are those the files have. The
//! folders of a base in an archive are in it too.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use unicode_normalization::UnicodeNormalization as _;

use crate::base::Location;
use crate::cbh::CodePage;
use crate::names;
use crate::storage::{PlainFiles, Stamp, marked};

/// Characters that do not stand for themselves in the path of a URL.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The longest extension of a file name, in bytes, its dot included.
const MOST_EXTENSION_BYTES: usize = 32;

/// The media folders of a base, seen as one.
#[derive(Debug, Default)]
pub(crate) struct Media {
    folders: Vec<MediaFolder>,
    files: Vec<ListedMedia>,
    by_number: HashMap<u32, usize>,
    by_name: HashMap<String, usize>,
    /// By name in lower case, as stored and as shown: Windows does not tell
    /// them apart.
    by_any_case: HashMap<String, usize>,
}

#[derive(Debug)]
struct MediaFolder {
    path: PathBuf,
    files: PlainFiles,
}

#[derive(Debug)]
struct ListedMedia {
    folder: usize,
    stored: OsString,
    name: String,
    number: u32,
}

/// A file as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaFile {
    /// Stays the same while other files come and go.
    pub(crate) number: u32,
    pub(crate) stamp: Stamp,
}

impl Media {
    /// Lists the media folders of a base. Names that are not UTF-8 are in
    /// `page`.
    pub(crate) fn of(base: &Location<'_>, page: CodePage) -> Media {
        let Some(tree) = base.archive else {
            return Media::open(base.media_folders, page);
        };
        let mut media = Media::default();
        let mut suffixes = HashMap::new();
        for path in base.media_folders {
            if let Some(folder) = tree.folder(path.file_name().unwrap_or_default()) {
                media.add_all(path, PlainFiles::inside(folder), page, &mut suffixes);
            }
        }
        media
    }

    /// Lists the folders among `paths`; of two files with one name, the one
    /// in the earlier folder has it. Names that are not UTF-8 are in `page`.
    fn open(paths: &[PathBuf], page: CodePage) -> Media {
        let mut media = Media::default();
        let mut suffixes = HashMap::new();
        for path in paths {
            match PlainFiles::open(path) {
                Ok(listed) => media.add_all(path, listed, page, &mut suffixes),
                Err(error) => log::warn!("{}: {error}; it is not shown", path.display()),
            }
        }
        media
    }

    fn add_all(
        &mut self,
        path: &Path,
        (files, names): (PlainFiles, Vec<OsString>),
        page: CodePage,
        suffixes: &mut HashMap<String, u32>,
    ) {
        let path = path.to_path_buf();
        self.folders.push(MediaFolder { path, files });
        for name in names {
            self.add(name, page, suffixes);
        }
    }

    fn add(&mut self, stored: OsString, page: CodePage, suffixes: &mut HashMap<String, u32>) {
        let mut decoded = String::new();
        page.decode_into(stored.as_bytes(), &mut decoded);
        let name = self.free_name(names::shown(&decoded), suffixes);
        let at = self.files.len();
        let mut number = number_of(&name);
        while self.by_number.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        self.by_number.insert(number, at);
        self.by_name.insert(name.clone(), at);
        for name in [&name, &decoded] {
            self.by_any_case.entry(any_case(name)).or_insert(at);
        }
        self.files.push(ListedMedia {
            folder: self.folders.len().saturating_sub(1),
            stored,
            name,
            number,
        });
    }

    /// `name`, or `a ~2.jpg` for `a.jpg` if that is taken.
    fn free_name(&self, name: String, suffixes: &mut HashMap<String, u32>) -> String {
        if !self.by_name.contains_key(&name) {
            return name;
        }
        let dot = name.rfind('.');
        let dot = dot.filter(|dot| name.len() - dot <= MOST_EXTENSION_BYTES);
        let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
        let suffix = suffixes.entry(name.clone()).or_insert(1);
        loop {
            *suffix += 1;
            let mut other = stem.to_owned();
            names::append_id_within(names::MAX_BYTES - extension.len(), &mut other, *suffix);
            other.push_str(extension);
            if !self.by_name.contains_key(&other) {
                return other;
            }
        }
    }

    /// Whether there is a folder at all.
    pub(crate) fn exists(&self) -> bool {
        !self.folders.is_empty()
    }

    /// How many files are listed.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }

    /// The file of this name.
    ///
    /// # Errors
    ///
    /// `NotFound`, or that of the medium.
    pub(crate) fn lookup(&self, name: &[u8]) -> io::Result<MediaFile> {
        let name = std::str::from_utf8(name).ok();
        self.file_at(name.and_then(|name| self.by_name.get(name)))
    }

    /// The file of this number.
    ///
    /// # Errors
    ///
    /// As [`lookup`](Media::lookup).
    pub(crate) fn file(&self, number: u32) -> io::Result<MediaFile> {
        self.file_at(self.by_number.get(&number))
    }

    /// Name and file at this place of the listing, from 0; the file may be
    /// gone.
    pub(crate) fn entry(&self, at: usize) -> Option<(&str, io::Result<MediaFile>)> {
        Some((&self.files.get(at)?.name, self.file_at(Some(&at))))
    }

    fn file_at(&self, at: Option<&usize>) -> io::Result<MediaFile> {
        let (file, folder) = self.listed(at)?;
        let stamp = folder.files.stamp(&file.stored);
        let stamp = stamp.map_err(|error| folder.error(&error))?;
        let number = file.number;
        let stamp = stamp.ok_or(io::ErrorKind::NotFound)?;
        Ok(MediaFile { number, stamp })
    }

    fn listed(&self, at: Option<&usize>) -> io::Result<(&ListedMedia, &MediaFolder)> {
        let file = at.and_then(|at| self.files.get(*at));
        let of = |file: &ListedMedia| self.folders.get(file.folder);
        let found = file.and_then(|file| Some((file, of(file)?)));
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Appends up to `length` bytes from `offset` on of a file.
    ///
    /// # Errors
    ///
    /// As [`lookup`](Media::lookup).
    pub(crate) fn read(
        &self,
        number: u32,
        offset: u64,
        length: u32,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let (file, folder) = self.listed(self.by_number.get(&number))?;
        let read = folder.files.read(&file.stored, offset, length, bytes);
        read.map_err(|error| folder.error(&error))
    }

    /// The name, as part of a URL, that `address` means: a file in the media
    /// folder of the base called `stem`, there or not, or of one that had
    /// another name then, if there is such a file.
    pub(super) fn address(&self, address: &str, stem: &str) -> Option<String> {
        if has_foreign_scheme(address) {
            return None;
        }
        let (folder, name) = address.rsplit_once(['\\', '/'])?;
        let folder = folder.rsplit(['\\', '/']).next()?;
        let (of, extension) = folder.rsplit_once('.')?;
        if !["html", "bmp"].contains(&extension.to_ascii_lowercase().as_str()) {
            return None;
        }
        let decoded = percent_decode_str(name).decode_utf8_lossy();
        let found = self.find(name).or_else(|| self.find(&decoded));
        let is_own = any_case(of) == any_case(stem);
        let name = match found {
            Some(file) => file.name.clone(),
            None if is_own && !name.is_empty() => names::shown(name),
            None => return None,
        };
        Some(utf8_percent_encode(&name, NOT_IN_PATHS).to_string())
    }

    fn find(&self, name: &str) -> Option<&ListedMedia> {
        let at = self
            .by_name
            .get(name)
            .or_else(|| self.by_any_case.get(&any_case(name)))?;
        self.files.get(*at)
    }
}

impl MediaFolder {
    fn error(&self, error: &io::Error) -> io::Error {
        match error.kind() {
            // Another file, as a link, took the place of the one listed.
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => io::ErrorKind::NotFound.into(),
            kind => io::Error::new(kind, format!("{}: {error}", self.path.display())),
        }
    }
}

/// A digest of a name: the number of a file stays while others come and go.
fn number_of(name: &str) -> u32 {
    let hash = marked(0, name.as_bytes());
    u32::try_from(hash >> 32).unwrap_or(0)
}

fn any_case(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).collect()
}

/// Whether the address has a scheme that is no drive letter and not `file`.
fn has_foreign_scheme(address: &str) -> bool {
    address.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !scheme.eq_ignore_ascii_case("file")
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder(files: &[(&[u8], &[u8])]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(OsStr::from_bytes(name)), content).unwrap();
        }
        directory
    }

    fn opened(folders: &[&tempfile::TempDir]) -> Media {
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().into()).collect();
        Media::open(&paths, CodePage::default())
    }

    fn names_of(media: &Media) -> Vec<&str> {
        media.files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn files_have_names_that_can_be_looked_up() {
        let one = folder(&[(b"a.jpg", b"1"), (b"\xe9t\xe9\x01.jpg", b""), (b".x", b"")]);
        let two = folder(&[(b"a.jpg", b"22"), (b"a ~2.jpg", b"")]);
        fs::create_dir(one.path().join("folder.jpg")).unwrap();
        let media = opened(&[&one, &two]);
        assert_eq!(
            names_of(&media),
            ["．x", "a.jpg", "été.jpg", "a ~2.jpg", "a ~3.jpg"]
        );
        for (at, name) in names_of(&media).into_iter().enumerate() {
            let file = media.lookup(name.as_bytes()).unwrap();
            assert_eq!(media.file(file.number).unwrap(), file);
            assert_eq!(media.entry(at).unwrap().1.unwrap(), file);
        }
        let mut bytes = Vec::new();
        let second = media.lookup("a ~3.jpg".as_bytes()).unwrap();
        media.read(second.number, 1, u32::MAX, &mut bytes).unwrap();
        assert_eq!(bytes, b"2");
        media.read(second.number, 5, 10, &mut bytes).unwrap();
        assert_eq!(bytes, b"2", "nothing beyond the end");
    }

    #[test]
    fn long_names_that_begin_alike_are_told_apart() {
        let long = |tail: &[u8]| [&[0xe9; 130][..], tail].concat();
        let [one, two] = [long(b"1.jpg"), long(b"2.jpg")];
        let [three, four] = [[b'a'; 255], [b'a'; 255]];
        let first = folder(&[(&one, b"1"), (&two, b"2"), (&three, b"3")]);
        let second = folder(&[(&one, b"4"), (&four, b"5"), (b"x.aaaa", b"")]);
        let media = opened(&[&first, &second]);
        let names = names_of(&media);
        assert!(names.iter().all(|name| name.len() <= names::MAX_BYTES));
        let told_apart: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(told_apart.len(), 6, "{names:?}");
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let secret = folder(&[(b"secret", b"secret")]);
        let one = folder(&[(b"a", b"a")]);
        symlink(secret.path().join("secret"), one.path().join("b")).unwrap();
        symlink(secret.path(), one.path().join("c")).unwrap();
        let media = opened(&[&one]);
        assert_eq!(names_of(&media), ["a"]);
        // A link in the place of a file that was listed.
        let a = media.lookup(b"a").unwrap();
        fs::remove_file(one.path().join("a")).unwrap();
        symlink(secret.path().join("secret"), one.path().join("a")).unwrap();
        let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        assert!(media.lookup(b"a").is_err_and(is_gone));
        let read = media.read(a.number, 0, 10, &mut Vec::new());
        assert!(read.is_err_and(is_gone));
        // A link in the place of the folder.
        let link = secret.path().join("folder");
        symlink(one.path(), &link).unwrap();
        assert!(!Media::open(&[link], CodePage::default()).exists());
    }

    #[test]
    fn addresses_lead_to_names_in_any_case() {
        let one = folder(&[(b"A #1.JPG", b"")]);
        let media = opened(&[&one]);
        for (address, expected) in [
            (r"Base.html\a #1.jpg", Some("A%20%231.JPG")),
            ("base.HTML/a%20%231.jpg", Some("A%20%231.JPG")),
            (r"C:\chess\base.html\A #1.JPG", Some("A%20%231.JPG")),
            (r"formerly.html\A #1.JPG", Some("A%20%231.JPG")),
            (r"base.html\missing.jpg", Some("missing.jpg")),
            (r"base.bmp\..", Some("%EF%BC%8E.")),
            (r"formerly.html\missing.jpg", None),
            (r"base.html\", None),
            ("https://example.org/base.html/A #1.JPG", None),
            ("base.html", None),
            ("A #1.JPG", None),
        ] {
            assert_eq!(
                media.address(address, "base").as_deref(),
                expected,
                "{address}"
            );
        }
    }
}
