//! Numbers as people read them.

/// A count with thin spaces between groups of three digits.
pub(crate) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// An integer with thin spaces between groups of three digits.
pub(crate) fn integer(number: i64) -> String {
    let digits = grouped(&number.unsigned_abs().to_string());
    if number < 0 { format!("−{digits}") } else { digits }
}

fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A count with the word for what is counted.
pub(crate) fn counted(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{} {word}s", count(number as u64)),
    }
}

/// A number of bytes.
pub(crate) fn bytes(number: u64) -> String {
    let number = number as f64;
    match number {
        _ if number >= 1e9 => format!("{:.2} GB", number / 1e9),
        _ if number >= 1e6 => format!("{:.2} MB", number / 1e6),
        _ if number >= 1e3 => format!("{:.1} kB", number / 1e3),
        _ => format!("{number} bytes"),
    }
}

/// A number of operations.
pub(crate) fn operations(number: u64) -> String {
    let number = number as f64;
    match number {
        _ if number >= 1e9 => format!("{:.2} G", number / 1e9),
        _ if number >= 1e6 => format!("{:.1} M", number / 1e6),
        _ if number >= 1e3 => format!("{:.1} k", number / 1e3),
        _ => format!("{number}"),
    }
}

/// A real number with four digits.
pub(crate) fn real(number: f64) -> String {
    let size = number.abs();
    let text = match size {
        0.0 => return "0".to_owned(),
        _ if !number.is_finite() => return "not a number".to_owned(),
        _ if !(1e-3..1e5).contains(&size) => format!("{number:.2e}"),
        _ => format!("{number:.*}", (3 - size.log10().floor() as i32).clamp(0, 6) as usize),
    };
    let text = match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    text.replace('-', "−")
}

/// A ratio of signal to noise.
pub(crate) fn decibel(snr: f64) -> String {
    if snr.is_finite() {
        format!("{snr:.1} dB").replace('-', "−")
    } else {
        "exact".to_owned()
    }
}

/// An SNR of this many dB stands for no error at all.
pub(crate) const EXACT: f64 = 200.0;

/// A ratio of signal to noise, if there is noise.
pub(crate) fn error(snr: f64) -> String {
    match snr < EXACT {
        true => decibel(snr),
        false => "no error".to_owned(),
    }
}

/// A figure of a metric. A line does not end in front of its unit.
pub(crate) fn figure(unit: strait_evaluate::Unit, value: f64) -> String {
    unit.shown(value).replace(' ', "\u{a0}").replace('-', "−")
}

/// A difference with its sign.
pub(crate) fn signed(number: f64) -> String {
    let text = format!("{number:+.2}").replace('-', "−");
    if matches!(text.as_str(), "+0.00" | "−0.00") {
        "0.00".to_owned()
    } else {
        text
    }
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        small if small < 0.01 => "below 0.01 %".to_owned(),
        some if some < 10.0 => format!("{some:.2} %"),
        much => format!("{much:.1} %"),
    }
}

/// A word of a command, with quotes if a shell would read it otherwise.
pub(crate) fn shell(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+./,:@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The end of a text that is too long for a place, since names differ at their ends.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(all - most.saturating_sub(1)).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(
            [0.0, 0.5, 123.45, -0.0123, 1e-9].map(real),
            ["0", "0.5", "123.5", "−0.0123", "1.00e−9"]
        );
        assert_eq!(signed(-0.001), "0.00");
        assert_eq!(bytes(3_543_268), "3.54 MB");
        assert_eq!(shortened("backbone/conv_17", 8), "…conv_17");
    }
}
