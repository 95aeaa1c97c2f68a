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

/// A copy of the sample base, for a test that changes it, in a folder of its own.
#[cfg(test)]
pub(in crate::cbh) fn copy_of_sample() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir("fixtures/cbh/sample").unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    folder
}
