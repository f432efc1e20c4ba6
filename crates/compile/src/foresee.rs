//! Checks the limits of later runs before the samples are observed.
//!
//! Verification compares the fused graph with the lowered graph and holds all integers of both graphs in memory at
//! once. This can take far more memory than a run of the float model. A lower bound for this memory can be computed
//! from the shapes and the target's table. If even this amount exceeds the limits, the user learns it before the
//! samples are run.

use std::num::NonZeroUsize;

use strait_core::{Bodies, Graph, Module, Placement, Term, ValueId, shape::element_count};
use strait_execute::{Demand, Limits, Operations, cost};
use strait_quantize::{
    Observation, Settings,
    annotate::{Annotation, Constraints, place},
};
use strait_target::spec::TargetSpec;

use crate::CompileError;

/// The ops that may be fused into the node that makes their operand. After fusion, that operand is no longer stored as
/// a tensor.
const ABSORBING: &[Term] = &[Term::Relu, Term::Clip, Term::LeakyRelu, Term::Add, Term::Sub];

/// Computes a lower bound for the memory that verifying the integer model takes, and checks it against the limits. The
/// bound is one byte for each element that the target computes. When the integer model exists, the exact amount is
/// checked against the same limits.
///
/// # Errors
/// The amount exceeds the limits, or the model cannot be run.
pub fn foresee(
    (module, bodies): (&Module, &Bodies),
    (spec, settings): (&TargetSpec, &Settings),
    limits: &Limits,
) -> Result<(), CompileError> {
    let running = bodies.whole(module).map_err(CompileError::defect)?;
    let float = cost(&running, running.main)?;
    // Verification runs both graphs. Values that are 8-bit codes take a quarter of the bytes of float32.
    let mut smallest = float.clone();
    smallest.constants /= 4;
    smallest.copies = 0;
    smallest.ports /= 4;
    smallest.peak.amount /= 4;
    let any_work = Limits {
        operations: Operations::Unlimited,
        ..*limits
    };
    let keeping = |elements| any_work.admit(&Demand::new(smallest.clone()).keeping(elements), NonZeroUsize::MIN);
    // Placing the nodes takes longer than everything else here. It is not needed if all values may be kept.
    if keeping(elements(module.main(), |_| true)).is_err() {
        keeping(on_target(module.clone(), spec, settings))?;
    }
    let any_memory = Limits {
        memory: None,
        ..*limits
    };
    let float = Demand::new(float);
    for demand in [float.clone(), float.clone().beside(float)] {
        any_memory.admit(&demand, NonZeroUsize::MIN)?;
    }
    Ok(())
}

/// The number of elements that verification keeps at least: those of the values that the target computes and that are
/// not fused away.
fn on_target(mut module: Module, spec: &TargetSpec, settings: &Settings) -> u64 {
    let (observation, constraints) = (Observation::default(), Constraints::default());
    let main = module.main;
    place(
        &mut module,
        main,
        &Annotation::new(spec, &observation, settings, &constraints),
    );
    let graph = module.main();
    let is_absorbed = |id: ValueId| {
        let mut uses = graph.uses(id);
        let reader = uses.next().and_then(|only| graph.node(only.node));
        let absorbs = reader.is_some_and(|reader| ABSORBING.contains(&reader.op.term()));
        absorbs && uses.next().is_none() && !graph.is_output(id)
    };
    elements(graph, |id| {
        let maker = graph.producer(id).map(|(_, node)| node);
        maker.is_some_and(|node| node.place == Placement::Accelerator) && !is_absorbed(id)
    })
}

/// The number of elements of those values of a graph for which `counts` is true.
fn elements(graph: &Graph, counts: impl Fn(ValueId) -> bool) -> u64 {
    let values = graph.values().filter(|&(id, _)| counts(id));
    let elements = values.map(|(_, value)| element_count(&value.ty.shape).unwrap_or_default());
    elements.fold(0, u64::saturating_add)
}
