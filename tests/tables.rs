//! Games as tables: `cbfs export --format parquet`, and `cbfs import` of the folder.

#![cfg(feature = "parquet")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cbfs::tables::{Column, ColumnKind, GAME_COLUMNS, POSITION_COLUMNS, SCHEMA_VERSION};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;

use common::command::{cbfs, files_in, said, succeeds};
use common::{fixture, fixture_bases};

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Exports a base as tables into a new folder.
fn export(base: &Path, folder: &Path, options: &[&str]) {
    let arguments = [
        "export",
        "--format",
        "parquet",
        path(base),
        "-o",
        path(folder),
    ];
    succeeds(&[&arguments, options].concat());
}

/// The files of a table, by their paths in its folder.
fn files_of(table: &Path) -> BTreeMap<String, PathBuf> {
    let files = files_in(table).into_keys();
    files.map(|name| (name.clone(), table.join(name))).collect()
}

fn rows_of(table: &Path) -> Vec<Row> {
    let files = files_of(table).into_values();
    files
        .flat_map(|file| {
            let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
            reader.into_iter().map(Result::unwrap).collect::<Vec<_>>()
        })
        .collect()
}

/// A value as headers.tsv has it.
fn field(row: &Row, name: &str) -> String {
    let (_, field) = row
        .get_column_iter()
        .find(|(found, _)| *found == name)
        .unwrap();
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bool(flag) => u8::from(*flag).to_string(),
        other => other.to_string(),
    }
}

