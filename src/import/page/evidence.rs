//! What the words of a text say of the page that it is in.
//!
//! Each page reads a word of other letters. What a page makes of it has a cost,
//! a logarithm of how unlikely it is: in the language that it fits best,
//! of letters that are rare there, of consonants in a row, of capitals amid small
//! letters, of signs between letters, of bytes that are no characters. The page
//! in which all words cost least is taken. A word counts once, however often it
//! is met.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::languages::{LANGUAGES, Language, NEVER_FIRST, ONLY_FIRST, Script, VOWELS};
use super::page_of_label;
use crate::pgn::{EightBitPage, InPage, Trust};

/// The pages that are told from each other, with how much less often they are met
/// than the first one: tenths of a natural logarithm.
const PAGES: [(&str, u8); 28] = [
    ("windows-1252", 0),
    ("windows-1250", 5),
    ("windows-1251", 5),
    ("windows-1253", 5),
    ("windows-1254", 8),
    ("windows-1257", 14),
    ("850", 18),
    ("437", 20),
    ("852", 20),
    ("866", 20),
    ("737", 25),
    ("857", 28),
    ("775", 28),
    ("macintosh", 25),
    ("koi8-r", 15),
    ("koi8-u", 25),
    ("iso-8859-2", 22),
    ("iso-8859-7", 25),
    ("iso-8859-15", 28),
    ("iso-8859-13", 35),
    ("iso-8859-5", 40),
    ("x-mac-cyrillic", 40),
    ("865", 35),
    ("861", 35),
    ("863", 40),
    ("869", 42),
    ("855", 45),
    ("iso-8859-4", 50),
];

/// So many words are looked at, of a text and of a game.
const MOST_WORDS: usize = 4096;
const MOST_WORDS_OF_GAME: usize = 64;

/// So much of a word is looked at.
const WORD_BYTES: usize = 40;

/// What bytes cost that are no characters, signs, letters.
const NO_CHARACTER: f32 = 16.0;
const SIGN_IN_WORD: f32 = 14.0;
const STRANGE_SIGN: f32 = 9.0;
const USUAL_SIGN: f32 = 3.0;
const APOSTROPHE: f32 = 5.0;
const STRANGE_LETTER: f32 = 9.0;
/// Latin words are of ASCII but for some letters.
const BEYOND_ASCII: f32 = 2.3;
const SECOND_IN_A_ROW: f32 = 2.0;
const CAPITAL: f32 = 0.5;
const CAPITAL_AMID: f32 = 7.0;
const CAPITALS: f32 = 1.5;
const AT_WRONG_PLACE: f32 = 5.0;
const VOWEL_BY_VOWEL: f32 = 1.0;
const CONSONANT_BY_CONSONANT: f32 = 0.7;

/// Cost of a change of code page between neighbouring words: the least by which
/// one game can show that another has a different code page.
const OTHER_PAGE: f32 = 8.0;
/// Maximum cost per letter at which a game is plain.
const PLAIN: f32 = 5.5;
/// Cost difference to other code pages from which a code page is certain.
const CERTAIN: f32 = 10.0;

/// Cost of a letter that stands alone, as in a list of all letters; it has no
/// usual neighbours.
const LONE_LETTER: f32 = 3.0;

const LETTERS_IN_A_ROW: f32 = 1.5;
const SMALL_NAME: f32 = 2.5;

/// Signs that stand in front of words, or behind them, in any text.
const OPENING: &str = "“„‚‘«¡¿–—";
const CLOSING: &str = "“”‘’»…–—";
/// Signs that stand by themselves.
const LONELY: &str = "½±×°•·§";

static CANDIDATES: LazyLock<Vec<PageCandidate>> = LazyLock::new(|| {
    let pages = PAGES.iter();
    let pages =
        pages.filter_map(|(label, rarity)| PageCandidate::new(page_of_label(label)?, *rarity));
    pages.collect()
});

static WESTERN: PageCandidate = PageCandidate {
    page: EightBitPage::WESTERN,
    rarity: 0.0,
    characters: Vec::new(),
    signs: Vec::new(),
    tongues: Vec::new(),
};

/// A page that a text may be in.
#[derive(Debug)]
struct PageCandidate {
    page: EightBitPage,
    rarity: f32,
    /// The characters of the bytes from 0x80 on.
    characters: Vec<Option<char>>,
    /// What these are.
    signs: Vec<Sign>,
    /// The languages that it has the letters of, with what each byte costs.
    tongues: Vec<Tongue>,
}

