//! `html/`: pages of games, players, tournaments and openings, through the
//! filesystem without a kernel.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use cbfs::base;
use cbfs::cbh::{Decoded, GameId, Options as Reading};
use cbfs::vfs::{Access, Attr, DatabaseSource, Ino, NodeKind, Options, Shown, Vfs, Writer};
use common::{fixture, fixture_bases};
use tempfile::TempDir;

/// No page is longer.
const MOST_BYTES: usize = 2_000_000;

struct Mount {
    vfs: Vfs,
    _folder: Option<TempDir>,
}

fn source(base: &Path) -> DatabaseSource {
    let writer = Writer {
        label: "/mnt/first".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    };
    DatabaseSource::new(base, Reading::default(), None).written_by(Some(writer))
}

/// A base with the games of a PGN text.
fn base_of(folder: &Path, pgn: &str) -> PathBuf {
    let (base, file) = (folder.join("b.cbh"), folder.join("b.pgn"));
    fs::write(&file, pgn).unwrap();
    let mut import = Command::new(env!("CARGO_BIN_EXE_cbfs"));
    let import = import.args(["import", "--create", "--quiet"]);
    let imported = import.arg(&base).arg(&file).output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    base
}

impl Mount {
    fn of(pgn: &str) -> Mount {
        let folder = tempfile::tempdir().unwrap();
        let base = base_of(folder.path(), pgn);
        Mount {
            vfs: Vfs::open(Box::new(source(&base)), &Options::default()).unwrap(),
            _folder: Some(folder),
        }
    }

    fn of_base(base: &Path) -> Mount {
        Mount::showing(base, Shown::default())
    }

    fn showing(base: &Path, shown: Shown) -> Mount {
        let source = DatabaseSource::new(base, Reading::default(), None).showing(shown);
        Mount {
            vfs: Vfs::open(Box::new(source), &Options::default()).unwrap(),
            _folder: None,
        }
    }

    fn attr(&self, path: &str) -> Option<Attr> {
        let mut attr = self.vfs.attr(Ino::ROOT).unwrap();
        for name in path.split('/') {
            attr = self.vfs.lookup(attr.ino, name.as_bytes()).ok()?;
        }
        Some(attr)
    }

    fn text(&self, path: &str) -> String {
        let attr = self.attr(path).unwrap_or_else(|| panic!("no {path}"));
        let text = self.vfs.read(attr.ino, 0, u32::MAX).unwrap();
        let size = self.vfs.attr(attr.ino).unwrap().size;
        assert_eq!(text.len() as u64, size, "{path}");
        String::from_utf8(text.to_vec()).unwrap()
    }

    /// A page, which is well formed and not too long.
    fn page(&self, path: &str) -> String {
        let page = self.text(path);
        assert!(page.len() <= MOST_BYTES, "{path}: {} bytes", page.len());
        assert_is_ours(&page);
        page
    }

    fn names(&self, path: &str) -> Vec<String> {
        let directory = self.attr(path).unwrap().ino;
        let mut names = Vec::new();
        self.vfs
            .list(directory, 2, &mut |entry| {
                names.push(entry.name.to_owned());
                true
            })
            .unwrap();
        names
    }
}

/// The files below `html/`, as its folders list them, as paths from it.
fn listed(mount: &Mount) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for name in mount.names(&format!("html{folder}")) {
            let path = format!("{folder}/{name}");
            let attr = mount.attr(&format!("html{path}")).unwrap();
            if attr.kind == NodeKind::Directory {
                folders.push(path);
            } else {
                assert!(files.insert(path[1..].to_owned()), "{path} twice");
            }
        }
    }
    files
}

/// Elements and attributes that pages may have.
const ELEMENTS: &str = "html head meta title link script body nav main header footer h1 h2 h3 p ul ol li a \
    bdi small span div svg defs g path rect circle use text figure figcaption details summary pre \
    table caption thead tbody tr th td b dl dt dd";
const ATTRIBUTES: &str = "lang charset http-equiv content name rel href src defer class id aria-label \
    aria-hidden aria-current width height viewBox role fill stroke stroke-width stroke-linejoin \
    stroke-linecap d x y cx cy r fill-opacity data-f data-m data-u data-s data-a data-t data-e dir \
    title tabindex preserveAspectRatio scope colspan rowspan";

