//! A base that is open: its files, found and read together.

pub(in crate::cbh) mod crossref;
pub(in crate::cbh) mod database;
pub(in crate::cbh) mod facts;
pub(in crate::cbh) mod family;
pub(in crate::cbh) mod new_base;
pub(in crate::cbh) mod opening;
pub(in crate::cbh) mod parts;
pub(in crate::cbh) mod references;
pub(in crate::cbh) mod summary;
