use std::io;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use std::collections::BTreeMap;

use super::super::verify_report;
use super::*;
use crate::game::PlayerName;
use crate::storage::MemoryFile;

const NO_DAMAGE: &[String] = &[];

/// An empty file of players with a header of this length.
fn empty(header_bytes: usize) -> MemoryFile {
    let further = i32::try_from(header_bytes).unwrap() - 28;
    let header = [0, 0, 1_234_567_890, 58, -1, 0, further];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
    bytes.resize(header_bytes, 0x77);
    MemoryFile::from(bytes)
}

fn data(last: &[u8]) -> Vec<u8> {
    let mut data = last.to_vec();
    data.resize(50, 0);
    data.extend([1, 0, 0, 0, 1, 0, 0, 0]);
    data
}

fn open(file: &MemoryFile) -> EntityEditor<'_> {
    EntityEditor::open(FileKind::Players, file).unwrap()
}

fn apply(file: &mut MemoryFile, writes: &[Write]) {
    for (offset, bytes) in writes {
        let from = usize::try_from(*offset).unwrap();
        let to = from + bytes.len();
        file.bytes.resize(file.bytes.len().max(to), 0);
        file.bytes[from..to].copy_from_slice(bytes);
    }
}

fn saved(file: &mut MemoryFile, edit: impl FnOnce(&mut EntityEditor<'_>)) -> Vec<Write> {
    let mut editor = open(file);
    edit(&mut editor);
    let writes = editor.writes().unwrap();
    apply(file, &writes);
    writes
}

/// The report of `check` about the tree, the chain and the header.
fn damage(file: &MemoryFile) -> Vec<String> {
    verify_report(Box::new(file.clone()))
}

fn record_at(file: &MemoryFile, id: u32) -> usize {
    let further = i32::from_le_bytes(file.bytes[24..28].try_into().unwrap());
    28 + usize::try_from(further).unwrap() + id as usize * 67
}

/// A reproducible random sequence.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    /// A random name from a small set, so that names repeat.
    fn name(&mut self) -> Vec<u8> {
        const LETTERS: &[u8] = b"ABab \xe9\xfc\x80";
        let length = self.roll(5);
        (0..length)
            .map(|_| LETTERS[self.roll(LETTERS.len())])
            .collect()
    }
}

/// A file and its expected content.
struct Model {
    file: MemoryFile,
    ids: BTreeMap<Vec<u8>, u32>,
    /// Deleted ids, in the order of deletion.
    free: Vec<u32>,
    capacity: u32,
}

impl Model {
    fn insert(&mut self, editor: &mut EntityEditor<'_>, name: Vec<u8>) {
        let inserted = editor.insert(&data(&name));
        if let Some(&id) = self.ids.get(&name) {
            assert!(matches!(inserted, Err(EditError::Exists(EntityId(other))) if other == id));
            return;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.capacity += 1;
            self.capacity - 1
        });
        assert_eq!(inserted.unwrap(), EntityId(id));
        self.ids.insert(name, id);
    }

    fn remove(&mut self, editor: &mut EntityEditor<'_>, name: &[u8]) {
        let id = self.ids.remove(name).unwrap();
        editor.remove(EntityId(id)).unwrap();
        self.free.push(id);
    }

    fn rename(&mut self, editor: &mut EntityEditor<'_>, old: &[u8], new: Vec<u8>) {
        let id = self.ids[old];
        let renamed = editor.rename(EntityId(id), &data(&new));
        match self.ids.get(&new) {
            Some(&other) if other != id => {
                assert!(
                    matches!(renamed, Err(EditError::Exists(EntityId(there))) if there == other)
                );
            }
            _ => {
                renamed.unwrap();
                self.ids.remove(old);
                self.ids.insert(new, id);
            }
        }
    }

    fn operate(&mut self, editor: &mut EntityEditor<'_>, dice: &mut Dice) {
        let name = dice.name();
        let some = self.ids.len().max(1);
        let old = self.ids.keys().nth(dice.roll(some)).cloned();
        match (dice.roll(8), old) {
            (0..2, Some(old)) => self.remove(editor, &old),
            (2..4, Some(old)) => self.rename(editor, &old, name),
            _ => self.insert(editor, name),
        }
    }

    /// Compares the file with the expected content.
    fn check(&self) {
        assert_eq!(damage(&self.file), NO_DAMAGE);
        let mut editor = open(&self.file);
        assert_eq!(editor.capacity(), self.capacity);
        assert_eq!(editor.header.live_count as usize, self.ids.len());
        for (name, &id) in &self.ids {
            assert_eq!(editor.find(&data(name)).unwrap(), Some(EntityId(id)));
            assert_eq!(editor.data(EntityId(id)).unwrap(), data(name));
        }
        for &id in &self.free {
            assert!(matches!(
                editor.data(EntityId(id)),
                Err(EditError::NotThere(_))
            ));
        }
        assert!(!editor.is_damaged().unwrap());
    }
}

