//! The headers of a game: players, event, date, result and the like.

use super::{Date, Eco, GameResult, Nation};

/// The highest rating that ChessBase's own dialogs and searches take.
pub const HIGHEST_ELO: u16 = 4095;

/// All that a base stores about a game except its moves and annotations. Empty
/// strings and zeros mean "not given".
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// White's player.
    pub white: PlayerName,
    /// Black's player.
    pub black: PlayerName,
    /// Event and place.
    pub tournament: Tournament,
    /// Date of the game.
    pub date: Date,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round, 0 if not given.
    pub subround: u8,
    /// Result of the game.
    pub result: GameResult,
    /// A NAG that evaluates the last position of an analysis line; 0 for none.
    pub line_evaluation: u8,
    /// ECO code.
    pub eco: Option<Eco>,
    /// White's rating, 0 if not given.
    pub white_elo: u16,
    /// Black's rating, 0 if not given.
    pub black_elo: u16,
    /// Type of White's rating.
    pub white_elo_type: RatingType,
    /// Type of Black's rating.
    pub black_elo_type: RatingType,
    /// Name of the annotator.
    pub annotator: String,
    /// Publication that the game comes from.
    pub source: Source,
    /// White's team.
    pub white_team: Team,
    /// Black's team.
    pub black_team: Team,
    /// Label of the game.
    pub tag: GameLabel,
    /// Medals, one bit each, in ChessBase's numbering.
    pub medals: u16,
    /// Whether ChessBase lists it among the best games of the base.
    pub is_top_game: bool,
}

impl Headers {
    /// Resets all headers to "not given" and keeps the memory of the strings.
    pub fn clear(&mut self) {
        self.white.clear();
        self.black.clear();
        self.tournament.clear();
        self.annotator.clear();
        self.source.clear();
        self.white_team.clear();
        self.black_team.clear();
        self.tag.clear();
        self.date = Date::UNKNOWN;
        self.round = 0;
        self.subround = 0;
        self.result = GameResult::Line;
        self.line_evaluation = 0;
        self.eco = None;
        self.white_elo = 0;
        self.black_elo = 0;
        self.white_elo_type = RatingType::default();
        self.black_elo_type = RatingType::default();
        self.medals = 0;
        self.is_top_game = false;
    }
}

/// `clone` of a type whose `clone_from` keeps memory.
macro_rules! clone_by_clone_from {
    () => {
        fn clone(&self) -> Self {
            let mut copy = Self::default();
            copy.clone_from(self);
            copy
        }
    };
}

/// A copy of `other` in the memory of `text`, which is empty then.
fn in_place_of(text: &mut String, other: &String) -> String {
    let mut copy = std::mem::take(text);
    copy.clone_from(other);
    copy
}

/// A player's name in two parts.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct PlayerName {
    /// Family name, or the whole name if it has only one part.
    pub last: String,
    /// Given name or initials.
    pub first: String,
}

/// `clone_from` keeps the memory of the strings.
impl Clone for PlayerName {
    clone_by_clone_from!();

    fn clone_from(&mut self, other: &PlayerName) {
        self.last.clone_from(&other.last);
        self.first.clone_from(&other.first);
    }
}

impl PlayerName {
    /// Empties the name.
    pub fn clear(&mut self) {
        self.last.clear();
        self.first.clear();
    }

    /// Returns whether both parts are empty.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty() && self.first.is_empty()
    }

    /// Returns `Last, First`, a single part alone, or `?` if both are empty.
    pub fn joined(&self) -> String {
        if self.is_empty() {
            return "?".to_owned();
        }
        let mut joined = String::with_capacity(self.last.len() + 2 + self.first.len());
        self.append_to(&mut joined);
        joined
    }

    /// Appends `Last, First`, or a single part alone.
    pub fn append_to(&self, out: &mut String) {
        out.push_str(&self.last);
        if !self.last.is_empty() && !self.first.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&self.first);
    }
}

