//! The files in the root, which are about the book as a whole.

use std::collections::BTreeSet;

use super::BookVolume;
use crate::book::check::{BookCounts, check};
use crate::book::kept::Examined;
use crate::book::walk::Limits;
use crate::escape::{self, push_line};
use crate::fs::volume::Fault;
use crate::fs::{Error, Text};
use crate::game::Defect;

/// Lines of `warnings.txt`, at most.
const MOST_WARNINGS: usize = 10_000;

/// `README.txt`
pub(super) fn readme(volume: &BookVolume) -> String {
    let facts = volume.book.facts();
    let mut text = String::new();
    push_line(
        &mut text,
        format_args!("{}: {}", facts.stem, facts.format.name()),
    );
    if let Some(title) = &facts.title {
        push_line(&mut text, title);
    }
    text.push_str(include_str!("readme.txt"));
    text
}

/// `book.json`, with what an examination counted.
pub(super) fn json(volume: &BookVolume, checked: Option<BookCounts>) -> String {
    let all = volume
        .book
        .facts()
        .json(checked, volume.options.export_limit);
    escape::json(&format!("{all:#}\n"))
}

/// Result of reading the whole book.
#[derive(Clone, Debug)]
pub(super) struct Examination {
    /// `warnings.txt`
    pub(super) warnings: Text,
    /// What was counted; `None` of a book too large to be looked through by the
    /// way.
    pub(super) checked: Option<BookCounts>,
}

/// Looks for sources of games that are not found, and all that `cbfs check`
/// finds, a line each; of a book too large to be looked through by the way,
/// for what was met so far.
pub(super) fn examine(volume: &BookVolume) -> Result<Examination, Error> {
    let book = &*volume.book;
    let limit = volume.options.export_limit;
    let mut lines = BTreeSet::new();
    let mut text = String::new();
    let mut add = |line: String| {
        if lines.len() < MOST_WARNINGS && lines.insert(line.clone()) {
            push_line(&mut text, line);
        }
    };
    match volume.games.obstacles() {
        Ok(lines) => lines.into_iter().for_each(&mut add),
        Err(error) => add(error.to_string()),
    }
    let mut checked = None;
    if book.facts().pages > u64::from(limit) {
        let defects = book.defects().into_iter();
        defects.for_each(|defect| add(defect.to_string()));
        text += "The book was not looked through, being larger than --export-limit; `cbfs check` does that.\n";
    } else {
        let examined = look_through(volume)?;
        examined.defects.into_iter().for_each(&mut add);
        checked = Some(examined.checked);
        if lines.len() == MOST_WARNINGS {
            text += "There may be more; `cbfs check` tells all.\n";
        }
    }
    Ok(Examination {
        warnings: Text::from(text.into_bytes()),
        checked,
    })
}

/// Checks the book, unless an earlier mount did.
fn look_through(volume: &BookVolume) -> Result<Examined, Error> {
    if let Some(examined) = volume.kept.examined() {
        return Ok(examined);
    }
    let book = &*volume.book;
    let mut lines = BTreeSet::new();
    let mut defects = Vec::new();
    let mut note = |defect: Defect| {
        let line = defect.to_string();
        if lines.len() < MOST_WARNINGS && lines.insert(line.clone()) {
            defects.push(line);
        }
    };
    let limits = Limits::positions(volume.options.export_limit);
    let checked = check(book, limits, &|_| {}, &mut note)?;
    let examined = Examined { checked, defects };
    volume.kept.keep_examined(book, examined.clone());
    Ok(examined)
}

/// As `.cbfs/defects.txt` tells it.
pub(super) fn fault(defect: &Defect) -> Fault {
    Fault {
        record: 0,
        file: defect.file,
        offset: defect.offset,
        line: defect.to_string(),
    }
}
