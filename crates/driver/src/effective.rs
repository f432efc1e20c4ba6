//! The values that all keys of a configuration have for its targets, and where the values come from.

use strait_target::Registry;

use crate::{
    config::{
        Loaded,
        effective::{self, Effective},
    },
    dialect::expanded,
    session::Session,
    stop::Stop,
    targets,
};

/// Returns the values of all keys of a configuration, including the rules to which settings of a vendor's tool are
/// translated. Neither the model nor the samples are read.
///
/// # Errors
/// If the configuration names a target or an option that does not exist, or a setting of a vendor's tool is wrong.
pub fn effective(loaded: &Loaded, registry: Registry, session: &Session<'_>) -> Result<Effective, Stop> {
    let loaded = &*expanded(loaded, &registry)?;
    let targets = targets::chosen(loaded, registry, session)?;
    let specs = targets.iter().map(|(target, _)| target.spec());
    Ok(effective::effective(loaded, specs.map(|spec| (spec.id.as_str(), spec))))
}
