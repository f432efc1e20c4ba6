//! What `--version` and `-V` print.

use std::{collections::BTreeSet, ffi::OsString};

use strait_kernels::{Context, Isa};
use strait_target::{Origin, Registry};

/// The program and its version, in one line.
const SHORT: &str = concat!("strait ", env!("CARGO_PKG_VERSION"));

/// The text for these arguments: one line for `-V`, and all of it for `--version`.
pub(crate) fn asked(arguments: &[OsString]) -> String {
    match arguments.iter().any(|argument| argument == "--version") {
        true => long(),
        false => SHORT.to_owned(),
    }
}

/// What somebody has to know who shall reproduce a run: the packages of the targets in this program, what else the
/// program can do, and the instruction sets of this machine.
fn long() -> String {
    let registry = Registry::builtin().unwrap_or_default();
    let origins = registry.entries().filter_map(|(_, entry)| match entry.origin() {
        Origin::BuiltIn(package) => Some(package.as_str()),
        _ => None,
    });
    let packages: BTreeSet<&str> = origins.collect();
    let best = Context::detect().isa().name();
    let available: Vec<&str> = Isa::available().map(Isa::name).collect();
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let rows = [
        ("targets", packages.into_iter().collect::<Vec<_>>().join(", ")),
        ("models", strait_driver::formats().join(", ")),
        (
            "plugins",
            if cfg!(unix) {
                "tables, shared libraries"
            } else {
                "tables"
            }
            .to_owned(),
        ),
        (
            "platform",
            format!("{} {}, {build} build", std::env::consts::ARCH, std::env::consts::OS),
        ),
        (
            "instruction sets",
            format!("{best}; this machine has {}", available.join(", ")),
        ),
    ];
    rows.iter().fold(SHORT.to_owned(), |text, (name, value)| {
        format!("{text}\n{name}: {value}")
    })
}
