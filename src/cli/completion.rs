//! Completions for shells.
//!
//! The shell asks the program itself, by a variable in its environment, what
//! can stand at the cursor. So paths, mount points and mount options are those
//! of now and of this version.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};

use super::Failure;
use super::options::NAMES;
use crate::fuse::mount_points;

/// The variable by which a shell asks; its value is the name of the shell.
const VARIABLE: &str = "CBFS_COMPLETE";

/// Code pages that occur in bases and PGN files.
const CODE_PAGES: [&str; 9] = [
    "1250", "1251", "1252", "1253", "1254", "1255", "1256", "1257", "1258",
];

/// Extensions of the files that stand for a base, a book or an archive.
const SOURCES: [&str; 9] = [
    "cbh", "2cbh", "cbv", "cbz", "ctg", "kob", "kin", "ksf", "pgn",
];

/// Answers a shell, if it was a shell that asked.
///
/// # Errors
///
/// [`Failure`] for a shell that is not known, or an error of standard output.
pub(super) fn answer(program: fn() -> Command, arguments: &[OsString]) -> Result<bool, Failure> {
    if env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let here = env::current_dir().ok();
    // Options are offered only after a dash; other words are paths or values.
    let typed = arguments.last().map(|typed| typed.as_encoded_bytes());
    let wants_options = typed.is_some_and(|typed| typed.starts_with(b"-"));
    CompleteEnv::with_factory(|| with_candidates(program(), wants_options))
        .var(VARIABLE)
        .try_complete(arguments, here.as_deref())
        .map_err(Failure::new)
}

/// The lines by which a shell learns to ask.
///
/// # Errors
///
/// [`Failure`] for a shell that is not known.
pub(super) fn script(shell: &str) -> Result<Vec<u8>, Failure> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(shell)
        .ok_or_else(|| Failure::new(format_args!("no completions for {shell}")))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "cbfs", "cbfs", "cbfs", &mut script)
        .map_err(Failure::new)?;
    Ok(script)
}

/// The program, its arguments with what can stand for them.
fn with_candidates(program: Command, wants_options: bool) -> Command {
    let shown = move |arg: Arg| {
        let is_hidden = arg.is_hide_set() || !arg.is_positional() && !wants_options;
        arg.hide(is_hidden)
    };
    let program = program.disable_version_flag(!wants_options);
    let program = program.disable_help_flag(!wants_options);
    program.mut_args(shown).mut_subcommands(|command| {
        let is_umount = command.get_name() == "umount";
        let command = command.disable_help_flag(!wants_options);
        command.mut_args(|arg| match arg.get_id().as_str() {
            "codepage" | "pgn_codepage" => shown(arg).add(ArgValueCandidates::new(code_pages)),
            "options" => shown(arg).add(ArgValueCompleter::new(mount_options)),
            "mountpoint" if is_umount => of_mount_points(arg),
            "mountpoint" => arg.value_hint(ValueHint::DirPath),
            // The first place of each command but `find`, whose terms follow it.
            "source" | "base" => arg.add(ArgValueCompleter::new(sources)),
            _ => shown(arg),
        })
    })
}

/// Folders, and files that cbfs reads.
fn sources(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_read = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        let extension = extension.unwrap_or_default().to_ascii_lowercase();
        SOURCES.contains(&extension.as_str())
    };
    PathCompleter::any().filter(is_read).complete(typed)
}

fn code_pages() -> Vec<CompletionCandidate> {
    CODE_PAGES.map(CompletionCandidate::new).into()
}

/// Completes mount points of cbfs only.
fn of_mount_points(arg: Arg) -> Arg {
    arg.value_hint(ValueHint::Other)
        .add(ArgValueCandidates::new(|| {
            let mounted = mount_points().unwrap_or_default();
            mounted.into_iter().map(CompletionCandidate::new).collect()
        }))
}

/// Options of `-o` behind those that are there.
fn mount_options(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let begin = typed.rfind(',').map_or(0, |comma| comma + 1);
    let (before, last) = typed.split_at_checked(begin).unwrap_or((typed, ""));
    NAMES
        .iter()
        .filter(|name| name.starts_with(last))
        .map(|name| CompletionCandidate::new(format!("{before}{name}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_options_are_completed_behind_a_comma() {
        let completed = mount_options(OsStr::new("ro,allow_"));
        let completed: Vec<&OsStr> = completed
            .iter()
            .map(CompletionCandidate::get_value)
            .collect();
        assert_eq!(completed, ["ro,allow_other", "ro,allow_root"]);
    }
}
