//! `cbfs info`: describes a base, book or archive.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;

use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, book, print};
use crate::archive::{Archive, has_archive_extension};
use crate::base::{self, Base, Location};
use crate::cbh::{self, CodePage, Decoded, GameId, GuidingText, RecordKind};
use crate::escape::{self, push_line};
use crate::game::Defect;

/// Number of records that are read at a time.
const RECORDS: u32 = 4096;

/// Maximum number of records for which all games are decoded; that takes a
/// moment.
const FEW_RECORDS: u32 = 1 << 14;

/// Arguments of `cbfs info`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base or book, or an archive
    source: PathBuf,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    password: PasswordFile,
}

/// Numbers of records in a base.
#[derive(Debug, Default)]
struct InfoCounts {
    games: u32,
    deleted: u32,
    texts: u32,
}

/// A file of a base.
struct InfoFile {
    holds: &'static str,
    extension: &'static str,
    /// Path and length in bytes; `None` if the base lacks the file.
    present: Option<(PathBuf, u64)>,
}

/// Defects of a base, as in `.cbfs/defects.txt` of a mount.
#[derive(Debug, Default)]
struct Defects {
    /// Each with the number of its game or text, 0 for the whole base.
    found: Vec<(u32, Defect)>,
    /// Whether games and texts were decoded.
    with_games: bool,
}

/// The information about a base.
struct InfoReport<'a> {
    database: &'a dyn Base,
    /// The archive that contains the base, if any.
    archive: Option<&'a Archive>,
    defects: Defects,
    counts: InfoCounts,
    members: Vec<InfoFile>,
    /// Whether the code page was detected, given or assumed.
    page_source: &'static str,
}

/// Prints the information.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(opened) = crate::book::open(&args.source, None) {
        return book::info(opened.map_err(Failure::new)?.as_ref(), args.json);
    }
    let source =
        std::path::absolute(&args.source).map_err(|error| Failure::about(&args.source, error))?;
    let options = cbh::Options {
        code_page: args.codepage,
    };
    let is_archive = has_archive_extension(&source);
    let opened = is_archive.then(|| archive::open(&source, &args.password, args.codepage));
    let archive = opened.transpose()?;
    let database: Box<dyn Base> = match &archive {
        None => base::open(&source, &options).map_err(Failure::new)?,
        Some(archive) => match base::open_archived(archive, &options) {
            Ok(database) => database,
            Err(why) => return without_base(archive, &why, args.json),
        },
    };
    let database = database.as_ref();
    let report = InfoReport {
        counts: count(database).map_err(Failure::new)?,
        defects: find_defects(database).map_err(Failure::new)?,
        members: members(database),
        page_source: if args.codepage.is_some() {
            "given"
        } else {
            "detected"
        },
        database,
        archive: archive.as_deref(),
    };
    let text = if args.json {
        as_json(&report)
    } else {
        as_text(&report)
    };
    print(text.as_bytes())
}

/// Prints the members of an archive that contains no readable base.
fn without_base(archive: &Archive, why: &str, json: bool) -> Result<(), Failure> {
    if json {
        let all = json!({ "kind": "archive", "archive": archive::as_json(archive), "why": why });
        print(escape::json(&format!("{all:#}\n")).as_bytes())?;
    } else {
        print(archive::table(archive).as_bytes())?;
    }
    Err(Failure::new(why))
}

fn count(database: &dyn Base) -> Result<InfoCounts, cbh::Error> {
    let mut counts = InfoCounts::default();
    let mut entries = Vec::new();
    let mut next = 1;
    while next <= database.last_id() {
        let wanted = RECORDS.min(database.last_id() - next + 1);
        entries.clear();
        database.entries(GameId(next), wanted, &mut entries)?;
        for entry in &entries {
            match (entry.kind, entry.is_deleted) {
                (_, true) => counts.deleted += 1,
                (RecordKind::Game, false) => counts.games += 1,
                (RecordKind::Text, false) => counts.texts += 1,
            }
        }
        let Some(following) = next.checked_add(wanted) else {
            break;
        };
        next = following;
    }
    Ok(counts)
}

fn find_defects(database: &dyn Base) -> Result<Defects, cbh::Error> {
    let mut found: Vec<(u32, Defect)> = Vec::new();
    let whole = database.defects().iter().cloned();
    found.extend(whole.map(|defect| (0, defect)));
    let with_games = database.last_id() <= FEW_RECORDS;
    if with_games {
        database.check_whole(&mut |defect| found.push((0, defect)))?;
        decode_games(database, &mut found)?;
    }
    Ok(Defects { found, with_games })
}

