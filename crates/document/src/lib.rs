//! Documents that people write, such as a configuration or a target's table. Only Rust types define a document. The
//! parser, the checks, the JSON schema and the reference page are all made from these types and their documentation.
//!
//! ```text
//! text ─▶ tree            every key knows where it was written; overlays and arguments are put into it   tree.rs
//!          │ check         against the shape of the types: all findings at once; paths resolved            described.rs, check.rs
//!          ▼ deserialize   the types                                                                      document.rs
//! ```
//!
//! A text in the text form of Protocol Buffers becomes a tree of the same kind (`text_proto.rs`), which is checked
//! against shapes in the same way.
//!
//! Without the feature `schema`, every document that serde can read passes the check. Such a build is meant for
//! documents that a test has already checked, such as the tables of the built-in targets. Without the feature `render`,
//! a diagnostic is rendered as its sentences and its place, and does not show the line.
//!
//! After the conversion, the tree is kept as an index from keys to their places, so that later checks can also point at
//! the line with the error ([`Node::error`]).

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
pub use document::{Document, converted, read, syntax, utf8};
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
