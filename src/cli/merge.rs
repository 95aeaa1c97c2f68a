//! `cbfs merge`: lets all games name one player, team, annotator or source instead
//! of another; and takes that back.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::change::{self, Consent, MOST_AT_ONCE, SAME_AGAIN, count_of};
use super::options::parse_code_page;
use super::{Failure, places, print_done};
use crate::base::{ALL_GAMES, Merged, Merges};
use crate::cbh::{CodePage, EntityId, EntityKind, EntityNames, OpenBase, SaveError, Saver};
use crate::search;

/// Maximum number of names that a message shows: similar ones for an unknown name,
/// those of a merge.
const MOST_SHOWN: usize = 5;

/// What to do after a merge that is done in part.
pub(super) const UNDO: &str = "`cbfs merge --undo` takes them back";

/// The arguments of `cbfs merge`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// What is merged
    #[arg(value_name = "KIND", required_unless_present = "undo")]
    kind: Option<Mergeable>,

    /// The name that goes, as in the mounted directory; with " ~" and its number
    /// where several have the name
    #[arg(value_name = "NAME", required_unless_present = "undo")]
    from: Option<String>,

    /// The name that stays, in all games of both
    #[arg(value_name = "INTO", required_unless_present = "undo")]
    into: Option<String>,

    /// Take back the last merge of the base that was not taken back yet
    #[arg(long, conflicts_with_all = ["kind", "from", "into"])]
    undo: bool,

    #[command(flatten)]
    consent: Consent,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,
}

/// What can be merged: what has no details besides its name that games would lose.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Mergeable {
    Players,
    Teams,
    Annotators,
    Sources,
}

impl Mergeable {
    fn entities(self) -> EntityKind {
        match self {
            Mergeable::Players => EntityKind::Player,
            Mergeable::Teams => EntityKind::Team,
            Mergeable::Annotators => EntityKind::Annotator,
            Mergeable::Sources => EntityKind::Source,
        }
    }
}

/// Merges, or takes a merge back.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let advice = if args.undo { SAME_AGAIN } else { UNDO };
    let label = ("cbfs merge", advice);
    let mut base = change::open(&args.base, args.codepage, &args.consent, label)?;
    let done = match (args.kind, &args.from, &args.into) {
        (Some(kind), Some(from), Some(into)) => {
            let pair = (from.as_str(), into.as_str());
            merge(args, &mut base, kind.entities(), pair, quiet)
        }
        _ => take_back(args, &mut base, quiet),
    };
    finish(done, base, &args.base, quiet)
}

/// Lets go of a base, and says what was done.
pub(super) fn finish(
    done: Result<Option<String>, Failure>,
    base: OpenBase,
    path: &Path,
    quiet: bool,
) -> Result<(), Failure> {
    let closed = change::close(base, path);
    let said = done.and_then(|said| closed.map(|()| said))?;
    if let Some(said) = said.filter(|_| !quiet) {
        print_done(&said);
    }
    Ok(())
}

fn merge(
    args: &Args,
    base: &mut OpenBase,
    kind: EntityKind,
    (from, into): (&str, &str),
    quiet: bool,
) -> Result<Option<String>, Failure> {
    let names = base.database.entity_names(kind);
    let names = names.map_err(|error| Failure::about(&args.base, error))?;
    let known = KnownNames::of(&names);
    let find = |name| {
        known
            .find(name)
            .map_err(|why| Failure::about(&args.base, why))
    };
    let (from, into) = (find(from)?, find(into)?);
    if from == into {
        return Err(Failure::about(
            &args.base,
            "both names are names of the same entry",
        ));
    }
    let shown = |id| names.get(id).unwrap_or_default().to_owned();
    let (old, new) = (shown(from), shown(into));
    let merge = NameMerge {
        kind,
        pairs: vec![(from, into)],
    };
    let question = format!("merge \"{old}\" into \"{new}\"");
    let games = merge.run((base, &args.base), &question, &args.consent, quiet)?;
    Ok(games.map(|games| {
        format!("\"{old}\" is \"{new}\" now ({games}); `cbfs merge --undo` takes it back\n")
    }))
}

/// A merge to be done: of each pair the one that goes and the one that stays.
pub(super) struct NameMerge {
    pub(super) kind: EntityKind,
    pub(super) pairs: Vec<(EntityId, EntityId)>,
}

