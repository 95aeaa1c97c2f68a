//! Saving through a mount, without the kernel: after each edit, the mount shows
//! the same as a new mount of the files, and the base stays sound.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cbfs::cbh::{Database, Options as Reading};
use cbfs::vfs::{
    Access, DatabaseSource, Editor, Error, Ino, NodeKind, Options, Refusal, RenameMode, Role,
    Saved, Vfs, Writer, format_game,
};
use common::games::many_games;
use tempfile::TempDir;

const GAME: &str = "[Event \"Here\"]\n[Site \"There\"]\n[Date \"2024.05.06\"]\n[Round \"3\"]\n\
    [White \"Nobody, Known\"]\n[Black \"Other, One\"]\n[Result \"1-0\"]\n\n1. e4 {why not} e5 2. Qh5 1-0\n\n";

/// A copy of a base, mounted to be changed.
struct Mount {
    folder: TempDir,
    base: PathBuf,
    vfs: Vfs,
    /// What was wrong with the base from the beginning; `None` if it is so
    /// large that it is not checked after each save.
    known: Option<BTreeSet<String>>,
}

fn writer() -> Writer {
    Writer {
        label: "/mnt/first".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    }
}

fn open_to_write(base: &Path) -> Result<Vfs, String> {
    open_to_write_with(base, &Options::default())
}

fn open_to_write_with(base: &Path, options: &Options) -> Result<Vfs, String> {
    let source = DatabaseSource::new(base, Reading::default(), None).written_by(Some(writer()));
    Vfs::open(Box::new(source), options)
}

impl Mount {
    fn of(base: &Path) -> Mount {
        Mount::with(base, &Options::default())
    }

    fn with(base: &Path, options: &Options) -> Mount {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.file_stem() == base.file_stem() {
                let copy = folder.path().join(path.file_name().unwrap());
                fs::write(copy, fs::read(&path).unwrap()).unwrap();
            }
        }
        let base = folder.path().join(base.file_name().unwrap());
        let is_small = fs::metadata(&base).unwrap().len() < 1 << 20;
        let known = is_small.then(|| defects_of(&base));
        let vfs = open_to_write_with(&base, options).unwrap();
        Mount {
            folder,
            base,
            vfs,
            known,
        }
    }

    fn fixture(path: &str) -> Mount {
        Mount::of(&common::fixture(path))
    }

    fn find(&self, path: &str) -> Option<Ino> {
        find(&self.vfs, path)
    }

    fn text(&self, path: &str) -> String {
        text(&self.vfs, self.find(path).unwrap())
    }

    fn names(&self, path: &str) -> Vec<String> {
        let listed = list(&self.vfs, self.find(path).unwrap());
        listed.into_iter().map(|(name, _)| name).collect()
    }

    /// Edits; whatever comes of it, nothing new is wrong with the base.
    fn edit(
        &self,
        mut edit: impl FnMut(&dyn Editor) -> Result<Saved, Refusal>,
    ) -> Result<Saved, Refusal> {
        let done = self.vfs.edit(Ino::ROOT, &mut edit);
        if let Some(known) = &self.known {
            let found = defects_of(&self.base);
            let new: Vec<_> = found.difference(known).collect();
            assert!(new.is_empty(), "{}: {new:#?}", self.base.display());
        }
        done
    }

    fn replace(&self, id: u32, text: &str) -> Result<Saved, Refusal> {
        self.edit(|editor| editor.replace(game(id), text.as_bytes(), &[]))
    }

    fn append(&self, text: &str, earlier: &[Ino]) -> Saved {
        self.edit(|editor| editor.append(text.as_bytes(), earlier))
            .unwrap()
    }

    fn role(&self, path: &str, name: &str) -> Role {
        let directory = self.find(path).unwrap();
        let mut role = Role::Refused;
        let none = self.edit(|editor| {
            role = editor.role(directory, name.as_bytes());
            Err(Error::Invalid.into())
        });
        assert!(none.is_err());
        role
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| !path.to_str().unwrap().ends_with("cbfs-journal"));
        files
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }

    /// What is shown is what a new mount shows.
    fn ensure_current(&self, what: &str) {
        let source = DatabaseSource::new(&self.base, Reading::default(), None);
        let fresh = Vfs::open(Box::new(source), &Options::default()).unwrap();
        let (shown, wanted) = (tree(&self.vfs), tree(&fresh));
        for path in shown.keys().chain(wanted.keys()) {
            assert_eq!(shown.get(path), wanted.get(path), "{path} after {what}");
        }
    }
}

