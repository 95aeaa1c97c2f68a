//! `cbfs names`: lists spellings that may be of one player, to be reviewed, and
//! merges what the list says.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::change::count_of;
use super::merge::{self, KnownNames, NameMerge, UNDO, on_one_line};
use super::reviewed::{self, ReviewedLines};
use super::{Failure, print};
use crate::base::{Alike, Base, Likeness, alike_names};
use crate::cbh::{EntityId, EntityKind, EntityNames, OpenBase};

/// The columns of the list.
const COLUMNS: &str = "action\tname\tgames\tinto\tgames_of_into\twhy";

/// Value of the first column: merge these names.
const MERGE: &str = "merge";

/// The arguments of `cbfs names`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    list: reviewed::ListArgs,
}

/// Prints the list, or applies one.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let args = &args.list;
    if let Some((lines, mut base)) = args.to_apply(COLUMNS, MERGE, ("cbfs names", UNDO))? {
        let done = apply(args, &mut base, lines, quiet);
        return merge::finish(done, base, &args.base, quiet);
    }
    let base = args.to_print()?;
    let list = list(base.as_ref()).map_err(|error| args.failed(error))?;
    print(list.as_bytes())
}

/// The list for a base.
fn list(base: &dyn Base) -> Result<String, crate::cbh::Error> {
    let names = base.entity_names(EntityKind::Player)?;
    let mut games = vec![0_u32; names.bound() as usize];
    base.for_each_summary(1..base.last_id().saturating_add(1), false, &mut |game| {
        for id in [game.white, game.black] {
            if let Some(count) = games.get_mut(id.0 as usize) {
                *count += 1;
            }
        }
    })?;
    let shown = ListedNames::of(&names);
    let games_of = |id: EntityId| games.get(id.0 as usize).copied().unwrap_or(0);
    let mut list = format!("{COLUMNS}\n");
    for Alike {
        name,
        other,
        likeness,
    } in alike_names(&names, &games)
    {
        let action = if likeness == Likeness::Letters {
            MERGE
        } else {
            "?"
        };
        let _ = writeln!(
            list,
            "{action}\t{}\t{}\t{}\t{}\t{}",
            shown.name(name),
            games_of(name),
            shown.name(other),
            games_of(other),
            likeness.words()
        );
    }
    Ok(list)
}

/// Names as a list shows them: with the number where several are the same.
struct ListedNames<'n> {
    names: &'n EntityNames,
    several: HashSet<&'n str>,
}

impl<'n> ListedNames<'n> {
    fn of(names: &'n EntityNames) -> ListedNames<'n> {
        let mut seen = HashSet::new();
        let several = names.iter().filter(|(_, name)| !seen.insert(*name));
        let several = several.map(|(_, name)| name).collect();
        ListedNames { names, several }
    }

    fn name(&self, id: EntityId) -> String {
        let name = self.names.get(id).unwrap_or_default();
        let shown = on_one_line(name);
        if self.several.contains(name) || shown != name {
            format!("{shown} ~{}", id.0)
        } else {
            shown
        }
    }
}

fn apply(
    args: &reviewed::ListArgs,
    base: &mut OpenBase,
    list: ReviewedLines,
    quiet: bool,
) -> Result<Option<String>, Failure> {
    let names = base.database.entity_names(EntityKind::Player);
    let names = names.map_err(|error| args.failed(error))?;
    let known = KnownNames::of(&names);
    let mut into: HashMap<EntityId, EntityId> = HashMap::new();
    // Of a name on several lines, as of three spellings, those behind the first.
    let mut further = Vec::new();
    let of_line =
        |number: usize, why: &str| Failure::new(format_args!("line {number} of the list: {why}"));
    for line in list {
        let (number, line) = line?;
        let mut fields = line.split('\t').skip(1);
        let name = fields.next().unwrap_or_default();
        let other = fields.nth(1).unwrap_or_default();
        let find = |name| known.find(name).map_err(|why| of_line(number, &why));
        let (name, other) = (find(name)?, find(other)?);
        if name == other {
            return Err(of_line(number, "this name is merged into itself"));
        }
        if *into.entry(name).or_insert(other) != other {
            further.push((number, name, other));
        }
    }
    let pairs = ends_of(&into).ok_or_else(|| {
        Failure::new("the list merges names in a circle; each must end in a name that stays")
    })?;
    let ends: HashMap<EntityId, EntityId> = pairs.iter().copied().collect();
    for (number, name, other) in further {
        if ends.get(&name) != Some(ends.get(&other).unwrap_or(&other)) {
            return Err(of_line(number, "this name is merged into two others"));
        }
    }
    if pairs.is_empty() {
        let why = format!("the list has no line that begins with {MERGE}; nothing was changed");
        return Err(Failure::new(why));
    }
    let what = count_of(pairs.len(), "name");
    let question = format!("merge {what} into others");
    let kind = EntityKind::Player;
    let merge = NameMerge { kind, pairs };
    let games = merge.run((base, &args.base), &question, &args.consent, quiet)?;
    Ok(games.map(|games| format!("{what} merged ({games}); `cbfs merge --undo` takes it back\n")))
}

/// Each name with the one that it ends in; `None` if some end in none.
fn ends_of(into: &HashMap<EntityId, EntityId>) -> Option<Vec<(EntityId, EntityId)>> {
    let mut pairs = Vec::new();
    for (&name, &other) in into {
        let mut end = other;
        let mut steps = 0;
        while let Some(&next) = into.get(&end) {
            end = next;
            steps += 1;
            if steps > into.len() {
                return None;
            }
        }
        pairs.push((name, end));
    }
    pairs.sort_unstable();
    Some(pairs)
}