/// Holds a page against what this project writes: known elements that are
/// closed where they were opened, known attributes in quotation marks, and
/// links that leave the site by known schemes only.
fn assert_is_ours(page: &str) {
    let elements: BTreeSet<&str> = ELEMENTS.split_whitespace().collect();
    let attributes: BTreeSet<&str> = ATTRIBUTES.split_whitespace().collect();
    let empty = ["meta", "link"];
    let rest = page.strip_prefix("<!DOCTYPE html>\n").expect("a page");
    let mut open: Vec<&str> = Vec::new();
    for part in rest.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{tag}>");
            continue;
        }
        let is_closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(elements.contains(name), "<{tag}>");
        while !rest.is_empty() {
            if rest == "defer" {
                break;
            }
            let (key, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("<{tag}>"));
            let (value, after) = value.split_once('"').unwrap();
            assert!(attributes.contains(key), "<{tag}>: {key}");
            if ["href", "src"].contains(&key) {
                let scheme = value.split(['/', '#', '?']).next().unwrap();
                let known = ["http:", "https:", "mailto:"];
                let is_known = known.iter().any(|known| scheme.starts_with(known));
                assert!(!scheme.contains(':') || is_known, "{value}");
            }
            rest = after.trim_start();
        }
        if !is_closed && !empty.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
}

/// What the links of a page say of the positions: by number, the placement.
fn positions(page: &str) -> BTreeMap<usize, String> {
    let value = |tag: &str, key: &str| {
        let rest = tag.split_once(&format!(" {key}=\"")).unwrap().1;
        rest.split('"').next().unwrap().to_owned()
    };
    let links = page.split("<a").skip(1);
    let links = links.map(|part| part.split('>').next().unwrap());
    let links = links.filter(|tag| tag.contains(" data-f="));
    links
        .map(|tag| (value(tag, "id").parse().unwrap(), value(tag, "data-f")))
        .collect()
}

