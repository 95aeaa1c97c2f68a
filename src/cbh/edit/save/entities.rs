//! Edits of the entity files by a save: players, tournaments, annotators,
//! sources, teams and labels are found or added, their references counted, and
//! unused ones removed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;

use super::SaveError;
use super::base_scan::{BaseScan, IdsByFile};
use crate::cbh::base::references::{EntityRef, ReferenceCount};
use crate::cbh::entities::{
    EVENT_FLAGS, EditError, Entity, EntityEditor, EntityId, NameForm, TreeOrder, Unfit,
};
use crate::cbh::{Database, FileKind, GameId};
use crate::game::Tournament;
use crate::storage::{self, MemoryFile, Stage, Transaction};

/// Headers of new files of teams and labels. Every base has the other files.
static NO_TEAMS: LazyLock<MemoryFile> = LazyLock::new(|| empty_file(63));
static NO_LABELS: LazyLock<MemoryFile> = LazyLock::new(|| empty_file(1608));

/// Returns an entity file without records: capacity, root, mark, size of the
/// data, first deleted record, number of used records, number of further header
/// bytes, those bytes.
fn empty_file(data_bytes: i32) -> MemoryFile {
    let header = [0, 0, 1_234_567_890, data_bytes, -1, 0, 4, 0];
    let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    MemoryFile::from(bytes)
}

/// Changes of the references to so many entities are noted for the next save.
const MOST_NOTED: usize = 1 << 14;

/// So many entities of a file are known without a look at its tree.
const MOST_FOUND: usize = 1 << 14;

/// The error for an entity whose file does not exist although games refer to
/// it.
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

/// The edits of one entity file.
#[derive(Debug)]
struct FileEdit<'a> {
    editor: EntityEditor<'a>,
    form: Option<NameForm>,
    /// Entities that were found or added lately.
    found: HashMap<Entity, FoundEntity>,
    /// The initial content of the file, if it does not exist yet.
    begin: Option<&'static MemoryFile>,
    /// Whether new records are in the file already.
    is_laid: bool,
}

impl FileEdit<'_> {
    fn note_found(&mut self, entity: &Entity, found: FoundEntity) {
        if self.found.len() >= MOST_FOUND {
            self.found.clear();
        }
        self.found.insert(entity.clone(), found);
    }
}

/// An entity that was looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundEntity {
    pub(super) id: u32,
    /// Whether it was added.
    pub(super) is_new: bool,
    /// Whether its record holds all names whole.
    has_whole_names: bool,
    /// Whether its record says all of it, but for the last day of a tournament.
    pub(super) is_as_stored: bool,
}

impl FoundEntity {
    /// Returns what a later game finds: the same entity, which is not new any more.
    fn again(self) -> FoundEntity {
        FoundEntity {
            is_new: false,
            ..self
        }
    }
}

/// Whether a record says all of an entity, but for the last day of a tournament,
/// which is in another file.
fn is_as_stored(stored: Entity, entity: &Entity) -> bool {
    match (stored, entity) {
        (Entity::Tournament(stored), Entity::Tournament(tournament)) => {
            let end = tournament.end;
            Tournament { end, ..stored } == *tournament
        }
        (stored, entity) => stored == *entity,
    }
}

/// Facts about a file that an earlier save found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownFile {
    order: Option<TreeOrder>,
    form: Option<NameForm>,
}

/// Changes of the references to one entity.
#[derive(Clone, Copy, Debug, Default)]
struct ReferenceChange {
    added: u32,
    removed: u32,
    first_added: Option<NonZeroU32>,
    first_removed: Option<NonZeroU32>,
}

/// The first of the games, and of this one.
fn first_of(first: Option<NonZeroU32>, game: GameId) -> Option<NonZeroU32> {
    first.into_iter().chain(NonZeroU32::new(game.0)).min()
}

/// The edits of all entity files by a save.
#[derive(Debug)]
pub(super) struct EntityEdits<'a> {
    database: &'a Database,
    known: BTreeMap<FileKind, KnownFile>,
    scan: Option<BaseScan>,
    edits: BTreeMap<FileKind, FileEdit<'a>>,
    uses: HashMap<EntityRef, ReferenceChange>,
    /// Those that were added for the game at hand.
    added: Vec<EntityRef>,
    /// Whether the records of those of the game at hand hold all names whole.
    has_whole_names: bool,
}

