//! What is said of a base, and of a directory of bases.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::StatusReport;
use super::sheet::{Sheet, size};
use crate::calendar::{duration, unix, utc};
use crate::fs::mount::live_base::BaseStatus;
use crate::fs::mount::snapshot::{Shared, Snapshot};

/// How a [`Vfs`](crate::vfs::Vfs) is mounted. The caller that mounts it provides
/// this, with a clock: the `Vfs` has neither.
#[derive(Clone, Debug)]
pub struct Mounting {
    /// Where.
    pub mountpoint: PathBuf,
    /// Whether files can be written, where the base can.
    pub is_writable: bool,
    /// With which options, as `-o` takes them.
    pub options: Vec<String>,
    /// When names are listed with attributes, in a word.
    pub readdirplus: &'static str,
    /// Whether games have extended attributes.
    pub has_xattr: bool,
    /// Number of the process that serves it.
    pub process: u32,
    /// Time of the mount, by the calendar.
    pub started: SystemTime,
    /// Time of the mount, by `clock`.
    pub since: Instant,
    /// The monotonic clock.
    pub clock: fn() -> Instant,
}

impl Mounting {
    /// How long it has been mounted.
    pub(crate) fn uptime(&self) -> Duration {
        (self.clock)().saturating_duration_since(self.since)
    }

    /// What time it is, by the calendar.
    pub(crate) fn time(&self) -> SystemTime {
        self.started + self.uptime()
    }
}

/// What the texts say when nothing was counted.
const NOT_COUNTED: &str = "not counted yet";

/// The report on one base. `source` is where it lies.
pub(crate) fn of_base(
    snapshot: &Snapshot,
    shown: &BaseStatus,
    source: Option<&Path>,
    shared: &Shared,
) -> StatusReport {
    let mut sheet = Sheet::default();
    let facts = snapshot.volume.facts();
    add_mount(&mut sheet, shared, snapshot.volume.editor().is_some());
    if let Some(why) = facts.read_only_because {
        sheet.both("read only because", why);
    }
    add_source(&mut sheet, source, facts.kind);
    if let Some(advice) = facts.advice {
        sheet.both("note", advice);
    }
    sheet.line("state", state(shown));
    sheet.value("error", shown.complaint.clone());
    if let Some(problem) = &shown.problem {
        sheet.line("PROBLEM", problem);
    }
    sheet.value("problem", shown.problem.clone());
    for (what, count) in facts.counts {
        sheet.line(
            what,
            count.map_or(NOT_COUNTED.to_owned(), |n| n.to_string()),
        );
        sheet.value(what, count);
    }
    if let Some((name, is_given)) = facts.code_page {
        let how = if is_given { "given" } else { "detected" };
        sheet.line("code page", format!("{name}, {how}"));
        sheet.value("code_page", name);
        sheet.value("code_page_is", how);
    }
    for (extension, version) in facts.versions {
        sheet.line(format!("version of .{extension}"), version.to_string());
        sheet.value(&format!("{extension}_version"), version);
    }
    add_size(&mut sheet, facts.bytes);
    add_cache(&mut sheet, shared);
    add_progress(&mut sheet, snapshot, facts.rendered);
    if let Some(index) = facts.positions {
        sheet.line("index of positions", &index);
        sheet.value("index", index);
    }
    add_changes(&mut sheet, shown);
    add_defects(&mut sheet, snapshot.line.faults.count());
    add_messages(&mut sheet, shared);
    let mut defects = String::new();
    snapshot.line.faults.write("", &mut defects);
    StatusReport {
        status: sheet.as_text(),
        json: sheet.as_json(),
        defects,
        find: refused(facts.refused_queries),
    }
}

/// What is said of a base in the report on its directory.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) name: String,
    /// `None` if nobody has looked into it.
    pub(crate) snapshot: Option<std::sync::Arc<Snapshot>>,
    pub(crate) shown: BaseStatus,
}

