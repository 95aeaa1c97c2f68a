//! What is known about a game beside its moves.

use super::{Date, Eco, GameResult, Nation};

/// Everything a base tells about a game beside its moves. Empty strings and
/// zeros mean "not given".
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// Who had White.
    pub white: PlayerName,
    /// Who had Black.
    pub black: PlayerName,
    /// Where and in which event.
    pub tournament: Tournament,
    /// When the game was played.
    pub date: Date,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round, 0 if not given.
    pub subround: u8,
    /// How it ended.
    pub result: GameResult,
    /// A NAG that judges the last position of an analysis line; 0 is none.
    pub line_evaluation: u8,
    /// Opening code.
    pub eco: Option<Eco>,
    /// White's rating, 0 if not given.
    pub white_elo: u16,
    /// Black's rating, 0 if not given.
    pub black_elo: u16,
    /// What kind of rating White's is.
    pub white_elo_type: RatingType,
    /// What kind of rating Black's is.
    pub black_elo_type: RatingType,
    /// Who annotated the game.
    pub annotator: String,
    /// Where the game was published.
    pub source: Source,
    /// White's team.
    pub white_team: Team,
    /// Black's team.
    pub black_team: Team,
    /// The game's label.
    pub tag: GameTag,
    /// Medals, one bit each, as ChessBase numbers them.
    pub medals: u16,
    /// Whether ChessBase counts it among the best games of the base.
    pub is_top_game: bool,
}

impl Headers {
    /// Makes all headers "not given" and keeps the memory of the strings.
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

/// A player's name in its two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerName {
    /// Family name, or the whole name where there is only one part.
    pub last: String,
    /// Given name or initials.
    pub first: String,
}

impl PlayerName {
    /// Makes the name empty.
    pub fn clear(&mut self) {
        self.last.clear();
        self.first.clear();
    }

    /// Whether neither part is given.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty() && self.first.is_empty()
    }

    /// `Last, First`; one part alone stands for itself; nothing is `?`.
    pub fn joined(&self) -> String {
        if self.is_empty() {
            return "?".to_owned();
        }
        let mut joined = String::with_capacity(self.last.len() + 2 + self.first.len());
        self.append_to(&mut joined);
        joined
    }

    /// Appends `Last, First`; one part alone stands for itself.
    pub fn append_to(&self, out: &mut String) {
        out.push_str(&self.last);
        if !self.last.is_empty() && !self.first.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&self.first);
    }
}

/// An event. What PGN spreads over Event, Site and the Event… tags.
#[derive(Clone, Debug, Default)]
pub struct Tournament {
    /// Name of the event.
    pub title: String,
    /// Where it took place.
    pub place: String,
    /// First day.
    pub start: Date,
    /// Last day.
    pub end: Date,
    /// Swiss, round robin, match …
    pub kind: EventKind,
    /// Blitz, rapid, correspondence.
    pub speed: Speed,
    /// Whether teams met.
    pub is_team_event: bool,
    /// The host country.
    pub nation: Nation,
    /// FIDE category, 0 if none.
    pub category: u8,
    /// Number of rounds, 0 if not given.
    pub rounds: u8,
}

impl Tournament {
    /// Makes all fields "not given".
    pub fn clear(&mut self) {
        let (mut title, mut place) = (
            std::mem::take(&mut self.title),
            std::mem::take(&mut self.place),
        );
        title.clear();
        place.clear();
        *self = Tournament {
            title,
            place,
            ..Tournament::default()
        };
    }
}

/// The form of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventKind {
    /// Not given.
    #[default]
    Unknown,
    /// A single game.
    Game,
    /// A match of two players.
    Match,
    /// Everybody against everybody.
    RoundRobin,
    /// Swiss system.
    Swiss,
    /// A team event.
    Team,
    /// Knock-out.
    KnockOut,
    /// A simultaneous exhibition.
    Simultaneous,
    /// Scheveningen system: each of one team against each of the other.
    Scheveningen,
}

impl EventKind {
    /// The word that ChessBase writes in the PGN tag `EventType`.
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

/// How fast an event's games were; several may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Blitz.
    pub blitz: bool,
    /// Rapid.
    pub rapid: bool,
    /// Correspondence.
    pub correspondence: bool,
}

/// Where a game was published.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Title, such as `TWIC 1134`.
    pub title: String,
    /// Who published it.
    pub publisher: String,
    /// When it was published.
    pub published: Date,
    /// Date of this version of the source.
    pub version_date: Date,
    /// Version, 0 if not given.
    pub version: u8,
    /// 1 high, 2 normal, 3 low; 0 if not given.
    pub quality: u8,
}

impl Source {
    /// Makes all fields "not given".
    pub fn clear(&mut self) {
        self.title.clear();
        self.publisher.clear();
        self.published = Date::UNKNOWN;
        self.version_date = Date::UNKNOWN;
        self.version = 0;
        self.quality = 0;
    }
}

/// A team.
#[derive(Clone, Debug, Default)]
pub struct Team {
    /// Whether the game names a team at all: one without a title is possible.
    pub is_given: bool,
    /// Name of the team.
    pub title: String,
    /// Which team of a club, 0 if not given.
    pub number: u32,
    /// Whether `year` is the first of a season of two years.
    pub is_season: bool,
    /// Year, 0 if not given.
    pub year: u32,
    /// Country.
    pub nation: Nation,
}

impl Team {
    /// Makes this "no team".
    pub fn clear(&mut self) {
        let mut title = std::mem::take(&mut self.title);
        title.clear();
        *self = Team {
            title,
            ..Team::default()
        };
    }
}

/// A label that many games may share, in up to eight languages: English,
/// German, French, Spanish, Italian, Dutch and two spare ones.
#[derive(Clone, Debug, Default)]
pub struct GameTag {
    /// The label per language; all empty is "no label".
    pub titles: [String; GameTag::LANGUAGES],
}

impl GameTag {
    /// Number of languages a label can be given in.
    pub const LANGUAGES: usize = 8;

    /// Makes this "no label".
    pub fn clear(&mut self) {
        self.titles.iter_mut().for_each(String::clear);
    }
}

/// What kind of rating an Elo number is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RatingType {
    /// As ChessBase stores it, 16 bytes: flags, national and international
    /// time control, nation, zero-terminated name.
    pub bytes: [u8; 16],
}

impl RatingType {
    /// What ChessBase gives every new game, rated or not: an international
    /// rating of FIDE.
    pub const USUAL: [u8; 16] = *b"\x00\x01\x00\x01\x00FIDE\0\0\0\0\0\0\0";

    /// Whether it says no more than that there is a rating.
    pub fn is_usual(&self) -> bool {
        self.bytes == [0; 16] || self.bytes == RatingType::USUAL
    }
}