#[test]
fn a_page_has_the_position_after_each_move_of_every_fixture() {
    let mut seen = 0;
    for path in fixture_bases() {
        let mount = Mount::of_base(&path);
        let base = base::open(&path, &Reading::default()).unwrap();
        for name in mount.names("games") {
            let number = name.strip_suffix(".pgn").unwrap();
            let page = mount.page(&format!("html/games/{number}.html"));
            let mut decoded = Decoded::default();
            let id = GameId(number.parse().unwrap());
            if base.read_game(id, &mut decoded).is_err() {
                assert!(page.contains("This game cannot be read"), "{page}");
                continue;
            }
            let is_told = page.contains("This game could not be read completely");
            assert_eq!(is_told, !decoded.defects.is_empty());
            let game = &decoded.game;
            let shown = positions(&page);
            assert_eq!(shown.len(), game.tree.len() + 1, "{path:?} {number}");
            let mut position = game.start.position.clone();
            let mut plies = game.tree.main_line();
            for number in 0.. {
                let board = shakmaty::Board::from(position.board());
                let expected = format!("{} {}", board.board_fen(), position.turn().char());
                assert_eq!(shown[&number], expected);
                seen += 1;
                let Some(ply) = plies.next().and_then(|id| game.tree.ply(id)) else {
                    break;
                };
                match ply.mv {
                    Some(m) => drop(position.play(m).unwrap()),
                    None => position.play_null(),
                }
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

/// A tag of PGN with a value that would be markup, if it were taken for that.
fn hostile(name: &str) -> String {
    let value = "\\\"><script>alert(1)</script><img src=x onerror=alert(1)>'&lt;\u{202e}&#x3c;";
    format!("[{name} \"{value}\"]\n")
}

/// All fields of a game that take a text.
const TEXT_TAGS: [&str; 24] = [
    "Event",
    "Site",
    "Round",
    "Date",
    "White",
    "Black",
    "Annotator",
    "Source",
    "SourceTitle",
    "Publisher",
    "SourceDate",
    "WhiteTeam",
    "BlackTeam",
    "EventType",
    "EventDate",
    "EventCountry",
    "ECO",
    "Opening",
    "Variation",
    "TimeControl",
    "Termination",
    "WhiteTitle",
    "GameTag",
    "CbhOther",
];

/// Remarks of all kinds with markup in them.
const HOSTILE_REMARKS: [&str; 14] = [
    "</span></ol><script>alert(2)</script> \" onclick=\"alert(3)\" <!-- ]]> &amp; [#]",
    "[%cblink \"javascript:alert%284%29\",\"%3Cb%3E\"]",
    "[%cblink \"https://a.example/?%3C%3E%27\",\"page\"]",
    "[%csl Ra1,\"><b>] [%cal Ga1a2,\"><b>]",
    "[%clk <script>] [%emt <b>]",
    "[%eval \"><b>] [%evp 0,1,<b>]",
    "[%cbquote \"<script>\",\"<b>\"]",
    "[%tqu \"En\",\"<script>\",\"\",\"<b>\",\"e2e4\",\"<b>\",3]",
    "[%medal \"<x>\"] [%cbvideo \"<x>\"]",
    "[%mdl <x>] [%lang \"><b>]",
    "\u{202e}abc \u{2066}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} (a) \u{645}\u{631}\u{62d}\u{628}\u{627}",
    "javascript:alert(5) data:text/html,<b>",
    "&#x3c;script&#x3e; &lt;b&gt;",
];

#[test]
fn whatever_a_game_says_is_text() {
    let tags: String = TEXT_TAGS.map(hostile).concat();
    let right_to_left = "[White \"\u{5db}\u{5d4}\u{5df}\"]\n[Black \"\u{639}\u{644}\u{64a}\"]\n";
    let remarks = HOSTILE_REMARKS.map(|remark| format!("{{{remark}}} "));
    let moves = [
        "e4", "e5", "Nf3", "Nc6", "Bb5", "a6", "Ba4", "Nf6", "O-O", "Be7", "Re1", "b5", "Bb3", "d6",
    ];
    let mut games = format!("{right_to_left}[Result \"*\"]\n\n");
    for (m, remark) in moves.iter().zip(&remarks) {
        games += &[m, remark.as_str()].join(" ");
    }
    games += &[" *\n\n", &tags, "[Result \"*\"]\n\n1. e4 *\n\n"].concat();
    let mount = Mount::of(&games);
    let pages = crawl(&mount);
    assert!(pages.len() > 10);
    for (path, page) in pages.iter().filter(|(path, _)| !path.contains("cbfs.")) {
        for none in [
            "<img",
            "<!--",
            "<b>alert",
            "href=\"javascript",
            "href=\"data",
            "\u{202e}",
            "\u{2066}",
        ] {
            assert!(!page.contains(none), "{path}: {none}");
        }
    }
    let page = &pages["games/000001.html"];
    for shown in [
        "&lt;/span&gt;&lt;/ol&gt;&lt;script&gt;",
        "href=\"https://a.example/?&lt;&gt;&#39;\"",
        "<bdi>\u{5db}\u{5d4}\u{5df}</bdi>",
        "&amp;#x3c;script&amp;#x3e; &amp;lt;b&amp;gt;",
        "javascript:alert(5)",
    ] {
        assert!(page.contains(shown), "{shown} {page}");
    }
    assert_eq!(page.matches("class=\"diagram\"").count(), 1);
    assert_eq!(positions(page).len(), 15);
}

/// The warnings of a page.
fn warnings(page: &str) -> Vec<&str> {
    let parts = page.split("<p class=\"warning\" role=\"note\">").skip(1);
    parts
        .map(|part| part.split("</p>").next().unwrap())
        .collect()
}

#[test]
fn a_page_of_what_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let games = [
        game("Open", "1", ["A", "B"], "1-0"),
        game("Open", "2", ["B", "A"], "1-0"),
    ];
    let base = base_of(folder.path(), &games.concat());
    let moves = base.with_extension("cbg");
    fs::write(&moves, &fs::read(&moves).unwrap()[..26]).unwrap();
    let mount = Mount::of_base(&base);
    for page in ["games/000001.html", "games/000002.html"] {
        let page = mount.page(&format!("html/{page}"));
        let told = warnings(&page);
        assert!(told.len() == 1 && told[0].contains(".cbg"), "{page}");
    }
    // What the headers say is there.
    let name = mount.names("tournaments").remove(0);
    let event = mount.page(&format!("html/tournaments/{name}.html"));
    assert_eq!(rows(&event, "Match").len(), 2);
    let opening = mount.page("html/eco/C20.html");
    assert!(!opening.contains("class=\"boards\""), "{opening}");
    assert_eq!(rows_of_games(&opening), 2);
}

#[test]
fn boards_have_names_at_their_edges_and_openings_have_names() {
    let mut games = String::new();
    for number in 0..3 {
        games += &game("Open", "1", ["A", &format!("B {number}")], "1-0");
    }
    let mount = Mount::of(
        &games
            .replace("C20", "C44")
            .replace("1. e4 e5", "1. e4 e5 2. Nf3 Nc6"),
    );
    let page = mount.page("html/games/000001.html");
    let names = page.split_once("<g class=\"names\">").unwrap().1;
    assert!(names.starts_with("<text x=\"38\" y=\"357\">a</text>"));
    assert!(
        page.contains("C44</bdi></a> King&#39;s Knight Opening: Normal Variation"),
        "{page}"
    );
    let opening = mount.page("html/eco/C44.html");
    assert!(
        opening.contains("<li>King&#39;s Knight Opening: Normal Variation</li>"),
        "{opening}"
    );
}

#[test]
fn pages_are_found_by_name_and_not_listed() {
    let mount = Mount::of_base(&fixture("cbh/sample/sample.cbh"));
    assert!(mount.names("html").contains(&"games".to_owned()));
    assert_eq!(mount.names("html/games"), [""; 0]);
    let first = mount.names("games")[0].replace(".pgn", ".html");
    assert!(mount.attr(&format!("html/games/{first}")).is_some());
    for none in ["1.html", "000001.pgn", "999999.html", "000001.htm", ""] {
        assert!(
            mount.attr(&format!("html/games/{none}")).is_none(),
            "{none}"
        );
    }
    let directory = mount.attr("html/games").unwrap();
    assert_eq!(directory.kind, NodeKind::Directory);
    assert!(mount.text("html/cbfs.css").contains("prefers-color-scheme"));
    let (style, script) = (mount.text("html/cbfs.css"), mount.text("html/cbfs.js"));
    assert!(style.len() + script.len() <= 60_000);
}

#[test]
fn a_save_is_seen_in_the_page() {
    let mount = Mount::of("[Result \"*\"]\n\n1. e4 *\n\n");
    assert!(!mount.page("html/games/000001.html").contains("Elephant"));
    let file = mount.attr("games/000001.pgn").unwrap().ino;
    let access = Access {
        write: true,
        truncate: true,
        ..Access::default()
    };
    let drafts = mount.vfs.drafts();
    let handle = drafts.open_file(file, access).unwrap();
    let text = b"[Result \"*\"]\n\n1. e4 {Elephant} *\n";
    drafts.write(handle, 0, text).unwrap();
    drafts.flush(handle).unwrap();
    drafts.release(handle);
    assert!(mount.page("html/games/000001.html").contains("Elephant"));
}

#[test]
fn odd_games_are_pages() {
    // Each variation is one to the move before.
    let deep = "1. e4 ".to_owned() + &"(1. d4 ".repeat(500) + &") ".repeat(500) + "e5";
    let wide = format!("1. e4 e5 {}", "(1... c5 2. Nf3 d6) ".repeat(500));
    let games = ["*".to_owned(), deep, wide, "Nf3 Nf6 Ng1 Ng8 ".repeat(5000)];
    let games =
        games.map(|moves| format!("[Result \"*\"]\n\n{} *\n\n", moves.trim_end_matches('*')));
    let empty = "[FEN \"8/8/8/3q4/8/8/8/8 w - - 0 1\"]\n[SetUp \"1\"]\n[Result \"*\"]\n\n*\n\n";
    let mount = Mount::of(&(games.concat() + empty));
    for number in 1..=5 {
        mount.page(&format!("html/games/{number:06}.html"));
    }
    assert_eq!(positions(&mount.page("html/games/000001.html")).len(), 1);
    assert_eq!(positions(&mount.page("html/games/000002.html")).len(), 503);
    assert_eq!(positions(&mount.page("html/games/000003.html")).len(), 1503);
    let long = mount.page("html/games/000004.html");
    assert!(long.contains("longer than a page with boards"), "{long}");
    assert!(!long.contains("longer than any page"));
    let boards = positions(&long).len();
    assert!((5000..20_000).contains(&boards), "{boards}");
    let shown = long.split_once("<ol class=\"moves\">").unwrap().1;
    let shown = shown.split("<details").next().unwrap();
    let moves = ["Nf3", "Nf6", "Ng1", "Ng8"].map(|san| shown.matches(san).count());
    assert_eq!(moves, [5000; 4]);
    assert!(long.contains(&format!("its last {} moves", 20_001 - boards)));
    assert_eq!(
        positions(&mount.page("html/games/000005.html"))[&0],
        "8/8/8/3q4/8/8/8/8 w"
    );
}

/// The addresses of a page's links, as paths from `html/`; those that leave the
/// site are left out.
fn links(path: &str, page: &str) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    for part in page.split(" href=\"").chain(page.split(" src=\"")).skip(1) {
        let address = part.split('"').next().unwrap();
        if address.starts_with('#') || address.contains(':') || address.contains('<') {
            continue;
        }
        let mut way: Vec<&str> = path.split('/').collect();
        way.pop();
        for name in address.split('/') {
            match name {
                ".." => drop(way.pop().expect("it leaves the site")),
                name => way.push(name),
            }
        }
        let way = way.join("/");
        let decoded = percent_encoding::percent_decode_str(&way).decode_utf8();
        links.insert(decoded.unwrap().into_owned());
    }
    links
}

/// Goes from the index to all that it leads to.
fn crawl(mount: &Mount) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut waiting = vec!["index.html".to_owned()];
    while let Some(path) = waiting.pop() {
        if pages.contains_key(&path) {
            continue;
        }
        let full = format!("html/{path}");
        let is_page = Path::new(&path).extension() == Some("html".as_ref());
        let page = if is_page {
            mount.page(&full)
        } else {
            mount.text(&full)
        };
        if is_page {
            waiting.extend(links(&path, &page));
        }
        pages.insert(path, page);
    }
    pages
}

#[test]
fn each_link_leads_to_a_page_and_each_game_has_one() {
    for name in ["sample", "namesakes", "annotations", "encodings"] {
        let mount = Mount::of_base(&fixture(&format!("cbh/{name}/{name}.cbh")));
        let pages = crawl(&mount);
        for game in mount.names("games") {
            let page = format!("games/{}", game.replace(".pgn", ".html"));
            assert!(pages.contains_key(&page), "{name}: {page}");
        }
        for folder in ["players", "tournaments"] {
            let of_folder = |path: &&String| path.starts_with(&format!("{folder}/"));
            let count = pages.keys().filter(of_folder).count();
            assert_eq!(count, mount.names(folder).len(), "{name}: {folder}");
        }
        assert!(pages.contains_key("cbfs.css") && pages.contains_key("cbfs.js"));
    }
}

#[test]
fn all_pages_are_listed_if_that_is_asked_for() {
    let mut shown = Shown::default();
    shown.list_pages();
    for name in ["sample", "namesakes"] {
        let path = fixture(&format!("cbh/{name}/{name}.cbh"));
        let mount = Mount::showing(&path, shown);
        let pages: BTreeSet<String> = crawl(&mount).into_keys().collect();
        assert_eq!(listed(&mount), pages, "{name}");
    }
    // Pages in several pieces.
    let mut games = String::new();
    for number in 0..1100 {
        games += &game("Open", "1", ["One", &format!("Guest {number}")], "1-0");
    }
    let folder = tempfile::tempdir().unwrap();
    let base = base_of(folder.path(), &games);
    let files = listed(&Mount::showing(&base, shown));
    for path in [
        "games/001100.html",
        "players/One.html",
        "players/2/One.html",
        "players/3/One.html",
        "players-3.html",
        "eco/3/C20.html",
    ] {
        assert!(files.contains(path), "{path}");
    }
    assert!(!files.contains("players/2/Guest 1.html"));
    // Games; players twice, event and opening in three pieces; lists and the rest.
    assert_eq!(files.len(), 1100 + (1100 + 3) + 3 + 3 + (3 + 1 + 1) + 3);
}

fn game(event: &str, round: &str, players: [&str; 2], result: &str) -> String {
    let [white, black] = players;
    format!(
        "[Event \"{event}\"]\n[Round \"{round}\"]\n[White \"{white}\"]\n[Black \"{black}\"]\n\
         [Date \"2001.02.03\"]\n[WhiteElo \"2500\"]\n[ECO \"C20\"]\n[Result \"{result}\"]\n\n1. e4 e5 {result}\n\n"
    )
}

/// The words of a table, a line for each row.
fn rows(page: &str, title: &str) -> Vec<String> {
    let table = page.split_once(&format!("<h2>{title}</h2>")).unwrap().1;
    let table = table.split("</table>").next().unwrap();
    let rows = table.split("<tr>").skip(2);
    let words = |row: &str| {
        let cells = row.replace("</td>", "|").replace("</th>", "|");
        let text = cells
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        text.collect::<String>()
            .replace(" |", "|")
            .trim()
            .to_owned()
    };
    rows.map(words).collect()
}

#[test]
fn events_have_tables_of_their_kind() {
    let everyone = [
        game("All", "1", ["A", "B"], "1-0"),
        game("All", "1", ["C", "D"], "1/2-1/2"),
        game("All", "2", ["A", "C"], "1-0"),
        game("All", "2", ["D", "B"], "0-1"),
        game("All", "3", ["D", "A"], "1/2-1/2"),
        game("All", "3", ["B", "C"], "0-1"),
    ];
    let knocked = [
        game("Cup", "1", ["A", "B"], "1-0"),
        game("Cup", "1", ["B", "A"], "1/2-1/2"),
        game("Cup", "1", ["C", "D"], "0-1"),
        game("Cup", "2", ["D", "A"], "1-0"),
    ];
    let knocked = knocked
        .concat()
        .replace("[Event ", "[EventType \"k.o.\"]\n[Event ");
    let teams = [
        game("League", "1", ["A", "C"], "1-0"),
        game("League", "1", ["D", "B"], "1/2-1/2"),
    ];
    let teams = teams.concat();
    let of_teams = |white: &str, black: &str| {
        format!("[WhiteTeam \"{white}\"]\n[BlackTeam \"{black}\"]\n[Event ")
    };
    let (first, second) = teams.split_at(teams.rfind("[Event").unwrap());
    let first = first.replace("[Event ", &of_teams("Red", "Blue"));
    let second = second.replace("[Event ", &of_teams("Blue", "Red"));
    let mount = Mount::of(&[everyone.concat(), knocked, first, second].concat());
    let page = |name: &str| {
        let names = mount.names("tournaments");
        let name = names.iter().find(|one| one.starts_with(name)).unwrap();
        mount.page(&format!("html/tournaments/{name}.html"))
    };
    let all = page("All");
    assert_eq!(
        rows(&all, "Cross table"),
        [
            "1|A|2500|×|1|½|1|2½|3|3.00|2500|",
            "2|C|2500|0|×|½|1|1½|3|1.50|2500|",
            "3|D|2500|½|½|×|0|1|3|2.00|2500|",
            "4|B|2500|0|0|1|×|1|3|1.00|2500|",
        ]
    );
    // A game with Black is shaded, and no column says what is the title.
    let row = all
        .split("<tr>")
        .find(|row| row.contains("A.html"))
        .unwrap();
    assert_eq!(row.matches("class=\"k\"").count(), 1, "{row}");
    assert!(!all.contains("<th scope=\"col\">Event</th>"));
    let cup = page("Cup");
    assert_eq!(rows(&cup, "Round 2"), ["D|2500|1–0|A||1|"]);
    assert_eq!(
        rows(&cup, "Round 1"),
        ["A|2500|1½–½|B||1½|", "D||1–0|C|2500|1|"]
    );
    assert!(cup.find("Round 2") < cup.find("Round 1"));
    let league = page("League");
    assert_eq!(
        rows(&league, "Teams"),
        ["1|Red|×|1½|2|1½|1|", "2|Blue|½|×|0|½|1|"]
    );
    assert!(league.contains("<bdi>Red</bdi> <b>1½–½</b> <bdi>Blue</bdi>"));
    assert_eq!(
        rows(&league, "Round 1"),
        ["1|A|2500|1|C||", "2|B||½|D|2500|"]
    );
    assert!(league.contains("<a href=\"#m0\"><b>1½</b></a>"));
    assert!(league.contains("id=\"m0\""));
}

/// Games of events of a kind.
fn of_kind(kind: &str, games: &[String]) -> String {
    let tagged = format!("[EventType \"{kind}\"]\n[Event ");
    games.concat().replace("[Event ", &tagged)
}

/// The page of the only event of some games.
fn page_of_event(games: &str) -> String {
    let mount = Mount::of(games);
    let name = mount.names("tournaments").remove(0);
    mount.page(&format!("html/tournaments/{name}.html"))
}

#[test]
fn a_match_has_a_column_for_each_game() {
    let page = page_of_event(&of_kind(
        "match",
        &[
            game("Final", "2", ["B", "A"], "1/2-1/2"),
            game("Final", "1", ["A", "B"], "1-0"),
            game("Final", "10", ["A", "B"], "0-1"),
            game("Final", "9", ["B", "A"], "0-1"),
        ],
    ));
    assert_eq!(
        rows(&page, "Match"),
        ["1|A|2500|1|½|1|0|2½|", "2|B|2500|0|½|0|1|1½|"]
    );
}

#[test]
fn a_swiss_has_standings_by_rounds() {
    let games = [
        game("Open", "1", ["A", "B"], "1-0"),
        game("Open", "1", ["C", "D"], "1-0"),
        game("Open", "2", ["C", "A"], "1/2-1/2"),
        game("Open", "2", ["B", "E"], "1-0"),
    ];
    let page = page_of_event(&of_kind("swiss", &games));
    assert_eq!(
        rows(&page, "Standings"),
        [
            "1|A|2500|3w1|2b½|1½|2|2½|2500|",
            "2|C|2500|4w1|1w½|1½|2|1½||",
            "3|B|2500|1b0|5w1|1|2|1½|1700|",
            "4|D||2b0||0|1|1½|1700|",
            "5|E|||3b0|0|1|1|1700|",
        ]
    );
}

#[test]
fn matches_of_a_knock_out_are_in_rounds_however_games_are_numbered() {
    let rounds = |numbers: [&str; 5]| {
        let [first, second, other, semifinal, again] = numbers;
        page_of_event(&of_kind(
            "k.o.",
            &[
                game("Cup", first, ["A", "B"], "1/2-1/2"),
                game("Cup", second, ["B", "A"], "1-0"),
                game("Cup", other, ["C", "D"], "1-0"),
                game("Cup", semifinal, ["B", "C"], "1-0"),
                // They meet again for the second place.
                game("Cup", again, ["A", "B"], "1-0"),
            ],
        ))
    };
    for numbers in [
        ["1.1", "1.2", "1.3", "2", "3"],
        ["?", "?", "?", "?", "?"],
        ["1", "2", "3", "4", "5"],
    ] {
        let page = rounds(numbers);
        assert_eq!(
            rows(&page, "Round 1"),
            ["B||1½–½|A|2500|½1|", "C|2500|1–0|D||1|"]
        );
        assert_eq!(rows(&page, "Round 2"), ["B|2500|1–0|C||1|"]);
        assert_eq!(rows(&page, "Round 3"), ["A|2500|1–0|B||1|"]);
    }
}

#[test]
fn a_tournament_of_five_thousand_games_is_in_pieces() {
    let mut games = String::new();
    for round in 0..5 {
        for table in 0..1000 {
            let white = format!("Player with rather a long name, Number {table}");
            let black = format!("Guest, Number {}", (table + round * 7) % 1000);
            let round = format!("{}", round + 1);
            games += &game("Open", &round, [&white, &black], "1-0");
        }
    }
    let mount = Mount::of(&games);
    let name = mount.names("tournaments").remove(0);
    let mut seen = BTreeSet::new();
    for piece in 1..=10 {
        let path = match piece {
            1 => format!("tournaments/{name}.html"),
            piece => format!("tournaments/{piece}/{name}.html"),
        };
        let page = mount.page(&format!("html/{path}"));
        let of_games = |link: &String| link.starts_with("games/");
        let table = page.split_once("<h2>Games</h2>").unwrap().1;
        seen.extend(links(&path, table).into_iter().filter(of_games));
        assert!(links(&path, &page).contains(&format!("tournaments/10/{name}.html")));
    }
    assert_eq!(seen.len(), 5000);
    assert!(
        mount
            .attr(&format!("html/tournaments/11/{name}.html"))
            .is_none()
    );
    assert!(
        mount
            .attr(&format!("html/tournaments/1/{name}.html"))
            .is_none()
    );
    assert!(mount.page("html/players.html").contains("players-4.html"));
    assert!(mount.page("html/players-4.html").contains("aria-current"));
    assert!(mount.attr("html/players-5.html").is_none());
    assert!(mount.page("html/index.html").contains("5000 games"));
}

fn site(base: &Path, to: &Path, terms: &[&str]) -> std::process::Output {
    let mut site = Command::new(env!("CARGO_BIN_EXE_cbfs"));
    site.arg("site")
        .arg(base)
        .args(terms)
        .arg("-o")
        .arg(to)
        .output()
        .unwrap()
}

#[test]
fn a_site_is_what_the_mount_shows_and_stays_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = [
        game("../../../up", "1", ["..", "/etc/passwd"], "1-0"),
        game("a/../../b", "1", [".", "../x"], "0-1"),
    ];
    let base = base_of(folder.path(), &hostile.concat());
    let before = fs::read_dir(folder.path()).unwrap().count();
    let to = folder.path().join("pages");
    let written = site(&base, &to, &[]);
    assert!(written.status.success(), "{written:?}");
    let pages = crawl(&Mount::of_base(&base));
    for (path, page) in &pages {
        assert_eq!(&fs::read_to_string(to.join(path)).unwrap(), page, "{path}");
    }
    assert_eq!(files_below(&to).len(), pages.len());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before + 1);
    let again = site(&base, &to, &[]);
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(
        !again.status.success() && told.contains("there already"),
        "{told}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before + 1);
}

