//! Versions of tables: which part of a version differs from the old version.

use super::Effect;
use strait_document::words;

words! {
    /// The part of a version that is raised. The mildest change comes first.
    Raise {
        /// The new version is lower than the old one.
        Lowered = "lowered",
        /// No part is raised.
        None = "none",
        /// The third number is raised.
        Patch = "patch",
        /// The second number is raised.
        Minor = "minor",
        /// The first number is raised.
        Major = "major",
    }
}

impl From<Effect> for Raise {
    fn from(effect: Effect) -> Raise {
        match effect {
            Effect::Text => Raise::Patch,
            Effect::AcceptsMore => Raise::Minor,
            Effect::AcceptsLess | Effect::OtherBits => Raise::Major,
        }
    }
}

/// Which part of the version is raised from `old` to `new`.
pub(super) fn raised(old: &str, new: &str) -> Raise {
    let [old, new] = [numbers(old), numbers(new)];
    let first = old.iter().zip(&new).position(|(old, new)| old != new);
    match first {
        Some(_) if new < old => Raise::Lowered,
        Some(0) => Raise::Major,
        Some(1) => Raise::Minor,
        Some(_) => Raise::Patch,
        None => Raise::None,
    }
}

/// The smallest version above `old` in which the part `raise` is raised.
pub(super) fn least(old: &str, raise: Raise) -> String {
    let mut numbers = numbers(old);
    numbers.resize(3, 0);
    let part = match raise {
        Raise::Major => 0,
        Raise::Minor => 1,
        Raise::Patch => 2,
        Raise::None | Raise::Lowered => return old.to_owned(),
    };
    numbers[part] = numbers[part].saturating_add(1);
    numbers[part + 1..].fill(0);
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
