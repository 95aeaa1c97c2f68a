//! The report of a check: lines for people, or one JSON document for programs.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{DEFECTS, NOT_CHECKED};
use crate::cli::Failure;
use crate::escape::{self, Escaped};

/// A defect of a file.
#[derive(Clone, Copy)]
pub(in crate::cli) struct FoundDefect<'a> {
    /// The file, by its path if that is known.
    pub(in crate::cli) file: &'a dyn Display,
    pub(in crate::cli) offset: u64,
    pub(in crate::cli) what: &'a dyn Display,
    /// It was there, and is repaired.
    pub(in crate::cli) is_repaired: bool,
}

/// Writes the report of a check to standard output as the check goes on.
#[derive(Debug)]
pub(in crate::cli) struct CheckReport {
    out: BufWriter<Stdout>,
    is_json: bool,
    quiet: bool,
    /// Defects that are left.
    found: u64,
    has_entries: bool,
    /// The members of the JSON document behind the defects.
    facts: Vec<(&'static str, Value)>,
    /// Nothing is written after an error.
    written: io::Result<()>,
}

impl CheckReport {
    /// Begins a report; a `quiet` one for people has no summary.
    pub(in crate::cli) fn begin(is_json: bool, quiet: bool) -> CheckReport {
        let mut report = CheckReport {
            out: BufWriter::new(io::stdout()),
            is_json,
            quiet,
            found: 0,
            has_entries: false,
            // Until something could be checked.
            facts: vec![("records", Value::Null)],
            written: Ok(()),
        };
        if is_json {
            report.write(&"{\n  \"defects\": [");
        }
        report
    }

    /// Reports a defect; the bar is not drawn meanwhile.
    pub(in crate::cli) fn defect(&mut self, bar: &ProgressBar, found: FoundDefect<'_>) {
        self.found += u64::from(!found.is_repaired);
        bar.suspend(|| self.write_defect(found));
    }

    /// Reports that a file cannot be read beyond a place.
    pub(in crate::cli) fn malformed(&mut self, file: &Path, offset: u64, what: &dyn Display) {
        let found = FoundDefect {
            file: &file.display(),
            offset,
            what,
            is_repaired: false,
        };
        self.defect(&ProgressBar::hidden(), found);
    }

    fn write_defect(&mut self, found: FoundDefect<'_>) {
        let FoundDefect {
            file, offset, what, ..
        } = found;
        if self.is_json {
            let entry = json!({
                "file": file.to_string(),
                "offset": offset,
                "what": what.to_string(),
                "repaired": found.is_repaired,
            });
            let comma = if self.has_entries { "," } else { "" };
            self.has_entries = true;
            self.write(&format_args!(
                "{comma}\n    {}",
                escape::json(&entry.to_string())
            ));
            return;
        }
        let head = if found.is_repaired { "repaired: " } else { "" };
        let line = format_args!("{file} at {offset:#x}: {what}");
        self.write(&format_args!("{head}{}\n", Escaped(line)));
        // So that the lines and the bar do not mix.
        if self.written.is_ok() && io::stdout().is_terminal() {
            self.written = self.out.flush();
        }
    }

    /// How many defects are left.
    pub(in crate::cli) fn found(&self) -> u64 {
        self.found
    }

    /// Says what was checked: for people the name and `line`, for programs `facts`.
    pub(in crate::cli) fn sum_up(
        &mut self,
        name: &dyn Display,
        line: &dyn Display,
        facts: Vec<(&'static str, Value)>,
    ) {
        self.facts = facts;
        if self.is_json || self.quiet {
            return;
        }
        let summary = match self.found {
            0 => "sound".to_owned(),
            1 => "1 defect".to_owned(),
            many => format!("{many} defects"),
        };
        self.write(&format_args!(
            "{}\n",
            Escaped(format_args!("{name}: {summary} ({line})"))
        ));
    }

    /// Ends the report. A check that was done fails if defects are left.
    pub(in crate::cli) fn end(mut self, checked: Result<(), Failure>) -> Result<(), Failure> {
        if self.is_json {
            self.write_end(checked.as_ref().err());
        }
        // What was found before an error is kept.
        self.written
            .and_then(|()| self.out.flush())
            .map_err(|error| match Failure::output(&error) {
                // It could not be told, which is no defect.
                told if told.code == DEFECTS => Failure {
                    code: NOT_CHECKED,
                    ..told
                },
                told => told,
            })?;
        checked?;
        if self.found > 0 {
            return Err(Failure::quiet(DEFECTS));
        }
        Ok(())
    }

    fn write_end(&mut self, failure: Option<&Failure>) {
        let mut end = String::from(if self.has_entries { "\n  ]" } else { "]" });
        let why = failure.and_then(|failure| failure.message.as_deref());
        let sound = json!(self.found == 0 && failure.is_none());
        let facts = std::mem::take(&mut self.facts).into_iter();
        let last = [("sound", sound), ("error", json!(why))];
        for (name, value) in facts.chain(last) {
            end.push_str(&escape::json(&format!(",\n  \"{name}\": {value}")));
        }
        end.push_str("\n}\n");
        self.write(&end);
    }

    fn write(&mut self, text: &dyn Display) {
        if self.written.is_ok() {
            self.written = write!(self.out, "{text}");
        }
    }
}
