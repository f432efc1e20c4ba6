//! Formats tables for people. Columns are as wide as their widest entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
};

pub(crate) use strait_core::counted as count;

/// Longer names are shortened in the middle.
const WIDEST_NAME: usize = 48;

/// Writes rows. The first row is the heading.
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

/// Like [`write`], but with lines of at most `width` characters, except where a single word is longer. The widest
/// columns are made narrower, and their texts continue on the next line. A remark that is not empty is written below
/// its row.
pub(crate) fn write_within<const N: usize>(
    out: &mut impl fmt::Write,
    width: usize,
    rows: impl Iterator<Item = ([String; N], String)>,
) -> fmt::Result {
    for line in lines_within(width, rows).into_iter().flatten() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The lines of each row of [`write_within`].
pub(crate) fn lines_within<const N: usize>(
    width: usize,
    rows: impl Iterator<Item = ([String; N], String)>,
) -> Vec<Vec<String>> {
    let rows: Vec<([String; N], String)> = rows.collect();
    let longest =
        |column: usize, of: fn(&str) -> usize| rows.iter().map(|(row, _)| of(&row[column])).max().unwrap_or(0);
    let natural: [usize; N] = std::array::from_fn(|column| longest(column, |text| text.chars().count()));
    let word = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    let words: [usize; N] = std::array::from_fn(|column| longest(column, word));
    let widths =
        |most: usize| -> [usize; N] { std::array::from_fn(|column| natural[column].min(most.max(words[column]))) };
    let free = width.saturating_sub(2 * N.saturating_sub(1));
    let fits = |most: &usize| widths(*most).iter().sum::<usize>() <= free;
    let widths = widths((0..=width).rev().find(fits).unwrap_or(0));
    let lines = rows.iter().map(|(row, remark)| {
        let cells: [Vec<String>; N] = std::array::from_fn(|column| wrapped(&row[column], widths[column]));
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let of_row = (0..height).map(|index| {
            let line: String = (cells.iter().zip(widths))
                .map(|(cell, width)| format!("{:<width$}  ", cell.get(index).map_or("", String::as_str)))
                .collect();
            line.trim_end().to_owned()
        });
        let remarks = match remark.is_empty() {
            true => Vec::new(),
            false => wrapped(remark, width.saturating_sub(REMARK.len())),
        };
        let remarks = remarks.iter().map(|line| format!("{REMARK}{line}"));
        of_row.chain(remarks).collect()
    });
    lines.collect()
}

/// Indent before a remark.
const REMARK: &str = "    ";

/// Breaks a text at blanks into lines. The result has at least one line. A word that is longer than a line gets a line
/// of its own.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > most {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Breaks the lines of a text that are longer than `width`. What continues a line stands a little to the right of it.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if line.chars().count() <= width {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let most = width.saturating_sub(indent + 2);
        for (at, part) in wrapped(line.trim_start(), most).iter().enumerate() {
            let _ = writeln!(out, "{:indent$}{}{part}", "", if at == 0 { "" } else { "  " });
        }
    }
    out
}

/// Writes a number with two digits behind the point, or with as many as are needed to tell it from a limit: 2.0004 beside 2.
pub(crate) fn beside(number: f64, limit: f64) -> String {
    let shown = |digits: usize| format!("{number:.digits$}");
    let digits = (2..=12).find(|&digits| number == limit || shown(digits) != format!("{limit:.digits$}"));
    shown(digits.unwrap_or(2))
}

/// Writes a real number with four digits.
pub(crate) fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    match rounded.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

/// Shortens long names that are shown together by leaving out their middles. Different names stay different.
pub(crate) fn all_shortened<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    all_shortened_to(names, WIDEST_NAME)
}

/// Like [`all_shortened`], to names of so many characters.
pub(crate) fn all_shortened_to<'a>(
    names: impl IntoIterator<Item = &'a str>,
    mut widest: usize,
) -> BTreeMap<&'a str, String> {
    let mut open: BTreeSet<&str> = names.into_iter().collect();
    let mut done = BTreeMap::new();
    while !open.is_empty() {
        let mut by_short: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for &name in &open {
            by_short.entry(shortened_to(name, widest)).or_default().push(name);
        }
        for (short, names) in by_short {
            if let [name] = names[..] {
                open.remove(name);
                done.insert(name, short);
            }
        }
        widest *= 2;
    }
    done
}

