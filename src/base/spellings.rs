//! Names of players that may be of one person.

use xxhash_rust::xxh3::xxh3_64;

use crate::cbh::{EntityId, EntityNames};
use crate::search::fold;

/// Why two names may be of one person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// They have the same letters; case, accents, blanks and points do not count.
    Letters,
    /// They have the same words in another order.
    Order,
    /// First names are shortened, as `G` or `Alex`, or missing.
    Shortened,
    /// One letter is another, missing, or swapped with the next.
    Letter,
}

impl Likeness {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Likeness::Letters => "the same letters",
            Likeness::Order => "the same words",
            Likeness::Shortened => "a first name shortened",
            Likeness::Letter => "one letter differs",
        }
    }
}

/// Two names that may be of one person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The name that says less.
    pub name: EntityId,
    /// The one that says more.
    pub other: EntityId,
    /// Why they may be one.
    pub likeness: Likeness,
}

/// Of more people with one last name and one initial, only neighbours in the
/// order of the alphabet are compared.
const MANY: usize = 300;

/// Shorter names are not compared but for a letter: too many people differ so.
const LETTERS_OF_LAST: usize = 6;
const LETTERS_OF_FIRST: usize = 4;

/// A name taken apart.
#[derive(Debug)]
struct Person {
    id: EntityId,
    /// The letters of the last name.
    last: String,
    /// The words of the first names.
    first: Vec<String>,
    games: u32,
}

impl Person {
    /// `None` for what is nobody's name.
    fn of(id: EntityId, name: &str, games: u32) -> Option<Person> {
        let (last, first) = name.split_once(',').unwrap_or((name, ""));
        let last = words(last).concat();
        let is_nobody = last.is_empty() || (last == "nn" && first.trim().is_empty());
        (!is_nobody).then(|| Person {
            id,
            last,
            first: words(first),
            games,
        })
    }

    /// The digits, which tell namesakes apart.
    fn digits(&self) -> impl Iterator<Item = char> {
        let words = std::iter::once(&self.last).chain(&self.first);
        words
            .flat_map(|word| word.chars())
            .filter(char::is_ascii_digit)
    }

    fn letters_of_first(&self) -> usize {
        self.first.iter().map(String::len).sum()
    }
}

