//! Passwords of archives: from a file or the terminal, never from the command
//! line, which every user of the computer can see.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use super::Failure;
use crate::archive::{self, Password};

/// A password is in the first line of a file, and that is not longer.
const MOST_BYTES: u64 = 1 << 16;

/// Where the password of an archive is.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct PasswordFile {
    /// File whose first line is the password of a .cbz archive, `-` for
    /// standard input; asked for on the terminal otherwise
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
}

impl PasswordFile {
    /// The password for the archive at `source`; `None` if it needs none, or
    /// there is nobody to ask.
    pub(super) fn password_of(&self, source: &Path) -> Result<Option<Password>, Failure> {
        if let Some(file) = &self.password_file {
            return in_file(file).map(Some);
        }
        Ok(typed_for(source)?.and_then(Password::new))
    }

    /// The password for an archive that is to be made; asked for twice.
    pub(super) fn new_password(&self, archive: &Path) -> Result<Password, Failure> {
        if let Some(file) = &self.password_file {
            return in_file(file);
        }
        if !is_anybody_there() {
            let why =
                "a .cbz archive has a password; name a file that holds it: --password-file FILE";
            return Err(Failure::about(archive, why));
        }
        let (one, other) = (ask("New password", archive)?, ask("Again", archive)?);
        if one != other {
            return Err(Failure::about(
                archive,
                "the two passwords differ; nothing was done",
            ));
        }
        Password::new(one).ok_or_else(|| Failure::about(archive, "a password is not empty"))
    }
}

fn in_file(file: &Path) -> Result<Password, Failure> {
    let about = |error| Failure::about(file, error);
    let password = if file == Path::new("-") {
        first_line(io::stdin())
    } else {
        File::open(file).and_then(first_line)
    };
    let empty = || Failure::about(file, "its first line, the password, is empty");
    Password::new(password.map_err(about)?).ok_or_else(empty)
}

/// The password of the archive at `source`, typed by whoever is at the
/// terminal; `None` if it needs none, or nobody is there.
fn typed_for(source: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let is_asked = archive::has_archive_extension(source)
        && archive::asks_for_password(source)
        && is_anybody_there();
    let typed = is_asked.then(|| ask("Password", source)).transpose()?;
    Ok(typed.map(String::into_bytes))
}

/// What is to be written to the standard input of a daemon that is to read its
/// password from there, because `file` says so or because it was typed.
pub(super) fn for_daemon(source: &Path, file: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    match file {
        Some(file) if file == Path::new("-") => {
            let line = first_line(io::stdin());
            line.map(Some).map_err(|error| Failure::about(file, error))
        }
        Some(_) => Ok(None),
        // The daemon has a time to come up in, and whoever types has not.
        None => typed_for(source),
    }
}

fn first_line(from: impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(MOST_BYTES).read_to_end(&mut line)?;
    let end = line.iter().position(|byte| *byte == b'\n');
    line.truncate(end.unwrap_or(line.len()));
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

fn is_anybody_there() -> bool {
    io::stdin().is_terminal() || io::stderr().is_terminal()
}

fn ask(what: &str, archive: &Path) -> Result<String, Failure> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let question = format!("{what} of {}: ", crate::escape::Escaped(name));
    rpassword::prompt_password(question).map_err(|error| Failure::about(archive, error))
}