/// What is wrong with a base, the saves in its journal included.
fn defects_of(base: &Path) -> BTreeSet<String> {
    let database = Database::open(base, &Reading::default()).unwrap();
    let mut defects = BTreeSet::new();
    database
        .check(&|_| {}, &mut |defect| {
            // How long a file is now, or how many a wrong count counts, is
            // not what is wrong with it.
            let what = defect.to_string();
            let what = what.split(", which has").next().unwrap();
            defects.insert(what.split(" counts ").next().unwrap().to_owned());
        })
        .unwrap();
    defects
}

fn game(id: u32) -> Ino {
    Ino::new(1, id)
}

fn number_of(saved: &Saved) -> u32 {
    saved.files[0].index()
}

fn name_of(id: u32) -> String {
    let mut name = String::new();
    format_game(id, &mut name);
    name
}

fn find(vfs: &Vfs, path: &str) -> Option<Ino> {
    let mut ino = Ino::ROOT;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        ino = vfs.lookup(ino, name.as_bytes()).ok()?.ino;
    }
    Some(ino)
}

fn text(vfs: &Vfs, ino: Ino) -> String {
    let mut text = Vec::new();
    loop {
        let read = vfs.read(ino, text.len() as u64, 1 << 16).unwrap();
        if read.is_empty() {
            return String::from_utf8(text).unwrap();
        }
        text.extend_from_slice(&read);
    }
}

fn list(vfs: &Vfs, directory: Ino) -> Vec<(String, Ino)> {
    let mut names = Vec::new();
    vfs.list(directory, 0, &mut |entry| {
        if !matches!(entry.name, "." | "..") {
            names.push((entry.name.to_owned(), entry.node.ino));
        }
        true
    })
    .unwrap();
    names
}

/// Everything that is shown but the mount's own directories: the links, length
/// and text of each file.
fn tree(vfs: &Vfs) -> BTreeMap<String, (u32, u64, String)> {
    let mut tree = BTreeMap::new();
    let mut open = vec![(String::new(), Ino::ROOT)];
    while let Some((path, directory)) = open.pop() {
        for (name, _) in list(vfs, directory) {
            let path = format!("{path}/{name}");
            if matches!(path.as_str(), "/.cbfs" | "/import") {
                continue;
            }
            let attr = vfs.lookup(directory, name.as_bytes()).unwrap();
            match attr.kind {
                NodeKind::Directory => open.push((path, attr.ino)),
                NodeKind::Symlink => {}
                NodeKind::File(_) => {
                    let text = text(vfs, attr.ino);
                    assert_eq!(attr.size, text.len() as u64, "{path}");
                    tree.insert(path, (attr.links, attr.size, text));
                }
            }
        }
    }
    tree
}

/// Bases small enough to be looked at as a whole after each edit.
fn small_bases() -> Vec<PathBuf> {
    let bases = common::fixture_bases()
        .into_iter()
        .chain(common::real_bases());
    let is_small = |base: &PathBuf| fs::metadata(base).unwrap().len() < 46 * 120;
    let damaged = ["damage.cbh", "corrupt.cbh"];
    bases
        .filter(|base| is_small(base) && !damaged.iter().any(|name| base.ends_with(name)))
        .collect()
}

fn first_game(vfs: &Vfs) -> Option<u32> {
    let games = list(vfs, find(vfs, "games")?);
    games.first().map(|(_, ino)| ino.index())
}

