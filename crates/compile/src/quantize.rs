//! From the float graph to integers that are not fused: the model's own grids taken, placed, annotated, baked and lowered,
//! in turns.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Module, NodeId, Placement, Reason, ReasonCode, Refusal, ValueId};
use strait_execute::both;
use strait_lower::{LowerError, Lowered, Turns};
use strait_quantize::{
    Annotation, annotate,
    annotate::{
        Constraints, Findings, Fixpoint, ModelGrids, Unfit, denied, place, refuse, refused_by_code, requantized,
        take_model_grids, widen,
    },
};

use crate::{CompileError, Denied, Settings, Task, check_invariants};

/// Values whose grids of the model a node could not have: the node, and why.
pub type UnfittingGrids = BTreeMap<ValueId, (NodeId, Reason)>;

/// A model in integers whose requantizations are operations of their own.
#[derive(Debug)]
pub struct Quantized {
    /// The annotated float graph, with its parameters baked.
    pub annotated: Module,
    /// The lowered graph.
    pub lowered: Lowered,
    /// Findings of annotation, which cost accuracy.
    pub findings: Findings,
    /// The fate of the grids that the model came with.
    pub own_grids: OwnGrids,
    /// The number of nodes that were annotated in the first turn: of all, or of those that a revision touches.
    pub(crate) visited: usize,
    /// True if all was done anew.
    pub(crate) is_anew: bool,
    /// State that a revision goes on from, where one can.
    pub(crate) first: Option<FirstTurn>,
}

/// The state behind the first turn of annotating and lowering, of a model without grids of its own whose annotation refused
/// no node. What lowering refused then is refused again, and leads to the same turns as if there had been nothing before.
#[derive(Debug)]
pub(crate) struct FirstTurn {
    /// The annotated graph, with its parameters baked.
    annotated: Module,
    settings: Settings,
    constraints: Constraints,
    fixpoint: Fixpoint,
    turns: Turns,
}

/// The fate of the grids that a quantized model came with.
#[derive(Debug)]
pub struct OwnGrids {
    /// All of them.
    pub grids: ModelGrids,
    /// The values whose grids a node could not have, so that it runs on the host.
    pub unfitting: UnfittingGrids,
    /// The values that were given other grids.
    pub freed: UnfittingGrids,
}

/// Annotates and lowers. Where settings requantize, values whose grids of the model a node could not have are set free of
/// them, and all is done once more: each time more of them are free, so that this comes to an end.
///
/// # Errors
/// Nodes that settings want in integers and that cannot be; the target's code; a defect.
pub fn quantize(task: &Task<'_>) -> Result<Quantized, CompileError> {
    quantize_from(task, None)
}

/// The same, of which what other settings do not touch is taken from the state `before` that they were made from. All is done anew
/// where annotation refuses a node in the first turn: how far the passes come then depends on the whole graph.
///
/// # Errors
/// As for [`quantize()`].
pub(crate) fn quantize_from(task: &Task<'_>, mut before: Option<&FirstTurn>) -> Result<Quantized, CompileError> {
    let mut freed = UnfittingGrids::new();
    loop {
        let Some(done) = attempt(task, &freed, before.take())? else {
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

/// Annotates and lowers, in as many turns as refusals ask for. Observers run once for each value. None where it cannot go on from
/// the state before.
fn attempt(
    task: &Task<'_>,
    freed: &UnfittingGrids,
    before: Option<&FirstTurn>,
) -> Result<Option<Quantized>, CompileError> {
    let (settings, spec) = (&task.resolved.settings, task.target.spec());
    // The pool has the codes that were made.
    let mut module = before.map_or(task.float, |before| &before.annotated).clone();
    module.graphs.clone_from(&task.float.graphs);
    let main = module.main;
    let mut constraints = task.resolved.constraints(&mut module);
    let grids = take_model_grids(&mut module, main).map_err(CompileError::defect)?;
    let free: BTreeSet<ValueId> = freed.keys().copied().collect();
    grids
        .keep((&mut module, main), (spec, settings), &free, &mut constraints)
        .map_err(CompileError::defect)?;
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
    let (placed, mut visited, mut first) = (fixpoint.refusals(), None, None);
    // What is on the host for the sake of a grid may come back.
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
        if is_first && !is_refused && grids.is_empty() {
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
    both(
        task.threads,
        || check_invariants(&module, "annotate"),
        || check_invariants(&lowered.module, "lower"),
    )?;
    let mut findings = fixpoint.findings(&module, &how);
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

/// Outcome of one turn of annotating and lowering.
enum Turn<T> {
    Done(T),
    /// These nodes cannot be lowered.
    Refused(Vec<Refusal>),
}

/// Repeats a turn until it refuses nothing. What it refuses gets a coarser grid, or moves to the host and stays there, all
/// of it at once. Grids become coarser only so often, so that the turns come to an end.
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

/// Holds the nodes that settings want in integers to that: wherever one moves to the host, and for whatever reason.
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

/// True of a node that runs on the host because a bias or a scale of its weights does not fit.
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

    /// `count` convolutions of one weight in a row.
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
            // Each turn finds one more: what it depends on has only just moved.
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