#[test]
fn games_come_back_from_tables_as_they_come_from_pgn() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let mut compared = 0;
    for base in fixture_bases() {
        let name = base.file_stem().unwrap().to_str().unwrap().to_owned();
        let exported =
            |base: &Path| String::from_utf8(cbfs(&["export", path(base)]).stdout).unwrap();
        let pgn = exported(&base);
        if pgn.contains("cbdefect") || pgn.is_empty() {
            continue;
        }
        fs::write(at("games.pgn"), &pgn).unwrap();
        // Games that cannot be read are in neither.
        let folder = at(&format!("{name}.tables"));
        cbfs(&[
            "export",
            "--format",
            "parquet",
            path(&base),
            "-o",
            path(&folder),
        ]);
        let mut copies = Vec::new();
        for (kind, source) in [("pgn", at("games.pgn")), ("tables", folder)] {
            let new = at(&format!("{name}-{kind}.cbh"));
            let arguments = ["import", "--create", path(&new), path(&source)];
            let output = cbfs(&arguments);
            assert!(output.status.success(), "{name}: {}", said(&output));
            copies.push(exported(&new));
        }
        assert!(copies[0] == copies[1], "{name}");
        compared += copies[0].matches("[Event ").count();
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn tags_that_are_there_several_times_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let tags =
        "[Foo \"1\"]\n[Foo \"2\"]\n[Foo \"3\"]\n[Opening \"Sicilian\"]\n[Opening \"Najdorf\"]\n";
    let pgn = format!("[White \"A\"]\n[Black \"B\"]\n{tags}\n1. e4 c5 *\n");
    fs::write(at("games.pgn"), pgn).unwrap();
    let [base, tables, again] = ["base.cbh", "tables", "again.cbh"].map(at);
    succeeds(&["import", "--create", path(&base), path(&at("games.pgn"))]);
    export(&base, &tables, &[]);
    succeeds(&["import", "--create", path(&again), path(&tables)]);
    let tags_of = |base: &Path| {
        let text = String::from_utf8(cbfs(&["export", path(base)]).stdout).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(tags_of(&again), tags_of(&base));
    assert!(tags_of(&base).contains(&"[Foo \"2\"]".to_owned()));
}

#[test]
fn a_row_says_what_headers_tsv_says() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("tables");
    let base = fixture("cbh/sample/sample.cbh");
    export(&base, &folder, &["--deleted"]);
    let rows = rows_of(&folder.join("games"));
    let by_number: BTreeMap<String, &Row> =
        rows.iter().map(|row| (field(row, "number"), row)).collect();
    let listed = succeeds(&["find", path(&base), "--tsv"]);
    let mut lines = listed.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut compared = 0;
    for line in lines {
        let told: BTreeMap<_, _> = names.iter().copied().zip(line.split('\t')).collect();
        let row = by_number[told["number"]];
        for (column, name) in [
            ("White", "white"),
            ("Black", "black"),
            ("WhiteElo", "white_elo"),
            ("BlackElo", "black_elo"),
            ("Result", "result"),
            ("ECO", "eco"),
            ("Event", "event"),
            ("Site", "site"),
            ("round", "round"),
            ("subround", "subround"),
            ("Annotator", "annotator"),
            ("SourceTitle", "source"),
            ("WhiteTeam", "white_team"),
            ("BlackTeam", "black_team"),
            ("moves", "moves"),
            ("medals", "medals"),
            ("deleted", "deleted"),
        ] {
            let known = told[name].replace('?', "");
            assert_eq!(field(row, column), known, "{line}: {column}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(
        rows.len() > listed.lines().count() - 1,
        "deleted games are there too"
    );
    let without = scratch.path().join("without");
    export(&base, &without, &[]);
    assert_eq!(
        rows_of(&without.join("games")).len(),
        listed.lines().count() - 1
    );
}

#[test]
fn games_are_in_the_folder_of_their_year_sorted_by_opening() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("tables");
    export(&fixture("cbh/sample/sample.cbh"), &folder, &["--positions"]);
    let mut years = Vec::new();
    for (name, file) in files_of(&folder.join("games")) {
        let year = name
            .strip_prefix("year=")
            .unwrap()
            .split('/')
            .next()
            .unwrap()
            .to_owned();
        let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
        let metadata = reader.metadata();
        let keys = metadata.file_metadata().key_value_metadata().unwrap();
        let version = keys.iter().find(|pair| pair.key == "cbfs.schema").unwrap();
        assert_eq!(version.value, Some(SCHEMA_VERSION.to_string()));
        let mut openings = Vec::new();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let date = field(&row, "Date");
            assert!(date.is_empty() || date.starts_with(&year), "{date} {year}");
            openings.push(field(&row, "ECO"));
        }
        assert!(openings.is_sorted(), "{year}: {openings:?}");
        for (at, column) in GAME_COLUMNS.iter().enumerate() {
            let chunk = metadata.row_group(0).column(at);
            if column.kind == ColumnKind::Name {
                assert!(chunk.bloom_filter_offset().is_some(), "{}", column.name);
            }
            if matches!(
                column.kind,
                ColumnKind::Int | ColumnKind::Date | ColumnKind::Text
            ) {
                assert!(chunk.statistics().is_some(), "{}", column.name);
            }
        }
        years.push(year);
    }
    assert!(years.len() > 3, "{years:?}");
    let positions = rows_of(&folder.join("positions"));
    let games = rows_of(&folder.join("games"));
    let plies: i32 = games
        .iter()
        .map(|row| field(row, "plies").parse::<i32>().unwrap() + 1)
        .sum();
    assert_eq!(positions.len(), usize::try_from(plies).unwrap());
    // The key of the start position, as every Polyglot book has it.
    let start = 0x463b_9618_1691_fc9c_u64.cast_signed().to_string();
    let starts = positions.iter().filter(|row| field(row, "hash") == start);
    assert!(starts.count() > 10);
}

