//! Tables for people: columns as wide as their widest entries.

use std::fmt::{self, Write as _};

/// Longer names are shortened in the middle.
const WIDEST_NAME: usize = 48;

/// Writes rows, the first of which is the heading.
pub(crate) fn write<const N: usize>(out: &mut impl fmt::Write, rows: impl Iterator<Item = [String; N]>) -> fmt::Result {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            write!(line, "{text:<width$}  ")?;
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A name, its middle left out where it is long.
pub(crate) fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= WIDEST_NAME {
        return name.to_owned();
    }
    let half = (WIDEST_NAME - 1) / 2;
    let (start, end) = (&letters[..half], &letters[letters.len() - half..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// A number of things.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_blanks_at_their_ends() {
        let mut out = String::new();
        let rows = [["a", "bb"], ["ccc", ""], ["ü", "d"]].map(|row| row.map(str::to_owned));
        write(&mut out, rows.into_iter()).unwrap();
        assert_eq!(out, "a    bb\nccc\nü    d\n");
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("{}{}", "a".repeat(100), "b".repeat(100));
        let short = shortened(&name);
        assert_eq!(short.chars().count(), 47);
        assert!(short.starts_with('a') && short.ends_with('b') && short.contains('…'));
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [9_999, 22_170, 14_500_000].map(bytes),
            ["9999 bytes", "22.2 kB", "14.5 MB"]
        );
    }
}
