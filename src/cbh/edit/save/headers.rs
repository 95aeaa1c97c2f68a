//! Saves the headers of an edited game in its records.
//!
//! A header that equals the stored one keeps its bytes and its entity. A
//! changed one refers to another entity, which is found by its key or added. A
//! shared entity is never changed for one game.

use std::borrow::Cow;

use super::entities::FoundEntity;
use super::{SaveError, Saver};
use crate::cbh::FileKind;
use crate::cbh::base::references::EntityRef;
use crate::cbh::entities::{Entity, EventDetails, ExtraChange, Unfit};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::layout::shown::{
    Detail, details_of_source, details_of_tournament, is_shown_in_pgn, shows, shows_label,
    shows_player, shows_rating_type, shows_source_title, shows_team, shows_tournament,
};
use crate::cbh::record::{self, CHESS960_WORDS, GameRecord};
use crate::game::{
    Date, Eco, Game, GameLabel, GameResult, HIGHEST_ELO, Headers, PlayerName, RatingType, Source,
    Team, Tournament,
};
use crate::storage::ReadBuffer;

/// The `.cbh` and `.cbj` records of one game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GameRecords {
    pub(super) record: GameRecord,
    pub(super) extended: ExtendedRecord,
}

impl GameRecords {
    /// The entities that the records refer to.
    pub(super) fn entities(&self) -> Vec<EntityRef> {
        let record = &self.record;
        let mut entities = vec![
            (FileKind::Players, record.white),
            (FileKind::Players, record.black),
            (FileKind::Tournaments, record.tournament),
            (FileKind::Annotators, record.annotator),
            (FileKind::Sources, record.source),
        ];
        let ExtendedRecord {
            white_team,
            black_team,
            tag,
            ..
        } = self.extended;
        for (file, id) in [
            (FileKind::Teams, white_team),
            (FileKind::Teams, black_team),
            (FileKind::Tags, tag),
        ] {
            entities.extend(u32::try_from(id).map(|id| (file, id)));
        }
        entities
    }

    /// Sets the ids of the entities, date and result in `.cbh`.
    fn set_numbers(&mut self, old: Option<&Headers>, new: &Headers) -> Result<(), SaveError> {
        let record = &mut self.record;
        record.date = new.date;
        record.round = new.round;
        record.subround = new.subround;
        if record.result() != Some(new.result) {
            record.result = record::number_of(new.result);
        }
        // With another result it is not shown, so it stays.
        if new.result == GameResult::Line {
            record.line_evaluation = new.line_evaluation;
        }
        for (field, elo, before) in [
            ("WhiteElo", new.white_elo, old.map(|old| old.white_elo)),
            ("BlackElo", new.black_elo, old.map(|old| old.black_elo)),
        ] {
            if elo > HIGHEST_ELO && before != Some(elo) {
                return Err(SaveError::DoesNotFit {
                    field,
                    value: elo.to_string(),
                    limit: format!("a rating is at most {HIGHEST_ELO}"),
                });
            }
        }
        record.white_elo = new.white_elo;
        record.black_elo = new.black_elo;
        Ok(())
    }

    /// Sets the opening code, or the number of a Chess960 start in its place.
    /// Returns `false` if that number leaves no room for a code.
    fn set_opening(&mut self, old: Option<&Game>, new: &Game) -> bool {
        let record = &mut self.record;
        let eco = new.headers.eco;
        let keeps_start = old.is_some_and(|old| old.start.is_stored_as(&new.start));
        let is_number = record.opening >= CHESS960_WORDS;
        match (new.start.is_chess960, keeps_start) {
            (true, true) if is_number => eco == record.eco(),
            (true, false) => {
                record.opening = record::chess960_word(new.start.position.board());
                eco.is_none()
            }
            (_, true) => {
                record.set_eco(eco);
                true
            }
            (false, false) => {
                if is_number {
                    record.opening = 0;
                }
                record.set_eco(eco);
                true
            }
        }
    }

    fn set_rating_types(&mut self, old: Option<&Headers>, new: &Headers) {
        let usual = RatingType {
            bytes: RatingType::USUAL,
        };
        let changed = |old: Option<RatingType>, new: RatingType| {
            let is_same = old.is_some_and(|old| shows_rating_type(old, new));
            let kind = if new.is_usual() { usual } else { new };
            (!is_same).then_some(kind)
        };
        let white = changed(old.map(|old| old.white_elo_type), new.white_elo_type);
        let black = changed(old.map(|old| old.black_elo_type), new.black_elo_type);
        if let Some(kind) = white {
            self.extended.white_elo_type = kind;
        }
        if let Some(kind) = black {
            self.extended.black_elo_type = kind;
        }
    }
}