/// The text with another White, event and date.
fn recast(text: &str) -> String {
    let line = |line: &str| {
        let line = match line.split(' ').next() {
            Some("[White") => "[White \"Newcomer, Very\"]",
            Some("[Event") => "[Event \"A new event\"]",
            Some("[Date") => "[Date \"1876.??.??\"]",
            // What names are made of belongs to the old ones.
            Some("[CbhWhite") => return None,
            _ => line,
        };
        Some(format!("{line}\n"))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn after_any_edit_a_new_mount_shows_the_same() {
    for base in small_bases() {
        let mount = Mount::of(&base);
        let what = |edit: &str| format!("{edit} in {}", base.display());
        // All lists are worked out, so that they have to be kept current.
        mount.ensure_current(&what("nothing"));
        let Some(id) = first_game(&mount.vfs) else {
            continue;
        };
        let name = name_of(id);
        let original = mount.text(&format!("games/{name}"));
        match mount.replace(id, &recast(&original)) {
            Ok(_) => {}
            // One that cannot be read wholly is not written over.
            Err(Refusal::Text(why)) if why.contains("is damaged and not written over") => continue,
            Err(refusal) => panic!("{}: {refusal}\n{original}", base.display()),
        }
        mount.ensure_current(&what("other players"));
        assert!(
            mount
                .text(&format!("games/{name}"))
                .contains("Newcomer, Very")
        );
        assert!(mount.names("players/Newcomer, Very").contains(&name));
        let new = number_of(&mount.append(GAME, &[]));
        mount.ensure_current(&what("a new game"));
        mount
            .edit(|editor| editor.set_deleted(game(id), true))
            .unwrap();
        mount.ensure_current(&what("a deletion"));
        assert!(mount.find(&format!("games/{name}")).is_none());
        assert!(mount.find("players/Newcomer, Very").is_none());
        assert!(mount.find(&format!("deleted/{name}")).is_some());
        mount
            .edit(|editor| editor.set_deleted(game(id), false))
            .unwrap();
        mount.ensure_current(&what("taking that back"));
        let players = mount.find("players").unwrap();
        mount
            .edit(|editor| editor.rename(players, b"Newcomer, Very", b"Old, Hand"))
            .unwrap();
        mount.ensure_current(&what("another name"));
        assert!(
            mount
                .text(&format!("games/{name}"))
                .contains("[White \"Old, Hand\"]")
        );
        mount
            .replace(new, &GAME.replace("Nobody", "Somebody"))
            .unwrap();
        mount.ensure_current(&what("a changed new game"));
        mount.vfs.sync().unwrap();
        mount.ensure_current(&what("a sync"));
        mount.replace(id, &original).unwrap();
        mount.ensure_current(&what("the text from before"));
        mount.vfs.close();
        mount.ensure_current(&what("the end"));
    }
}

#[test]
fn saving_the_stored_text_changes_no_byte() {
    for base in small_bases() {
        let mount = Mount::of(&base);
        let before = mount.files();
        for (name, ino) in mount
            .find("games")
            .map(|games| list(&mount.vfs, games))
            .unwrap()
        {
            match mount.replace(ino.index(), &text(&mount.vfs, ino)) {
                Ok(saved) => assert!(saved.volume.is_none(), "{name}"),
                Err(Refusal::Failed(Error::Damaged(_)) | Refusal::Text(_)) => {}
                Err(refusal) => panic!("{name}: {refusal}"),
            }
        }
        mount.vfs.close();
        assert!(mount.files() == before, "{}", base.display());
    }
}

#[test]
fn a_later_save_of_a_text_replaces_an_earlier_one() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let count = mount.names("games").len();
    let made = mount.append(GAME, &[]).files;
    let other = mount.append(&GAME.replace("Qh5", "Nc3"), &[]).files;
    let again = mount.append(&GAME.replace("Qh5", "Nf3"), &made).files;
    assert_eq!(made, again);
    mount.ensure_current("an append in the place of another");
    let name = name_of(made[0].index());
    assert!(mount.text(&format!("games/{name}")).contains("Nf3"));
    assert_eq!(mount.names("games").len(), count + 2);
    // A temporary file that was taken for a new game becomes an old one.
    let text = mount.text("games/000001.pgn").replace("1. ", "{first} 1. ");
    mount
        .edit(|editor| editor.replace(game(1), text.as_bytes(), &again))
        .unwrap();
    mount.ensure_current("a game in the place of a new one");
    assert!(mount.text("games/000001.pgn").contains("{first}"));
    assert_eq!(mount.find(&format!("games/{name}")), None);
    assert!(mount.find(&format!("deleted/{name}")).is_some());
    let name = name_of(other[0].index());
    assert!(mount.text(&format!("games/{name}")).contains("Nc3"));
}

/// The base is as if the temporary file had never been there: what only it
/// named is gone, and the next game gets its number.
#[test]
fn a_temporary_file_that_becomes_a_game_leaves_no_other_game() {
    for base in ["cbh/oldheaders/oldheaders.cbh", "cbh/sample/sample.cbh"] {
        let mount = Mount::fixture(base);
        let deleted = mount.names("deleted").len();
        let players = mount.names("players");
        let text = mount.text("games/000001.pgn");
        for round in 0..3 {
            let made = mount.append(GAME, &[]).files;
            assert_ne!(mount.names("players"), players);
            let text = text.replacen("\n\n", &format!("\n\n{{round {round}}} "), 1);
            mount
                .edit(|editor| editor.replace(game(1), text.as_bytes(), &made))
                .unwrap();
            mount.ensure_current("a game in the place of a new one");
            assert_eq!(mount.names("deleted").len(), deleted);
            assert_eq!(mount.names("players"), players);
        }
        let last = mount.append(GAME, &[]).files;
        let many = many_games(20);
        let imported = mount.edit(|editor| {
            let mut text = std::io::Cursor::new(many.as_bytes());
            editor.import(&mut text, None, &AtomicBool::new(false), &[])
        });
        let imported = imported.unwrap().files;
        assert_eq!(imported[0].index(), last[0].index() + 1);
        mount.edit(|editor| editor.withdraw(&imported)).unwrap();
        mount.ensure_current("an import that is taken back");
        assert_eq!(mount.names("deleted").len(), deleted);
        let again = mount.append(GAME, &[]).files;
        assert_eq!(again, imported[..1]);
        mount.vfs.close();
        let defects = defects_of(&mount.base);
        assert!(defects.is_empty(), "{defects:?}");
    }
}

/// What somebody else wrote into the new game meanwhile is not lost.
#[test]
fn a_game_that_was_edited_since_is_deleted_instead_of_removed() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let made = mount.append(GAME, &[]).files;
    let edited = GAME.replace("Qh5", "Nc3");
    mount.replace(made[0].index(), &edited).unwrap();
    mount.edit(|editor| editor.withdraw(&made)).unwrap();
    mount.ensure_current("a withdrawn game");
    let name = name_of(made[0].index());
    assert!(mount.text(&format!("deleted/{name}")).contains("Nc3"));
}

