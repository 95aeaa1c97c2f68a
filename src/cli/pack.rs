//! `cbfs pack`: creates an archive.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::password::PasswordFile;
use super::{Failure, archive, print_done, progress, signals};
use crate::archive::{self as format, PackInput};
use crate::cbh::{BaseFiles, Family, FileKind};
use crate::escape::Escaped;

/// Arguments of `cbfs pack`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// The archive, which must not exist: .cbv, or .cbz for one with a password
    archive: PathBuf,

    #[command(flatten)]
    password: PasswordFile,
}

/// Creates the archive, and prints a summary.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let extension = args.archive.extension().unwrap_or_default();
    let is_cbz = extension.eq_ignore_ascii_case("cbz");
    if !is_cbz && !extension.eq_ignore_ascii_case("cbv") {
        let why = "the name of a ChessBase archive ends in .cbv, or in .cbz with a password";
        return Err(Failure::about(&args.archive, why));
    }
    if !is_cbz && args.password.password_file.is_some() {
        let why = "the name of an archive with a password ends in .cbz";
        return Err(Failure::about(&args.archive, why));
    }
    if args.archive.symlink_metadata().is_ok() {
        let why = "exists already and is not overwritten; choose another name";
        return Err(Failure::about(&args.archive, why));
    }
    let parts = BaseFiles::of(&args.base).map_err(Failure::new)?;
    let password = is_cbz
        .then(|| args.password.new_password(&args.archive))
        .transpose()?;
    let options = format::Options {
        password,
        ..format::Options::default()
    };
    let inputs: Vec<PackInput<'_>> = (parts.files().iter())
        .map(|part| PackInput {
            path: part.path.clone(),
            file: part.file.as_ref(),
            modified: part.modified,
        })
        .collect();
    let bytes: u64 = inputs
        .iter()
        .filter_map(|input| input.file.len().ok())
        .sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let progress = &mut |bytes| {
        bar.inc(bytes);
        !is_ended.load(Relaxed)
    };
    // The name that was given may have other letter case.
    let family = Family::locate(&args.base).map_err(Failure::new)?;
    let headers = family.default_path(FileKind::Headers);
    let packed = format::pack(
        &args.archive,
        &inputs,
        &options,
        Some(&headers),
        progress,
        &|| parts.ensure_unchanged(),
    );
    bar.finish_and_clear();
    let size = packed.map_err(|error| archive::failed(&error))?;
    for (path, kind) in parts.left_out() {
        log::warn!("{}: {kind}, not packed", path.display());
    }
    if quiet {
        return Ok(());
    }
    let (count, archive) = (inputs.len(), args.archive.display());
    let summary = format!(
        "{count} files of {bytes} bytes packed into {size} in {}\n",
        Escaped(archive)
    );
    print_done(&summary);
    Ok(())
}