#[derive(Debug)]
struct Tongue {
    script: Script,
    rarity: f32,
    letters: Vec<f32>,
    usual: &'static [&'static str],
}

/// What a byte is in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Letter(Letter),
    Blank,
    Mark(char),
    Strange,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    c: char,
    is_capital: bool,
    is_vowel: bool,
    is_ascii: bool,
}

impl Letter {
    fn of(c: char) -> Letter {
        let small = small(c);
        Letter {
            c: small,
            is_capital: c.is_uppercase(),
            is_vowel: VOWELS.contains(small),
            is_ascii: c.is_ascii(),
        }
    }
}

fn small(c: char) -> char {
    // `İ` comes to two characters.
    c.to_lowercase().next().unwrap_or(c)
}

impl Sign {
    fn of(c: Option<char>) -> Sign {
        match c {
            None | Some('\u{80}'..='\u{9f}') => Sign::Nothing,
            Some('\u{a0}') => Sign::Blank,
            Some('ª' | 'º' | 'ƒ' | 'ⁿ' | 'µ') => Sign::Strange,
            Some(c) if c.is_alphabetic() => Sign::Letter(Letter::of(c)),
            Some(c)
                if [OPENING, CLOSING, LONELY]
                    .iter()
                    .any(|signs| signs.contains(c)) =>
            {
                Sign::Mark(c)
            }
            Some(_) => Sign::Strange,
        }
    }
}

impl PageCandidate {
    fn new(page: EightBitPage, rarity: u8) -> Option<PageCandidate> {
        let characters: Vec<Option<char>> =
            (0x80..=0xff).map(|byte| page.character(byte)).collect();
        let tongues: Vec<Tongue> = LANGUAGES
            .iter()
            .filter_map(|language| Tongue::new(language, &characters))
            .collect();
        (!tongues.is_empty()).then(|| PageCandidate {
            page,
            rarity: f32::from(rarity) / 10.0,
            signs: characters.iter().map(|c| Sign::of(*c)).collect(),
            characters,
            tongues,
        })
    }

    fn sign(&self, byte: u8) -> Sign {
        match byte.checked_sub(0x80) {
            None => Sign::Letter(Letter::of(char::from(byte))),
            Some(high) => {
                let sign = self.signs.get(usize::from(high));
                sign.copied().unwrap_or(Sign::Nothing)
            }
        }
    }

    /// Whether it reads bytes as another page does.
    fn reads_as(&self, other: &PageCandidate, bytes: HighBytes) -> bool {
        let pairs = self.characters.iter().zip(&other.characters).enumerate();
        let mut differ = pairs.filter(|(_, (one, other))| one != other);
        !differ.any(|(at, _)| bytes.0 >> at & 1 == 1)
    }

    /// What a word costs that is read in the page.
    fn cost(&self, word: Word<'_>) -> f32 {
        match word {
            Word::Piece(letters) => self.cost_of_piece(letters),
            Word::Letters(letters) => self.cost_of_letters(letters),
            Word::Name(letters) => {
                let first = letters.first().map(|byte| self.sign(*byte));
                let is_small = matches!(
                    first,
                    Some(Sign::Letter(Letter {
                        is_capital: false,
                        is_ascii: false,
                        ..
                    }))
                );
                let small = if is_small { SMALL_NAME } else { 0.0 };
                small + self.cost_of_letters(letters)
            }
        }
    }

    fn cost_of_letters(&self, letters: &[u8]) -> f32 {
        if let [letter] = letters
            && matches!(self.sign(*letter), Sign::Letter(_))
        {
            return LONE_LETTER;
        }
        let costs = self.tongues.iter();
        let costs = costs.map(|tongue| self.cost_in(tongue, letters));
        self.cost_of_form(letters) + costs.fold(f32::INFINITY, f32::min)
    }

    /// Whether a word is nothing strange in the page.
    fn is_plain(&self, word: Word<'_>) -> bool {
        self.cost(word) < USUAL_SIGN + PLAIN * count(word.high_bytes())
    }

    /// Moves begin with letters of Russian pieces.
    fn cost_of_piece(&self, letters: &[u8]) -> f32 {
        const PIECES: [&str; 9] = ["К", "Кр", "КР", "Ф", "Л", "С", "Т", "Д", "Ц"];
        let shown = self.page.decode(letters);
        if PIECES.contains(&shown.as_str()) {
            BEYOND_ASCII
        } else {
            STRANGE_LETTER
        }
    }

