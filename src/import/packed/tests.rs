use std::io::Write;

use super::*;

const TEXT: &str = "[White \"Hübner\"]\n\n1. e4 *\n\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(text, CompressionLevel::Fastest)
}

fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        let options = ::zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The texts in a file, with the members' names, or the error.
fn texts(name: &str, bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut texts = Vec::new();
    let mut input = BufReader::with_capacity(7, Cursor::new(bytes));
    for_each_text(Path::new(name), &mut input, &mut |text| {
        let (member, mut reader) = (text.member, text.reader);
        let mut all = String::new();
        reader.read_to_string(&mut all)?;
        texts.push((member.unwrap_or_default(), all));
        Ok(())
    })
    .map_err(|error: io::Error| error.to_string())?;
    Ok(texts)
}

fn text(name: &str, bytes: &[u8]) -> Result<String, String> {
    texts(name, bytes).map(|texts| texts.into_iter().map(|(_, text)| text).collect())
}

type Pack = fn(&[u8]) -> Vec<u8>;

const PACKERS: [(&str, Pack); 3] = [("gz", gzip), ("bz2", bzip2), ("zst", zstd)];

#[test]
fn packed_texts_of_any_number_of_members_are_one_text() {
    for (extension, pack) in PACKERS {
        let name = format!("a.pgn.{extension}");
        let long = TEXT.repeat(5000);
        let packed = [pack(TEXT.as_bytes()), pack(b""), pack(long.as_bytes())].concat();
        let whole = TEXT.to_owned() + &long;
        // The bytes tell what it is, whatever its name.
        for name in [name.as_str(), "a.pgn", "a"] {
            assert!(text(name, &packed).unwrap() == whole, "{name}");
        }
        assert_eq!(text(&name, TEXT.as_bytes()).unwrap(), TEXT);
    }
}

#[test]
fn a_window_that_is_too_large_is_no_damage() {
    // A frame without a content size, with a window of 256 MiB.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 1, 0, 0];
    let why = text("a.zst", &frame).unwrap_err();
    assert!(why.contains("a window of 256 MiB"), "{why}");
    assert!(why.contains("up to 128 MiB"), "{why}");
    assert!(!why.contains("damaged"), "{why}");
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0];
    assert_eq!(text("a.zst", &frame).unwrap(), "");
}

#[test]
fn frames_without_data_are_passed_over() {
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let packed = [skipped.clone(), zstd(TEXT.as_bytes()), skipped.clone()].concat();
    assert_eq!(text("a.zst", &packed).unwrap(), TEXT);
    let cut = &packed[..packed.len() - 1];
    assert!(text("a.zst", cut).unwrap_err().contains("cut short"));
}

#[test]
fn damaged_and_cut_data_is_an_error_with_its_offset() {
    let comments = (0..20_000).map(|number| format!("{{{number}}} "));
    let long = comments.collect::<Vec<_>>().concat();
    for (extension, pack) in PACKERS {
        let name = format!("a.pgn.{extension}");
        let packed = pack(long.as_bytes());
        for cut in [packed.len() - 1, packed.len() / 2, 5] {
            let error = text(&name, &packed[..cut]).unwrap_err();
            assert!(error.contains("offset"), "{extension} {cut}: {error}");
        }
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        for byte in &mut damaged[middle..middle + 8] {
            *byte ^= 0x55;
        }
        let error = text(&name, &damaged).unwrap_err();
        assert!(
            error.contains("damaged or cut short"),
            "{extension}: {error}"
        );
        let error = text(&name, b"").unwrap_err();
        assert!(error.contains("at offset 0"), "{extension}: {error}");
    }
}

