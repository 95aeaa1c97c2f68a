//! An edit at one place of a game changes only the annotations there. All
//! others keep their bytes, language and move, even if a program has dropped
//! the tags that describe annotations.
//!
//! Edits are drawn from a seed, or from `CBFS_SEED`. `CBFS_EDITS` sets the number
//! of edits for each game, also of the real bases.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, HashMap};

use cbfs::cbh::{
    CodePage, Database, Decoded, GameId, Options, RecordKind, StoredGame, rewrite, write,
};
use cbfs::game::{Game, MoveTree, PlyId};
use cbfs::pgn;

use common::numbers::Numbers;
use common::{fixture_bases, real_bases, text_of};

/// The moves that lead to a ply, with a number for those that lead to another
/// one too.
type Path = String;

/// Kind and payload.
type Remark = (u8, Vec<u8>);

type Remarks = BTreeMap<Path, Vec<Remark>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A move, and which one it was before the edit.
    Move(String, Path),
    Nag(String),
    Comment(String),
    Open,
    Close,
    Result(String),
}

/// Tag lines and movetext, in tokens; move numbers are left out.
fn tokens(text: &str) -> (String, Vec<Token>) {
    let (tags, moves) = text.split_once("\n\n").unwrap();
    let moves = moves.replace('\n', " ");
    let (mut rest, mut tokens) = (moves.trim(), Vec::new());
    while !rest.is_empty() {
        let len = match rest.as_bytes()[0] {
            b'{' => rest.find('}').unwrap() + 1,
            b'(' | b')' => 1,
            _ => rest.find([' ', '(', ')']).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(len);
        rest = after.trim_start();
        let token = match word.as_bytes()[0] {
            b'{' => Token::Comment(word[1..len - 1].to_owned()),
            b'(' => Token::Open,
            b')' => Token::Close,
            b'$' => Token::Nag(word.to_owned()),
            _ if rest.is_empty() => Token::Result(word.to_owned()),
            b'1'..=b'9' => continue,
            _ => Token::Move(word.to_owned(), Path::new()),
        };
        tokens.push(token);
    }
    for (at, path) in paths(&tokens) {
        if let Token::Move(_, was) = &mut tokens[at] {
            *was = path;
        }
    }
    (tags.to_owned(), tokens)
}

fn spelled(tags: &str, tokens: &[Token]) -> String {
    let words = tokens.iter().map(|token| match token {
        Token::Move(word, _) | Token::Nag(word) | Token::Result(word) => word.clone(),
        Token::Comment(text) => format!("{{{text}}}"),
        Token::Open => "(".to_owned(),
        Token::Close => ")".to_owned(),
    });
    format!("{tags}\n\n{}\n", words.collect::<Vec<_>>().join(" "))
}

/// The move after others, `nth` of its name there.
fn path_of(parent: &str, san: &str, taken: &mut HashMap<(Path, String), usize>) -> Path {
    let nth = taken
        .entry((parent.to_owned(), san.to_owned()))
        .or_default();
    *nth += 1;
    format!("{parent} {san}#{nth}")
}

fn parent_of(path: &str) -> &str {
    path.rsplit_once(' ').map_or("", |(parent, _)| parent)
}

/// The path of each move, by its index.
fn paths(tokens: &[Token]) -> Vec<(usize, Path)> {
    let (mut path, mut outer, mut paths) = (Path::new(), Vec::new(), Vec::new());
    let mut taken = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Move(san, _) => {
                path = path_of(&path, san, &mut taken);
                paths.push((at, path.clone()));
            }
            Token::Open => {
                outer.push(path.clone());
                path = parent_of(&path).to_owned();
            }
            Token::Close => path = outer.pop().unwrap(),
            _ => {}
        }
    }
    paths
}

