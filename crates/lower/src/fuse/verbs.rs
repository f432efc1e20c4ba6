//! Makes the node with which the verbs of a row replace a producer, and the certificate and the patch for it.

use super::added::Added;
use super::grounds;
use super::plan::{Becomes, Planned};
use super::site::{Producer, RequantizationSite, decides, does};
use smallvec::smallvec;
use strait_core::{
    Addend, Elem, Fused, NewNode, Node, NodeId, Op, Patch, QuantParams, Reason, ReasonCode, Source, TensorData,
    ValueId, op, refused,
};
use strait_requantize::{Argument, Certificate, DecideError, Step, certificate::ordered};
use strait_target::spec::{FusionRow, Verb};
use strait_target::{Decision, FusionSite, Target};

/// Makes the certificate that says how much the results of the planned node may differ from those of the nodes that it
/// replaces. The certificate covers every accumulator that can occur.
pub(super) fn certificate(site: &RequantizationSite<'_>, planned: &Planned) -> Result<Certificate, Reason> {
    let before = site.steps(planned.links);
    let undecided = |error: DecideError| Reason::new(ReasonCode::Undecided, error.to_string());
    let certificate = match &planned.becomes {
        Becomes::Step(after) => {
            let argument = site.argument()?;
            site.commutes(after)?;
            let interval = match site.by_channel(planned.links) {
                Some(each) => each.into_iter().map(|(interval, _)| interval).collect(),
                None => site.accumulators()?,
            };
            Certificate::derive(argument, before, Some(after.clone()), interval).map_err(undecided)?
        }
        Becomes::Entries(after) => {
            let entries = site
                .entries()
                .ok_or_else(|| Reason::new(ReasonCode::Table, "it has no constant table"))?;
            let channels = site.channels(planned.links, entries.shape())?;
            let values = |tensor: &TensorData| {
                tensor
                    .to_i64()
                    .map_err(|e| Reason::new(ReasonCode::Parameter, e.to_string()))
            };
            let pairs = values(entries)?.into_iter().zip(values(after)?).enumerate();
            let pairs = pairs.map(|(index, (from, to))| (channels.of(index), from, to));
            Certificate::of_entries(before, pairs).map_err(undecided)?
        }
        Becomes::Quantize(after) => {
            let argument = Argument::OrderedFloats {
                before: site.quantization()?,
                after: *after,
            };
            let every = (ordered(f32::NEG_INFINITY), ordered(f32::INFINITY));
            Certificate::derive(argument, before, None, every.into()).map_err(undecided)?
        }
    };
    let because = match certificate.argument {
        Argument::EveryEntry { .. } => certificate.because.clone(),
        Argument::OrderedFloats { .. } => vec![strait_requantize::Because::EveryFloat],
        Argument::SameAccumulator | Argument::Commutes => grounds::because(site, planned.inside, planned.links),
    };
    let digest = grounds::digest(site, (planned.inside, planned.links), &certificate, &because);
    let digest = digest.ok_or_else(|| Reason::new(ReasonCode::Undecided, "it has no digest"))?;
    Ok(certificate.grounded(because, digest))
}

/// The patch for a plan. If it makes a constant, the constant gets the name `clone`.
pub(super) fn patch(
    site: &RequantizationSite<'_>,
    row: &FusionRow,
    planned: &Planned,
    clone: &str,
) -> Result<Patch, Reason> {
    let nothing = || Reason::new(ReasonCode::Verb, "nothing stands behind the producer");
    let (gone, result) = site.taken(planned.links).ok_or_else(nothing)?;
    let does = |verb| does(row, &verb);
    match (site.producer, &planned.becomes) {
        (Producer::Constant(_), Becomes::Entries(data)) if does(Verb::RequantizeData) => Ok(Patch {
            data: vec![(clone.to_string(), data.clone())],
            replace: vec![(result, Source::Data(0))],
            remove: gone,
            ..Patch::default()
        }),
        (Producer::Node(id, node), becomes) => {
            let operands = || node.inputs.iter().map(|i| i.map(Source::Old)).collect::<Vec<_>>();
            let of_op = |op: Op, inputs: &[Option<Source>]| NewNode::new(op, inputs, &origins(id, &gone));
            let (mut new, data) = match becomes {
                Becomes::Entries(table) if does(Verb::BurnIntoTable) => {
                    let inputs = [node.input(0).map(Source::Old), Some(Source::Data(0))];
                    let name = format!("{}_table", site.name());
                    (of_op(node.op.clone(), &inputs), vec![(name, table.clone())])
                }
                Becomes::Quantize(to) if does(Verb::RescaleQuantize) => {
                    let quantize = op::Quantize {
                        to: to.out.into(),
                        rounding: to.rounding,
                        reciprocal: to.reciprocal,
                        zero_point: to.added,
                    };
                    (of_op(quantize.into(), &operands()), Vec::new())
                }
                Becomes::Step(step) if planned.inside => {
                    return match &site.added {
                        Some(added) if does(Verb::AddInAccumulator) => {
                            Ok(summed(site, added, step, (result, gone, id)))
                        }
                        _ => Err(no_meaning(row)),
                    };
                }
                Becomes::Step(step) if decides(row).is_some() || does(Verb::SetRequantize) => {
                    let mut inputs = operands();
                    if let Some(position) = node.op.channel_operand() {
                        inputs.truncate(position);
                        let picks = site.picks(planned.links).filter(|_| step.form.channels().is_some());
                        inputs.extend(picks.map(|picks| Some(Source::Old(picks))));
                    }
                    let mut new = of_op(node.op.clone(), &inputs);
                    new.fused = Some(Fused::new(step.form.clone(), step.clamp));
                    (new, Vec::new())
                }
                _ => return Err(no_meaning(row)),
            };
            new.quant = smallvec![site.graph.value(result).and_then(|v| v.quant.clone())];
            Ok(node_patch(new, data, result, gone, id))
        }
        _ => Err(no_meaning(row)),
    }
}

