//! The set of files of one base, with their paths.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::cbh::{Error, SPARE_FOLDER, as_named, resolved};
use crate::storage::{
    FolderTree, LeftOut, folder_of, is_same_stem, join_name, length_and_time, names_in, split_name,
};

/// A file of a base, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `.2cbh`: a record per game, text or analysis.
    Headers,
    /// `.2cbg`: moves and texts.
    Moves,
    /// `.2lid`: players, tournaments, sources, teams, labels.
    Entities,
    /// `.2cba`: annotations.
    Annotations,
}

impl FileKind {
    /// All kinds that cbfs reads, the required ones first.
    pub const ALL: [FileKind; 4] = [
        FileKind::Headers,
        FileKind::Moves,
        FileKind::Entities,
        FileKind::Annotations,
    ];

    /// The extension, lower case.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Headers => "2cbh",
            FileKind::Moves => "2cbg",
            FileKind::Entities => "2lid",
            FileKind::Annotations => "2cba",
        }
    }

    /// Description of its content, for messages.
    pub fn holds(self) -> &'static str {
        match self {
            FileKind::Headers => "game headers",
            FileKind::Moves => "moves",
            FileKind::Entities => "players and tournaments",
            FileKind::Annotations => "annotations",
        }
    }

    /// Returns whether a base cannot be read without it.
    fn is_required(self) -> bool {
        self != FileKind::Annotations
    }
}

/// Further extensions of this format alone. The name of such a file names the
/// base, too.
const COMPANIONS: [&str; 2] = ["2lgd", "2lcd"];

/// Extensions of files and folders that a base of the older format beside it,
/// of the same name, has too.
pub const SHARED_EXTENSIONS: [&str; 4] = ["ini", MEDIA_FOLDER, "cko", "cpo"];

/// The folder of pictures.
const MEDIA_FOLDER: &str = "html";

/// Paths of the files of a base, in any letter case.
#[derive(Clone, Debug)]
pub struct Family {
    directory: PathBuf,
    stem: OsString,
    paths: [Option<PathBuf>; FileKind::ALL.len()],
    media_folders: Vec<PathBuf>,
    spare_folders: LeftOut,
    /// The archive that contains the files, if any.
    inside: Option<Arc<dyn FolderTree>>,
}

impl Family {
    /// Returns whether only files of this format have the extension of `path`.
    pub fn owns(path: &Path) -> bool {
        let (_, extension) = split_name(path);
        let mut kinds = FileKind::ALL.iter().map(|kind| kind.extension());
        kinds.any(|known| known == extension) || COMPANIONS.contains(&extension.as_str())
    }

    /// Locates the base of the file `path`, in any letter case, following
    /// links.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for files of another kind, [`Error::Missing`]
    /// if there is no such base or a required file is absent, [`Error::Io`]
    /// if the directory cannot be listed.
    pub fn locate(path: &Path) -> Result<Family, Error> {
        let path = &resolved(path)?;
        if !Family::owns(path) {
            return Err(Error::Unsupported {
                file: path.clone(),
                what: "not a file of a 2CBH base; name its .2cbh".to_owned(),
            });
        }
        let directory = folder_of(path);
        let names = names_in(directory).map_err(|source| Error::Io {
            file: path.clone(),
            source,
        })?;
        Family::among(path, names).map_err(|error| as_named(path, error))
    }

    /// Locates the base in `tree`, the content of the archive `path`. `headers`
    /// is its `.2cbh`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if a required file is absent.
    pub fn inside(
        path: &Path,
        headers: &OsStr,
        tree: Arc<dyn FolderTree>,
    ) -> Result<Family, Error> {
        let mut family = Family::among(&path.join(headers), tree.names())?;
        family.inside = Some(tree);
        Ok(family)
    }

