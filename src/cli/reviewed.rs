//! Lists of a base that a user reviews: the options of the commands that print and
//! apply them, and their lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::change::{self, Consent};
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive};
use crate::base::Base;
use crate::cbh::{CodePage, OpenBase};

/// A longer line is none of ours.
const MOST_LINE_BYTES: u64 = 1 << 16;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The arguments that such commands share.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Any file of the base, or an archive
    pub(super) base: PathBuf,

    /// Do what the lines of this list say, once they were reviewed; `-` is standard
    /// input
    #[arg(long, value_name = "LIST")]
    pub(super) apply: Option<PathBuf>,

    #[command(flatten)]
    pub(super) consent: Consent,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

impl ListArgs {
    /// The list to apply, whose first line must name these columns and whose others
    /// begin with `action` if anything is to be done, and the base, opened to change
    /// it; `None` if the list is to be printed.
    pub(super) fn to_apply(
        &self,
        columns: &str,
        action: &'static str,
        label: (&str, &'static str),
    ) -> Result<Option<(ReviewedLines, OpenBase)>, Failure> {
        let Some(list) = &self.apply else {
            return Ok(None);
        };
        let lines = ReviewedLines::open(list, columns, action)?;
        Ok(Some((
            lines,
            change::open(&self.base, self.codepage, &self.consent, label)?,
        )))
    }

    /// The base, to make a list of it.
    pub(super) fn to_print(&self) -> Result<Box<dyn Base>, Failure> {
        archive::open_base(&self.base, &self.password, self.codepage)
    }

    /// The failure for an error of the base.
    pub(super) fn failed(&self, error: impl std::fmt::Display) -> Failure {
        Failure::about(&self.base, error)
    }
}

/// The lines of a list that begin with the action, each with its number. They are read
/// as they are asked for: a list may be much larger than memory.
pub(super) struct ReviewedLines {
    path: PathBuf,
    action: &'static str,
    text: Box<dyn BufRead>,
    number: usize,
}

impl ReviewedLines {
    fn open(path: &Path, columns: &str, action: &'static str) -> Result<ReviewedLines, Failure> {
        let text: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(path).map_err(|error| Failure::about(path, error))?;
            Box::new(BufReader::new(file))
        };
        let mut lines = ReviewedLines {
            path: path.to_owned(),
            action,
            text,
            number: 0,
        };
        if lines.read()?.as_deref() != Some(columns) {
            let columns = columns.replace('\t', " ");
            let why =
                format!("this is no such list: its first line names other columns than {columns}");
            return Err(Failure::about(path, why));
        }
        Ok(lines)
    }

    /// The next line without its end; `None` behind the last.
    fn read(&mut self) -> Result<Option<String>, Failure> {
        let mut line = Vec::new();
        let mut text = self.text.by_ref().take(MOST_LINE_BYTES);
        let read = text.read_until(b'\n', &mut line);
        self.number += 1;
        let read = read.map_err(|error| Failure::about(&self.path, error))?;
        if read as u64 == MOST_LINE_BYTES && !line.ends_with(b"\n") {
            return Err(self.wrong("is too long for such a list"));
        }
        let Ok(mut line) = String::from_utf8(line) else {
            return Err(self.wrong("is not UTF-8, in which the list was made"));
        };
        let end = line.trim_end_matches(['\n', '\r']).len();
        line.truncate(end);
        // Spreadsheets write one.
        if self.number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.remove(0);
        }
        Ok((read > 0).then_some(line))
    }

    /// The next line that begins with the action; `None` behind the last.
    ///
    /// # Errors
    ///
    /// Also for a line that begins with a word of no meaning.
    fn read_to_do(&mut self) -> Result<Option<String>, Failure> {
        while let Some(line) = self.read()? {
            match line.split('\t').next().unwrap_or_default() {
                first if first == self.action => return Ok(Some(line)),
                "" | "?" => {}
                _ => {
                    let action = self.action;
                    let why = format!(
                        "begins neither with {action} nor with ?, which leaves things as they are"
                    );
                    return Err(self.wrong(&why));
                }
            }
        }
        Ok(None)
    }

    /// The failure for the line that was read last.
    fn wrong(&self, why: &str) -> Failure {
        let number = self.number;
        Failure::about(&self.path, format_args!("line {number} {why}"))
    }
}

impl Iterator for ReviewedLines {
    type Item = Result<(usize, String), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.read_to_do().transpose()?;
        Some(line.map(|line| (self.number, line)))
    }
}