/// The paths of a tree, by index of the ply.
fn paths_of_tree(tree: &MoveTree) -> Vec<Path> {
    let mut paths = vec![Path::new(); tree.len() + 1];
    let mut taken = HashMap::new();
    let mut open = vec![PlyId::START];
    while let Some(parent) = open.pop() {
        let mut child = tree.first_child(parent);
        while let Some(ply) = child {
            let san = tree.ply(ply).unwrap().san.to_string();
            paths[ply.index()] = path_of(&paths[parent.index()].clone(), &san, &mut taken);
            open.push(ply);
            child = tree.next_sibling(ply);
        }
    }
    paths
}

/// A stored game, read.
struct Shown {
    game: Game,
    text: String,
    remarks: Remarks,
}

impl Shown {
    fn of(stored: &StoredGame, page: CodePage, headers: &Game) -> Shown {
        let mut game = Game {
            headers: headers.headers.clone(),
            ..Game::default()
        };
        stored.decode(page, &mut game).unwrap();
        let mut text = Vec::new();
        pgn::encode(&game, &[], &mut text);
        let paths = paths_of_tree(&game.tree);
        let mut remarks = Remarks::new();
        let mut rest = stored
            .annotations
            .as_deref()
            .map_or(&[][..], |record| &record[14..]);
        while !rest.is_empty() {
            let position = i32::from_be_bytes([rest[0], rest[1], rest[2], 0]) >> 8;
            let size = usize::from(u16::from_be_bytes([rest[4], rest[5]]));
            let path = &paths[usize::try_from(position + 1).unwrap()];
            let on = remarks.entry(path.clone()).or_default();
            on.push((rest[3], rest[6..size].to_vec()));
            rest = &rest[size..];
        }
        Shown {
            game,
            text: String::from_utf8(text).unwrap(),
            remarks,
        }
    }
}

/// What was edited, and what may be another remark now.
#[derive(Clone, Debug)]
enum Edit {
    Nothing,
    /// A comment after a move.
    Comment(Path),
    /// A comment before the first move of a variation.
    Opening(Path),
    /// A word of a comment.
    Word,
    /// All words of a comment.
    Words,
    /// A comment behind another one.
    Behind,
    /// A comment that is gone, and a new one after a move elsewhere.
    Elsewhere(Path),
    /// A comment that is gone.
    NoComment,
    Nag(Path),
    /// Variations that are gone, in another order, or the main line now.
    Variations,
    /// A move is another one.
    Move,
}

const NEW: &str = "Qzx7 yzx";

fn end_of(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a variation without end");
}

fn begin_of(tokens: &[Token], close: usize) -> usize {
    let is_it = |open: &usize| tokens[*open] == Token::Open && end_of(tokens, *open) == close;
    (0..close).rev().find(is_it).unwrap()
}

fn indices(tokens: &[Token], is_it: impl Fn(&Token) -> bool) -> Vec<usize> {
    let found = tokens.iter().enumerate().filter(|(_, token)| is_it(token));
    found.map(|(at, _)| at).collect()
}

