//! A save is complete or absent after any failure.

#![allow(clippy::print_stdout, reason = "a child speaks by printing")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::storage::journal::{encode_owner, write_owner};
use crate::storage::{
    Directory, DiskDirectory, Error, FileFilter, MemoryDirectory, OpenFile, ReadBuffer,
    SimulatedFailure, Stamp, Storage, Store, StoreAccess, StoreOptions, Transaction, WritableFile,
};
use proptest::prelude::*;

const JOURNAL: &str = ".base.cbfs-journal";

/// What the files of a base hold.
type Files = BTreeMap<OsString, Vec<u8>>;

/// One change, as this test understands it.
#[derive(Clone, Debug)]
enum Change {
    Remove(&'static str),
    Create(&'static str),
    Write(&'static str, usize, Vec<u8>),
    SetLen(&'static str, usize),
}

fn transaction(changes: &[Change]) -> Transaction {
    let mut transaction = Transaction::new();
    for change in changes {
        match change {
            Change::Remove(file) => transaction.remove(file),
            Change::Create(file) => transaction.create(file),
            Change::Write(file, at, bytes) => transaction.write(file, *at as u64, bytes.clone()),
            Change::SetLen(file, len) => transaction.set_len(file, *len as u64),
        }
    }
    transaction
}

/// The files after a transaction; `None` if it makes no sense.
fn changed(files: &Files, changes: &[Change]) -> Option<Files> {
    let mut files = files.clone();
    for change in changes {
        match change {
            Change::Remove(file) => {
                files.remove(OsStr::new(file));
            }
            Change::Create(file) => {
                if files.insert(OsString::from(file), Vec::new()).is_some() {
                    return None;
                }
            }
            Change::Write(file, at, new) => {
                if new.is_empty() {
                    continue;
                }
                let bytes = files.get_mut(OsStr::new(file))?;
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
            Change::SetLen(file, len) => files.get_mut(OsStr::new(file))?.resize(*len, 0),
        }
    }
    Some(files)
}

/// A base of three files and a search cache.
fn small_base() -> MemoryDirectory {
    let directory = MemoryDirectory::new();
    directory.put("base.cbh", vec![1; 100]);
    directory.put("base.cbg", vec![2; 700]);
    directory.put("base.cba", vec![3; 26]);
    directory.put("base.cit", vec![4; 40]);
    directory
}

/// Saves to the small base: appends and overwrites, the same bytes again, a
/// new file, a file cut and grown, pieces across sectors.
fn saves() -> Vec<Vec<Change>> {
    use Change::{Create, Remove, SetLen, Write};
    vec![
        vec![
            Remove("base.cit"),
            Write("base.cbg", 700, vec![20; 30]),
            Write("base.cbg", 2, vec![21; 8]),
            Write("base.cbh", 46, vec![22; 46]),
        ],
        vec![
            Create("base.cbj"),
            Write("base.cbj", 0, vec![30; 600]),
            Write("base.cbg", 500, vec![31; 20]),
            Write("base.cbh", 40, vec![32; 10]),
            Write("base.cbg", 2, vec![33; 8]),
        ],
        vec![
            SetLen("base.cba", 10),
            Write("base.cba", 20, vec![40; 10]),
            Write("base.cbj", 590, vec![41; 20]),
            Write("base.cbh", 44, vec![42; 4]),
            // Longer than the first record of before, shorter than all.
            Write("base.cbg", 100, vec![43; 500]),
        ],
        vec![
            Remove("base.cbj"),
            Write("base.cbh", 45, vec![50; 60]),
            SetLen("base.cbg", 600),
        ],
    ]
}

fn opened(directory: &MemoryDirectory, access: StoreAccess) -> Result<Store, Error> {
    opened_in(Arc::new(directory.clone()), access, "/mnt/base")
}

fn opened_in(
    directory: Arc<dyn Directory>,
    access: StoreAccess,
    label: &str,
) -> Result<Store, Error> {
    let opening = StoreOptions {
        journal: OsStr::new(JOURNAL),
        label,
        access,
        file_filter: FileFilter::new(|name| name.to_string_lossy().starts_with("base.")),
    };
    Store::open(directory, &opening)
}

/// All files of the directory but the journal.
fn files_of(directory: &MemoryDirectory) -> Files {
    let mut files = directory.files();
    files.remove(OsStr::new(JOURNAL));
    files
}

fn read_all(file: &dyn Storage) -> Vec<u8> {
    let len = usize::try_from(file.len().unwrap()).unwrap();
    let mut buffer = ReadBuffer::default();
    file.read_up_to(0, len + 10, &mut buffer).unwrap().to_vec()
}

/// All files as the store shows them.
fn shown(store: &Store) -> Files {
    let names = ["base.cbh", "base.cbg", "base.cba", "base.cbj", "base.cit"];
    let files = names.map(|name| {
        let file = store.file(name).unwrap()?;
        Some((OsString::from(name), read_all(file.as_ref())))
    });
    files.into_iter().flatten().collect()
}

/// How far a script of saves got.
struct Progress {
    /// The files after each commit that was said to be made.
    states: Vec<Files>,
    /// Which of the states was said to survive a power cut.
    synced: usize,
}

/// What a script does beside committing, after so many commits.
const SYNCS_AFTER: [usize; 2] = [2, 3];

/// Opens, commits, syncs and closes, whatever fails.
fn run(directory: &MemoryDirectory) -> Progress {
    let mut progress = Progress {
        states: vec![files_of(directory)],
        synced: 0,
    };
    let Ok(store) = opened(directory, StoreAccess::ReadWrite) else {
        return progress;
    };
    for (number, changes) in (1..).zip(saves()) {
        let last = progress.states.last().unwrap();
        let expected = changed(last, &changes);
        if store.commit(&transaction(&changes)).is_ok() {
            progress.states.push(expected.unwrap());
        }
        assert_eq!(&shown(&store), progress.states.last().unwrap());
        if SYNCS_AFTER.contains(&number) && store.sync().is_ok() {
            progress.synced = progress.states.len() - 1;
            assert_eq!(&files_of(directory), progress.states.last().unwrap());
        }
    }
    if store.close().is_ok() {
        progress.synced = progress.states.len() - 1;
    }
    assert_eq!(&shown(&store), progress.states.last().unwrap());
    progress
}

/// Opens the directory, to read only and to write, and gives which of the
/// states it has.
fn state_after(directory: &MemoryDirectory, progress: &Progress) -> usize {
    let before = directory.files();
    let reader = opened(directory, StoreAccess::ReadOnly).unwrap();
    let seen = shown(&reader);
    assert_eq!(directory.files(), before);
    let store = opened(directory, StoreAccess::ReadWrite).unwrap();
    assert_eq!(shown(&store), seen);
    let files = files_of(directory);
    assert_eq!(files, seen);
    let state = progress.states.iter().rposition(|state| *state == files);
    state.unwrap_or_else(|| panic!("no state: {files:?}"))
}

/// A reproducible stream of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Cuts the power in every way if there are few, else in many.
fn for_each_power_cut(
    directory: &MemoryDirectory,
    few: usize,
    samples: usize,
    mut check: impl FnMut(MemoryDirectory),
) {
    let count = directory.unsynced();
    if count <= few {
        for kept in 0..1_u64 << count {
            check(directory.after_power_cut(|at| kept >> at & 1 == 1));
        }
        return;
    }
    for at in 0..=count {
        check(directory.after_power_cut(|other| other < at));
        check(directory.after_power_cut(|other| other != at));
        check(directory.after_power_cut(|other| other == at));
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ count as u64);
    for _ in 0..samples {
        let likely = dice.roll() % 4;
        let kept: Vec<bool> = (0..count).map(|_| dice.roll() % 4 <= likely).collect();
        check(directory.after_power_cut(|at| kept[at]));
    }
}

/// Every way to lose power or be killed at one operation, half a write done
/// or nothing of it.
fn power_offs() -> Vec<SimulatedFailure> {
    [false, true]
        .map(|writes_half| SimulatedFailure {
            errno: libc::EIO,
            writes_half,
            lasts: true,
        })
        .to_vec()
}

/// The script, ended at this operation; `None` if it has fewer.
fn ended_at(operation: u64, fault: SimulatedFailure) -> Option<(MemoryDirectory, Progress)> {
    let directory = small_base();
    directory.fail_at(operation, fault);
    let progress = run(&directory);
    (directory.operations() > operation).then_some((directory, progress))
}

#[test]
fn a_power_cut_leaves_complete_saves_and_all_synced_ones() {
    for fault in power_offs() {
        let mut cuts = 0;
        let mut operation = 0;
        while let Some((directory, progress)) = ended_at(operation, fault) {
            for_each_power_cut(&directory, 12, 500, |after| {
                let state = state_after(&after, &progress);
                assert!(state >= progress.synced, "{operation}: {state}");
                cuts += 1;
            });
            operation += 1;
        }
        assert!(operation > 30 && cuts > 900, "{operation} {cuts}");
    }
}

#[test]
fn a_power_cut_during_recovery_leaves_complete_saves() {
    let fault = power_offs()[1];
    let mut cuts = 0;
    // After the second commit, and amid its way into the base.
    for operation in (5..40).step_by(3) {
        let Some((directory, progress)) = ended_at(operation, fault) else {
            break;
        };
        for_each_power_cut(&directory, 3, 20, |after| {
            for again in 0.. {
                let second = after.after_kill();
                second.fail_at(again, fault);
                if opened(&second, StoreAccess::ReadWrite).is_ok() {
                    break;
                }
                for_each_power_cut(&second, 3, 5, |last| {
                    assert!(state_after(&last, &progress) >= progress.synced);
                    cuts += 1;
                });
            }
        });
    }
    assert!(cuts > 5_000, "{cuts}");
}

#[test]
fn a_kill_at_any_moment_loses_no_committed_save() {
    for fault in power_offs() {
        let mut operation = 0;
        while let Some((directory, progress)) = ended_at(operation, fault) {
            let state = state_after(&directory.after_kill(), &progress);
            assert_eq!(state, progress.states.len() - 1, "{operation}");
            operation += 1;
        }
    }
}

#[test]
fn an_io_error_at_any_moment_leaves_exactly_the_committed_saves() {
    for fault in SimulatedFailure::PASSING {
        let mut operation = 0;
        while let Some((directory, progress)) = ended_at(operation, fault) {
            let last = progress.states.len() - 1;
            let state = state_after(&directory.after_kill(), &progress);
            assert_eq!(state, last, "{operation}");
            for_each_power_cut(&directory, 8, 50, |after| {
                assert!(state_after(&after, &progress) >= progress.synced);
            });
            operation += 1;
        }
        assert!(operation > 30, "{operation}");
    }
}

#[test]
fn two_io_errors_leave_exactly_the_committed_saves() {
    // A medium that fails for good from some operation on, and is whole
    // again when the base is closed.
    for fault in power_offs() {
        for operation in 4..45 {
            let directory = small_base();
            directory.fail_at(operation, fault);
            let mut progress = Progress {
                states: vec![files_of(&directory)],
                synced: 0,
            };
            let Ok(store) = opened(&directory, StoreAccess::ReadWrite) else {
                continue;
            };
            for (number, changes) in (1..).zip(saves()) {
                if number == 4 {
                    directory.heal();
                }
                let expected = changed(progress.states.last().unwrap(), &changes);
                if store.commit(&transaction(&changes)).is_ok() {
                    progress.states.push(expected.unwrap());
                }
                if store.sync().is_ok() {
                    progress.synced = progress.states.len() - 1;
                }
                for_each_power_cut(&directory, 6, 20, |after| {
                    assert!(state_after(&after, &progress) >= progress.synced);
                });
            }
            assert_eq!(progress.synced, progress.states.len() - 1, "{operation}");
            assert_eq!(&files_of(&directory), progress.states.last().unwrap());
        }
    }
}

#[test]
fn a_sync_after_a_failed_one_writes_the_lost_saves_again() {
    let fails_once = SimulatedFailure {
        errno: libc::EIO,
        writes_half: false,
        lasts: false,
    };
    for later in 0..20 {
        let directory = small_base();
        let mut states = vec![files_of(&directory)];
        let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
        store.commit(&transaction(&saves()[0])).unwrap();
        states.push(changed(&states[0], &saves()[0]).unwrap());
        let progress = Progress { states, synced: 0 };
        directory.fail_at(directory.operations(), fails_once);
        store.sync().unwrap_err();
        directory.fail_at(directory.operations() + later, power_offs()[0]);
        let least = usize::from(store.sync().is_ok());
        for_each_power_cut(&directory, 10, 100, |after| {
            assert!(state_after(&after, &progress) >= least);
        });
    }
}

/// A base that was killed with this many saves in its journal.
fn with_saves(count: usize) -> (MemoryDirectory, Progress) {
    let directory = small_base();
    let mut states = vec![files_of(&directory)];
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    for changes in &saves()[..count] {
        store.commit(&transaction(changes)).unwrap();
        states.push(changed(states.last().unwrap(), changes).unwrap());
    }
    let progress = Progress { states, synced: 0 };
    (directory.after_kill(), progress)
}

/// The base with another journal beside it; what opening it comes to.
fn opened_with(base: &MemoryDirectory, journal: &[u8]) -> (MemoryDirectory, Result<(), Error>) {
    let directory = MemoryDirectory::new();
    for (name, bytes) in files_of(base) {
        directory.put(name, bytes);
    }
    directory.put(JOURNAL, journal);
    let before = directory.files();
    let read = opened(&directory, StoreAccess::ReadOnly).map(|_| ());
    assert_eq!(directory.files(), before);
    let written = opened(&directory, StoreAccess::ReadWrite).map(|_| ());
    assert_eq!(read.is_ok(), written.is_ok());
    if written.is_err() {
        assert_eq!(directory.files(), before, "a refused journal stays");
    }
    (directory, written)
}

#[test]
fn a_damaged_journal_is_refused_or_truncated_and_never_misread() {
    let (base, progress) = with_saves(3);
    let journal = base.files()[OsStr::new(JOURNAL)].clone();
    let mut found = [0; 5];
    let mut check = |bytes: &[u8]| {
        let (directory, result) = opened_with(&base, bytes);
        let files = files_of(&directory);
        let state = progress.states.iter().position(|state| *state == files);
        found[if result.is_err() { 4 } else { state.unwrap() }] += 1;
        assert!(result.is_ok() || state == Some(0));
    };
    for len in 0..=journal.len() {
        check(&journal[..len]);
    }
    for at in 0..journal.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = journal.clone();
            bytes[at] ^= change;
            check(&bytes);
        }
    }
    let mut dice = Dice(1);
    for _ in 0..500 {
        let mut bytes = journal.clone();
        bytes.extend((0..200).map(|_| dice.roll().to_le_bytes()[0]));
        check(&bytes);
    }
    assert!(found.iter().all(|count| *count > 100), "{found:?}");
}

#[test]
fn a_journal_of_another_version_or_base_is_refused_and_kept() {
    let (base, _) = with_saves(2);
    let journal = base.files()[OsStr::new(JOURNAL)].clone();
    let says = |directory: &MemoryDirectory, journal: &[u8]| {
        let (_, result) = opened_with(directory, journal);
        result.unwrap_err().to_string()
    };
    let mut newer = journal.clone();
    newer[8] = 2;
    assert_eq!(
        says(&base, &newer),
        ".base.cbfs-journal: a journal of version 2; this cbfs knows version 1; move it away to open the base without it"
    );
    assert_eq!(
        says(&base, b"something else"),
        ".base.cbfs-journal: not a journal of cbfs; move it away to open the base without it"
    );
    let missing = base.after_kill();
    missing.remove(OsStr::new("base.cbg")).unwrap();
    assert!(says(&missing, &journal).contains("base.cbg is not there; move it away"));
    let longer = base.after_kill();
    longer.put("base.cbh", vec![1; 147]);
    assert!(says(&longer, &journal).contains("base.cbh has another length"));
    let other = base.after_kill();
    let mut content = base.files()[OsStr::new("base.cbg")].clone();
    content[2] = 9;
    other.put("base.cbg", content.clone());
    assert!(says(&other, &journal).contains("base.cbg has other content"));
    // What no save touches is not the journal's business.
    content[2] = 2;
    content[100] = 9;
    other.put("base.cbg", content);
    opened_with(&other, &journal).1.unwrap();
}

#[test]
fn a_journal_that_names_a_file_of_no_base_is_refused() {
    let directory = small_base();
    let opening = StoreOptions {
        journal: OsStr::new(JOURNAL),
        label: "",
        access: StoreAccess::ReadWrite,
        file_filter: FileFilter::new(|_| true),
    };
    let shared: Arc<dyn Directory> = Arc::new(directory.clone());
    let store = Store::open(shared, &opening).unwrap();
    let mut transaction = Transaction::new();
    transaction.create("stranger");
    store.commit(&transaction).unwrap();
    let killed = directory.after_kill();
    let error = opened(&killed, StoreAccess::ReadWrite)
        .unwrap_err()
        .to_string();
    assert!(error.contains("stranger is not a file of it"), "{error}");
    // Nor is one that appears while the base is shown.
    let shown = small_base();
    let reader = opened(&shown, StoreAccess::ReadOnly).unwrap();
    shown.put(JOURNAL, killed.files()[OsStr::new(JOURNAL)].clone());
    let error = reader.refresh().unwrap_err().to_string();
    assert!(error.contains("stranger is not a file of it"), "{error}");
    for name in ["", "..", "a/b", "/etc/passwd", "a\0"] {
        let mut transaction = Transaction::new();
        transaction.create(name);
        let error = store.commit(&transaction).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{name}: {error}");
    }
    let renamed = directory.after_kill();
    renamed
        .rename(OsStr::new(JOURNAL), OsStr::new(".other.cbfs-journal"))
        .unwrap();
    let other = StoreOptions {
        journal: OsStr::new(".other.cbfs-journal"),
        ..opening
    };
    let error = Store::open(Arc::new(renamed), &other).unwrap_err();
    assert!(matches!(error, Error::DoesNotFit { .. }), "{error}");
}

#[test]
fn a_journal_of_two_names_is_not_followed() {
    let (base, _) = with_saves(1);
    base.link(OsStr::new(JOURNAL), "backup");
    let error = opened(&base, StoreAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error}");
}

#[test]
fn an_invalid_transaction_changes_nothing() {
    use Change::{Create, SetLen, Write};
    let directory = small_base();
    let before = files_of(&directory);
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    for changes in [
        vec![SetLen("base.cbh", 0), Write("base.cbj", 0, vec![1])],
        vec![Write("base.cbh", 0, vec![1]), Create("base.cbg")],
        vec![SetLen("base.cbh", usize::MAX)],
        vec![Write("base.cbh", usize::MAX, vec![1, 2])],
    ] {
        let error = store.commit(&transaction(&changes)).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    store.commit(&Transaction::new()).unwrap();
    store
        .commit(&transaction(&[Change::Remove("base.cib")]))
        .unwrap();
    assert_eq!(store.pending(), 0);
    assert_eq!(shown(&store), before);
    let reader = opened(&directory, StoreAccess::ReadOnly).unwrap();
    let error = reader.commit(&transaction(&saves()[0])).unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error}");
}

#[test]
fn closing_removes_the_journal_and_releases_the_lock() {
    let directory = small_base();
    let first = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let before = first.saves();
    first.commit(&transaction(&saves()[0])).unwrap();
    assert_ne!(first.saves(), before);
    assert!(first.pending() > 84 && first.is_writable());
    let error = opened(&directory, StoreAccess::ReadWrite).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "process {} has opened the base for writing already: /mnt/base",
            std::process::id()
        )
    );
    first.close().unwrap();
    assert_eq!((first.pending(), first.is_writable()), (0, false));
    assert_eq!(directory.files(), shown(&first));
    let second = opened(&directory, StoreAccess::ReadWrite).unwrap();
    assert!(first.commit(&transaction(&saves()[1])).is_err());
    second.commit(&transaction(&saves()[1])).unwrap();
    drop(second);
    opened(&directory, StoreAccess::ReadWrite).unwrap();
}

#[test]
fn a_journal_stays_when_a_reader_or_the_former_writer_closes() {
    let directory = small_base();
    let former = opened(&directory, StoreAccess::ReadWrite).unwrap();
    former.close().unwrap();
    let reader = opened(&directory, StoreAccess::ReadOnly).unwrap();
    let writer = opened(&directory, StoreAccess::ReadWrite).unwrap();
    writer.commit(&transaction(&saves()[0])).unwrap();
    let saved = shown(&writer);
    for other in [former, reader] {
        other.close().unwrap();
    }
    let after = directory.after_kill();
    opened(&after, StoreAccess::ReadWrite).unwrap();
    assert_eq!(files_of(&after), saved);
}

#[test]
fn changes_by_another_program_are_detected_and_not_overwritten() {
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let view = store.file("base.cbh").unwrap().unwrap();
    let epoch = store.epoch();
    assert_eq!(store.changed_outside().unwrap(), Vec::<OsString>::new());
    store.ensure_unchanged_outside().unwrap();
    directory.put("base.cbh", vec![9; 50]);
    assert_eq!(store.changed_outside().unwrap(), ["base.cbh"]);
    let told = store.ensure_unchanged_outside().unwrap_err().to_string();
    assert!(told.starts_with("base.cbh was changed"), "{told}");
    let save = transaction(&saves()[1]);
    let error = store.commit(&save).unwrap_err().to_string();
    assert_eq!(error, "base.cbh: changed by another program");
    store.refresh().unwrap();
    assert_ne!(store.epoch(), epoch);
    assert_eq!(read_all(view.as_ref()), vec![9; 50]);
    store.commit(&save).unwrap();
    // Beside what was saved: it is taken over.
    let mut bytes = vec![9; 50];
    bytes[0] = 8;
    directory.put("base.cbh", bytes.clone());
    store.refresh().unwrap();
    store.sync().unwrap();
    bytes[40..50].fill(32);
    assert_eq!(directory.files()[OsStr::new("base.cbh")], bytes);
    assert_eq!(store.changed_outside().unwrap(), Vec::<OsString>::new());
    // What was to be saved: both stay.
    store.commit(&transaction(&saves()[0])).unwrap();
    let mut other = bytes.clone();
    other[46] = 7;
    directory.put("base.cbh", other.clone());
    for result in [store.sync(), store.refresh(), store.close()] {
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "base.cbh: changed by another program");
    }
    assert_eq!(directory.files()[OsStr::new("base.cbh")], other);
    drop(store);
    let error = opened(&directory, StoreAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::DoesNotFit { .. }), "{error}");
}

