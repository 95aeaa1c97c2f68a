//! The directory of guiding texts, checked on a `Vfs` by `tests/vfs.rs` and on
//! a real mount by `tests/mount.rs`, both with the base `fixtures/cbh/texts`.

use std::collections::BTreeSet;

use cbfs::cbh::{Database, Options};
use cbfs::vfs::DatabaseVolume;

use super::behaviours::{Behaviour, Tree};
use super::fixture;

pub const TEXT_BEHAVIOURS: &[Behaviour] = &[
    ("texts have a directory", texts_have_a_directory),
    (
        "each language is a file and its name tells which",
        each_language_is_a_file,
    ),
    (
        "deleted texts are with the deleted games",
        deleted_texts_are_with_the_deleted_games,
    ),
    ("only listed names can be looked up", only_listed_names),
    ("sizes of texts are exact", sizes_are_exact),
    ("texts are documents with a title", texts_are_documents),
    ("plain texts are plain", plain_texts_are_plain),
    ("links lead where they can", links_lead_where_they_can),
    (
        "links of deleted texts lead out of their directory",
        links_of_deleted_texts,
    ),
    ("pictures are files", pictures_are_files),
];

const TEXTS: [&str; 10] = [
    "000001.txt",
    "000002.txt",
    "000003.en.html",
    "000003.de.html",
    "000005.html",
    "000007.html",
    "000008.html",
    "000011.en.html",
    "000011.html",
    "000012.html",
];

/// The base for these checks.
pub fn volume() -> DatabaseVolume {
    let path = fixture("cbh/texts/texts.cbh");
    let database = Database::open(&path, &Options::default()).unwrap();
    DatabaseVolume::new(database, "")
}

fn names(tree: &dyn Tree, directory: &str) -> Vec<String> {
    let listed = tree.list(directory).unwrap().into_iter();
    listed.map(|(name, _)| name).collect()
}

fn text(tree: &dyn Tree, path: &str) -> String {
    String::from_utf8(tree.read(path).unwrap()).unwrap()
}

fn texts_have_a_directory(tree: &dyn Tree) {
    assert!(names(tree, "").contains(&"texts".to_owned()));
    assert_eq!(tree.stat("texts").unwrap().links, 3);
    assert!(tree.stat("texts/media").unwrap().is_directory);
    let games = ["000004.pgn", "000009.pgn", "000010.pgn"];
    assert_eq!(names(tree, "games"), games);
}

fn each_language_is_a_file(tree: &dyn Tree) {
    let listed = names(tree, "texts");
    let expected = ["media"].iter().chain(&TEXTS).chain(&["000013.txt"]);
    assert_eq!(listed, expected.copied().collect::<Vec<_>>());
    assert!(text(tree, "texts/000003.de.html").contains("<p>Über Eröffnungen.</p>"));
    assert!(text(tree, "texts/000011.html").contains("Any language."));
}

fn deleted_texts_are_with_the_deleted_games(tree: &dyn Tree) {
    let deleted = ["000006.html", "000014.en.html", "000014.de.html"];
    assert_eq!(names(tree, "deleted"), deleted);
    let mut numbers = BTreeSet::new();
    for directory in ["games", "texts", "texts/media", "deleted"] {
        for (name, ino) in tree.list(directory).unwrap() {
            assert!(numbers.insert(ino), "{directory}/{name}: {ino} twice");
            assert!(ino < 1 << 53);
            let stat = tree.stat(&format!("{directory}/{name}")).unwrap();
            assert_eq!(stat.ino, ino, "{directory}/{name}");
        }
    }
}

fn only_listed_names(tree: &dyn Tree) {
    for path in [
        "texts/000003.html",
        "texts/000003.fr.html",
        "texts/000001.html",
        "texts/000001.en.txt",
        "texts/000004.pgn",
        "texts/000004.html",
        "texts/000006.html",
        "texts/3.en.html",
        "texts/000001.TXT",
        "texts/000099.html",
        "deleted/000001.txt",
        "games/000001.txt",
        "media",
        "texts/media/board 1.png",
        "texts/media/..png",
    ] {
        assert_eq!(tree.stat(path), Err(libc::ENOENT), "{path}");
    }
    assert_eq!(tree.list("texts/000001.txt"), Err(libc::ENOTDIR));
    assert_eq!(tree.stat("texts/000001.txt/x"), Err(libc::ENOTDIR));
    assert_eq!(tree.stat("texts/media/other.png/x"), Err(libc::ENOTDIR));
    assert_eq!(tree.read("texts"), Err(libc::EISDIR));
}