#[test]
fn an_import_makes_all_games_of_a_text_or_none() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let count = mount.names("games").len();
    let bad = format!("{GAME}{}", GAME.replace("Qh5", "Qh6"));
    let import = |text: &str| {
        mount.edit(|editor| {
            editor.import(
                &mut std::io::Cursor::new(text.as_bytes()),
                None,
                &AtomicBool::new(false),
                &[],
            )
        })
    };
    let Err(Refusal::Text(why)) = import(&bad) else {
        panic!("a game with an illegal move was imported");
    };
    assert!(why.starts_with("line 19,"), "{why}");
    assert_eq!(mount.names("games").len(), count);
    let good = format!("{GAME}{}", GAME.replace("Qh5", "Nf3"));
    let made = import(&good).unwrap().files;
    assert_eq!(made.len(), 2);
    assert_eq!(mount.names("games").len(), count + 2);
    mount.ensure_current("an import");
    assert!(mount.find("import").is_some());
    assert_eq!(mount.names("import"), ["lenient"]);
}

/// So many games are laid behind the ends of the files.
const STAGED: usize = 2500;

/// Its entities are counted anew though some records are laid into the files
/// before all is known.
#[test]
fn a_later_import_replaces_an_earlier_one() {
    // More than are followed one by one, and fewer.
    for count in [STAGED, 10_100] {
        let mount = Mount::fixture("cbh/sample/sample.cbh");
        let before = (mount.names("games").len(), mount.names("deleted").len());
        let counts = || (mount.names("games").len(), mount.names("deleted").len());
        let import = |text: &str, earlier: &[Ino]| {
            let mut text = std::io::Cursor::new(text.as_bytes());
            let saved = mount
                .edit(|editor| editor.import(&mut text, None, &AtomicBool::new(false), earlier));
            saved.unwrap().files
        };
        let text = many_games(count);
        // A few of the first part with other players than in the whole.
        let cut = text.match_indices("\n\n").nth(2 * 99 + 1).unwrap().0 + 2;
        let part = text
            .get(..cut)
            .unwrap()
            .replacen("[White \"", "[White \"Early ", 3);
        let early = import(&part, &[]);
        assert_eq!(early.len(), 100);
        let whole = import(&text, &early);
        let ensure_current = |what| {
            if count == STAGED {
                mount.ensure_current(what);
            }
        };
        ensure_current("an import in the place of another");
        assert_eq!(whole.len(), count);
        assert_eq!(whole[..100], early);
        assert_eq!(counts(), (before.0 + count, before.1));
        let text_of = |ino: Ino| mount.text(&format!("games/{}", name_of(ino.index())));
        assert!(text_of(whole[0]).contains("{0}") && !text_of(whole[0]).contains("Early"));
        assert!(text_of(whole[count - 1]).contains(&format!("{{{}}}", count - 1)));
        // What is left of the earlier one is deleted.
        let fewer = import(&part, &whole[..150]);
        assert_eq!(fewer, early);
        assert_eq!(counts(), (before.0 + count - 50, before.1 + 50));
        mount.edit(|editor| editor.withdraw(&fewer)).unwrap();
        ensure_current("a withdrawn import");
        assert_eq!(counts(), (before.0 + count - 150, before.1 + 150));
        mount.vfs.close();
        let defects = defects_of(&mount.base);
        assert!(defects.is_empty(), "{defects:?}");
    }
}

