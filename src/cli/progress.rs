//! How far a long command has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of games on stderr if that is a terminal.
pub(super) fn bar(records: u32, quiet: bool) -> ProgressBar {
    bar_of("games", records, quiet)
}

/// A bar of something else.
pub(super) fn bar_of(what: &str, records: u32, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let style = ProgressStyle::with_template(&format!(
        "{{wide_bar}} {{human_pos}}/{{human_len}} {what} {{eta}}"
    ))
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(records.into()), target).with_style(style)
}
