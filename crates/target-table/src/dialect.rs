//! Quantization in the words of a vendor's own tool.

use crate::guard::caught;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
pub use strait_document::KeyPath;
use strait_document::{Described, Diagnostic, Diagnostics, Node, Shape, check, codes};

/// The words of a vendor's tool. The fields of the type are its keys: under `[target.options.ID]` of a configuration, and in a
/// file of the text form of Protocol Buffers.
pub trait Vocabulary: DeserializeOwned + Described {
    /// The name of such a file, with its article where it has one: `AMCT's simple configuration`.
    const NAME: &'static str;

    /// The settings in the words of a configuration. If two of them set the same thing, the later one wins.
    ///
    /// # Errors Everything that the target does not support.
    fn settings(self) -> Result<Vec<Setting>, Vec<Objection>>;
}

/// One setting in the words of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path of the vendor's key that it comes from.
    pub from: KeyPath,
    /// Its meaning.
    pub means: Means,
}

/// The meaning of a word.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Means {
    /// A `[[quantize.rule]]` of these keys, for this target alone.
    Rule(Map<String, Value>),
    /// A key of the configuration, with the tables in front of it, if the configuration does not give it itself. Such a key
    /// holds for all targets that are compiled together: if another target needs another value, the word is refused.
    Key(Vec<String>, Value),
    /// An option of the target, if the configuration does not give it itself.
    Option(String, Value),
}

/// Reason why a target does not support a word.
#[derive(Clone, Debug, PartialEq)]
pub struct Objection {
    /// The key that asks for it.
    pub from: KeyPath,
    /// A sentence.
    pub message: String,
    /// A help: what can be done instead.
    pub help: String,
}

/// The vocabulary of a target, as the registry holds it.
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
    /// The dialect of these words.
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

    /// The name of a file of these words.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The keys.
    pub fn shape(&self) -> Shape {
        (self.shape)()
    }

    /// The settings that a tree of such keys means. Each comes with the value of its key, which knows its place in the
    /// text.
    ///
    /// # Errors Everything that is wrong with the tree, or that the target does not support, with line and column.
    pub fn settings(&self, mut tree: Node) -> Result<Vec<(Setting, Node)>, Diagnostics> {
        check(&self.shape(), &mut tree)?;
        let found = caught(|| (self.settings)(&tree));
        // A checked tree can be read. If not, that is a defect of ours.
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
