//! The path from the top of a document to a value.

use std::{cmp::Ordering, fmt, sync::Arc};

/// The path from the top of a document to a value: `quantize.rule[2].layers[0]`.
///
/// A path shares memory with the shorter path from which it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Option<Arc<Link>>);

/// The last step of a path, and the path before it.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    before: KeyPath,
    segment: Segment,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// Makes a path through tables: `KeyPath::of(&["model", "file"])`.
    pub fn of(keys: &[&str]) -> Self {
        keys.iter().fold(KeyPath::default(), |path, key| path.key(key))
    }

    fn then(self, segment: Segment) -> Self {
        KeyPath(Some(Arc::new(Link { before: self, segment })))
    }

    /// The steps of the path, beginning at the top.
    pub(crate) fn segments(&self) -> Vec<&Segment> {
        let links = std::iter::successors(self.0.as_deref(), |&last| last.before.0.as_deref());
        let mut segments: Vec<&Segment> = links.map(|link| &link.segment).collect();
        segments.reverse();
        segments
    }

    /// Extends the path of a table to a key of the table.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    /// Extends the path of a list to an element of the list, counted from 0.
    #[must_use]
    pub fn index(self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    /// True if the path is `pattern`, in which `*` stands for any key or index.
    pub(crate) fn is_like(&self, pattern: &str) -> bool {
        let segments = self.segments();
        let mut names = pattern.split('.');
        let alike = segments.into_iter().all(|segment| match (segment, names.next()) {
            (_, Some("*")) => true,
            (Segment::Key(key), Some(name)) => key == name,
            _ => false,
        });
        alike && names.next().is_none()
    }

    /// True for the path of the whole document.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Ord for KeyPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.segments().cmp(&other.segments())
    }
}

impl PartialOrd for KeyPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for KeyPath {
    /// Writes the path as in TOML, with quotes around unusual keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments().into_iter().enumerate() {
            match segment {
                Segment::Key(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(f, "{dot}{}", quoted_if_odd(key))?;
                }
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The way from the top of a document to a value, while the document is checked. It takes no memory of the heap, since every
/// value has one and only the paths of wrong values are shown.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    /// The whole document.
    Top,
    /// A key of the table at the end of a way.
    Key(&'a Way<'a>, &'a str),
    /// An element of the list at the end of a way, counted from 0.
    Index(&'a Way<'a>, usize),
}

impl Way<'_> {
    /// The same way as a path.
    pub(crate) fn path(&self) -> KeyPath {
        match *self {
            Way::Top => KeyPath::default(),
            Way::Key(before, key) => before.path().key(key),
            Way::Index(before, index) => before.path().index(index),
        }
    }
}

impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)
    }
}

/// Writes a key as in TOML: bare if possible, and otherwise as a string.
fn quoted_if_odd(key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !key.is_empty() && key.chars().all(bare) {
        return key.to_owned();
    }
    let escaped = key.chars().map(|character| match character {
        '"' | '\\' => format!("\\{character}"),
        // These include all characters that TOML requires to be escaped. All of them are below 2^16.
        character if character.is_control() => format!("\\u{:04X}", u32::from(character)),
        character => character.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_paths_read_as_in_the_file() {
        let path = KeyPath::of(&["quantize", "rule"]).index(2).key("layers").index(0);
        assert_eq!(path.to_string(), "quantize.rule[2].layers[0]");
        assert_eq!(
            KeyPath::of(&["input", "a.b:0", "range"]).to_string(),
            r#"input."a.b:0".range"#
        );
    }

    #[test]
    fn keys_are_those_that_toml_reads() {
        for key in [
            "plain-key_1",
            "",
            "a.b",
            "say \"so\"",
            "back\\slash",
            "\u{7}\u{7f}\n\u{85}",
            "é\u{200b}",
        ] {
            let text = format!("{} = 1", KeyPath::of(&[key]));
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(table.keys().collect::<Vec<_>>(), [key]);
        }
    }
}
