//! `cbfs info`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;

use super::{Failure, print};
use crate::cbh::{self, Database, FileKind, GameId, RecordKind};

/// Records read at once.
const RECORDS: u32 = 4096;

/// What `cbfs info` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    source: PathBuf,

    /// For programs
    #[arg(long)]
    json: bool,
}

/// What there is in a base.
#[derive(Debug, Default)]
struct Counts {
    games: u32,
    deleted: u32,
    texts: u32,
}

/// A file of the set, and its length.
struct Member {
    path: PathBuf,
    bytes: u64,
    holds: &'static str,
}

/// Says what a base is.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let source =
        std::path::absolute(&args.source).map_err(|error| Failure::about(&args.source, error))?;
    let database = Database::open(&source, &cbh::Options::default()).map_err(Failure::new)?;
    let counts = count(&database).map_err(Failure::new)?;
    let members = members(&database);
    let text = if args.json {
        as_json(&database, &counts, &members)
    } else {
        as_text(&database, &counts, &members)
    };
    print(text.as_bytes())
}

fn count(database: &Database) -> Result<Counts, cbh::Error> {
    let mut counts = Counts::default();
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

fn members(database: &Database) -> Vec<Member> {
    FileKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let path = database.family().path(kind)?;
            Some(Member {
                path: path.to_path_buf(),
                bytes: fs::metadata(path).ok()?.len(),
                holds: kind.holds(),
            })
        })
        .collect()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn as_text(database: &Database, counts: &Counts, members: &[Member]) -> String {
    let mut text = format!(
        "{}: ChessBase database in {}\n",
        database.family().stem(),
        database.family().directory().display()
    );
    let numbers = [
        ("games", counts.games),
        ("deleted", counts.deleted),
        ("texts", counts.texts),
    ];
    for (what, number) in numbers {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{number:>12}  {what}");
    }
    let (headers, extended) = database.versions();
    let _ = writeln!(text, "{headers:>12}  version of .cbh");
    if let Some(extended) = extended {
        let _ = writeln!(text, "{extended:>12}  version of .cbj");
    }
    for member in members {
        let _ = writeln!(
            text,
            "{:>12}  bytes of {} in {}",
            member.bytes,
            member.holds,
            file_name(&member.path)
        );
    }
    text
}

fn as_json(database: &Database, counts: &Counts, members: &[Member]) -> String {
    let files: Vec<_> = members
        .iter()
        .map(|member| {
            json!({
                "name": file_name(&member.path),
                "bytes": member.bytes,
                "holds": member.holds,
            })
        })
        .collect();
    let modified = database
        .modified()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let all = json!({
        "kind": "database",
        "name": database.family().stem(),
        "directory": database.family().directory().to_string_lossy(),
        "games": counts.games,
        "deleted": counts.deleted,
        "texts": counts.texts,
        "records": database.last_id(),
        "cbh_version": database.versions().0,
        "cbj_version": database.versions().1,
        "bytes": database.size_on_disk(),
        "modified": modified,
        "files": files,
    });
    format!("{all:#}\n")
}
