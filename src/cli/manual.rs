//! Manual pages: of the commands, from what `--help` says, and of what is
//! shown and stored, from `docs/`.

mod roff;

use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, Command};

use self::roff::ManualPage;
use super::Failure;

/// When the pages were last changed, as CHANGELOG.md dates the version.
const DATE: &str = "2026-11-23";

/// The page of `docs/` about the commands; the sections of a command are
/// called as it is.
const COMMANDS: &str = include_str!("../../docs/commands.md");

/// Pages of `docs/` that are manual pages: name, section, text.
const SUBJECTS: [(&str, u8, &str); 9] = [
    ("mount.fuse.cbfs", 8, include_str!("../../docs/mounting.md")),
    ("cbfs-tree", 7, include_str!("../../docs/tree.md")),
    ("cbfs-saving", 7, include_str!("../../docs/saving.md")),
    ("cbfs-importing", 7, include_str!("../../docs/importing.md")),
    ("cbfs-search", 7, include_str!("../../docs/search.md")),
    ("cbfs-books", 7, include_str!("../../docs/books.md")),
    ("cbfs-pictures", 7, include_str!("../../docs/pictures.md")),
    ("cbfs-archives", 7, include_str!("../../docs/archives.md")),
    ("cbfs-data", 7, include_str!("../../docs/data.md")),
];

/// Sections of [`COMMANDS`] that the page of each command has.
const COMMON: [&str; 3] = ["Exit status", "Files", "Environment"];

/// The page of the program itself.
pub(super) fn main_page(program: Command) -> String {
    of_command(&built(program), "cbfs")
}

/// Writes all pages to `directory`.
///
/// # Errors
///
/// [`Failure`] that names the directory or file.
pub(super) fn write_all(program: Command, directory: &Path) -> Result<(), Failure> {
    let program = built(program);
    let write = |name: &str, section: u8, text: String| {
        let path = directory.join(format!("{name}.{section}"));
        fs::write(&path, text).map_err(|error| Failure::about(&path, error))
    };
    write("cbfs", 1, of_command(&program, "cbfs"))?;
    for command in program.get_subcommands().filter(|one| !one.is_hide_set()) {
        let name = format!("cbfs-{}", command.get_name());
        write(&name, 1, of_command(command, &name))?;
    }
    for (name, section, text) in SUBJECTS {
        write(name, section, of_subject(name, section, text))?;
    }
    Ok(())
}

fn built(program: Command) -> Command {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    program
}

fn of_subject(name: &str, section: u8, text: &str) -> String {
    let (title, text) = text.split_once('\n').unwrap_or((text, ""));
    let title = title.trim_start_matches("# ");
    let mut page = ManualPage::new(name, section, DATE);
    page.heading("Name");
    page.text(&format!("{name} - {}", with_small_initial(title)));
    if section == 8 {
        page.heading("Synopsis");
        page.bold_lines(&[
            "mount -t fuse.cbfs [-o OPTIONS] SOURCE DIRECTORY",
            "mount.fuse.cbfs SOURCE DIRECTORY [-sfnv] [-o OPTIONS]",
        ]);
    }
    page.heading("Description");
    page.markdown(text);
    see_also(&mut page, name);
    page.finish()
}

fn of_command(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string);
    let about = about.unwrap_or_default();
    let long = command.get_long_about().map(ToString::to_string);
    let mut page = ManualPage::new(name, 1, DATE);
    page.heading("Name");
    page.text(&format!("{name} - {}", with_small_initial(&about)));
    page.heading("Synopsis");
    page.synopsis(&synopsis(command, name));
    page.heading("Description");
    page.text(&long.unwrap_or(format!("{about}.")));
    subcommands(&mut page, command);
    options(&mut page, command);
    let after = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    if let Some(after) = after {
        page.heading("Notes");
        page.preformatted(&after.to_string());
    }
    let own = section_of(COMMANDS, &name.replacen('-', " ", 1));
    if let Some(own) = own {
        page.heading("Examples");
        page.markdown(own);
    }
    for heading in COMMON {
        if let Some(text) = section_of(COMMANDS, heading) {
            page.heading(heading);
            page.markdown(text);
        }
    }
    see_also(&mut page, name);
    page.finish()
}

