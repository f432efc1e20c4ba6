//! Test calls that show whether a library keeps to the interface. They imitate hosts of other versions, and make calls
//! that no sensible host would make.

use serde::{Deserialize, Serialize};
use std::fmt;
use strait_document::words;
use strait_plugin_interface::INTERFACE_MAJOR;

/// A test call that checks whether a library keeps to the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probe {
    /// A normal tile, as this host hands it over.
    Plain,
    /// The entry function, called as a host of the version `major.minor` would call it.
    Entry {
        /// Major version of the imitated host.
        major: u32,
        /// Minor version of the imitated host.
        minor: u32,
    },
    /// The entry function, called by this host a second time.
    EntryAgain,
    /// A struct as it is handed over by a host that knows fewer or more of the struct's fields.
    Sized(Struct, Size),
    /// A tile with room for fewer codes than it has accumulators.
    LessRoom,
    /// An argument that is null.
    Null(Argument),
    /// A call of `emit` with bytes that are no model.
    NoModel {
        /// Number of bytes that are handed over.
        size: u32,
    },
    /// A second target with the same options is opened and closed again.
    Reopened,
}

/// The part of a library's behaviour that a test call tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// How the library treats other versions of the interface.
    Versions,
    /// How the library treats structs of other sizes, and too little memory for codes.
    Sizes,
    /// How the library treats null arguments.
    Nulls,
    /// How `emit` treats bytes that are no model.
    Garbage,
    /// Whether several targets can be open at a time.
    Targets,
}

words! {
    /// The structs that a host hands over.
    Struct {
        /// The struct `strait_host`.
        Host = "strait_host",
        /// The struct `strait_open`.
        Open = "strait_open",
        /// The struct `strait_form`.
        Form = "strait_form",
        /// The struct `strait_tile`.
        Tile = "strait_tile",
        /// The struct `strait_emit`.
        Emit = "strait_emit",
        /// The struct `strait_node`.
        Node = "strait_node",
    }
}

/// Which fields of a struct the imitated host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// Only the size field. In the struct `strait_host`, also the versions.
    Smaller,
    /// All fields of this version, and further fields after them.
    Larger,
}

words! {
    /// Which argument of a test call is null.
    Argument {
        /// The host's struct.
        Host = "requantize without a host",
        /// The `report` function in the host's struct.
        Report = "a host without report",
        /// The options given to `open`.
        Options = "open without options",
        /// The pointer to which `open` writes the target.
        Place = "open without a place for the target",
        /// The target.
        Target = "requantize without a target",
        /// The form.
        Form = "requantize without a form",
        /// The tile.
        Tile = "requantize without a tile",
        /// The tile's accumulators.
        Accumulators = "a tile without accumulators",
        /// The tile's memory for codes.
        Codes = "a tile without room for codes",
        /// The model given to `emit`.
        Model = "emit without a model",
        /// The function with which `emit` writes.
        Write = "emit without write",
        /// The node given to `admits`.
        Node = "admits without a node",
        /// The function with which `admits` refuses.
        Refuse = "admits without refuse",
        /// The target given to `close`.
        Closed = "close of nothing",
    }
}

/// A major version that no plugin supports.
pub(crate) const FAR: u32 = 1000;

impl Probe {
    /// Returns all test calls except `Plain`. Their results are compared with the result of `Plain`.
    pub fn all() -> impl Iterator<Item = Probe> {
        let entries = [(FAR, 0), (0, 0), (INTERFACE_MAJOR, FAR)];
        let entries = entries.map(|(major, minor)| Probe::Entry { major, minor });
        let sizes = [Size::Smaller, Size::Larger];
        let sized = Struct::ALL
            .iter()
            .flat_map(move |&of| sizes.map(|size| Probe::Sized(of, size)));
        let models = [0, 64, 4096].map(|size| Probe::NoModel { size });
        entries
            .into_iter()
            // The next two test calls come before the others, because the others open and close further targets, and a
            // faulty library may then damage the first target.
            .chain([Probe::EntryAgain, Probe::Reopened])
            .chain(sized)
            .chain([Probe::LessRoom])
            .chain(Argument::ALL.iter().copied().map(Probe::Null))
            .chain(models)
    }

    /// Name of the function that is called.
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

    /// True if this test calls `requantize`.
    pub fn requantizes(self) -> bool {
        self.call() == "requantize"
    }

    /// What this call tests.
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
            Probe::Null(argument) => argument.fmt(f),
            Probe::NoModel { size } => write!(f, "emit of {size} bytes that are no model"),
            Probe::Reopened => f.write_str("a second target with the same options"),
        }
    }
}
