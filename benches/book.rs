//! Lookups per second in an opening book: from a FEN to the decoded record, and
//! from a position to the legal moves with the statistics of White and Black.
//!
//! `cargo bench --bench book`. With `CBFS_SHARED` or `../shared`, the books are
//! a real one and one of 278,676 positions; otherwise the bundled sample.

#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark stops where it cannot measure"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};

use cbfs::book::ctg::CtgBook;
use cbfs::book::{Book, CanonicalBoard};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Books, each with a file that names positions of it.
fn books() -> Vec<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("CBFS_SHARED")
        .map_or_else(|| project.join("../shared"), PathBuf::from)
        .join("books");
    let mut books = Vec::from(["real/simple", "generated/twic1134"].map(|book| shared.join(book)));
    books.retain(|book| book.with_extension("ctg").is_file());
    if books.is_empty() {
        books.push(project.join("fixtures/book/small/small"));
    }
    books
}

fn look_up(criterion: &mut Criterion) {
    for path in books() {
        let book = CtgBook::open(&path.with_extension("ctg")).expect("a book");
        let table = std::fs::read_to_string(path.with_extension("vectors.tsv")).expect("positions");
        let fens = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split('\t').next());
        let fens: Vec<&str> = fens.collect();
        let boards = fens
            .iter()
            .map(|fen| CanonicalBoard::from_fen(fen.as_bytes()));
        let positions: Vec<_> = boards
            .map(|board| board.expect("a position").to_position())
            .collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut group = criterion.benchmark_group(format!("look up in {name}"));
        group.throughput(Throughput::Elements(fens.len() as u64));
        group.bench_function("FEN to record", |bencher| {
            bencher.iter(|| {
                for fen in &fens {
                    let board = CanonicalBoard::from_fen(fen.as_bytes()).expect("a position");
                    black_box(book.find(&board).expect("a sound book"));
                }
            });
        });
        group.bench_function("position to entry", |bencher| {
            bencher.iter(|| {
                for position in &positions {
                    black_box(book.look_up(position).expect("a sound book"));
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, look_up);
criterion_main!(benches);
