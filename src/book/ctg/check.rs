//! Checks that the files of a CTG book agree with each other.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::directory::{Bitmap, Entries, LeafPage};
use super::hash::hash;
use super::page::PAGE_BYTES;
use super::signature::{self, Signature};
use super::{CtgBook, CtgPage, Route, header, offset_of, on_page};
use crate::book::{BookFacts, CanonicalBoard, Error};
use crate::bytes::Malformed;
use crate::game::Defect;

/// Returns the defects that are known at opening: those of the file lengths.
pub(super) fn lengths(
    facts: &BookFacts,
    bytes: u64,
    (entries, bitmap): (Option<&Option<Entries>>, Option<&Option<Bitmap>>),
    defect: &mut dyn FnMut(Defect),
) {
    let mut say = |file, offset, what: String| defect(Defect { file, offset, what });
    let rest = bytes % PAGE_BYTES as u64;
    if rest > 0 {
        let what = format!("the file ends inside a page, {rest} bytes of it are there");
        say("ctg", bytes - rest, what);
    }
    // A book without pages is empty, not damaged.
    if let Some(named) = header::pages(facts)
        && named > facts.pages
        && facts.pages > 0
    {
        let what = format!("the header names {named} pages, {} are there", facts.pages);
        say("ctg", 16, what);
    }
    match entries {
        None => say(
            "cto",
            0,
            "not there; all pages are looked at instead".to_owned(),
        ),
        Some(None) => say("cto", 0, "shorter than its header".to_owned()),
        Some(Some(entries)) if entries.present != entries.announced => {
            let Entries {
                present, announced, ..
            } = entries;
            let what = format!("the header names {announced} entries, {present} are there");
            say("cto", 4, what);
        }
        Some(Some(_)) => {}
    }
    match bitmap {
        None => say("ctb", 0, "not there; the .cto is asked alone".to_owned()),
        Some(None) => say("ctb", 0, "shorter than its header".to_owned()),
        Some(Some(bitmap)) if bitmap.bits() != bitmap.announced => {
            let (bits, announced) = (bitmap.bits(), bitmap.announced);
            let what = format!("the header names {announced} bits, {bits} are there");
            say("ctb", 8, what);
        }
        Some(Some(_)) => {}
    }
}

/// Checks all pages and the directory.
pub(super) fn check(book: &CtgBook, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
    let directory_is_whole = book.entries.is_some();
    book.each_page(&mut |number, page| {
        check_page(number, page, defect, &|hash| {
            // Without a directory no page can be misplaced.
            !directory_is_whole
                || matches!(book.route(hash), Ok(Route::Page { page, .. }) if page == number)
        });
        ControlFlow::Continue(())
    })?;
    // No entry can lead into an empty book.
    if let Some(entries) = book.entries.as_ref().filter(|_| book.facts.pages > 0) {
        check_entries(book, entries, defect)?;
    }
    Ok(())
}

/// Checks a page: each record must be readable, unique, and found through the
/// directory.
fn check_page(
    number: u64,
    page: CtgPage<'_>,
    defect: &mut dyn FnMut(Defect),
    leads_here: &dyn Fn(u32) -> bool,
) {
    let start = offset_of(number);
    let mut say = |offset, what: String| defect(on_page(start, Malformed::new(offset, what)));
    if let Some(fault) = page.fault() {
        say(fault.offset, fault.what);
    }
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    for record in page.records() {
        let record = match record {
            Ok(record) => record,
            Err(malformed) => {
                say(malformed.offset, malformed.what);
                continue;
            }
        };
        let at = record.offset;
        if record.is_even {
            let odd = record.odd_byte();
            say(odd.offset, odd.what);
        }
        let board = match signature::decode(record.signature) {
            Ok(board) => board,
            Err(malformed) => {
                say(at, malformed.what);
                continue;
            }
        };
        // A search normalizes the board of a position before it looks for it.
        let sought = CanonicalBoard::of(&board.to_position());
        let again = sought.and_then(|board| Signature::of(&board));
        if again.is_none_or(|again| again.as_bytes() != record.signature) {
            say(
                at,
                "the board is not written as books write it, and never found".to_owned(),
            );
        } else if !leads_here(hash(record.signature)) {
            say(
                at,
                "the directory leads this position to another page".to_owned(),
            );
        }
        if let Some(first) = seen.insert(record.signature, at) {
            say(
                at,
                format!("the position is on the page already, at {first:#x} of it"),
            );
        }
        let record = record.decode();
        let (games, decided) = (
            u64::from(record.games),
            u64::from(record.wins) + u64::from(record.losses) + u64::from(record.draws),
        );
        if decided > games {
            say(at, format!("{decided} games ended, of {games}"));
        }
        if record
            .score
            .is_some_and(|score| u64::from(score) > 10 * games)
        {
            say(at, format!("more points than {games} games can bring"));
        }
    }
}