/// An event: the content of PGN's Event, Site and Event… tags.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Tournament {
    /// Name of the event.
    pub title: String,
    /// Place of the event.
    pub place: String,
    /// First day.
    pub start: Date,
    /// Last day.
    pub end: Date,
    /// Form of the event: Swiss, round robin, match …
    pub kind: EventKind,
    /// Speed of play: blitz, rapid, correspondence.
    pub speed: Speed,
    /// Whether it is a competition of teams.
    pub is_team_event: bool,
    /// The host country.
    pub nation: Nation,
    /// FIDE category, 0 if none.
    pub category: u8,
    /// Number of rounds, 0 if not given.
    pub rounds: u8,
}

impl Tournament {
    /// Resets all fields to "not given".
    pub fn clear(&mut self) {
        self.clone_from(&Tournament::default());
    }

    /// Whether they are equal, found faster where texts are empty.
    pub fn is_same(&self, other: &Tournament) -> bool {
        let Tournament {
            title,
            place,
            start,
            end,
            kind,
            speed,
            is_team_event,
            nation,
            category,
            rounds,
        } = self;
        is_same_text(title, &other.title)
            && is_same_text(place, &other.place)
            && (start, end, kind, speed) == (&other.start, &other.end, &other.kind, &other.speed)
            && (is_team_event, nation) == (&other.is_team_event, &other.nation)
            && (category, rounds) == (&other.category, &other.rounds)
    }
}

/// Whether two texts are the same. Empty ones are not compared byte by byte: where they
/// have no memory, the C library may take as long for that as for a thousand bytes.
fn is_same_text(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// `clone_from` keeps the memory of the strings.
impl Clone for Tournament {
    clone_by_clone_from!();

    fn clone_from(&mut self, other: &Tournament) {
        *self = Tournament {
            title: in_place_of(&mut self.title, &other.title),
            place: in_place_of(&mut self.place, &other.place),
            ..*other
        };
    }
}

/// The form of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Not given.
    #[default]
    Unknown,
    /// A single game.
    Game,
    /// A match of two players.
    Match,
    /// Every player meets every other.
    RoundRobin,
    /// Swiss system.
    Swiss,
    /// A team event.
    Team,
    /// Knock-out.
    KnockOut,
    /// A simultaneous exhibition.
    Simultaneous,
    /// Scheveningen system: each player of one team meets each of the other.
    Scheveningen,
}

impl EventKind {
    /// The word that ChessBase writes in the PGN tag `EventType`; `None` if not
    /// given.
    pub fn pgn(self) -> Option<&'static str> {
        match self {
            EventKind::Unknown => None,
            EventKind::Game => Some("game"),
            EventKind::Match => Some("match"),
            EventKind::RoundRobin => Some("tourn"),
            EventKind::Swiss => Some("swiss"),
            EventKind::Team => Some("team"),
            EventKind::KnockOut => Some("k.o."),
            EventKind::Simultaneous => Some("simul"),
            EventKind::Scheveningen => Some("schev"),
        }
    }
}

/// Speed of an event's games; several fields may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Speed {
    /// Blitz.
    pub blitz: bool,
    /// Rapid.
    pub rapid: bool,
    /// Correspondence.
    pub correspondence: bool,
}

/// A publication of games.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Source {
    /// Title, such as `TWIC 1134`.
    pub title: String,
    /// Publisher.
    pub publisher: String,
    /// Date of publication.
    pub published: Date,
    /// Date of this version of the source.
    pub version_date: Date,
    /// Version, 0 if not given.
    pub version: u8,
    /// 1 high, 2 normal, 3 low; 0 if not given.
    pub quality: u8,
}

impl Source {
    /// Resets all fields to "not given".
    pub fn clear(&mut self) {
        self.clone_from(&Source::default());
    }

    /// Whether they are equal, found faster where texts are empty.
    pub fn is_same(&self, other: &Source) -> bool {
        let Source {
            title,
            publisher,
            published,
            version_date,
            version,
            quality,
        } = self;
        is_same_text(title, &other.title)
            && is_same_text(publisher, &other.publisher)
            && (published, version_date) == (&other.published, &other.version_date)
            && (version, quality) == (&other.version, &other.quality)
    }
}

/// `clone_from` keeps the memory of the strings.
impl Clone for Source {
    clone_by_clone_from!();