#[test]
fn bytes_appended_by_another_program_are_not_overwritten() {
    // A save that waits, and the same of another program: a record more, and
    // the head that counts it.
    let save = [
        Change::Write("base.cbh", 100, vec![22; 46]),
        Change::Write("base.cbh", 6, vec![2; 4]),
    ];
    for length in [1, 20, 46] {
        let directory = small_base();
        let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
        store.commit(&transaction(&save)).unwrap();
        let mut other = directory.files()[OsStr::new("base.cbh")].clone();
        other[6..10].fill(2);
        other.extend(vec![9; length]);
        directory.put("base.cbh", other.clone());
        for result in [store.sync(), store.refresh(), store.close()] {
            let error = result.unwrap_err().to_string();
            assert_eq!(error, "base.cbh: changed by another program");
        }
        assert_eq!(directory.files()[OsStr::new("base.cbh")], other);
    }
    // A file that a save is to make.
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    store.commit(&transaction(&saves()[1])).unwrap();
    directory.put("base.cbj", vec![9; 300]);
    let error = store.sync().unwrap_err().to_string();
    assert_eq!(error, "base.cbj: changed by another program");
    assert_eq!(
        directory.files()[OsStr::new("base.cbj")],
        vec![9; 300].as_slice()
    );
}

/// A folder in which another program puts a file in the place of one just
/// when that is opened to be written.
#[derive(Debug)]
struct Replacing {
    folder: MemoryDirectory,
    by: std::sync::Mutex<Option<Vec<u8>>>,
}

