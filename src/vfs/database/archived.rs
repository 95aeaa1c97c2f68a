//! Bases in archives: read where they lie, without being unpacked.

use std::path::Path;
use std::sync::Arc;

use encoding_rs::Encoding;

use super::DatabaseVolume;
use crate::archive::{self, Archive};
use crate::cbh::{Database, Family, Options};
use crate::game::Defect;
use crate::vfs::volume::Volume;

/// Opens the base that `path` is a file of, or the one in the archive there, to
/// read it.
///
/// # Errors
///
/// The line that says why not, for people.
pub fn open_base(
    path: &Path,
    options: &Options,
    archives: &archive::Options,
) -> Result<Database, String> {
    if !archive::has_name_of_one(path) {
        return Database::open(path, options).map_err(|error| error.to_string());
    }
    let archive = open(path, *options, archives).map_err(|error| error.to_string())?;
    open_archived(&archive, options)
}

/// Opens the base in an archive. What is wrong with the archive's table is
/// among its defects.
///
/// # Errors
///
/// The line that says why not, for people.
pub fn open_archived(archive: &Arc<Archive>, options: &Options) -> Result<Database, String> {
    let family = Family::inside(archive.path(), archive.root());
    let opened = family.and_then(|family| Database::open_family(family, options));
    let database = opened.map_err(|error| match archive.faults().next() {
        // It may be why something is missing.
        Some(fault) => format!(
            "{error}; the archive at {:#x}: {}",
            fault.offset, fault.what
        ),
        None => error.to_string(),
    })?;
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
    Ok(database.with_defects(defects.collect::<Vec<_>>()))
}

/// Opens an archive whose names are in the page that was given for the base.
fn open(
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

/// The volume of the base in an archive.
pub(super) fn volume(
    path: &Path,
    options: Options,
    archives: &archive::Options,
) -> Result<Box<dyn Volume>, String> {
    let archive = open(path, options, archives).map_err(|error| error.to_string())?;
    let database = open_archived(&archive, &options)?;
    for defect in database.defects() {
        log::warn!("{}: {defect}", path.display());
    }
    let why = database.family().read_only_because();
    let page = format!("codepage={}", database.code_page().name());
    let volume = DatabaseVolume::new(database, &page);
    Ok(Box::new(match why {
        Some(why) => volume.read_only_because(why),
        None => volume,
    }))
}
