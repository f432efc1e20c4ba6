//! Writes numbers as they appear in the text of certificates.

use std::fmt::Display;

/// A number with its noun: 1 channel, 2 channels.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    format!("{number} {thing}{}", if number == N::from(1) { "" } else { "s" })
}

/// The digits of a number in groups of three, with a minus sign if it is negative: −18 231.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "−" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
