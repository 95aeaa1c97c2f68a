//! `cbfs unpack`: extracts an archive.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::password::PasswordFile;
use super::{Failure, archive, print, progress, signals};
use crate::archive::{ArchiveMember, Unpacked, unpack};
use crate::escape::Escaped;

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
