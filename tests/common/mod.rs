//! What several tests need.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "compiled into several tests, and not every one uses all of it"
)]

pub mod behaviours;
pub mod volume;

use std::path::{Path, PathBuf};

/// A file of the fixtures.
pub fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path)
}

/// Whether a mount can be tested here; says loudly if not.
pub fn has_fuse() -> bool {
    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    match device {
        Ok(_) => true,
        Err(error) => {
            eprintln!("\n*** NOT TESTED: /dev/fuse: {error}; no mount was made ***\n");
            // A machine that ought to have it can ask for a failure.
            assert!(
                std::env::var_os("CBFS_REQUIRE_FUSE").is_none(),
                "/dev/fuse is required"
            );
            false
        }
    }
}

/// A copy of a fixture base that a test may damage.
pub fn copy_of_base(base: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture(base)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    directory
}