/// Makes an edit of the tokens; `None` if there is nothing to be edited so.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of edit")]
fn edit(tokens: &mut Vec<Token>, old: &Remarks, numbers: &mut Numbers) -> Option<Edit> {
    let moves = indices(tokens, |token| matches!(token, Token::Move(..)));
    let opens = indices(tokens, |token| *token == Token::Open);
    let comments = indices(tokens, |token| matches!(token, Token::Comment(_)));
    let kind = numbers.below(13);
    if kind <= 1 {
        let at = numbers.one_of(&moves)?;
        let Token::Move(_, path) = tokens[at].clone() else {
            return None;
        };
        let is_nag = |token: &&Token| matches!(token, Token::Nag(_));
        let nags = tokens[at + 1..].iter().take_while(is_nag).count();
        if kind == 0 {
            tokens.insert(at + 1 + nags, Token::Comment(NEW.to_owned()));
            return Some(Edit::Comment(path));
        }
        let new = Token::Nag(format!("${}", 1 + numbers.below(20)));
        let is_given = tokens[at + 1..=at + nags].contains(&new);
        tokens.insert(at + 1 + nags, new);
        return (!is_given).then_some(Edit::Nag(path));
    }
    match kind {
        2 => {
            let open = numbers.one_of(&opens)?;
            let is_move = |token: &&Token| matches!(token, Token::Move(..));
            let Some(Token::Move(_, path)) = tokens[open..].iter().find(is_move).cloned() else {
                return None;
            };
            tokens.insert(open + 1, Token::Comment(NEW.to_owned()));
            Some(Edit::Opening(path))
        }
        3 => {
            let at = numbers.one_of(&comments)?;
            let Token::Comment(text) = &mut tokens[at] else {
                return None;
            };
            let words: Vec<&str> = text.split(' ').collect();
            let mut depth = 0_usize;
            let is_word = |(at, word): (usize, &&str)| {
                depth += usize::from(word.starts_with("[%") || word.starts_with("[ %"));
                let is_plain = depth == 0 && !word.contains(['[', ']', '%', '(', ')']);
                depth -= usize::from(depth > 0 && word.ends_with(']'));
                is_plain.then_some(at)
            };
            let plain: Vec<usize> = words.iter().enumerate().filter_map(is_word).collect();
            let word = numbers.one_of(&plain)?;
            // Of a text of one word nothing would be left.
            if words.len() < 4 {
                return None;
            }
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            "Qzx7".clone_into(&mut words[word]);
            *text = words.join(" ");
            Some(Edit::Word)
        }
        4 => {
            let is_mark = |at: &usize| matches!(&tokens[*at], Token::Comment(text) if text.starts_with("[%cbsym"));
            let at = numbers.one_of(&comments).filter(|at| !is_mark(at))?;
            tokens.remove(at);
            Some(Edit::NoComment)
        }
        5 => {
            let open = numbers.one_of(&opens)?;
            tokens.drain(open..=end_of(tokens, open));
            Some(Edit::Variations)
        }
        6 => {
            let touch = |at: &usize| tokens.get(at + 1) == Some(&Token::Open);
            let closes = indices(tokens, |token| *token == Token::Close);
            let closes: Vec<usize> = closes.into_iter().filter(touch).collect();
            let close = numbers.one_of(&closes)?;
            let (begin, end) = (begin_of(tokens, close), end_of(tokens, close + 1));
            tokens[begin..=end].rotate_left(close + 1 - begin);
            Some(Edit::Variations)
        }
        7 => promote(tokens, numbers.one_of(&opens)?, old),
        8 => {
            let at = numbers.one_of(&comments)?;
            let Token::Comment(text) = &mut tokens[at] else {
                return None;
            };
            if text.contains("[%") {
                return None;
            }
            NEW.clone_into(text);
            Some(Edit::Words)
        }
        9 => {
            let at = numbers.one_of(&comments)?;
            tokens.insert(at + 1, Token::Comment(NEW.to_owned()));
            Some(Edit::Behind)
        }
        10 => {
            let at = numbers.one_of(&moves)?;
            let Token::Move(san, _) = &mut tokens[at] else {
                return None;
            };
            "--".clone_into(san);
            Some(Edit::Move)
        }
        11 => {
            let is_plain =
                |at: &usize| matches!(&tokens[*at], Token::Comment(text) if !text.contains("[%"));
            let gone = numbers.one_of(&comments).filter(is_plain)?;
            let at = numbers.one_of(&moves)?;
            let Token::Move(_, path) = tokens[at].clone() else {
                return None;
            };
            let mut depth = 0_usize;
            // Variations between stand in no line.
            let mut is_between = |token: &&Token| {
                depth += usize::from(**token == Token::Open);
                depth -= usize::from(**token == Token::Close && depth > 0);
                depth == 0 && matches!(token, Token::Move(..))
            };
            let between = &tokens[at.min(gone) + 1..at.max(gone)];
            let is_beside = !between.iter().any(|token| is_between(&token));
            let is_nag = |token: &&Token| matches!(token, Token::Nag(_));
            let nags = tokens[at + 1..].iter().take_while(is_nag).count();
            if is_beside || matches!(tokens[at + 1 + nags], Token::Comment(_)) {
                return None;
            }
            tokens[gone] = Token::Comment(String::new());
            tokens.insert(at + 1 + nags, Token::Comment(NEW.to_owned()));
            tokens.retain(|token| *token != Token::Comment(String::new()));
            Some(Edit::Elsewhere(path))
        }
        _ => Some(Edit::Nothing),
    }
}

