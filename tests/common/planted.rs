//! Journals and import notes that an attacker may put beside a base.

use std::fs;
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const SALT: u64 = 0x1234;

/// A write of a save, to the file with this number.
pub(crate) enum Step<'a> {
    /// Offset, new bytes, overwritten bytes.
    Write(u32, u64, &'a [u8], &'a [u8]),
    SetLen(u32, u64),
}

/// Writes a journal with one save; `files` are names and lengths.
pub(crate) fn plant_journal(cbh: &Path, files: &[(&str, u64)], steps: &[Step<'_>]) {
    let stem = cbh.file_stem().unwrap().to_str().unwrap();
    let name = format!(".{stem}.cbfs-journal");
    fs::write(cbh.with_file_name(&name), journal(&name, files, steps)).unwrap();
}

/// A journal with correct checksums.
pub(crate) fn journal(name: &str, files: &[(&str, u64)], steps: &[Step<'_>]) -> Vec<u8> {
    let mut bytes = b"cbfsjrnl".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    bytes.extend(name.bytes());
    bytes.resize(496, 0);
    bytes.extend(SALT.to_le_bytes());
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes.resize(1024, 0);
    let record = record(files, steps);
    bytes.extend(xxh3_64_with_seed(&record, SALT).to_le_bytes());
    bytes.extend(record);
    bytes
}

/// A record without its checksum.
fn record(files: &[(&str, u64)], steps: &[Step<'_>]) -> Vec<u8> {
    let mut body = u32::try_from(files.len()).unwrap().to_le_bytes().to_vec();
    for (name, len) in files {
        body.push(1);
        body.extend(len.to_le_bytes());
        body.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        body.extend(name.bytes());
    }
    body.extend(u32::try_from(steps.len()).unwrap().to_le_bytes());
    for step in steps {
        match step {
            Step::Write(file, offset, new, old) => {
                body.push(3);
                body.extend(file.to_le_bytes());
                for number in [*offset, new.len() as u64, old.len() as u64] {
                    body.extend(number.to_le_bytes());
                }
                body.extend(*new);
                body.extend(*old);
            }
            Step::SetLen(file, len) => {
                body.push(4);
                body.extend(file.to_le_bytes());
                body.extend(len.to_le_bytes());
            }
        }
    }
    let mut record = 1_u64.to_le_bytes().to_vec();
    record.extend((24 + body.len() as u64).to_le_bytes());
    record.extend(body);
    record
}

/// Writes an import note that states the length of one file.
pub(crate) fn plant_note(cbh: &Path, file: &str, len: u64, first_bytes: &[u8]) {
    let mut note = b"cbfsstag".to_vec();
    note.extend([1_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat());
    note.extend(len.to_le_bytes());
    note.extend(xxh3_64(first_bytes).to_le_bytes());
    note.extend(u16::try_from(file.len()).unwrap().to_le_bytes());
    note.extend(file.bytes());
    note.extend(xxh3_64(&note).to_le_bytes());
    let stem = cbh.file_stem().unwrap().to_str().unwrap();
    fs::write(cbh.with_file_name(format!(".{stem}.cbfs-stage")), note).unwrap();
}
