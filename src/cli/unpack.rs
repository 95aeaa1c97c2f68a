//! `cbfs unpack`: extracts an archive.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use super::password::PasswordFile;
use super::{Failure, archive, print, progress, signals};
use crate::archive::{Archive, ArchiveMember, Unpacked, unpack};
use crate::book::{belongs_to_book, stem_of};
use crate::cbh;
use crate::cbh2;
use crate::escape::Escaped;
use crate::storage::{names_in, split_name};

/// Arguments of `cbfs unpack`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The archive
    archive: PathBuf,

    /// Directory for the files; created if it does not exist
    directory: PathBuf,

    #[command(flatten)]
    password: PasswordFile,

    /// Leave out damaged files, and list them, instead of unpacking nothing
    #[arg(long)]
    skip_damaged: bool,
}

/// Unpacks; exits with 1 if files were left out.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let archive = archive::open(&args.archive, &args.password, None)?;
    ensure_no_base_changes(&archive, &args.directory)?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let bytes = archive.members().iter().map(ArchiveMember::size).sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let unpacked = unpack(&archive, &args.directory, args.skip_damaged, &mut |bytes| {
        bar.inc(bytes);
        !is_ended.load(Relaxed)
    });
    bar.finish_and_clear();
    let Unpacked { files, left_out } = unpacked.map_err(|error| archive::failed(&error))?;
    for fault in &left_out {
        log::error!("{}: {}; left out", args.archive.display(), fault.what);
    }
    if !quiet {
        let files = match files {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        let place = Escaped(args.directory.display());
        print(format!("{files} unpacked to {place}\n").as_bytes())?;
    }
    if left_out.is_empty() {
        Ok(())
    } else {
        Err(Failure::quiet(1))
    }
}

/// Refuses a directory with a base or book that a file of the archive would belong to:
/// a missing file of it, which it would then have, or its pictures.
fn ensure_no_base_changes(archive: &Archive, directory: &Path) -> Result<(), Failure> {
    // A directory that cannot be listed is the error of unpacking.
    let names = names_in(directory).unwrap_or_default();
    let there = names
        .iter()
        .filter_map(|name| Some((owner_of(name)?, name)));
    let there: HashMap<Owner, &OsString> = there.collect();
    for member in archive.members() {
        let path = member.path();
        let first = OsString::from(path.split('/').next().unwrap_or_default());
        let owners: Vec<Owner> = if path.contains('/') {
            // Pictures of a base of either format.
            let stem = lower_stem(&first);
            [Format::Cbh, Format::Cbh2]
                .map(|format| (format, stem.clone()))
                .into()
        } else {
            owner_of(&first).into_iter().collect()
        };
        if let Some(name) = owners.iter().find_map(|owner| there.get(owner)) {
            let name = name.to_string_lossy();
            return Err(Failure::new(format!(
                "{}: {path:?} of the archive would belong to the base or book of {name:?}, which is there already; unpack into a new folder",
                Escaped(directory.display())
            )));
        }
    }
    Ok(())
}

/// The format of a base or book, and its name in lower case.
type Owner = (Format, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Format {
    Cbh,
    Cbh2,
    Book,
}

/// What a file of this name belongs to, or a journal of saves.
fn owner_of(name: &OsStr) -> Option<Owner> {
    let path = Path::new(name);
    let journal = name.to_str().and_then(|name| {
        let stem = name.strip_prefix('.')?.strip_suffix(".cbfs-journal")?;
        Some((Format::Cbh, stem.to_lowercase()))
    });
    if journal.is_some() {
        journal
    } else if belongs_to_book(path) {
        Some((Format::Book, stem_of(path)?.to_lowercase()))
    } else if cbh2::Family::owns(path) {
        Some((Format::Cbh2, lower_stem(name)))
    } else {
        cbh::Family::is_file_of(path, path).then(|| (Format::Cbh, lower_stem(name)))
    }
}

fn lower_stem(name: &OsStr) -> String {
    let (stem, _) = split_name(Path::new(name));
    stem.to_string_lossy().to_lowercase()
}
