//! Bases in archives, read in place without unpacking.

use std::path::Path;
use std::sync::Arc;

use encoding_rs::Encoding;

use super::{AnyFamily, Base, open};
use crate::archive::{self, Archive};
use crate::cbh::Options;
use crate::game::Defect;

/// Opens for reading the base that the file `path` belongs to, or the base in
/// the archive `path`.
///
/// # Errors
///
/// The reason, as one line for the user.
pub fn open_any(
    path: &Path,
    options: &Options,
    archives: &archive::Options,
) -> Result<Box<dyn Base>, String> {
    if !archive::has_archive_extension(path) {
        return open(path, options).map_err(|error| error.to_string());
    }
    let archive = open_archive(path, *options, archives).map_err(|error| error.to_string())?;
    open_archived(&archive, options)
}

/// Opens the base in an archive. Defects of the archive's table are among the
/// defects of the base.
///
/// # Errors
///
/// The reason, as one line for the user.
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
    let family = AnyFamily::inside(archive.path(), archive.root());
    let opened = family.and_then(|family| family.open(options, defects.collect()));
    opened.map_err(|error| match archive.faults().next() {
        // The fault of the archive may be the cause.
        Some(fault) => format!(
            "{error}; the archive at {:#x}: {}",
            fault.offset, fault.what
        ),
        None => error.to_string(),
    })
}

/// Opens an archive. The code page given for the base holds for its names, too.
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