/// Decodes all games and texts.
fn decode_games(database: &dyn Base, found: &mut Vec<(u32, Defect)>) -> Result<(), cbh::Error> {
    let (mut decoded, mut text) = (Decoded::reading_ahead(), GuidingText::default());
    for number in 1..=database.last_id() {
        let id = GameId(number);
        let mut read = database
            .read_game(id, &mut decoded)
            .map(|()| &decoded.defects);
        if let Err(cbh::Error::NotUsed(_)) = read {
            read = database.read_text(id, &mut text).map(|()| &text.defects);
        }
        match read {
            Ok(defects) => found.extend(defects.iter().map(|defect| (number, defect.clone()))),
            Err(cbh::Error::NotUsed(_)) => {}
            Err(cbh::Error::Malformed { file, offset, what }) => {
                let file = base::extension_of(&database.files(), &file);
                found.push((number, Defect { file, offset, what }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn members(database: &dyn Base) -> Vec<InfoFile> {
    let files = database.files().into_iter();
    files
        .filter(|file| file.bytes.is_some() || !file.is_rare)
        .map(|file| {
            let present = file.bytes.map(|bytes| (file.path, bytes));
            InfoFile {
                holds: file.holds,
                extension: file.extension,
                present,
            }
        })
        .collect()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn as_text(report: &InfoReport<'_>) -> String {
    let InfoReport {
        database, counts, ..
    } = report;
    let Location {
        name, directory, ..
    } = database.location();
    let directory = directory.display();
    let mut text = report.archive.map(archive::table).unwrap_or_default();
    let mut line = |message: fmt::Arguments<'_>| push_line(&mut text, message);
    line(format_args!("{name}: ChessBase database in {directory}"));
    let numbers = [
        ("games", counts.games),
        ("deleted", counts.deleted),
        ("texts", counts.texts),
    ];
    for (what, number) in numbers {
        line(format_args!("{number:>12}  {what}"));
    }
    for (file, version) in database.versions() {
        line(format_args!("{version:>12}  version of .{file}"));
    }
    let page = database.code_page().0.name();
    line(format_args!(
        "{page:>12}  code page, {}",
        report.page_source
    ));
    for file in &report.members {
        let InfoFile {
            holds, extension, ..
        } = file;
        match &file.present {
            Some((path, bytes)) => {
                let name = file_name(path);
                line(format_args!("{bytes:>12}  bytes of {holds} in {name}"));
            }
            None => line(format_args!("{:>12}  {holds}: no .{extension}", "-")),
        }
    }
    for (number, defect) in &report.defects.found {
        let of = match number {
            0 => String::new(),
            number => format!("game {number}: "),
        };
        line(format_args!("{:>12}  {of}{defect}", "defect"));
    }
    if !report.defects.with_games {
        let advice = "games were not looked at; `cbfs check` looks at every game";
        line(format_args!("{:>12}  {advice}", "-"));
    }
    if let Some(advice) = database.advice() {
        line(format_args!("{:>12}  {advice}", "note"));
    }
    text
}

fn as_json(report: &InfoReport<'_>) -> String {
    let InfoReport {
        database, counts, ..
    } = report;
    let members = report.members.iter();
    let files: Vec<_> = members
        .filter_map(|file| {
            let (path, bytes) = file.present.as_ref()?;
            Some(json!({
                "name": file_name(path),
                "bytes": bytes,
                "holds": file.holds,
            }))
        })
        .collect();
    let absent = report.members.iter().filter(|file| file.present.is_none());
    let missing: Vec<_> = absent.map(|file| file.extension).collect();
    let defects = report.defects.found.iter();
    let defects: Vec<_> = defects
        .map(|(number, defect)| {
            json!({
                "game": (*number > 0).then_some(number),
                "file": defect.file,
                "offset": defect.offset,
                "what": defect.what,
            })
        })
        .collect();
    let modified = database
        .modified()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let location = database.location();
    let versions = database.versions();
    let version = |of: &str| {
        let found = versions.iter().find(|(file, _)| *file == of);
        found.map(|(_, version)| *version)
    };
    let all = json!({
        "kind": "database",
        "archive": report.archive.map(archive::as_json),
        "name": location.name,
        "directory": location.directory.to_string_lossy(),
        "games": counts.games,
        "deleted": counts.deleted,
        "texts": counts.texts,
        "records": database.last_id(),
        "cbh_version": version("cbh"),
        "cbj_version": version("cbj"),
        "2cbh_version": version("2cbh"),
        "code_page": database.code_page().0.name(),
        "code_page_is": report.page_source,
        "bytes": database.size_on_disk(),
        "modified": modified,
        "files": files,
        "missing": missing,
        "defects": defects,
        "games_looked_at": report.defects.with_games,
        "note": database.advice(),
    });
    escape::json(&format!("{all:#}\n"))
}
