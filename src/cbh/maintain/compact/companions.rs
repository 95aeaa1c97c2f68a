//! Copying of the other files: data of tournaments, top games, description of
//! the base, media, opening keys.

use std::fs;
use std::io;
use std::path::Path;

use super::{ChangeError, Copy, Error, FileKind};
use crate::cbh::layout::top_games::TopGames;
use crate::storage::{LeftOut, ReadBuffer, copy_plain_file, kind_of, split_name};

/// Extensions of files that are copied unchanged.
const KEPT: [&str; 14] = [
    "cbm", "ini", "ico", "cbi", "cko", "ckn", "ck1", "ck2", "ck3", "cpo", "cpn", "cp1", "cp2",
    "cp3",
];

/// Length of the `.cbtt` header in bytes.
const EXTRAS_HEADER: usize = 32;

/// Maximum depth of nested media folders.
const MAX_DEPTH: usize = 16;

impl Copy<'_> {
    /// Copies all companion files.
    pub(super) fn companions(&mut self) -> Result<(), ChangeError> {
        self.tournament_extras()?;
        self.top_games()?;
        let family = self.database.family();
        let io = |file: &Path| {
            let file = file.to_path_buf();
            move |source| Error::Io { file, source }
        };
        let folder = family.directory();
        let mut left_out = LeftOut::new();
        for entry in fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            let (stem, extension) = split_name(&path);
            if !KEPT.contains(&extension.as_str()) || !family.has_stem(&stem) {
                continue;
            }
            let kind = path.symlink_metadata().map_err(io(&path))?.file_type();
            if kind.is_file() {
                let to = self.cbh.with_extension(&extension);
                copy_plain_file(&path, &to).map_err(io(&path))?;
            } else {
                left_out.push((path, kind_of(kind)));
            }
        }
        for folder in family.media_folders() {
            let extension = folder.extension().unwrap_or_default();
            let to = self.cbh.with_extension(extension.to_ascii_lowercase());
            copy_folder(folder, &to, &mut left_out).map_err(io(folder))?;
        }
        left_out.extend_from_slice(family.spare_folders());
        self.done.left_out = left_out;
        Ok(())
    }

    /// Copies the `.cbtt` records of the kept tournaments.
    fn tournament_extras(&self) -> Result<(), ChangeError> {
        let file = FileKind::TournamentExtras;
        let Some(numbers) = self.numbers.get(&FileKind::Tournaments) else {
            return self.copy_unchanged(file);
        };
        let Some(extras) = &self.database.tournament_extras else {
            return self.copy_unchanged(file);
        };
        let io = |source| self.database.io(file, source);
        let mut copy = extras.head(EXTRAS_HEADER).map_err(io)?;
        let mut count: u32 = 0;
        let kept = (0..).zip(numbers).filter(|(_, number)| number.is_some());
        for (id, _) in kept {
            // Only records at the end can be missing.
            let Some(record) = extras.stored(id).map_err(io)? else {
                break;
            };
            copy.extend(record);
            count += 1;
        }
        let last = count.saturating_sub(1).to_le_bytes();
        if let Some(place) = copy.get_mut(8..12) {
            place.copy_from_slice(&last);
        }
        self.write(file, &copy)
    }

    /// Copies the bits of the kept games. If the format is unknown, the file is
    /// left out, and ChessBase decides anew.
    fn top_games(&self) -> Result<(), ChangeError> {
        let file = FileKind::TopGames;
        let Some(top_games) = &self.database.top_games else {
            return Ok(());
        };
        let mut bits = Vec::new();
        let mut buffer = ReadBuffer::default();
        self.for_each_kept(&mut |number, record| {
            let of_game = top_games.bits(record.id.0, &mut buffer);
            let of_game = of_game.map_err(|source| self.database.io(file, source))?;
            TopGames::put_bits(&mut bits, number, of_game);
            Ok(())
        })?;
        self.write(file, &TopGames::file_of(bits))
    }
}

/// Copies a folder recursively. What is neither file nor folder goes to
/// `left_out`: a link may lead anywhere, and its target is not part of the base.
pub(crate) fn copy_folder(from: &Path, to: &Path, left_out: &mut LeftOut) -> io::Result<()> {
    let mut open = vec![(from.to_path_buf(), to.to_path_buf(), 0)];
    while let Some((from, to, depth)) = open.pop() {
        let kind = from.symlink_metadata()?.file_type();
        if kind.is_dir() && depth <= MAX_DEPTH {
            fs::create_dir(&to)?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                open.push((entry.path(), to.join(entry.file_name()), depth + 1));
            }
        } else if kind.is_file() && depth > 0 {
            copy_plain_file(&from, &to)?;
        } else {
            left_out.push((from, kind_of(kind)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_without_links_and_as_deep_as_is_usual() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        let nested =
            |root: &Path, depth| (0..depth).fold(root.to_path_buf(), |at, _| at.join("in"));
        let deepest = nested(&from, MAX_DEPTH + 1);
        fs::create_dir_all(&deepest).unwrap();
        fs::write(nested(&from, MAX_DEPTH).join("picture"), "deep").unwrap();
        fs::write(from.join("picture"), "here").unwrap();
        std::os::unix::fs::symlink("picture", from.join("link")).unwrap();
        let mut left_out = LeftOut::new();
        copy_folder(&from, &to, &mut left_out).unwrap();
        let mut left_out: Vec<_> = left_out.into_iter().map(|(path, _)| path).collect();
        left_out.sort();
        assert_eq!(left_out, [deepest, from.join("link")]);
        for (depth, text) in [(0, "here"), (MAX_DEPTH, "deep")] {
            let copy = fs::read_to_string(nested(&to, depth).join("picture"));
            assert_eq!(copy.unwrap(), text);
        }
        assert!(!nested(&to, MAX_DEPTH + 1).exists() && !to.join("link").exists());
        // A file in place of a folder is none of the base.
        let (file, mut left_out) = (from.join("picture"), LeftOut::new());
        let to = folder.path().join("file");
        copy_folder(&file, &to, &mut left_out).unwrap();
        assert!(left_out.len() == 1 && !to.exists());
    }
}
