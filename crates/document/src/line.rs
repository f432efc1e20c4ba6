//! Checks text that is printed next to other text.

/// True if the text is a single line without hidden effects: it has no control characters, and no characters that
/// change the direction of writing.
pub fn is_plain_line(text: &str) -> bool {
    let turns = |letter| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.contains(|letter: char| letter.is_control() || turns(letter))
}
