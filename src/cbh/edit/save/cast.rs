//! The players, tournaments, annotators, sources, teams and labels of the
//! games that are saved: found or added, counted, and removed when nobody is
//! left who refers to them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use super::SaveError;
use super::survey::{Ids, Survey};
use crate::cbh::base::references::{Name, Reference};
use crate::cbh::entities::{EditError, Entity, EntityEditor, EntityId, NameForm, TreeOrder, Unfit};
use crate::cbh::{Database, FileKind, GameId};
use crate::storage::{MemoryFile, Transaction};

/// Headers of new files; the others are there in every base.
static NO_TEAMS: LazyLock<MemoryFile> = LazyLock::new(|| empty_file(63));
static NO_LABELS: LazyLock<MemoryFile> = LazyLock::new(|| empty_file(1608));

/// A file of entities without any: capacity, root, mark, size of the data,
/// first deleted, records in use, further bytes of the header and these.
fn empty_file(data_bytes: i32) -> MemoryFile {
    let header = [0, 0, 1_234_567_890, data_bytes, -1, 0, 4, 0];
    let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    MemoryFile::from(bytes)
}

/// The error that there is no file for an entity, though games refer to some
/// in it.
fn no_file(entity: &Entity) -> SaveError {
    let (field, value, why) = match entity {
        Entity::Team(team) => (
            "WhiteTeam or BlackTeam",
            team.title.clone(),
            "games have teams, but .cbe, which had them, is missing",
        ),
        _ => (
            "CbhTag",
            "a label".to_owned(),
            "games have labels, but .cbl, which had them, is missing",
        ),
    };
    SaveError::NoPlace { field, value, why }
}

/// One file of entities.
#[derive(Debug)]
struct Roll<'a> {
    editor: EntityEditor<'a>,
    form: Option<NameForm>,
    /// The numbers of entities that were looked for, by their data.
    found: HashMap<Vec<u8>, u32>,
    /// What the file begins with, if it is not there yet.
    begin: Option<&'static MemoryFile>,
}

/// What an earlier save found out about a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    order: Option<TreeOrder>,
    form: Option<NameForm>,
}

/// How the references to one entity change.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    added: u32,
    removed: u32,
    first_added: Option<u32>,
    first_removed: Option<u32>,
}

/// All entities of the games that are saved.
#[derive(Debug)]
pub(super) struct Cast<'a> {
    database: &'a Database,
    known: BTreeMap<FileKind, Known>,
    survey: Option<Survey>,
    rolls: BTreeMap<FileKind, Roll<'a>>,
    uses: BTreeMap<Name, Use>,
}

