//! Reports layers that do not run where the configuration requires.

use strait_compile::{Denied, is_unfit};
use strait_core::{Module, Placement, Reason};
use strait_quantize::Settings;
use strait_target::TargetSpec;

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use crate::pipeline::job::Job;

/// A warning for each layer that runs in float because a bias or a scale does not fit.
pub(super) fn left_in_float(annotated: &Module, spec: &TargetSpec) -> Vec<Diagnostic> {
    let moved = annotated.main().nodes().filter_map(|(_, node)| match &node.place {
        Placement::Host(reason) if is_unfit(reason) => Some((annotated.name(node.name), reason)),
        _ => None,
    });
    let warning = |(name, reason): (&str, &Reason)| {
        let message = format!("`{name}` stays in float on the target `{}`: {}", spec.id, reason.text);
        Diagnostic::warning(codes::UNSUPPORTED, message)
            .help("weights.unfit = \"coarser\" raises the scale of its weights until it fits")
    };
    moved.map(|(name, reason)| warning((name, reason))).collect()
}

/// An error for each layer that should run in integers and cannot, with the rule that requires it.
pub(super) fn denied(job: &Job<'_>, settings: &Settings, denied: &[Denied]) -> Diagnostics {
    let id = &job.target.spec().id;
    let finding = |denied: &Denied| {
        let (name, why) = (&denied.name, &denied.reason.text);
        let (key, message, help) = match denied.is_unfit {
            false => (
                "run",
                format!("`{name}` is to run in integers, and the target `{id}` cannot: {why}"),
                "run = \"auto\" leaves it to the host instead",
            ),
            true => (
                "weights.unfit",
                format!("`{name}` cannot have codes on the target `{id}`: {why}"),
                "unfit = \"coarser\" raises the scale of its weights instead, unfit = \"float\" leaves the layer in float",
            ),
        };
        let rules = settings.layers.get(&denied.node).map(|layer| layer.rules.as_slice());
        let path = job.rules.quantize.asks(rules.unwrap_or_default(), key);
        let finding = job.loaded.error(codes::UNSUPPORTED, &path, message, "asked for here");
        finding.help(help)
    };
    Diagnostics(denied.iter().map(finding).collect())
}
