//! The text for a terminal.

use crate::{Entry, groups};

/// The width of a line.
const WIDTH: usize = 100;

/// Everything about one code.
pub fn entry_as_text(entry: &Entry) -> String {
    let mut text = wrapped(&format!("{}: {}", entry.code, entry.means), "");
    text += &format!("\nexample ({}):\n", lower_first(&entry.group));
    text += &wrapped(&entry.example, "  ");
    text += &block(entry.config.as_deref());
    text += "\nwhat to do:\n";
    text += &wrapped(&entry.remedy, "  ");
    text + &block(entry.paste.as_deref())
}

/// All codes with their meanings.
pub fn all_as_text() -> String {
    let mut text = String::new();
    for group in groups() {
        text += &format!("{}\n", group.title);
        let longest = group.codes.iter().map(|entry| entry.code.len()).max().unwrap_or(0);
        for entry in &group.codes {
            let head = format!("  {:<longest$}  ", entry.code);
            let lines = wrapped(&entry.means, &" ".repeat(head.len()));
            text += &lines.replacen(&" ".repeat(head.len()), &head, 1);
        }
        text.push('\n');
    }
    text + "`strait explain CODE` shows an example and the remedy."
}

/// The text with a small first letter, to go on in a sentence.
pub(crate) fn lower_first(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Lines of TOML, indented.
fn block(lines: Option<&str>) -> String {
    let Some(lines) = lines else { return String::new() };
    let indented = lines.trim_end().lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("      {line}\n"),
    });
    format!("\n{}", indented.collect::<String>())
}

/// Breaks a text at blanks into lines that begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    wrapped_to(WIDTH, text, indent)
}

/// The same, with lines of this width.
pub(crate) fn wrapped_to(width: usize, text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::from(indent));
    for word in text.split_whitespace() {
        let begins = line.len() == indent.len();
        if !begins && line.chars().count() + 1 + word.chars().count() > width {
            lines += &format!("{line}\n");
            line = String::from(indent);
        } else if !begins {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("{line}\n")
}