impl Directory for Replacing {
    fn open(&self, name: &OsStr) -> std::io::Result<Box<dyn OpenFile>> {
        self.folder.open(name)
    }

    fn open_writable(&self, name: &OsStr) -> std::io::Result<Box<dyn WritableFile>> {
        let file = self.folder.open_writable(name)?;
        if name == "base.cbh"
            && let Some(bytes) = self.by.lock().unwrap().take()
        {
            self.folder.put("other", bytes);
            self.folder.rename(OsStr::new("other"), name)?;
        }
        Ok(file)
    }

    fn create(&self, name: &OsStr) -> std::io::Result<Box<dyn WritableFile>> {
        self.folder.create(name)
    }

    fn remove(&self, name: &OsStr) -> std::io::Result<()> {
        self.folder.remove(name)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> std::io::Result<()> {
        self.folder.rename(from, to)
    }

    fn stamp(&self, name: &OsStr) -> std::io::Result<Option<Stamp>> {
        self.folder.stamp(name)
    }

    fn ensure_trusted(&self, stamp: &Stamp) -> std::io::Result<()> {
        self.folder.ensure_trusted(stamp)
    }

    fn sync(&self) -> std::io::Result<()> {
        self.folder.sync()
    }
}

#[test]
fn a_file_replaced_during_a_sync_gets_the_save_or_stays_unchanged() {
    let save = [Change::Write("base.cbh", 46, vec![22; 46])];
    let (old, mut other) = (vec![1; 100], vec![1; 100]);
    other[50] = 9;
    for (by, is_taken) in [(old, true), (other, false)] {
        let directory = Arc::new(Replacing {
            folder: small_base(),
            by: std::sync::Mutex::default(),
        });
        let shared: Arc<dyn Directory> = directory.clone();
        let store = opened_in(shared, StoreAccess::ReadWrite, "").unwrap();
        store.commit(&transaction(&save)).unwrap();
        *directory.by.lock().unwrap() = Some(by.clone());
        let error = store.sync().unwrap_err().to_string();
        assert_eq!(error, "base.cbh: changed by another program");
        assert_eq!(store.sync().is_ok(), is_taken);
        let mut wanted = by;
        if is_taken {
            wanted[46..92].fill(22);
        }
        assert_eq!(directory.folder.files()[OsStr::new("base.cbh")], wanted);
    }
}

#[test]
fn a_reader_beside_a_writer_sees_its_saves_when_it_looks_again() {
    let directory = small_base();
    let writer = opened(&directory, StoreAccess::ReadWrite).unwrap();
    writer.commit(&transaction(&saves()[0])).unwrap();
    let reader = opened(&directory, StoreAccess::ReadOnly).unwrap();
    assert_eq!(shown(&reader), shown(&writer));
    assert!(reader.pending() > 84);
    for changes in &saves()[1..] {
        writer.commit(&transaction(changes)).unwrap();
        assert!(!reader.changed_outside().unwrap().is_empty());
        reader.refresh().unwrap();
        assert_eq!(shown(&reader), shown(&writer));
        assert!(reader.changed_outside().unwrap().is_empty());
        writer.sync().unwrap();
        reader.refresh().unwrap();
        assert_eq!(shown(&reader), shown(&writer));
        assert_eq!(reader.pending(), 0);
    }
}

#[test]
fn a_reader_that_ignores_the_journal_sees_the_files_alone() {
    let directory = small_base();
    let writer = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let reader = opened(&directory, StoreAccess::WithoutJournal).unwrap();
    for changes in &saves()[..2] {
        writer.commit(&transaction(changes)).unwrap();
        assert_eq!(shown(&reader), files_of(&small_base()));
        assert!(reader.changed_outside().unwrap().is_empty());
        reader.refresh().unwrap();
    }
    writer.sync().unwrap();
    assert!(!reader.changed_outside().unwrap().is_empty());
    reader.refresh().unwrap();
    assert_eq!(shown(&reader), shown(&writer));
}

#[test]
fn a_file_cut_short_by_another_program_is_not_read_as_a_shorter_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.cbh");
    fs::write(&path, "0123456789").unwrap();
    let directory = Arc::new(DiskDirectory::open(folder.path(), "base.cbh").unwrap());
    let store = opened_in(directory, StoreAccess::ReadWrite, "").unwrap();
    let file = store.file("base.cbh").unwrap().unwrap();
    file.ensure_kept(10).unwrap();
    let cut = fs::File::options().write(true).open(&path).unwrap();
    cut.set_len(4).unwrap();
    assert!(file.ensure_kept(10).is_err() && file.ensure_kept(4).is_ok());
    cut.set_len(10).unwrap();
    store.refresh().unwrap();
    let mut save = Transaction::new();
    save.write("base.cbh", 8, *b"saved");
    store.commit(&save).unwrap();
    cut.set_len(4).unwrap();
    let mut buffer = ReadBuffer::default();
    let error = file.read_up_to(0, 13, &mut buffer).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_folder_with_the_name_of_a_search_cache_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("base.cbh"), "0123456789").unwrap();
    fs::create_dir(at("base.cit")).unwrap();
    let directory = Arc::new(DiskDirectory::open(folder.path(), "base.cbh").unwrap());
    let store = opened_in(directory, StoreAccess::ReadWrite, "").unwrap();
    let mut save = Transaction::new();
    save.remove("base.cit");
    save.write("base.cbh", 3, *b"saved");
    store.commit(&save).unwrap();
    store.close().unwrap();
    assert_eq!(fs::read_to_string(at("base.cbh")).unwrap(), "012saved89");
    assert!(at("base.cit").is_dir());
}

