//! What `strait analyze` and `strait try` begin with: one target, the model, and samples on which layers are measured.

use std::sync::Arc;

use strait_target::{Origin, Registry, Target};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::Diagnostic,
    failure::codes,
    session::Session,
    stop::Stop,
    targets,
};

use super::{
    cache, lowered,
    ready::{Ready, make_ready},
};

/// The only target of a configuration, and what is prepared of its model and samples.
pub(super) struct Single {
    pub(super) target: Arc<dyn Target>,
    pub(super) origin: Origin,
    pub(super) ready: Ready,
}

impl Single {
    /// Chooses the target, reads model and samples, and foresees what the compilation needs.
    ///
    /// # Errors
    /// If anything is wrong with the configuration, the model, the samples or the target, or if the configuration has several
    /// targets or no samples.
    pub(super) fn new(loaded: &Loaded, registry: Registry, session: &Session<'_>) -> Result<Single, Stop> {
        let (target, origin) = only(loaded, targets::chosen(loaded, registry, session)?)?;
        let spec = target.spec();
        let ready = make_ready(loaded, session)?;
        if ready.samples.count() == 0 {
            let path = KeyPath::of(&["calibration", "data"]);
            let found: Diagnostic = loaded.error(codes::EVALUATION, &path, "there are no samples to measure on", "");
            let help = "layers are measured on the first samples of `calibration.data`";
            return Err(found.help(help).into());
        }
        let selection = ready.selection.of_target(&ready.rules.quantize, &spec.id);
        cache::check(loaded, &spec.id, &ready.canonical, true)?;
        lowered::foresee(loaded, &ready, (spec, &selection), session)?;
        Ok(Single { target, origin, ready })
    }
}

/// The only target of the configuration.
fn only(loaded: &Loaded, mut targets: Vec<(Arc<dyn Target>, Origin)>) -> Result<(Arc<dyn Target>, Origin), Stop> {
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(target),
        (last, _) => {
            let ids = targets
                .iter()
                .chain(&last)
                .map(|(target, _)| format!("`{}`", target.spec().id));
            let ids = ids.collect::<Vec<_>>().join(", ");
            let path = KeyPath::of(&["target", "use"]);
            let message = format!("one target is measured at a time, and the configuration has {ids}");
            let found: Diagnostic = loaded.error(codes::TARGET, &path, message, "");
            Err(found.help("choose one with `--target`").into())
        }
    }
}