/// The files below a folder, as paths from it.
fn files_below(folder: &Path) -> BTreeSet<String> {
    let mut find = Command::new("find");
    let found = find.arg(folder).args(["-type", "f", "-printf", "%P\\n"]);
    let found = String::from_utf8(found.output().unwrap().stdout).unwrap();
    found.lines().map(str::to_owned).collect()
}

#[test]
fn a_site_of_terms_has_only_games_that_fit_and_what_these_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let games = [
        game("Open", "1", ["A", "B"], "1-0"),
        game("Cup", "1", ["A", "C"], "1-0"),
        game("Open", "2", ["B", "D"], "0-1"),
    ];
    let base = base_of(folder.path(), &games.concat());
    let to = folder.path().join("pages");
    let written = site(&base, &to, &["event:Open"]);
    assert!(written.status.success(), "{written:?}");
    let files = files_below(&to);
    assert!(files.contains("games/000001.html") && files.contains("games/000003.html"));
    assert!(!files.contains("games/000002.html"));
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    for path in files
        .iter()
        .filter(|path| path.rsplit('.').next() == Some("html"))
    {
        let page = fs::read_to_string(to.join(path)).unwrap();
        assert_is_ours(&page);
        assert!(!page.contains("Cup") && !page.contains("000002"), "{path}");
        let of_name = |name| page.contains(&format!("<bdi>{name}</bdi>"));
        assert!(!of_name("C"), "{path}");
        reached.extend(links(path, &page));
    }
    assert_eq!(reached, files);
    let player = fs::read_to_string(to.join("players/A.html")).unwrap();
    assert_eq!(rows_of_games(&player), 1);
    let index = fs::read_to_string(to.join("index.html")).unwrap();
    assert!(index.contains("<p>2 games</p>"), "{index}");
    let none = folder.path().join("none");
    for terms in [["event:Nowhere"], ["frob:x"]] {
        let told = site(&base, &none, &terms);
        assert!(!told.status.success() && !none.exists(), "{told:?}");
    }
}

/// How many games the table of a page has.
fn rows_of_games(page: &str) -> usize {
    let table = page.split_once("<h2>Games</h2>").unwrap().1;
    table.split("<tr>").count() - 2
}
