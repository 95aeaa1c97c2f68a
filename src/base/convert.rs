//! A new CBH base with all that a base in the newer format, or an archive, has.
//!
//! The games and texts of a 2CBH base are read and encoded by all cores, a
//! stretch of [`STRETCH`] each, and appended in order. A core that is ahead
//! waits. What CBH has no place for is counted by its kind.
//!
//! Of a CBH base in an archive, the files are copied as they are.

mod files;
mod losses;
mod remarks;

pub use files::{Copied, copy_archived};
pub use losses::{Loss, Losses};

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::SystemTime;

use crate::cbh::{
    Appended, Body, ChangeError, CodePage, CopiedMetadata, Decoded, Error, GameId, GuidingText,
    Importer, NewBase, OpenBase, Options, PreparedGame, PreparedText, RecordKind, SaveError,
};
use crate::cbh2::{Database, Original};
use crate::game::{Game, HIGHEST_ELO};
use crate::storage::{LeftOut, ReadBuffer};

/// Number of records that one thread prepares at a time.
const STRETCH: u32 = 64;

/// Number of prepared ranges per thread that can wait to be appended.
const WAITING: usize = 2;

/// PGN tags of values that have a field in 2CBH, but none, or a smaller one, in CBH.
const TAGS: [&str; 6] = [
    "Round",
    "WhiteElo",
    "BlackElo",
    "WhiteFideId",
    "BlackFideId",
    "SourceVersion",
];

/// What a conversion came to.
#[derive(Debug, Default)]
pub struct Converted {
    /// Games that are in the new base, deleted ones included.
    pub games: u32,
    /// Guiding texts that are in it.
    pub texts: u32,
    /// What is not.
    pub losses: Losses,
    /// What lies among the pictures of texts and is not copied.
    pub left_out: LeftOut,
}

/// Why a conversion ends early.
#[derive(Debug)]
pub enum ConvertStop {
    /// A base cannot be read, or not be written.
    Base(ChangeError),
    /// It was to end.
    Interrupted,
}

impl<E: Into<ChangeError>> From<E> for ConvertStop {
    fn from(error: E) -> ConvertStop {
        ConvertStop::Base(error.into())
    }
}

/// How a conversion is done, and watched.
#[derive(Clone, Copy)]
pub struct Conversion<'a> {
    /// Whether tags are left out that CBH has no field for.
    pub drops_foreign_tags: bool,
    /// Called with the number of records done since the last call.
    pub progress: &'a dyn Fn(u64),
    /// Whether it is to end.
    pub is_interrupted: &'a AtomicBool,
}

impl std::fmt::Debug for Conversion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversion").finish_non_exhaustive()
    }
}

impl Conversion<'_> {
    /// Makes the files of `new_base` with all that `from` has. They are at
    /// their place when `new_base` is finished.
    ///
    /// # Errors
    ///
    /// [`ConvertStop`]; then `new_base` is not to be finished.
    pub fn run(&self, from: &Database, new_base: &NewBase) -> Result<Converted, ConvertStop> {
        new_base.make_empty(SystemTime::now())?;
        let left_out = files::copy_companions(from.family(), new_base)?;
        let base = OpenBase::to_change(&new_base.path(), &Options::default(), "cbfs convert")?;
        let converted = self.copy_records(from, &base, new_base);
        let closed = base.store.close();
        let mut converted = converted?;
        closed?;
        converted.left_out = left_out;
        for (name, count) in from.unused_entities()? {
            converted.losses.add_many(Loss::Unused(name), count);
        }
        Ok(converted)
    }

    fn copy_records(
        &self,
        from: &Database,
        base: &OpenBase,
        new_base: &NewBase,
    ) -> Result<Converted, ConvertStop> {
        let reader = ConvertReader {
            from,
            page: base.database.code_page(),
            drops_foreign_tags: self.drops_foreign_tags,
            folders: files::media_names(from.family(), &new_base.path()),
        };
        let importer = Importer::new(&base.database, &base.store, SystemTime::now());
        let mut copy = Copy {
            importer,
            done: Converted::default(),
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let stretches = from.last_id().div_ceil(STRETCH);
        thread::scope(|scope| {
            let receivers: Vec<Receiver<Prepared>> = (0..cores)
                .map(|core| {
                    let (sender, receiver) = sync_channel(WAITING);
                    let reader = &reader;
                    scope.spawn(move || {
                        let mut mine = (0..stretches).skip(core).step_by(cores);
                        // A closed channel: the conversion has ended.
                        mine.all(|stretch| sender.send(reader.stretch(stretch)).is_ok());
                    });
                    receiver
                })
                .collect();
            for (stretch, receiver) in (0..stretches).zip(receivers.iter().cycle()) {
                let records = receiver.recv().map_err(|_| ended_early(from))??;
                for record in records {
                    if self.is_interrupted.load(Relaxed) {
                        return Err(ConvertStop::Interrupted);
                    }
                    copy.append(record)?;
                }
                (self.progress)(u64::from(STRETCH.min(from.last_id() - stretch * STRETCH)));
            }
            Ok(())
        })?;
        copy.finish()
    }
}

