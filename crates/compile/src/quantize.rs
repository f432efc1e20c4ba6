//! Makes the lowered integer graph from the float graph: uses the model's own grids, and places, annotates, bakes and
//! lowers the nodes. Each refusal starts another turn.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Module, NodeId, Placement, Reason, ReasonCode, Refusal, ValueId};
use strait_execute::both;
use strait_lower::{LowerError, Lowered, Parameters, Turns, simulate};
use strait_optimize::Optimised;
use strait_quantize::{
    Annotation, annotate,
    annotate::{
        Constraints, Findings, Fixpoint, ModelGrids, Unfit, denied, place, refuse, refused_by_code, requantized,
        take_model_grids, widen,
    },
};
use strait_target::TargetSpec;

use crate::{CompileError, Denied, Settings, Task, check_invariants, roles::Role};

/// Values of a quantized model whose own grid is not supported, with the node that does not support it and the reason.
pub type UnfittingGrids = BTreeMap<ValueId, (NodeId, Reason)>;

/// A model in integers, in which each requantization is still an operation of its own.
#[derive(Debug)]
pub struct Quantized {
    /// The annotated float graph. Its parameters are baked.
    pub annotated: Module,
    /// The lowered graph.
    pub lowered: Lowered,
    /// Grids that cost accuracy, as annotation has found them.
    pub findings: Findings,
    /// The grids that the model came with, and which of them could not be kept.
    pub own_grids: OwnGrids,
    /// The number of nodes that were annotated before the first lowering. In a revision, only the nodes that the
    /// revision affects are annotated.
    pub(crate) visited: usize,
    /// True if nothing was taken over from an earlier compilation.
    pub(crate) is_anew: bool,
    /// The state from which a revision can start. `None` if a revision has to make everything anew.
    pub(crate) first: Option<FirstTurn>,
}

impl Quantized {
    /// The fake-quantized model, for runs in float.
    pub(crate) fn simulated(&self, spec: &TargetSpec) -> Result<Module, CompileError> {
        simulate(&self.annotated, Some(spec), Parameters::Reals).map_err(CompileError::defect)
    }

    /// True if the weights of a layer have less than 8 bits.
    pub(crate) fn has_few_codes(&self) -> bool {
        // Symmetric weights of 8 bits have 255 codes.
        const FEW: i64 = 128;
        let graph = self.annotated.main();
        let weights = graph
            .quant
            .iter()
            .filter(|(_, config)| Role::of(graph, config) == Role::Weights);
        let mut ranges = weights.filter_map(|(_, config)| config.scheme.range());
        ranges.any(|[first, last]| last - first < FEW)
    }
}

/// The state after the first turn, in which the graph was annotated and lowered once. This state exists if the model
/// has no grids of its own and annotation refused no node. If lowering refused nodes in this turn, it refuses them
/// again in a revision. So a revision takes the same turns as a compilation that starts from nothing.
#[derive(Debug)]
pub(crate) struct FirstTurn {
    /// The annotated graph. Its parameters are baked.
    annotated: Module,
    settings: Settings,
    constraints: Constraints,
    fixpoint: Fixpoint,
    turns: Turns,
}

/// The grids that a quantized model came with, and which of them could not be kept.
#[derive(Debug)]
pub struct OwnGrids {
    /// All grids that the model came with.
    pub grids: ModelGrids,
    /// The values whose own grid is not supported by some node, so that this node runs on the host.
    pub unfitting: UnfittingGrids,
    /// The values that got another grid than the model's.
    pub freed: UnfittingGrids,
}

/// Annotates and lowers. If the settings allow requantizing and some node does not support the model's grid of a value,
/// the value is freed from this grid, and the graph is annotated and lowered once more. Each round frees further
/// values, so the number of rounds is limited.
///
/// # Errors
/// The settings require integers for nodes that cannot run in integers, code of the target fails, or the compiler has a
/// defect.
pub fn quantize(task: &Task<'_>) -> Result<Quantized, CompileError> {
    quantize_from(task, &Optimised::default(), None)
}

/// Like [`quantize()`], with the parameters that an optimisation has `chosen`. Takes over from `before` everything that the new settings do not change. If annotation
/// refuses a node in the first turn, the whole graph is annotated again: the passes stop at a refusal, and what they
/// have done before it depends on the whole graph.
///
/// # Errors
/// Errors of [`quantize()`].
pub(crate) fn quantize_from(
    task: &Task<'_>,
    chosen: &Optimised,
    mut before: Option<&FirstTurn>,
) -> Result<Quantized, CompileError> {
    let mut freed = UnfittingGrids::new();
    loop {
        let Some(done) = attempt(task, (&freed, chosen), before.take())? else {
            continue;
        };
        let is_new = |value: &ValueId| !freed.contains_key(value);
        let unfitting = &done.own_grids.unfitting;
        if !task.resolved.requantizes || !unfitting.keys().any(is_new) {
            hold_to_integers(&task.resolved.settings, &done.annotated)?;
            return Ok(done);
        }
        done.own_grids.unfitting.into_iter().for_each(|(value, why)| {
            freed.entry(value).or_insert(why);
        });
    }
}