    /// What signs and capitals cost.
    fn cost_of_form(&self, word: &[u8]) -> f32 {
        let sign_at = |at: Option<usize>| Some(self.sign(*word.get(at?)?));
        let letter_at = |at| match sign_at(at) {
            Some(Sign::Letter(letter)) => Some(letter),
            _ => None,
        };
        let mut cost = 0.0;
        let mut capitals = 0;
        let mut has_small = false;
        for at in 0..word.len() {
            let before = letter_at(at.checked_sub(1));
            let after = letter_at(Some(at + 1));
            let is_amid = before.is_some() && after.is_some();
            let Some(sign) = sign_at(Some(at)) else { break };
            cost += match sign {
                Sign::Nothing => NO_CHARACTER,
                Sign::Blank if after.is_some_and(|after| after.is_capital) => APOSTROPHE,
                Sign::Mark('’' | '‘') if is_amid => APOSTROPHE,
                Sign::Blank | Sign::Mark(_) | Sign::Strange if is_amid => SIGN_IN_WORD,
                Sign::Mark(c) => cost_of_mark(c, before, after),
                Sign::Strange | Sign::Blank => STRANGE_SIGN,
                Sign::Letter(letter) => {
                    capitals += usize::from(letter.is_capital);
                    has_small |= !letter.is_capital;
                    match before {
                        Some(before) if letter.is_capital && !before.is_capital => CAPITAL_AMID,
                        Some(before)
                            if before.is_capital
                                && !letter.is_capital
                                && at > 1
                                && letter_at(at.checked_sub(2))
                                    .is_some_and(|first| first.is_capital) =>
                        {
                            CAPITAL_AMID
                        }
                        _ if letter.is_capital && !letter.is_ascii => CAPITAL,
                        _ => 0.0,
                    }
                }
            };
        }
        if capitals > 1 && !has_small {
            cost += CAPITALS;
        }
        cost
    }

    /// Whether a word has these letters in a row, where it begins or ends if a
    /// `|` stands there.
    fn has(&self, word: &[u8], row: &str) -> bool {
        let end = row.strip_suffix('|');
        let row = end.unwrap_or(row);
        let begin = row.strip_prefix('|');
        let row = begin.unwrap_or(row);
        let len = row.chars().count();
        let is_at = |at: usize| {
            if begin.is_some() && at > 0 || end.is_some() && at + len != word.len() {
                return false;
            }
            let mut bytes = word.iter().skip(at);
            row.chars()
                .all(|c| match bytes.next().map(|byte| self.sign(*byte)) {
                    Some(Sign::Letter(letter)) => letter.c == c,
                    _ => false,
                })
        };
        (0..word.len()).any(is_at)
    }

    /// What the letters cost in a language.
    fn cost_in(&self, tongue: &Tongue, word: &[u8]) -> f32 {
        let is_latin = tongue.script == Script::Latin;
        let mut cost = tongue.rarity;
        let mut before: Option<Letter> = None;
        let is_usual = |row: &&&str| self.has(word, row);
        let usual = tongue.usual.iter().filter(is_usual).count();
        cost -= LETTERS_IN_A_ROW * count(usual.min(2));
        for byte in word {
            let Sign::Letter(letter) = self.sign(*byte) else {
                before = None;
                continue;
            };
            let mut is_beside_ascii = letter.is_ascii;
            if let Some(before) = before {
                is_beside_ascii &= before.is_ascii;
                if !is_beside_ascii && letter.is_vowel && before.is_vowel {
                    cost += VOWEL_BY_VOWEL;
                } else if !is_beside_ascii && !letter.is_vowel && !before.is_vowel {
                    cost += CONSONANT_BY_CONSONANT;
                }
                if ONLY_FIRST.contains(letter.c) {
                    cost += AT_WRONG_PLACE / 2.0;
                }
                if is_latin && !before.is_ascii && !letter.is_ascii {
                    cost += SECOND_IN_A_ROW;
                }
            } else if NEVER_FIRST.contains(letter.c) {
                cost += AT_WRONG_PLACE;
            }
            before = Some(letter);
            cost += match byte.checked_sub(0x80) {
                None if is_latin => 0.0,
                None => STRANGE_LETTER,
                Some(high) => {
                    let letter = tongue.letters.get(usize::from(high)).copied();
                    let letter = letter.unwrap_or(STRANGE_LETTER);
                    letter + if is_latin { BEYOND_ASCII } else { 0.0 }
                }
            };
        }
        cost
    }
}