    fn clone_from(&mut self, other: &Source) {
        *self = Source {
            title: in_place_of(&mut self.title, &other.title),
            publisher: in_place_of(&mut self.publisher, &other.publisher),
            ..*other
        };
    }
}

/// A team.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Team {
    /// Whether the game has a team at all. A team without a title is possible.
    pub is_given: bool,
    /// Name of the team.
    pub title: String,
    /// Number of the team within its club, 0 if not given.
    pub number: u32,
    /// Whether `year` is the first year of a season over two years.
    pub is_season: bool,
    /// Year, 0 if not given.
    pub year: u32,
    /// Country.
    pub nation: Nation,
}

impl Team {
    /// Resets this to "no team".
    pub fn clear(&mut self) {
        self.clone_from(&Team::default());
    }
}

/// `clone_from` keeps the memory of the title.
impl Clone for Team {
    clone_by_clone_from!();

    fn clone_from(&mut self, other: &Team) {
        *self = Team {
            title: in_place_of(&mut self.title, &other.title),
            ..*other
        };
    }
}

/// A label that games can share, in up to eight languages: English, German,
/// French, Spanish, Italian, Dutch and two spare ones.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct GameLabel {
    /// The label in each language. All empty means "no label".
    pub titles: [String; GameLabel::LANGUAGES],
}

impl GameLabel {
    /// Number of languages of a label.
    pub const LANGUAGES: usize = 8;

    /// Resets this to "no label".
    pub fn clear(&mut self) {
        self.titles.iter_mut().for_each(String::clear);
    }
}

/// `clone_from` keeps the memory of the titles.
impl Clone for GameLabel {
    clone_by_clone_from!();

    fn clone_from(&mut self, other: &GameLabel) {
        self.titles.clone_from(&other.titles);
    }
}

/// The type of an Elo rating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RatingType {
    /// The 16 bytes that ChessBase stores: flags, national and international
    /// time control, nation, zero-terminated name.
    pub bytes: [u8; 16],
}

impl RatingType {
    /// The type that ChessBase gives to every new game, rated or not: an
    /// international FIDE rating.
    pub const USUAL: [u8; 16] = *b"\x00\x01\x00\x01\x00FIDE\0\0\0\0\0\0\0";

    /// Returns whether the type is [`USUAL`](RatingType::USUAL) or not given.
    pub fn is_usual(&self) -> bool {
        self.bytes == [0; 16] || self.bytes == RatingType::USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_empty_if_both_parts_are() {
        let mut name = PlayerName::default();
        assert!(name.is_empty());
        name.first = "Anna".to_owned();
        assert!(!name.is_empty());
        name.clear();
        assert!(name.is_empty());
        name.last = "Cramling".to_owned();
        assert!(!name.is_empty());
    }

    #[test]
    fn a_name_of_two_parts_is_joined_by_a_comma() {
        let joined = |last: &str, first: &str| {
            let (last, first) = (last.to_owned(), first.to_owned());
            PlayerName { last, first }.joined()
        };
        assert_eq!(joined("Cramling", "Pia"), "Cramling, Pia");
        assert_eq!(joined("Fritz", ""), "Fritz");
        assert_eq!(joined("", "Anna"), "Anna");
        assert_eq!(joined("", ""), "?");
    }

    #[test]
    fn the_type_of_a_rating_is_usual_if_it_is_that_of_new_games_or_none() {
        let is_usual = |bytes| RatingType { bytes }.is_usual();
        assert!(is_usual([0; 16]));
        assert!(is_usual(RatingType::USUAL));
        assert!(!is_usual([1; 16]));
    }

    #[test]
    fn kinds_of_events_have_the_words_of_chessbase() {
        assert_eq!(EventKind::Unknown.pgn(), None);
        let kinds = [
            (EventKind::Game, "game"),
            (EventKind::Match, "match"),
            (EventKind::RoundRobin, "tourn"),
            (EventKind::Swiss, "swiss"),
            (EventKind::Team, "team"),
            (EventKind::KnockOut, "k.o."),
            (EventKind::Simultaneous, "simul"),
            (EventKind::Scheveningen, "schev"),
        ];
        for (kind, word) in kinds {
            assert_eq!(kind.pgn(), Some(word));
        }
    }
}