/// The outcome of setting the headers of a game.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetHeaders {
    /// Whether details of its tournament or source change.
    pub(super) tells_more: bool,
    /// Whether its record has a place for an opening code: in a game of Chess960 the
    /// number of its start takes that.
    has_place_for_code: bool,
}

impl SetHeaders {
    /// The game with its opening code in another tag, if there is no place for it.
    pub(super) fn with_code_kept(self, game: &Game) -> Cow<'_, Game> {
        let code = game.headers.eco.filter(|_| !self.has_place_for_code);
        let Some(code) = code else {
            return Cow::Borrowed(game);
        };
        let mut game = game.clone();
        game.headers.eco = None;
        // One that was kept before is another code.
        let tags = &mut game.foreign_tags;
        tags.retain(|(name, value)| name != "ECO" || Eco::from_code(value).is_none());
        tags.push(("ECO".to_owned(), code.to_string()));
        Cow::Owned(game)
    }
}

/// Returns the details of a shared entity that were edited and are not saved:
/// those of `new` that are neither in `stored` nor in `before`.
fn refused(stored: Vec<Detail>, new: Vec<Detail>, before: Vec<Detail>) -> Vec<Unfit> {
    let all = stored.into_iter().zip(new).zip(before);
    let differing = all.filter(|((stored, new), before)| stored != new && before != new);
    differing
        .map(|(((field, stored), (_, whole)), _)| Unfit {
            field,
            stored,
            whole,
        })
        .collect()
}

/// Whether a source without a title gets another publisher, and so becomes another
/// source: see [`titled`].
fn has_other_publisher_alone(old: &Source, new: &Source) -> bool {
    new.title.is_empty() && !new.publisher.is_empty() && !shows(&old.publisher, &new.publisher)
}

/// A source with its publisher as its title, if it has none: by its title alone a
/// base tells one source from others, and all games without one share the details of
/// that without a title.
fn titled(source: &Source) -> Source {
    let mut titled = source.clone();
    if titled.title.is_empty() {
        titled.title.clone_from(&titled.publisher);
    }
    titled
}

