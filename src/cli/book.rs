//! Opening books in the commands `info`, `check` and `export`.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::check::{CheckReport, FoundDefect, NOT_CHECKED};
use super::export::write_file;
use super::{Failure, print, progress};
use crate::book::check::{BookCounts, check as check_book};
use crate::book::export::{ExportError, ExportFormat, Exported};
use crate::book::walk::Limits;
use crate::book::{Book, BookMember, Error};
use crate::escape::{self, push_line};
use crate::game::Defect;

/// Prints information about a book.
pub(super) fn info(book: &dyn Book, as_json: bool) -> Result<(), Failure> {
    let text = if as_json {
        json_of(book)
    } else {
        text_of(book)
    };
    print(text.as_bytes())
}

fn name_of(member: &BookMember) -> String {
    let name = member.path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn directory_of(book: &dyn Book) -> String {
    let member = book.facts().members.first();
    let directory = member.and_then(|member| member.path.parent());
    directory.map_or(String::new(), |path| path.display().to_string())
}

fn text_of(book: &dyn Book) -> String {
    let facts = book.facts();
    let directory = directory_of(book);
    let mut text = String::new();
    let mut line = |message: fmt::Arguments<'_>| push_line(&mut text, message);
    let (stem, format) = (&facts.stem, facts.format.name());
    line(format_args!("{stem}: {format} in {directory}"));
    if let Some(title) = &facts.title {
        line(format_args!("{:>12}  {title}", "title"));
    }
    let (pages, bytes) = (facts.pages, facts.page_bytes);
    line(format_args!("{pages:>12}  pages of {bytes} bytes"));
    if let Some(positions) = facts.positions {
        line(format_args!("{positions:>12}  positions, about"));
    }
    if let Some(games) = facts.games {
        line(format_args!("{games:>12}  games it was made of"));
    }
    for member in &facts.members {
        let (name, holds) = (name_of(member), member.holds);
        match member.bytes {
            Some(bytes) => line(format_args!("{bytes:>12}  bytes of {holds} in {name}")),
            None => line(format_args!("{:>12}  {holds}: no {name}", "-")),
        }
    }
    for defect in book.defects() {
        line(format_args!("{:>12}  {defect}", "defect"));
    }
    text
}

fn json_of(book: &dyn Book) -> String {
    let facts = book.facts();
    let present = facts.members.iter().filter(|member| member.bytes.is_some());
    let files: Value = present
        .map(
            |member| json!({"name": name_of(member), "bytes": member.bytes, "holds": member.holds}),
        )
        .collect();
    let absent = facts.members.iter().filter(|member| member.bytes.is_none());
    let header = facts.header.iter();
    let header: Value = header
        .map(|field| json!({"file": field.file, "name": field.name, "value": field.value}))
        .collect();
    let defects = book.defects();
    let defects = defects.iter();
    let defects: Value = defects
        .map(|Defect { file, offset, what }| json!({"file": file, "offset": offset, "what": what}))
        .collect();
    let all = json!({
        "kind": "book",
        "format": facts.format.name(),
        "name": facts.stem,
        "directory": directory_of(book),
        "title": facts.title,
        "pages": facts.pages,
        "page_bytes": facts.page_bytes,
        "positions": facts.positions,
        "games": facts.games,
        "files": files,
        "missing": absent.map(name_of).collect::<Vec<_>>(),
        "header": header,
        "defects": defects,
    });
    escape::json(&format!("{all:#}\n"))
}

/// Checks a book: reports each defect, and sums up.
pub(super) fn check(
    opened: Result<Arc<dyn Book>, Error>,
    limit: u32,
    report: &mut CheckReport,
    quiet: bool,
) -> Result<(), Failure> {
    let book = match opened {
        Ok(book) => book,
        // The rest cannot be read, but this defect is known.
        Err(Error::Malformed { file, offset, what }) => {
            report.malformed(&file, offset, &what);
            return Ok(());
        }
        Err(error) => return Err(not_checked(&error)),
    };
    let count = u32::try_from(book.facts().positions.unwrap_or(0)).unwrap_or(u32::MAX);
    let bar = progress::bar_of("positions", count, quiet);
    let checked = check_book(
        book.as_ref(),
        Limits::positions(limit),
        &|positions| bar.inc(positions),
        &mut |defect| tell(report, &bar, book.as_ref(), &defect),
    );
    bar.finish_and_clear();
    sum_up(
        report,
        book.as_ref(),
        checked.map_err(|error| not_checked(&error))?,
    );
    Ok(())
}

fn tell(report: &mut CheckReport, bar: &ProgressBar, book: &dyn Book, defect: &Defect) {
    let Defect { file, offset, what } = defect;
    let mut members = book.facts().members.iter().filter(|member| {
        let extension = member.path.extension().unwrap_or_default();
        extension.to_string_lossy().eq_ignore_ascii_case(file)
    });
    // Of several files of a kind, the fact says which one is meant.
    let named = |member: &BookMember| {
        let name = member.path.file_name()?.to_string_lossy();
        what.strip_suffix(&format!(" (in {name})"))
    };
    let mut all = members.clone();
    let told = all.find_map(|member| Some((member, named(member)?)));
    let first = || members.next().map(|member| (member, what.as_str()));
    let (file, what) = match told.or_else(first) {
        Some((member, what)) => (member.path.display().to_string(), what),
        None => (format!(".{file}"), what.as_str()),
    };
    report.defect(
        bar,
        FoundDefect {
            file: &file,
            offset: *offset,
            what: &what,
            is_repaired: false,
        },
    );
}

fn sum_up(report: &mut CheckReport, book: &dyn Book, checked: BookCounts) {
    let BookCounts {
        positions,
        moves,
        unreachable,
        ..
    } = checked;
    let far = match unreachable {
        Some(0) => String::new(),
        Some(number) => format!(", {number} of the positions unreachable from the start"),
        None => ", too many to say which are reached from the start".to_owned(),
    };
    report.sum_up(
        &book.facts().stem,
        &format_args!("{positions} positions, {moves} moves{far}"),
        vec![
            ("positions", json!(positions)),
            ("moves", json!(moves)),
            ("unreachable", json!(unreachable)),
        ],
    );
}

fn not_checked(error: &Error) -> Failure {
    Failure {
        code: NOT_CHECKED,
        ..Failure::new(error)
    }
}

/// Exports a book in another format.
pub(super) fn export(
    book: &dyn Book,
    format: ExportFormat,
    limit: u32,
    output: Option<&Path>,
) -> Result<(), Failure> {
    if matches!(format, ExportFormat::Polyglot) && output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::new(
            "a Polyglot book is no text for a terminal; write it to a file: --output BOOK.bin",
        ));
    }
    let limits = Limits::positions(limit);
    let write = |out: &mut dyn Write| -> Result<Exported, ExportError> {
        let out = &mut BufWriter::new(out);
        format.write(book, limits, out)
    };
    let exported = match output {
        None => write(&mut io::stdout().lock()).map_err(|error| match error {
            ExportError::Write(error) => Failure::output(&error),
            ExportError::Book(error) => Failure::new(error),
        })?,
        Some(path) => {
            let mut failed = None;
            let written = write_file(path, |out| {
                write(out).map_err(|error| match error {
                    ExportError::Write(error) => error,
                    ExportError::Book(error) => {
                        let message = io::Error::other(error.to_string());
                        failed = Some(Failure::new(error));
                        message
                    }
                })
            });
            written.map_err(|error| failed.unwrap_or_else(|| Failure::about(path, error)))?
        }
    };
    if exported.is_cut {
        return Err(Failure::new(format_args!(
            "{}: the book has more than {limit} positions, the output has that many; --export-limit allows more",
            book.facts().stem
        )));
    }
    Ok(())
}
