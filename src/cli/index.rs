//! `cbfs index`: makes, describes and deletes the index of positions of a base.

use std::path::PathBuf;

use super::password::PasswordFile;
use super::{Failure, archive, places, print, progress};
use crate::base::{FilesState, IndexState, delete_index, index_file, make_index, open_index};
use crate::search::Phase;

/// The arguments of `cbfs index`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// Say whether there is an index that can be used, and make none; exits with
    /// 1 if not
    #[arg(long)]
    status: bool,

    /// Delete the index
    #[arg(long, conflicts_with = "status")]
    delete: bool,

    #[command(flatten)]
    password: PasswordFile,
}

/// Makes the index, or does what else was asked for.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let base = archive::open_base(&args.base, &args.password, None)?;
    let base = base.as_ref();
    let opened = FilesState::of(base);
    let caches = places::cache();
    let caches =
        caches.ok_or_else(|| Failure::new("there is no directory for caches: set HOME"))?;
    let path = index_file(base, &caches);
    if args.delete {
        return delete_index(&path).map_err(|error| Failure::about(&path, error));
    }
    if args.status {
        let state = open_index(base, opened, &path, false);
        let shown = path.display();
        return match state.map_err(|fault| Failure::about(&args.base, fault))? {
            IndexState::Missing => {
                Err(Failure::about(&args.base, "there is no index of positions"))
            }
            IndexState::Unusable(why) => Err(Failure::about(&path, why)),
            IndexState::Usable(index) => {
                let bytes = index.segment().map_or(0, |(segment, _)| segment.bytes());
                print(format!("{shown}: {bytes} bytes, in use\n").as_bytes())
            }
        };
    }
    let bar = progress::bar(base.last_id(), quiet);
    let made = make_index(base, opened, &path, &mut |phase| {
        match phase {
            Phase::Reading(done, _) => bar.set_position(done.into()),
            Phase::Writing(done, all) => {
                bar.set_length(all.into());
                bar.set_position(done.into());
            }
        }
        true
    });
    bar.finish_and_clear();
    made.map_err(|fault| Failure::about(&path, fault))?;
    Ok(())
}
