use super::*;

fn name_of(head: &[u8], text: &[u8]) -> String {
    TextPages::new(None, head).page_of(text).page.to_string()
}

#[test]
fn a_game_tells_its_page_else_the_file_does() {
    let cyrillic =
        b"[White \"\xca\xe0\xf0\xef\xee\xe2, \xc0\xed\xe0\xf2\xee\xeb\xe8\xe9\"]\n\n1. e4 *\n";
    let short = b"[White \"\xcb\xe8\"]\n\n1. e4 *\n";
    let western = b"[White \"H\xfcbner, Robert\"]\n\n1. e4 *\n";
    let polish = b"[White \"Wojtaszek, Rados\xb3aw\"]\n\n1. e4 *\n";
    for (head, text, expected) in [
        (&cyrillic[..], &cyrillic[..], "windows-1251"),
        (cyrillic, short, "windows-1251"),
        (cyrillic, western, "windows-1252"),
        (western, cyrillic, "windows-1251"),
        (western, western, "windows-1252"),
        (western, polish, "windows-1250"),
        (polish, western, "windows-1250"),
        (b"", short, "windows-1251"),
    ] {
        assert_eq!(name_of(head, text), expected, "{head:?} {text:?}");
    }
    let given = TextPages::new(page_of_label("866"), cyrillic).page_of(cyrillic);
    assert_eq!(given.page.to_string(), "IBM866");
    assert_eq!(given.trust, Trust::Given);
}

#[test]
fn letters_of_russian_pieces_tell_the_page() {
    for (letters, page) in [
        ([0xca, 0xd1], "windows-1251"),
        ([0xeb, 0xf3], "KOI8-R"),
        ([0x8a, 0x91], "IBM866"),
    ] {
        let [knight, bishop] = letters;
        let moves = [
            b"1. e4 e5 2. ",
            &[knight][..],
            b"f3 d6 3. ",
            &[bishop],
            b"xc4 *",
        ]
        .concat();
        assert_eq!(name_of(b"", &moves), page, "{letters:x?}");
    }
}

/// Names of players as they are read in a page.
const NAMES: [(&[&str], &str); 12] = [
    (
        &["windows-1252", "437", "850", "macintosh"],
        "Hübner, Robert;Müller, Jörg;Schäfer, Günter;Weiß, Jürgen",
    ),
    (
        &["windows-1252", "437", "850", "macintosh"],
        "Muñoz, José;García, Raúl;Ibáñez, Julián;Vachier-Lagrave, Frédéric;François, Jérôme",
    ),
    (
        &["windows-1252", "850", "macintosh"],
        "Sørensen, Jørgen;Ødegård, Pål;Kjær, Håkon;Östergård, Åke",
    ),
    (
        &["windows-1250", "852", "iso-8859-2"],
        "Wojtaszek, Radosław;Świercz, Dariusz;Soćko, Bartosz;Dzięgielewski, Łukasz",
    ),
    (
        &["windows-1250", "852", "iso-8859-2"],
        "Láznička, Jiří;Hráček, Zbyněk;Šimáček, Tomáš;Dvořák, Žofie",
    ),
    (
        &["windows-1250", "852"],
        "Polgár, Zsófia;Erdős, Viktor;Győző, Bárczay;Szűcs, Ödön",
    ),
    (
        &["windows-1250", "852", "iso-8859-2"],
        "Šarić, Ivan;Gligorić, Svetozar;Đurić, Stefan;Kožul, Čedo",
    ),
    (
        &["windows-1254", "857"],
        "Şahin, Ayşe;Yılmaz, Mustafa;Erdoğdu, Mert;Güneş, İbrahim",
    ),
    (
        &["windows-1253", "737", "iso-8859-7"],
        "Παπαϊωάννου, Ιωάννης;Κοτρωνιάς, Βασίλειος;Χαλκιάς, Στέλιος",
    ),
    (
        &[
            "windows-1251",
            "866",
            "koi8-r",
            "iso-8859-5",
            "x-mac-cyrillic",
            "855",
        ],
        "Карпов, Анатолий;Непомнящий, Ян;Смыслов, Василий",
    ),
    (
        &["windows-1257", "775"],
        "Bērziņš, Kārlis;Krūmiņš, Ģirts;Kovaļenko, Igors;Neikšāns, Artūrs",
    ),
    (
        &["windows-1257", "775"],
        "Šulskis, Šarūnas;Čmilytė, Viktorija;Žukauskas, Kęstutis;Mikėnas, Vladas",
    ),
];

/// A text in a page.
fn encoded(text: &str, page: EightBitPage) -> Option<Vec<u8>> {
    let byte_of = |c: char| {
        let mut high = 0x80..=0xff;
        let byte = u8::try_from(c).ok().filter(u8::is_ascii);
        byte.or_else(|| high.find(|byte| page.character(*byte) == Some(c)))
    };
    text.chars().map(byte_of).collect()
}

#[test]
fn names_of_five_games_tell_their_page() {
    for (pages, names) in NAMES {
        for label in pages {
            let page = page_of_label(label).unwrap();
            let games = names
                .split(';')
                .map(|name| format!("[White \"{name}\"]\n\n1. e4 *\n\n"));
            let games: Vec<Vec<u8>> = games.filter_map(|game| encoded(&game, page)).collect();
            assert!(games.len() > 2, "{label}");
            let mut found = TextPages::new(None, &games.concat());
            for game in &games {
                let as_read = found.page_of(game).page.decode(game);
                assert_eq!(as_read, page.decode(game), "{label}");
            }
        }
    }
}

