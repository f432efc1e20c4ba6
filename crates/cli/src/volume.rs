//! How much the program says, and in which colours.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::{
    Args,
    builder::styling::{AnsiColor, Style},
};

/// How much the program says.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Told {
    /// Say only what is wrong, and of a compilation only where its artifact is
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say all that there is to say, such as each layer, and the time of each phase
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// The process has one standard error, so there is one volume.
static VOLUME: AtomicU8 = AtomicU8::new(1);

impl Told {
    /// Makes this the volume of the process.
    pub(crate) fn heed(self) {
        VOLUME.store(1 - u8::from(self.quiet) + u8::from(self.verbose), Ordering::Relaxed);
    }
}

/// True with `--quiet`.
pub(crate) fn is_quiet() -> bool {
    VOLUME.load(Ordering::Relaxed) == 0
}

/// True with `--verbose`.
pub(crate) fn is_verbose() -> bool {
    VOLUME.load(Ordering::Relaxed) == 2
}

/// True if colours can be seen on this stream and nobody has asked to do without (<https://no-color.org>).
pub(crate) fn has_colours(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// The words at the beginning of a line that have a colour, and the colour.
const WORDS: &[(&str, Style)] = &[
    ("error:", AnsiColor::Red.on_default().bold()),
    ("warning:", AnsiColor::Yellow.on_default().bold()),
    ("lint:", AnsiColor::Yellow.on_default().bold()),
    ("outside:", AnsiColor::Yellow.on_default().bold()),
    ("artifact:", Style::new().bold()),
    ("digest:", Style::new().bold()),
];

/// Colours a text of several lines: what is wrong, and headings, which end with a colon.
pub(crate) fn painted(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn line(text: &str) -> String {
    let paint = |style: Style, part: &str, rest: &str| format!("{style}{part}{style:#}{rest}");
    if text.starts_with("gate ") {
        for (word, colour) in [(": FAILED:", AnsiColor::Red), (": met:", AnsiColor::Green)] {
            if let Some((gate, rest)) = text.split_once(word) {
                return paint(colour.on_default().bold(), &format!("{gate}{word}"), rest);
            }
        }
    }
    for &(word, style) in WORDS {
        if let Some(rest) = text.strip_prefix(word) {
            return paint(style, word, rest);
        }
    }
    match text.ends_with(':') && !text.starts_with(' ') {
        true => paint(Style::new().bold(), text, ""),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn what_is_wrong_and_headings_have_colours_and_nothing_else_changes() {
        let text = "gate size: FAILED: too large\nlint: odd [L1]\nwhat to do next:\n  1. nothing:\nplain";
        let shown = painted(text);
        assert!(
            shown.starts_with("\u{1b}[1m\u{1b}[31mgate size: FAILED:\u{1b}[0m too large\n"),
            "{shown:?}"
        );
        assert!(shown.contains("\u{1b}[1mwhat to do next:\u{1b}[0m\n  1. nothing:\nplain"));
        let mut plain = String::new();
        for part in shown.split('\u{1b}') {
            plain += part
                .strip_prefix('[')
                .and_then(|part| part.split_once('m'))
                .map_or(part, |(_, rest)| rest);
        }
        assert_eq!(plain, text);
    }
}
