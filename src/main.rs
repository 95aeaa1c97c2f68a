//! The command `cbfs`; all of it is in [`cbfs::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    cbfs::cli::main(&arguments)
}
