//! Makes text from a library or its worker safe to print.

/// The text, safe to print: control characters except line ends and tabs are replaced.
pub(crate) fn plain(text: &str) -> String {
    let shown = |letter: char| {
        let plain = !letter.is_control() || letter == '\n' || letter == '\t';
        let escaped = (!plain).then(|| letter.escape_default());
        plain.then_some(letter).into_iter().chain(escaped.into_iter().flatten())
    };
    text.chars().flat_map(shown).collect()
}
