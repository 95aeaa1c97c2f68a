//! An entity of any kind as a value, and its conversion to and from record
//! data.

use super::fields::Fields;
use super::names::append_tournament;
use super::{
    Annotators, EntityLayout, NameForm, Players, Sources, TagRecords, Teams, Tournaments, Unfit,
};
use crate::bytes::Malformed;
use crate::cbh::{CodePage, FileKind};
use crate::game::{GameLabel, PlayerName, Source, Team, Tournament};

/// The content of a record of an entity file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    /// A record of `.cbp`.
    Player(PlayerName),
    /// A record of `.cbt`. The last day is in `.cbtt`, see
    /// [`TournamentExtras`](super::TournamentExtras).
    Tournament(Tournament),
    /// A record of `.cbc`.
    Annotator(String),
    /// A record of `.cbs`.
    Source(Source),
    /// A record of `.cbe`.
    Team(Team),
    /// A record of `.cbl`.
    Tag(GameLabel),
}

/// The record data of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedEntity {
    /// The record without its links: fields, number of references, first game.
    pub data: Vec<u8>,
    /// The names that had to be truncated or changed.
    pub unfit: Vec<Unfit>,
}

impl Entity {
    /// The file that holds entities of this kind.
    pub fn file(&self) -> FileKind {
        match self {
            Entity::Player(_) => FileKind::Players,
            Entity::Tournament(_) => FileKind::Tournaments,
            Entity::Annotator(_) => FileKind::Annotators,
            Entity::Source(_) => FileKind::Sources,
            Entity::Team(_) => FileKind::Teams,
            Entity::Tag(_) => FileKind::Tags,
        }
    }

    /// Decodes the data of a record of `file`. Names that are not UTF-8 are
    /// read in `page`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the data are too short or `file` is not an entity file.
    pub fn decode(file: FileKind, data: &[u8], page: CodePage) -> Result<Entity, Malformed> {
        Ok(match file {
            FileKind::Players => Entity::Player(decode::<Players>(data, page)?),
            FileKind::Tournaments => Entity::Tournament(decode::<Tournaments>(data, page)?),
            FileKind::Annotators => Entity::Annotator(decode::<Annotators>(data, page)?),
            FileKind::Sources => Entity::Source(decode::<Sources>(data, page)?),
            FileKind::Teams => Entity::Team(decode::<Teams>(data, page)?),
            FileKind::Tags => Entity::Tag(decode::<TagRecords>(data, page)?),
            _ => return Err(Malformed::new(0, "no file of entities")),
        })
    }

    /// Returns the data of a record: a new one, or `old` with this content.
    /// Bytes that mean nothing here stay, and so do the bytes of names that are
    /// equal already. New names are truncated to the size of their field less
    /// one byte.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `old` is too short or a date cannot be stored.
    pub fn encode(&self, old: Option<&[u8]>, form: NameForm) -> Result<EncodedEntity, Malformed> {
        match self {
            Entity::Player(value) => encode::<Players>(value, old, form),
            Entity::Tournament(value) => encode::<Tournaments>(value, old, form),
            Entity::Annotator(value) => encode::<Annotators>(value, old, form),
            Entity::Source(value) => encode::<Sources>(value, old, form),
            Entity::Team(value) => encode::<Teams>(value, old, form),
            Entity::Tag(value) => encode::<TagRecords>(value, old, form),
        }
    }

    /// The name as [`EntityNames`](super::EntityNames) show it. A label has the
    /// name of its first title.
    pub fn name(&self) -> String {
        let mut name = String::new();
        match self {
            Entity::Player(player) => player.append_to(&mut name),
            Entity::Tournament(tournament) => {
                append_tournament(tournament, &mut name);
            }
            Entity::Annotator(annotator) => name.push_str(annotator),
            Entity::Source(source) => name.push_str(&source.title),
            Entity::Team(team) => name.push_str(&team.title),
            Entity::Tag(tag) => name.extend(tag.titles.first().map(String::as_str)),
        }
        name
    }

    /// Whether all names are those of another, also the one that is in no key.
    pub fn has_names_of(&self, other: &Entity) -> bool {
        let is_published_alike = match (self, other) {
            (Entity::Source(one), Entity::Source(other)) => one.publisher == other.publisher,
            _ => true,
        };
        is_published_alike && self.key_names() == other.key_names()
    }

