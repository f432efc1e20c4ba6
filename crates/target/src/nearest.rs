//! What to say where a name does not exist.

use strait_core::nearest::did_you_mean;

/// A sentence that names the nearest of `names`, where one is near.
pub(crate) fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = did_you_mean(word, names);
    near.first().map(|name| format!("did you mean `{name}`?"))
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
    }
}