impl NameMerge {
    /// Merges, once the user agrees; returns the number of games in words.
    pub(super) fn run(
        &self,
        (base, path): (&mut OpenBase, &Path),
        question: &str,
        consent: &Consent,
        quiet: bool,
    ) -> Result<Option<String>, Failure> {
        let merged = change::look((base, path), |saver| {
            Merged::of(saver, self.kind, &self.pairs)
        })?;
        let games = count_of(merged.count_games(&ALL_GAMES), "game");
        if !consent.is_given(&format!("{question} ({games})"), quiet)? {
            return Ok(None);
        }
        let kept = merges_of(path)?.keep(&merged);
        let record =
            kept.map_err(|error| Failure::new(format_args!("{error}; nothing was changed")))?;
        let parts = PartialMerge {
            merged: &merged,
            at_once: MOST_AT_ONCE,
            advice: UNDO,
        };
        let done = parts.save((base, path), |saver, games| {
            merged.plan(saver, &self.pairs, games)
        });
        match done {
            Ok(()) => Ok(Some(games)),
            Err(Unfinished { done: 0, failure }) => {
                // A merge that was not saved is none to take back.
                let _ = fs::remove_file(record);
                Err(failure)
            }
            Err(Unfinished { failure, .. }) => Err(failure),
        }
    }
}

/// The failure of a change of which some games are done.
struct Unfinished {
    done: usize,
    failure: Failure,
}

/// A merge whose games are changed some at once, in a transaction each. A game has the
/// one name or the other, whatever others have, so what is done can be taken back.
struct PartialMerge<'m> {
    merged: &'m Merged,
    at_once: usize,
    /// What to do after a failure.
    advice: &'static str,
}

impl PartialMerge<'_> {
    fn save(
        &self,
        (base, path): (&mut OpenBase, &Path),
        mut tell: impl FnMut(&mut Saver<'_>, Range<u32>) -> Result<(), SaveError>,
    ) -> Result<(), Unfinished> {
        let mut done = 0;
        for games in self.merged.parts(self.at_once) {
            let saved = change::save((base, path), |saver| tell(saver, games.clone()));
            if saved.as_ref().err().is_none_or(|failed| failed.is_stored) {
                done += self.merged.count_games(&games);
            }
            let again = saved
                .map_err(|failed| failed.failure)
                .and_then(|()| base.reopen(path).map_err(Failure::new));
            again.map_err(|failure| Unfinished {
                done,
                failure: failure.after(done, self.merged.count_games(&ALL_GAMES), self.advice),
            })?;
        }
        Ok(())
    }
}

fn take_back(args: &Args, base: &mut OpenBase, quiet: bool) -> Result<Option<String>, Failure> {
    let nothing = || Failure::about(&args.base, "there is no merge of it to take back");
    let last = merges_of(&args.base)?.last().map_err(Failure::new)?;
    let (record, mut merged) = last.ok_or_else(nothing)?;
    let path = args.base.as_path();
    let all = merged.mentions.len();
    let [left, unmerged] = change::look((base, path), |saver| {
        merged.keep_same_games(saver)?;
        merged.count_left(saver)
    })?;
    let names = merged.pairs.iter().map(|pair| format!("\"{}\"", pair.name));
    let names = match merged.pairs.len() {
        ..=MOST_SHOWN => names.collect::<Vec<_>>().join(", "),
        many => count_of(many, "name"),
    };
    if left == 0 && all > 0 && unmerged == all {
        // A run that restored them was interrupted before it removed the record.
        let question = format!("forget the merge of {names}, which is in no game any more");
        if !args.consent.is_given(&question, quiet)? {
            return Ok(None);
        }
        remove(&record)?;
        return Ok(Some(format!(
            "the merge of {names} is in no game any more, and is forgotten; the same command takes \
             back the merge before\n"
        )));
    }
    if left == 0 && all > 0 {
        let why = format!(
            "no game is as its last merge left it; nothing was changed. Remove {} to take back the \
             merge before",
            record.display()
        );
        return Err(Failure::about(&args.base, why));
    }
    let back = if left == all {
        count_of(merged.count_games(&ALL_GAMES), "game")
    } else {
        let mut back = format!("{left} of {all} places in games");
        let others = [
            (unmerged, "were not merged yet"),
            (
                all - left - unmerged,
                "were changed since, or are other games now",
            ),
        ];
        for (count, why) in others.iter().filter(|(count, _)| *count > 0) {
            let _ = write!(back, "; {count} {why}");
        }
        back
    };
    let question = format!("restore {names} ({back})");
    if !args.consent.is_given(&question, quiet)? {
        return Ok(None);
    }
    let parts = PartialMerge {
        merged: &merged,
        at_once: MOST_AT_ONCE,
        advice: SAME_AGAIN,
    };
    let done = parts.save((base, path), |saver, games| merged.take_back(saver, games));
    done.map_err(|unfinished| unfinished.failure)?;
    remove(&record)?;
    Ok(Some(format!("{names} restored ({back})\n")))
}

/// Removes the record of a merge that is taken back.
fn remove(record: &Path) -> Result<(), Failure> {
    fs::remove_file(record).map_err(|error| Failure::about(record, error))
}

/// Entities by their names.
pub(super) struct KnownNames<'n> {
    names: &'n EntityNames,
    /// The first of each name, and another one if there is.
    ids: HashMap<&'n str, (EntityId, Option<EntityId>)>,
}