/// Makes the only variation of a move the main line.
fn promote(tokens: &mut Vec<Token>, open: usize, old: &Remarks) -> Option<Edit> {
    let close = end_of(tokens, open);
    if tokens[open - 1] == Token::Close || tokens.get(close + 1) == Some(&Token::Open) {
        return None;
    }
    let is_move = |at: &usize| matches!(tokens[*at], Token::Move(..));
    let main = (0..open).rev().find(is_move)?;
    let first = (open..close).find(is_move)?;
    let Token::Move(_, path) = &tokens[main] else {
        return None;
    };
    // Of the main line a command is about the move before.
    let is_command = |token: &Token| matches!(token, Token::Comment(text) if text.contains("[%"));
    if tokens[open..first].iter().any(is_command) {
        return None;
    }
    // A person takes the text before the move along.
    let has_text_before = |path: &str| {
        let on = old.get(path).into_iter().flatten();
        on.into_iter().any(|(kind, _)| *kind == 0x82)
    };
    if has_text_before(path) {
        return None;
    }
    let mut depth = 0_usize;
    let ends = |token: &Token| {
        let is_end = depth == 0 && matches!(token, Token::Close | Token::Result(_));
        depth += usize::from(*token == Token::Open);
        depth -= usize::from(*token == Token::Close && depth > 0);
        is_end
    };
    let end = close + 1 + tokens[close + 1..].iter().position(ends)?;
    let of_first = |token: &Token| matches!(token, Token::Nag(_) | Token::Comment(_));
    let after = first
        + 1
        + tokens[first + 1..close]
            .iter()
            .take_while(|token| of_first(token))
            .count();
    let promoted = [
        &tokens[open + 1..after],
        &[Token::Open],
        &tokens[main..open],
        &tokens[close + 1..end],
        &[Token::Close],
        &tokens[after..close],
    ]
    .concat();
    tokens.splice(main..end, promoted);
    Some(Edit::Variations)
}

/// The remarks that a game must have after an edit that touches none of them.
fn expected(old: &Remarks, tokens: &[Token]) -> Remarks {
    let mut expected = Remarks::new();
    expected.extend(old.get("").map(|on| (Path::new(), on.clone())));
    for (at, path) in paths(tokens) {
        if let Token::Move(_, was) = &tokens[at] {
            expected.extend(old.get(was).map(|on| (path, on.clone())));
        }
    }
    expected
}

/// Whether a remark is one before with new words before, behind or among its own.
fn is_edit_of(new: &Remark, old: &Remark) -> bool {
    new.0 == old.0 && new.1.len() >= 2 && old.1.len() >= 2 && new.1[..2] == old.1[..2]
}

/// The remarks of both without those that are the same.
fn differing(old: &[Remark], new: &[Remark]) -> (Vec<Remark>, Vec<Remark>) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (
        old[..old.len() - end].to_vec(),
        new[..new.len() - end].to_vec(),
    )
}

