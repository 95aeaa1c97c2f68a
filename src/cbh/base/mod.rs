//! A base that is open: its files, found and read together.

pub(in crate::cbh) mod crossref;
pub(in crate::cbh) mod database;
pub(in crate::cbh) mod facts;
pub(in crate::cbh) mod family;
pub(in crate::cbh) mod new_base;
pub(in crate::cbh) mod opening;
pub(in crate::cbh) mod parts;
pub(in crate::cbh) mod references;
#[cfg(test)]
pub(in crate::cbh) mod samples;
mod stray_journal;
pub(in crate::cbh) mod summary;

#[cfg(test)]
pub(in crate::cbh) use samples::copy_of_sample;