#[test]
fn a_long_journal_is_synced_by_the_next_commit() {
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let big = transaction(&[Change::Write("base.cbg", 700, vec![5; 65 << 20])]);
    store.commit(&big).unwrap();
    assert_eq!(files_of(&directory)[OsStr::new("base.cbg")].len(), 700);
    store.commit(&transaction(&saves()[1])).unwrap();
    assert!(store.pending() < 2000);
    let len = 700 + (65 << 20);
    assert_eq!(files_of(&directory)[OsStr::new("base.cbg")].len(), len);
}

fn change() -> impl Strategy<Value = Change> {
    let file = prop::sample::select(vec!["base.cbh", "base.cbg", "base.cba"]);
    let write = (file.clone(), 0..900_usize, any::<u8>(), 0..300_usize)
        .prop_map(|(file, at, byte, len)| Change::Write(file, at, vec![byte; len]));
    let set_len = (file.clone(), 0..900_usize).prop_map(|(file, len)| Change::SetLen(file, len));
    let remove = file.clone().prop_map(Change::Remove);
    let create = file.prop_map(Change::Create);
    prop_oneof![6 => write, 2 => set_len, 1 => remove, 1 => create]
}

proptest! {
    #[test]
    fn views_agree_with_a_simple_model(
        steps in prop::collection::vec((prop::collection::vec(change(), 1..4), any::<bool>()), 1..20),
        reads in prop::collection::vec((0..1000_usize, 0..1000_usize), 5),
    ) {
        let directory = small_base();
        let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
        let names = ["base.cbh", "base.cbg", "base.cba"];
        let views = names.map(|name| (OsStr::new(name), store.file(name).unwrap().unwrap()));
        let mut model = files_of(&directory);
        for (mut changes, syncs) in steps {
            // Removals come first in any transaction.
            changes.sort_by_key(|change| !matches!(change, Change::Remove(_)));
            let expected = changed(&model, &changes);
            let done = store.commit(&transaction(&changes));
            prop_assert_eq!(done.is_ok(), expected.is_some());
            model = expected.unwrap_or(model);
            if syncs {
                store.sync().unwrap();
                prop_assert_eq!(&files_of(&directory), &model);
            }
            for (name, view) in &views {
                let Some(bytes) = model.get(*name) else {
                    prop_assert!(view.len().is_err());
                    continue;
                };
                prop_assert_eq!(view.len().unwrap(), bytes.len() as u64);
                prop_assert_eq!(&read_all(view.as_ref()), bytes);
                for (at, len) in &reads {
                    let mut buffer = ReadBuffer::default();
                    let read = view.read_up_to(*at as u64, *len, &mut buffer).unwrap();
                    let end = (at + len).min(bytes.len());
                    prop_assert_eq!(read, &bytes[(*at).min(end)..end]);
                }
            }
        }
        let mut shown = shown(&opened(&directory.after_kill(), StoreAccess::ReadOnly).unwrap());
        prop_assert_eq!(&shown, &model);
        shown = files_of(&directory);
        drop(store);
        opened(&directory, StoreAccess::ReadWrite).unwrap();
        prop_assert_eq!(files_of(&directory), model, "was {:?}", shown);
    }
}