/// Whether the remarks are those expected, but for what was edited.
fn check(edit: &Edit, expected: &Remarks, found: &Remarks) -> Result<(), String> {
    let keys: std::collections::BTreeSet<&Path> = expected.keys().chain(found.keys()).collect();
    let mut changes = Vec::new();
    for key in keys {
        let none = Vec::new();
        let old = expected.get(key).unwrap_or(&none);
        let new = found.get(key).unwrap_or(&none);
        if old != new {
            changes.push((key, differing(old, new)));
        }
    }
    let is_new = |remark: &Remark| remark.1.windows(4).any(|word| word == b"Qzx7");
    let is_good = match (edit, changes.as_slice()) {
        (Edit::Nothing | Edit::Variations | Edit::Move, changes) => changes.is_empty(),
        (Edit::Words, [(_, (old, new))]) => {
            // A comment may show several texts of a base.
            let is_first = |old: &Remark| (old.0, &old.1[..2]) == (new[0].0, &new[0].1[..2]);
            new.len() == 1 && is_new(&new[0]) && old.first().is_some_and(is_first)
        }
        (Edit::Behind, [(_, (old, new))]) => {
            let is_kept = |old: &Remark| {
                // NAGs that are kept in a text are shown beside it.
                let words = old.1[2..].trim_ascii();
                let nags = words.windows(7).position(|word| word == b"[%cbnag");
                let words = words[..nags.unwrap_or(words.len())].trim_ascii();
                let is_longer = is_edit_of(&new[0], old);
                is_longer && new[0].1.windows(words.len()).any(|part| part == words)
            };
            new.len() == 1 && is_new(&new[0]) && old.len() <= 1 && old.iter().all(is_kept)
        }
        (Edit::Elsewhere(path), changes) => {
            let (there, gone): (Vec<_>, Vec<_>) = changes.iter().partition(|(at, _)| *at == path);
            let is_one = |(_, (old, new)): &&(&Path, (Vec<Remark>, Vec<Remark>))| {
                old.is_empty() && new.len() == 1 && new[0].0 == 0x02 && is_new(&new[0])
            };
            let is_gone = |(_, (_, new)): &&(&Path, (Vec<Remark>, Vec<Remark>))| new.is_empty();
            there.len() == 1
                && there.iter().all(is_one)
                && gone.len() == 1
                && gone.iter().all(is_gone)
        }
        (Edit::Comment(path) | Edit::Opening(path), [(at, (old, new))]) => {
            let kind = if matches!(edit, Edit::Comment(_)) {
                0x02
            } else {
                0x82
            };
            let is_one = new.len() == 1 && new[0].0 == kind && is_new(&new[0]);
            // Beside a text of its language it is a part of that.
            let is_kept = old.len() <= 1
                && old.iter().all(|old| {
                    is_edit_of(&new[0], old) && new[0].1.ends_with(old.1[2..].trim_ascii_start())
                });
            *at == path && is_one && is_kept
        }
        (Edit::Word, [(_, (old, new))]) => {
            old.len() == 1 && new.len() == 1 && is_new(&new[0]) && is_edit_of(&new[0], &old[0])
        }
        // NAGs that are kept in a text are shown beside it.
        (Edit::NoComment, [(_, (_, new))]) => new
            .iter()
            .all(|remark| remark.1[2..].starts_with(b"[%cbnag")),
        // A comment may have been no more than the mark of what stands elsewhere.
        (Edit::NoComment, []) => true,
        (Edit::Nag(path), [(at, (old, new))]) => {
            let is_symbol = |remark: &Remark| {
                remark.0 == 0x03 || remark.1.windows(7).any(|word| word == b"[%cbnag")
            };
            *at == path
                && new.iter().all(is_symbol)
                && old.iter().all(|old| is_symbol(old) || new.len() == 1)
        }
        _ => false,
    };
    is_good.then_some(()).ok_or_else(|| {
        let shown = |remarks: &[Remark]| -> Vec<String> {
            let shown = |(kind, payload): &Remark| format!("{kind:02x} {}", payload.escape_ascii());
            remarks.iter().map(shown).collect()
        };
        let changes = changes.iter().map(|(at, (old, new))| {
            format!("\n  on{at}: {:?} became {:?}", shown(old), shown(new))
        });
        format!("{edit:?}{}", changes.collect::<String>())
    })
}

/// Without the tags that say what remarks are.
fn without_told(tags: &str) -> String {
    let told = ["[CbhLang ", "[CbhLead ", "[CbhBefore ", "[CbhExact"];
    let is_other = |line: &&str| !told.iter().any(|tag| line.starts_with(tag));
    tags.lines().filter(is_other).collect::<Vec<_>>().join("\n")
}