#[test]
fn a_table_of_another_program_is_imported() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let table = |file: &Path, columns: &[(&str, &str)]| {
        let fields = columns.iter().fold(String::new(), |fields, (name, _)| {
            fields + "optional binary " + name + " (STRING);"
        });
        let schema = parse_message_type(&format!("message m {{ {fields} }}")).unwrap();
        let file = File::create(file).unwrap();
        let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (_, value) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let values = [ByteArray::from(*value)];
            let writer = column.typed::<ByteArrayType>();
            writer.write_batch(&values, Some(&[1]), None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    };
    table(
        &at("lichess.parquet"),
        &[
            ("event", "Rated \"Blitz\" game"),
            ("White", "one"),
            ("Black", "two\\"),
            ("Result", "1-0"),
            ("TimeControl", "300+0"),
            ("rating_mean", "1500"),
            (
                "movetext",
                "1. e4 { [%eval 0.17] [%clk 0:00:30] } 1... e5 1-0",
            ),
        ],
    );
    let new = at("new.cbh");
    succeeds(&[
        "import",
        "--create",
        path(&new),
        path(&at("lichess.parquet")),
    ]);
    let games = succeeds(&["export", path(&new)]);
    for part in [
        "[Event \"Rated \\\"Blitz\\\" game\"]",
        "[White \"one\"]",
        "[Black \"two\\\\\"]",
        "[TimeControl \"300+0\"]",
        "[%eval 0.17]",
        "[%clk 0:00:30]",
        "1... e5 1-0",
    ] {
        assert!(games.contains(part), "{part}: {games}");
    }
    assert!(!games.contains("1500"), "{games}");
    table(
        &at("other.parquet"),
        &[("White", "one"), ("moves", "1. e4")],
    );
    let output = cbfs(&["import", path(&new), path(&at("other.parquet"))]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("no column `movetext` or `moves_uci`"),
        "{}",
        said(&output)
    );
}

#[test]
fn tables_are_written_into_a_new_folder_or_not_at_all() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let base = fixture("cbh/sample/sample.cbh");
    let export = |base: &Path, options: &[&str]| {
        let arguments = ["export", "--format", "parquet", path(base)];
        let output = cbfs(&[&arguments, options].concat());
        (output.status.code(), said(&output))
    };
    fs::create_dir_all(at("full/games")).unwrap();
    fs::write(at("file"), "mine").unwrap();
    fs::create_dir(at("empty")).unwrap();
    let before = files_in(scratch.path());
    let book = fixture("book/kvetka.kin");
    for (base, options, why) in [
        (&base, &["-o", path(&at("full"))][..], "is not empty"),
        (&base, &["-o", path(&at("file"))], "is no folder"),
        (&base, &["-o", path(&at("nowhere/tables"))], "No such file"),
        (&base, &[], "name a new folder for them with -o"),
        (&book, &["-o", path(&at("book"))], "has no games"),
    ] {
        let (code, said) = export(base, options);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(files_in(scratch.path()), before);
    assert_eq!(export(&base, &["-o", path(&at("empty"))]).0, Some(0));
    assert!(at("empty/games").is_dir());
    let left = fs::read_dir(scratch.path()).unwrap();
    let hidden = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with('.')
    });
    assert_eq!(hidden.count(), 0, "temporary folders are gone");
}