impl<'n> KnownNames<'n> {
    pub(super) fn of(names: &'n EntityNames) -> KnownNames<'n> {
        let mut ids: HashMap<&str, (EntityId, Option<EntityId>)> = HashMap::new();
        for (id, name) in names.iter() {
            ids.entry(name)
                .and_modify(|(_, another)| *another = another.or(Some(id)))
                .or_insert((id, None));
        }
        KnownNames { names, ids }
    }

    /// The entity that is called so; the reason if none is, or several are.
    pub(super) fn find(&self, name: &str) -> Result<EntityId, String> {
        match self.ids.get(name) {
            Some((id, None)) => return Ok(*id),
            Some((one, Some(other))) => {
                return Err(format!(
                    "several are called \"{name}\": say which, such as \"{name} ~{}\" or \"{name} ~{}\"",
                    one.0, other.0
                ));
            }
            None => {}
        }
        let numbered = name.rsplit_once(" ~").and_then(|(name, id)| {
            let id = EntityId(id.parse().ok()?);
            (on_one_line(self.names.get(id)?) == name).then_some(id)
        });
        numbered.ok_or_else(|| {
            let like = alike(self.names, name);
            let like = like.map_or(String::new(), |like| format!("; there is {like}"));
            format!("the base has nothing called \"{name}\"{like}")
        })
    }
}

/// A name as a list of names shows it.
pub(super) fn on_one_line(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

/// Some names that begin with the same word.
fn alike(names: &EntityNames, name: &str) -> Option<String> {
    let word = |name: &str| {
        let mut folded = String::new();
        search::fold(name, &mut folded);
        let end = folded.find([' ', ',']).unwrap_or(folded.len());
        folded.truncate(end);
        folded
    };
    let wanted = word(name);
    let alike = names.iter().filter(|(_, other)| word(other) == wanted);
    let alike: Vec<_> = alike
        .map(|(_, name)| format!("\"{name}\""))
        .take(MOST_SHOWN)
        .collect();
    (!alike.is_empty()).then(|| alike.join(", "))
}

/// Where merges of a base are kept.
fn merges_of(base: &Path) -> Result<Merges, Failure> {
    let states = places::state();
    let state = states.first().ok_or_else(|| {
        Failure::new("there is no directory for what undoes a merge; set XDG_STATE_HOME")
    })?;
    Ok(Merges::of(state, base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::GameId;
    use crate::cli::change::tests::copy_of_sample;

    /// The names in each game.
    fn players(base: &OpenBase) -> Vec<[String; 2]> {
        let names = base.database.entity_names(EntityKind::Player).unwrap();
        let mut players = Vec::new();
        let all = 1..base.database.last_id() + 1;
        let told = base.database.for_each_summary(all, false, &mut |game| {
            let name = |id| names.get(id).unwrap_or_default().to_owned();
            players.push([game.white, game.black].map(name));
        });
        told.unwrap();
        players
    }

    fn defects(base: &OpenBase) -> usize {
        let mut defects = 0;
        let check = base.database.check_whole(&mut |_| defects += 1);
        check.unwrap();
        defects
    }

    /// All players become the first, two places at a time.
    #[test]
    fn a_merge_in_parts_that_is_broken_off_is_taken_back() {
        let (_folder, path) = copy_of_sample();
        let mut base = change::open(&path, None, &Consent::default(), ("a test", UNDO)).unwrap();
        let (before, defects_before) = (players(&base), defects(&base));
        for most in [2, 3, usize::MAX] {
            // What comes back may have other numbers.
            let names = base.database.entity_names(EntityKind::Player).unwrap();
            let mut ids: Vec<EntityId> = names.iter().map(|(id, _)| id).collect();
            let into = ids.remove(0);
            let pairs: Vec<_> = ids.into_iter().map(|from| (from, into)).collect();
            let merged = change::look((&base, &path), |saver| {
                Merged::of(saver, EntityKind::Player, &pairs)
            });
            let merged = merged.unwrap();
            let parts = PartialMerge {
                merged: &merged,
                at_once: 2,
                advice: UNDO,
            };
            let mut begun = 0;
            let done = parts.save((&mut base, &path), |saver, games| {
                begun += 1;
                if begun > most {
                    return Err(SaveError::Again(GameId(games.start)));
                }
                merged.plan(saver, &pairs, games)
            });
            assert_ne!(players(&base), before);
            assert_eq!(defects(&base), defects_before);
            if let Err(Unfinished { done, failure }) = done {
                assert!(done > 0);
                let message = failure.message.unwrap();
                assert!(message.ends_with(UNDO), "{message}");
            } else {
                assert_eq!(most, usize::MAX);
                let name = names.get(into).unwrap();
                assert!(players(&base).iter().flatten().all(|it| it == name));
            }
            let back = parts.save((&mut base, &path), |saver, games| {
                merged.take_back(saver, games)
            });
            assert!(back.is_ok());
            assert_eq!(defects(&base), defects_before);
            assert_eq!(players(&base), before);
        }
        change::close(base, &path).unwrap();
    }
}