#[test]
fn a_file_truncated_and_extended_again_is_recovered() {
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let mut model = files_of(&directory);
    for changes in [
        [Change::SetLen("base.cbg", 0)],
        [Change::Write("base.cbg", 571, vec![0; 32])],
        [Change::Write("base.cbg", 0, vec![3])],
    ] {
        store.commit(&transaction(&changes)).unwrap();
        model = changed(&model, &changes).unwrap();
    }
    drop(store);
    assert_eq!(
        shown(&opened(&directory, StoreAccess::ReadOnly).unwrap()),
        model
    );
    opened(&directory, StoreAccess::ReadWrite).unwrap();
    assert_eq!(files_of(&directory), model);
}

#[test]
fn a_file_with_a_second_name_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["base.cbh", "base.cbg"] {
        fs::write(at(name), "0123456789").unwrap();
    }
    fs::hard_link(at("base.cbg"), at("backup")).unwrap();
    let directory = Arc::new(DiskDirectory::open(folder.path(), "base.cbh").unwrap());
    let store = opened_in(directory, StoreAccess::ReadWrite, "").unwrap();
    let change = |name: &str| {
        drop(store.file(name).unwrap().unwrap());
        let mut change = Transaction::new();
        change.write(name, 3, *b"saved");
        store.commit(&change).map_err(|error| error.to_string())
    };
    let refused = change("base.cbg").unwrap_err();
    assert!(refused.contains("2 names"), "{refused}");
    change("base.cbh").unwrap();
    store.close().unwrap();
    assert_eq!(fs::read_to_string(at("base.cbh")).unwrap(), "012saved89");
    assert_eq!(fs::read_to_string(at("backup")).unwrap(), "0123456789");
}