/// Annotates and lowers, with another turn after each refusal. If several turns need the range of a value, an observer
/// computes it only once. Returns `None` if the work cannot continue from `before`.
fn attempt(
    task: &Task<'_>,
    (freed, chosen): (&UnfittingGrids, &Optimised),
    before: Option<&FirstTurn>,
) -> Result<Option<Quantized>, CompileError> {
    let (settings, spec) = (&task.resolved.settings, task.target.spec());
    // The pool of tensors still has the codes that were already made.
    let mut module = before.map_or(task.float, |before| &before.annotated).clone();
    module.graphs.clone_from(&task.float.graphs);
    let main = module.main;
    let mut constraints = task.resolved.constraints(&mut module);
    let grids = take_model_grids(&mut module, main).map_err(CompileError::defect)?;
    let free: BTreeSet<ValueId> = freed.keys().copied().collect();
    grids
        .keep((&mut module, main), (spec, settings), &free, &mut constraints)
        .map_err(CompileError::defect)?;
    task.resolved.constrain_outputs(module.main(), &mut constraints);
    let mut how = Annotation::new(spec, task.observation, settings, &constraints);
    widen(&module, main, &mut how);
    let mut fixpoint = place(&mut module, main, &how);
    let refused = refused_by_code(&module, main, task.target.as_ref());
    let refused = refused.map_err(|error| CompileError::Target(error.to_string()))?;
    refuse(module.main_mut(), &how, &mut fixpoint, refused);
    let mut turns = match before {
        None => {
            let own = grids.iter();
            let own = own.filter_map(|(value, grid)| Some((module.main().data_of(value)?, grid.clone())));
            Turns::with_scales(own.collect())
        }
        Some(before) => {
            let mut other = Annotation::new(spec, task.observation, &before.settings, &before.constraints);
            widen(&module, main, &mut other);
            let kept = (&before.annotated, &before.fixpoint);
            fixpoint.revise((&mut module, main), kept, [&other, &how]);
            before.turns.clone()
        }
    };
    for (&node, outcome) in &chosen.layers {
        turns.choose(node, outcome.chosen(&mut module));
    }
    // The search for ranges revises the model, too.
    let keeps_first = task.is_revised || task.optimise.is_some();
    let (placed, mut visited, mut first) = (fixpoint.refusals(), None, None);
    // Unless this is the last round, a node that moved to the host because of a grid may return to the accelerator.
    let is_final = grids.is_empty() || !task.resolved.requantizes;
    let lowered = turned(&mut module, &mut fixpoint, &how, |module, fixpoint| {
        if is_final {
            hold_to_integers(settings, module)?;
        }
        annotate(module, main, &how, fixpoint).map_err(CompileError::defect)?;
        let (is_first, is_refused) = (visited.is_none(), fixpoint.refusals() > placed);
        visited.get_or_insert(fixpoint.visited());
        if is_first && is_refused && before.is_some() {
            return Ok(Turn::Done(None));
        }
        if is_final {
            hold_to_integers(settings, module)?;
        }
        turns.touch(fixpoint.touched());
        let lowered = turns.lower(module, spec);
        if keeps_first && is_first && !is_refused && grids.is_empty() {
            let mut annotated = module.clone();
            let turns = turns.of_copy(&mut annotated);
            first = Some((annotated, fixpoint.clone(), turns));
        }
        match lowered {
            Ok(lowered) => Ok(Turn::Done(Some(lowered))),
            Err(LowerError::Nodes(nodes)) => Ok(Turn::Refused(nodes)),
            Err(LowerError::Ours(text)) => Err(CompileError::Defect(text)),
        }
    })?;
    let Some(lowered) = lowered else { return Ok(None) };
    let (mut findings, ()) = both(
        task.threads,
        || {
            check_invariants(&module, "annotate")?;
            Ok(fixpoint.findings(&module, &how))
        },
        || check_invariants(&lowered.module, "lower"),
    )?;
    findings.requantized = requantized(&module, &grids, freed).map_err(CompileError::defect)?;
    let unfitting = fixpoint.unfitting().iter().filter(|(value, _)| grids.has(**value));
    let unfitting = unfitting.map(|(&value, why)| (value, why.clone())).collect();
    let first = first.map(|(annotated, fixpoint, turns)| FirstTurn {
        annotated,
        settings: settings.clone(),
        constraints: constraints.clone(),
        fixpoint,
        turns,
    });
    Ok(Some(Quantized {
        annotated: module,
        lowered,
        findings,
        own_grids: OwnGrids {
            grids,
            unfitting,
            freed: freed.clone(),
        },
        visited: visited.unwrap_or_default(),
        is_anew: before.is_none(),
        first,
    }))
}

