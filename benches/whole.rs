//! Games per second of a whole base that are rendered as PGN in memory on all
//! cores, for comparison with a mount of the same base.
//!
//! `cargo bench --bench whole -- BASE.cbh`; without an argument, the bundled
//! sample is used. Runs for at least [`LEAST`] and prints `123456 games/s`.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints what it measures and stops where it cannot"
)]

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use cbfs::cbh::{Database, GameId, Options};

mod common;

use common::{games_of, render_all};

const LEAST: Duration = Duration::from_secs(1);

/// Games that a core takes at a time.
const STRETCH: usize = 256;

/// The base on the command line, behind what cargo puts there.
fn base() -> PathBuf {
    let given = std::env::args_os()
        .skip(1)
        .find(|word| !word.to_string_lossy().starts_with('-'));
    given.map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/fixtures/cbh/sample/sample.cbh"
            ))
        },
        PathBuf::from,
    )
}

/// Every game once, on all cores.
fn render_once(database: &Database, games: &[GameId]) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let stretches = Mutex::new(games.chunks(STRETCH));
    let next = || stretches.lock().expect("no core panics").next();
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(stretch) = next() {
                    render_all(database, stretch);
                }
            });
        }
    });
}

fn main() {
    let database = Database::load(&base(), &Options::default()).expect("the base can be read");
    let games = games_of(&database);
    let count = u32::try_from(games.len()).expect("ids have 32 bits");
    assert!(count > 0, "the base has games");
    let (start, mut rendered) = (Instant::now(), 0.0);
    while start.elapsed() < LEAST {
        render_once(&database, &games);
        rendered += f64::from(count);
    }
    println!("{:.0} games/s", rendered / start.elapsed().as_secs_f64());
}
