//! Quantization settings that are written with the keys of a vendor's own tool.

use crate::guard::caught;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
pub use strait_document::KeyPath;
use strait_document::{Described, Diagnostic, Diagnostics, Node, Shape, check, codes};

/// The settings of a vendor's tool. A type that implements this trait has a field for each key of the tool. The keys
/// can be given under `[target.options.ID]` of a configuration, and in a file in the text form of Protocol Buffers.
pub trait Vocabulary: DeserializeOwned + Described {
    /// What messages call a file with these settings, with an article if the name needs one, such as `AMCT's simple
    /// configuration`.
    const NAME: &'static str;

    /// Translates the settings into those of a Strait configuration. If two of the tool's settings set the same thing,
    /// the later one wins.
    ///
    /// # Errors
    /// If the target does not support some of the settings. All unsupported settings are returned.
    fn settings(self) -> Result<Vec<Setting>, Vec<Objection>>;
}

/// One setting of the vendor's tool, translated for a Strait configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path of the vendor's key that the setting comes from.
    pub from: KeyPath,
    /// What the setting means in a configuration.
    pub means: Means,
}

/// The meaning of a setting of a vendor's tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Means {
    /// A `[[quantize.rule]]` with these keys, which applies only to this target.
    Rule(Map<String, Value>),
    /// The path of a key of the configuration, and a value for this key. The value applies if the configuration does
    /// not set the key itself. The value holds for all targets that are compiled together. If another of these targets
    /// needs a different value, the setting is refused.
    Key(Vec<String>, Value),
    /// A value for an option of the target. It applies if the configuration does not set the option itself.
    Option(String, Value),
}

/// Why a target does not support a setting of the vendor's tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Objection {
    /// The vendor's key that is not supported.
    pub from: KeyPath,
    /// A sentence that says what is not supported.
    pub message: String,
    /// A sentence that says what can be done instead.
    pub help: String,
}

/// A [`Vocabulary`] in the form in which the registry stores it.
#[derive(Clone, Copy)]
pub struct Dialect {
    name: &'static str,
    shape: fn() -> Shape,
    settings: fn(&Node) -> Result<Result<Vec<Setting>, Vec<Objection>>, String>,
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Dialect {
    /// Makes the dialect of the vocabulary `V`.
    pub const fn of<V: Vocabulary>() -> Dialect {
        Dialect {
            name: V::NAME,
            shape: || Shape::of_type::<V>(&[]),
            settings: |tree| {
                let words = V::deserialize(tree.to_toml()).map_err(|error| error.to_string())?;
                Ok(words.settings())
            },
        }
    }

    /// The name of a file with these settings in messages.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The keys of the settings, with their types.
    pub fn shape(&self) -> Shape {
        (self.shape)()
    }

    /// Translates a tree of the tool's keys into settings. Each setting is returned with the node of its key's value,
    /// which has the line and the column of the value.
    ///
    /// # Errors
    /// If something is wrong with the tree, or if the target does not support some of the settings. All errors are
    /// returned, with line and column.
    pub fn settings(&self, mut tree: Node) -> Result<Vec<(Setting, Node)>, Diagnostics> {
        check(&self.shape(), &mut tree)?;
        let found = caught(|| (self.settings)(&tree));
        // After the check, the tree can always be converted to settings. If it cannot, Strait has a bug.
        let defect = |message: String| {
            let message = format!("defect in Strait: {} cannot be read: {message}", self.name);
            Diagnostics::from(Diagnostic::error(codes::DEFECT, message).at(tree.location.excerpt("")))
        };
        let settings = found.unwrap_or_else(Err).map_err(defect)?;
        let settings = settings.map_err(|objections| {
            let finding = |objection: Objection| {
                let finding = tree.error(codes::VALUE, &objection.from, objection.message, "");
                finding.help(objection.help)
            };
            Diagnostics(objections.into_iter().map(finding).collect())
        })?;
        let placed = |setting: Setting| {
            let said = tree.nearest(&setting.from).clone();
            (setting, said)
        };
        Ok(settings.into_iter().map(placed).collect())
    }
}
