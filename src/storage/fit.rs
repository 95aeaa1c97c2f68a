//! Whether saves of the journal belong on the files beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::record::{Action, Record};
use super::{Directory, Error, ReadBuffer, Storage};

/// Bytes that are neither as before nor as after one save, and must be so of
/// another: no more than these are followed.
const MAX_DOUBTS: usize = 1 << 20;

/// What the files would be through all saves, if they are those files.
struct Course {
    /// The shortest; the file as it was counts too.
    shortest: u64,
    /// The lengths that a step may leave, done in part or again.
    lens: Vec<RangeInclusive<u64>>,
    /// Whether each save begins where the one before ended.
    is_joined: bool,
    /// Whether it is absent at some time.
    may_be_absent: bool,
    /// Whether anything but its removal is to come.
    matters: bool,
    len: Option<u64>,
    /// Its length before all saves.
    before: Option<u64>,
}

/// Why `records` are not for the files of the directory as they are; `None`
/// if they are. A part of them, in any order, may have been written already,
/// unless a file `is_untouched`: then it must be as long as it was.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn misfit(
    directory: &dyn Directory,
    records: &[Arc<Record>],
    is_untouched: &dyn Fn(&OsStr) -> bool,
) -> Result<Option<(Box<OsStr>, &'static str)>, Error> {
    for (name, course) in courses(records) {
        if !course.matters {
            continue;
        }
        if !course.is_joined {
            return Ok(Some((
                name.into(),
                "is changed by saves that do not follow each other",
            )));
        }
        let io = Error::io(name);
        let is_untouched = is_untouched(name);
        let may_be_absent = if is_untouched {
            course.before.is_none()
        } else {
            course.may_be_absent
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
            course.before == Some(len)
        } else {
            course.before == Some(len) || course.lens.iter().any(|lens| lens.contains(&len))
        };
        if !is_expected {
            return Ok(Some((name.into(), "has another length")));
        }
        let is_known = has_known_bytes(file.as_ref(), name, course.shortest, records);
        if !is_known.map_err(&io)? {
            return Ok(Some((name.into(), "has other content")));
        }
    }
    Ok(None)
}

fn courses(records: &[Arc<Record>]) -> BTreeMap<&OsStr, Course> {
    let mut courses = BTreeMap::new();
    for record in records {
        for before in &record.files {
            courses
                .entry(before.name.as_os_str())
                .and_modify(|course: &mut Course| course.is_joined &= course.len == before.len)
                .or_insert_with(|| Course {
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
            let course = record.file(step).and_then(|name| courses.get_mut(name));
            let Some(course) = course else {
                continue;
            };
            course.len = step.action.advance(course.len).unwrap_or(course.len);
            course.matters |= step.action != Action::Remove;
            course.may_be_absent |= course.len.is_none();
            course.shortest = course.shortest.min(course.len.unwrap_or(0));
            course.lens.extend(step.action.lens());
        }
    }
    courses
}

/// Whether each byte that is to be changed is one that was or one that will be
/// there; behind the `shortest` length, where the file may have been cut and
/// grown, a zero too. What an earlier save cut off nobody has noted.
fn has_known_bytes(
    file: &dyn Storage,
    name: &OsStr,
    shortest: u64,
    records: &[Arc<Record>],
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

/// How much of a file no save so far has cut off.
struct Cuts<'a> {
    record: Option<&'a Record>,
    /// Before the record; its old bytes are from then.
    kept: u64,
    /// With the steps of the record so far.
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
    fn follow(&mut self, record: &'a Record, action: &Action) {
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
    records: &'a [Arc<Record>],
) -> impl Iterator<Item = (&'a Record, &'a Action)> {
    records.iter().flat_map(move |record| {
        let steps = record.steps.iter();
        let of_file = steps.filter(move |step| record.file(step) == Some(name));
        of_file.map(move |step| (record.as_ref(), &step.action))
    })
}