fn shortened_to(name: &str, widest: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= widest {
        return name.to_owned();
    }
    let half = (widest - 1) / 2;
    let (start, end) = (&letters[..half], &letters[letters.len() - half..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// Writes a large number with three digits and an exponent.
pub(crate) fn figure(count: u64) -> String {
    match count {
        ..100_000 => count.to_string(),
        _ => format!("{:.2e}", count as f64),
    }
}

/// Writes a number of bytes with a unit.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        // If a sum of sizes does not fit into a `u64`, it is the largest `u64`.
        u64::MAX => format!("more than {}", bytes(u64::MAX - 1)),
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beside_a_limit_is_told_from_it() {
        for (number, limit, expected) in [
            (1.234, 2.0, "1.23"),
            (2.0, 2.0, "2.00"),
            (2.0004, 2.0, "2.0004"),
            (1.9996, 2.0, "1.9996"),
            (2.006, 2.0, "2.01"),
            (0.1, 0.10001, "0.10000"),
        ] {
            assert_eq!(beside(number, limit), expected);
        }
    }

    #[test]
    fn bytes_are_told_in_units_that_fit() {
        for (count, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (9_999, "9999 bytes"),
            (10_000, "10.0 kB"),
            (u64::MAX, "more than 18446744073.7 GB"),
        ] {
            assert_eq!(bytes(count), expected);
        }
    }

    #[test]
    fn columns_line_up_and_lines_have_no_blanks_at_their_ends() {
        let mut out = String::new();
        let rows = [["a", "bb"], ["ccc", ""], ["ü", "d"]].map(|row| row.map(str::to_owned));
        write(&mut out, rows.into_iter()).unwrap();
        assert_eq!(out, "a    bb\nccc\nü    d\n");
    }

    #[test]
    fn wide_columns_go_on_in_the_next_line_and_lose_nothing() {
        let rows = [
            (["op", "note"], ""),
            (["conv", "not a word of this is lost"], "nor of what is said below"),
            (["max_pool", "aaaaaaaaaabbbb"], ""),
        ];
        let within = |width: usize| {
            let mut out = String::new();
            let rows = rows.map(|(row, remark)| (row.map(str::to_owned), remark.to_owned()));
            write_within(&mut out, width, rows.into_iter()).unwrap();
            out
        };
        let narrow = "op        note\nconv      not a word of\n          this is lost\n    nor of what is said\n    below\n\
                      max_pool  aaaaaaaaaabbbb\n";
        assert_eq!(within(24), narrow);
        for width in 0..50 {
            let out = within(width);
            // A line is never narrower than the longest words of both columns.
            let most = width.max(8 + 2 + 14);
            assert!(out.lines().all(|line| line.chars().count() <= most), "{width}: {out}");
            let all = rows.iter().flat_map(|(row, remark)| row.iter().chain([remark]));
            for word in all.flat_map(|text| text.split(' ')) {
                assert!(out.contains(word), "{width}: {out}");
            }
        }
        assert_eq!(within(40).lines().count(), 4);
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("{}{}", "a".repeat(100), "b".repeat(100));
        let short = shortened_to(&name, WIDEST_NAME);
        assert_eq!(short.chars().count(), 47);
        assert!(short.starts_with('a') && short.ends_with('b') && short.contains('…'));
        assert_eq!(shortened_to("short", WIDEST_NAME), "short");
    }

    #[test]
    fn names_that_stand_together_are_told_apart() {
        let long = |middle: &str| format!("{}{middle}{}", "a".repeat(60), "b".repeat(60));
        let (one, two, short) = (long("one"), long("two"), "short".to_owned());
        let shown = all_shortened([&one, &two, &short, &one].map(String::as_str));
        assert_eq!(shown["short"], "short");
        assert_ne!(shown[one.as_str()], shown[two.as_str()]);
        assert!(shown[one.as_str()].contains("one") || shown[one.as_str()] == one);
        assert_eq!(
            all_shortened([one.as_str()])[one.as_str()],
            shortened_to(&one, WIDEST_NAME)
        );
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [9_999, 22_170, 14_500_000].map(bytes),
            ["9999 bytes", "22.2 kB", "14.5 MB"]
        );
    }
}
