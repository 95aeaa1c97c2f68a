//! Bases in archives: read where they lie, without being unpacked.

use std::path::Path;
use std::sync::Arc;

use encoding_rs::Encoding;

use super::{Base, Family, open};
use crate::archive::{self, Archive};
use crate::cbh::Options;
use crate::game::Defect;

/// Opens the base that `path` is a file of, or the one in the archive there, to
/// read it.
///
/// # Errors
///
/// The line that says why not, for people.
pub fn open_any(
    path: &Path,
    options: &Options,
    archives: &archive::Options,
) -> Result<Box<dyn Base>, String> {
    if !archive::has_name_of_one(path) {
        return open(path, options).map_err(|error| error.to_string());
    }
    let archive = open_archive(path, *options, archives).map_err(|error| error.to_string())?;
    open_archived(&archive, options)
}

/// Opens the base in an archive. What is wrong with the archive's table is
/// among its defects.
///
/// # Errors
///
/// The line that says why not, for people.
pub fn open_archived(archive: &Arc<Archive>, options: &Options) -> Result<Box<dyn Base>, String> {
    let extension = archive.path().extension().unwrap_or_default();
    let file = if extension.eq_ignore_ascii_case("cbz") {
        "cbz"
    } else {
        "cbv"
    };
    let defects = archive.faults().map(|fault| Defect {
        file,
        offset: fault.offset,
        what: fault.what.clone(),
    });
    let family = Family::inside(archive.path(), archive.root());
    let opened = family.and_then(|family| family.open(options, defects.collect()));
    opened.map_err(|error| match archive.faults().next() {
        // It may be why something is missing.
        Some(fault) => format!(
            "{error}; the archive at {:#x}: {}",
            fault.offset, fault.what
        ),
        None => error.to_string(),
    })
}

/// Opens an archive whose names are in the page that was given for the base.
fn open_archive(
    path: &Path,
    options: Options,
    archives: &archive::Options,
) -> Result<Arc<Archive>, archive::Error> {
    let mut archives = archives.clone();
    let page = options.code_page.map(|page| page.name().as_bytes());
    if let Some(page) = page.and_then(Encoding::for_label) {
        archives.page = page;
    }
    Archive::open(path, &archives)
}