impl Saver<'_> {
    /// Sets the headers of `new` in the records, which are those of `old` or of
    /// a new game.
    pub(super) fn set_headers(
        &mut self,
        records: &mut GameRecords,
        old: Option<&Game>,
        new: &Game,
    ) -> Result<SetHeaders, SaveError> {
        self.entities.begin_game();
        let before = old.map(|old| &old.headers);
        let headers = &new.headers;
        records.set_numbers(before, headers)?;
        records.set_rating_types(before, headers);
        let has_place_for_code = records.set_opening(old, new);
        if !has_place_for_code {
            let whole = headers.eco.map(|eco| eco.to_string()).unwrap_or_default();
            self.unfit.push(Unfit {
                field: "ECO",
                stored: String::new(),
                whole,
            });
        }
        let record = &mut records.record;
        record.white = self.player(record.white, before.map(|b| &b.white), &headers.white)?;
        record.black = self.player(record.black, before.map(|b| &b.black), &headers.black)?;
        let tournament = before.map(|before| &before.tournament);
        let tells_of_tournament;
        (record.tournament, tells_of_tournament) = match tournament {
            Some(old) if shows_tournament(old, &headers.tournament) => {
                let id = record.tournament;
                (
                    id,
                    self.set_tournament_details(id, old, &headers.tournament)?,
                )
            }
            _ => (self.tournament(&headers.tournament)?, false),
        };
        if !before.is_some_and(|before| shows(&before.annotator, &headers.annotator)) {
            let annotator = Entity::Annotator(headers.annotator.clone());
            record.annotator = self.find_or_add(&annotator)?.id;
        }
        let source = before.map(|before| &before.source);
        let tells_of_source;
        (record.source, tells_of_source) = match source {
            Some(old)
                if shows_source_title(old, &headers.source)
                    && !has_other_publisher_alone(old, &headers.source) =>
            {
                let id = record.source;
                (id, self.set_source_details(id, old, &headers.source)?)
            }
            _ => (self.source(&headers.source)?, false),
        };
        let extended = &mut records.extended;
        let teams = before.map(|before| [&before.white_team, &before.black_team]);
        let [white, black] = teams.map_or([None; 2], |teams| teams.map(Some));
        extended.white_team = self.team(extended.white_team, white, &headers.white_team)?;
        extended.black_team = self.team(extended.black_team, black, &headers.black_team)?;
        extended.tag = self.label(extended.tag, before.map(|b| &b.tag), &headers.tag)?;
        Ok(SetHeaders {
            tells_more: tells_of_tournament || tells_of_source,
            has_place_for_code,
        })
    }

    pub(super) fn find_or_add(&mut self, entity: &Entity) -> Result<FoundEntity, SaveError> {
        self.entities.find_or_add(entity, &mut self.unfit)
    }

    fn player(
        &mut self,
        id: u32,
        old: Option<&PlayerName>,
        new: &PlayerName,
    ) -> Result<u32, SaveError> {
        if old.is_some_and(|old| shows_player(old, new)) {
            return Ok(id);
        }
        Ok(self.find_or_add(&Entity::Player(new.clone()))?.id)
    }

    pub(super) fn tournament(&mut self, new: &Tournament) -> Result<u32, SaveError> {
        let found = self.find_or_add(&Entity::Tournament(new.clone()))?;
        let (id, is_new) = (found.id, found.is_new);
        if is_new {
            let (end, details) = (new.end, self.event);
            let change = ExtraChange {
                is_new,
                end,
                details,
            };
            self.extras.insert(id, change);
            self.entities.set_event_flags(id, details.flags)?;
            return Ok(id);
        }
        let end = self.end_date(id)?;
        if found.is_as_stored && end == new.end {
            return Ok(id);
        }
        if let Entity::Tournament(stored) = self.entities.entity((FileKind::Tournaments, id))? {
            let details = details_of_tournament(&Tournament { end, ..stored });
            let before = if new.title.is_empty() && new.place.is_empty() {
                details.clone()
            } else {
                details_of_tournament(&Tournament::default())
            };
            self.kept
                .extend(refused(details, details_of_tournament(new), before));
        }
        Ok(id)
    }

    /// Changes the details of a tournament, if only this game refers to it.
    fn set_tournament_details(
        &mut self,
        id: u32,
        old: &Tournament,
        new: &Tournament,
    ) -> Result<bool, SaveError> {
        let (is, wanted) = (details_of_tournament(old), details_of_tournament(new));
        if is == wanted {
            return Ok(false);
        }
        if self.is_shared((FileKind::Tournaments, id))? {
            self.kept.extend(refused(is.clone(), wanted, is));
            return Ok(false);
        }
        let changed = Tournament {
            title: old.title.clone(),
            place: old.place.clone(),
            start: old.start,
            ..new.clone()
        };
        self.entities
            .rewrite(id, &Entity::Tournament(changed), &mut self.unfit)?;
        if old.end != new.end {
            let change = ExtraChange {
                is_new: false,
                end: new.end,
                details: EventDetails::default(),
            };
            self.extras.insert(id, change);
        }
        Ok(true)
    }

    /// Returns whether other games or texts refer to the entity. The count in
    /// its record may be wrong, so it is confirmed by the records of all games.
    fn is_shared(&mut self, name: EntityRef) -> Result<bool, SaveError> {
        Ok(!self.entities.has_one_reference(name)?
            || self.entities.references_after(name)? != Some(1))
    }

    /// Returns the last day of a tournament, as after the save.
    fn end_date(&self, id: u32) -> Result<Date, SaveError> {
        if let Some(change) = self.extras.get(&id) {
            return Ok(change.end);
        }
        let Some(extras) = &self.database.tournament_extras else {
            return Ok(Date::UNKNOWN);
        };
        let end = extras.end_date(id, &mut ReadBuffer::default());
        Ok(end.map_err(|source| self.database.io(FileKind::TournamentExtras, source))?)
    }

    pub(super) fn source(&mut self, new: &Source) -> Result<u32, SaveError> {
        let new = titled(new);
        let found = self.find_or_add(&Entity::Source(new.clone()))?;
        if !found.is_new
            && !found.is_as_stored
            && let Entity::Source(stored) = self.entities.entity((FileKind::Sources, found.id))?
        {
            let details = details_of_source(&stored);
            let before = if new.title.is_empty() {
                // A game without a source shows what that of all such games says.
                details.clone()
            } else {
                details_of_source(&Source::default())
            };
            self.kept
                .extend(refused(details, details_of_source(&new), before));
        }
        Ok(found.id)
    }

    fn set_source_details(
        &mut self,
        id: u32,
        old: &Source,
        new: &Source,
    ) -> Result<bool, SaveError> {
        let shown = |source: &Source| Source {
            publisher: new.publisher.clone(),
            ..source.clone()
        };
        let is_published_so = shows(&old.publisher, &new.publisher);
        let is = if is_published_so {
            details_of_source(&shown(old))
        } else {
            details_of_source(old)
        };
        let wanted = details_of_source(new);
        if is == wanted {
            return Ok(false);
        }
        if self.is_shared((FileKind::Sources, id))? {
            self.kept.extend(refused(is.clone(), wanted, is));
            return Ok(false);
        }
        let publisher = if is_published_so { old } else { new };
        let changed = Source {
            title: old.title.clone(),
            publisher: publisher.publisher.clone(),
            ..new.clone()
        };
        self.entities
            .rewrite(id, &Entity::Source(changed), &mut self.unfit)?;
        Ok(true)
    }

    fn team(&mut self, id: i32, old: Option<&Team>, new: &Team) -> Result<i32, SaveError> {
        if old.is_some_and(|old| shows_team(old, new)) {
            return Ok(id);
        }
        if !is_shown_in_pgn(new) {
            return Ok(-1);
        }
        let found = self.find_or_add(&Entity::Team(new.clone()))?;
        Ok(found.id.cast_signed())
    }

    fn label(
        &mut self,
        id: i32,
        old: Option<&GameLabel>,
        new: &GameLabel,
    ) -> Result<i32, SaveError> {
        if old.is_some_and(|old| shows_label(old, new)) {
            return Ok(id);
        }
        if new.titles.iter().all(String::is_empty) {
            return Ok(-1);
        }
        let found = self.find_or_add(&Entity::Tag(new.clone()))?;
        Ok(found.id.cast_signed())
    }

    /// Returns the names stored in the entities of a game, for the headers of
    /// `game`.
    pub(super) fn names(
        &mut self,
        records: &GameRecords,
        game: &Game,
    ) -> Result<Headers, SaveError> {
        let mut names = Headers::default();
        let headers = &game.headers;
        let GameRecords { record, extended } = records;
        let players = [
            (record.white, &mut names.white),
            (record.black, &mut names.black),
        ];
        for (id, name) in players {
            if let Entity::Player(player) = self.entities.entity((FileKind::Players, id))? {
                *name = player;
            }
        }
        let tournament = (FileKind::Tournaments, record.tournament);
        if let Entity::Tournament(tournament) = self.entities.entity(tournament)? {
            names.tournament = tournament;
        }
        let annotator = (FileKind::Annotators, record.annotator);
        if let Entity::Annotator(annotator) = self.entities.entity(annotator)? {
            names.annotator = annotator;
        }
        if let Entity::Source(source) = self.entities.entity((FileKind::Sources, record.source))? {
            names.source = source;
        }
        let teams = [
            (
                extended.white_team,
                &headers.white_team,
                &mut names.white_team,
            ),
            (
                extended.black_team,
                &headers.black_team,
                &mut names.black_team,
            ),
        ];
        for (id, wanted, name) in teams {
            let id = u32::try_from(id).ok().filter(|_| is_shown_in_pgn(wanted));
            if let Some(id) = id
                && let Entity::Team(team) = self.entities.entity((FileKind::Teams, id))?
            {
                *name = team;
            }
        }
        if let Ok(id) = u32::try_from(extended.tag)
            && let Some(Entity::Tag(tag)) = self.entities.entity_if_any((FileKind::Tags, id))?
        {
            names.tag = tag;
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_edited_and_is_not_stored_is_refused() {
        let details = |rounds: &str, country: &str| -> Vec<Detail> {
            let details = [("EventRounds", rounds), ("EventCountry", country)];
            details
                .map(|(field, value)| (field, value.to_owned()))
                .to_vec()
        };
        let fields = |stored, new, before| {
            let refused = refused(stored, new, before).into_iter();
            let told = refused.map(|unfit| (unfit.field, unfit.stored, unfit.whole));
            told.collect::<Vec<_>>()
        };
        let stored = || details("9", "42");
        let edited = ("EventRounds", "9".to_owned(), "11".to_owned());
        assert_eq!(fields(stored(), details("11", "42"), stored()), [edited]);
        // Shown like this before, or stored already.
        assert_eq!(
            fields(stored(), details("11", "42"), details("11", "0")),
            []
        );
        assert_eq!(fields(stored(), stored(), details("7", "0")), []);
    }
}