#[test]
fn the_date_of_a_game_moves_with_its_text_whether_its_record_has_a_stamp() {
    for base in ["cbh/oldheaders/oldheaders.cbh", "cbh/sample/sample.cbh"] {
        let mount = Mount::fixture(base);
        let modified = |id: u32| {
            let ino = mount.find(&format!("games/{id:06}.pgn")).unwrap();
            mount.vfs.attr(ino).unwrap().modified
        };
        let before = [modified(1), modified(2)];
        let begun = SystemTime::now() - Duration::from_secs(2);
        let text = mount.text("games/000001.pgn");
        mount.replace(1, &text).unwrap();
        assert_eq!(
            [modified(1), modified(2)],
            before,
            "{base}: nothing is another"
        );
        let edited = text.replacen("1. ", "{now} 1. ", 1);
        mount.replace(1, &edited).unwrap();
        assert!(modified(1) >= begun, "{base}: {:?}", modified(1));
        assert_eq!(modified(2), before[1], "{base}");
    }
}

#[test]
fn a_game_that_cannot_be_written_takes_the_text_that_it_has() {
    let mount = Mount::fixture("cbh/misplaced/misplaced.cbh");
    let text = mount.text("games/000001.pgn");
    let refused = mount.replace(1, &text.replacen("1. ", "{now} 1. ", 1));
    assert!(refused.is_err());
    let taken = mount.replace(1, &text).unwrap();
    assert!(taken.volume.is_none(), "nothing is another");
    assert_eq!(mount.text("games/000001.pgn"), text);
}

#[test]
fn the_date_of_a_directory_moves_with_what_it_lists() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let dates = || {
        ["games", "players", "deleted", "pgn/all.pgn"].map(|path| {
            let ino = mount.find(path).unwrap();
            mount.vfs.attr(ino).unwrap().modified
        })
    };
    let before = dates();
    let text = mount.text("games/000001.pgn");
    mount
        .replace(1, &text.replacen("1. ", "{now} 1. ", 1))
        .unwrap();
    let remarked = dates();
    assert_eq!(remarked[..3], before[..3], "every game is where it was");
    assert!(remarked[3] > before[3], "a file has other bytes");
    mount
        .replace(1, &text.replacen("[White \"", "[White \"Un", 1))
        .unwrap();
    let renamed = dates();
    assert!(
        renamed[..3]
            .iter()
            .zip(&before)
            .all(|(now, then)| now > then)
    );
    mount.append(GAME, &[]);
    assert!(dates().iter().zip(&renamed).all(|(now, then)| now > then));
}

#[test]
fn names_mean_what_may_be_written_there() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let made = mount.append(GAME, &[]).files;
    let (file, name) = (made[0], name_of(made[0].index()));
    let next = name_of(file.index() + 1);
    assert_eq!(mount.role("games", &name), Role::File(file));
    assert_eq!(mount.role("games", &next), Role::New);
    assert_eq!(
        mount.role("games", &name_of(file.index() + 2)),
        Role::Refused
    );
    for (name, role) in [
        ("new.pgn", Role::New),
        ("New.PGN", Role::New),
        (".new.pgn", Role::Scratch),
        ("4913", Role::Scratch),
        ("sedabc", Role::Scratch),
        ("x.pgn~", Role::Scratch),
    ] {
        assert_eq!(mount.role("games", name), role, "{name}");
    }
    let group = "players/Nobody, Known";
    assert_eq!(mount.role(group, &name), Role::File(file));
    assert_eq!(mount.role(group, "000001.pgn"), Role::Refused);
    assert_eq!(mount.role(group, &next), Role::Refused);
    assert_eq!(mount.role(group, "tmp.pgn"), Role::Scratch);
    for (name, role) in [
        ("many.pgn", Role::Import),
        ("games.txt", Role::Import),
        (".many.pgn", Role::Scratch),
        ("many.pgn.part", Role::Scratch),
    ] {
        assert_eq!(mount.role("import", name), role, "{name}");
    }
    mount.edit(|editor| editor.set_deleted(file, true)).unwrap();
    assert_eq!(mount.role("games", &name), Role::Deleted(file));
    for place in ["deleted", "", "players", "pgn", "eco"] {
        assert_eq!(mount.role(place, &name), Role::Refused, "{place}");
    }
}

