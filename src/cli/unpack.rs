//! `cbfs unpack`: extracts an archive.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::password::PasswordFile;
use super::{Failure, archive, print_done, progress, signals};
use crate::archive::{Archive, ArchiveMember, Unpacked, complete_unpacked, unpack};
use crate::book::belongs_to_book;
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
    let completed = complete_unpacked(&archive, &args.directory);
    let place = Escaped(args.directory.display());
    let completed = completed.map_err(|error| archive::failed(&error))?;
    let (left_out, said) = if let Some(left_out) = completed {
        let what = "had been unpacked by an earlier run, which was interrupted; it is complete now";
        (left_out, format!("{place} {what}\n"))
    } else {
        let Unpacked { files, left_out } = unpack_all(args, &archive, quiet)?;
        let left_out = left_out.into_iter().map(|fault| fault.what).collect();
        let files = match files {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        (left_out, format!("{files} unpacked to {place}\n"))
    };
    for what in &left_out {
        log::error!("{}: {what}; left out", args.archive.display());
    }
    if !quiet {
        print_done(&said);
    }
    if left_out.is_empty() {
        Ok(())
    } else {
        Err(Failure::quiet(1))
    }
}

fn unpack_all(args: &Args, archive: &Arc<Archive>, quiet: bool) -> Result<Unpacked, Failure> {
    ensure_no_base_changes(archive, &args.directory)?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let bytes = archive.members().iter().map(ArchiveMember::size).sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let unpacked = unpack(archive, &args.directory, args.skip_damaged, &mut |bytes| {
        bar.inc(bytes);
        !is_ended.load(Relaxed)
    });
    bar.finish_and_clear();
    unpacked.map_err(|error| archive::failed(&error))
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
        let (_, extension) = split_name(Path::new(&first));
        let is_folder = path.contains('/');
        let is_of_either = if is_folder {
            cbh::MEDIA_FOLDERS.contains(&extension.as_str())
        } else {
            cbh2::SHARED_EXTENSIONS.contains(&extension.as_str())
        };
        let owners: Vec<Owner> = if is_of_either {
            let stem = lower_stem(&first);
            [Format::Cbh, Format::Cbh2]
                .map(|format| (format, stem.clone()))
                .into()
        } else if is_folder {
            Vec::new()
        } else {
            owner_of(&first).into_iter().collect()
        };
        if let Some(name) = owners.iter().find_map(|owner| there.get(owner)) {
            let name = name.to_string_lossy();
            return Err(Failure::new(format!(
                "{}: {path:?} of the archive would belong to the same base or book as {name:?}, which is there already; unpack into a new folder",
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

/// The base or book that a file of this name, or a journal of saves, belongs to.
fn owner_of(name: &OsStr) -> Option<Owner> {
    let path = Path::new(name);
    let journal = name.to_str().and_then(|name| {
        let hidden = name.strip_prefix('.')?;
        let stem = hidden.strip_suffix(".cbfs-journal");
        let stem = stem.or_else(|| hidden.strip_suffix(".cbfs-stage"))?;
        Some((Format::Cbh, stem.to_lowercase()))
    });
    if journal.is_some() {
        journal
    } else if belongs_to_book(path) {
        Some((Format::Book, stem_of_book(path)))
    } else if cbh2::Family::owns(path) {
        Some((Format::Cbh2, lower_stem(name)))
    } else {
        cbh::Family::is_file_of(path, path).then(|| (Format::Cbh, lower_stem(name)))
    }
}

/// The name of the book that a file belongs to: that of a `.kob` ends in its number.
fn stem_of_book(path: &Path) -> String {
    let stem = lower_stem(path.as_os_str());
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match stem.rsplit_once('_') {
        Some((book, number)) if split_name(path).1 == "kob" && is_number(number) => book.to_owned(),
        _ => stem,
    }
}

fn lower_stem(name: &OsStr) -> String {
    let (stem, _) = split_name(Path::new(name));
    stem.to_string_lossy().to_lowercase()
}
