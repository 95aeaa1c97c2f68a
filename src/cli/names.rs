//! `cbfs names`: lists spellings that may be of one player, to be reviewed, and
//! merges what the list says.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::change::{self, Consent, count_of};
use super::merge::{self, Ending};
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, print};
use crate::base::{Alike, Base, Likeness, Merged, alike_names};
use crate::cbh::{CodePage, EntityId, EntityKind, EntityNames, OpenBase, Plan};

/// The columns of the list.
const COLUMNS: &str = "action\tname\tgames\tinto\tgames_of_into\twhy";

/// Value of the first column: merge these names.
const MERGE: &str = "merge";

/// A longer list is none of ours.
pub(super) const MOST_LIST_BYTES: u64 = 1 << 28;

/// The arguments of `cbfs names`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// Merge what the lines of this list say that begin with `merge`; `-` is
    /// standard input
    #[arg(long, value_name = "LIST")]
    apply: Option<PathBuf>,

    #[command(flatten)]
    consent: Consent,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

/// Prints the list, or applies one.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(list) = &args.apply {
        let list = read_list(list, COLUMNS)?;
        let base = change::open(&args.base, args.codepage, "cbfs names")?;
        return merge::finish(apply(args, &base, &list, quiet), base, &args.base, quiet);
    }
    let base = archive::open_base(&args.base, &args.password, args.codepage)?;
    let list = list(base.as_ref()).map_err(|error| Failure::about(&args.base, error))?;
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
        let shown = name.replace(['\t', '\n', '\r'], " ");
        if self.several.contains(name) || shown != name {
            format!("{shown} ~{}", id.0)
        } else {
            shown
        }
    }
}

/// The lines of a list, each with its number.
pub(super) fn read_list(path: &Path, columns: &str) -> Result<Vec<(usize, String)>, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin()
            .lock()
            .take(MOST_LIST_BYTES)
            .read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MOST_LIST_BYTES).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::about(path, error))?;
    let mut lines = text.lines().map(str::to_owned).zip(1..);
    let head = lines.next().map(|(head, _)| head);
    if head.as_deref() != Some(columns) {
        let columns = columns.replace('\t', " ");
        let why =
            format!("this is no such list: its first line names other columns than {columns}");
        return Err(Failure::about(path, why));
    }
    Ok(lines.map(|(line, number)| (number, line)).collect())
}

fn apply(
    args: &Args,
    base: &OpenBase,
    list: &[(usize, String)],
    quiet: bool,
) -> Result<(Option<Plan>, Ending), Failure> {
    let names = base.database.entity_names(EntityKind::Player);
    let names = names.map_err(|error| Failure::about(&args.base, error))?;
    let mut into: HashMap<EntityId, EntityId> = HashMap::new();
    for (number, line) in list {
        let about = |why: String| Failure::new(format_args!("line {number} of the list: {why}"));
        let mut fields = line.split('\t');
        if fields.next() != Some(MERGE) {
            continue;
        }
        let name = fields.next().unwrap_or_default();
        let other = fields.nth(1).unwrap_or_default();
        let find = |name| merge::find(&names, name).map_err(about);
        let (name, other) = (find(name)?, find(other)?);
        if name == other || into.insert(name, other).is_some_and(|it| it != other) {
            return Err(about(
                "this name is merged into itself, or into two others".to_owned(),
            ));
        }
    }
    let pairs = ends_of(&into).ok_or_else(|| {
        Failure::new("the list merges names in a circle; each must end in a name that stays")
    })?;
    if pairs.is_empty() {
        let why = format!("the list has no line that begins with {MERGE}; nothing was changed");
        return Err(Failure::new(why));
    }
    let of = (base, args.base.as_path());
    let (plan, merged) = change::plan(of, |saver| Merged::plan(saver, EntityKind::Player, &pairs))?;
    let what = count_of(pairs.len(), "name");
    let games = count_of(merged.games(), "game");
    if !args
        .consent
        .is_given(&format!("merge {what} into others ({games})"), quiet)?
    {
        return Ok((None, Ending::Nothing));
    }
    let record = merge::keep(&args.base, &merged)?;
    let said = format!("{what} merged ({games}); `cbfs merge --undo` takes it back\n");
    Ok((Some(plan), Ending::Merged(record, said)))
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