#[test]
fn thousands_of_random_changes_match_a_model() {
    for (seed, header_bytes) in [(1, 28), (2, 32), (3, 40), (4, 32)] {
        let mut dice = Dice(seed);
        let mut model = Model {
            file: empty(header_bytes),
            ids: BTreeMap::new(),
            free: Vec::new(),
            capacity: 0,
        };
        for _ in 0..500 {
            let file = model.file.clone();
            let mut editor = open(&file);
            for _ in 0..=dice.roll(12) {
                model.operate(&mut editor, &mut dice);
            }
            apply(&mut model.file, &editor.writes().unwrap());
            model.check();
        }
        assert!(model.capacity > 100, "{}", model.capacity);
        // Remove all records, then add some again.
        while let Some(name) = model.ids.keys().next().cloned() {
            let file = model.file.clone();
            let mut editor = open(&file);
            model.remove(&mut editor, &name);
            apply(&mut model.file, &editor.writes().unwrap());
            model.check();
        }
        let file = model.file.clone();
        let mut editor = open(&file);
        for name in [&b"one"[..], b"two", b"three"] {
            model.insert(&mut editor, name.to_vec());
        }
        apply(&mut model.file, &editor.writes().unwrap());
        model.check();
    }
}

fn names(count: u32) -> impl Iterator<Item = Vec<u8>> {
    // Unsorted.
    (0..count).map(move |n| format!("{:06}", u64::from(n) * 7919 % u64::from(count)).into_bytes())
}

fn filled(count: u32) -> MemoryFile {
    let mut file = empty(32);
    saved(&mut file, |editor| {
        for name in names(count) {
            editor.insert(&data(&name)).unwrap();
        }
    });
    file
}

#[test]
fn new_records_can_be_written_apart_from_what_changes_in_old_ones() {
    let file = filled(100);
    let mut editor = open(&file);
    for name in [&b"x"[..], b"y"] {
        editor.insert(&data(name)).unwrap();
    }
    editor.set_references(EntityId(5), 0x0201, 7).unwrap();
    let mut whole = file.clone();
    apply(&mut whole, &editor.writes().unwrap());
    let mut parts = file.clone();
    apply(&mut parts, &editor.writes_of_old().unwrap());
    assert_ne!(parts.bytes, file.bytes);
    assert_eq!(parts.bytes.len(), file.bytes.len());
    let new = editor.new_records();
    let new: Vec<Write> = new.map(|(at, bytes)| (at, bytes.to_vec())).collect();
    apply(&mut parts, &new);
    assert_eq!(parts.bytes, whole.bytes);
}

#[test]
fn data_of_another_length_than_a_record_has_are_refused() {
    let file = filled(3);
    let mut editor = open(&file);
    let whole = data(b"x");
    for data in [&whole[..57], &[&whole[..], &[0]].concat()] {
        let inserted = editor.insert(data);
        assert!(matches!(inserted, Err(EditError::Damaged(12, _))));
    }
    assert!(editor.writes().unwrap().is_empty());
    editor.insert(&whole).unwrap();
}

