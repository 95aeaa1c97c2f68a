//! Encoding and decoding of one record of the journal.
//! [`journal`](super::journal) describes the layout.

use std::ffi::{OsStr, OsString};
use std::ops::{Range, RangeInclusive};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::transaction::Change;
use super::{Error, Transaction};

/// Bytes before the table of files: checksum, sequence number, length.
pub(super) const RECORD_HEADER: usize = 24;

/// Maximum length of a record.
pub(super) const MAX_RECORD: u64 = 256 << 20;

/// Maximum number of files in a record: those of a base and its search caches.
const MAX_FILES: usize = 256;

/// Maximum number of steps without new bytes in a record: each takes more
/// memory than it has bytes.
const MAX_OTHER_STEPS: usize = 4 * MAX_FILES;

/// File offsets of the system are signed.
const MAX_OFFSET: u64 = i64::MAX as u64;

/// A committed transaction, encoded and decoded.
#[derive(Debug)]
pub(super) struct JournalRecord {
    /// The whole record, as stored in the journal.
    pub(super) bytes: Arc<Vec<u8>>,
    /// The affected files, in their state before.
    pub(super) files: Vec<FileBefore>,
    /// The changes, in order.
    pub(super) steps: Vec<FileChange>,
}

/// A file before the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileBefore {
    pub(super) name: OsString,
    /// Length in bytes; `None` if it did not exist.
    pub(super) len: Option<u64>,
}

/// A change of the file with the index `file` in [`JournalRecord::files`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) file: usize,
    pub(super) action: Action,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Remove,
    Create,
    /// `new` and `old` are ranges of [`JournalRecord::bytes`]. `old` are the former
    /// bytes at `offset`, as many as the file had.
    Write {
        offset: u64,
        new: Range<usize>,
        old: Range<usize>,
    },
    SetLen(u64),
}

impl Action {
    /// Returns the length of the file after this change, given that before;
    /// `None` if it does not exist.
    pub(super) fn advance(&self, len: Option<u64>) -> Result<Option<u64>, &'static str> {
        match (self, len) {
            (Action::Remove, _) => Ok(None),
            (Action::Create, None) => Ok(Some(0)),
            (Action::Create, Some(_)) => Err("is there already"),
            (_, None) => Err("is not there"),
            (Action::Write { new, .. }, len) if new.is_empty() => Ok(len),
            (Action::Write { offset, new, .. }, Some(len)) => offset
                .checked_add(new.len() as u64)
                .filter(|end| *end <= MAX_OFFSET)
                .map(|end| Some(end.max(len)))
                .ok_or("would become too long"),
            (Action::SetLen(len), Some(_)) if *len > MAX_OFFSET => Err("would become too long"),
            (Action::SetLen(len), Some(_)) => Ok(Some(*len)),
        }
    }
}

impl Action {
    /// Returns the lengths that the file may have after this change was done in
    /// part, or repeated after later changes; `None` if it may not exist.
    pub(super) fn lens(&self) -> Option<RangeInclusive<u64>> {
        match self {
            Action::Remove => None,
            Action::Create => Some(0..=0),
            Action::Write { new, .. } if new.is_empty() => None,
            Action::Write { offset, new, .. } => {
                Some(offset.saturating_add(1)..=offset.saturating_add(new.len() as u64))
            }
            Action::SetLen(len) => Some(*len..=*len),
        }
    }

    /// Returns whether it has all the old bytes it overwrites, for a file of
    /// length `len` before the transaction.
    fn knows_what_was(&self, len: u64) -> bool {
        match self {
            Action::Write { offset, new, old } => {
                old.len() as u64 == len.saturating_sub(*offset).min(new.len() as u64)
            }
            Action::Remove | Action::Create | Action::SetLen(_) => true,
        }
    }
}

/// The present files, as [`JournalRecord::encode`] sees them.
pub(super) trait PresentFiles {
    /// Length in bytes; `None` if the file does not exist.
    fn len(&self, file: &OsStr) -> Result<Option<u64>, Error>;

    /// Reads the `len` bytes at `offset`, fewer at the end of the file.
    fn read(&self, file: &OsStr, offset: u64, len: usize) -> Result<Vec<u8>, Error>;
}

