//! Finds out why a fused layer gives other results than the lowered graph. The layer is also run with Strait's own
//! kernels. If its results are then right, the target's kernels are at fault, and otherwise the compiler.

use strait_core::CertificateRecord;
use strait_core::{Graph, GraphId, Module, Node, Op, ValueId};
use strait_execute::{PlanOptions, Tensor, TensorView, Threads, reference};
use strait_target::{TargetSpec, spec::Row};
use strait_verify::{Comparison, Fault, Finding, LOWERED, Ranges, VerifyError, VerifyOptions, analyse, verify_module};

use crate::{CompileError, Task};

/// Turns the findings of a verification that ran with the target's kernels into an error that says whether the target's
/// kernels or the compiler are at fault.
pub(crate) fn error(
    task: &Task<'_>,
    module: &Module,
    certificates: &[CertificateRecord],
    findings: &[Finding],
    threads: &Threads,
) -> CompileError {
    let (spec, ranges) = (task.target.spec(), task.ranges);
    let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let ours = CompileError::Defect(format!("the integer model does not hold: {}", said.join("; ")));
    let by_the_host = VerifyOptions {
        samples: task.random_inputs,
        ranges: Some(ranges),
        ..VerifyOptions::new(threads)
    };
    match verify_module(module, certificates, &by_the_host) {
        Ok(report) if report.is_sound() => {}
        _ => return ours,
    }
    let layers: Vec<String> = (findings.iter())
        .filter_map(|finding| layer(spec, module, certificates, finding, ranges))
        .collect();
    CompileError::Kernels(match layers.is_empty() {
        false => layers,
        true => vec![format!(
            "the kernels of target `{}` do not hold: {}",
            spec.id,
            said.join("; ")
        )],
    })
}

/// Describes a layer for which a kernel of the target gives a wrong result: the layer's form, an accumulator, and the
/// expected and the actual code for it. Returns `None` if the finding is not about a layer.
fn layer(
    spec: &TargetSpec,
    module: &Module,
    certificates: &[CertificateRecord],
    finding: &Finding,
    ranges: &Ranges,
) -> Option<String> {
    let Fault::Layer {
        element,
        expected,
        found,
        ..
    } = &finding.fault
    else {
        return None;
    };
    let (_, node) = named(module, module.main(), &finding.value)?;
    let form = node.requantization()?;
    let name = spec.form_name(&[], form).unwrap_or_default();
    let accumulator = accumulator(module, certificates, (&finding.value, *element), ranges)
        .ok()
        .flatten();
    let of = match accumulator {
        Some(accumulator) => format!("of the accumulator {accumulator}"),
        None => format!("in element {element}"),
    };
    Some(format!(
        "layer `{}` ({}): the kernel of {} of target `{}` makes {found} {of}; by the form's definition it is {expected}",
        module.name(node.name),
        node.op.term(),
        Row::Form(name),
        spec.id,
    ))
}

/// The accumulator that the lowered graph requantizes to an element of a value, for the first random sample.
fn accumulator(
    module: &Module,
    certificates: &[CertificateRecord],
    (value, element): (&str, usize),
    ranges: &Ranges,
) -> Result<Option<i64>, VerifyError> {
    let lowered = module
        .graphs
        .iter()
        .position(|graph| module.name(graph.name) == LOWERED);
    let Some((index, graph)) = lowered.and_then(|index| Some((index, module.graphs.get(index)?))) else {
        return Ok(None);
    };
    let Some(wide) = named(module, graph, value).and_then(|(id, _)| behind(graph, id)) else {
        return Ok(None);
    };
    let analysis = analyse(module, certificates)?;
    let inputs = Comparison::new(&analysis, &PlanOptions::default())?.random_inputs(0, 0, ranges)?;
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut found = None;
    let mut observe = |id: ValueId, tensor: TensorView<'_>| {
        if id == wide {
            found = tensor.to_tensor().to_data().ok().and_then(|data| data.to_i64().ok());
        }
    };
    let source = reference::run(module, GraphId::new(index), &views, &mut observe);
    source.map_err(|source| VerifyError::Execute { graph: LOWERED, source })?;
    Ok(found.and_then(|values| values.get(element).copied()))
}

/// The value called `name`, and the node that makes it.
fn named<'a>(module: &Module, graph: &'a Graph, name: &str) -> Option<(ValueId, &'a Node)> {
    let mut values = graph.values();
    let (id, _) = values.find(|(_, value)| module.name(value.name) == name)?;
    Some((id, graph.producer(id)?.1))
}

/// Walks back from `value` through requantizations and clamps, and returns the operand of the first of these nodes.
/// Returns `None` if `value` is not the result of a requantization or clamp.
fn behind(graph: &Graph, value: ValueId) -> Option<ValueId> {
    let mut at = value;
    while let Some((_, node)) = graph.producer(at)
        && matches!(node.op, Op::Requantize(_) | Op::Clamp(_))
    {
        at = node.inputs.first().copied().flatten()?;
    }
    (at != value).then_some(at)
}