#[test]
fn writes_cover_changed_bytes_data_first_header_last() {
    let mut file = filled(100);
    let size = file.bytes.len();
    let writes = saved(&mut file, |editor| {
        assert!(editor.writes().unwrap().is_empty());
        assert_eq!(editor.insert(&data(b"x")).unwrap(), EntityId(100));
        editor.set_references(EntityId(5), 0x0201, 7).unwrap();
        assert_eq!(editor.references(EntityId(5)).unwrap(), (0x0201, 7));
    });
    let places: Vec<(usize, usize)> = writes
        .iter()
        .map(|(offset, bytes)| (usize::try_from(*offset).unwrap(), bytes.len()))
        .collect();
    assert_eq!(places[..2], [(record_at(&file, 5) + 9 + 51, 4), (size, 67)]);
    assert_eq!(places.last(), Some(&(0, 21)));
    assert!(places.iter().map(|(_, length)| length).sum::<usize>() < 67 + 4 + 21 + 70);
    let same = saved(&mut file, |editor| {
        editor.set_references(EntityId(5), 0x0201, 7).unwrap();
        editor.rename(EntityId(100), &data(b"x")).unwrap();
    });
    assert_eq!(same, []);
    assert_eq!(damage(&file), NO_DAMAGE);
}

#[test]
fn unchanged_fields_of_a_record_stay() {
    let mut file = filled(20);
    let before = file.bytes.clone();
    let mut new = data(b"000003\0garbage");
    new[50..58].copy_from_slice(&[9, 0, 0, 0, 8, 0, 0, 0]);
    let id = saved_id(&file, b"000003");
    let writes = saved(&mut file, |editor| editor.rename(id, &new).unwrap());
    assert_eq!(writes.len(), 1, "the key is the same");
    assert_eq!(file.bytes[record_at(&file, id.0) + 9..][..58], new);
    saved(&mut file, |editor| {
        editor.remove(id).unwrap();
        assert_eq!(editor.insert(&data(b"000003")).unwrap(), id);
    });
    assert_eq!(file.bytes.len(), before.len());
    assert_eq!(damage(&file), NO_DAMAGE);
}

fn saved_id(file: &MemoryFile, name: &[u8]) -> EntityId {
    open(file).find(&data(name)).unwrap().unwrap()
}

#[test]
fn a_deleted_record_keeps_its_name_and_joins_the_chain() {
    let mut file = filled(10);
    saved(&mut file, |editor| {
        editor.remove(EntityId(4)).unwrap();
        editor.remove(EntityId(7)).unwrap();
    });
    let record = &file.bytes[record_at(&file, 7)..][..67];
    assert_eq!(record[..9], [0x19, 0xfc, 0xff, 0xff, 4, 0, 0, 0, 0]);
    assert_eq!(record[9..15], *b"000003");
    assert_eq!(record[59..], [0; 8]);
    let record = &file.bytes[record_at(&file, 4)..][..9];
    assert_eq!(record[4..8], [0xff; 4]);
    assert_eq!(file.bytes[16..24], [7, 0, 0, 0, 8, 0, 0, 0]);
}

#[test]
fn a_broken_chain_of_deleted_records_is_left_alone() {
    for (first, next) in [(4, 4), (4, 2), (4, 99), (2, -1), (99, -1), (-7, -1)] {
        let mut file = filled(10);
        saved(&mut file, |editor| editor.remove(EntityId(4)).unwrap());
        file.bytes[16..20].copy_from_slice(&i32::to_le_bytes(first));
        let at = record_at(&file, 4) + 4;
        file.bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(next));
        saved(&mut file, |editor| {
            let ids = [b"x", b"y", b"z"].map(|name| editor.insert(&data(name)).unwrap().0);
            let wanted = if first == 4 {
                [4, 10, 11]
            } else {
                [10, 11, 12]
            };
            assert_eq!(ids, wanted, "{first} {next}");
        });
        let left = damage(&file);
        assert!(
            left.iter().all(|what| what.contains("on no chain")),
            "{left:?}"
        );
        assert_eq!(left.len(), usize::from(first != 4));
    }
}

#[test]
fn a_wrong_number_of_live_records_is_corrected() {
    for claimed in [0_i32, 5, 1000, -1] {
        let mut file = filled(10);
        file.bytes[20..24].copy_from_slice(&claimed.to_le_bytes());
        saved(&mut file, |editor| {
            editor.insert(&data(b"x")).unwrap();
        });
        assert_eq!(damage(&file), NO_DAMAGE);
    }
}