/// The commands of the program, with what they do.
fn subcommands(page: &mut ManualPage, command: &Command) {
    let mut commands = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .peekable();
    if commands.peek().is_some() {
        page.heading("Commands");
    }
    for one in commands {
        let about = one.get_about().map(ToString::to_string);
        page.item(
            &format!("cbfs {}", one.get_name()),
            "",
            &about.unwrap_or_default(),
        );
    }
}

fn options(page: &mut ManualPage, command: &Command) {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (places, options): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    page.heading("Options");
    for arg in places.into_iter().chain(options) {
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let mut help = help.map(ToString::to_string).unwrap_or_default();
        let values = arg.get_possible_values();
        let names: Vec<&str> = values
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(clap::builder::PossibleValue::get_name)
            .collect();
        if !names.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
            help.push_str("; one of ");
            help.push_str(&names.join(", "));
        }
        let (flags, value) = head_of(arg);
        page.item(&flags, &value, &help);
    }
}

/// The flags of an argument, and the name of its value.
fn head_of(arg: &Arg) -> (String, String) {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = arg.is_positional() || arg.get_action().takes_values();
    let names = arg.get_value_names().unwrap_or_default();
    let names = names.iter().map(clap::builder::Str::as_str);
    let mut value = if takes_value {
        names.collect::<Vec<_>>().join(" ")
    } else {
        String::new()
    };
    let is_many = arg
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1);
    if takes_value && (is_many || matches!(arg.get_action(), ArgAction::Append)) {
        value.push('…');
    }
    (flags.join(", "), value)
}

/// The parts of a command line: bold words, names of values, brackets.
fn synopsis(command: &Command, name: &str) -> Vec<String> {
    let mut parts = vec![format!("**{}**", name.replacen('-', " ", 1))];
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (places, options): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    for arg in options.into_iter().chain(places) {
        let (flags, value) = head_of(arg);
        let flag = flags.rsplit(", ").next().unwrap_or_default();
        let mut part = match (flag, value.as_str()) {
            ("", value) => format!("*{value}*"),
            (flag, "") => format!("**{flag}**"),
            (flag, value) => format!("**{flag}** *{value}*"),
        };
        if !arg.is_required_set() {
            part = format!("[{part}]");
        }
        parts.push(part);
    }
    if command.has_subcommands() {
        parts.push("*COMMAND* …".to_owned());
    }
    parts
}

fn see_also(page: &mut ManualPage, name: &str) {
    page.heading("See also");
    let mut others = vec![("cbfs", 1), ("cbfs-mount", 1)];
    others.extend(SUBJECTS.iter().map(|(name, section, _)| (*name, *section)));
    let others: Vec<String> = others
        .into_iter()
        .filter(|(other, _)| *other != name)
        .map(|(name, section)| format!("**{name}**({section})"))
        .collect();
    page.markdown(&others.join(", "));
}

/// The text under a heading of the second level.
fn section_of<'t>(text: &'t str, heading: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("\n## {heading}\n"))?;
    Some(after.split("\n## ").next().unwrap_or(after))
}

fn with_small_initial(text: &str) -> String {
    let mut chars = text.chars();
    let is_name = text
        .split(' ')
        .next()
        .is_some_and(|word| word.chars().filter(|letter| letter.is_uppercase()).count() > 1);
    match chars.next() {
        Some(first) if !is_name => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_has_an_example() {
        let program = built(Cli::command());
        for command in program.get_subcommands() {
            let heading = format!("cbfs {}", command.get_name());
            let is_meta = matches!(command.get_name(), "completions" | "man");
            assert!(
                is_meta || section_of(COMMANDS, &heading).is_some(),
                "{heading}"
            );
        }
    }

    #[test]
    fn a_synopsis_names_values_and_brackets_what_may_be_left_out() {
        let program = built(Cli::command());
        let export = program.find_subcommand("export").unwrap();
        let parts = synopsis(export, "cbfs-export").join(" ");
        assert!(parts.contains("[**--output** *FILE*]"), "{parts}");
        assert!(parts.ends_with("*SOURCE*"), "{parts}");
    }

    #[test]
    fn the_pages_have_the_date_of_the_version() {
        let changes = include_str!("../../CHANGELOG.md");
        let heading = format!("\n## {} – {DATE}\n", env!("CARGO_PKG_VERSION"));
        assert!(changes.contains(&heading), "{heading}");
    }
}
