//! Documents that people write: a configuration, or a target's table. A document is defined by its Rust types only. Parser,
//! checks, JSON schema and reference page are made from the types and their documentation.
//!
//! ```text
//! text ─▶ tree            every key knows where it was written; overlays and arguments are put into it   tree.rs
//!          │ check         against the shape of the types: all findings at once; paths resolved            described.rs, check.rs
//!          ▼ deserialize   the types                                                                      document.rs
//! ```
//!
//! The text form of Protocol Buffers becomes the same tree (`text_proto.rs`), and is checked by the same shapes.
//!
//! Without the feature `schema` any document passes that serde reads: that is for documents that a test has checked, such as the
//! tables of targets in the box. Without the feature `render` a diagnostic is its sentences and its place, and shows no line.
//!
//! The tree stays an index from a key to its place, so that later checks point at the line, too ([`Node::error`]).

mod any;
mod check;
mod choice;
pub mod codes;
#[cfg(feature = "schema")]
mod described;
#[cfg(not(feature = "schema"))]
#[path = "undescribed.rs"]
mod described;
mod deserialize;
pub mod diagnostic;
mod document;
mod glob;
mod key_path;
mod line;
pub mod nearest;
mod page;
mod scalar;
mod schema;
mod text_proto;
mod tree;
mod words;

pub use any::Any;
pub use check::check;
pub use choice::choice;
#[cfg(feature = "schema")]
pub use choice::names_alone;
pub use described::Described;
#[cfg(feature = "schema")]
pub use described::json_schema;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use document::{Document, read, syntax, utf8};
pub use glob::Glob;
pub use key_path::KeyPath;
pub use line::is_plain_line;
pub use page::Page;
pub use scalar::Scalar;
pub use schema::{Format, Key, Rule, Shape};
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
pub use text_proto::text_proto;
pub use tree::{Entry, Node, Source, SourceLocation, Table, Value};