/// Checks `.cto` and `.ctb`: each page must belong to exactly one leaf.
fn check_entries(
    book: &CtgBook,
    entries: &Entries,
    defect: &mut dyn FnMut(Defect),
) -> Result<(), Error> {
    let io = |source| book.io(source);
    let mut say = |file, offset, what: String| defect(Defect { file, offset, what });
    let pages = usize::try_from(book.pages).unwrap_or(usize::MAX);
    let mut is_named = vec![false; pages];
    for node in 0..entries.present {
        let page = match entries.place(node).map_err(io)? {
            LeafPage::Page(page) => page,
            LeafPage::None => continue,
            LeafPage::Damaged => {
                let fault = entries.fault(node);
                say(fault.file, fault.offset, fault.what);
                continue;
            }
        };
        let place = usize::try_from(page)
            .ok()
            .and_then(|page| is_named.get_mut(page));
        if place.is_some_and(|is_named| std::mem::replace(is_named, true)) {
            say(
                "cto",
                16 + 4 * node,
                format!("page {page} is that of another node too"),
            );
        }
        if let Some(bitmap) = &book.bitmap
            && (bitmap.is_split(node).map_err(io)? || !is_reached(bitmap, node).map_err(io)?)
        {
            say(
                "cto",
                16 + 4 * node,
                format!("node {node} has a page and is no leaf of the .ctb"),
            );
        }
    }
    for (page, _) in (0..).zip(is_named).filter(|(_, is_named)| !is_named) {
        say(
            "ctg",
            offset_of(page),
            format!("no entry of the .cto leads to page {page}"),
        );
    }
    Ok(())
}

