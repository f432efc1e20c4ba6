//! Calls by which a library shows that it keeps to the interface: those of hosts of other versions, and calls that no host
//! in its right mind makes.

use serde::{Deserialize, Serialize};
use std::fmt;
use strait_plugin_interface::INTERFACE_MAJOR;

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probe {
    /// A tile, as this host hands it over.
    Plain,
    /// The entry, by a host of this version.
    Entry {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// The entry once more, by this host.
    EntryAgain,
    /// A struct of a host that knows less or more of it.
    Sized(Struct, Size),
    /// A tile with less room for codes than it has accumulators.
    LessRoom,
    /// Something that is null.
    Null(Argument),
    /// `emit` with bytes that are no model.
    NoModel {
        /// Number of bytes.
        size: u32,
    },
    /// A second target with the same options, which is closed again.
    Reopened,
}

/// Subject of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Versions of the interface.
    Versions,
    /// Sizes of structs and of room.
    Sizes,
    /// Arguments that are null.
    Nulls,
    /// Bytes that are no model.
    Garbage,
    /// Several targets.
    Targets,
}

/// Structs that a host hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Struct {
    /// `strait_host`
    Host,
    /// `strait_open`
    Open,
    /// `strait_form`
    Form,
    /// `strait_tile`
    Tile,
    /// `strait_emit`
    Emit,
    /// `strait_node`
    Node,
}

/// The part of a struct that the host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// Its size and nothing else, of the host its versions.
    Smaller,
    /// Fields that nobody knows yet.
    Larger,
}

/// An argument that is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Argument {
    /// The host.
    Host,
    /// The host's `report`.
    Report,
    /// The options of `open`.
    Options,
    /// The place for the target that `open` makes.
    Place,
    /// The target.
    Target,
    /// The form.
    Form,
    /// The tile.
    Tile,
    /// Accumulators.
    Accumulators,
    /// Room for codes.
    Codes,
    /// The model of `emit`.
    Model,
    /// The function by which `emit` writes.
    Write,
    /// The node of `admits`.
    Node,
    /// The function by which `admits` refuses.
    Refuse,
    /// The target of `close`.
    Closed,
}

/// A major version that no plugin serves.
pub(crate) const FAR: u32 = 1000;

impl Probe {
    /// All but the plain one, which is what the others are held against.
    pub fn all() -> impl Iterator<Item = Probe> {
        use Argument::{
            Accumulators, Closed, Codes, Form, Host, Model, Node, Options, Place, Refuse, Report, Target, Tile, Write,
        };
        let entries = [(FAR, 0), (0, 0), (INTERFACE_MAJOR, FAR)];
        let entries = entries.map(|(major, minor)| Probe::Entry { major, minor });
        let structs = [
            Struct::Host,
            Struct::Open,
            Struct::Form,
            Struct::Tile,
            Struct::Emit,
            Struct::Node,
        ];
        let sizes = [Size::Smaller, Size::Larger];
        let sized = structs
            .into_iter()
            .flat_map(move |of| sizes.map(|size| Probe::Sized(of, size)));
        let nulls = [
            Host,
            Report,
            Options,
            Place,
            Target,
            Form,
            Tile,
            Accumulators,
            Codes,
            Model,
            Write,
            Node,
            Refuse,
            Closed,
        ];
        let models = [0, 64, 4096].map(|size| Probe::NoModel { size });
        entries
            .into_iter()
            // In front of calls that may harm a target when they close another one.
            .chain([Probe::EntryAgain, Probe::Reopened])
            .chain(sized)
            .chain([Probe::LessRoom])
            .chain(nulls.map(Probe::Null))
            .chain(models)
    }

    /// The function that is called.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Probe::Entry { .. } | Probe::EntryAgain => "its entry",
            Probe::Sized(Struct::Open, _) | Probe::Null(Argument::Options | Argument::Place) | Probe::Reopened => {
                "open"
            }
            Probe::Null(Argument::Closed) => "close",
            Probe::Sized(Struct::Emit, _) | Probe::Null(Argument::Model | Argument::Write) | Probe::NoModel { .. } => {
                "emit"
            }
            Probe::Sized(Struct::Node, _) | Probe::Null(Argument::Node | Argument::Refuse) => "admits",
            _ => "requantize",
        }
    }

    /// True for those that call `requantize`.
    pub fn requantizes(self) -> bool {
        self.call() == "requantize"
    }

    /// Its subject.
    pub fn about(self) -> About {
        match self {
            Probe::Entry { .. } | Probe::EntryAgain => About::Versions,
            Probe::Plain | Probe::Sized(..) | Probe::LessRoom => About::Sizes,
            Probe::Null(_) => About::Nulls,
            Probe::NoModel { .. } => About::Garbage,
            Probe::Reopened => About::Targets,
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Probe::Plain => f.write_str("a plain tile"),
            Probe::Entry { major, minor } => write!(f, "a host of version {major}.{minor}"),
            Probe::EntryAgain => f.write_str("the entry, called again"),
            Probe::Sized(of, Size::Smaller) => write!(f, "{of} of a host that knows its first fields alone"),
            Probe::Sized(of, Size::Larger) => write!(f, "{of} with fields that nobody knows yet"),
            Probe::LessRoom => f.write_str("a tile with less room for codes than it has accumulators"),
            Probe::Null(argument) => f.write_str(argument.name()),
            Probe::NoModel { size } => write!(f, "emit of {size} bytes that are no model"),
            Probe::Reopened => f.write_str("a second target with the same options"),
        }
    }
}

impl fmt::Display for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Struct::Host => "strait_host",
            Struct::Open => "strait_open",
            Struct::Form => "strait_form",
            Struct::Tile => "strait_tile",
            Struct::Emit => "strait_emit",
            Struct::Node => "strait_node",
        })
    }
}

impl Argument {
    fn name(self) -> &'static str {
        match self {
            Argument::Host => "requantize without a host",
            Argument::Report => "a host without report",
            Argument::Options => "open without options",
            Argument::Place => "open without a place for the target",
            Argument::Target => "requantize without a target",
            Argument::Form => "requantize without a form",
            Argument::Tile => "requantize without a tile",
            Argument::Accumulators => "a tile without accumulators",
            Argument::Codes => "a tile without room for codes",
            Argument::Model => "emit without a model",
            Argument::Write => "emit without write",
            Argument::Node => "admits without a node",
            Argument::Refuse => "admits without refuse",
            Argument::Closed => "close of nothing",
        }
    }
}