/// Edits a stored game so many times, each time from what is stored; what went
/// wrong is added to `wrong`.
fn edit_often(
    name: &str,
    stored: &StoredGame,
    headers: &Game,
    page: CodePage,
    times: usize,
    wrong: &mut Vec<String>,
) -> usize {
    let shown = Shown::of(stored, page, headers);
    let mut numbers = Numbers::of(name.bytes().map(u64::from).sum());
    let mut count = 0;
    for _ in 0..times {
        let (tags, mut tokens) = tokens(&shown.text);
        let Some(edit) = edit(&mut tokens, &shown.remarks, &mut numbers) else {
            continue;
        };
        let drops = numbers.below(2) == 0;
        let tags = if drops { without_told(&tags) } else { tags };
        let text = spelled(&tags, &tokens);
        let edited = match pgn::decode(text.as_bytes()) {
            // The moves behind it may be illegal now.
            Err(_) if matches!(edit, Edit::Move) => continue,
            edited => edited.unwrap_or_else(|why| panic!("{why}\n{text}")),
        };
        // Behind it moves may be checks no more, and have other names.
        let mut written: Vec<Path> = paths(&tokens).into_iter().map(|(_, path)| path).collect();
        let mut read = paths_of_tree(&edited.tree).split_off(1);
        written.sort();
        read.sort();
        if matches!(edit, Edit::Move) && written != read {
            continue;
        }
        let new = rewrite(GameId(1), stored, &shown.game, &edited, page).unwrap();
        let found = Shown::of(&new, page, headers);
        count += 1;
        if let Err(why) = check(&edit, &expected(&shown.remarks, &tokens), &found.remarks) {
            let without = if drops { ", tags dropped" } else { "" };
            wrong.push(format!("{name}{without}: {why}\n{text}"));
        }
    }
    count
}

/// Games with all that the text of a remark can be.
const GAMES: [&str; 8] = [
    "[CbhLang \"en\"] {About the game} 1. e4 {open} e5 (1... c5 {[%cblang de] scharf} {sharp} 2. Nf3 \
     {[%cbpre 1] now d6} d6 3. d4) (1... c5 2. Nc3 {closed now}) (1... e6 {the French} 2. d4 d5) \
     2. Nf3 $1 {[%csl Ge5] attacks} {[%cbpre 1] and Black defends} Nc6 $6 $14 3. Bb5 \
     ({an older idea} 3. Bc4 {[%cbpre 1] quiet or not} Bc5 {the Giuoco} (3... Nf6 {two knights} \
     4. Ng5 {[%cbpre 1] the best reply} d5) 4. c3) a6 {[%cbpre 1] [%cblang de] Die Wahl} 4. Ba4 Nf6 \
     {[%cbpre 1] castles at once} 5. O-O *",
    "[CbhLang \"de\"] [CbhLead \"3\"] 1. d4 {ein Zug} {[%cblang en] a move} d5 {[%cbpre 1] das Gambit} 2. c4 \
     (2. Nf3 {[%cblang any] solid [%cblead 0]} Nf6 {[%cbpre 1] auch hier} 3. c4) e6 {[%cbpre 1] eins \
     zwei} {[%cbpre 1] [%cblang fr] un deux} 3. Nc3 $1 $14 $140 $36 {vier Zeichen} Nf6 1-0",
    "1. e4 {a} e5 {[%cbpre 1] b} 2. Nf3 {[%cbpre 1] c} Nc6 {[%cbpre 1] d} 3. Bb5 (3. Bc4 {e} Nf6 \
     {[%cbpre 1] f} 4. Ng5) (3. Bc4 Bc5 {[%cbpre 1] g} 4. c3) a6 {[%cbpre 1] h} 4. Ba4 0-1",
    "{[%evp 0,3,25,30,28]} {[%cbpre 1] before all} 1. e4 {[%cal Ge2e4] [%emt 0:00:10] the best} e5 \
     {[%eval 0.25,18]} 2. Nf3 ({[%csl Re5] red square} 2. f4 exf4 {accepted} (2... d5 {not} 3. exd5)) \
     {[%cbpre 1] the main line} Nc6 {[%cba 61 AQID]} {[%mdl 4]} *",
    "[CbhLang \"en\"] 1. c4 {[%cbpre 1] symmetrical play} c5 2. Nf3 (2. Nc3 {natural} Nc6 {[%cbpre 1] the \
     bishop goes there} 3. g3 g6 {[%cbpre 1] twin text} 4. Bg2) Nc6 {[%cbpre 1] twin text} 3. g3 g6 \
     {[%cbpre 1] twin text} 4. Bg2 {after it} {[%cblang de] danach} Bg7 {[%cbpre 1] now or later} 5. O-O *",
    "[CbhLang \"en\"] {about it} 1. e4 {english one} {[%cblang any] neutral} e5 {english two} {[%cblang any] \
     [%clk 0:01:00] timed} 2. Nf3 {english three} (2. Nc3 {said} {[%cblang de] gesagt} {[%cblang any] all} Nf6) \
     Nc6 {[%cbpre 1] before} {[%cbpre 1] [%cblang any] all before} 3. Bb5 {the end} *",
    // Many of the same words.
    "[CbhLang \"en\"] {same} 1. e4 {[%cblang de] same} {[%cblang any] same} e5 {[%cblang any] same} 2. Nf3 {same} \
     (2. Nc3 {same} Nc6 {[%cblang de] same}) Nc6 {[%cbpre 1] same} 3. Bb5 {[%cbpre 1] [%cblang de] same} a6 \
     ({same} 3... Nf6 {same} 4. O-O) {[%cbpre 1] same} 4. Ba4 {same} {[%cbpre 1] same} Nf6 {same} *",
    "1. e4 $16 $36 {a} e5 {[%cbpre 1] the knight first} 2. Nf3 (2. f4 {gambit}) Nc6 (2... Nf6 {[%cbpre 1] b} 3. Nxe5 d6) \
     {[%cbpre 1] the bishop then} 3. Bb5 a6 (3... Nf6 4. O-O {[%cbpre 1] taking} Nxe4) {[%cbpre 1] back} 4. Ba4 *",
];

