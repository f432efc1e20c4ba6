//! Finds the existing name that a misspelled word probably stands for.

/// Returns the names for which `word` is probably a misspelling: at most three, the most similar first. Up to a third
/// of the letters of `word` may be wrong. Upper and lower case are not distinguished.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    rank(word, names, limit, 3)
}

/// Returns the `count` names that are most similar to `pattern`, even if they are not very similar. A `*` in the
/// pattern matches any text.
pub fn closest<'a>(pattern: &str, names: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    rank(pattern, names, usize::MAX, count)
}

/// A sentence that suggests the most similar of `names`; `None` if none of them is similar enough.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = did_you_mean(word, names);
    near.first().map(|name| format!("did you mean `{name}`?"))
}

/// Advice to the user: suggests the most similar of `names` or, if none is similar, lists all of them.
pub fn help<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    suggestion(word, names.clone()).unwrap_or_else(|| format!("allowed: {}", list(names)))
}

/// A list of names in backticks, separated by commas.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn rank<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, limit: usize, count: usize) -> Vec<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    // Only the best `count` names are kept at any time. So even for a graph with a million names, no second list of
    // them is needed.
    let mut best: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let limit = if best.len() < count {
            limit
        } else {
            best.last().map_or(limit, |&(distance, _)| distance)
        };
        if let Some(distance) = distance(&word, name, limit) {
            let position = best.partition_point(|known| *known < (distance, name));
            if best.get(position) != Some(&(distance, name)) {
                best.insert(position, (distance, name));
                best.truncate(count);
            }
        }
    }
    best.into_iter().map(|(_, name)| name).collect()
}

/// Returns the number of letters in which `word` and `name` differ: letters that are inserted, deleted, replaced, or
/// swapped with their neighbour. Returns `None` if this number is above `limit`.
///
/// Let wᵢ be letter i of `word`, nⱼ letter j of `name`, and d(i, j) the distance between the first i letters of `word`
/// and the first j letters of `name`. Then d(i, j) is the least of d(i-1, j) + 1, d(i, j-1) + 1,
/// d(i-1, j-1) + (wᵢ ≠ nⱼ), and d(i-2, j-2) + 1 for swapped neighbours. If wᵢ is `*`, the first two terms have no 1.
///
/// Distances are computed row by row, one row for each i. The smallest distance in a row is never below the smallest
/// distance in the rows from which the row is computed. So if two consecutive rows are completely above the limit, the
/// result is `None`. One such row is not enough, because swaps use the row before the previous one.
fn distance(word: &[char], name: &str, limit: usize) -> Option<usize> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let wildcards = word.contains(&'*');
    if !wildcards && word.len().abs_diff(name.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=name.len()).collect();
    for (i, &letter) in word.iter().enumerate() {
        let cost = usize::from(letter != '*');
        let mut row = Vec::with_capacity(above.len());
        row.push(above[0] + cost);
        for (j, &other) in name.iter().enumerate() {
            let mut least = (above[j + 1] + cost)
                .min(row[j] + cost)
                .min(above[j] + usize::from(letter != other));
            if i > 0 && j > 0 && letter == name[j - 1] && word[i - 1] == other {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        let above_limit = |row: &[usize]| row.iter().all(|&distance| distance > limit);
        if above_limit(&row) && above_limit(&above) {
            return None;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_find_their_names() {
        let names = ["samples", "data", "observer", "observer_options", "cache"];
        for (word, expected) in [
            ("sample", vec!["samples"]),
            ("Samples", vec!["samples"]),
            ("smaples", vec!["samples"]),
            ("dtaa", vec!["data"]),
            ("observer_option", vec!["observer_options"]),
            ("obsrever", vec!["observer"]),
            ("threads", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(did_you_mean(word, names), expected, "{word}");
        }
    }

    #[test]
    fn distances_are_those_of_optimal_string_alignment() {
        for (word, name, expected) in [
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("", "abc", 3),
            ("abcd", "", 4),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            let word: Vec<char> = word.chars().collect();
            assert_eq!(distance(&word, name, usize::MAX), Some(expected));
            assert_eq!(distance(&word, name, expected), Some(expected));
            if expected > 0 {
                assert_eq!(distance(&word, name, expected - 1), None);
            }
        }
    }

    #[test]
    fn a_pattern_finds_the_layers_it_nearly_matches() {
        let names = ["/model.22/cv2.0/conv/Conv", "/model.1/act/Mul", "/model.22/dfl/Softmax"];
        assert_eq!(
            closest("/model.22/cv2.*/convv/**", names, 1),
            ["/model.22/cv2.0/conv/Conv"]
        );
        assert_eq!(closest("/modle.22/dfl/*", names, 1), ["/model.22/dfl/Softmax"]);
    }

    #[test]
    fn equal_distances_are_in_order_of_name_and_named_once() {
        assert_eq!(
            closest("conv_1", ["conv_3", "conv_2", "conv_3"], 2),
            ["conv_2", "conv_3"]
        );
    }

    #[test]
    fn a_help_names_the_nearest_or_all() {
        assert_eq!(
            help("requantise", ["requantize", "inputs"]),
            "did you mean `requantize`?"
        );
        assert_eq!(suggestion("colour", ["requantize", "inputs"]), None);
        assert_eq!(help("colour", ["a", "b"]), "allowed: `a`, `b`");
    }
}