#[test]
fn live_records_of_a_large_file_are_counted_by_the_chain_of_deleted_ones() {
    let mut file = filled(20_000);
    file.bytes[20..24].copy_from_slice(&123_i32.to_le_bytes());
    assert_eq!(live_count(&file), 20_000);
    saved(&mut file, |editor| {
        for id in [5, 7, 9] {
            editor.remove(EntityId(id)).unwrap();
        }
    });
    // The chain ends with record 5.
    let last = record_at(&file, 5) + 4;
    for (next, claimed, live) in [
        (-1, 123, 19_997),
        (-2, 123, 19_997),
        (3, 123, 19_997),
        (20_000, 123, 19_997),
        (20_001, 123, 19_997),
        // Without an end.
        (9, 123, 123),
        (9, 30_000, 20_000),
    ] {
        file.bytes[last..last + 4].copy_from_slice(&i32::to_le_bytes(next));
        file.bytes[20..24].copy_from_slice(&i32::to_le_bytes(claimed));
        assert_eq!(live_count(&file), live, "{next} {claimed}");
    }
}

/// The number of live records as it is found.
fn live_count(file: &MemoryFile) -> u32 {
    let mut editor = open(file);
    assert!(!editor.is_damaged().unwrap());
    editor.header.live_count
}

/// Wrong links: description, record, offset of the link, target.
const HOSTILE: &[(&str, u32, usize, i32)] = &[
    ("to itself", 5, 0, 5),
    ("to the record above", 9, 4, 0),
    ("to nowhere", 3, 0, 77_777),
    ("to a negative record", 3, 4, -2),
    ("to a record that another leads to", 2, 0, 9),
    ("root to nowhere", u32::MAX, 0, 77_777),
    ("root to a leaf", u32::MAX, 0, 19),
    ("root to none", u32::MAX, 0, -1),
];

#[test]
fn a_damaged_tree_is_scanned_and_rebuilt_by_the_first_change() {
    for &(what, id, link, to) in HOSTILE {
        let mut file = filled(20);
        let at = match id {
            u32::MAX => 4,
            id => record_at(&file, id) + link,
        };
        file.bytes[at..at + 4].copy_from_slice(&to.to_le_bytes());
        let before = file.clone();
        let mut editor = open(&before);
        assert!(editor.is_damaged().unwrap(), "{what}");
        for (id, name) in (0..).zip(names(20)) {
            assert_eq!(editor.find(&data(&name)).unwrap(), Some(EntityId(id)));
        }
        assert_eq!(editor.find(&data(b"x")).unwrap(), None);
        assert_eq!(editor.writes().unwrap(), [], "{what}");
        for change in 0..3 {
            file = before.clone();
            saved(&mut file, |editor| match change {
                0 => assert_eq!(editor.insert(&data(b"x")).unwrap(), EntityId(20)),
                1 => editor.remove(EntityId(5)).unwrap(),
                _ => editor.rename(EntityId(5), &data(b"x")).unwrap(),
            });
            assert_eq!(damage(&file), NO_DAMAGE, "{what}");
            for (id, name) in (0..).zip(names(20)).filter(|(id, _)| *id != 5) {
                assert_eq!(saved_id(&file, &name), EntityId(id), "{what}");
            }
        }
    }
}

#[test]
fn an_unsorted_tree_is_rebuilt() {
    let mut file = filled(50);
    let at = record_at(&file, 30) + 9;
    file.bytes[at] = b'Z';
    saved(&mut file, |editor| {
        assert!(editor.is_damaged().unwrap());
        editor.insert(&data(b"x")).unwrap();
    });
    assert_eq!(damage(&file), NO_DAMAGE);
}

