//! `cbfs find`: searches games by terms, and counts the moves played in a
//! position.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use shakmaty::CastlingMode;

use super::chosen::QuerySearch;
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, print};
use crate::base::{Base, HeaderNames, Searched, append_header_names};
use crate::cbh::{CodePage, Decoded, GameId, Summary};
use crate::game::Position;
use crate::pgn;
use crate::search::{
    self, Collector, Counter, GameSet, GamesReader, Give, Played, PositionTable, Query, Reached,
    ScanEvent, SearchedGames, SearchedHeader,
};

/// Length from which a piece of PGN is passed on, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// The arguments of `cbfs find`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = search::TERM_HELP)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// Conditions that the games must all fulfil, such as white:Carlsen
    /// year:2010-2015 result:1-0; without any, all games are found
    #[arg(value_name = "TERM")]
    terms: Vec<String>,

    #[command(flatten)]
    output: Output,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

/// Output formats.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that was given or not"
)]
struct Output {
    /// Print the number of games found
    #[arg(long)]
    count: bool,

    /// Print the numbers of the games, one per line
    #[arg(long)]
    numbers: bool,

    /// Print the headers of the games, one per line, as in headers.tsv; this is
    /// the default
    #[arg(long)]
    tsv: bool,

    /// Print the games as PGN
    #[arg(long)]
    pgn: bool,

    /// Print the moves that the games played after these moves, or in the
    /// position of a FEN and after the moves that follow it: one line for each
    /// move, as in moves.tsv; terms stand before it
    #[arg(long, num_args = 0.., value_name = "MOVES")]
    tree: Option<Vec<String>>,
}

/// Runs a search.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let query = Query::parse(&args.terms).map_err(Failure::new)?;
    let output = &args.output;
    let place = output.tree.as_deref().map(position_of).transpose()?;
    if let Some(opened) = crate::book::open(&args.base, None) {
        drop(opened.map_err(Failure::new)?);
        let why = "an opening book holds no games to find; a mount shows its positions";
        return Err(Failure::about(&args.base, why));
    }
    let base = archive::open_base(&args.base, &args.password, args.codepage)?;
    let base = base.as_ref();
    // A progress bar would mix with lines that are printed as they are found.
    let prints_at_once = !(output.count || output.tree.is_some());
    let is_quiet = quiet || prints_at_once && io::stdout().is_terminal();
    let of = (base, args.base.as_path());
    let search = QuerySearch::new(of, &query, place.is_some(), is_quiet)?;
    let unreadable = match place {
        Some(position) => search.tree(&position, !args.terms.is_empty(), query.in_variations)?,
        None if output.count => search.count()?,
        None if output.numbers => search.lines(&NumberOutput, b"")?,
        None if output.pgn => search.lines(&PgnOutput { base }, b"")?,
        None => {
            let names = HeaderNames::of(base).map_err(|error| Failure::about(&args.base, error))?;
            let mut first = Vec::new();
            append_header_names(&mut first);
            search.lines(&HeaderLines { base, names }, &first)?
        }
    };
    if unreadable > 0 {
        return Err(Failure::about(
            &args.base,
            format_args!("{unreadable} games cannot be read and were not searched"),
        ));
    }
    Ok(())
}