#[test]
fn damaged_tables_are_refused_and_nothing_is_imported() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    export(&fixture("cbh/sample/sample.cbh"), &at("tables"), &[]);
    let (_, file) = files_of(&at("tables/games")).pop_first().unwrap();
    let whole = fs::read(file).unwrap();
    let damaged = at("damaged.parquet");
    let mut numbers = common::numbers::Numbers::of(18);
    let mut refused = 0;
    for case in 0..60 {
        let mut bytes = whole.clone();
        if case % 3 == 0 {
            bytes.truncate(numbers.below(bytes.len()));
        } else {
            for _ in 0..=case % 4 {
                let place = numbers.below(bytes.len());
                bytes[place] ^= 1 << (case % 8);
            }
        }
        fs::write(&damaged, bytes).unwrap();
        let new = at("new.cbh");
        let output = cbfs(&["import", "--create", path(&new), path(&damaged)]);
        let code = output.status.code().unwrap();
        assert!(code < 2, "{}", said(&output));
        assert!(!said(&output).contains("panicked"), "{}", said(&output));
        refused += code;
        assert_eq!(new.exists(), code == 0, "{}", said(&output));
        for file in fs::read_dir(scratch.path()).unwrap() {
            let file = file.unwrap().path();
            if file.file_stem().is_some_and(|stem| stem == "new") {
                fs::remove_file(file).unwrap();
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Writes a table with one column of texts, of which each row has the same.
fn table_of_same(file: &Path, name: &str, text: &[u8], rows: usize, packing: Compression) {
    let schema = format!("message m {{ required binary {name} (STRING); }}");
    let properties = WriterProperties::builder()
        .set_compression(packing)
        .set_statistics_enabled(EnabledStatistics::None);
    let mut writer = SerializedFileWriter::new(
        File::create(file).unwrap(),
        Arc::new(parse_message_type(&schema).unwrap()),
        Arc::new(properties.build()),
    )
    .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = vec![ByteArray::from(text.to_vec()); rows];
    let typed = column.typed::<ByteArrayType>();
    typed.write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn tables_that_claim_too_much_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let zeros = vec![b'0'; 200 << 20];
    table_of_same(&at("long.parquet"), "movetext", &zeros, 1, zstd);
    drop(zeros);
    table_of_same(&at("many.parquet"), "movetext", b"1. e4 *", 1 << 20, zstd);
    let schema = parse_message_type("message m { required int64 movetext; }").unwrap();
    let file = File::create(at("numbers.parquet")).unwrap();
    let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    writer.close().unwrap();
    // In the end a column of moves, in thousands of others that are in each other.
    let mut nested = vec![0x15, 0x02, 0x19, 0xfc, 0xa1, 0x9c, 0x01];
    nested.extend([0x48, 1, b'm', 0x15, 2, 0].repeat(20_000));
    nested.extend([0x15, 12, 0x25, 0, 0x18, 8]);
    nested.extend_from_slice(b"movetext\0");
    nested.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = u32::try_from(nested.len()).unwrap().to_le_bytes();
    let deep = [b"PAR1", &nested[..], &length, b"PAR1"].concat();
    fs::write(at("deep.parquet"), deep).unwrap();
    for (file, why) in [
        ("deep.parquet", "too deep"),
        ("numbers.parquet", "is not of text"),
        ("long.parquet", "unpacks to"),
        ("many.parquet", "rows are declared in a file of"),
    ] {
        let new = at("new.cbh");
        let output = cbfs(&["import", "--create", path(&new), path(&at(file))]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(said(&output).contains(why), "{file}: {}", said(&output));
        assert!(!new.exists());
    }
}

#[test]
fn rows_are_in_the_order_of_the_table_whatever_the_order_of_the_base() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let mut pgn = String::new();
    let openings = ["1. e4 e5", "1. d4 d5", "1. c4", "", "1. e4 c5 2. Nf3"];
    for game in 0..500 {
        let moves = openings[game % 5];
        let eco = ["C20", "D06", "A10", "", "B27"][game % 5];
        let tags = format!("[White \"w{game}\"]\n[Date \"1999.??.??\"]\n[ECO \"{eco}\"]\n");
        pgn.push_str(&tags);
        pgn.push_str("[Result \"*\"]\n\n");
        pgn.push_str(moves);
        pgn.push_str(" *\n\n");
    }
    fs::write(at("games.pgn"), pgn).unwrap();
    succeeds(&[
        "import",
        "--create",
        path(&at("a.cbh")),
        path(&at("games.pgn")),
    ]);
    export(&at("a.cbh"), &at("tables"), &["--positions"]);
    let rows = rows_of(&at("tables/games"));
    let keys: Vec<(String, usize)> = rows
        .iter()
        .map(|row| (field(row, "ECO"), field(row, "number").parse().unwrap()))
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
    for row in &rows {
        let number: usize = field(row, "number").parse().unwrap();
        assert_eq!(field(row, "White"), format!("w{}", number - 1));
        let (_, moves) = row
            .get_column_iter()
            .find(|(name, _)| *name == "moves_uci")
            .unwrap();
        let known = [
            "[\"e2e4\", \"e7e5\"]",
            "[\"d2d4\", \"d7d5\"]",
            "[\"c2c4\"]",
            "[]",
            "[\"e2e4\", \"c7c5\", \"g1f3\"]",
        ];
        assert_eq!(moves.to_string(), known[(number - 1) % 5]);
    }
}

#[test]
fn the_documentation_names_all_columns() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/data.md"));
    let page = page.unwrap();
    let line = |column: &Column| {
        let Column {
            name,
            kind,
            meaning,
        } = column;
        format!("| `{name}` | {} | {meaning} |", kind.sql())
    };
    for column in GAME_COLUMNS.iter().chain(POSITION_COLUMNS) {
        assert!(page.contains(&line(column)), "{}", line(column));
    }
    assert!(page.contains(&format!("schema version {SCHEMA_VERSION}")));
}
