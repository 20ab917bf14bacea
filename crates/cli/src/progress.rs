//! Progress bars on standard error, shown only if it is a terminal.
//!
//! Templates are indicatif's, with one more key: `{rate}`, whole steps per second.

use std::fmt;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Returns a bar of this many steps.
pub(crate) fn bar(steps: u64, title: &str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(10));
    dress(bar, title, template)
}

/// Returns a spinner, for work of unknown length.
pub(crate) fn spinner(title: &str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let bar = dress(bar, title, template);
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

/// Returns a hidden bar.
pub(crate) fn none() -> ProgressBar {
    ProgressBar::hidden()
}

fn dress(bar: ProgressBar, title: &str, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = write!(out, "{} a second", HumanCount(state.per_sec() as u64));
        })
        .progress_chars("█▉▊▋▌▍▎▏ ");
    bar.set_style(style);
    bar.set_prefix(title.to_owned());
    bar
}
