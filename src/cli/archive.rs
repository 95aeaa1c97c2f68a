//! Functions that several commands use for archives.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use encoding_rs::Encoding;
use serde_json::{Value, json};

use super::password::PasswordFile;
use super::{Failure, INTERRUPTED};
use crate::archive::{self, Archive, Error, has_archive_extension};
use crate::base::{Base, open_any};
use crate::cbh::{self, CodePage};
use crate::escape::Escaped;

/// Returns the options for reading the archive at `source`.
pub(super) fn options(
    source: &Path,
    password: &PasswordFile,
    page: Option<CodePage>,
) -> Result<archive::Options, Failure> {
    let usual = archive::Options::default();
    let page = page.and_then(|page| Encoding::for_label(page.name().as_bytes()));
    Ok(archive::Options {
        password: password.password_of(source)?,
        page: page.unwrap_or(usual.page),
        ..usual
    })
}

/// Opens the archive at `source`.
pub(super) fn open(
    source: &Path,
    password: &PasswordFile,
    page: Option<CodePage>,
) -> Result<Arc<Archive>, Failure> {
    let options = options(source, password, page)?;
    Archive::open(source, &options).map_err(Failure::new)
}

/// Opens the base at `source`, which may be an archive.
pub(super) fn open_base(
    source: &Path,
    password: &PasswordFile,
    page: Option<CodePage>,
) -> Result<Box<dyn Base>, Failure> {
    let archives = if has_archive_extension(source) {
        options(source, password, page)?
    } else {
        archive::Options::default()
    };
    let reading = cbh::Options { code_page: page };
    open_any(source, &reading, &archives).map_err(Failure::new)
}

/// Turns an archive error into a message and an exit code.
pub(super) fn failed(error: &Error) -> Failure {
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted => Failure {
            code: INTERRUPTED,
            ..Failure::new("interrupted; nothing was done")
        },
        error => Failure::new(error),
    }
}

/// The members of an archive as text, one line each.
pub(super) fn table(archive: &Archive) -> String {
    let mut text = String::new();
    let name = archive.path().file_name().unwrap_or_default();
    let kind = if archive.is_enciphered() {
        "ChessBase archive with a password"
    } else {
        "ChessBase archive"
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {kind}", Escaped(name.to_string_lossy()));
    for member in archive.members() {
        let (size, packed) = (member.size(), member.packed());
        let path = Escaped(member.path());
        let _ = writeln!(text, "{size:>12}  bytes, {packed} packed, {path}");
    }
    text
}

/// The members of an archive as JSON.
pub(super) fn as_json(archive: &Archive) -> Value {
    let members = archive.members().iter().map(|member| {
        let modified = member.modified();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        json!({
            "name": member.path(),
            "bytes": member.size(),
            "packed": member.packed(),
            "modified": modified.map(|since| since.as_secs()),
        })
    });
    json!({
        "has_password": archive.is_enciphered(),
        "members": members.collect::<Vec<_>>(),
    })
}