/// Makes the patch (the change of the graph) that moves an addition into the accumulator of a convolution or Gemm. The
/// patch removes the addition `at` and the nodes `gone` after it. A new convolution or Gemm replaces the old one; it
/// has the codes of the addition's other operand as an operand of its own, and adds them to its accumulator.
fn summed(
    site: &RequantizationSite<'_>,
    added: &Added<'_>,
    step: &Step,
    (result, gone, at): (ValueId, Vec<NodeId>, NodeId),
) -> Patch {
    let own = added.product.inputs.iter().map(|input| input.map(Source::Old));
    let own = own.chain(std::iter::repeat(None)).take(Addend::OPERAND);
    let inputs: Vec<Option<Source>> = own.chain([Some(Source::Old(added.codes))]).collect();
    let gone: Vec<NodeId> = added.between.iter().copied().chain([at]).chain(gone).collect();
    let mut new = NewNode::new(added.product.op.clone(), &inputs, &origins(added.id, &gone));
    new.fused = Some(Fused {
        addend: Some(added.addend.clone()),
        requant: step.form.clone(),
        clamp: step.clamp,
    });
    new.quant = smallvec![site.graph.value(result).and_then(|v| v.quant.clone())];
    node_patch(new, Vec::new(), result, gone, added.id)
}

fn origins(id: NodeId, gone: &[NodeId]) -> Vec<NodeId> {
    std::iter::once(id).chain(gone.iter().copied()).collect()
}

/// The patch that puts the node `new` in place of the producer and the nodes `gone`.
fn node_patch(
    new: NewNode,
    data: Vec<(String, TensorData)>,
    result: ValueId,
    gone: Vec<NodeId>,
    producer: NodeId,
) -> Patch {
    let mut remove = gone;
    remove.push(producer);
    Patch {
        data,
        add: vec![new],
        replace: vec![(result, Source::New(0, 0))],
        remove,
        ..Patch::default()
    }
}

fn no_meaning(row: &FusionRow) -> Reason {
    let verbs = row.then.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Reason::new(ReasonCode::Verb, format!("{verbs} has no exact meaning at this site"))
}

/// Asks the target's code for the step that should replace the steps at a site. This step is certified like any other.
/// The op must not change: the certificate compares the steps that are applied to the accumulators, and says nothing
/// about the accumulators of another op.
pub(super) fn decided(
    site: &RequantizationSite<'_>,
    row: &FusionRow,
    verb: &str,
    target: &dyn Target,
    links: usize,
) -> Result<Planned, Reason> {
    let (Producer::Node(_, node), Some((form, _))) = (site.producer, site.requantizations(links).next()) else {
        return refused(ReasonCode::Verb, format!("custom:{verb} is not for constants"));
    };
    let operands: Vec<(Elem, Option<&QuantParams>)> = (node.inputs.iter().flatten())
        .filter_map(|&v| site.graph.value(v))
        .map(|v| (v.ty.elem, v.quant.as_deref()))
        .collect();
    let site = FusionSite::new(&row.name, &node.op, &operands, form);
    let decision = target.custom(verb, &site);
    match decision.map_err(|error| Reason::new(ReasonCode::CustomVerb, error.to_string()))? {
        Decision::Refuse(reason) => Err(reason),
        Decision::Fuse(fused) if fused.addend.is_some() => refused(
            ReasonCode::CustomVerb,
            format!("custom:{verb} adds an operand, which the table says by `with`"),
        ),
        Decision::Fuse(fused) => {
            let step = Step {
                form: fused.requant,
                clamp: fused.clamp,
            };
            let becomes = Becomes::Step(step);
            Ok(Planned {
                links,
                inside: row.with.is_some(),
                becomes,
            })
        }
    }
}

/// Checks that the fused node satisfies the invariants of a graph.
pub(super) fn is_accumulator(site: &RequantizationSite<'_>, node: &Node) -> Result<(), Reason> {
    let wide = site.graph.value(site.wide).map(|v| v.ty.elem);
    if matches!(wide, Some(Elem::I32 | Elem::I64)) {
        return Ok(());
    }
    let text = format!(
        "{} makes no accumulator of 32 or 64 bits that could be requantized",
        node.op.term()
    );
    refused(ReasonCode::Type, text)
}