fn sizes_are_exact(tree: &dyn Tree) {
    for directory in ["texts", "deleted", "texts/media"] {
        for name in names(tree, directory) {
            let path = format!("{directory}/{name}");
            let stat = tree.stat(&path).unwrap();
            if stat.is_directory {
                continue;
            }
            let all = tree.read(&path).unwrap();
            assert_eq!((stat.size, stat.links), (all.len() as u64, 1), "{path}");
            assert_eq!(tree.stat(&path).unwrap(), stat);
            assert_eq!(tree.read_at(&path, 5, 7).unwrap(), all[5..12]);
            assert_eq!(tree.read_at(&path, stat.size, 7), Ok(Vec::new()));
        }
    }
    // Made one after the other.
    let mtime = |path| tree.stat(path).unwrap().mtime;
    assert!(mtime("texts/000001.txt") >= 1_200_000_000);
    assert_eq!(mtime("texts/000003.en.html"), mtime("texts/000003.de.html"));
}

fn texts_are_documents(tree: &dyn Tree) {
    for (name, title) in [
        ("000003.en.html", "Openings"),
        ("000003.de.html", "Eröffnungen"),
        ("000005.html", "Untitled"),
        ("000007.html", "Nothing inside"),
        ("000008.html", "Links &lt;&amp;&gt;"),
        ("000011.en.html", "Twice"),
        ("000011.html", "Any"),
        ("000012.html", "Twice"),
    ] {
        let text = text(tree, &format!("texts/{name}"));
        let head = format!(
            "<!DOCTYPE html>\n<html><head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n"
        );
        assert!(text.starts_with(&head), "{name}: {text}");
        assert!(text.ends_with("</body>\n</html>\n"), "{name}: {text}");
    }
    let record = text(tree, "texts/000003.en.html");
    for part in [
        "<meta name=\"author\" content=\"A Writer\">",
        "<meta name=\"tournament\" content=\"A report (Berlin) 2001\">",
        "<meta name=\"round\" content=\"3\">",
        "<meta name=\"source\" content=\"A magazine\">",
    ] {
        assert!(record.contains(part), "{part} in {record}");
    }
}

fn plain_texts_are_plain(tree: &dyn Tree) {
    assert_eq!(
        text(tree, "texts/000001.txt"),
        "Version one\n\nPlain text,\nin an 8-bit page: café.\n"
    );
    assert_eq!(
        text(tree, "texts/000013.txt"),
        "With an object\n\nA diagram: [#]\nand more.\n"
    );
}

fn addresses(page: &str) -> Vec<&str> {
    let parts = page.split([' ', '>']).filter_map(|part| {
        let value = part
            .strip_prefix("href=\"")
            .or_else(|| part.strip_prefix("src=\""))?;
        value.split('"').next()
    });
    parts.collect()
}

fn links_lead_where_they_can(tree: &dyn Tree) {
    let page = text(tree, "texts/000008.html");
    assert_eq!(
        addresses(&page),
        [
            "../games/000004.pgn",
            "../games/000010.pgn",
            "../games/000009.pgn",
            "javascript:CBLink(tag_game,Twin,A,Twin,B,,,", // and so on: one of two
            "javascript:CBLink(tag_game,Nobody,,Texts,,,,",
            "000003.en.html",
            "javascript:CBLink(tag_text,Twice,,,0)",
            "javascript:CBLink(tag_text,Deleted,,,0)",
            "javascript:CBLink(tag_player,A,Twin)",
            "https://example.org/?a=1&amp;b=2",
            "media/Board%201.png",
        ]
    );
    assert!(page.contains("alt=\"fen:8/8/8/8/8/8/8/8 w - - 0 1;\""));
    // A German title, and no file in the language of the link.
    let other = text(tree, "texts/000012.html");
    assert_eq!(addresses(&other), ["000003.de.html"]);
    assert_leads(tree, "texts", &["../games/000004.pgn", "000003.en.html"]);
    assert_leads(tree, "texts", &["media/Board 1.png"]);
}

fn links_of_deleted_texts(tree: &dyn Tree) {
    let english = text(tree, "deleted/000014.en.html");
    assert_eq!(
        addresses(&english),
        ["../texts/000003.en.html", "../texts/media/Board%201.png"]
    );
    let german = text(tree, "deleted/000014.de.html");
    assert_eq!(addresses(&german), ["../games/000004.pgn"]);
}

fn assert_leads(tree: &dyn Tree, from: &str, addresses: &[&str]) {
    for address in addresses {
        let path = match address.strip_prefix("../") {
            Some(path) => path.to_owned(),
            None => format!("{from}/{address}"),
        };
        assert!(!tree.stat(&path).unwrap().is_directory, "{path}");
    }
}

fn pictures_are_files(tree: &dyn Tree) {
    assert_eq!(names(tree, "texts/media"), ["Board 1.png", "other.png"]);
    for name in ["Board 1.png", "other.png"] {
        let stored = fixture("cbh/texts/texts.html").join(name);
        let stored = std::fs::read(stored).unwrap();
        let path = format!("texts/media/{name}");
        assert_eq!(tree.stat(&path).unwrap().size, stored.len() as u64);
        assert_eq!(tree.read(&path).unwrap(), stored);
        assert_eq!(tree.read_at(&path, 1, 3).unwrap(), b"PNG");
    }
}
