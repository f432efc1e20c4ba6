//! Which of the names that exist was probably meant.

/// A sentence that names the nearest of `names`, where one is near: a third of the letters may be wrong.
pub(crate) fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = word.chars().count().div_ceil(3);
    let near = names
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= limit);
    near.min().map(|(_, name)| format!("did you mean `{name}`?"))
}

/// A help: the nearest name, or all of them.
pub(crate) fn help<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    suggestion(word, names.clone()).unwrap_or_else(|| format!("allowed: {}", list(names)))
}

/// Names in backticks, with commas between them.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// How many letters have to be inserted, deleted or replaced, letter case aside. Row by row:
/// d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + (aᵢ ≠ bⱼ)).
fn distance(a: &str, b: &str) -> usize {
    // Names of the table are short; what is compared with them need not be.
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let least = (row[j] + 1).min(row[j + 1] + 1).min(diagonal + usize::from(x != y));
            diagonal = std::mem::replace(&mut row[j + 1], least);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        assert_eq!(
            suggestion("requantise", ["requantize", "inputs"]),
            Some("did you mean `requantize`?".into())
        );
        assert_eq!(suggestion("colour", ["requantize", "inputs"]), None);
        assert_eq!(help("colour", ["a", "b"]), "allowed: `a`, `b`");
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