#[test]
fn readers_never_see_a_partial_save() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["base.cbh", "base.cbg"] {
        fs::write(folder.path().join(name), vec![0; 20_000]).unwrap();
    }
    let directory = Arc::new(DiskDirectory::open(folder.path(), "base.cbh").unwrap());
    let store = opened_in(directory, StoreAccess::ReadWrite, "").unwrap();
    let files = ["base.cbh", "base.cbg"].map(|name| store.file(name).unwrap().unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut both = 0;
                while !is_over.load(Relaxed) {
                    let epoch = store.epoch();
                    let bytes = files.each_ref().map(|file| read_all(file.as_ref()));
                    let is_one_state = store.epoch() == epoch;
                    for bytes in &bytes {
                        let first = bytes[0];
                        assert_eq!(bytes.len(), 20_000);
                        assert!([0, 9_000, 19_999].iter().all(|at| bytes[*at] == first));
                    }
                    assert!(!is_one_state || bytes[0] == bytes[1]);
                    both += u32::from(is_one_state);
                }
                assert!(both > 10);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    store.sync().unwrap();
                }
            });
        }
        for round in 0..300_u32 {
            let byte = round.to_le_bytes()[0];
            let mut transaction = Transaction::new();
            for name in ["base.cbh", "base.cbg"] {
                for at in [0, 9_000, 19_999] {
                    transaction.write(name, at, [byte]);
                }
            }
            store.commit(&transaction).unwrap();
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        is_over.store(true, Relaxed);
    });
    store.close().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert_eq!(fs::read(folder.path().join("base.cbh")).unwrap()[9_000], 43);
}