#[test]
fn records_with_the_same_key_are_both_kept() {
    let mut file = filled(50);
    for id in 10..15 {
        let at = record_at(&file, id) + 9;
        file.bytes[at..at + 6].copy_from_slice(b"000020");
    }
    saved(&mut file, |editor| {
        editor.insert(&data(b"x")).unwrap();
        editor.remove(EntityId(12)).unwrap();
        editor.rename(EntityId(13), &data(b"000010a")).unwrap();
    });
    let again = file.clone();
    let mut editor = open(&again);
    assert!(!editor.is_damaged().unwrap());
    for id in [10, 11, 14] {
        editor.remove(EntityId(id)).unwrap();
    }
    assert!(editor.find(&data(b"000020")).unwrap().is_some());
}

#[test]
fn a_wrong_header_is_refused() {
    for (at, number) in [
        (0, 21),
        (0, i32::MAX),
        (8, 5),
        (12, 59),
        (24, i32::MAX),
        (24, 5000),
    ] {
        let mut file = filled(20);
        file.bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(number));
        let opened = EntityEditor::open(FileKind::Players, &file);
        assert!(matches!(opened, Err(EditError::Damaged(..))), "{at}");
    }
    assert!(EntityEditor::open(FileKind::Headers, &filled(1)).is_err());
}

#[test]
fn a_file_has_all_records_and_no_more_of_a_header_than_is_possible() {
    for (count, header_bytes, len, is_possible) in [
        (0, 28 + 4096, 28 + 4096, true),
        (0, 28 + 4097, 28 + 4097, false),
        // Without records the rest of the header may be missing.
        (0, 32, 28, true),
        (1, 32, 28, false),
        (1, 32, 32 + 66, false),
        (1, 32, 32 + 67, true),
    ] {
        let mut file = empty(header_bytes);
        file.bytes[0] = count;
        file.bytes.resize(len, 0);
        let opened = EntityEditor::open(FileKind::Players, &file);
        assert_eq!(opened.is_ok(), is_possible, "{count} {header_bytes} {len}");
    }
}

#[test]
fn missing_records_and_wrong_lengths_are_refused() {
    let file = filled(20);
    let mut editor = open(&file);
    for id in [EntityId(20), EntityId(u32::MAX)] {
        assert!(matches!(editor.remove(id), Err(EditError::NotThere(_))));
        assert!(matches!(
            editor.rename(id, &data(b"x")),
            Err(EditError::NotThere(_))
        ));
        assert!(matches!(
            editor.set_references(id, 1, 1),
            Err(EditError::NotThere(_))
        ));
    }
    assert!(matches!(
        editor.insert(b"short"),
        Err(EditError::Damaged(..))
    ));
    assert_eq!(editor.writes().unwrap(), []);
}

fn player(last: &str) -> Entity {
    Entity::Player(PlayerName {
        last: last.to_owned(),
        first: String::new(),
    })
}

#[test]
fn names_are_found_in_every_encoding() {
    let stored = [
        &b"M\xfcller"[..],
        "Šimák".as_bytes(),
        b"123456789012345678901234567890",
    ];
    let mut file = empty(32);
    saved(&mut file, |editor| {
        for name in stored {
            editor.insert(&data(name)).unwrap();
        }
    });
    let mut editor = open(&file);
    for is_utf8 in [true, false] {
        let page = CodePage::WESTERN;
        let form = NameForm { page, is_utf8 };
        for (id, name) in (0..).zip(["Müller", "Šimák", "123456789012345678901234567890"]) {
            let found = editor.find_entity(&player(name), form).unwrap();
            assert_eq!(found, Some(EntityId(id)), "{name}");
        }
        assert_eq!(editor.find_entity(&player("M?ller"), form).unwrap(), None);
    }
}

/// The data of a player with a first name.
fn full_data(last: &[u8], first: &[u8]) -> Vec<u8> {
    let mut data = data(last);
    data[30..30 + first.len()].copy_from_slice(first);
    data
}

