//! Progress bars.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar of games on stderr, if that is a terminal.
pub(super) fn bar(records: u32, quiet: bool) -> ProgressBar {
    bar_of("games", records, quiet)
}

/// A progress bar of `what`.
pub(super) fn bar_of(what: &str, records: u32, quiet: bool) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!(
        "{{wide_bar}} {{human_pos}}/{{human_len}} {what} {{eta}}"
    ))
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(records.into()), target(quiet)).with_style(style)
}

/// As [`bar`], for the bytes of a text; without a length if it is unknown.
pub(super) fn bytes_bar(len: Option<u64>, quiet: bool) -> ProgressBar {
    let template = match len {
        Some(_) => "{wide_bar} {msg} {bytes}/{total_bytes} {eta}",
        None => "{spinner} {msg} {bytes}",
    };
    let style = ProgressStyle::with_template(template);
    ProgressBar::with_draw_target(len, target(quiet))
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    }
}