/// What a sign costs between two letters, if they are there.
fn cost_of_mark(mark: char, before: Option<Letter>, after: Option<Letter>) -> f32 {
    let is_usual = match (before, after) {
        (None, None) => true,
        (None, Some(after)) => {
            OPENING.contains(mark) && (after.is_capital || !matches!(mark, '–' | '—'))
        }
        (Some(_), _) => CLOSING.contains(mark),
    };
    // These follow words only where they are quoted as in German.
    let is_rare = before.is_some() && matches!(mark, '“' | '‘');
    let is_quote_before_small = after.is_some_and(|after| !after.is_capital);
    match is_usual {
        true if is_quote_before_small || is_rare => APOSTROPHE,
        true => USUAL_SIGN,
        false => STRANGE_SIGN,
    }
}

impl Tongue {
    /// A language in a page; `None` if that lacks many of its letters.
    fn new(language: &Language, characters: &[Option<char>]) -> Option<Tongue> {
        let has = |letter: &char| characters.contains(&Some(*letter)) || letter.is_ascii();
        let all: u16 = language.letters.iter().map(|(_, weight)| weight).sum();
        let there = language.letters.iter().filter(|(letter, _)| has(letter));
        let there: u16 = there.map(|(_, weight)| weight).sum();
        let cost = |c: &Option<char>| {
            let c = small((*c)?);
            let (_, weight) = language.letters.iter().find(|(letter, _)| *letter == c)?;
            Some(-(f32::from(*weight) / f32::from(all)).ln())
        };
        (u32::from(there) * 10 > u32::from(all) * 6).then(|| Tongue {
            script: language.script,
            usual: language.usual,
            rarity: f32::from(language.rarity) / 10.0,
            letters: (characters.iter())
                .map(|c| cost(c).unwrap_or(STRANGE_LETTER))
                .collect(),
        })
    }
}

/// Something of a text that is no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'t> {
    Letters(&'t [u8]),
    /// One of a tag.
    Name(&'t [u8]),
    /// What stands before the square of a move.
    Piece(&'t [u8]),
}

impl Word<'_> {
    /// Returns a key that is unique for the word.
    fn key(self) -> Vec<u8> {
        match self {
            Word::Letters(word) | Word::Name(word) => word.to_vec(),
            Word::Piece(letters) => [b"1", letters].concat(),
        }
    }

    fn bytes(&self) -> &[u8] {
        let (Word::Letters(word) | Word::Name(word) | Word::Piece(word)) = self;
        word
    }

    fn high_bytes(self) -> usize {
        let bytes = self.bytes().iter();
        bytes.filter(|byte| !byte.is_ascii()).count()
    }
}

/// Gives the words of a text that are no UTF-8 to `take`, until that wants no
/// more.
fn for_each_word<'t>(text: &'t [u8], mut take: impl FnMut(Word<'t>) -> bool) {
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if std::str::from_utf8(line).is_ok() {
            continue;
        }
        let is_tag = line.trim_ascii_start().first() == Some(&b'[');
        let mut at = 0;
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let is_of_word = |byte: &&u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
            let len = rest.iter().take_while(is_of_word).count();
            at += len.max(1);
            let (word, behind) = rest.split_at_checked(len).unwrap_or_default();
            if std::str::from_utf8(word).is_ok() {
                continue;
            }
            let word = word.get(..WORD_BYTES).unwrap_or(word);
            let word = match piece(word, behind) {
                _ if is_tag => Word::Name(word),
                Some(letters) => Word::Piece(letters),
                None => Word::Letters(word),
            };
            if !take(word) {
                return;
            }
        }
    }
}

/// The letters of the piece, if a word with what is behind it seems to be a move.
fn piece<'t>(word: &'t [u8], behind: &[u8]) -> Option<&'t [u8]> {
    let (letters, squares) =
        word.split_at(word.iter().position(u8::is_ascii).unwrap_or(word.len()));
    let is_of_squares = |byte: &u8| matches!(byte, b'a'..=b'h' | b'x');
    let is_move = match (squares, behind) {
        ([], [b'1'..=b'8', b'a'..=b'h' | b'x', ..] | [b':', b'a'..=b'h', b'1'..=b'8', ..]) => true,
        ([_, ..], [b'1'..=b'8', ..]) => squares.len() <= 3 && squares.iter().all(is_of_squares),
        _ => false,
    };
    (is_move && matches!(letters.len(), 1 | 2)).then_some(letters)
}

/// Which of the bytes from 0x80 on there are.
#[derive(Clone, Copy, Debug, Default)]
struct HighBytes(u128);

impl HighBytes {
    fn add(&mut self, word: Word<'_>) {
        let high = word
            .bytes()
            .iter()
            .filter_map(|byte| byte.checked_sub(0x80));
        self.0 |= high.fold(0, |bytes, at| bytes | 1 << at);
    }
}