#[test]
fn names_are_found_in_mixed_encodings() {
    let mixed = [
        full_data(b"M\xfcller", "Jörg".as_bytes()),
        full_data("Müller".as_bytes(), b"Ren\xe9"),
    ];
    let mut file = empty(32);
    saved(&mut file, |editor| {
        for data in &mixed {
            editor.insert(data).unwrap();
        }
    });
    for is_utf8 in [true, false] {
        let page = CodePage::WESTERN;
        let form = NameForm { page, is_utf8 };
        for (id, first) in [(Some(0), "Jörg"), (Some(1), "René"), (None, "Jürg")] {
            let player = Entity::Player(PlayerName {
                last: "Müller".to_owned(),
                first: first.to_owned(),
            });
            let found = open(&file).find_entity(&player, form).unwrap();
            assert_eq!(found, id.map(EntityId), "{first}");
            let mut damaged = file.clone();
            damaged.bytes[4] = 7;
            let found = open(&damaged).find_entity(&player, form).unwrap();
            assert_eq!(found, id.map(EntityId), "{first} without a tree");
        }
    }
}

#[test]
fn a_label_with_too_many_spellings_is_found_by_a_scan() {
    let titles: Vec<String> = (0..8).map(|at| format!("Prämie {at}")).collect();
    let mut data = vec![0; 1608];
    for (at, title) in titles.iter().enumerate() {
        let bytes = match at % 2 {
            0 => title.as_bytes().to_vec(),
            _ => format!("Pr\u{e4}mie {at}")
                .chars()
                .map(|c| c as u8)
                .collect(),
        };
        data[at * 200..at * 200 + bytes.len()].copy_from_slice(&bytes);
    }
    let header = [0, 0, 1_234_567_890, 1608, -1, 0, 4, 0];
    let bytes: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
    let mut file = MemoryFile::from(bytes);
    let mut editor = EntityEditor::open(FileKind::Tags, &file).unwrap();
    editor.insert(&data).unwrap();
    let writes = editor.writes().unwrap();
    apply(&mut file, &writes);
    let mut editor = EntityEditor::open(FileKind::Tags, &file).unwrap();
    let page = CodePage::WESTERN;
    let mut label = crate::game::GameLabel {
        titles: titles.try_into().unwrap(),
    };
    for is_utf8 in [true, false] {
        let form = NameForm { page, is_utf8 };
        let found = editor.find_entity(&Entity::Tag(label.clone()), form);
        assert_eq!(found.unwrap(), Some(EntityId(0)));
    }
    label.titles[7].push('!');
    let form = NameForm {
        page,
        is_utf8: true,
    };
    assert_eq!(editor.find_entity(&Entity::Tag(label), form).unwrap(), None);
}

#[test]
fn a_complete_name_is_preferred_to_a_truncated_one() {
    let whole = "é".repeat(15); // 30 bytes of UTF-8, 15 of the page
    let in_page = [0xe9; 15];
    let cut = "é".repeat(14);
    let within_a_character = &whole.as_bytes()[..29];
    let find = |stored: &[&[u8]]| {
        let mut file = empty(32);
        saved(&mut file, |editor| {
            for name in stored {
                editor.insert(&data(name)).unwrap();
            }
        });
        let form = NameForm {
            page: CodePage::WESTERN,
            is_utf8: true,
        };
        open(&file).find_entity(&player(&whole), form).unwrap()
    };
    assert_eq!(find(&[cut.as_bytes(), &in_page]), Some(EntityId(1)));
    assert_eq!(find(&[cut.as_bytes(), whole.as_bytes()]), Some(EntityId(1)));
    assert_eq!(find(&[b"x", cut.as_bytes()]), Some(EntityId(1)));
    assert_eq!(find(&[b"x", within_a_character]), Some(EntityId(1)));
    assert_eq!(find(&[b"x"]), None);
}

#[test]
fn the_encoding_is_detected_from_the_names() {
    for (names, has_utf8) in [
        (&[&b"Carlsen"[..], b"L\xe9k\xf3"][..], Some(false)),
        (&["Lékó".as_bytes(), b"M\xfcller"], Some(true)),
        (&["Lék\u{4e2d}".as_bytes().split_at(6).0], Some(true)),
        (&[b"Andr\xe9"], Some(false)),
        (&[b"Carlsen"], None),
        (&[], None),
        // The code page lacks this letter, so it can only be UTF-8.
        (&["Łukasz".as_bytes(), b"M\xfcller"], Some(false)),
        (&["Ã¼".as_bytes(), b"M\xfcller"], Some(false)),
        (&["Łukasz".as_bytes()], Some(true)),
    ] {
        let mut file = empty(32);
        saved(&mut file, |editor| {
            for name in names {
                editor.insert(&data(name)).unwrap();
            }
        });
        let found = open(&file).has_utf8_names(CodePage::WESTERN).unwrap();
        assert_eq!(found, has_utf8, "{names:?}");
    }
}

