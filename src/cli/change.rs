//! Changes of a base as a whole: planned, asked about, saved in one transaction.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

use super::{Failure, print};
use crate::cbh::{ChangeError, CodePage, GameId, OpenBase, Options, Plan, SaveError, Saver};

/// Whether and how a change is asked about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Consent {
    /// Do it without asking; needed where nobody can answer, as in a script
    #[arg(long, short = 'y')]
    yes: bool,

    /// Change nothing; only report what would be done
    #[arg(long)]
    dry_run: bool,
}

impl Consent {
    /// Says what would be done, and returns whether to do it. `question` has no
    /// question mark.
    pub(super) fn is_given(&self, question: &str, quiet: bool) -> Result<bool, Failure> {
        if self.dry_run {
            print(format!("would {question}\n").as_bytes())?;
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return Err(Failure::new(format_args!(
                "would {question}; --yes does it without a terminal to ask on"
            )));
        }
        let mut answer = String::new();
        let question = format!("{}{question}? [y/N] ", if quiet { "" } else { "cbfs: " });
        let asked = io::stderr().write_all(question.as_bytes());
        let answered = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
        answered.map_err(Failure::new)?;
        let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
        if !is_yes {
            print(b"nothing was changed\n")?;
        }
        Ok(is_yes)
    }
}

/// Opens a CBH base to change it.
pub(super) fn open(
    path: &Path,
    code_page: Option<CodePage>,
    label: &str,
) -> Result<OpenBase, Failure> {
    // Books, archives and 2CBH are refused with the reason.
    if crate::book::open(path, None).is_some() {
        return Err(Failure::about(path, "an opening book is read-only"));
    }
    if crate::archive::has_archive_extension(path) {
        let why = "a base in an archive is read-only; `cbfs unpack` takes it out";
        return Err(Failure::about(path, why));
    }
    if crate::cbh2::Family::owns(path) {
        let why = "2CBH is read-only; `cbfs convert` makes a CBH base of it";
        return Err(Failure::about(path, why));
    }
    OpenBase::to_change(path, &Options { code_page }, label).map_err(|error| failed(path, error))
}

/// Plans what `tell` says. Nothing is written.
pub(super) fn plan<T>(
    (base, path): (&OpenBase, &Path),
    tell: impl FnOnce(&mut Saver<'_>) -> Result<T, SaveError>,
) -> Result<(Plan, T), Failure> {
    let mut saver = Saver::new(&base.database, SystemTime::now());
    let told = tell(&mut saver).and_then(|told| Ok((saver.finish()?, told)));
    told.map_err(|error| failed(path, error.into()))
}

/// Saves a plan, in one transaction that is on the disk afterwards.
pub(super) fn save(base: OpenBase, path: &Path, plan: Option<&Plan>) -> Result<(), Failure> {
    let OpenBase { database, store } = base;
    drop(database);
    let saved = plan.map_or(Ok(false), |plan| store.commit(&plan.transaction));
    let closed = store.close();
    saved
        .and(closed.map(|()| false))
        .map_err(|error| failed(path, error.into()))?;
    Ok(())
}

/// Marks games as deleted, or takes that back, once the user agrees.
pub(super) fn mark(
    (base, path): (OpenBase, &Path),
    games: Result<Vec<GameId>, Failure>,
    restores: bool,
    consent: &Consent,
    quiet: bool,
) -> Result<(), Failure> {
    let planned = games.and_then(|games| {
        let count = count_of(games.len(), "game");
        let question = if restores {
            format!("restore {count} of {}", path.display())
        } else {
            format!("mark {count} of {} as deleted", path.display())
        };
        if !consent.is_given(&question, quiet)? {
            return Ok((None, count));
        }
        let (plan, ()) = plan((&base, path), |saver| {
            let mut games = games.iter();
            games.try_for_each(|id| saver.set_deleted(*id, !restores))
        })?;
        Ok((Some(plan), count))
    });
    let (plan, count) = match planned {
        Ok(planned) => planned,
        Err(failure) => {
            save(base, path, None)?;
            return Err(failure);
        }
    };
    save(base, path, plan.as_ref())?;
    if plan.is_none() || quiet {
        return Ok(());
    }
    if restores {
        return print(format!("{count} restored\n").as_bytes());
    }
    let undo = "the same command with --restore takes it back";
    print(format!("{count} marked as deleted; {undo}\n").as_bytes())
}

/// The failure for what could not be changed.
fn failed(path: &Path, error: ChangeError) -> Failure {
    match error {
        // This one includes the name of the file.
        ChangeError::Save(SaveError::Base(error)) => Failure::new(error),
        error => Failure::about(path, error),
    }
}

/// `1 game`, `2 games`.
pub(super) fn count_of(count: usize, one: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {one}{end}")
}