impl JournalRecord {
    /// Encodes a transaction; `None` if it changes nothing, because the files
    /// that it removes do not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]; errors of `present`.
    pub(super) fn encode(
        transaction: &Transaction,
        sequence: u64,
        salt: u64,
        present: &dyn PresentFiles,
    ) -> Result<Option<JournalRecord>, Error> {
        let mut body = RecordBuilder {
            files: Vec::new(),
            lens: Vec::new(),
            steps: Vec::new(),
            count: 0,
            present,
        };
        for file in transaction.removals() {
            body.remove(file)?;
        }
        for change in transaction.changes() {
            body.change(change)?;
        }
        body.finish(sequence, salt)
    }

    /// Decodes a record whose checksum is correct.
    ///
    /// # Errors
    ///
    /// The reason why it is invalid.
    pub(super) fn decode(bytes: Arc<Vec<u8>>) -> Result<JournalRecord, &'static str> {
        let mut reader = RecordReader {
            bytes: &bytes,
            at: RECORD_HEADER,
        };
        let mut files: Vec<FileBefore> = Vec::new();
        for _ in 0..reader.u32()? {
            let before = reader.before()?;
            if files.len() == MAX_FILES || files.iter().any(|file| file.name == before.name) {
                return Err("a record names a file twice, or too many");
            }
            files.push(before);
        }
        let mut others = 0;
        let mut lens: Vec<_> = files.iter().map(|before| before.len).collect();
        let mut steps = Vec::new();
        for _ in 0..reader.u32()? {
            let step = reader.step()?;
            others += usize::from(!matches!(step.action, Action::Write { .. }));
            if others > MAX_OTHER_STEPS {
                return Err("a record creates, cuts and removes too often");
            }
            let len = lens.get_mut(step.file).ok_or("a file is not named")?;
            *len = step.action.advance(*len)?;
            let before = files
                .get(step.file)
                .and_then(|before: &FileBefore| before.len);
            if !step.action.knows_what_was(before.unwrap_or(0)) {
                return Err("a record does not know the bytes that it overwrites");
            }
            steps.push(step);
        }
        if reader.at != bytes.len() {
            return Err("a record is longer than what it holds");
        }
        Ok(JournalRecord {
            bytes,
            files,
            steps,
        })
    }

    /// Computes the checksum of a record from the bytes after it.
    pub(super) fn checksum(after: &[u8], salt: u64) -> u64 {
        xxh3_64_with_seed(after, salt)
    }

    /// Returns the new or the old bytes of a step.
    pub(super) fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Indices and former states of the files that it changes.
    pub(super) fn changed(&self) -> impl Iterator<Item = (usize, &FileBefore)> {
        let is_changed = |at| self.steps.iter().any(|step| step.file == at);
        let files = self.files.iter().enumerate();
        files.filter(move |(at, _)| is_changed(*at))
    }

    /// Name of the file that a step changes.
    pub(super) fn file(&self, step: &FileChange) -> Option<&OsStr> {
        self.files.get(step.file).map(|before| before.name.as_ref())
    }
}

/// A record under construction.
struct RecordBuilder<'a> {
    files: Vec<FileBefore>,
    /// Lengths after the steps so far, in the order of `files`.
    lens: Vec<Option<u64>>,
    /// The encoded steps.
    steps: Vec<u8>,
    count: u32,
    present: &'a dyn PresentFiles,
}

