//! `[options]`: what a configuration may set under `[target.options.ID]`.

use super::words::words;
use crate::Located;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{collections::BTreeMap, fmt};

/// Values for a target's options, by name.
pub type Options = BTreeMap<String, OptionValue>;

/// One option. A value of it may switch an overlay of the table on.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionRow {
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: OptionType,
    /// The values that it may have. Absent: all of the type.
    pub one_of: Option<Located<Vec<OptionValue>>>,
    /// The smallest number.
    pub min: Option<i64>,
    /// The largest number.
    pub max: Option<i64>,
    /// The value where the configuration gives none.
    pub default: Located<OptionValue>,
    /// What it does, for people.
    pub help: String,
}

words! {
    /// The type of an option's values.
    OptionType {
        /// Text.
        String = "string",
        /// A whole number.
        Integer = "integer",
        /// `true` or `false`.
        Bool = "bool",
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    String(String),
}

impl OptionValue {
    /// Its type.
    pub fn kind(&self) -> OptionType {
        match self {
            OptionValue::Bool(_) => OptionType::Bool,
            OptionValue::Integer(_) => OptionType::Integer,
            OptionValue::String(_) => OptionType::String,
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(value) => write!(f, "{value}"),
            OptionValue::Integer(value) => write!(f, "{value}"),
            OptionValue::String(value) => f.write_str(value),
        }
    }
}

impl OptionRow {
    /// Why the option cannot have a value; `None` where it can.
    pub fn refuses(&self, value: &OptionValue) -> Option<String> {
        if value.kind() != self.kind {
            return Some(format!("`{value}` is not of type {}", self.kind));
        }
        if let Some(known) = self.one_of.as_deref()
            && !known.contains(value)
        {
            let known: Vec<String> = known.iter().map(|v| format!("`{v}`")).collect();
            return Some(format!("`{value}` is not one of {}", known.join(", ")));
        }
        match (value, self.min, self.max) {
            (OptionValue::Integer(value), Some(min), _) if *value < min => Some(format!("{value} is below {min}")),
            (OptionValue::Integer(value), _, Some(max)) if *value > max => Some(format!("{value} is above {max}")),
            _ => None,
        }
    }
}