#[test]
fn a_name_in_use_is_refused_and_only_entities_can_be_renamed() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    mount.append(GAME, &[]);
    let before = tree(&mount.vfs);
    let rename = |place: &str, from: &str, to: &str| {
        let directory = mount.find(place).unwrap();
        mount.edit(|editor| editor.rename(directory, from.as_bytes(), to.as_bytes()))
    };
    for (place, from, to, wanted) in [
        ("players", "Nobody, Known", "Other, One", Error::NotEmpty),
        ("players", "Not There", "Anybody", Error::NotFound),
        ("players", "Nobody, Known", "Nobody ~7", Error::Invalid),
        ("years", "2024", "2025", Error::NotPermitted),
        ("", "players", "persons", Error::NotPermitted),
    ] {
        match rename(place, from, to) {
            Err(refusal) => assert_eq!(Error::from(refusal).errno(), wanted.errno(), "{from}"),
            other => panic!("{from}: {other:?}"),
        }
    }
    assert!(tree(&mount.vfs) == before);
    rename("tournaments", "Here (There)", "Elsewhere (Far (Away))").unwrap();
    mount.ensure_current("another event");
    assert!(mount.find("tournaments/Elsewhere (Far (Away))").is_some());
}

/// A game with an entity of each kind.
const CAST: &str = "[Event \"Here\"]\n[Site \"There\"]\n[Date \"2024.05.06\"]\n\
    [White \"Nobody, Known\"]\n[Black \"Other, One\"]\n[Result \"1-0\"]\n[Annotator \"Critic\"]\n\
    [EventDate \"2024.02.29\"]\n[SourceTitle \"Magazine\"]\n[WhiteTeam \"Club\"]\n\n1. e4 1-0\n\n";

#[test]
fn a_name_too_long_for_its_fields_is_refused() {
    let mount = Mount::fixture("cbh/names-1252/names-1252.cbh");
    mount.append(CAST, &[]);
    let before = tree(&mount.vfs);
    let long = "x".repeat(31);
    let field = "is longer than its field";
    for (place, from, to, errno, wanted) in [
        (
            "players",
            "Nobody, Known",
            long.clone(),
            libc::ENAMETOOLONG,
            field,
        ),
        (
            "players",
            "Nobody, Known",
            format!("Lee, {long}"),
            libc::ENAMETOOLONG,
            field,
        ),
        (
            "annotators",
            "Critic",
            "x".repeat(46),
            libc::ENAMETOOLONG,
            field,
        ),
        (
            "sources",
            "Magazine",
            long.clone(),
            libc::ENAMETOOLONG,
            field,
        ),
        ("teams", "Club", "x".repeat(46), libc::ENAMETOOLONG, field),
        (
            "tournaments",
            "Here (There) 2024",
            format!("Here ({long}) 2024"),
            libc::ENAMETOOLONG,
            field,
        ),
    ] {
        let directory = mount.find(place).unwrap();
        let renamed = mount.edit(|editor| editor.rename(directory, from.as_bytes(), to.as_bytes()));
        let refusal = renamed.expect_err(&to);
        assert!(refusal.to_string().contains(wanted), "{refusal}");
        assert_eq!(Error::from(refusal).errno(), errno, "{to}");
    }
    assert!(tree(&mount.vfs) == before);
}

