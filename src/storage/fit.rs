//! Checks that the records of the journal belong to the files beside it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::journal::JournalContent;
use super::journal_writer::ensure_trusted;
use super::record::{Action, FileBefore, JournalRecord};
use super::{Directory, Error, ReadBuffer, Storage};

/// Maximum number of bytes of one save that have neither the old nor the new
/// value, and so must have that of another save.
const MAX_DOUBTS: usize = 1 << 20;

/// The states of one file through all records, if it is the file that they were
/// made for.
struct FileHistory {
    /// Shortest of its lengths, the present one included.
    shortest: u64,
    /// Ranges of lengths that the file may have after a step that was done in
    /// part or repeated.
    lens: Vec<RangeInclusive<u64>>,
    /// Whether each record begins with the length that the one before it left.
    is_joined: bool,
    /// Whether the file is absent at some time.
    may_be_absent: bool,
    /// Whether anything but the removal of the file is left to do.
    matters: bool,
    len: Option<u64>,
    /// Its length before all records.
    before: Option<u64>,
}

/// Whether a journal of a directory has saves; one that cannot be read, or that another
/// user left, counts as one without.
pub fn has_saves(directory: &dyn Directory, journal: &OsStr) -> bool {
    !saves_in(directory, journal).is_empty()
}

/// Whether it has some that belong to files of the directory which have other names now,
/// as `renamed` tells them.
pub fn has_saves_for(
    directory: &dyn Directory,
    journal: &OsStr,
    renamed: &dyn Fn(&OsStr) -> OsString,
) -> bool {
    let saves = saves_in(directory, journal);
    let of_new_name = |record: &Arc<JournalRecord>| {
        let files = record.files.iter().map(|before| FileBefore {
            name: renamed(&before.name),
            len: before.len,
        });
        Arc::new(JournalRecord {
            bytes: Arc::clone(&record.bytes),
            files: files.collect(),
            steps: record.steps.clone(),
        })
    };
    let records: Vec<_> = saves.iter().map(of_new_name).collect();
    let misfit = misfit(directory, &records, &|_| false);
    !records.is_empty() && matches!(misfit, Ok(None))
}

fn saves_in(directory: &dyn Directory, journal: &OsStr) -> Vec<Arc<JournalRecord>> {
    let Ok(file) = directory.open(journal) else {
        return Vec::new();
    };
    let trusted = ensure_trusted(directory, journal, file.as_ref());
    let content = trusted.and_then(|()| JournalContent::read(journal, file.as_ref()));
    content.map(|content| content.records).unwrap_or_default()
}

/// Returns why `records` do not belong to the files of the directory; `None` if
/// they do. Any part of them may have been written already, in any order,
/// unless a file `is_untouched`: its length must be the one before.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn misfit(
    directory: &dyn Directory,
    records: &[Arc<JournalRecord>],
    is_untouched: &dyn Fn(&OsStr) -> bool,
) -> Result<Option<(Box<OsStr>, &'static str)>, Error> {
    for (name, history) in histories(records) {
        if !history.matters {
            continue;
        }
        if !history.is_joined {
            return Ok(Some((
                name.into(),
                "is changed by saves that do not follow each other",
            )));
        }
        let io = Error::io(name);
        let is_untouched = is_untouched(name);
        let may_be_absent = if is_untouched {
            history.before.is_none()
        } else {
            history.may_be_absent
        };
        let file = match directory.open(name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_absent => {
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some((name.into(), "is not there")));
            }
            Err(error) => return Err(io(error)),
        };
        let len = file.len().map_err(&io)?;
        let is_expected = if is_untouched {
            history.before == Some(len)
        } else {
            history.before == Some(len) || history.lens.iter().any(|lens| lens.contains(&len))
        };
        if !is_expected {
            return Ok(Some((name.into(), "has another length")));
        }
        let is_known = has_known_bytes(file.as_ref(), name, history.shortest, records);
        if !is_known.map_err(&io)? {
            return Ok(Some((name.into(), "has other content")));
        }
    }
    Ok(None)
}