#[test]
fn an_edit_of_one_place_changes_only_that_place() {
    let given = std::env::var("CBFS_EDITS")
        .ok()
        .and_then(|count| count.parse().ok());
    let times = given.unwrap_or(10);
    let (mut count, mut wrong) = (0, Vec::new());
    let page = CodePage::from_label("1252").unwrap();
    for (at, text) in GAMES.iter().enumerate() {
        let game = pgn::decode(text.as_bytes()).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let stored = write(GameId(1), &game, page).unwrap();
        count += edit_often(
            &format!("game {at}"),
            &stored,
            &game,
            page,
            30 * times,
            &mut wrong,
        );
    }
    let real = given.map(|_: usize| real_bases()).unwrap_or_default();
    // The texts of one keep tags, which are written by the saver alone.
    let is_plain = |base: &std::path::PathBuf| base.file_stem().unwrap() != "misplaced";
    for base in fixture_bases().into_iter().filter(is_plain).chain(real) {
        let database = Database::open(&base, &Options::default()).unwrap();
        let mut entries = Vec::new();
        database
            .entries(GameId(1), database.last_id(), &mut entries)
            .unwrap();
        let mut decoded = Decoded::default();
        for entry in entries {
            let is_read = entry.kind == RecordKind::Game
                && database.read_game(entry.id, &mut decoded).is_ok()
                && decoded.defects.is_empty()
                // Foreign tags stand in a text, which the saver alone writes.
                && decoded.game.foreign_tags.is_empty();
            if !is_read || !text_of(&decoded).contains('{') {
                continue;
            }
            let stored = database.stored_game(entry.id).unwrap();
            let name = format!("{} {}", base.file_stem().unwrap().display(), entry.id.0);
            let page = database.code_page();
            count += edit_often(&name, &stored, &decoded.game, page, times, &mut wrong);
        }
    }
    println!("{count} edits, of which {} changed more", wrong.len());
    wrong.sort_by_key(String::len);
    wrong.dedup_by_key(|text| text.lines().take(2).collect::<String>());
    wrong.truncate(12);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 500, "{count}");
}
