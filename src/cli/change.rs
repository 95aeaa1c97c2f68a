//! Changes of a base as a whole: planned, asked about, saved in one transaction.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use indicatif::ProgressBar;
use nix::sys::signal::SigSet;

use super::{Failure, print, print_done, progress, signals};
use crate::cbh::{ChangeError, CodePage, Family, GameId, OpenBase, Options, SaveError, Saver};
use crate::escape::Escaped;
use crate::search::GameSet;
use crate::storage;

/// So many games are changed in one transaction: what it takes of memory and of the
/// journal depends on that, not on the base.
pub(super) const MOST_AT_ONCE: usize = 1 << 18;

/// What to do after a change that can go on.
pub(super) const SAME_AGAIN: &str = "the same command does the rest";

/// Whether and how a change is asked about.
#[derive(Clone, Debug, Default, clap::Args)]
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

/// Opens a CBH base to change it; to look at it only, if no change is wanted. `advice`
/// says what to do after a change that was interrupted.
pub(super) fn open(
    path: &Path,
    code_page: Option<CodePage>,
    consent: &Consent,
    (label, advice): (&str, &'static str),
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
    let options = Options { code_page };
    if consent.dry_run {
        return OpenBase::to_read(path, &options).map_err(|error| failed(path, error));
    }
    ensure_writable(path)?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let opened = OpenBase::to_change(path, &options, label);
    let base = opened.map_err(|error| failed(path, error))?;
    close_on_signal(ending, &base, path, advice);
    Ok(base)
}

/// Lets one of the blocked `signals` end the program only after what is saved is in the
/// files of a base, and no journal beside them.
pub(super) fn close_on_signal(signals: SigSet, base: &OpenBase, path: &Path, advice: &'static str) {
    let (store, path) = (Arc::clone(&base.store), path.to_path_buf());
    let before = store.saves();
    signals::before_end(signals, move || {
        if !store.is_writable() {
            // All was done and told.
            return;
        }
        let closed = store.close();
        // A save that was under way is in the base now.
        let said = match closed {
            Err(error) => waiting(&error, &path),
            Ok(()) if store.saves() != before => {
                format!("interrupted when some of it was done; {advice}")
            }
            Ok(()) => "interrupted; nothing was changed".to_owned(),
        };
        log::error!("{}: {said}", Escaped(path.display()));
    });
}

/// Checks that the files of a base can be written, before it is opened for a change: that
/// writes the saves in its journal. What is no base is left to the opening.
pub(super) fn ensure_writable(path: &Path) -> Result<(), Failure> {
    let family = Family::locate(path).ok();
    match family.and_then(|family| family.read_only_because()) {
        Some(why) => Err(Failure::new(format_args!("{why}; nothing was changed"))),
        None => Ok(()),
    }
}

/// Looks at a base as a change of it would. Nothing is written.
pub(super) fn look<T>(
    (base, path): (&OpenBase, &Path),
    tell: impl FnOnce(&mut Saver<'_>) -> Result<T, SaveError>,
) -> Result<T, Failure> {
    let mut saver = Saver::new(&base.database, SystemTime::now());
    tell(&mut saver).map_err(|error| failed(path, error.into()))
}

/// A save that failed.
pub(super) struct SaveFailure {
    pub(super) failure: Failure,
    /// Whether what was to be saved is in the journal of the base nevertheless.
    pub(super) is_stored: bool,
}

/// Saves what `tell` plans, in one transaction that is on the disk afterwards.
pub(super) fn save(
    (base, path): (&OpenBase, &Path),
    tell: impl FnOnce(&mut Saver<'_>) -> Result<(), SaveError>,
) -> Result<(), SaveFailure> {
    let not_stored = |error| SaveFailure {
        failure: failed(path, error),
        is_stored: false,
    };
    let mut saver = Saver::new(&base.database, SystemTime::now());
    let planned = tell(&mut saver).and_then(|()| saver.finish());
    let plan = planned.map_err(|error| not_stored(error.into()))?;
    let committed = base.store.commit(&plan.transaction);
    committed.map_err(|error| not_stored(error.into()))?;
    base.store.sync().map_err(|error| SaveFailure {
        failure: Failure::about(path, waiting(&error, path)),
        is_stored: true,
    })
}

/// Lets go of a base, whose saves are in its files afterwards.
pub(super) fn close(base: OpenBase, path: &Path) -> Result<(), Failure> {
    let OpenBase { database, store } = base;
    drop(database);
    let closed = store.close();
    closed.map_err(|error| Failure::about(path, waiting(&error, path)))
}

/// Why saves could not be brought into the files of a base, and what to do.
pub(super) fn waiting(error: &storage::Error, path: &Path) -> String {
    format!(
        "{error}; nothing is lost: saves that are not in the base yet wait in its journal; run \
         `cbfs check --repair {}` when this is solved",
        path.display()
    )
}

/// Marks games as deleted, or takes that back, once the user agrees.
pub(super) fn mark(
    (base, path): (OpenBase, &Path),
    games: Result<GameSet, Failure>,
    restores: bool,
    consent: &Consent,
    quiet: bool,
) -> Result<(), Failure> {
    let marked = games.and_then(|games| {
        let count = count_of(games.count() as usize, "game");
        let question = if restores {
            format!("restore {count} of {}", path.display())
        } else {
            format!("mark {count} of {} as deleted", path.display())
        };
        if !consent.is_given(&question, quiet)? {
            return Ok(None);
        }
        let bar = progress::bar(games.count(), quiet);
        let marked = mark_each((&base, path), (&games, MOST_AT_ONCE), restores, &bar);
        bar.finish_and_clear();
        marked.map(|()| Some(count))
    });
    let closed = close(base, path);
    let Some(count) = marked.and_then(|count| closed.map(|()| count))? else {
        return Ok(());
    };
    if quiet {
        return Ok(());
    }
    if restores {
        print_done(&format!("{count} restored\n"));
        return Ok(());
    }
    let undo = "the same command with --restore restores all deleted games that it names";
    print_done(&format!("{count} marked as deleted; {undo}\n"));
    Ok(())
}

/// Marks the games, some at once in a transaction. A game is marked or not,
/// whatever others are: those of an end that was not reached are marked by the same
/// command.
fn mark_each(
    (base, path): (&OpenBase, &Path),
    (games, at_once): (&GameSet, usize),
    restores: bool,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let mut rest = games.from(0).map(GameId).peekable();
    let mut done = 0;
    while rest.peek().is_some() {
        let now: Vec<GameId> = rest.by_ref().take(at_once).collect();
        let saved = save((base, path), |saver| {
            let mut now = now.iter();
            now.try_for_each(|id| saver.set_deleted(*id, !restores))
        });
        let stored = now.len();
        saved.map_err(|SaveFailure { failure, is_stored }| {
            let done = if is_stored { done + stored } else { done };
            failure.after(done, games.count() as usize, SAME_AGAIN)
        })?;
        done += stored;
        bar.inc(now.len() as u64);
    }
    Ok(())
}

impl Failure {
    /// The failure after some of all games are saved, and what to do then.
    pub(super) fn after(self, done: usize, all: usize, advice: &str) -> Failure {
        let Some(message) = self.message.as_deref().filter(|_| done > 0) else {
            return self;
        };
        Failure {
            message: Some(format!(
                "{message}; {done} of {all} games are done, {advice}"
            )),
            ..self
        }
    }
}

/// The failure for what could not be changed.
pub(super) fn failed(path: &Path, error: ChangeError) -> Failure {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A copy of the sample base, and the folder that it is in.
    pub(in crate::cli) fn copy_of_sample() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cbh/sample");
        for file in std::fs::read_dir(sample).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
        let path = folder.path().join("sample.cbh");
        (folder, path)
    }

    #[test]
    fn games_are_marked_some_at_once_and_a_failure_says_how_many_are() {
        let (_folder, path) = copy_of_sample();
        let base = open(&path, None, &Consent::default(), ("a test", SAME_AGAIN)).unwrap();
        let deleted = |base: &OpenBase| -> GameSet {
            let mut deleted = GameSet::default();
            let all = 1..base.database.last_id() + 1;
            let told = base.database.for_each_summary(all, false, &mut |game| {
                if game.is_deleted {
                    deleted.add(game.id.0);
                }
            });
            told.unwrap();
            deleted
        };
        let mark = |games: &[u32], restores| {
            let games: GameSet = games.iter().copied().collect();
            let bar = ProgressBar::hidden();
            mark_each((&base, &path), (&games, 2), restores, &bar)
        };
        let before = deleted(&base);
        mark(&[1, 2, 4, 5, 7], false).unwrap();
        assert_eq!(deleted(&base).count(), before.count() + 5);
        mark(&[1, 2, 4, 5, 7], true).unwrap();
        assert_eq!(deleted(&base), before);
        let failure = mark(&[1, 2, 4, 5, 9_000_000], false).unwrap_err();
        let message = failure.message.unwrap();
        let end = "; 4 of 5 games are done, the same command does the rest";
        assert!(message.ends_with(end), "{message}");
        assert_eq!(deleted(&base).count(), before.count() + 4);
        let failure = mark(&[9_000_000], false).unwrap_err();
        assert!(!failure.message.unwrap().contains("the rest"));
        base.store.close().unwrap();
    }
}