fn histories(records: &[Arc<JournalRecord>]) -> BTreeMap<&OsStr, FileHistory> {
    let mut histories = BTreeMap::new();
    for record in records {
        for before in &record.files {
            histories
                .entry(before.name.as_os_str())
                .and_modify(|history: &mut FileHistory| {
                    history.is_joined &= history.len == before.len;
                })
                .or_insert_with(|| FileHistory {
                    shortest: before.len.unwrap_or(0),
                    lens: Vec::new(),
                    is_joined: true,
                    may_be_absent: before.len.is_none(),
                    matters: false,
                    len: before.len,
                    before: before.len,
                });
        }
        for step in &record.steps {
            let history = record.file(step).and_then(|name| histories.get_mut(name));
            let Some(history) = history else {
                continue;
            };
            history.len = step.action.advance(history.len).unwrap_or(history.len);
            history.matters |= step.action != Action::Remove;
            history.may_be_absent |= history.len.is_none();
            history.shortest = history.shortest.min(history.len.unwrap_or(0));
            history.lens.extend(step.action.lens());
        }
    }
    histories
}

/// Returns whether each byte to be changed has its old or its new value. Behind
/// the `shortest` length, where the file may have been cut and have grown, zero
/// is allowed, too. Bytes that an earlier record cut off are unknown.
fn has_known_bytes(
    file: &dyn Storage,
    name: &OsStr,
    shortest: u64,
    records: &[Arc<JournalRecord>],
) -> io::Result<bool> {
    let mut doubts = BTreeMap::new();
    let mut cuts = Cuts::default();
    for (record, action) in actions_on(name, records) {
        cuts.follow(record, action);
        let Action::Write { offset, new, old } = action else {
            continue;
        };
        let len = (old.len() as u64).min(cuts.kept.saturating_sub(*offset));
        let mut buffer = ReadBuffer::default();
        let present = file.read_up_to(*offset, usize::try_from(len).unwrap_or(0), &mut buffer)?;
        let known = record.part(new).iter().zip(record.part(old));
        for (at, (byte, (new, old))) in (*offset..).zip(present.iter().zip(known)) {
            let is_cleared = *byte == 0 && at >= shortest;
            if byte != new && byte != old && !is_cleared {
                doubts.insert(at, *byte);
                if doubts.len() > MAX_DOUBTS {
                    return Ok(false);
                }
            }
        }
    }
    for (record, action) in actions_on(name, records) {
        let Action::Write { offset, new, old } = action else {
            continue;
        };
        for bytes in [record.part(new), record.part(old)] {
            let end = offset.saturating_add(bytes.len() as u64);
            let byte_at = |at: u64| bytes.get(usize::try_from(at.checked_sub(*offset)?).ok()?);
            let settled: Vec<u64> = doubts
                .range(*offset..end)
                .filter(|(at, byte)| byte_at(**at) == Some(byte))
                .map(|(at, _)| *at)
                .collect();
            for at in settled {
                doubts.remove(&at);
            }
        }
    }
    Ok(doubts.is_empty())
}

/// Lengths of a file that no record so far has cut off.
struct Cuts<'a> {
    record: Option<&'a JournalRecord>,
    /// Before the present record, whose old bytes are from that time.
    kept: u64,
    /// After the steps of the present record so far.
    left: u64,
}

impl Default for Cuts<'_> {
    fn default() -> Self {
        Cuts {
            record: None,
            kept: u64::MAX,
            left: u64::MAX,
        }
    }
}

impl<'a> Cuts<'a> {
    fn follow(&mut self, record: &'a JournalRecord, action: &Action) {
        if !self.record.is_some_and(|known| std::ptr::eq(known, record)) {
            self.record = Some(record);
            self.kept = self.left;
        }
        self.left = match action {
            Action::Remove | Action::Create => 0,
            Action::SetLen(len) => self.left.min(*len),
            Action::Write { .. } => self.left,
        };
    }
}

fn actions_on<'a>(
    name: &'a OsStr,
    records: &'a [Arc<JournalRecord>],
) -> impl Iterator<Item = (&'a JournalRecord, &'a Action)> {
    records.iter().flat_map(move |record| {
        let steps = record.steps.iter();
        let of_file = steps.filter(move |step| record.file(step) == Some(name));
        of_file.map(move |step| (record.as_ref(), &step.action))
    })
}

#[cfg(test)]
mod tests {
    use crate::storage::{MemoryDirectory, Store, Transaction};

    #[test]
    fn so_many_bytes_of_a_save_may_be_those_of_another_one() {
        for (count, fits) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            let directory = MemoryDirectory::new();
            directory.put("a", vec![1; count]);
            let store = Store::of_any_files(&directory).unwrap();
            for byte in [2, 3] {
                let mut save = Transaction::new();
                save.write("a", 0, vec![byte; count]);
                store.commit(&save).unwrap();
            }
            let killed = directory.after_kill();
            // As if the second save had been written and the first had not.
            killed.put("a", vec![3; count]);
            assert_eq!(Store::of_any_files(&killed).is_ok(), fits, "{count}");
        }
    }
}
