//! The words of a table that several of its parts use.

use crate::nearest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, de, de::Visitor};
use std::{borrow::Cow, fmt};
use strait_requantize::{IntType, Rounding};

/// An enum whose members are words of the table: one list gives parser, printer and schema.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, schemars::JsonSchema)]
        pub enum $name { $($(#[$vdoc])* #[schemars(rename = $word)] $variant),* }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const NAMES: &[&str] = &[$($word),*];
                let index = deserializer.deserialize_str($crate::spec::words::Word(NAMES))?;
                Ok($name::ALL[index])
            }
        }

        impl $name {
            /// Every member, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word in the table.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use words;

/// Reads one of these words; its value is the word's position.
pub(crate) struct Word(pub(crate) &'static [&'static str]);

impl Visitor<'_> for Word {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", nearest::list(self.0.iter().copied()))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<usize, E> {
        let position = self.0.iter().position(|known| *known == word);
        position.ok_or_else(|| E::unknown_variant(word, self.0))
    }
}

words! {
    /// How sure it is that the table says what the reference computes, the strongest first: what rests on several rows
    /// rests on the weakest, which is the largest.
    Evidence {
        /// Derived from the reference's definition.
        Proved = "proved",
        /// Compared with the reference, output by output.
        Measured = "measured",
        /// Written in the vendor's documentation.
        Documented = "documented",
        /// Neither; the most plausible reading.
        Assumed = "assumed",
    }
}

words! {
    /// An integer type.
    Integer {
        /// -128 ..= 127
        Int8 = "int8",
        /// 0 ..= 255
        Uint8 = "uint8",
        /// -32768 ..= 32767
        Int16 = "int16",
        /// -2^31 ..= 2^31 - 1
        Int32 = "int32",
    }
}

words! {
    /// What shares one scale, or one set of integers.
    Per {
        /// The whole tensor.
        Tensor = "tensor",
        /// Each output channel.
        Channel = "channel",
    }
}

impl From<Integer> for IntType {
    fn from(word: Integer) -> IntType {
        match word {
            Integer::Int8 => IntType::I8,
            Integer::Uint8 => IntType::U8,
            Integer::Int16 => IntType::I16,
            Integer::Int32 => IntType::I32,
        }
    }
}

impl From<IntType> for Integer {
    fn from(t: IntType) -> Integer {
        match t {
            IntType::I8 => Integer::Int8,
            IntType::U8 => Integer::Uint8,
            IntType::I16 => Integer::Int16,
            IntType::I32 => Integer::Int32,
        }
    }
}

/// Smallest and largest value, both included; written `[min, max]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "[i64; 2]")]
#[schemars(with = "[i64; 2]")]
pub struct Interval {
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
}

impl Interval {
    /// Whether `value` lies inside.
    pub fn contains(&self, value: i64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

impl From<[i64; 2]> for Interval {
    fn from([min, max]: [i64; 2]) -> Interval {
        Interval { min, max }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.min, self.max)
    }
}

/// The schema of a [`Rounding`], whose crate knows no schemas.
pub(crate) struct RoundingWord;

impl JsonSchema for RoundingWord {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Rounding".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Rounding::ALL.map(Rounding::name) })
    }
}
