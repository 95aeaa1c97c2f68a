use super::*;

fn name_of(head: &[u8], text: &[u8]) -> String {
    Pages::new(None, head).page_of(text).page.to_string()
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
    let given = Pages::new(page_of_label("866"), cyrillic).page_of(cyrillic);
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
fn encoded(text: &str, page: Page) -> Option<Vec<u8>> {
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
            let mut found = Pages::new(None, &games.concat());
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
        let found = Pages::new(None, text).page_of(text);
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
    let mut pages = Pages::new(None, &text);
    assert_eq!(pages.page_of(&text).trust, pages.page_of(&text).trust);
    let spaced: Vec<u8> = text
        .chunks(9)
        .flat_map(|word| [word, b" "].concat())
        .collect();
    pages.page_of(&spaced);
}