/// An entity whose references are to be looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsure {
    pub(super) name: EntityRef,
    /// How many references are left, if only the first of them is unknown.
    pub(super) left: Option<u32>,
    /// No game before this one has one then.
    pub(super) not_before: u32,
}

impl<'a> EntityEdits<'a> {
    pub(super) fn new(
        database: &'a Database,
        known: BTreeMap<FileKind, KnownFile>,
        scan: Option<BaseScan>,
    ) -> EntityEdits<'a> {
        EntityEdits {
            database,
            known,
            scan,
            edits: BTreeMap::new(),
            uses: HashMap::new(),
            added: Vec::new(),
            has_whole_names: true,
        }
    }

    /// Begins with the entities of another game.
    pub(super) fn begin_game(&mut self) {
        self.added.clear();
        self.has_whole_names = true;
    }

    /// Removes what was added for the game at hand, which is not stored.
    pub(super) fn take_back(&mut self) -> Result<Vec<EntityRef>, SaveError> {
        let added = std::mem::take(&mut self.added);
        for &(file, id) in added.iter().rev() {
            let edit = self.edit(file)?;
            edit.found.clear();
            let removed = edit.editor.remove(EntityId(id));
            removed.map_err(SaveError::entity(file))?;
        }
        Ok(added)
    }

    /// Returns the scan of all records, as before the save.
    pub(super) fn scan(&mut self) -> Result<&mut BaseScan, SaveError> {
        match &mut self.scan {
            Some(scan) => Ok(scan),
            place => Ok(place.insert(BaseScan::of(self.database)?)),
        }
    }

    fn lost(&mut self) -> Result<Arc<IdsByFile>, SaveError> {
        Ok(self.scan()?.lost())
    }

    fn edit(&mut self, file: FileKind) -> Result<&mut FileEdit<'a>, SaveError> {
        let place = match self.edits.entry(file) {
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
        Ok(place.insert(FileEdit {
            editor,
            form: known.form,
            found: HashMap::new(),
            begin,
            is_laid: false,
        }))
    }

    /// Returns the encoding of new names in a file: that of its other names. If
    /// they do not tell, that of players and tournaments, or the one declared
    /// in the `.ini`.
    fn form(&mut self, file: FileKind) -> Result<NameForm, SaveError> {
        if let Some(form) = self.edit(file)?.form {
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
        self.edit(file)?.form = Some(form);
        Ok(form)
    }

    fn has_utf8_names(&mut self, file: FileKind) -> Result<Option<bool>, SaveError> {
        let page = self.database.code_page();
        let told = self.edit(file)?.editor.has_utf8_names(page);
        told.map_err(SaveError::entity(file))
    }

    /// Finds an entity, or adds it. Names that do not fit are added to `unfit`.
    pub(super) fn find_or_add(
        &mut self,
        entity: &Entity,
        unfit: &mut Vec<Unfit>,
    ) -> Result<FoundEntity, SaveError> {
        let file = entity.file();
        if let Some(&found) = self.edit(file)?.found.get(entity) {
            self.has_whole_names &= found.has_whole_names;
            return Ok(found);
        }
        let form = self.form(file)?;
        let (refused, malformed) = (SaveError::entity(file), SaveError::malformed(file));
        let edit = self.edit(file)?;
        let encoded = entity.encode(None, form).map_err(&malformed)?;
        // A name that was cut does not identify an entity.
        let is_whole = encoded.unfit.is_empty();
        let editor = &mut edit.editor;
        if let Some(id) = editor.find_entity(entity, form).map_err(&refused)? {
            // An existing record may hold the whole of a name that fills its
            // field.
            let data = editor.data(id).map_err(&refused)?;
            let over = entity.encode(Some(data), form).map_err(&malformed)?;
            // It may be found by a cut name although the whole would fit.
            let stored = Entity::decode(file, data, form.page).map_err(malformed)?;
            let found = FoundEntity {
                id: id.0,
                is_new: false,
                has_whole_names: stored.has_names_of(entity),
                is_as_stored: is_as_stored(stored, entity),
            };
            if is_whole && over.unfit.is_empty() {
                edit.note_found(entity, found);
            }
            unfit.extend(over.unfit);
            self.has_whole_names &= found.has_whole_names;
            return Ok(found);
        }
        self.has_whole_names &= is_whole;
        unfit.extend(encoded.unfit);
        let lost = self.lost()?;
        let none = BTreeSet::new();
        let lost = lost.get(&file).unwrap_or(&none);
        let edit = self.edit(file)?;
        // A deleted file of which games still have references may come back.
        if edit.begin.is_some() && !lost.is_empty() {
            return Err(no_file(entity));
        }
        let id = edit.editor.insert_beside(&encoded.data, lost);
        let id = id.map_err(&refused)?;
        let stored = Entity::decode(file, &encoded.data, form.page).map_err(malformed)?;
        let found = FoundEntity {
            id: id.0,
            is_new: true,
            has_whole_names: is_whole,
            is_as_stored: is_as_stored(stored, entity),
        };
        if is_whole {
            edit.note_found(entity, found.again());
        }
        self.added.push((file, id.0));
        Ok(found)
    }

    /// Whether the records of the entities of the game at hand hold all names whole.
    pub(super) fn have_whole_names(&self) -> bool {
        self.has_whole_names
    }

    /// Returns the entity of a record.
    pub(super) fn entity(&mut self, (file, id): EntityRef) -> Result<Entity, SaveError> {
        let page = self.database.code_page();
        let data = self.edit(file)?.editor.data(EntityId(id));
        let data = data.map_err(SaveError::entity(file))?;
        Entity::decode(file, data, page).map_err(SaveError::malformed(file))
    }

    /// As [`entity`](EntityEdits::entity); `None` if there is no such record: a
    /// game may keep the number of a label that its base does not have.
    pub(super) fn entity_if_any(&mut self, name: EntityRef) -> Result<Option<Entity>, SaveError> {
        match self.entity(name) {
            Err(SaveError::Entity(_, EditError::NotThere(_))) => Ok(None),
            entity => entity.map(Some),
        }
    }

    /// Returns the data of a record.
    pub(super) fn data(&mut self, (file, id): EntityRef) -> Result<Vec<u8>, SaveError> {
        let data = self.edit(file)?.editor.data(EntityId(id));
        Ok(data.map_err(SaveError::entity(file))?.to_vec())
    }

    /// Returns the record with the key of `data`, if there is one.
    pub(super) fn find(&mut self, file: FileKind, data: &[u8]) -> Result<Option<u32>, SaveError> {
        let found = self.edit(file)?.editor.find(data);
        Ok(found.map_err(SaveError::entity(file))?.map(|id| id.0))
    }

    /// The same; without one, adds `data` as a record that nothing refers to yet.
    pub(super) fn find_or_restore(
        &mut self,
        file: FileKind,
        data: &[u8],
    ) -> Result<u32, SaveError> {
        if let Some(id) = self.find(file, data)? {
            return Ok(id);
        }
        let lost = self.lost()?;
        let none = BTreeSet::new();
        let mut data = data.to_vec();
        if let Some(references) = data.last_chunk_mut::<8>() {
            *references = [0; 8];
        }
        let editor = &mut self.edit(file)?.editor;
        let id = editor.insert_beside(&data, lost.get(&file).unwrap_or(&none));
        Ok(id.map_err(SaveError::entity(file))?.0)
    }

    /// Returns whether the record of the entity counts exactly one reference.
    pub(super) fn has_one_reference(&mut self, (file, id): EntityRef) -> Result<bool, SaveError> {
        let references = self.edit(file)?.editor.references(EntityId(id));
        let (count, _) = references.map_err(SaveError::entity(file))?;
        Ok(count == 1 && !self.uses.contains_key(&(file, id)))
    }

    /// Changes an entity under its id. A name that another record has is
    /// rejected, unless it is unchanged. An entity that does not fit its fields
    /// is rejected, since no game could hold the whole name.
    pub(super) fn rename(&mut self, id: u32, entity: &Entity) -> Result<(), SaveError> {
        let file = entity.file();
        let form = self.form(file)?;
        let editor = &mut self.edit(file)?.editor;
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

    /// As [`rename`](EntityEdits::rename), for a change without names.
    pub(super) fn rewrite(
        &mut self,
        id: u32,
        entity: &Entity,
        unfit: &mut Vec<Unfit>,
    ) -> Result<(), SaveError> {
        let file = entity.file();
        let form = self.form(file)?;
        let edit = self.edit(file)?;
        edit.found.clear();
        let editor = &mut edit.editor;
        let refused = SaveError::entity(file);
        let old = editor.data(EntityId(id)).map_err(&refused)?.to_vec();
        let encoded = entity.encode(Some(&old), form);
        let mut encoded = encoded.map_err(SaveError::malformed(file))?;
        unfit.append(&mut encoded.unfit);
        let renamed = editor.rename(EntityId(id), &encoded.data);
        renamed.map_err(refused)
    }

    /// Sets the flags of a new tournament, which no name of it tells.
    pub(super) fn set_event_flags(&mut self, id: u32, flags: u8) -> Result<(), SaveError> {
        if flags == 0 {
            return Ok(());
        }
        let file = FileKind::Tournaments;
        let editor = &mut self.edit(file)?.editor;
        let refused = SaveError::entity(file);
        let mut data = editor.data(EntityId(id)).map_err(&refused)?.to_vec();
        if let Some(place) = data.get_mut(EVENT_FLAGS) {
            *place = flags;
        }
        let changed = editor.rename(EntityId(id), &data);
        changed.map_err(refused)
    }

    /// Notes that a game refers to the entities `new` instead of `old`.
    pub(super) fn change_references(
        &mut self,
        game: GameId,
        mut old: Vec<EntityRef>,
        new: Vec<EntityRef>,
    ) {
        for name in new {
            if let Some(at) = old.iter().position(|other| *other == name) {
                old.swap_remove(at);
                continue;
            }
            let change = self.uses.entry(name).or_default();
            change.added += 1;
            change.first_added = first_of(change.first_added, game);
        }
        for name in old {
            let change = self.uses.entry(name).or_default();
            change.removed += 1;
            change.first_removed = first_of(change.first_removed, game);
        }
    }

    /// Stores the changed counts. Returns the entities whose references are to be
    /// looked up in the records of games: their first game or their last reference
    /// may be gone, or the counts in their records are impossible.
    pub(super) fn count_references(&mut self) -> Result<Vec<Unsure>, SaveError> {
        let last_id = self.database.last_id();
        let mut unsure = Vec::new();
        let changes = std::mem::take(&mut self.uses);
        let mut uses: Vec<_> = changes.iter().collect();
        uses.sort_unstable_by_key(|(name, _)| **name);
        for (&(file, id), change) in uses {
            // A missing file has no known counts.
            if self.database.storage(file).is_none() && !self.edits.contains_key(&file) {
                continue;
            }
            let editor = &mut self.edit(file)?.editor;
            let refused = SaveError::entity(file);
            let (count, first) = match editor.references(EntityId(id)) {
                // An entity that never existed need not be removed.
                Err(EditError::NotThere(_)) if change.added == 0 => continue,
                references => references.map_err(&refused)?,
            };
            let stated = u64::from(count);
            let count = count.saturating_add(change.added);
            let lost_first = change
                .first_removed
                .is_some_and(|removed| removed.get() <= first);
            let is_possible = stated <= 2 * u64::from(last_id)
                && first <= last_id
                && (stated == 0) == (first == 0);
            let added = change.first_added.map_or(u32::MAX, NonZeroU32::get);
            let stated_first = first;
            let first = if first == 0 { added } else { first.min(added) };
            if lost_first || count <= change.removed || !is_possible {
                let left = count.saturating_sub(change.removed);
                // What is before the stated first game was not counted.
                let is_first = change
                    .first_removed
                    .is_none_or(|removed| removed.get() == stated_first);
                unsure.push(Unsure {
                    name: (file, id),
                    left: (left > 0 && is_possible && is_first).then_some(left),
                    not_before: first,
                });
                continue;
            }
            editor
                .set_references(EntityId(id), count - change.removed, first)
                .map_err(&refused)?;
        }
        self.uses = changes;
        Ok(unsure)
    }

    /// Stores counts that were found by the scan, and removes an entity without
    /// references.
    pub(super) fn set_reference(
        &mut self,
        (file, id): EntityRef,
        found: ReferenceCount,
    ) -> Result<(), SaveError> {
        let edit = self.edit(file)?;
        edit.found.clear();
        let editor = &mut edit.editor;
        let done = match found.first {
            Some(first) => editor.set_references(EntityId(id), found.count, first.0),
            None => editor.remove(EntityId(id)),
        };
        done.map_err(SaveError::entity(file))
    }

    /// Returns the facts for the next save, valid once this one is applied.
    pub(super) fn known(&self) -> BTreeMap<FileKind, KnownFile> {
        let mut known = self.known.clone();
        for (file, edit) in &self.edits {
            let order = edit.editor.known_order();
            let form = edit.form;
            known.insert(*file, KnownFile { order, form });
        }
        known
    }

    /// How many references an entity has after the save, if the records tell.
    pub(super) fn references_after(&mut self, name: EntityRef) -> Result<Option<u32>, SaveError> {
        let change = self.uses.get(&name).copied().unwrap_or_default();
        let scan = self.scan()?;
        Ok(scan.references_after(name, change.added, change.removed))
    }

    /// Returns the [`scan`](EntityEdits::scan) as after the save, if this needed it and
    /// a new one would not be made as fast.
    pub(super) fn scanned(&self) -> Option<BaseScan> {
        let mut scan = self
            .scan
            .clone()
            .filter(|_| self.uses.len() <= MOST_NOTED)?;
        for (name, change) in &self.uses {
            scan.note_change(*name, change.added, change.removed);
        }
        Some(scan)
    }

    /// The entities with changed records.
    pub(super) fn changed(&self) -> impl Iterator<Item = (FileKind, EntityId)> {
        self.edits.iter().flat_map(|(file, edit)| {
            let changed = edit.editor.changed();
            changed.map(|id| (*file, id))
        })
    }

    /// Lays new records behind the ends of the files, as far as they are in the
    /// stage. What refers to them is left to [`write`](EntityEdits::write).
    pub(super) fn spill(&mut self, stage: &mut Stage<'_>) -> Result<(), storage::Error> {
        for (file, edit) in &mut self.edits {
            let name = super::file_name(self.database, *file);
            let Some(end) = stage.begins_at(&name) else {
                continue;
            };
            let mut records = edit.editor.new_records().peekable();
            // What the file has behind its records is not the stage's.
            edit.is_laid = records.peek().is_some_and(|(offset, _)| *offset >= end);
            if edit.is_laid {
                records.try_for_each(|(offset, records)| stage.write(&name, offset, records))?;
            }
        }
        Ok(())
    }

    /// Adds the writes of all edits to the transaction.
    pub(super) fn write(&self, transaction: &mut Transaction) -> Result<(), SaveError> {
        for (file, edit) in &self.edits {
            let writes = if edit.is_laid {
                edit.editor.writes_of_old()
            } else {
                edit.editor.writes()
            };
            let writes = writes.map_err(SaveError::entity(*file))?;
            let name = super::file_name(self.database, *file);
            if let Some(begin) = edit.begin.filter(|_| !writes.is_empty()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_of_teams_and_labels_are_sound_and_empty() {
        use crate::cbh::entities::EntityTable;
        for (kind, file) in [(FileKind::Teams, &*NO_TEAMS), (FileKind::Tags, &*NO_LABELS)] {
            let table = EntityTable::read(kind, file).unwrap();
            assert!(table.has_sound_chain() && table.sound_collation().is_some());
            let counts = [table.claimed(), table.present(), table.claimed_live()];
            assert_eq!(counts, [0; 3], "{kind:?}");
        }
    }

    fn sample() -> Database {
        let path = "fixtures/cbh/sample/sample.cbh".as_ref();
        Database::open(path, &crate::cbh::Options::default()).unwrap()
    }

    #[test]
    fn the_first_of_games_has_the_lowest_number() {
        let numbers = [(None, 7), (Some(3), 7), (Some(9), 7), (None, 0)];
        let first = numbers.map(|(first, game)| {
            let first = first_of(first.and_then(NonZeroU32::new), GameId(game));
            first.map(NonZeroU32::get)
        });
        assert_eq!(first, [Some(7), Some(3), Some(7), None]);
    }

    #[test]
    fn only_references_to_an_entity_that_was_never_there_can_go() {
        let database = sample();
        let missing = (FileKind::Players, 9999);
        for (old, new, is_possible) in [
            (vec![missing], vec![], true),
            (vec![], vec![missing], false),
            (vec![missing], vec![missing], true),
        ] {
            let mut edits = EntityEdits::new(&database, BTreeMap::new(), None);
            edits.change_references(GameId(1), old, new);
            let counted = edits.count_references();
            assert_eq!(counted.is_ok(), is_possible);
            assert!(counted.unwrap_or_default().is_empty());
        }
    }

    /// Of a player that must be looked up, how many references are left and which
    /// game may be the first; then the count and the first game in its record.
    type Counted = (Option<(Option<u32>, u32)>, (u32, u32));

    /// Counts references to a player whose record has a count and a first game, after
    /// some games stopped referring to it and others began to.
    fn counted(stated: (u32, u32), removed: &[u32], added: &[u32]) -> Counted {
        let database = sample();
        let name = (FileKind::Players, 1);
        let mut edits = EntityEdits::new(&database, BTreeMap::new(), None);
        let editor = &mut edits.edit(name.0).unwrap().editor;
        let (count, first) = stated;
        editor.set_references(EntityId(1), count, first).unwrap();
        for game in removed {
            edits.change_references(GameId(*game), vec![name], vec![]);
        }
        for game in added {
            edits.change_references(GameId(*game), vec![], vec![name]);
        }
        let unsure = edits.count_references().unwrap();
        let unsure = unsure
            .first()
            .map(|unsure| (unsure.left, unsure.not_before));
        let editor = &mut edits.edit(name.0).unwrap().editor;
        (unsure, editor.references(EntityId(1)).unwrap())
    }

    #[test]
    fn references_are_counted_unless_the_first_or_the_last_may_be_gone() {
        assert_eq!(counted((3, 4), &[], &[5]), (None, (4, 4)));
        assert_eq!(counted((3, 4), &[], &[5, 2]), (None, (5, 2)));
        assert_eq!(counted((0, 0), &[], &[5, 6]), (None, (2, 5)));
        assert_eq!(counted((3, 4), &[5, 6], &[]), (None, (1, 4)));
        assert_eq!(counted((3, 4), &[5, 6], &[2]), (None, (2, 2)));
        // The first one is gone, and two or more are left.
        let stated = (3, 4);
        assert_eq!(counted(stated, &[4], &[]), (Some((Some(2), 4)), stated));
        assert_eq!(counted(stated, &[4, 5], &[6]), (Some((Some(2), 4)), stated));
        assert_eq!(counted(stated, &[4], &[2]), (Some((Some(3), 2)), stated));
        // One before the first was never counted.
        assert_eq!(counted(stated, &[3], &[]), (Some((None, 4)), stated));
        // None may be left.
        assert_eq!(counted(stated, &[5, 6, 7], &[]), (Some((None, 4)), stated));
    }

    #[test]
    fn impossible_counts_are_looked_up() {
        let last = sample().last_id();
        for stated in [(2 * last + 1, 1), (1, last + 1), (0, 1), (1, 0)] {
            let (unsure, after) = counted(stated, &[], &[5]);
            assert_eq!(after, stated);
            assert_eq!(unsure.map(|(left, _)| left), Some(None), "{stated:?}");
        }
        // Each game may name a player twice.
        let (unsure, after) = counted((2 * last, last), &[], &[5]);
        assert_eq!((unsure, after), (None, (2 * last + 1, 5)));
    }
}
