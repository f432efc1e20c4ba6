//! Options about the machine.

use std::num::NonZeroUsize;

use clap::Args;
use strait_driver::limits::{self, Limits, Operations};

/// Options about the machine. Results do not depend on them.
#[derive(Debug, Default, Args)]
pub(crate) struct Machine {
    /// Number of threads, at most 256; fewer if the system does not allow more [default: as many as the machine has]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory that runs may use, such as 500M or 8GiB; if it is too little for several samples at once, they run one
    /// after the other [default: four fifths of what the machine or its container has]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Number of operations that one sample may need, such as 5e12, or `unlimited` [default: 1e12, or 1e5 for each byte
    /// of weights]
    #[arg(long, value_name = "COUNT", value_parser = operations)]
    pub(crate) operations: Option<Operations>,
    /// Instruction set to use, for tests [also: the environment variable STRAIT_ISA]
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) isa: Option<String>,
}

/// Parses a number of threads.
fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "a number of threads is 1 or more; leave it out for as many as the machine has".to_owned())
}

impl Machine {
    /// The limits on memory and operations of runs.
    pub(crate) fn limits(&self) -> Limits {
        let default = limits::of_machine();
        Limits {
            memory: self.memory.or(default.memory),
            operations: self.operations.unwrap_or_default(),
        }
    }
}

/// Parses a number of bytes. `4096` is a number of bytes, `MB` in `500MB` stands for 1000², and `GiB` in `8GiB` for
/// 1024³. `G` in `8G` also stands for 1024³, since this is what people usually mean.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a number and B, K, M, G or T, as in 500M or 8GiB".to_owned();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_uppercase();
    let power = unit
        .chars()
        .next()
        .map_or(Some(0), |letter| "BKMGT".find(letter))
        .ok_or_else(wrong)?;
    let base: f64 = match unit.get(1..).unwrap_or_default() {
        "" | "IB" => 1024.0,
        "B" if power > 0 => 1000.0,
        _ => return Err(wrong()),
    };
    let bytes = number * base.powi(power as i32);
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong()) }
}

fn operations(text: &str) -> Result<Operations, String> {
    if text == "unlimited" {
        return Ok(Operations::Unlimited);
    }
    match text.parse::<f64>() {
        Ok(count) if count >= 1.0 && count.is_finite() => Ok(Operations::AtMost(count as u64)),
        _ => Err("a count is a number, as 5e12, or `unlimited`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("10B", Some(10)),
            ("500M", Some(500 << 20)),
            ("500MB", Some(500_000_000)),
            ("1.5GiB", Some(3 << 29)),
            ("2 g", Some(2 << 30)),
            ("1T", Some(1 << 40)),
            ("0", None),
            ("-1G", None),
            ("8X", None),
            ("8Gib!", None),
            ("G", None),
            ("", None),
        ] {
            assert_eq!(size(text).ok(), expected, "{text}");
        }
        assert_eq!(operations("5e12"), Ok(Operations::AtMost(5_000_000_000_000)));
        assert_eq!(operations("unlimited"), Ok(Operations::Unlimited));
        assert!(
            ["0", "-1", "NaN", "inf", "many"]
                .iter()
                .all(|text| operations(text).is_err())
        );
    }
}