    /// The names in the key, in the order of their fields.
    pub(super) fn key_names(&self) -> Vec<&str> {
        match self {
            Entity::Player(player) => vec![&player.last, &player.first],
            Entity::Tournament(tournament) => vec![&tournament.title, &tournament.place],
            Entity::Annotator(name) => vec![name],
            Entity::Source(source) => vec![&source.title],
            Entity::Team(team) => vec![&team.title],
            Entity::Tag(tag) => tag.titles.iter().map(String::as_str).collect(),
        }
    }
}

fn decode<K: EntityLayout>(data: &[u8], page: CodePage) -> Result<K::Value, Malformed> {
    let mut value = K::Value::default();
    K::decode(data, page, &mut value)?;
    Ok(value)
}

fn encode<K: EntityLayout>(
    value: &K::Value,
    old: Option<&[u8]>,
    form: NameForm,
) -> Result<EncodedEntity, Malformed> {
    let mut data = old.map_or_else(|| vec![0; K::DATA_BYTES], <[u8]>::to_vec);
    let mut unfit = Vec::new();
    K::encode(value, &mut Fields::new(&mut data, form, &mut unfit))?;
    Ok(EncodedEntity { data, unfit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Date, EventKind, Nation, Speed};

    const FORM: NameForm = NameForm {
        page: CodePage::WESTERN,
        is_utf8: true,
    };

    fn again(entity: &Entity, old: Option<&[u8]>) -> (Vec<u8>, Entity) {
        let encoded = entity.encode(old, FORM).unwrap();
        assert_eq!(encoded.unfit, []);
        let decoded = Entity::decode(entity.file(), &encoded.data, FORM.page).unwrap();
        (encoded.data, decoded)
    }

    fn tournament() -> Tournament {
        Tournament {
            title: "Linares".to_owned(),
            place: "Jaén".to_owned(),
            start: Date {
                year: 1999,
                month: 2,
                day: 20,
            },
            kind: EventKind::Scheveningen,
            speed: Speed {
                blitz: true,
                rapid: false,
                correspondence: true,
            },
            is_team_event: true,
            nation: Nation(43),
            category: 20,
            rounds: 14,
            ..Tournament::default()
        }
    }

    #[test]
    fn every_kind_is_decoded_as_it_was_encoded() {
        let entities = [
            Entity::Player(PlayerName {
                last: "Müller".to_owned(),
                first: "K".to_owned(),
            }),
            Entity::Tournament(tournament()),
            Entity::Annotator("Ftacnik".to_owned()),
            Entity::Source(Source {
                title: "Informator".to_owned(),
                publisher: "Beograd".to_owned(),
                published: tournament().start,
                version_date: tournament().start,
                version: 3,
                quality: 2,
            }),
            Entity::Team(Team {
                is_given: true,
                title: "Baden".to_owned(),
                number: 2,
                is_season: true,
                year: 2008,
                nation: Nation(53),
            }),
            Entity::Tag(GameLabel {
                titles: std::array::from_fn(|at| format!("title {at}")),
            }),
        ];
        for entity in entities {
            let (data, decoded) = again(&entity, None);
            assert_eq!(format!("{decoded:?}"), format!("{entity:?}"));
            assert!(entity.encode(Some(&data[..20]), FORM).is_err());
        }
    }

    #[test]
    fn bytes_without_a_meaning_stay() {
        let Ok(EncodedEntity { mut data, .. }) =
            Entity::Tournament(tournament()).encode(None, FORM)
        else {
            panic!("a tournament can be stored");
        };
        data[73] = 0xff; // beyond the date
        data[74] = 0x1e; // a kind of event that is none
        data[75] = 0xfe; // unknown bits
        data[77] = 0x77;
        data[79] = 0x05; // flags
        data[81..].fill(0x33);
        let read = Entity::decode(FileKind::Tournaments, &data, FORM.page).unwrap();
        assert_eq!(again(&read, Some(&data)).0, data);
        let Entity::Tournament(mut edited) = read else {
            panic!("a tournament was decoded");
        };
        edited.place.push('!');
        edited.kind = EventKind::Swiss;
        edited.is_team_event = true;
        let mut wanted = data.clone();
        wanted[45..47].copy_from_slice(b"!\0");
        wanted[74] = 4;
        wanted[75] = 0xff;
        assert_eq!(again(&Entity::Tournament(edited), Some(&data)).0, wanted);
    }

    #[test]
    fn a_team_without_a_year_keeps_its_bytes() {
        let mut data = vec![0; 63];
        data[50..54].copy_from_slice(&9999_u32.to_le_bytes());
        data[49] = 0xfe;
        let read = Entity::decode(FileKind::Teams, &data, FORM.page).unwrap();
        assert_eq!(again(&read, Some(&data)).0, data);
    }
}