#[test]
fn the_collation_is_detected_from_the_tree() {
    for header_bytes in [28, 32] {
        let mut file = empty(header_bytes);
        saved(&mut file, |editor| {
            for name in [&b"Larsen"[..], b"L\xe9k\xf3", b"Karpov", b"M\xfcller"] {
                editor.insert(&data(name)).unwrap();
            }
        });
        // The other form of header does not matter if names show the order.
        let mut other = empty(60 - header_bytes);
        let end = other.bytes.len();
        other.bytes[..8].copy_from_slice(&file.bytes[..8]);
        other.bytes[16..24].copy_from_slice(&file.bytes[16..24]);
        other.bytes.truncate(end);
        other.bytes.extend(&file.bytes[header_bytes..]);
        for file in [&mut file, &mut other] {
            saved(file, |editor| {
                assert!(!editor.is_damaged().unwrap());
                editor.insert(&data(b"La\xe9")).unwrap();
            });
            assert_eq!(damage(file), NO_DAMAGE);
        }
    }
}

/// A file that counts the bytes read from it.
#[derive(Debug)]
struct Counted(MemoryFile, AtomicU64);

impl Storage for Counted {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_up_to<'b>(
        &'b self,
        offset: u64,
        len: usize,
        buffer: &'b mut ReadBuffer,
    ) -> io::Result<&'b [u8]> {
        self.1.fetch_add(len as u64, Atomic::Relaxed);
        self.0.read_up_to(offset, len, buffer)
    }
}

#[test]
fn only_a_sample_and_the_paths_of_a_large_file_are_read() {
    let mut file = filled(100_000);
    for (id, name) in (0..).zip(names(100_000)) {
        // A third of the names is not ASCII, sorted by unsigned bytes.
        if id % 3 == 0 {
            let at = record_at(&file, id) + 9 + name.len();
            file.bytes[at] = 0xe9;
        }
    }
    let counted = Counted(file, AtomicU64::new(0));
    let mut editor = EntityEditor::open(FileKind::Players, &counted).unwrap();
    assert!(!editor.is_damaged().unwrap());
    let checked = counted.1.load(Atomic::Relaxed);
    assert!(checked < 500_000, "{checked}");
    let id = editor.find(&data(b"007919")).unwrap().unwrap();
    assert_eq!(id, EntityId(1));
    editor.remove(id).unwrap();
    assert_eq!(editor.insert(&data(b"x")).unwrap(), id);
    editor.rename(EntityId(7), &data(b"a new name")).unwrap();
    editor.set_references(EntityId(8), 3, 4).unwrap();
    let writes = editor.writes().unwrap();
    let read = counted.1.load(Atomic::Relaxed) - checked;
    assert!(read < 20_000, "{read}");
    let written: usize = writes.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(written < 2000, "{written}");
    let mut file = counted.0;
    apply(&mut file, &writes);
    assert_eq!(damage(&file), NO_DAMAGE);
}

#[test]
fn a_known_order_saves_the_next_check() {
    let mut file = filled(5000);
    file.bytes[20..24].fill(0);
    let before = file.clone();
    let mut editor = open(&before);
    editor.insert(&data(b"x")).unwrap();
    let known = editor.known_order().unwrap();
    apply(&mut file, &editor.writes().unwrap());
    let counted = Counted(file, AtomicU64::new(0));
    let mut editor = EntityEditor::open(FileKind::Players, &counted).unwrap();
    editor.assume(known);
    editor.insert(&data(b"y")).unwrap();
    let writes = editor.writes().unwrap();
    let read = counted.1.load(Atomic::Relaxed);
    assert!(read < 5000, "{read}");
    let mut file = counted.0;
    apply(&mut file, &writes);
    assert_eq!(damage(&file), NO_DAMAGE);
    file.bytes[4..8].fill(0x33);
    assert!(open(&file).is_damaged().unwrap());
}

