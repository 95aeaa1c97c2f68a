//! The byte sequences that can represent the names of one entity.

use super::super::entity::Entity;
use super::super::fields::{NameForm, Spelling};
use super::{EditError, EntityEditor, data_of, is_deleted};
use crate::bytes::ByteReader;
use crate::cbh::EntityId;
use crate::cbh::entities::collation::Collation;

/// Maximum number of combinations to look up in the tree. Beyond that, all
/// records are read.
const MOST_WAYS: usize = 256;

/// All record data that mean the same entity: the possible spellings of each
/// name in the key.
#[derive(Debug)]
pub(super) struct Spellings {
    /// The data of a new record of the entity.
    data: Vec<u8>,
    /// Size of each name field, and its possible contents.
    fields: Vec<(usize, Vec<Spelling>)>,
}

impl Spellings {
    pub(super) fn of(
        entity: &Entity,
        form: NameForm,
        sizes: &[usize],
    ) -> Result<Spellings, EditError> {
        let names = entity.key_names().into_iter().zip(sizes);
        let fields = names.map(|(name, &size)| (size, form.spellings(name, size)));
        Ok(Spellings {
            data: entity.encode(None, form)?.data,
            fields: fields.collect(),
        })
    }

    /// The record data of all combinations, those with the complete names
    /// first; `None` if there are too many.
    pub(super) fn all(&self) -> Option<Vec<Vec<u8>>> {
        let mut all = vec![(0, Vec::new())];
        for (size, spellings) in &self.fields {
            if all.len() * spellings.len() > MOST_WAYS {
                return None;
            }
            let ways = all.iter().flat_map(|(cut, before): &(usize, Vec<u8>)| {
                spellings.iter().map(move |spelling| {
                    let mut data = before.clone();
                    data.extend_from_slice(&spelling.bytes);
                    data.resize(before.len() + size, 0);
                    (cut + usize::from(!spelling.is_whole), data)
                })
            });
            all = ways.collect();
        }
        all.sort_by_key(|(cut, _)| *cut);
        let whole = |(_, data): (usize, Vec<u8>)| self.with_names(data);
        Some(all.into_iter().map(whole).collect())
    }

    /// The data of a new record with its names replaced.
    fn with_names(&self, mut names: Vec<u8>) -> Vec<u8> {
        names.extend_from_slice(self.data.get(names.len()..).unwrap_or_default());
        names
    }

    /// Returns how many names of a record are truncated; `None` if the record
    /// has other names.
    fn cut_names(&self, data: &[u8]) -> Option<usize> {
        let mut reader = ByteReader::new(data);
        let mut cut = 0;
        for (size, spellings) in &self.fields {
            let name = reader.string_field(*size).ok()?;
            let is_it = |spelling: &&Spelling| spelling.bytes == name;
            cut += usize::from(!spellings.iter().find(is_it)?.is_whole);
        }
        Some(cut)
    }

    /// The data of a new record with the names of `other`.
    fn with_names_of(&self, other: &[u8]) -> Vec<u8> {
        let len = self.fields.iter().map(|(size, _)| size).sum::<usize>();
        self.with_names(other.get(..len).unwrap_or_default().to_vec())
    }
}

impl EntityEditor<'_> {
    /// Finds a live record that has one of the spellings by reading all
    /// records. Prefers the fewest truncated names, then the lowest id.
    pub(super) fn scan_for(&self, spellings: &Spellings) -> Result<Option<EntityId>, EditError> {
        let mut found: Option<(usize, u32)> = None;
        self.for_each(&mut |id, record| {
            let data = data_of(record);
            let Some(cut) = spellings.cut_names(data).filter(|_| !is_deleted(record)) else {
                return Ok(());
            };
            let wanted = spellings.with_names_of(data);
            let order = (self.layout.compare)(&wanted, data, Collation::Unsigned)?;
            if order.is_eq() && found.is_none_or(|best| (cut, id) < best) {
                found = Some((cut, id));
            }
            Ok(())
        })?;
        Ok(found.map(|(_, id)| EntityId(id)))
    }
}