/// Returns whether the parent of a node is split.
fn is_reached(bitmap: &Bitmap, node: u64) -> std::io::Result<bool> {
    // The level of a node has the largest mask that does not exceed its number.
    let Some(level) = (node + 1).checked_ilog2().filter(|&level| level > 0) else {
        return Ok(true);
    };
    let mask = (1_u64 << level) - 1;
    let above = mask >> 1;
    bitmap.is_split(((node - mask) & above) + above)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::table::CtgTable;
    use super::*;
    use crate::book::Book;
    use crate::storage::MemoryFile;

    /// The defects of the sample book after `change` of the bytes of `[.ctg, .cto]`.
    fn told(change: impl FnOnce(&mut [Vec<u8>; 2])) -> Vec<(&'static str, u64, String)> {
        let folder = tempfile::tempdir().unwrap();
        let sample = Path::new("fixtures/book/small");
        let read = |extension: &str| fs::read(sample.join(format!("small.{extension}"))).unwrap();
        let mut files = ["ctg", "cto"].map(read);
        change(&mut files);
        let [positions, entries] = files;
        fs::write(folder.path().join("x.ctg"), positions).unwrap();
        fs::write(folder.path().join("x.cto"), entries).unwrap();
        fs::write(folder.path().join("x.ctb"), read("ctb")).unwrap();
        let book = CtgBook::open(&folder.path().join("x.ctg")).unwrap();
        let mut defects = book.defects();
        check(&book, &mut |defect| defects.push(defect)).unwrap();
        let told = defects.into_iter();
        told.map(|defect| (defect.file, defect.offset, defect.what))
            .collect()
    }

    #[test]
    fn a_page_that_ends_early_is_told_where_it_begins() {
        assert_eq!(told(|_| ()), []);
        let cut = told(|[positions, _]| positions.truncate(81_920 - 96));
        let ends = "the file ends inside a page, 4000 bytes of it are there";
        assert!(cut.contains(&("ctg", 81_920 - 4096, ends.to_owned())));
        let names = "the header names 19 pages, 18 are there";
        assert!(cut.contains(&("ctg", 16, names.to_owned())));
    }

    #[test]
    fn a_page_of_two_nodes_and_one_of_none_are_told() {
        let (mut second, mut lost) = (0, 0);
        let defects = told(|[_, entries]| {
            let (nodes, _) = entries[16..].as_chunks_mut::<4>();
            let mut used = nodes.iter_mut().zip(0_u64..);
            let mut next = || used.find(|(page, _)| **page != [0xFF; 4]).unwrap();
            let (first, _) = next();
            let (page, node) = next();
            (second, lost) = (node, u32::from_be_bytes(*page).into());
            *page = *first;
        });
        let at = |file: &str| {
            let mut of_file = defects.iter().filter(move |defect| defect.0 == file);
            of_file.next_back().unwrap().clone()
        };
        let (_, offset, what) = at("cto");
        assert_eq!(offset, 16 + 4 * second);
        assert!(what.ends_with("is that of another node too"), "{what}");
        let what = format!("no entry of the .cto leads to page {lost}");
        assert_eq!(at("ctg"), ("ctg", offset_of(lost), what));
    }

    #[test]
    fn a_page_of_a_node_that_is_no_leaf_is_told() {
        let defects = told(|[_, entries]| entries[16..20].fill(0));
        let what = "node 0 has a page and is no leaf of the .ctb";
        assert!(
            defects.contains(&("cto", 16, what.to_owned())),
            "{defects:?}"
        );
    }

    /// Where the first record of the first page is, and where its numbers are.
    fn first_record(positions: &[u8]) -> (usize, usize) {
        let at = 4096 + 4;
        let moves = at + signature::len(positions[at]);
        (at, moves + usize::from(positions[moves]))
    }

    #[test]
    fn more_results_and_points_than_games_are_told() {
        for (results, points, wanted) in [
            ([0, 1, 1], 20, &[][..]),
            ([1, 1, 1], 20, &["3 games ended, of 2"]),
            ([1, 1, 0], 21, &["more points than 2 games can bring"]),
        ] {
            let defects = told(|[positions, _]| {
                let (_, at) = first_record(positions);
                for (number, value) in [2].into_iter().chain(results).enumerate() {
                    positions[at + 3 * number..at + 3 * number + 3].copy_from_slice(&[0, 0, value]);
                }
                positions[at + 12..at + 16].copy_from_slice(&[0, 0, 0, points]);
            });
            let wanted = wanted.iter().map(|what| ("ctg", 4100, (*what).to_owned()));
            assert_eq!(defects, wanted.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_position_that_is_on_a_page_twice_is_told_where_it_is_again() {
        let mut end = 0;
        let defects = told(|[positions, _]| {
            let (at, numbers) = first_record(positions);
            end = usize::from(u16::from_be_bytes([positions[4098], positions[4099]]));
            let record = positions[at..numbers + 33].to_vec();
            positions[4096 + end..4096 + end + record.len()].copy_from_slice(&record);
            positions[4097] += 1;
            let length = u16::try_from(end + record.len()).unwrap();
            positions[4098..4100].copy_from_slice(&length.to_be_bytes());
        });
        let what = "the position is on the page already, at 0x4 of it".to_owned();
        assert_eq!(defects, [("ctg", 4096 + end as u64, what)]);
    }

    #[test]
    fn a_position_on_the_page_of_others_is_told_if_there_is_a_directory() {
        let mut book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let swapped = told(|[_, entries]| {
            let (nodes, _) = entries[16..].as_chunks_mut::<4>();
            let mut used = nodes.iter_mut().filter(|page| **page != [0xFF; 4]);
            std::mem::swap(used.next().unwrap(), used.next().unwrap());
        });
        assert!(swapped.len() > 1 && swapped.iter().all(|defect| defect.0 == "ctg"));
        book.entries = None;
        check(&book, &mut |defect| panic!("{defect}")).unwrap();
    }

    #[test]
    fn a_node_is_reached_if_the_one_above_it_is_split() {
        for (split, reached) in [
            (0, &[0][..]),
            (0b1, &[0, 1, 2]),
            (0b101, &[0, 1, 2, 4, 6]),
            (0b10_0011, &[0, 1, 2, 3, 5, 9, 13]),
        ] {
            let bytes = [&[0; 12][..], &[split]].concat();
            let table = CtgTable::open(Box::new(MemoryFile::from(bytes))).unwrap();
            let bitmap = Bitmap::open(table).unwrap().unwrap();
            let nodes = (0..64).filter(|node| is_reached(&bitmap, *node).unwrap());
            assert_eq!(nodes.collect::<Vec<u64>>(), reached, "{split:b}");
        }
    }

    #[test]
    fn a_page_of_an_impossible_length_is_told_with_its_place() {
        let defects = told(|[positions, _]| positions[2 * 4096 + 2..2 * 4096 + 4].fill(0xFF));
        let what = "a page says that 65535 of its bytes are used";
        assert!(
            defects.contains(&("ctg", 2 * 4096 + 2, what.to_owned())),
            "{defects:?}"
        );
    }
}