impl QuerySearch<'_> {
    fn count(&self) -> Result<u64, Failure> {
        let mut count = 0_u64;
        let unreadable = self.run(&Count, &mut |more| {
            count += more;
            Ok(())
        })?;
        print(format!("{count}\n").as_bytes())?;
        Ok(unreadable)
    }

    /// Prints texts as they are produced.
    fn lines<M: Collector<Collected = Vec<u8>>>(
        &self,
        maker: &M,
        first: &[u8],
    ) -> Result<u64, Failure> {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        out.write_all(first)
            .map_err(|error| Failure::output(&error))?;
        let unreadable = self.run(maker, &mut |text: Vec<u8>| out.write_all(&text))?;
        out.flush().map_err(|error| Failure::output(&error))?;
        Ok(unreadable)
    }

    /// What the index says of a position, and how many games cannot be read;
    /// `None` if it cannot be asked.
    fn tree_of_index(
        &self,
        index: &PositionTable,
        position: &Position,
        has_terms: bool,
    ) -> Result<Option<(Played, u64)>, Failure> {
        let source = Searched(self.base);
        let (mut games, mut unreadable) = (None, 0);
        if has_terms {
            let (fitting, count) = self.games()?;
            (games, unreadable) = (Some(fitting), count);
        }
        self.bar.finish_and_clear();
        match index.played(position, &source, games.as_ref()) {
            Ok(played) => {
                unreadable += self.tell_unreadable(index, games.as_ref())?;
                Ok(Some((played, unreadable)))
            }
            Err(error) => {
                log::info!("the index of positions: {error}");
                Ok(None)
            }
        }
    }

    /// Says which of these games, or of those that are not deleted, cannot be read.
    fn tell_unreadable(
        &self,
        index: &PositionTable,
        games: Option<&GameSet>,
    ) -> Result<u64, Failure> {
        let source = Searched(self.base);
        let mut reader = source.reader();
        let mut count = 0;
        for number in index.unreadable().from(1) {
            let mut counts = games.is_some_and(|games| games.contains(number));
            let numbers = number..number.saturating_add(1);
            let told = source.headers(numbers, false, &mut |header| {
                counts |= games.is_none() && !header.is_deleted;
            });
            told.map_err(|fault| Failure::about(self.path, fault))?;
            if let (true, Err(fault)) = (counts, reader.read(number)) {
                log::error!("game {number}: {fault}");
                count += 1;
            }
        }
        Ok(count)
    }

    fn tree(
        &self,
        position: &Position,
        has_terms: bool,
        in_variations: bool,
    ) -> Result<u64, Failure> {
        if let Some(index) = &self.index
            && let Some((played, unreadable)) = self.tree_of_index(index, position, has_terms)?
        {
            print(played.table(position).as_bytes())?;
            return Ok(unreadable);
        }
        let counter = Counter::new(position, in_variations);
        let mut played = Played::default();
        let unreadable = self.run(&counter, &mut |more: Reached| {
            played.add(more.played);
            Ok(())
        })?;
        print(played.table(position).as_bytes())?;
        Ok(unreadable)
    }
}

/// Counts games.
struct Count;

impl Collector for Count {
    type Collected = u64;

    fn reads_games(&self) -> bool {
        false
    }

    fn make(&self, games: &[SearchedHeader], _: &mut dyn GamesReader, give: Give<'_, u64>) {
        give(ScanEvent::Piece(games.len() as u64));
    }
}

/// Writes the numbers of games.
struct NumberOutput;

impl Collector for NumberOutput {
    type Collected = Vec<u8>;

    fn reads_games(&self) -> bool {
        false
    }

    fn make(&self, games: &[SearchedHeader], _: &mut dyn GamesReader, give: Give<'_, Vec<u8>>) {
        let mut text = Vec::new();
        for game in games {
            text.extend_from_slice(game.number.to_string().as_bytes());
            text.push(b'\n');
        }
        give(ScanEvent::Piece(text));
    }
}

/// Writes the lines of `headers.tsv`.
struct HeaderLines<'b> {
    base: &'b dyn Base,
    names: HeaderNames,
}

impl Collector for HeaderLines<'_> {
    type Collected = Vec<u8>;

    fn reads_games(&self) -> bool {
        false
    }

    fn make(&self, games: &[SearchedHeader], _: &mut dyn GamesReader, give: Give<'_, Vec<u8>>) {
        let (Some(first), Some(last)) = (games.first(), games.last()) else {
            return;
        };
        let mut text = Vec::new();
        let mut wanted = games.iter().map(|game| game.number).peekable();
        let mut line = |summary: &Summary| {
            if wanted.next_if_eq(&summary.id.0).is_some() {
                self.names.row(summary).append(&mut text);
            }
        };
        let numbers = first.number..last.number.saturating_add(1);
        match self.base.for_each_summary(numbers, true, &mut line) {
            Ok(()) => give(ScanEvent::Piece(text)),
            Err(fault) => give(ScanEvent::Unreadable(first.number, fault.into())),
        };
    }
}

