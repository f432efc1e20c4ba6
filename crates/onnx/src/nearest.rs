//! The names that are most like a mistyped one.

/// How many names are suggested.
const MOST: usize = 3;

/// Names longer than this are cut before they are compared, as the comparison is quadratic in their length.
const LONGEST: usize = 128;

/// Up to three of `names` within an edit distance of a third of the name's length, the nearest first and equally near ones
/// in alphabetical order.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let limit = (name.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = names
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name.to_string()).collect()
}

/// The Levenshtein distance: the fewest insertions, deletions and replacements of characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    // row[j] is the distance between the characters of `a` so far and the first j of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(LONGEST).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshtein_distances() {
        for (a, b, expect) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!(distance(a, b), expect, "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["output", "outputs", "input", "logits"];
        assert_eq!(nearest("outptu", names.into_iter()), ["output", "outputs"]);
        assert!(nearest("something", names.into_iter()).is_empty());
    }
}
