//! Passwords of archives. They are read from a file or the terminal, never from
//! the command line, which every user of the computer can see.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Failure, prompt};
use crate::archive::{self, Password};

/// Maximum length of the first line of a password file, in bytes.
const MOST_BYTES: u64 = 1 << 16;

/// The option for the password of an archive.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct PasswordFile {
    /// File with the password of a .cbz archive in its first line, `-` for
    /// standard input; otherwise it is asked for on the terminal
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
}

impl PasswordFile {
    /// Returns the password for the archive at `source`; `None` if it needs
    /// none, or there is no terminal.
    pub(super) fn password_of(&self, source: &Path) -> Result<Option<Password>, Failure> {
        if let Some(file) = &self.password_file {
            return in_file(file).map(Some);
        }
        Ok(typed_for(source)?.and_then(Password::new))
    }

    /// Returns the password for a new archive. It is asked for twice.
    pub(super) fn new_password(&self, archive: &Path) -> Result<Password, Failure> {
        if let Some(file) = &self.password_file {
            return in_file(file);
        }
        if !is_terminal() {
            let why = "a .cbz archive needs a password; name a file that contains it: --password-file FILE";
            return Err(Failure::about(archive, why));
        }
        let (one, other) = (ask("New password", archive)?, ask("Again", archive)?);
        if one != other {
            return Err(Failure::about(
                archive,
                "the two passwords differ; nothing was done",
            ));
        }
        Password::new(one).ok_or_else(|| Failure::about(archive, "the password is empty"))
    }
}

fn in_file(file: &Path) -> Result<Password, Failure> {
    let about = |error| Failure::about(file, error);
    let password = if file == Path::new("-") {
        typed_line()
    } else {
        File::open(file).and_then(|open| {
            warn_if_open(file, &open)?;
            first_line(open)
        })
    };
    let empty = || Failure::about(file, "its first line, the password, is empty");
    Password::new(password.map_err(about)?).ok_or_else(empty)
}

/// Warns of a password that other users can read.
fn warn_if_open(path: &Path, file: &File) -> io::Result<()> {
    let stat = file.metadata()?;
    if stat.is_file() && stat.mode() & 0o044 != 0 {
        let path = path.display();
        log::warn!("{path}: other users can read this password; `chmod 600 {path}` ends that");
    }
    Ok(())
}

/// Returns the first line of standard input, which is not shown if it is typed.
fn typed_line() -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        return prompt::ask("Password: ");
    }
    first_line(io::stdin())
}

/// Asks for the password of the archive at `source`; `None` if it needs none,
/// or there is no terminal.
fn typed_for(source: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let is_asked = archive::has_archive_extension(source)
        && archive::asks_for_password(source)
        && is_terminal();
    let typed = is_asked.then(|| ask("Password", source)).transpose()?;
    if typed.as_ref().is_some_and(Vec::is_empty) {
        return Err(Failure::about(source, "no password was typed"));
    }
    Ok(typed)
}

/// The bytes to write to the standard input of a daemon that reads its password
/// from there, because `file` is `-` or the password was typed.
pub(super) fn for_daemon(source: &Path, file: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    match file {
        Some(file) if file == Path::new("-") => {
            let line = typed_line();
            line.map(Some).map_err(|error| Failure::about(file, error))
        }
        Some(_) => Ok(None),
        // The daemon has a time limit for starting, which typing must not use
        // up.
        None => typed_for(source),
    }
}

/// Reads up to the end of the first line, and no further: who writes may keep the
/// other end open.
fn first_line(from: impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(from.take(MOST_BYTES)).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    // Editors of Windows begin a text with the mark of UTF-8.
    if line.starts_with(b"\xef\xbb\xbf") {
        line.drain(..3);
    }
    Ok(line)
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() || io::stderr().is_terminal()
}

fn ask(what: &str, archive: &Path) -> Result<Vec<u8>, Failure> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let question = format!("{what} of {}: ", crate::escape::Escaped(name));
    prompt::ask(&question).map_err(|error| Failure::about(archive, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_ends_with_its_line_and_has_no_mark_of_utf8() {
        for (text, password) in [
            ("word", "word"),
            ("word\nmore", "word"),
            ("word \r\n", "word "),
            ("\u{feff}wörd\r\n", "wörd"),
            ("\n", ""),
        ] {
            assert_eq!(first_line(text.as_bytes()).unwrap(), password.as_bytes());
        }
    }
}