fn ended_early(from: &Database) -> Error {
    Error::Io {
        file: from.family().directory().to_path_buf(),
        source: std::io::Error::other("a thread ended early"),
    }
}

/// The records of a range.
type Prepared = Result<Vec<PreparedRecord>, Error>;

/// A record of the source, ready to be appended.
struct PreparedRecord {
    id: GameId,
    content: ConvertedContent,
    /// What of it is lost, with an example.
    losses: Vec<(Loss, String)>,
}

enum ConvertedContent {
    Game(Box<PreparedGame>),
    Text(Box<PreparedText>),
    /// Nothing that can be stored.
    None,
}

/// Reads and encodes records.
struct ConvertReader<'a> {
    from: &'a Database,
    /// The code page of the new base.
    page: CodePage,
    drops_foreign_tags: bool,
    /// The name of the folder of pictures in texts, and its new name.
    folders: Option<[String; 2]>,
}

impl ConvertReader<'_> {
    fn stretch(&self, stretch: u32) -> Prepared {
        let first = 1 + stretch * STRETCH;
        let ids = (first..=self.from.last_id()).take(STRETCH as usize);
        let mut decoded = Decoded::reading_ahead();
        let mut buffer = ReadBuffer::default();
        ids.map(|id| self.record(GameId(id), &mut decoded, &mut buffer))
            .collect()
    }

    fn record(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        buffer: &mut ReadBuffer,
    ) -> Result<PreparedRecord, Error> {
        let mut losses = Vec::new();
        let content = match self.from.original(id, buffer)? {
            None => {
                losses.push((Loss::Record, String::new()));
                ConvertedContent::None
            }
            Some(Original { kind, past, lost }) => {
                losses.extend(
                    lost.into_iter()
                        .map(|lost| (Loss::Field(lost), String::new())),
                );
                match kind {
                    RecordKind::Text => self.text(id, past, &mut losses)?,
                    RecordKind::Game => self.game(id, past, decoded, &mut losses)?,
                }
            }
        };
        Ok(PreparedRecord {
            id,
            content,
            losses,
        })
    }

    fn game(
        &self,
        id: GameId,
        past: CopiedMetadata,
        decoded: &mut Decoded,
        losses: &mut Vec<(Loss, String)>,
    ) -> Result<ConvertedContent, Error> {
        self.from.read_game(id, decoded)?;
        if let Some(defect) = decoded.defects.first() {
            losses.push((Loss::PartOfGame, defect.to_string()));
        }
        let mut game = decoded.game.clone();
        ratings_to_tags(&mut game);
        self.note_tags(&game, losses);
        if self.drops_foreign_tags {
            game.foreign_tags.clear();
        }
        game.start = game.start.with_number_kept();
        // Their positions mean other places in CBH.
        game.annotations.clear_stray();
        remarks::fit(&mut game, self.page, losses);
        match PreparedGame::new(game) {
            Ok(game) => Ok(ConvertedContent::Game(Box::new(game.with_past(past)))),
            Err(error) => {
                losses.push((Loss::Game, error.to_string()));
                Ok(ConvertedContent::None)
            }
        }
    }

    /// Notes what a field of the source says, and only a tag of the copy.
    fn note_tags(&self, game: &Game, losses: &mut Vec<(Loss, String)>) {
        for (name, _) in &game.foreign_tags {
            let Some(name) = TAGS.into_iter().find(|known| known == name) else {
                continue;
            };
            let loss = if self.drops_foreign_tags {
                Loss::NoTag(name)
            } else {
                Loss::Tag(name)
            };
            losses.push((loss, String::new()));
        }
    }

    fn text(
        &self,
        id: GameId,
        past: CopiedMetadata,
        losses: &mut Vec<(Loss, String)>,
    ) -> Result<ConvertedContent, Error> {
        let mut text = GuidingText::default();
        self.from.read_text(id, &mut text)?;
        if let Some(defect) = text.defects.first() {
            losses.push((Loss::PartOfText, defect.to_string()));
        }
        for content in &mut text.contents {
            if let (Body::Html(page), Some([old, new])) = (&mut content.body, &self.folders) {
                *page = files::with_folder_named(page, old, new);
            }
        }
        match PreparedText::new(text, past) {
            Ok(text) => Ok(ConvertedContent::Text(Box::new(text))),
            Err(error) => {
                losses.push((Loss::Text, error.to_string()));
                Ok(ConvertedContent::None)
            }
        }
    }
}

