//! `[options]`: what a configuration may set under `[target.options.ID]`.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use strait_document::Scalar as OptionValue;
use strait_document::words;

/// Values for a target's options, by name.
pub type Options = BTreeMap<String, OptionValue>;

/// An option of the target. The table may have overlays that apply if the option has a certain value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OptionRow {
    /// The type of the option's values.
    #[serde(rename = "type")]
    pub kind: OptionType,
    /// The values that the option may have. Default: all values of the type.
    pub one_of: Option<Vec<OptionValue>>,
    /// The smallest allowed number.
    pub min: Option<i64>,
    /// The largest allowed number.
    pub max: Option<i64>,
    /// The value if a configuration gives none.
    pub default: OptionValue,
    /// What the option does, as a text for users.
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

impl OptionType {
    /// True if the value has this type.
    pub fn has(self, value: &OptionValue) -> bool {
        self == match value {
            OptionValue::Bool(_) => OptionType::Bool,
            OptionValue::Integer(_) => OptionType::Integer,
            OptionValue::String(_) => OptionType::String,
        }
    }
}

impl OptionRow {
    /// Converts the key of an overlay to a value of the option. If the key can be read as a value of the option's type,
    /// the value has this type, and otherwise it is a string.
    pub(super) fn value_of(&self, key: &str) -> OptionValue {
        let typed = match key {
            "true" => OptionValue::Bool(true),
            "false" => OptionValue::Bool(false),
            _ => key
                .parse()
                .map_or_else(|_| OptionValue::String(key.into()), OptionValue::Integer),
        };
        let fits = self.kind.has(&typed) && typed.to_string() == key;
        if fits { typed } else { OptionValue::String(key.into()) }
    }

    /// Why the option cannot have this value; `None` if it can.
    pub fn refuses(&self, value: &OptionValue) -> Option<String> {
        if !self.kind.has(value) {
            return Some(format!("`{value}` is not of type {}", self.kind));
        }
        if let Some(known) = self.one_of.as_ref()
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