/// The outcome of annotating and lowering the graph once.
enum Turn<T> {
    Done(T),
    /// Some nodes were refused, because they cannot be lowered.
    Refused(Vec<Refusal>),
}

/// Annotates and lowers again (each time is a turn) until no node is refused. All nodes that are refused in one turn
/// are handled together: either the grid of a node's result becomes coarser, or the node moves to the host and stays
/// there. A grid can become coarser only a limited number of times, so the number of turns is limited too.
fn turned<T>(
    module: &mut Module,
    fixpoint: &mut Fixpoint,
    how: &Annotation<'_>,
    mut turn: impl FnMut(&mut Module, &mut Fixpoint) -> Result<Turn<T>, CompileError>,
) -> Result<T, CompileError> {
    loop {
        match turn(module, fixpoint)? {
            Turn::Done(done) => return Ok(done),
            Turn::Refused(nodes) => {
                if !refuse(module.main_mut(), how, fixpoint, nodes) {
                    return Err(CompileError::defect("a node on the host was refused"));
                }
            }
        }
    }
}

/// Returns an error if a node that the settings require in integers runs on the host.
fn hold_to_integers(settings: &Settings, module: &Module) -> Result<(), CompileError> {
    let graph = module.main();
    let name = |id: NodeId| graph.node(id).map_or("", |node| module.name(node.name)).to_owned();
    let mut found: Vec<Denied> = denied(graph, settings)
        .into_iter()
        .map(|(node, reason)| Denied {
            node,
            name: name(node),
            reason,
            is_unfit: false,
        })
        .collect();
    let unfit = graph.nodes().filter_map(|(node, on)| match &on.place {
        Placement::Host(reason) if is_unfit(reason) && settings.unfit(node) == Unfit::Error => Some(Denied {
            node,
            name: name(node),
            reason: (**reason).clone(),
            is_unfit: true,
        }),
        _ => None,
    });
    found.extend(unfit);
    match found.is_empty() {
        true => Ok(()),
        false => Err(CompileError::Denied(found)),
    }
}

/// True if a reason says that a node runs on the host because its bias, or a scale of its weights, does not fit.
pub fn is_unfit(reason: &Reason) -> bool {
    matches!(reason.code, ReasonCode::BiasWidth | ReasonCode::WeightScale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::{Placement, Reason, ReasonCode, text::parse};
    use strait_quantize::annotate::Constraints;
    use strait_quantize::statistics::Observation;
    use strait_target::{Options, Table, TargetSpec};

    /// A chain of `count` convolutions, each with a single weight.
    fn row(count: usize) -> Module {
        let attributes = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";
        let line = |n: usize| format!("  %v{}: f32[1,1,2,2] = conv(%v{n}, @w) {attributes}\n", n + 1);
        let lines: String = (0..count).map(line).collect();
        let text = format!(
            "strait 1 float\ngraph @main(%v0: f32[1,1,2,2]) {{\n{lines}  return %v{count}\n}}\n\
             data @w: f32[1,1,1,1] = splat 1.0\n"
        );
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn spec() -> TargetSpec {
        let text = include_str!("../../../configs/targets/acme-npu2.toml");
        let table = Table::parse("acme-npu2.toml", text).expect("a table");
        table.spec(&Options::new()).expect("a sound table")
    }

    #[test]
    fn refusals_end_by_themselves_however_many_turns_they_take() {
        let (mut module, spec) = (row(200), spec());
        let (settings, observation) = (Settings::new(&spec), Observation::default());
        let constraints = Constraints::default();
        let how = Annotation::new(&spec, &observation, &settings, &constraints);
        let mut count = 0;
        let done = turned(&mut module, &mut Fixpoint::default(), &how, |module, _| {
            count += 1;
            // Each turn refuses one more node: the first one that is still on the accelerator.
            let first = module.main().nodes().find(|(_, n)| n.place == Placement::Accelerator);
            let why = || Reason::new(ReasonCode::NoForm, "another one");
            Ok(first.map_or(Turn::Done(module.main().node_bound()), |(id, _)| {
                Turn::Refused(vec![(id, why()).into()])
            }))
        });
        assert_eq!((done.ok(), count), (Some(200), 201));
    }

    #[test]
    fn a_refusal_that_moves_nothing_is_a_defect() {
        let (mut module, spec) = (row(2), spec());
        let (settings, observation) = (Settings::new(&spec), Observation::default());
        let constraints = Constraints::default();
        let how = Annotation::new(&spec, &observation, &settings, &constraints);
        let id = module.main().nodes().next().expect("a node").0;
        let error = turned(&mut module, &mut Fixpoint::default(), &how, |_, _| {
            let why = Reason::new(ReasonCode::NoForm, "again and again");
            Ok(Turn::<()>::Refused(vec![(id, why).into()]))
        });
        assert!(matches!(error, Err(CompileError::Defect(_))));
    }
}
