//! `find/<term>/<term>/…`: the games that fit all terms, and their positions.
//!
//! Each level is a term. What a query has beside further terms is in the block
//! of its numbers; without a term it is `find/` itself.

use std::sync::Arc;

use super::super::DatabaseVolume;
use super::positions::{FEN, LINES, TREE, query};
use crate::escape::Escaped;
use crate::fs::Error;
use crate::fs::volume::{Listing, Node, NodeKind, Size};
use crate::search::{Query, TERM_HELP};
use crate::views::list_fixed;
use crate::views::positions::Scope;

/// What a query has, by its place in the block.
pub(super) const DIRECTORY: u64 = 0;
pub(super) const COUNT: u64 = 1;
pub(super) const GAMES: u64 = 2;
pub(super) const GAMES_TSV: u64 = 3;
pub(super) const GAMES_PGN: u64 = 4;
pub(super) const README: u64 = 8;

/// What `find/` lists.
const IN_FIND: &[(&str, u64)] = &[("README.txt", README)];

/// What each query lists.
const IN_QUERY: &[(&str, u64)] = &[
    ("count", COUNT),
    ("games", GAMES),
    ("games.tsv", GAMES_TSV),
    ("games.pgn", GAMES_PGN),
    ("tree", TREE),
    ("fen", FEN),
    ("line", LINES),
];

/// Terms of a query, at most, and bytes of all of them.
const MOST_TERMS: usize = 64;
const MOST_BYTES: usize = 4096;

/// Maximum number of characters of a refused query that are reported.
const MOST_SHOWN: usize = 300;

fn entries(scope: &Scope) -> &'static [(&'static str, u64)] {
    if scope.is_empty() { IN_FIND } else { IN_QUERY }
}

impl DatabaseVolume {
    /// The node of what a query has in this place.
    pub(super) fn query_node(&self, scope: &Scope, place: u64) -> Result<Node, Error> {
        let key = query(scope.clone());
        let number = |place| self.search.common.nodes.number(&key, place);
        let directory = self.directory_of_moves(number(place)?, 2);
        let has_query = !scope.is_empty();
        let kind = match place {
            // What is listed counts: terms are not.
            DIRECTORY if has_query => return Ok(self.directory_of_moves(directory.ino, 5)),
            DIRECTORY | FEN | LINES => NodeKind::Directory,
            GAMES if has_query => NodeKind::Directory,
            TREE => NodeKind::Symlink,
            COUNT | GAMES_TSV if has_query => NodeKind::File(Size::Computed),
            GAMES_PGN if has_query => NodeKind::File(Size::Concatenation(number(GAMES)?)),
            README if !has_query => NodeKind::File(Size::Computed),
            _ => return Err(Error::NotFound),
        };
        let links = if kind == NodeKind::Directory { 2 } else { 1 };
        Ok(Node {
            kind,
            links,
            ..directory
        })
    }

    /// What a name in the directory of a query stands for.
    pub(super) fn lookup_in_query(&self, scope: &Scope, name: &[u8]) -> Result<Node, Error> {
        let mut entries = entries(scope).iter();
        if let Some((_, place)) = entries.find(|(entry, _)| entry.as_bytes() == name) {
            return self.query_node(scope, *place);
        }
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        if name.starts_with('.') {
            return Err(Error::NotFound);
        }
        let terms: Scope = scope.iter().cloned().chain([name.into()]).collect();
        if let Err(error) = Query::parse(&terms) {
            if error.is_unknown {
                return Err(Error::NotFound);
            }
            return Err(self.refuse_query(&terms, &error.to_string()));
        }
        let bytes: usize = terms.iter().map(|term| term.len()).sum();
        if terms.len() > MOST_TERMS || bytes > MOST_BYTES {
            let why = format!(
                "{} terms of {bytes} bytes; at most {MOST_TERMS} terms and {MOST_BYTES} bytes",
                terms.len()
            );
            return Err(self.refuse_query(&terms, &why));
        }
        self.query_node(&terms, DIRECTORY)
    }

    /// Logs why a query is invalid, and returns the error.
    fn refuse_query(&self, terms: &Scope, why: &str) -> Error {
        log::warn!("find/{why}");
        let query: String = terms.join("/").chars().take(MOST_SHOWN).collect();
        let line = Escaped(format!("find/{query}: {why}")).to_string();
        self.search.common.refused.note(line);
        Error::Invalid
    }

    /// Lists the directory of a query.
    pub(super) fn list_query(
        &self,
        scope: &Scope,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let nodes = entries(scope)
            .iter()
            .map(|(name, place)| Ok((*name, self.query_node(scope, *place)?)));
        let nodes: Result<Vec<_>, Error> = nodes.collect();
        list_fixed(nodes?, after, listing);
        Ok(())
    }

    /// Returns the query without its last term.
    pub(super) fn shorter(scope: &Scope) -> Scope {
        let terms = scope.split_last().map_or(&[][..], |(_, terms)| terms);
        Arc::from(terms)
    }

    /// The text of a small file of a query.
    pub(super) fn query_text(&self, scope: &Scope, place: u64) -> Result<String, Error> {
        match place {
            COUNT if !scope.is_empty() => Ok(format!("{}\n", self.selection(scope)?.games.count())),
            README if scope.is_empty() => {
                Ok(include_str!("find.txt").to_owned() + TERM_HELP + "\n")
            }
            _ => Err(Error::IsADirectory),
        }
    }
}
