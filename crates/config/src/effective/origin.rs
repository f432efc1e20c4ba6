//! Where a value comes from.

use std::fmt;

use serde::Serialize;
use strait_document::SourceLocation;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A line of a file: of the configuration, or of a file of the vendor's own tool that the configuration names.
    File {
        /// The name of the file.
        file: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// An option of the command line.
    Option {
        /// The option and its value, as they are written.
        option: String,
    },
    /// The target's table.
    Target,
    /// The preset of `[optimize]`.
    Preset {
        /// The preset.
        preset: String,
    },
    /// Another key of the configuration needs this value.
    Implied {
        /// The key.
        by: &'static str,
    },
    /// The default of the key.
    Default,
    /// The key has no value, and what it is about does not happen or is not limited.
    Unset,
}

impl Origin {
    pub(super) fn of(place: &SourceLocation) -> Origin {
        let excerpt = place.excerpt("");
        let (name, text) = (&excerpt.source.name, &excerpt.source.text);
        match name.starts_with("--") {
            true => Origin::Option {
                option: format!("{name} {text}"),
            },
            false => Origin::File {
                file: name.clone(),
                line: excerpt.position().map_or(1, |(line, _)| line),
            },
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { file, line } => write!(f, "{file}:{line}"),
            Origin::Option { option } => f.write_str(option),
            Origin::Target => f.write_str("the target's table"),
            Origin::Preset { preset } => write!(f, "preset \"{preset}\""),
            Origin::Implied { by } => write!(f, "{by} needs it"),
            Origin::Default => f.write_str("default"),
            Origin::Unset => f.write_str("not set"),
        }
    }
}