impl RecordBuilder<'_> {
    /// Index of a file in the table; it is added if missing.
    fn place(&mut self, file: &OsStr) -> Result<usize, Error> {
        if let Some(at) = self.files.iter().position(|before| before.name == file) {
            return Ok(at);
        }
        if !is_plain_name(file) {
            return Err(invalid(file, "not a name of a file"));
        }
        if self.files.len() == MAX_FILES {
            return Err(invalid(file, "one of more files than can be saved at once"));
        }
        let len = self.present.len(file)?;
        self.lens.push(len);
        self.files.push(FileBefore {
            name: file.to_owned(),
            len,
        });
        Ok(self.files.len() - 1)
    }

    fn remove(&mut self, file: &OsStr) -> Result<(), Error> {
        let at = self.place(file)?;
        if self.lens.get(at).copied().flatten().is_some() {
            self.advance(at, &Action::Remove)?;
            self.step(1, at);
        }
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        // An empty write does not even extend the file.
        if matches!(change, Change::Write { bytes, .. } if bytes.is_empty()) {
            return Ok(());
        }
        let at = self.place(change.file())?;
        match change {
            Change::Create { .. } => {
                self.advance(at, &Action::Create)?;
                self.step(2, at);
            }
            Change::Write { offset, bytes, .. } => self.write(at, *offset, bytes)?,
            Change::SetLen { len, .. } => {
                self.advance(at, &Action::SetLen(*len))?;
                self.step(4, at);
                self.steps.extend(len.to_le_bytes());
            }
        }
        Ok(())
    }

    fn write(&mut self, at: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let action = Action::Write {
            offset,
            new: 0..bytes.len(),
            old: 0..0,
        };
        self.advance(at, &action)?;
        let before = self.files.get(at);
        let name = before.map_or(OsStr::new(""), |before| &before.name);
        // Nothing can be checked of a file that is removed and created anew.
        let len = before.and_then(|before| before.len).unwrap_or(0);
        let old = (len.saturating_sub(offset)).min(bytes.len() as u64);
        if self.steps.len() as u64 + bytes.len() as u64 + old > MAX_RECORD - (1 << 20) {
            return Err(invalid(name, "too much to save at once"));
        }
        let stored = match usize::try_from(old).unwrap_or(0) {
            0 => Vec::new(),
            old => self.present.read(name, offset, old)?,
        };
        self.step(3, at);
        for number in [offset, bytes.len() as u64, stored.len() as u64] {
            self.steps.extend(number.to_le_bytes());
        }
        self.steps.extend(bytes);
        self.steps.extend(stored);
        Ok(())
    }

    /// Updates the length of a file.
    fn advance(&mut self, at: usize, action: &Action) -> Result<(), Error> {
        let name = self
            .files
            .get(at)
            .map(|before| before.name.clone())
            .unwrap_or_default();
        if let Some(len) = self.lens.get_mut(at) {
            *len = action.advance(*len).map_err(|what| invalid(&name, what))?;
        }
        Ok(())
    }

    fn step(&mut self, kind: u8, file: usize) {
        self.count += 1;
        self.steps.push(kind);
        self.steps.extend(to_u32(file).to_le_bytes());
    }

    fn finish(self, sequence: u64, salt: u64) -> Result<Option<JournalRecord>, Error> {
        if self.count == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; RECORD_HEADER];
        bytes.extend(to_u32(self.files.len()).to_le_bytes());
        for before in &self.files {
            bytes.push(u8::from(before.len.is_some()));
            bytes.extend(before.len.unwrap_or(0).to_le_bytes());
            let name = before.name.as_bytes();
            bytes.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
            bytes.extend(name);
        }
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.steps);
        let length = bytes.len() as u64;
        if length > MAX_RECORD {
            return Err(invalid(OsStr::new("."), "too much to save at once"));
        }
        let rest = [sequence.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.splice(8..RECORD_HEADER, rest);
        let checksum = JournalRecord::checksum(bytes.get(8..).unwrap_or_default(), salt);
        bytes.splice(..8, checksum.to_le_bytes());
        let name = self.files.first().map(|before| before.name.clone());
        JournalRecord::decode(Arc::new(bytes))
            .map(Some)
            .map_err(|what| invalid(&name.unwrap_or_default(), what))
    }
}

fn invalid(file: &OsStr, what: &'static str) -> Error {
    Error::Invalid {
        file: file.to_owned(),
        what,
    }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns whether `name` is the plain name of a file in the folder.
pub(super) fn is_plain_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    (1..=255).contains(&bytes.len())
        && !bytes.contains(&b'/')
        && !bytes.contains(&0)
        && bytes != b"."
        && bytes != b".."
}

