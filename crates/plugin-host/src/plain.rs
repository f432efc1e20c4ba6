//! Text of the other side, as it may be printed.

/// Text of the other side as it may be printed: no control characters but line ends and tabulators.
pub(crate) fn plain(text: &str) -> String {
    let shown = |letter: char| {
        let plain = !letter.is_control() || letter == '\n' || letter == '\t';
        let escaped = (!plain).then(|| letter.escape_default());
        plain.then_some(letter).into_iter().chain(escaped.into_iter().flatten())
    };
    text.chars().flat_map(shown).collect()
}
