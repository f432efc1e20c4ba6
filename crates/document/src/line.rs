//! Text that is printed beside other text.

/// True for text in one line that says what it shows: no control characters, none that turn the direction of writing.
pub fn is_plain_line(text: &str) -> bool {
    let turns = |letter| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.contains(|letter: char| letter.is_control() || turns(letter))
}
