//! Bases that a killed run of the same command had made.
//!
//! A new base has all its files before the first is moved to its place. If a
//! command is killed from then on, its next run completes the base, and says
//! what the first would have said.

use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Failure, print_done};
use crate::cbh::{NewBase, Receipt};
use crate::escape::Escaped;

/// Returns what a base is made from: the command line with its options, and the
/// state of the files that are read. Returns `None` if one of them is no
/// regular file.
pub(super) fn origin(command: &dyn Debug, sources: &[PathBuf]) -> Option<String> {
    let mut origin = format!("{command:?}");
    for source in sources {
        let path = source.canonicalize().ok()?;
        let stat = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let changed = stat.modified().ok()?;
        // Writing to a string does not fail.
        let _ = write!(
            origin,
            " {} {} {changed:?}",
            Escaped(path.display()),
            stat.len()
        );
    }
    Some(origin)
}

/// Completes the base `new` if a killed run had made it of the same. Returns
/// whether it did.
pub(super) fn completes(new: &Path, origin: Option<&str>, quiet: bool) -> Result<bool, Failure> {
    let Some(origin) = origin else {
        return Ok(false);
    };
    let receipt = NewBase::complete(new, origin).map_err(Failure::new)?;
    let Some(Receipt { code, lines, .. }) = receipt else {
        return Ok(false);
    };
    for line in lines {
        log::warn!("{line}");
    }
    if !quiet {
        let new = Escaped(new.display());
        let what = "had been made by an earlier run, which was interrupted; it is complete now";
        print_done(&format!("{new} {what}\n"));
    }
    if code == 0 {
        Ok(true)
    } else {
        Err(Failure::quiet(code))
    }
}

/// Moves a base that was made of `origin` to its place, and says these lines.
pub(super) fn finish(
    new_base: NewBase,
    origin: String,
    code: u8,
    lines: Vec<String>,
) -> Result<(), Failure> {
    let receipt = Receipt {
        origin,
        code,
        lines,
    };
    new_base.finish_with(&receipt).map_err(Failure::new)?;
    for line in &receipt.lines {
        log::warn!("{line}");
    }
    Ok(())
}