/// What tells a copy of this program where to save and wait to be killed.
const CHILD: &str = "CBFS_TEST_CHILD";

#[test]
fn a_killed_process_leaves_its_saves_and_no_lock() {
    if let Some(folder) = std::env::var_os(CHILD) {
        let directory = Arc::new(DiskDirectory::open(folder.as_ref(), "base.cbh").unwrap());
        let store = opened_in(directory, StoreAccess::ReadWrite, "/mnt/child").unwrap();
        let mut transaction = Transaction::new();
        transaction.write("base.cbh", 3, *b"saved");
        store.commit(&transaction).unwrap();
        println!("\nsaved");
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.cbh"), "0123456789").unwrap();
    let open = || {
        let directory = Arc::new(DiskDirectory::open(folder.path(), "base.cbh").unwrap());
        opened_in(directory, StoreAccess::ReadWrite, "/mnt/parent")
    };
    // Within the program of tests, without the crate.
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::a_killed_process_leaves_its_saves_and_no_lock");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .arg("--nocapture")
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "saved"));
    let error = open().unwrap_err().to_string();
    let expected = format!("process {} has opened", child.id());
    assert!(error.starts_with(&expected) && error.ends_with("/mnt/child"));
    let read = || fs::read_to_string(folder.path().join("base.cbh")).unwrap();
    assert_eq!(read(), "0123456789");
    child.kill().unwrap();
    child.wait().unwrap();
    let store = open().unwrap();
    assert_eq!(read(), "012saved89");
    store.close().unwrap();
}

/// Lays much behind the ends of two files and points to it; whether it was
/// said to survive a power cut.
fn run_stage(directory: &MemoryDirectory) -> Result<(), Error> {
    let store = opened(directory, StoreAccess::ReadWrite)?;
    run_stage_of(&store)?;
    store.close()
}

fn run_stage_of(store: &Store) -> Result<(), Error> {
    let names = ["base.cbg", "base.cbh"].map(OsString::from);
    let mut stage = store.stage(&names)?;
    for part in 0..3 {
        stage.write(OsStr::new("base.cbg"), 700 + 400 * part, &[50; 400])?;
    }
    stage.write(OsStr::new("base.cbh"), 100, &[51; 46])?;
    let mut transaction = Transaction::new();
    transaction.write("base.cbh", 6, [52; 4]);
    transaction.write("base.cbg", 2, [53; 8]);
    transaction.remove("base.cit");
    stage.commit(transaction).map(|_| ())
}

/// The small base before and after that.
fn states_of_stage() -> [Files; 2] {
    use Change::{Remove, Write};
    let before = files_of(&small_base());
    let after = changed(
        &before,
        &[
            Remove("base.cit"),
            Write("base.cbg", 700, vec![50; 1200]),
            Write("base.cbh", 100, vec![51; 46]),
            Write("base.cbh", 6, vec![52; 4]),
            Write("base.cbg", 2, vec![53; 8]),
        ],
    );
    [before, after.unwrap()]
}

#[test]
fn staged_appends_survive_a_power_cut_completely_or_not_at_all() {
    let states = states_of_stage();
    let mut found = [0; 2];
    for fault in power_offs() {
        for operation in 0.. {
            let directory = small_base();
            directory.fail_at(operation, fault);
            let done = run_stage(&directory);
            let is_over = directory.operations() <= operation;
            let check = |after: &MemoryDirectory| {
                opened(after, StoreAccess::ReadWrite).unwrap();
                let files = files_of(after);
                let state = states.iter().position(|state| *state == files);
                let state = state.unwrap_or_else(|| panic!("{operation}: no state"));
                assert!(done.is_err() || state == 1, "{operation}");
                state
            };
            found[check(&directory.after_kill())] += 1;
            for_each_power_cut(&directory, 8, 200, |after| found[check(&after)] += 1);
            if is_over {
                assert!(operation > 15, "{operation}");
                break;
            }
        }
    }
    assert!(found.iter().all(|count| *count > 80), "{found:?}");
}

#[test]
fn failed_staged_appends_leave_nothing() {
    let states = states_of_stage();
    for operation in 0.. {
        let directory = small_base();
        directory.fail_at(
            operation,
            SimulatedFailure {
                errno: libc::ENOSPC,
                writes_half: true,
                lasts: false,
            },
        );
        let done = run_stage(&directory);
        if directory.operations() <= operation {
            done.unwrap();
            break;
        }
        let after = directory.after_kill();
        opened(&after, StoreAccess::ReadWrite).unwrap();
        let files = files_of(&after);
        assert!(states.contains(&files), "{operation}: {done:?}");
    }
}

#[test]
fn a_stage_that_failed_is_in_the_way_of_no_later_one() {
    let [_, after] = states_of_stage();
    for lasts in [false, true] {
        for operation in 0.. {
            let directory = small_base();
            let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
            let at = directory.operations() + operation;
            let fault = |lasts| SimulatedFailure {
                errno: libc::ENOSPC,
                writes_half: true,
                lasts,
            };
            directory.fail_at(at, fault(lasts));
            let failed = run_stage_of(&store).is_err();
            let is_over = directory.operations() <= at;
            directory.fail_at(u64::MAX, fault(false));
            if failed {
                run_stage_of(&store).unwrap();
            }
            store.close().unwrap();
            assert_eq!(files_of(&directory), after, "{operation}");
            if is_over {
                assert!(operation > 10 && !failed, "{operation}");
                break;
            }
        }
    }
}