/// A reader of the little-endian integers of a record.
struct RecordReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl RecordReader<'_> {
    /// Range of the next `len` bytes.
    fn take(&mut self, len: u64) -> Result<Range<usize>, &'static str> {
        let short = "a record ends early";
        let len = usize::try_from(len).map_err(|_| short)?;
        let end = self.at.checked_add(len).ok_or(short)?;
        let range = self.at..end;
        self.bytes.get(range.clone()).ok_or(short)?;
        self.at = end;
        Ok(range)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let range = self.take(N as u64)?;
        let bytes = self.bytes.get(range).unwrap_or_default();
        bytes.try_into().map_err(|_| "a record ends early")
    }

    fn u32(&mut self) -> Result<u32, &'static str> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, &'static str> {
        self.array().map(u64::from_le_bytes)
    }

    fn before(&mut self) -> Result<FileBefore, &'static str> {
        let [existed] = self.array()?;
        let len = self.u64()?;
        let name_len = self.array().map(u16::from_le_bytes)?;
        let range = self.take(name_len.into())?;
        let name = OsString::from_vec(self.bytes.get(range).unwrap_or_default().to_vec());
        if !is_plain_name(&name) {
            return Err("a record names a file outside of the folder");
        }
        Ok(FileBefore {
            name,
            len: (existed != 0).then_some(len),
        })
    }

    fn step(&mut self) -> Result<FileChange, &'static str> {
        let [kind] = self.array()?;
        let file = self.u32()? as usize;
        let action = match kind {
            1 => Action::Remove,
            2 => Action::Create,
            3 => {
                let (offset, new, old) = (self.u64()?, self.u64()?, self.u64()?);
                if old > new {
                    return Err("a record knows more old bytes than new ones");
                }
                Action::Write {
                    offset,
                    new: self.take(new)?,
                    old: self.take(old)?,
                }
            }
            4 => Action::SetLen(self.u64()?),
            _ => return Err("a record has a step of an unknown kind"),
        };
        Ok(FileChange { file, action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder in which each file whose name begins with `o` has ten bytes.
    struct Old;

    impl PresentFiles for Old {
        fn len(&self, file: &OsStr) -> Result<Option<u64>, Error> {
            Ok(file.as_bytes().starts_with(b"o").then_some(10))
        }

        fn read(&self, _: &OsStr, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
            assert!(offset + len as u64 <= 10);
            Ok(vec![7; len])
        }
    }

    fn encoded(transaction: &Transaction) -> Result<Option<JournalRecord>, Error> {
        JournalRecord::encode(transaction, 3, 5, &Old)
    }

    fn write(offset: u64, new: usize, old: usize) -> Action {
        Action::Write {
            offset,
            new: 0..new,
            old: new..new + old,
        }
    }

    #[test]
    fn a_change_leaves_a_file_of_some_length_or_none() {
        let too_long = Err("would become too long");
        for (action, len, wanted) in [
            (Action::Remove, Some(5), Ok(None)),
            (Action::Remove, None, Ok(None)),
            (Action::Create, None, Ok(Some(0))),
            (Action::Create, Some(0), Err("is there already")),
            (Action::SetLen(3), None, Err("is not there")),
            (Action::SetLen(3), Some(5), Ok(Some(3))),
            (Action::SetLen(MAX_OFFSET), Some(5), Ok(Some(MAX_OFFSET))),
            (Action::SetLen(MAX_OFFSET + 1), Some(5), too_long),
            (write(0, 1, 0), None, Err("is not there")),
            (write(2, 2, 0), Some(5), Ok(Some(5))),
            (write(4, 2, 0), Some(5), Ok(Some(6))),
            (write(9, 2, 0), Some(5), Ok(Some(11))),
            (write(9, 0, 0), Some(5), Ok(Some(5))),
            (write(MAX_OFFSET - 1, 1, 0), Some(5), Ok(Some(MAX_OFFSET))),
            (write(MAX_OFFSET, 1, 0), Some(5), too_long),
            (write(u64::MAX, 1, 0), Some(5), too_long),
        ] {
            assert_eq!(action.advance(len), wanted, "{action:?} {len:?}");
        }
    }

    #[test]
    fn a_change_done_in_part_leaves_one_of_some_lengths() {
        for (action, wanted) in [
            (Action::Remove, None),
            (Action::Create, Some(0..=0)),
            (Action::SetLen(3), Some(3..=3)),
            (write(9, 0, 0), None),
            (write(9, 2, 0), Some(10..=11)),
        ] {
            assert_eq!(action.lens(), wanted, "{action:?}");
        }
    }

    #[test]
    fn a_record_has_the_old_bytes_that_it_overwrites() {
        for (action, len, knows) in [
            (write(2, 4, 4), 10, true),
            (write(2, 4, 3), 10, false),
            (write(8, 4, 2), 10, true),
            (write(8, 4, 4), 10, false),
            (write(12, 4, 0), 10, true),
            (write(12, 4, 1), 10, false),
            (Action::SetLen(3), 10, true),
        ] {
            assert_eq!(action.knows_what_was(len), knows, "{action:?}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut transaction = Transaction::new();
        transaction.remove("old");
        transaction.remove("missing");
        transaction.create("new");
        transaction.write("new", 0, *b"text");
        transaction.write("other", 8, *b"abcd");
        transaction.write("other", 3, *b"");
        transaction.set_len("other", 11);
        let record = encoded(&transaction).unwrap().unwrap();
        let steps = record.steps.iter().map(|step| {
            let name = record.file(step).unwrap().to_str().unwrap();
            let text = |range| str::from_utf8(record.part(range)).unwrap();
            match &step.action {
                Action::Remove => format!("{name} goes"),
                Action::Create => format!("{name} comes"),
                Action::SetLen(len) => format!("{name} has {len}"),
                Action::Write { offset, new, old } => {
                    format!("{name} {offset} {} was {:?}", text(new), text(old))
                }
            }
        });
        let wanted = [
            "old goes",
            "new comes",
            "new 0 text was \"\"",
            "other 8 abcd was \"\\u{7}\\u{7}\"",
            "other has 11",
        ];
        assert_eq!(steps.collect::<Vec<_>>(), wanted);
        let changed: Vec<_> = record.changed().map(|(_, file)| &file.name).collect();
        assert_eq!(changed, ["old", "new", "other"]);
        let again = JournalRecord::decode(Arc::clone(&record.bytes)).unwrap();
        assert_eq!(again.steps, record.steps);
        for end in RECORD_HEADER..record.bytes.len() {
            let cut = Arc::new(record.bytes[..end].to_vec());
            assert!(JournalRecord::decode(cut).is_err(), "{end}");
        }
        let longer = Arc::new([&record.bytes[..], &[0]].concat());
        assert!(JournalRecord::decode(longer).is_err());
        let mut nothing = Transaction::new();
        nothing.remove("missing");
        assert!(encoded(&nothing).unwrap().is_none());
    }

    #[test]
    fn a_record_has_a_limited_number_of_files_and_steps() {
        for (count, is_possible) in [(256, true), (257, false)] {
            let mut transaction = Transaction::new();
            for number in 0..count {
                transaction.create(number.to_string());
            }
            assert_eq!(encoded(&transaction).is_ok(), is_possible, "{count}");
        }
        for (count, is_possible) in [(1024_u64, true), (1025, false)] {
            let mut transaction = Transaction::new();
            for len in 0..count {
                transaction.set_len("old", len);
                transaction.write("old", 0, *b"x");
            }
            assert_eq!(encoded(&transaction).is_ok(), is_possible, "{count}");
        }
    }

    #[test]
    fn a_record_holds_no_more_than_255_mib_of_new_and_old_bytes() {
        // A step that creates takes five bytes, and `old` has ten.
        for (name, others) in [("new", 5), ("old", 10)] {
            let mut transaction = Transaction::new();
            if name == "new" {
                transaction.create(name);
            }
            transaction.write(name, 0, vec![0; (255 << 20) - others + 1]);
            let error = encoded(&transaction).map(drop).unwrap_err().to_string();
            assert_eq!(error, format!("{name}: too much to save at once"));
        }
    }

    #[test]
    fn a_name_is_plain_if_it_leads_nowhere_else() {
        let (longest, longer) = ("x".repeat(255), "x".repeat(256));
        for name in ["a", ".a", "...", "a b", &longest] {
            assert!(is_plain_name(OsStr::new(name)), "{name}");
        }
        for name in ["", ".", "..", "a/b", "/", "a\0", &longer] {
            assert!(!is_plain_name(OsStr::new(name)), "{name}");
        }
    }
}
