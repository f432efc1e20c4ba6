//! Names that a new target cannot have.

use strait_driver::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    stop::Stop,
};
use strait_target::Registry;

use crate::arguments::Language;

/// Words that cannot be the name of a crate: Rust's keywords, its reserved words, and the names of the crates that
/// belong to Rust, except `proc-macro`. Source: the Rust reference, "Keywords" and "Preludes", edition 2024.
const OF_RUST: &[&str] = &[
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "std", "struct",
    "super", "test", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
    "yield",
];

/// Returns an error if a target with this name could not be built, or could be confused with another target.
pub(super) fn legal(name: &str, language: Language) -> Result<(), Stop> {
    let registry = Registry::builtin().map_err(|error| failure::registry(&error))?;
    let why = if registry.entries().any(|(id, _)| id == name) {
        "a target of this program has this id"
    } else if name == "strait" || name.starts_with("strait-") {
        "the crates of Strait have such names"
    } else if language == Language::Rust && (name == "proc-macro" || OF_RUST.contains(&name)) {
        "no crate in Rust can have this name"
    } else {
        return Ok(());
    };
    let message = format!("a new target cannot be called {name:?}: {why}");
    Err(Diagnostic::error(codes::OUTPUT, message)
        .help(format!(
            "give it another name, {:?} for instance; nothing was written",
            format!("my-{name}")
        ))
        .into())
}