#[test]
fn staged_appends_exclude_other_saves() {
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let names = [OsString::from("base.cbg")];
    let mut stage = store.stage(&names).unwrap();
    stage.write(OsStr::new("base.cbg"), 700, &[9; 10]).unwrap();
    let begins = ["base.cbg", "base.cbh"].map(|name| stage.begins_at(OsStr::new(name)));
    assert_eq!(begins, [Some(700), None]);
    // Others see the files as if nothing had been appended.
    let reader = opened(&directory, StoreAccess::ReadOnly).unwrap();
    assert_eq!(shown(&reader), files_of(&small_base()));
    for (file, offset) in [("base.cbg", 699), ("base.cbh", 100)] {
        assert!(stage.write(OsStr::new(file), offset, &[9]).is_err());
    }
    let save = transaction(&[Change::Write("base.cbh", 0, vec![7])]);
    let error = store.commit(&save).unwrap_err().to_string();
    assert!(error.contains("games are being imported"), "{error}");
    assert!(store.stage(&names).is_err());
    drop(stage);
    assert_eq!(files_of(&directory), files_of(&small_base()));
    store.commit(&save).unwrap();
    store.close().unwrap();
    assert_eq!(files_of(&directory)[OsStr::new("base.cbh")][0], 7);
}

#[test]
fn bytes_appended_by_another_program_during_an_import_stay() {
    for is_early in [true, false] {
        let directory = small_base();
        let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
        let names = ["base.cbg", "base.cbh"].map(OsString::from);
        let mut stage = store.stage(&names).unwrap();
        if !is_early {
            stage.write(OsStr::new("base.cbg"), 700, &[9; 10]).unwrap();
        }
        // It appends, and says so in the head.
        let mut other = directory.files()[OsStr::new("base.cbg")].clone();
        other[3] = 77;
        other.extend([5; 30]);
        directory.put("base.cbg", other.clone());
        let told = if is_early {
            let told = stage.write(OsStr::new("base.cbg"), 700, &[9; 10]);
            drop(stage);
            told
        } else {
            let mut transaction = Transaction::new();
            transaction.write("base.cbh", 6, [52; 4]);
            stage.commit(transaction).map(drop)
        };
        let error = told.unwrap_err().to_string();
        assert_eq!(error, "base.cbg: changed by another program");
        drop(store);
        assert_eq!(directory.files()[OsStr::new("base.cbg")], other);
        let after = directory.after_kill();
        opened(&after, StoreAccess::ReadWrite).unwrap();
        assert_eq!(after.files()[OsStr::new("base.cbg")], other);
    }
}

#[test]
fn a_file_changed_by_another_program_after_a_crash_is_not_truncated() {
    let directory = small_base();
    let store = opened(&directory, StoreAccess::ReadWrite).unwrap();
    let names = ["base.cbg", "base.cbh"].map(OsString::from);
    let mut stage = store.stage(&names).unwrap();
    stage.write(OsStr::new("base.cbg"), 700, &[9; 10]).unwrap();
    stage.write(OsStr::new("base.cbh"), 100, &[9; 10]).unwrap();
    let after = directory.after_kill();
    let mut longer = after.files()[OsStr::new("base.cbg")].clone();
    longer[3] = 77;
    longer.extend([5; 5]);
    after.put("base.cbg", longer.clone());
    opened(&after, StoreAccess::ReadWrite).unwrap();
    let files = files_of(&after);
    assert_eq!(files[OsStr::new("base.cbg")], longer);
    assert_eq!(files[OsStr::new("base.cbh")].len(), 100);
    assert!(!files.contains_key(OsStr::new(".base.cbfs-stage")));
}

#[test]
fn a_journal_that_another_writer_took_over_is_left_to_it() {
    let directory = MemoryDirectory::new();
    directory.put("a", *b"old");
    let store = Store::of_any_files(&directory).unwrap();
    let create = |name| {
        let mut save = Transaction::new();
        save.create(name);
        store.commit(&save)
    };
    create("b").unwrap();
    let name = OsStr::new(".x.cbfs-journal");
    let journal = directory.open_writable(name).unwrap();
    let owner = |label: &str| write_owner(journal.as_ref(), &encode_owner(label)).unwrap();
    let names = || directory.files().into_keys().collect::<Vec<_>>();
    let content = || directory.files().remove(name).unwrap();
    owner("another");
    let left = content();
    for refused in [create("c").map(drop), store.sync(), store.close()] {
        let is_taken =
            matches!(&refused, Err(Error::TakenOver { label, .. }) if label == "another");
        assert!(is_taken, "{refused:?}");
    }
    assert_eq!(
        (names(), content()),
        (vec![name.to_owned(), "a".into()], left)
    );
    owner("");
    create("c").unwrap();
    store.sync().unwrap();
    // What was saved is in the base: the journal alone stays.
    owner("another");
    store.sync().unwrap();
    store.close().unwrap();
    assert!(!store.is_writable());
    assert_eq!(
        names(),
        [name, OsStr::new("a"), OsStr::new("b"), OsStr::new("c")]
    );
}

#[test]
fn a_failed_sync_writes_nothing_over_the_journal_of_another_writer() {
    let directory = MemoryDirectory::new();
    let store = Store::of_any_files(&directory).unwrap();
    let mut save = Transaction::new();
    save.create("b");
    store.commit(&save).unwrap();
    directory.fail_at(directory.operations(), SimulatedFailure::PASSING[0]);
    store.sync().unwrap_err();
    directory.heal();
    let name = OsStr::new(".x.cbfs-journal");
    let journal = directory.open_writable(name).unwrap();
    write_owner(journal.as_ref(), &encode_owner("another")).unwrap();
    journal.write_at(0, &[7; 512]).unwrap();
    let left = directory.files().remove(name);
    assert!(matches!(store.sync(), Err(Error::TakenOver { .. })));
    assert_eq!(directory.files().remove(name), left);
}