/// The report on a directory of bases.
pub(crate) fn of_folder(folder: &Path, bases: &[Base], shared: &Shared) -> StatusReport {
    let mut sheet = Sheet::default();
    let open = bases.iter().filter_map(|base| base.snapshot.as_deref());
    // Each base says it of itself.
    add_mount(&mut sheet, shared, true);
    add_source(&mut sheet, Some(folder), "directory of bases");
    let all = bases.len();
    let looked_into = open.clone().count();
    sheet.line("bases", format!("{all}, {looked_into} looked into"));
    sheet.value("looked_into", looked_into);
    let bytes = open.clone().map(|snapshot| snapshot.volume.facts().bytes);
    add_size(&mut sheet, bytes.fold(0, u64::saturating_add));
    add_cache(&mut sheet, shared);
    add_defects(
        &mut sheet,
        open.map(|snapshot| snapshot.line.faults.count()).sum(),
    );
    add_messages(&mut sheet, shared);
    let (mut defects, mut find) = (String::new(), String::new());
    let mut values: Vec<Value> = Vec::new();
    for Base {
        name,
        snapshot,
        shown,
    } in bases
    {
        let mut state = snapshot
            .as_ref()
            .map_or("not looked into".into(), |_| state(shown));
        if let Some(problem) = &shown.problem {
            state = format!("{state}; PROBLEM {problem}");
        }
        values.push(json!({
            "name": name,
            "is_open": snapshot.is_some() && !shown.is_broken,
            "error": shown.complaint,
            "problem": shown.problem,
            "changes": shown.changes,
        }));
        sheet.line(format!("base {name}"), state);
        if let Some(snapshot) = snapshot {
            for line in snapshot.volume.facts().refused_queries.lines() {
                for part in [name, ": ", line, "\n"] {
                    find += part;
                }
            }
            snapshot
                .line
                .faults
                .write(&format!("{name}: "), &mut defects);
        }
    }
    sheet.value("bases", values);
    StatusReport {
        status: sheet.as_text(),
        json: sheet.as_json(),
        defects,
        find: refused(find),
    }
}

/// `find.txt`.
fn refused(lines: String) -> String {
    if lines.is_empty() {
        return "no query was refused\n".to_owned();
    }
    lines
}

fn state(shown: &BaseStatus) -> String {
    match &shown.complaint {
        None => "open".to_owned(),
        Some(why) if shown.is_broken => format!("ERROR {why}"),
        Some(why) => format!("showing the state before the last change; ERROR {why}"),
    }
}

/// `is_writable` says whether that which is mounted can be written.
fn add_mount(sheet: &mut Sheet, shared: &Shared, is_writable: bool) {
    sheet.both("cbfs", env!("CARGO_PKG_VERSION"));
    let Some(mounting) = shared.mounting.get() else {
        return;
    };
    let uptime = mounting.uptime();
    sheet.both("process", mounting.process);
    sheet.both("mountpoint", mounting.mountpoint.to_string_lossy());
    sheet.line("started", utc(mounting.started));
    sheet.value("started", unix(mounting.started));
    sheet.line("uptime", duration(uptime));
    sheet.value("uptime", uptime.as_secs());
    sheet.both("read only", !(mounting.is_writable && is_writable));
    let options = mounting.options.join(",");
    sheet.line(
        "options",
        if options.is_empty() {
            "none".into()
        } else {
            options
        },
    );
    sheet.value("options", mounting.options.clone());
    sheet.both("readdirplus", mounting.readdirplus);
    sheet.both("xattr", mounting.has_xattr);
}

fn add_source(sheet: &mut Sheet, source: Option<&Path>, kind: &str) {
    sheet.both("source", source.map(|path| path.to_string_lossy()));
    if !kind.is_empty() {
        sheet.both("kind", kind);
    }
}

fn add_size(sheet: &mut Sheet, bytes: u64) {
    sheet.line("size on disk", format!("{} ({bytes} bytes)", size(bytes)));
    sheet.value("bytes", bytes);
}

fn add_cache(sheet: &mut Sheet, shared: &Shared) {
    let kept = shared.texts.bytes() as u64;
    let room = shared.cache_bytes as u64;
    sheet.line("texts kept", format!("{} of {}", size(kept), size(room)));
    sheet.value("cache_bytes", kept);
    sheet.value("cache_size", room);
}

fn add_progress(sheet: &mut Sheet, snapshot: &Snapshot, files: Option<u64>) {
    let known = snapshot.known_lengths();
    let of = files.map_or(NOT_COUNTED.to_owned(), |files| files.to_string());
    sheet.line("lengths known", format!("{known}, of all: {of}"));
    sheet.value("lengths_known", known);
    sheet.value("lengths", files);
    sheet.both("all games looked at", snapshot.is_examined());
}

fn add_changes(sheet: &mut Sheet, shown: &BaseStatus) {
    let last = shown.changed.map_or("never".to_owned(), utc);
    sheet.both("changes", shown.changes);
    sheet.line("last change", last);
    sheet.value("last_change", shown.changed.map(unix));
}

fn add_defects(sheet: &mut Sheet, count: u64) {
    let shown = match count {
        0 => "none".to_owned(),
        count => format!("{count}, see defects.txt"),
    };
    sheet.line("defects met", shown);
    sheet.value("defects", count);
}

fn add_messages(sheet: &mut Sheet, shared: &Shared) {
    let messages = shared.messages.all();
    for message in &messages {
        let times = match message.times {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let line = format!("{} {}: {}", utc(message.time), message.level, message.text);
        sheet.line("message", line + &times);
    }
    let values = messages.into_iter().map(|message| {
        json!({
            "time": unix(message.time),
            "level": message.level,
            "text": message.text,
            "times": message.times,
        })
    });
    sheet.value("messages", values.collect::<Vec<Value>>());
}
