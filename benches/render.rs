//! Games per second that are rendered as PGN in memory: decoding, move
//! validation, notation and text.
//!
//! `cargo bench --bench render`. With `CBFS_SHARED` or `../shared`, the bases
//! are 6117 games of one week and two annotated ones; otherwise the bundled
//! sample.

#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark stops where it cannot measure"
)]

use std::path::{Path, PathBuf};
use std::thread;

use cbfs::cbh::{Database, Decoded, GameId, Options};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

mod common;

use common::{games_of, render_all};

/// The bases to measure: a week of games, annotated tournaments, annotated
/// games with many variations; or the bundled sample.
fn bases() -> Vec<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("CBFS_SHARED")
        .map_or_else(|| project.join("../shared"), PathBuf::from)
        .join("bases");
    let real = [
        "twic1134/twic1134.cbh",
        "linares/linares.cbh",
        "with-variations/WithVariations.cbh",
    ];
    let mut bases = Vec::from(real.map(|base| shared.join(base)));
    bases.retain(|base| base.is_file());
    if bases.is_empty() {
        bases.push(project.join("fixtures/cbh/sample/sample.cbh"));
    }
    bases
}

/// Plies of all lines, which take the time.
fn plies_of(database: &Database, games: &[GameId]) -> u64 {
    let mut decoded = Decoded::default();
    let plies = games.iter().map(|&id| {
        database
            .read_game(id, &mut decoded)
            .expect("the game can be read");
        decoded.game.tree.len() as u64
    });
    plies.sum()
}

fn render(criterion: &mut Criterion) {
    for base in bases() {
        render_base(criterion, &base);
    }
}

fn render_base(criterion: &mut Criterion, base: &Path) {
    let database = Database::load(base, &Options::default()).expect("the base can be read");
    let games = games_of(&database);
    let mut group = criterion.benchmark_group(base.file_stem().expect("a name").to_string_lossy());
    group.throughput(Throughput::Elements(games.len() as u64));
    group.bench_function("one thread", |bencher| {
        bencher.iter(|| render_all(&database, &games));
    });
    group.throughput(Throughput::Elements(plies_of(&database, &games)));
    group.bench_function("one thread, by ply", |bencher| {
        bencher.iter(|| render_all(&database, &games));
    });
    group.throughput(Throughput::Elements(games.len() as u64));
    group.bench_function("two threads", |bencher| {
        let (first, second) = games.split_at(games.len() / 2);
        bencher.iter(|| {
            thread::scope(|scope| {
                let other = scope.spawn(|| render_all(&database, second));
                render_all(&database, first) + other.join().expect("the thread ends")
            })
        });
    });
    group.finish();
}

criterion_group!(benches, render);
criterion_main!(benches);