#[test]
fn the_damaged_tree_of_a_large_file_is_rebuilt() {
    let mut file = filled(20_000);
    file.bytes[4..8].copy_from_slice(&77_i32.to_le_bytes());
    saved(&mut file, |editor| {
        assert!(editor.is_damaged().unwrap());
        assert_eq!(editor.find(&data(b"007919")).unwrap(), Some(EntityId(1)));
        editor.insert(&data(b"x")).unwrap();
    });
    assert_eq!(damage(&file), NO_DAMAGE);
}

/// A file with as many deleted records as games can refer to.
#[derive(Debug)]
struct Full {
    header: Vec<u8>,
    record: Vec<u8>,
}

impl Storage for Full {
    fn len(&self) -> io::Result<u64> {
        Ok(u64::from(MOST_RECORDS) * 67 + 32)
    }

    fn read_up_to<'b>(
        &'b self,
        offset: u64,
        len: usize,
        _buffer: &'b mut ReadBuffer,
    ) -> io::Result<&'b [u8]> {
        let held = if offset == 0 {
            &self.header
        } else {
            &self.record
        };
        Ok(&held[..len.min(held.len())])
    }
}

#[test]
fn no_id_beyond_24_bits_is_used() {
    let mut header = empty(32).bytes;
    header[..4].copy_from_slice(&MOST_RECORDS.to_le_bytes());
    header[4..8].fill(0xff);
    let mut record = vec![0; 67];
    record[..4].copy_from_slice(&DELETED.to_le_bytes());
    let file = Full { header, record };
    let mut editor = EntityEditor::open(FileKind::Players, &file).unwrap();
    let refused = editor.insert(&data(b"x"));
    assert!(matches!(refused, Err(EditError::Full)), "{refused:?}");
    assert_eq!(editor.capacity(), MOST_RECORDS);
}

#[test]
fn ids_that_games_refer_to_in_vain_are_left_out() {
    let mut file = filled(3);
    saved(&mut file, |editor| {
        let mut insert = |name: &[u8], lost: &[u32]| {
            let lost = lost.iter().copied().collect();
            editor.insert_beside(&data(name), &lost).unwrap()
        };
        assert_eq!(insert(b"one", &[3, 4, 6]), EntityId(5));
        // Those left out are deleted, so the next names get them.
        assert_eq!(insert(b"two", &[3, 4]), EntityId(6));
        assert_eq!(insert(b"three", &[3]), EntityId(4));
        assert_eq!(insert(b"four", &[]), EntityId(3));
        assert_eq!(insert(b"five", &[]), EntityId(7));
    });
    assert_eq!(damage(&file), NO_DAMAGE);
    for (left_out, is_possible) in [(4096, true), (4097, false)] {
        let lost = (8..8 + left_out).collect();
        let inserted = open(&file).insert_beside(&data(b"six"), &lost);
        match inserted {
            Ok(id) => assert!(is_possible && id.0 == 8 + left_out),
            Err(error) => assert!(!is_possible && error.to_string().contains("too many games")),
        }
    }
}

#[test]
fn a_bad_link_moved_by_a_rotation_is_found() {
    // Too large for a complete check.
    let mut file = filled(20_000);
    let mut dice = Dice(5);
    for _ in 0..2000 {
        let at = record_at(&file, u32::try_from(dice.roll(20_000)).unwrap()) + 4 * dice.roll(2);
        let to = i32::try_from(dice.roll(20_000)).unwrap();
        file.bytes[at..at + 4].copy_from_slice(&to.to_le_bytes());
    }
    let mut removed = 0;
    saved(&mut file, |editor| {
        // As if the sample had contained none of them.
        editor.order = Some(Order::Sound(Collation::Unsigned));
        for id in (0..20_000).step_by(50) {
            editor.remove(EntityId(id)).unwrap();
            removed += 1;
        }
    });
    assert_eq!(damage(&file), NO_DAMAGE);
    assert_eq!(open(&file).header.live_count, 20_000 - removed);
}