/// Puts a rating that is too high for its field into a tag.
fn ratings_to_tags(game: &mut Game) {
    let headers = &mut game.headers;
    for (name, elo) in [
        ("WhiteElo", &mut headers.white_elo),
        ("BlackElo", &mut headers.black_elo),
    ] {
        if *elo > HIGHEST_ELO {
            game.foreign_tags.push((name.to_owned(), elo.to_string()));
            *elo = 0;
        }
    }
}

/// The base in the making.
struct Copy<'a> {
    importer: Importer<'a>,
    done: Converted,
}

impl Copy<'_> {
    fn append(&mut self, record: PreparedRecord) -> Result<(), ConvertStop> {
        let PreparedRecord {
            id,
            content,
            losses,
        } = record;
        let done = &mut self.done;
        for (loss, example) in losses {
            done.losses.add(loss, id.0, &example);
        }
        let is_text = matches!(content, ConvertedContent::Text(_));
        let appended = match content {
            ConvertedContent::Game(game) => self.importer.append(&game),
            ConvertedContent::Text(text) => self.importer.append_text(&text),
            ConvertedContent::None => return Ok(()),
        };
        match appended {
            Ok(appended) => {
                if is_text {
                    done.texts += 1;
                } else {
                    done.games += 1;
                }
                note(&appended, id, is_text, &mut done.losses);
                Ok(())
            }
            Err(ChangeError::Save(error)) if is_of_game_alone(&error) => {
                let loss = if is_text { Loss::Text } else { Loss::Game };
                done.losses.add(loss, id.0, &error.to_string());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn finish(mut self) -> Result<Converted, ConvertStop> {
        let imported = self.importer.commit()?;
        for unfit in &imported.unfit {
            self.done
                .losses
                .add(Loss::Kept(unfit.field), 0, &unfit.whole);
        }
        Ok(self.done)
    }
}

/// Whether only this game cannot be stored. A number that does not fit is that
/// of the games, or the length of a file, here.
fn is_of_game_alone(error: &SaveError) -> bool {
    error.is_of_game() && !matches!(error, SaveError::DoesNotFit { .. })
}

/// Notes what of a game or text is not stored as it was.
fn note(appended: &Appended, id: GameId, is_text: bool, losses: &mut Losses) {
    for unfit in &appended.unfit {
        let loss = if is_text {
            Loss::CutInText(unfit.field)
        } else {
            Loss::Cut(unfit.field)
        };
        losses.add(loss, id.0, &unfit.whole);
    }
    for kept in &appended.kept {
        losses.add(Loss::Kept(kept.field), id.0, &kept.whole);
    }
}