#[test]
fn a_game_of_one_telling_word_tells_it() {
    for (text, expected) in [
        (&b"[White \"M\x81ller\"]"[..], "Müller"),
        (b"[White \"K\x94nig\"]", "König"),
        (b"[White \"M\x9fller\"]", "Müller"),
        (b"[White \"J\xa0nos\"]", "János"),
        (b"{Wei\xdf steht \x84besser\x93}", "Weiß steht „besser“"),
        (
            b"{l\x92ouverture fran\xe7aise \x96 bien}",
            "l’ouverture française – bien",
        ),
    ] {
        let found = TextPages::new(None, text).page_of(text);
        let as_read = found.page.decode(text);
        assert!(as_read.contains(expected), "{as_read}");
    }
}

#[test]
fn words_of_a_hostile_text_are_bounded() {
    let text: Vec<u8> = (0..2_000_000_u32)
        .flat_map(|n| {
            [
                0xc0 | u8::try_from(n % 61).unwrap_or(0),
                b'a' + u8::try_from(n % 7).unwrap_or(0),
            ]
        })
        .collect();
    let mut pages = TextPages::new(None, &text);
    assert_eq!(pages.page_of(&text).trust, pages.page_of(&text).trust);
    let spaced: Vec<u8> = text
        .chunks(9)
        .flat_map(|word| [word, b" "].concat())
        .collect();
    pages.page_of(&spaced);
}

/// Names made up of the first and last names that are usual in a language.
const MADE_NAMES: &str = include_str!("../../../fixtures/pages/names.tsv");

/// The pages in which texts of some languages are met.
const PAGES_OF: [(&str, &[&str]); 6] = [
    (
        "German French Spanish Portuguese Italian Swedish Finnish Danish Norwegian Icelandic",
        &["windows-1252", "850", "437", "macintosh"],
    ),
    (
        "Polish Czech Slovak Hungarian Croatian Slovene Romanian",
        &["windows-1250", "852", "iso-8859-2"],
    ),
    ("Turkish", &["windows-1254", "857"]),
    ("Latvian Lithuanian Estonian", &["windows-1257", "775"]),
    (
        "Russian Bulgarian Ukrainian",
        &[
            "windows-1251",
            "866",
            "koi8-u",
            "iso-8859-5",
            "x-mac-cyrillic",
        ],
    ),
    ("Greek", &["windows-1253", "737", "iso-8859-7"]),
];

/// How many in a hundred of the names in files of so many games are read as they are.
fn read_rightly(names: &str, page: EightBitPage, games: usize) -> usize {
    let names = names.replace('ș', "ş").replace('ț', "ţ");
    let encoded: Vec<Vec<u8>> = (names.split(';'))
        .filter_map(|name| encoded(&format!("[White \"{name}\"]\n\n1. e4 *\n\n"), page))
        .collect();
    let mut right = 0;
    for file in encoded.chunks(games) {
        let mut found = TextPages::new(None, &file.concat());
        let is_right = |game: &&Vec<u8>| found.page_of(game).page.decode(game) == page.decode(game);
        right += file.iter().filter(is_right).count();
    }
    right * 100 / encoded.len()
}

/// What is read rightly of files of one name, and of ten: the lowest of all pages of
/// Windows, ISO and KOI8, and of all pages of DOS and the Mac.
#[test]
fn made_names_tell_their_page() {
    let mut lowest = [[100; 2]; 2];
    for line in MADE_NAMES.lines() {
        let (language, names) = line.split_once('\t').unwrap();
        let mut pages = PAGES_OF.iter();
        let (_, pages) = pages.find(|(of, _)| of.contains(language)).unwrap();
        for label in *pages {
            let page = page_of_label(label).unwrap();
            let is_old =
                page_of_label("macintosh") == Some(page) || EightBitPage::of_dos(label).is_some();
            for (lowest, games) in lowest[usize::from(is_old)].iter_mut().zip([1, 10]) {
                let right = read_rightly(names, page, games);
                *lowest = right.min(*lowest);
            }
        }
    }
    // As README says.
    let told = [[85, 90], [55, 95]];
    let pairs = lowest.as_flattened().iter().zip(told.as_flattened());
    assert!(
        pairs.into_iter().all(|(lowest, told)| lowest >= told),
        "{lowest:?}"
    );
}

#[test]
fn a_list_of_letters_is_no_turkish() {
    let letters = (0xc0..=0xff).filter(|byte| !matches!(byte, 0xd7 | 0xf7));
    let letters: Vec<u8> = letters.flat_map(|byte| [byte, b' ']).collect();
    let text = [
        b"[White \"Kr\xe0mn\xeck, Vl\xe3dimir\"]\n\n{",
        &letters[..],
        b"} *\n",
    ]
    .concat();
    assert_eq!(name_of(b"", &text), "windows-1252");
}

#[test]
fn equal_code_pages_report_the_most_common() {
    let cyclist = b"[White \"\xc7i\xe7ek, \xd6zg\xfcr\"]\n\n1. e4 *\n";
    assert_eq!(name_of(b"", cyclist), "windows-1252");
    let turkish = b"[White \"Y\xfdlmaz, Mustafa\"]\n\n1. e4 *\n";
    let found = TextPages::new(None, turkish).page_of(turkish);
    assert_eq!(found.page.to_string(), "windows-1254");
    let sample = Sample::of(turkish, found).unwrap().to_string();
    let (read, otherwise) = sample.split_once(" (as windows-").unwrap();
    assert_eq!(read, "\"Yılmaz, Mustafa\"");
    assert!(otherwise.contains(" it would be \"Y"), "{sample}");
}