    /// As [`locate`](Family::locate), in a folder with files of these names.
    fn among(path: &Path, names: impl IntoIterator<Item = OsString>) -> Result<Family, Error> {
        let (stem, _) = split_name(path);
        let mut family = Family {
            directory: folder_of(path).to_path_buf(),
            paths: [const { None }; FileKind::ALL.len()],
            media_folders: Vec::new(),
            spare_folders: LeftOut::new(),
            inside: None,
            stem,
        };
        let of_stem = |name: OsString| {
            let (stem, extension) = split_name(Path::new(&name));
            is_same_stem(&stem, &family.stem).then_some((name, stem, extension))
        };
        let names: Vec<_> = names.into_iter().filter_map(of_stem).collect();
        // Two bases whose names differ in letter case share no file.
        let headers = FileKind::Headers.extension();
        let has = |stem: &OsStr| {
            let mut all = names.iter();
            all.any(|(_, of, extension)| of == stem && extension == headers)
        };
        let has_twin =
            has(&family.stem) && names.iter().any(|(_, of, _)| *of != family.stem && has(of));
        let (mut media, mut folders) = (None, Vec::new());
        for (name, stem, extension) in names {
            let path = family.directory.join(name);
            if has_twin && stem != family.stem {
                continue;
            }
            if extension == MEDIA_FOLDER {
                folders.push(path.clone());
            }
            // A stem in the same letter case is preferred.
            let is_exact = stem == family.stem;
            let kinds = FileKind::ALL.into_iter().map(FileKind::extension);
            let files = kinds.zip(&mut family.paths);
            for (known, place) in files.chain([(MEDIA_FOLDER, &mut media)]) {
                if known == extension && (is_exact || place.is_none()) {
                    *place = Some(path.clone());
                }
            }
        }
        folders.retain(|folder| media.as_ref() != Some(folder));
        family.spare_folders = (folders.into_iter())
            .map(|folder| (folder, SPARE_FOLDER))
            .collect();
        family.media_folders = media.into_iter().collect();
        let mut kinds = FileKind::ALL.into_iter();
        if let Some(kind) = kinds.find(|kind| kind.is_required() && family.path(*kind).is_none()) {
            return Err(Error::Missing {
                file: family.default_path(kind),
                holds: kind.holds(),
            });
        }
        family.stem = split_name(&family.default_path(FileKind::Headers)).0;
        Ok(family)
    }

    /// Path of a file; `None` if the base has none.
    pub fn path(&self, kind: FileKind) -> Option<&Path> {
        self.paths.get(kind as usize)?.as_deref()
    }

    /// Path of a file, also if it does not exist.
    pub fn default_path(&self, kind: FileKind) -> PathBuf {
        let name = || join_name(&self.stem, kind.extension());
        let usual = || self.directory.join(name());
        self.path(kind).map_or_else(usual, Path::to_path_buf)
    }

    /// Length of a file and time of its last change; `None` if it does not
    /// exist.
    pub fn length_and_time(&self, kind: FileKind) -> Option<(u64, SystemTime)> {
        length_and_time(self.path(kind)?, self.inside.as_deref())
    }

    /// The folder of the files, if it is not on disk.
    pub fn tree(&self) -> Option<&Arc<dyn FolderTree>> {
        self.inside.as_ref()
    }

    /// The name that messages show before the extension of a file: that of the
    /// base, or of the archive that contains it.
    pub fn name_for(&self, extension: &str) -> String {
        let outer = split_name(&self.directory);
        match &self.inside {
            Some(_) if outer.1 == extension => outer.0.to_string_lossy().into_owned(),
            _ => self.name().into_owned(),
        }
    }

    /// Paths of the folders with the pictures of texts, if something has their
    /// name.
    pub fn media_folders(&self) -> &[PathBuf] {
        &self.media_folders
    }

    /// Those whose names differ from that of the media folder only in letter
    /// case. They do not count.
    pub(crate) fn spare_folders(&self) -> &[(PathBuf, &'static str)] {
        &self.spare_folders
    }

    /// The name that the files share, for display.
    pub fn name(&self) -> Cow<'_, str> {
        self.stem.to_string_lossy()
    }

    /// The directory of the base.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(path: &str, names: &[&str]) -> Result<Family, Error> {
        Family::among(Path::new(path), names.iter().map(OsString::from))
    }

    #[test]
    fn a_name_with_dots_keeps_them_and_letter_case_does_not_matter() {
        let names = [
            "CB 17.2.2CBH",
            "cb 17.2.2cbg",
            "cb 17.2.2lid",
            "cb 17.2.html",
            "cb 17.2cba",
        ];
        let family = among("/x/cb 17.2.2lgd", &names).unwrap();
        assert_eq!(family.name(), "CB 17.2");
        assert_eq!(family.media_folders(), [Path::new("/x/cb 17.2.html")]);
        assert_eq!(family.path(FileKind::Annotations), None);
        assert!(Family::owns(Path::new("a.2LCD")) && !Family::owns(Path::new("a.cbh")));
    }

    #[test]
    fn bases_whose_names_differ_in_letter_case_share_no_file() {
        let names = [
            "a.2cbh", "a.2cbg", "a.2lid", "A.2cbh", "A.2cbg", "A.2lid", "A.2cba",
        ];
        let family = among("/x/a.2cbh", &names).unwrap();
        assert_eq!(family.path(FileKind::Annotations), None);
        let family = among("/x/A.2cbg", &names).unwrap();
        assert_eq!(family.path(FileKind::Moves), Some(Path::new("/x/A.2cbg")));
    }

    #[test]
    fn a_base_without_moves_is_none() {
        let missing = among("/x/a.2cbh", &["a.2cbh", "a.2lid"]).unwrap_err();
        assert!(
            missing.to_string().starts_with("/x/a.2cbg: not found"),
            "{missing}"
        );
    }
}
