//! Search through all games of a source, on all cores.
//!
//! The cores take ranges of game numbers in turn; the results are passed on in
//! the order of the numbers. A core that is ahead waits while [`PIECES`] of its
//! results are pending, so memory is bounded for any number of matches.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::filter::{Filter, HeaderMatch};
use super::game_set::GameSet;
use super::source::{GamesReader, SearchedGames, SearchedHeader, SourceError, may_pass};

/// Number of games in a range.
const STRETCH: u32 = 256;

/// The same if only headers are read.
const LONG_STRETCH: u32 = 4096;

/// Number of results of one core that may be pending.
const PIECES: usize = 4;

/// Event of a running search.
#[derive(Debug)]
pub enum ScanEvent<P> {
    /// A result for matching games.
    Piece(P),
    /// A game that could not be read, and therefore does not match.
    Unreadable(u32, SourceError),
    /// So many more game numbers were searched.
    Searched(u32),
}

/// Error that ended a search.
#[derive(Debug)]
pub enum Ended {
    /// The source failed.
    Source(SourceError),
    /// The receiver of the results failed.
    Taker(io::Error),
}

/// Produces results from matching games.
pub trait Collector: Sync {
    /// Type of the results.
    type Collected: Send;

    /// Returns whether `make` reads games, not only headers.
    fn reads_games(&self) -> bool;

    /// Produces results from a batch of matching games, in order; the batch may
    /// be empty. Stop when `give` returns false.
    fn make(
        &self,
        games: &[SearchedHeader],
        reader: &mut dyn GamesReader,
        give: Give<'_, Self::Collected>,
    );
}

/// Callback that takes events. Returns false to stop the search.
pub type Give<'g, P> = &'g mut dyn FnMut(ScanEvent<P>) -> bool;

enum Message<P> {
    ScanEvent(ScanEvent<P>),
    Failed(SourceError),
    /// The end of a range.
    End,
}

/// Searches all games. `take` is called with each event in the order of the
/// game numbers.
///
/// # Errors
///
/// [`Ended`]: `take` has failed, or the source could not be read. An unreadable
/// game does not end the search.
pub fn scan<M: Collector>(
    source: &dyn SearchedGames,
    filter: &Filter,
    maker: &M,
    take: &mut dyn FnMut(ScanEvent<M::Collected>) -> io::Result<()>,
) -> Result<(), Ended> {
    let (first, last) = filter.numbers();
    let step = if filter.asks_games() || maker.reads_games() {
        STRETCH
    } else {
        LONG_STRETCH
    };
    let count = (u64::from(last) + 1).saturating_sub(first.into());
    let stretches = u32::try_from(count.div_ceil(step.into())).unwrap_or(u32::MAX);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cores = cores.min(stretches as usize).max(1);
    thread::scope(|scope| {
        let receivers: Vec<Receiver<Message<M::Collected>>> = (0..cores)
            .map(|core| {
                let (sender, receiver) = sync_channel(PIECES);
                scope.spawn(move || {
                    let mut worker = Worker {
                        source,
                        filter,
                        reader: source.reader(),
                        fitting: Vec::new(),
                        open: Vec::new(),
                    };
                    for stretch in (0..stretches).skip(core).step_by(cores) {
                        let from = first.saturating_add(stretch * step);
                        let to = from.saturating_add(step).min(last.saturating_add(1));
                        if !worker.search(from..to, maker, &sender) {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        for (_, receiver) in (0..stretches).zip(receivers.iter().cycle()) {
            loop {
                match receiver.recv() {
                    Ok(Message::ScanEvent(told)) => take(told).map_err(Ended::Taker)?,
                    Ok(Message::Failed(fault)) => return Err(Ended::Source(fault)),
                    Ok(Message::End) => break,
                    Err(_) => return Err(Ended::Source("a thread ended early".into())),
                }
            }
            take(ScanEvent::Searched(step)).map_err(Ended::Taker)?;
        }
        Ok(())
    })
}

/// The games that fit.
#[derive(Debug, Default)]
pub struct Selected {
    /// Those that could be read.
    pub games: GameSet,
    /// Why one could not be read, if that may pass. Damaged ones do not fit.
    pub unread: Option<SourceError>,
}

/// Selects the games that fit.
///
/// # Errors
///
/// [`SourceError`] if the headers cannot be read.
pub fn select(source: &dyn SearchedGames, filter: &Filter) -> Result<Selected, SourceError> {
    let mut selected = Selected::default();
    let taken = scan(source, filter, &Fitting, &mut |told| {
        match told {
            ScanEvent::Piece(numbers) => {
                for number in numbers {
                    selected.games.add(number);
                }
            }
            ScanEvent::Unreadable(_, error) if may_pass(&error) => {
                selected.unread.get_or_insert(error);
            }
            ScanEvent::Unreadable(..) | ScanEvent::Searched(_) => {}
        }
        Ok(())
    });
    match taken {
        Ok(()) => Ok(selected),
        Err(Ended::Source(fault)) => Err(fault),
        Err(Ended::Taker(error)) => Err(error.into()),
    }
}

/// Gives the numbers of the games that fit.
#[derive(Debug)]
pub struct Fitting;

impl Collector for Fitting {
    type Collected = Vec<u32>;

    fn reads_games(&self) -> bool {
        false
    }

    fn make(&self, games: &[SearchedHeader], _: &mut dyn GamesReader, give: Give<'_, Vec<u32>>) {
        give(ScanEvent::Piece(
            games.iter().map(|game| game.number).collect(),
        ));
    }
}

/// The part of the search that one core does.
struct Worker<'s> {
    source: &'s dyn SearchedGames,
    filter: &'s Filter,
    reader: Box<dyn GamesReader + 's>,
    fitting: Vec<SearchedHeader>,
    /// For each of the games, whether the header was undecided.
    open: Vec<bool>,
}

impl Worker<'_> {
    /// Searches a range; returns false to stop.
    fn search<M: Collector>(
        &mut self,
        numbers: std::ops::Range<u32>,
        maker: &M,
        sender: &SyncSender<Message<M::Collected>>,
    ) -> bool {
        let mut give = |told| sender.send(Message::ScanEvent(told)).is_ok();
        let (fitting, open) = (&mut self.fitting, &mut self.open);
        fitting.clear();
        open.clear();
        if !self.filter.may_have(&numbers) {
            return sender.send(Message::End).is_ok();
        }
        let read = self
            .source
            .headers(numbers, self.filter.asks_teams(), &mut |header| {
                let verdict = self.filter.judge(header);
                if verdict != HeaderMatch::No {
                    fitting.push(*header);
                    open.push(verdict == HeaderMatch::Undecided);
                }
            });
        if let Err(fault) = read {
            let _ = sender.send(Message::Failed(fault));
            return false;
        }
        let asks_remarks = self.filter.asks_remarks();
        let mut is_wanted = true;
        let mut open = self.open.iter();
        self.fitting.retain(|header| {
            if !is_wanted || open.next() != Some(&true) {
                return is_wanted;
            }
            if (self.filter).glance_refutes(header.number, self.reader.as_mut()) {
                return false;
            }
            let read = if asks_remarks {
                self.reader.read(header.number)
            } else {
                self.reader.read_moves(header.number)
            };
            match read {
                Ok(game) => self.filter.fits(header, game),
                Err(fault) => {
                    is_wanted = give(ScanEvent::Unreadable(header.number, fault));
                    false
                }
            }
        });
        if !is_wanted {
            return false;
        }
        if !self.fitting.is_empty() {
            maker.make(&self.fitting, self.reader.as_mut(), &mut give);
        }
        sender.send(Message::End).is_ok()
    }
}