#[test]
fn members_of_a_zip_archive_come_in_order_with_their_names() {
    let members = [
        ("b.pgn", "1. e4 *"),
        ("notes.txt", "x"),
        ("c/A.PGN", "1. d4 *"),
        ("__MACOSX/c/._A.pgn", "\0"),
    ];
    let found = texts("a.zip", &zip(&members)).unwrap();
    let expected = [("b.pgn", "1. e4 *"), ("c/A.PGN", "1. d4 *")];
    assert_eq!(
        found,
        expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
    );
    let error = texts("a.zip", &zip(&members[1..2])).unwrap_err();
    assert!(error.contains("no member"), "{error}");
    let whole = zip(&members);
    assert!(texts("a.zip", &whole[..whole.len() / 2]).is_err());
    let mut damaged = zip(&[("a.pgn", &TEXT.repeat(100))]);
    damaged[50] ^= 0xff;
    let error = texts("a.zip", &damaged).unwrap_err();
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn archives_of_other_kinds_are_named() {
    for (head, name) in [
        (&b"\xfd7zXZ\0"[..], "xz"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (b"Rar!\x1a\x07\x01\0", "RAR"),
    ] {
        let error = text("a.pgn", head).unwrap_err();
        assert!(error.contains(name) && error.contains("unpack"), "{error}");
    }
}

#[test]
fn the_error_for_a_non_text_file_names_the_remedy() {
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for bytes in [tar.clone(), gzip(&tar)] {
        let error = text("a.pgn", &bytes).unwrap_err();
        assert!(error.contains("tar archive"), "{error}");
    }
    let header = b"\x2c\0\x2e\x01\0\0\0\x05CBH\0\0\x01";
    let error = text("a.cbh", header).unwrap_err();
    assert!(error.contains("cbfs export"), "{error}");
    let cut_off = [TEXT.as_bytes(), b"\0"].concat();
    assert_eq!(text("a.pgn", &cut_off).unwrap().as_bytes(), cut_off);
}

#[test]
fn utf_16_is_read_with_a_mark_and_without() {
    let little: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
    for bytes in [
        little.clone(),
        big.clone(),
        marked(b"\xff\xfe", &little),
        marked(b"\xfe\xff", &big),
        gzip(&little),
    ] {
        assert_eq!(text("a.pgn", &bytes).unwrap(), TEXT);
    }
    let long: Vec<u8> = TEXT
        .repeat(3000)
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(text("a.pgn", &long).unwrap() == TEXT.repeat(3000));
    // Half a character is none, and is not replaced.
    let half = marked(&little, &[0x3d, 0xd8, 0x20, 0]);
    for bytes in [&half, &little[..little.len() - 1]] {
        let error = text("a.pgn", bytes).unwrap_err();
        assert!(error.contains("UTF-16"), "{error}");
    }
}

#[test]
fn zeros_behind_a_gzip_member_are_passed_over() {
    let once = gzip(TEXT.as_bytes());
    let zeros = [0; 1000];
    for (bytes, games) in [
        ([&once[..], &zeros].concat(), 1),
        ([&once[..], &zeros, &once, &zeros].concat(), 2),
    ] {
        assert_eq!(text("a.gz", &bytes), Ok(TEXT.repeat(games)));
    }
    let rest = [&once[..], &zeros, b"more"].concat();
    let error = text("a.gz", &rest).unwrap_err();
    assert!(error.contains("gzip data damaged or cut short"), "{error}");
}

/// A zip archive of one member, packed by a method that the writer has not.
fn zip_of(name: &str, method: u16, packed: &[u8], text: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(text);
    let two = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
    let four = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let shared = [
        &two(63)[..],
        &two(0),
        &method.to_le_bytes(),
        &[0; 4],
        &crc.sum().to_le_bytes(),
        &four(packed.len()),
        &four(text.len()),
        &two(name.len()),
        &two(0),
    ]
    .concat();
    let local = [b"PK\x03\x04", &shared[..], name.as_bytes(), packed].concat();
    let central = [
        b"PK\x01\x02",
        &two(63)[..],
        &shared,
        &[0; 14],
        name.as_bytes(),
    ]
    .concat();
    let end = [
        b"PK\x05\x06",
        &[0; 4][..],
        &two(1),
        &two(1),
        &four(central.len()),
        &four(local.len()),
        &two(0),
    ]
    .concat();
    [local, central, end].concat()
}

#[test]
fn members_of_an_archive_are_unpacked_however_they_are_packed() {
    let plain = TEXT.as_bytes();
    for (method, packed) in [(12, bzip2(plain)), (93, zstd(plain)), (20, zstd(plain))] {
        let archive = zip_of("a.pgn", method, &packed, plain);
        assert_eq!(text("a.zip", &archive), Ok(TEXT.to_owned()), "{method}");
        let error = text("a.zip", &zip_of("a.pgn", method, &packed, b"other")).unwrap_err();
        assert!(error.contains("checksum"), "{method}: {error}");
    }
    for (method, name) in [
        (14, "LZMA"),
        (95, "xz"),
        (9, "Deflate64"),
        (98, "another method"),
        (77, "another method"),
    ] {
        let error = text("a.zip", &zip_of("a.pgn", method, b"x", plain)).unwrap_err();
        let expected = error.contains(name) && error.contains("a.pgn: this member is packed by");
        assert!(expected && error.contains("unpack it first"), "{error}");
    }
    for (extension, pack) in PACKERS {
        let packed = pack(plain);
        let archive = zip_of(&format!("b/a.pgn.{extension}"), 0, &packed, &packed);
        assert_eq!(text("a.zip", &archive), Ok(TEXT.to_owned()), "{extension}");
    }
    let inner = zip(&[("a.pgn", TEXT)]);
    let error = text("a.zip", &zip_of("a.pgn", 0, &inner, &inner)).unwrap_err();
    assert!(
        error.contains("a.pgn: a zip archive in another one"),
        "{error}"
    );
}