impl<'a> Cast<'a> {
    pub(super) fn new(
        database: &'a Database,
        known: BTreeMap<FileKind, Known>,
        survey: Option<Survey>,
    ) -> Cast<'a> {
        Cast {
            database,
            known,
            survey,
            rolls: BTreeMap::new(),
            uses: BTreeMap::new(),
        }
    }

    /// What all records tell, of the base as it was before the save.
    pub(super) fn survey(&mut self) -> Result<&mut Survey, SaveError> {
        match &mut self.survey {
            Some(survey) => Ok(survey),
            place => Ok(place.insert(Survey::of(self.database)?)),
        }
    }

    fn lost(&mut self) -> Result<Arc<Ids>, SaveError> {
        Ok(self.survey()?.lost())
    }

    fn roll(&mut self, file: FileKind) -> Result<&mut Roll<'a>, SaveError> {
        let place = match self.rolls.entry(file) {
            Entry::Occupied(place) => return Ok(place.into_mut()),
            Entry::Vacant(place) => place,
        };
        let is_left_aside = self.database.family().path(file).is_some();
        let new = match file {
            FileKind::Teams => Some(&*NO_TEAMS),
            FileKind::Tags => Some(&*NO_LABELS),
            _ => None,
        };
        let new = new.filter(|_| !is_left_aside);
        let (editor, begin) = match (self.database.storage(file), new) {
            (Some(storage), _) => (EntityEditor::open(file, storage), None),
            (None, Some(new)) => (EntityEditor::open(file, new), Some(new)),
            (None, None) => {
                let what = "it could not be opened".to_owned();
                return Err(SaveError::Damaged(file, what));
            }
        };
        let mut editor = editor.map_err(SaveError::entity(file))?;
        let known = self.known.get(&file).copied().unwrap_or_default();
        if let Some(order) = known.order {
            editor.assume(order);
        }
        Ok(place.insert(Roll {
            editor,
            form: known.form,
            found: HashMap::new(),
            begin,
        }))
    }

    /// How new names of a file are written: as its others are. Where none
    /// tells, as players and tournaments are, or what made the base says.
    fn form(&mut self, file: FileKind) -> Result<NameForm, SaveError> {
        if let Some(form) = self.roll(file)?.form {
            return Ok(form);
        }
        let mut told = None;
        for file in [file, FileKind::Players, FileKind::Tournaments] {
            if told.is_none() {
                told = self.has_utf8_names(file)?;
            }
        }
        let page = self.database.code_page();
        let is_utf8 = match told {
            Some(is_utf8) => is_utf8,
            None => self.database.is_made_for_utf8(),
        };
        let form = NameForm { page, is_utf8 };
        self.roll(file)?.form = Some(form);
        Ok(form)
    }

    fn has_utf8_names(&mut self, file: FileKind) -> Result<Option<bool>, SaveError> {
        let page = self.database.code_page();
        let told = self.roll(file)?.editor.has_utf8_names(page);
        told.map_err(SaveError::entity(file))
    }

    /// The number of an entity, and whether it was added for that. What of
    /// its names does not fit is noted.
    pub(super) fn find_or_add(
        &mut self,
        entity: &Entity,
        unfit: &mut Vec<Unfit>,
    ) -> Result<(u32, bool), SaveError> {
        let file = entity.file();
        let form = self.form(file)?;
        let (refused, malformed) = (SaveError::entity(file), SaveError::malformed(file));
        let roll = self.roll(file)?;
        let encoded = entity.encode(None, form).map_err(&malformed)?;
        // A name that is cut says less than it is.
        let is_whole = encoded.unfit.is_empty();
        if let Some(&id) = roll.found.get(&encoded.data).filter(|_| is_whole) {
            return Ok((id, false));
        }
        let editor = &mut roll.editor;
        if let Some(id) = editor.find_entity(entity, form).map_err(&refused)? {
            // One that is there may have the whole of a name that fills its
            // field.
            let data = editor.data(id).map_err(&refused)?;
            let over = entity.encode(Some(data), form).map_err(malformed)?;
            if is_whole && over.unfit.is_empty() {
                roll.found.insert(encoded.data, id.0);
            }
            unfit.extend(over.unfit);
            return Ok((id.0, false));
        }
        unfit.extend(encoded.unfit);
        let lost = self.lost()?;
        let none = BTreeSet::new();
        let lost = lost.get(&file).unwrap_or(&none);
        let roll = self.roll(file)?;
        // A file that was there once may come back.
        if roll.begin.is_some() && !lost.is_empty() {
            return Err(no_file(entity));
        }
        let id = roll.editor.insert_beside(&encoded.data, lost);
        let id = id.map_err(&refused)?;
        if is_whole {
            roll.found.insert(encoded.data, id.0);
        }
        Ok((id.0, true))
    }

    /// What the record of an entity says.
    pub(super) fn entity(&mut self, (file, id): Name) -> Result<Entity, SaveError> {
        let page = self.database.code_page();
        let data = self.roll(file)?.editor.data(EntityId(id));
        let data = data.map_err(SaveError::entity(file))?;
        Entity::decode(file, data, page).map_err(SaveError::malformed(file))
    }

    /// Whether the record of the entity says that one game or text refers to it.
    pub(super) fn has_one_reference(&mut self, (file, id): Name) -> Result<bool, SaveError> {
        let references = self.roll(file)?.editor.references(EntityId(id));
        let (count, _) = references.map_err(SaveError::entity(file))?;
        Ok(count == 1 && !self.uses.contains_key(&(file, id)))
    }

    /// Lets a record say something else, under its number. Its name may be
    /// that of another record only if it has it already. One that its fields
    /// cannot hold is refused: no game asked for it that could have the whole.
    pub(super) fn rename(&mut self, id: u32, entity: &Entity) -> Result<(), SaveError> {
        let file = entity.file();
        let form = self.form(file)?;
        let editor = &mut self.roll(file)?.editor;
        let refused = SaveError::entity(file);
        let old = editor.data(EntityId(id)).map_err(&refused)?;
        let encoded = entity.encode(Some(old), form);
        let encoded = encoded.map_err(SaveError::malformed(file))?;
        if let Some(unfit) = encoded.unfit.into_iter().next() {
            return Err(SaveError::Name(unfit));
        }
        let other = editor.find_entity(entity, form).map_err(&refused)?;
        match other.filter(|other| other.0 != id) {
            Some(other) => Err(refused(EditError::Exists(other))),
            None => self.rewrite(id, entity, &mut Vec::new()),
        }
    }

    /// As [`rename`](Cast::rename), where no name changes.
    pub(super) fn rewrite(
        &mut self,
        id: u32,
        entity: &Entity,
        unfit: &mut Vec<Unfit>,
    ) -> Result<(), SaveError> {
        let file = entity.file();
        let form = self.form(file)?;
        let roll = self.roll(file)?;
        roll.found.clear();
        let editor = &mut roll.editor;
        let refused = SaveError::entity(file);
        let old = editor.data(EntityId(id)).map_err(&refused)?.to_vec();
        let encoded = entity.encode(Some(&old), form);
        let mut encoded = encoded.map_err(SaveError::malformed(file))?;
        unfit.append(&mut encoded.unfit);
        let renamed = editor.rename(EntityId(id), &encoded.data);
        renamed.map_err(refused)
    }

    /// Takes note that a game refers to these instead of those.
    pub(super) fn recast(&mut self, game: GameId, mut old: Vec<Name>, new: Vec<Name>) {
        for name in new {
            if let Some(at) = old.iter().position(|other| *other == name) {
                old.swap_remove(at);
                continue;
            }
            let change = self.uses.entry(name).or_default();
            change.added += 1;
            let first = change.first_added.map_or(game.0, |first| first.min(game.0));
            change.first_added = Some(first);
        }
        for name in old {
            let change = self.uses.entry(name).or_default();
            change.removed += 1;
            let first = change
                .first_removed
                .map_or(game.0, |first| first.min(game.0));
            change.first_removed = Some(first);
        }
    }

    /// Counts what changed; the entities whose references must be looked up
    /// in all records, since a first game, or all, may be gone, or since what
    /// their records say cannot be.
    pub(super) fn count(&mut self) -> Result<Vec<Name>, SaveError> {
        let last_id = self.database.last_id();
        let mut unsure = Vec::new();
        for ((file, id), change) in std::mem::take(&mut self.uses) {
            // Of a file that is not there nothing is known or changed.
            if self.database.storage(file).is_none() && !self.rolls.contains_key(&file) {
                continue;
            }
            let editor = &mut self.roll(file)?.editor;
            let refused = SaveError::entity(file);
            let (count, first) = match editor.references(EntityId(id)) {
                // One that never was there need not go.
                Err(EditError::NotThere(_)) if change.added == 0 => continue,
                references => references.map_err(&refused)?,
            };
            let stated = u64::from(count);
            let count = count.saturating_add(change.added);
            let lost_first = change.first_removed.is_some_and(|removed| removed <= first);
            let is_possible = stated <= 2 * u64::from(last_id)
                && first <= last_id
                && (stated == 0) == (first == 0);
            if lost_first || count <= change.removed || !is_possible {
                unsure.push((file, id));
                continue;
            }
            let added = change.first_added.unwrap_or(u32::MAX);
            let first = if first == 0 { added } else { first.min(added) };
            editor
                .set_references(EntityId(id), count - change.removed, first)
                .map_err(&refused)?;
        }
        Ok(unsure)
    }

    /// Sets what was looked up; an entity that nobody refers to goes.
    pub(super) fn set(&mut self, (file, id): Name, found: Reference) -> Result<(), SaveError> {
        let roll = self.roll(file)?;
        roll.found.clear();
        let editor = &mut roll.editor;
        let done = match found.first {
            Some(first) => editor.set_references(EntityId(id), found.count, first.0),
            None => editor.remove(EntityId(id)),
        };
        done.map_err(SaveError::entity(file))
    }

    /// What the next save need not find out again, once this one is made.
    pub(super) fn known(&self) -> BTreeMap<FileKind, Known> {
        let mut known = self.known.clone();
        for (file, roll) in &self.rolls {
            let order = roll.editor.known_order();
            let form = roll.form;
            known.insert(*file, Known { order, form });
        }
        known
    }

    /// As [`survey`](Cast::survey), if a save needed it.
    pub(super) fn surveyed(&self) -> Option<Survey> {
        self.survey.clone()
    }

    /// The entities whose records change.
    pub(super) fn changed(&self) -> impl Iterator<Item = (FileKind, EntityId)> {
        self.rolls.iter().flat_map(|(file, roll)| {
            let changed = roll.editor.changed();
            changed.map(|id| (*file, id))
        })
    }

    /// The writes that this comes to.
    pub(super) fn write(&self, transaction: &mut Transaction) -> Result<(), SaveError> {
        for (file, roll) in &self.rolls {
            let writes = roll.editor.writes().map_err(SaveError::entity(*file))?;
            let name = super::file_name(self.database, *file);
            if let Some(begin) = roll.begin.filter(|_| !writes.is_empty()) {
                transaction.create(&name);
                transaction.write(&name, 0, begin.bytes.clone());
            }
            for (offset, bytes) in writes {
                transaction.write(&name, offset, bytes);
            }
        }
        Ok(())
    }
}
