//! `cbfs merge`: lets all games name one player, team, annotator or source instead
//! of another; and takes that back.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::change::{self, Consent, count_of};
use super::options::parse_code_page;
use super::{Failure, places, print};
use crate::base::{Merged, Merges};
use crate::cbh::{CodePage, EntityId, EntityKind, EntityNames, OpenBase, Plan};
use crate::search;

/// Maximum number of similar names that are suggested for an unknown name.
const MOST_ALIKE: usize = 5;

/// The arguments of `cbfs merge`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// What is merged
    #[arg(value_name = "KIND", required_unless_present = "undo")]
    kind: Option<Kind>,

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
pub(super) enum Kind {
    Players,
    Teams,
    Annotators,
    Sources,
}

impl Kind {
    fn entities(self) -> EntityKind {
        match self {
            Kind::Players => EntityKind::Player,
            Kind::Teams => EntityKind::Team,
            Kind::Annotators => EntityKind::Annotator,
            Kind::Sources => EntityKind::Source,
        }
    }
}

/// Merges, or takes a merge back.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let base = change::open(&args.base, args.codepage, "cbfs merge")?;
    let done = match (args.kind, &args.from, &args.into) {
        (Some(kind), Some(from), Some(into)) => {
            let pair = (from.as_str(), into.as_str());
            merge(args, &base, kind.entities(), pair, quiet)
        }
        _ => take_back(args, &base, quiet),
    };
    finish(done, base, &args.base, quiet)
}

/// Saves what was planned, and says so.
pub(super) fn finish(
    planned: Result<(Option<Plan>, Ending), Failure>,
    base: OpenBase,
    path: &Path,
    quiet: bool,
) -> Result<(), Failure> {
    let (plan, ending) = match planned {
        Ok(planned) => planned,
        Err(failure) => {
            change::save(base, path, None)?;
            return Err(failure);
        }
    };
    let saved = change::save(base, path, plan.as_ref());
    ending.end(saved, quiet)
}

/// Work on the record of a merge that is left after the base is saved.
pub(super) enum Ending {
    Nothing,
    /// Of a merge: the record of it, and what to say.
    Merged(PathBuf, String),
    /// Of a merge that is taken back.
    TakenBack(PathBuf, String),
}

impl Ending {
    fn end(self, saved: Result<(), Failure>, quiet: bool) -> Result<(), Failure> {
        let said = match (self, &saved) {
            (Ending::Merged(record, _), Err(_)) => {
                // A merge that was not saved is none to take back.
                let _ = fs::remove_file(record);
                return saved;
            }
            (Ending::TakenBack(..), Err(_)) | (Ending::Nothing, _) => return saved,
            (Ending::Merged(_, said), Ok(())) => said,
            (Ending::TakenBack(record, said), Ok(())) => {
                fs::remove_file(&record).map_err(|error| Failure::about(&record, error))?;
                said
            }
        };
        if quiet {
            Ok(())
        } else {
            print(said.as_bytes())
        }
    }
}

fn merge(
    args: &Args,
    base: &OpenBase,
    kind: EntityKind,
    (from, into): (&str, &str),
    quiet: bool,
) -> Result<(Option<Plan>, Ending), Failure> {
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
        return Err(Failure::about(&args.base, "both names are of the same one"));
    }
    let shown = |id| names.get(id).unwrap_or_default().to_owned();
    let (old, new) = (shown(from), shown(into));
    let of = (base, args.base.as_path());
    let (plan, merged) = change::plan(of, |saver| Merged::plan(saver, kind, &[(from, into)]))?;
    let games = count_of(merged.games(), "game");
    if !args
        .consent
        .is_given(&format!("merge \"{old}\" into \"{new}\" ({games})"), quiet)?
    {
        return Ok((None, Ending::Nothing));
    }
    let record = keep(&args.base, &merged)?;
    let said = format!("\"{old}\" is \"{new}\" now ({games}); `cbfs merge --undo` takes it back\n");
    Ok((Some(plan), Ending::Merged(record, said)))
}

fn take_back(args: &Args, base: &OpenBase, quiet: bool) -> Result<(Option<Plan>, Ending), Failure> {
    let nothing = || Failure::about(&args.base, "there is no merge of it to take back");
    let last = merges_of(&args.base)?.last().map_err(Failure::new)?;
    let (path, merged) = last.ok_or_else(nothing)?;
    let of = (base, args.base.as_path());
    let (plan, restored) = change::plan(of, |saver| merged.take_back(saver))?;
    let all = merged.mentions.len();
    let back = match all - restored {
        0 => count_of(merged.games(), "game"),
        changed => format!("but for {changed} of {all} places in games, changed since"),
    };
    let names = merged.pairs.iter().map(|pair| format!("\"{}\"", pair.name));
    let names = names.collect::<Vec<_>>().join(", ");
    if !args
        .consent
        .is_given(&format!("restore {names} ({back})"), quiet)?
    {
        return Ok((None, Ending::Nothing));
    }
    let said = format!("{names} restored ({back})\n");
    Ok((Some(plan), Ending::TakenBack(path, said)))
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
            (self.names.get(id)? == name).then_some(id)
        });
        numbered.ok_or_else(|| {
            let like = alike(self.names, name);
            let like = like.map_or(String::new(), |like| format!("; there is {like}"));
            format!("the base has nothing called \"{name}\"{like}")
        })
    }
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
        .take(MOST_ALIKE)
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

/// Keeps what undoes a merge.
pub(super) fn keep(base: &Path, merged: &Merged) -> Result<PathBuf, Failure> {
    let kept = merges_of(base)?.keep(merged);
    kept.map_err(|error| Failure::new(format_args!("{error}; nothing was changed")))
}