/// What was seen of a text.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    words: HashSet<Vec<u8>>,
    bytes: HighBytes,
    /// What all of it costs in each page.
    costs: Vec<f32>,
}

impl Evidence {
    /// Takes note of the words of a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        for_each_word(text, |word| {
            if self.words.len() >= MOST_WORDS {
                return false;
            }
            if self.words.insert(word.key()) {
                self.bytes.add(word);
                self.costs.resize(CANDIDATES.len(), 0.0);
                for (cost, page) in self.costs.iter_mut().zip(CANDIDATES.iter()) {
                    *cost += page.cost(word);
                }
            }
            true
        });
    }

    /// The page of a game of the text: that of the text, unless its own words are
    /// strange there and tell another one. Of pages that read all alike it is the
    /// most usual one.
    pub(super) fn page_of(&self, text: &[u8]) -> InPage {
        let (usual, usual_cost) = self.usual();
        let mut own: Vec<Word<'_>> = Vec::new();
        let mut bytes = HighBytes::default();
        let mut is_plain = true;
        for_each_word(text, |word| {
            if !own.contains(&word) {
                own.push(word);
                bytes.add(word);
                is_plain &= usual.is_plain(word);
            }
            own.len() < MOST_WORDS_OF_GAME
        });
        if is_plain && self.words.len() > own.len() {
            let costs = CANDIDATES.iter().enumerate();
            let costs = costs.map(|(at, candidate)| (self.cost(at, candidate), candidate));
            let rival = next_likely(costs, usual, bytes).map(|(_, rival)| rival.page);
            let (page, trust) = (self.most_usual(usual, bytes).page, Trust::Certain);
            return InPage { page, rival, trust };
        }
        let with_own = |(at, candidate): (usize, &'static PageCandidate)| {
            let own = own.iter().map(|word| candidate.cost(*word)).sum::<f32>();
            let of_text = (self.cost(at, candidate) - usual_cost).min(OTHER_PAGE);
            (own + of_text, candidate)
        };
        let costs: Vec<_> = CANDIDATES.iter().enumerate().map(with_own).collect();
        let (least, candidate) = least_of(costs.iter().copied()).unwrap_or((0.0, usual));
        let rival = next_likely(costs.into_iter(), candidate, bytes);
        let next = rival.map_or(f32::INFINITY, |(cost, _)| cost);
        let is_plain = own.iter().all(|word| candidate.is_plain(*word));
        let is_certain = is_plain && next - least > CERTAIN;
        let trust = if is_certain {
            Trust::Certain
        } else {
            Trust::Guessed
        };
        let page = self.most_usual(candidate, bytes).page;
        let rival = rival.map(|(_, rival)| rival.page);
        InPage { page, rival, trust }
    }

    /// The most usual page that reads what there is of the text, and these bytes,
    /// as this one does.
    fn most_usual(&self, page: &'static PageCandidate, bytes: HighBytes) -> &'static PageCandidate {
        let bytes = HighBytes(self.bytes.0 | bytes.0);
        let same = CANDIDATES.iter();
        let same = same.filter(|other| other.rarity <= page.rarity && other.reads_as(page, bytes));
        let most = same.min_by(|one, other| one.rarity.total_cmp(&other.rarity));
        most.unwrap_or(page)
    }

    /// The page of all of it, and what it costs.
    fn usual(&self) -> (&'static PageCandidate, f32) {
        let costs = CANDIDATES.iter().enumerate();
        let costs = costs.map(|(at, candidate)| (candidate, self.cost(at, candidate)));
        let least = costs.min_by(|one, other| one.1.total_cmp(&other.1));
        least.unwrap_or((&WESTERN, 0.0))
    }

    fn cost(&self, at: usize, candidate: &PageCandidate) -> f32 {
        self.costs.get(at).copied().unwrap_or(0.0) + candidate.rarity
    }
}

type Cost = (f32, &'static PageCandidate);

fn least_of(costs: impl Iterator<Item = Cost>) -> Option<Cost> {
    costs.min_by(|one, other| one.0.total_cmp(&other.0))
}

/// What costs least of those that read bytes otherwise than a page.
fn next_likely(
    costs: impl Iterator<Item = Cost>,
    page: &PageCandidate,
    bytes: HighBytes,
) -> Option<Cost> {
    least_of(costs.filter(|(_, other)| !other.reads_as(page, bytes)))
}

fn count(bytes: usize) -> f32 {
    u16::try_from(bytes).map_or(f32::MAX, f32::from)
}