#[test]
fn a_tournament_keeps_its_place_and_its_date() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    mount.append(CAST, &[]);
    let before = tree(&mount.vfs);
    let directory = mount.find("tournaments").unwrap();
    let rename = |from: &str, to: &str| {
        mount.edit(|editor| editor.rename(directory, from.as_bytes(), to.as_bytes()))
    };
    for (to, lacks) in [
        ("Championship", "place and year"),
        ("Championship 2024", "place"),
        ("Championship (There)", "year"),
        ("Championship (There) 024", "place and year"),
        ("(There) 2024", "title"),
    ] {
        match rename("Here (There) 2024", to) {
            Err(Refusal::Text(why)) => {
                assert!(why.contains("Title (Place) Year"), "{why}");
                assert!(why.ends_with(&format!("no {lacks} there")), "{why}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    assert!(tree(&mount.vfs) == before);
    let game = |name: &str| {
        let folder = format!("tournaments/{name}");
        mount.text(&format!("{folder}/{}", mount.names(&folder)[0]))
    };
    for (from, to, day) in [
        ("Here (There) 2024", "Other (Place) 2024", "2024.02.29"),
        ("Other (Place) 2024", "Other (Place) 2020", "2020.02.29"),
        ("Other (Place) 2020", "Other (Place) 2019", "2019.??.??"),
    ] {
        rename(from, to).unwrap();
        mount.ensure_current(to);
        let text = game(to);
        assert!(text.contains("[Site \"Place\"]"), "{text}");
        assert!(text.contains(&format!("[EventDate \"{day}\"]")), "{text}");
    }
}

#[test]
fn a_refused_text_is_located_and_changes_nothing() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let (files, before) = (mount.files(), tree(&mount.vfs));
    for (text, place) in [
        (GAME.replace("Qh5", "Nf33"), "line 9,"),
        (format!("{GAME}{GAME}"), "line 11,"),
        (String::new(), "line 1, column 1:"),
        (GAME.replace("2024.05.06", "yesterday"), "line 3,"),
        (GAME.replace("[Round", "[White \"Dup\"]\n[Round"), "line 6,"),
    ] {
        match mount.replace(1, &text) {
            Err(Refusal::Text(why)) => assert!(why.starts_with(place), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let elo = GAME.replace("[Result", "[WhiteElo \"9999\"]\n[Result");
    assert!(matches!(mount.replace(1, &elo), Err(Refusal::Text(_))));
    assert!(matches!(
        mount.replace(999_999, GAME),
        Err(Refusal::Failed(Error::NotFound))
    ));
    mount.vfs.close();
    assert!(mount.files() == files && tree(&mount.vfs) == before);
}

#[test]
fn a_second_writer_gets_the_name_of_the_first() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let why = open_to_write(&mount.base).unwrap_err();
    assert!(
        why.contains("/mnt/first") && why.contains("sample.cbh"),
        "{why}"
    );
    mount.append(GAME, &[]);
    mount.vfs.close();
    let second = open_to_write(&mount.base).unwrap();
    assert!(find(&second, "players/Nobody, Known").is_some());
    second.close();
}

#[test]
fn a_protected_base_is_shown_read_only() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    mount.vfs.close();
    let mut mode = fs::metadata(&mount.base).unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(&mount.base, mode).unwrap();
    let vfs = open_to_write(&mount.base).unwrap();
    assert!(find(&vfs, "import").is_none());
    let refused = vfs.edit(Ino::ROOT, &mut |editor| editor.append(GAME.as_bytes(), &[]));
    match refused {
        Err(Refusal::Failed(Error::Protected(why))) => assert!(why.contains("sample.cbh"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn changes_by_another_program_are_detected_and_not_overwritten() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    mount.append(GAME, &[]);
    mount.vfs.sync().unwrap();
    assert_eq!(mount.vfs.refresh().directories, []);
    // Another one deletes game 1.
    let flagged = |is_deleted: bool| {
        let mut bytes = fs::read(&mount.base).unwrap();
        bytes[46] = if is_deleted {
            bytes[46] | 0x80
        } else {
            bytes[46] & 0x7f
        };
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&mount.base, bytes).unwrap();
    };
    flagged(true);
    let saved = mount.append(&GAME.replace("Qh5", "Nf3"), &[]);
    assert!(mount.find("games/000001.pgn").is_none());
    assert!(mount.find("deleted/000001.pgn").is_some());
    assert!(
        mount
            .find(&format!("games/{}", name_of(number_of(&saved))))
            .is_some()
    );
    mount.vfs.sync().unwrap();
    flagged(false);
    assert!(!mount.vfs.refresh().directories.is_empty());
    assert!(mount.find("games/000001.pgn").is_some());
    mount.vfs.refresh();
    assert!(mount.vfs.refresh().directories.is_empty());
    mount.ensure_current("changes from outside");
}

/// Another program has begun to write a base: what is shown is none of its states.
#[test]
fn nothing_is_saved_while_the_base_cannot_be_opened() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let whole = fs::read(&mount.base).unwrap();
    let shown = mount.text("games/000001.pgn");
    fs::write(&mount.base, vec![0; whole.len()]).unwrap();
    mount.vfs.refresh();
    let edited = shown.replace("[Round \"", "[Round \"9");
    let replace = &mut |editor: &dyn Editor| editor.replace(game(1), edited.as_bytes(), &[]);
    let refused = mount.vfs.edit(Ino::ROOT, replace).unwrap_err();
    assert!(refused.to_string().contains("not a .cbh file"), "{refused}");
    assert_eq!(fs::read(&mount.base).unwrap(), vec![0; whole.len()]);
    fs::write(&mount.base, &whole).unwrap();
    mount.replace(1, &edited).unwrap();
    mount.ensure_current("a save after that");
}

#[test]
fn saves_are_synced_after_some_seconds_without_an_external_change() {
    let mount = Mount::fixture("cbh/sample/sample.cbh");
    let before = mount.files();
    mount.vfs.refresh();
    let now = Instant::now();
    mount.append(GAME, &[]);
    assert!(mount.files().get(&mount.base) == before.get(&mount.base));
    for (seconds, is_synced) in [(0, false), (1, false), (5, true)] {
        mount.vfs.sync_if_due(now + Duration::from_secs(seconds));
        let is_changed = mount.files().get(&mount.base) != before.get(&mount.base);
        assert_eq!(is_changed, is_synced, "after {seconds} s");
        assert_eq!(mount.vfs.refresh().directories, []);
    }
}
/// Opens a game in each way that a program does before it saves, and closes it
/// as it was; gives what was refused.
fn open_in_all_ways(vfs: &Vfs, id: u32) -> Result<(), String> {
    let games = find(vfs, "games").unwrap();
    let name = name_of(id);
    let told = |what: &'static str| move |error: Error| format!("{what}: {error}");
    let attr = vfs
        .lookup(games, name.as_bytes())
        .map_err(told("look-up"))?;
    let mode = vfs.drafts().permissions(&attr).map_err(told("mode"))?;
    if mode != 0o644 {
        return Err(format!("mode {mode:o}"));
    }
    for write in [false, true] {
        let access = Access {
            write,
            ..Access::READ
        };
        let handle = vfs
            .drafts()
            .open_file(attr.ino, access)
            .map_err(told("open"))?;
        vfs.drafts()
            .read_open(handle, 0, 1 << 20)
            .map_err(told("read"))?;
        vfs.drafts().flush(handle).map_err(told("close"))?;
        vfs.drafts().release(handle);
    }
    let (temporary, backup) = (format!(".{id}.tmp"), format!("{name}~"));
    let made = vfs
        .drafts()
        .create(games, temporary.as_bytes(), Access::READ, true);
    vfs.drafts().release(made.map_err(told("temporary"))?.1);
    vfs.drafts()
        .unlink(games, temporary.as_bytes())
        .map_err(told("removal"))?;
    let rename = |from: &str, to: &str| {
        let mode = RenameMode::NoReplace;
        vfs.drafts()
            .rename(games, from.as_bytes(), games, to.as_bytes(), mode)
    };
    rename(&name, &backup).map_err(told("backup"))?;
    rename(&backup, &name).map_err(told("and back"))?;
    rename(&name, &backup).map_err(told("backup"))?;
    let made = vfs
        .drafts()
        .create(games, name.as_bytes(), Access::READ, true);
    vfs.drafts().release(made.map_err(told("new file"))?.1);
    vfs.drafts()
        .unlink(games, backup.as_bytes())
        .map_err(told("removal"))
}

#[test]
fn saves_of_other_games_do_not_disturb_readers() {
    // All that is asked for is read anew.
    let options = Options {
        cache_bytes: 0,
        ..Options::default()
    };
    let mount = Mount::with(&common::fixture("cbh/sample/sample.cbh"), &options);
    let texts = [2, 3].map(|id| mount.text(&format!("games/{}", name_of(id))));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mount, is_over) = (&mount, &is_over);
        for id in [4, 9] {
            scope.spawn(move || {
                let mut ways = Ok(());
                for step in 0.. {
                    if is_over.load(SeqCst) || ways.is_err() {
                        break;
                    }
                    ways = open_in_all_ways(&mount.vfs, id + step % 5);
                }
                is_over.store(true, SeqCst);
                ways.unwrap();
            });
        }
        for turn in 0..400 {
            if is_over.load(SeqCst) {
                break;
            }
            for (id, text) in [2, 3].into_iter().zip(&texts) {
                let text = format!("[Annotator \"{turn}\"]\n{text}");
                mount.replace(id, &text).unwrap();
            }
        }
        is_over.store(true, SeqCst);
    });
}