fn words(text: &str) -> Vec<String> {
    let mut folded = String::new();
    fold(text, &mut folded);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Returns the pairs of players that may be one person, of the likest names
/// first. `games` says in how many games each is, by id.
pub fn alike_names(names: &EntityNames, games: &[u32]) -> Vec<Alike> {
    let games_of = |id: EntityId| games.get(id.0 as usize).copied().unwrap_or(0);
    let people = names.iter();
    let people = people.filter_map(|(id, name)| Person::of(id, name, games_of(id)));
    let mut people: Vec<Person> = people.collect();
    people.sort_by(|one, other| (&one.last, &one.first).cmp(&(&other.last, &other.first)));
    let mut alike = Vec::new();
    for family in people.chunk_by(|one, other| one.last == other.last) {
        compare_family(family, &mut alike);
    }
    compare_words(&people, &mut alike);
    compare_last_names(&people, &mut alike);
    alike.sort_by_key(|pair| (pair.name, pair.other, pair.likeness));
    alike.dedup_by_key(|pair| (pair.name, pair.other));
    alike.sort_by_key(|pair| pair.likeness);
    alike
}

/// People with one last name.
fn compare_family(family: &[Person], alike: &mut Vec<Alike>) {
    // The one without a first name comes first.
    if let [nameless, other] = family
        && nameless.first.is_empty()
        && !other.first.is_empty()
    {
        alike.extend(pair(nameless, other, Likeness::Shortened));
    }
    let initial = |person: &Person| person.first.first().and_then(|word| word.chars().next());
    for group in family.chunk_by(|one, other| initial(one) == initial(other)) {
        for (at, one) in group.iter().enumerate() {
            let reach = if group.len() > MANY { 2 } else { MANY };
            for other in group.iter().skip(at + 1).take(reach) {
                let likeness = likeness_of_first(&one.first, &other.first);
                alike.extend(likeness.and_then(|likeness| pair(one, other, likeness)));
            }
        }
    }
}

fn likeness_of_first(one: &[String], other: &[String]) -> Option<Likeness> {
    let (joined, other_joined) = (one.concat(), other.concat());
    if joined == other_joined {
        return Some(Likeness::Letters);
    }
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let mut words = one.iter().zip(other);
    if words.all(|(one, other)| is_shortened(one, other) || is_shortened(other, one)) {
        return Some(Likeness::Shortened);
    }
    let is_long = joined.len() >= LETTERS_OF_FIRST && other_joined.len() >= LETTERS_OF_FIRST;
    (is_long && differ_in_a_letter(&joined, &other_joined)).then_some(Likeness::Letter)
}

/// Whether a first name may be a short form of another: an initial, or three of its
/// letters or more.
fn is_shortened(short: &str, long: &str) -> bool {
    let letters = short.chars().count();
    (letters != 2 || short == long) && long.starts_with(short)
}

/// Names whose words are the same, wherever the comma is.
fn compare_words(people: &[Person], alike: &mut Vec<Alike>) {
    let key = |person: &Person| {
        let mut letters: Vec<char> = person.last.chars().collect();
        letters.extend(person.first.iter().flat_map(|word| word.chars()));
        letters.sort_unstable();
        hash_of(&letters.into_iter().collect::<String>())
    };
    let keyed = people.iter().enumerate();
    let mut keys: Vec<(u64, usize)> = keyed.map(|(at, person)| (key(person), at)).collect();
    keys.sort_unstable();
    for group in keys.chunk_by(|one, other| one.0 == other.0) {
        for (one, other) in pairs_of(group, people) {
            if one.last != other.last && has_same_words(one, other) {
                alike.extend(pair(one, other, Likeness::Order));
            }
        }
    }
}

/// Whether one is the other with last and first names exchanged, or without the comma
/// between them, or with a part of the last name, as `van der`, behind the first.
fn has_same_words(one: &Person, other: &Person) -> bool {
    let joined = |person: &Person| (person.last.clone(), person.first.concat());
    let ((last, first), (other_last, other_first)) = (joined(one), joined(other));
    if last == other_first && first == other_last {
        return true;
    }
    let without_comma = |all: &str, last: &str, first: &str| {
        let is_rest = |rest: Option<&str>| rest == Some(last) && !first.is_empty();
        is_rest(all.strip_prefix(first)) || is_rest(all.strip_suffix(first))
    };
    if first.is_empty() {
        return without_comma(&last, &other_last, &other_first);
    }
    if other_first.is_empty() {
        return without_comma(&other_last, &last, &first);
    }
    let moved = |last: &str, first: &str, longer: &str, shorter: &str| {
        let part = longer.strip_suffix(last);
        part.is_some_and(|part| first.strip_suffix(part) == Some(shorter))
    };
    moved(&last, &first, &other_last, &other_first)
        || moved(&other_last, &other_first, &last, &first)
}

/// Last names that differ in a letter, of people with the same first names.
fn compare_last_names(people: &[Person], alike: &mut Vec<Alike>) {
    let mut keys: Vec<(u64, usize)> = Vec::new();
    for (at, person) in people.iter().enumerate() {
        if person.last.chars().count() < LETTERS_OF_LAST || person.letters_of_first() < 2 {
            continue;
        }
        let first = person.first.concat();
        let key = |last: &str| hash_of(&format!("{first},{last}"));
        keys.push((key(&person.last), at));
        for (place, letter) in person.last.char_indices() {
            let (before, rest) = person.last.split_at(place);
            let after = rest.strip_prefix(letter).unwrap_or_default();
            keys.push((key(&format!("{before}{after}")), at));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    for group in keys.chunk_by(|one, other| one.0 == other.0) {
        for (one, other) in pairs_of(group, people) {
            let is_typo = one.last != other.last && differ_in_a_letter(&one.last, &other.last);
            if is_typo && one.first.concat() == other.first.concat() {
                alike.extend(pair(one, other, Likeness::Letter));
            }
        }
    }
}

/// The pairs of a group; of a very large one those of neighbours.
fn pairs_of<'p>(
    group: &'p [(u64, usize)],
    people: &'p [Person],
) -> impl Iterator<Item = (&'p Person, &'p Person)> {
    let reach = if group.len() > MANY { 2 } else { MANY };
    group.iter().enumerate().flat_map(move |(at, (_, one))| {
        let others = group.iter().skip(at + 1).take(reach);
        others.filter_map(move |(_, other)| Some((people.get(*one)?, people.get(*other)?)))
    })
}

fn hash_of(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

/// Whether one letter is missing in one of two texts, or is another, or two that
/// follow each other are swapped.
fn differ_in_a_letter(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one
        .iter()
        .zip(&other)
        .take_while(|(one, other)| one == other);
    let same = same.count();
    let (one, other) = (one.get(same..), other.get(same..));
    match (one.unwrap_or_default(), other.unwrap_or_default()) {
        ([], [_]) | ([_], []) => true,
        ([_, one @ ..], [_, other @ ..]) if one == other => true,
        ([_, rest @ ..], other) if rest == other => true,
        (one, [_, rest @ ..]) if one == rest => true,
        ([a, b, one @ ..], [c, d, other @ ..]) => a == d && b == c && one == other,
        _ => false,
    }
}

/// A pair in the order of what the names say: the one with the longer first names
/// stays, of two with the same the one with more games. `None` if numbers keep the two
/// apart, as `Krejci, Jan` and `Krejci, Jan2`.
fn pair(one: &Person, other: &Person, likeness: Likeness) -> Option<Alike> {
    if !one.digits().eq(other.digits()) {
        return None;
    }
    let says = |person: &Person| (person.letters_of_first(), person.games);
    let rank = |person: &Person| match likeness {
        Likeness::Shortened => says(person),
        _ => (0, person.games),
    };
    let (name, other) = if rank(one) > rank(other) {
        (other, one)
    } else {
        (one, other)
    };
    Some(Alike {
        name: name.id,
        other: other.id,
        likeness,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::NamesBuilder;

    fn alike(names: &[&str]) -> Vec<(String, String, Likeness)> {
        let bound = u32::try_from(names.len()).unwrap();
        let mut builder = NamesBuilder::below(bound);
        for (id, name) in (0..).zip(names) {
            builder.add(EntityId(id), |out| out.push_str(name));
        }
        let built = builder.build();
        let name = |id: EntityId| built.get(id).unwrap().to_owned();
        let games: Vec<u32> = (1..=bound).rev().collect();
        let pairs = alike_names(&built, &games);
        let told = pairs
            .iter()
            .map(|it| (name(it.name), name(it.other), it.likeness));
        told.collect()
    }

    #[test]
    fn names_of_one_person_are_found() {
        for (one, other, likeness) in [
            ("Kasparov, G", "Kasparov, Garry", Likeness::Shortened),
            ("Kasparov", "Kasparov, Garry", Likeness::Shortened),
            (
                "Fischer, Robert J.",
                "Fischer, Robert James",
                Likeness::Shortened,
            ),
            ("Fischer, R", "Fischer, Robert James", Likeness::Shortened),
            ("Müller, Jörg", "MUELLER, Jorg", Likeness::Letter),
            ("Carlsen, Magnus", "carlsen,magnus", Likeness::Letters),
            ("Díaz, José", "Diaz, Jose", Likeness::Letters),
            ("Kasparov, Garry", "Kasparov, Gary", Likeness::Letter),
            ("Nimzowitsch, Aron", "Nimzovitsch, Aron", Likeness::Letter),
            ("Garry, Kasparov", "Kasparov, Garry", Likeness::Order),
            ("van der Wiel, John", "Wiel, John van der", Likeness::Order),
            ("Garry Kasparov", "Kasparov, Garry", Likeness::Order),
            ("Kasparov Garry", "Kasparov, Garry", Likeness::Order),
            ("Anna Maria Hanna", "Hanna, Anna Maria", Likeness::Order),
        ] {
            let found = alike(&[one, other]);
            assert!(
                found.iter().any(|(.., it)| *it == likeness),
                "{one} {other}: {found:?}"
            );
        }
    }

    #[test]
    fn names_of_two_people_are_left_alone() {
        for (one, other) in [
            ("Kasparov, Garry", "Karpov, Anatoly"),
            ("Polgar, Judit", "Polgar, Susan"),
            ("Li, A", "Lu, A"),
            ("Smith, Al", "Smith, Albert"),
            ("Krejci, Jan", "Krejci, Jan2"),
            ("Krejci, Jan2", "Krejci, Jan3"),
            ("Krejci, Jan", "Krejcí, Jan 2"),
            ("Novotny, Petra", "Nowotny, Petra1"),
            ("Novotny, Petra", "Novotny2, Petra"),
            ("NN", "NN, A"),
            ("Garry Kasparov", "Sarkapov, Garry"),
            ("?", ""),
        ] {
            assert_eq!(alike(&[one, other]), [], "{one} {other}");
        }
        let several = alike(&["Smith", "Smith, Adam", "Smith, John"]);
        assert_eq!(several, [], "whose it is nobody knows");
    }

    #[test]
    fn the_name_that_says_more_stays() {
        let found = alike(&["Kasparov, G", "Kasparov, Garry"]);
        assert_eq!(found[0].1, "Kasparov, Garry");
        // The first has more games.
        let found = alike(&["Diaz, Jose", "Díaz, José"]);
        assert_eq!(found[0].1, "Diaz, Jose");
    }

    #[test]
    fn many_of_one_name_take_bounded_time() {
        let letter = |digit: u32| char::from_u32(u32::from('a') + digit % 10).unwrap();
        let first = |at: u32| [10_000, 1000, 100, 10, 1].map(|place| letter(at / place));
        let names: Vec<String> = (0..20_000)
            .map(|at| format!("Smith, A{}", first(at).iter().collect::<String>()))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(alike(&names).len() < 100_000);
    }
}
