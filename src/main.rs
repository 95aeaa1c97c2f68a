//! The command `cbfs`; all of it is in [`cbfs::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    cbfs::cli::main(std::env::args_os().collect())
}
