//! Reads documents of a vendor's own tool in the text form of Protocol Buffers into values of Rust types.

use serde::de::DeserializeOwned;
use std::{ops::Range, path::PathBuf, sync::Arc};
use strait_document::{
    Described, Diagnostics, KeyPath, Node, Shape, Source, check, diagnostic::SourceText, text_proto,
};

use crate::TargetError;

/// A document that was read, together with the place of each of its fields in the text. It is an error if a field is
/// not one of the type's fields, or if a field that is not a list occurs twice.
#[derive(Clone, Debug)]
pub struct Written<'a, T> {
    /// The contents of the document.
    pub value: T,
    text: &'a str,
    tree: Node,
}

impl<'a, T: DeserializeOwned + Described> Written<'a, T> {
    /// Reads a document from its text.
    ///
    /// # Errors
    /// If the syntax is wrong or a field does not fit the type. The first such error is returned, with its place in the
    /// text.
    pub fn read(text: &'a str) -> Result<Written<'a, T>, TargetError> {
        let source = Arc::new(Source {
            text: Arc::new(SourceText {
                name: String::new(),
                text: text.to_owned(),
            }),
            folder: PathBuf::new(),
            rank: 0,
        });
        let shape = Shape::of_type::<T>(&[]);
        let mut tree = text_proto(&source, &shape).map_err(|found| first(&found))?;
        check(&shape, &mut tree).map_err(|found| first(&found))?;
        // After the check, the tree can always be converted to the type. If it cannot, the error is about the whole
        // text.
        let value = T::deserialize(tree.to_toml()).map_err(|error| TargetError::Text {
            at: 0..0,
            message: error.to_string(),
        })?;
        Ok(Written { value, text, tree })
    }
}

impl<'a, T> Written<'a, T> {
    /// Returns the range of bytes of the field at the end of a path. If there is no such field, returns the range of
    /// the last field along the path that exists.
    pub fn at(&self, path: &KeyPath) -> Range<usize> {
        self.tree.nearest(path).location.span.clone().unwrap_or(0..0)
    }

    /// Returns the value of a field as it was written. A number is returned with its exact digits, whereas the number
    /// in [`Written::value`] may be rounded.
    pub fn as_written(&self, path: &KeyPath) -> &'a str {
        self.text.get(self.at(path)).unwrap_or_default()
    }

    /// Makes an error about a field.
    pub fn wrong(&self, path: &KeyPath, message: impl Into<String>) -> TargetError {
        TargetError::Text {
            at: self.at(path),
            message: message.into(),
        }
    }
}

/// Converts the first finding, with its label, to an error.
fn first(found: &Diagnostics) -> TargetError {
    let Some(finding) = found.0.first() else {
        return TargetError::Text {
            at: 0..0,
            message: "this document cannot be read".to_owned(),
        };
    };
    let (at, label) = match &finding.excerpt {
        Some(excerpt) => (excerpt.span.clone(), excerpt.label.as_str()),
        None => (None, ""),
    };
    let more = [label].into_iter().filter(|label| !label.is_empty());
    let parts = more.chain(finding.notes.iter().chain(&finding.help).map(String::as_str));
    TargetError::Text {
        at: at.unwrap_or(0..0),
        message: parts.fold(finding.message.clone(), |message, part| format!("{message}; {part}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use schemars::JsonSchema;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Cake {
        name: String,
        #[serde(default)]
        layers: Vec<f64>,
    }

    fn wrong(text: &str) -> (&str, String) {
        match Written::<Cake>::read(text) {
            Err(TargetError::Text { at, message }) => (&text[at], message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_know_their_bytes() {
        let cake = Written::<Cake>::read("name: 'x' # sweet\nlayers: 0.1 layers: [ 2, 3f]").unwrap();
        assert_eq!(
            (cake.value.name.as_str(), &*cake.value.layers),
            ("x", &[0.1, 2.0, 3.0][..])
        );
        let layers = KeyPath::of(&["layers"]);
        assert_eq!(cake.as_written(&layers.clone().index(0)), "0.1");
        assert_eq!(cake.as_written(&layers.clone().index(2)), "3f");
        assert_eq!(cake.at(&layers.index(1)), 40..41);
        assert_eq!(cake.at(&KeyPath::of(&["name", "absent"])), 6..9);
    }

    #[test]
    fn a_fault_has_its_bytes_and_one_sentence() {
        let (at, message) = wrong("name: 'x'\nlayer: 1");
        assert_eq!(at, "layer");
        assert!(
            message.contains("no key `layer`") && message.contains("did you mean `layers`?"),
            "{message}"
        );
        let (at, message) = wrong("layers: true name: 'x'");
        assert!(at == "true" && message.contains("expected a"), "{at} {message}");
        assert_eq!(wrong("layers: 1").1.split(';').next(), Some("`name` is missing"));
        assert_eq!(wrong("name: 'x' name: 'y'").0, "name");
        assert_eq!(wrong("name: 'x").0, "'");
    }
}