/// Writes games as `cbfs export` does.
struct PgnOutput<'b> {
    base: &'b dyn Base,
}

impl Collector for PgnOutput<'_> {
    type Collected = Vec<u8>;

    fn reads_games(&self) -> bool {
        true
    }

    fn make(&self, games: &[SearchedHeader], _: &mut dyn GamesReader, give: Give<'_, Vec<u8>>) {
        let mut decoded = Decoded::reading_ahead();
        let mut text = Vec::new();
        for game in games {
            let id = GameId(game.number);
            let read = self.base.read_game_to_render(id, &mut decoded);
            let permit = match read {
                Ok(permit) => permit,
                Err(fault) => {
                    if !give(ScanEvent::Unreadable(game.number, fault.into())) {
                        return;
                    }
                    continue;
                }
            };
            pgn::encode(&decoded.game, &decoded.defects, &mut text);
            // Give up the permit while sending, because the receiver may take
            // long.
            if text.len() > 16 * PIECE_BYTES {
                decoded = Decoded::reading_ahead();
            }
            drop(permit);
            if text.len() > PIECE_BYTES && !give(ScanEvent::Piece(std::mem::take(&mut text))) {
                return;
            }
        }
        give(ScanEvent::Piece(text));
    }
}

/// The position after these moves from the start, or from a FEN before them.
fn position_of(words: &[String]) -> Result<Position, Failure> {
    let (start, moves) = match words {
        [first, moves @ ..] if first.contains([':', '/']) || first == "startpos" => {
            let position = search::position(first);
            (position.map_err(|why| not_a_place(first, &why))?, moves)
        }
        moves => (Position::default(), moves),
    };
    // A line may be one argument.
    let moves: Vec<&str> = moves
        .iter()
        .flat_map(|word| word.split_whitespace())
        .collect();
    let after = |count: usize| after_moves(&start, moves.get(..count).unwrap_or_default());
    if let Some(position) = after(moves.len()) {
        return Ok(position);
    }
    // Find the first word that is not a legal move, by bisection.
    let (mut good, mut bad) = (0, moves.len());
    while good + 1 < bad {
        let middle = usize::midpoint(good, bad);
        if after(middle).is_some() {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let word = moves.get(good).copied().unwrap_or_default();
    let place = moves.get(..good).unwrap_or_default().join(" ");
    let place = if place.is_empty() {
        "at the start".to_owned()
    } else {
        format!("after {place}")
    };
    let why =
        format!("no legal move {place}; expected one as Nf3 or g1f3, and terms before --tree");
    Err(not_a_place(word, &why))
}

fn not_a_place(word: &str, why: &dyn std::fmt::Display) -> Failure {
    let short: String = word.chars().take(80).collect();
    Failure::new(format_args!("--tree: {short:?}: {why}"))
}

/// The position after the moves; `None` if one of them is not legal.
fn after_moves(start: &Position, moves: &[&str]) -> Option<Position> {
    let mut text = Vec::new();
    let set_up = crate::game::Start {
        position: start.clone(),
        ..crate::game::Start::default()
    };
    if start.castling_mode() == CastlingMode::Chess960 {
        text.extend_from_slice(b"[Variant \"Chess960\"]\n");
    }
    text.extend_from_slice(b"[SetUp \"1\"]\n[FEN \"");
    set_up.append_fen_to(&mut text);
    text.extend_from_slice(b"\"]\n\n");
    for word in moves {
        // Refuse words that PGN would parse as more than a move.
        if word.contains(['{', '}', '(', ')', ';', '[', '%', '$', '"']) {
            return None;
        }
        text.extend_from_slice(word.as_bytes());
        text.push(b' ');
    }
    text.push(b'*');
    let game = pgn::decode(&text).ok()?;
    let mut position = game.start.position.clone();
    for ply in game.tree.main_line() {
        match game.tree.ply(ply)?.mv {
            Some(m) => drop(position.play(m).ok()?),
            None => position.play_null(),
        }
    }
    Some(position)
}
