//! The limits of runs that come behind observing, looked at before it.
//!
//! The fused graph is compared with the lowered one, and every integer of both is there at the same time. That can take
//! far more than a run of the float model, and is known from shapes and from the target's table: a model whose integers
//! cannot be held is refused before anybody waits for its statistics.

use std::num::NonZeroUsize;

use strait_core::{Bodies, Def, Module, Placement, Term, ValueId, shape::element_count};
use strait_execute::{Demand, Limits, Operations, cost};
use strait_quantize::{
    Observation, Settings,
    annotate::{Annotation, Constraints, place},
};
use strait_target::spec::TargetSpec;

use crate::CompileError;

/// Ops that may become a part of what makes their operand, which is no integer of its own then.
const ABSORBING: &[Term] = &[Term::Relu, Term::Clip, Term::LeakyRelu, Term::Add, Term::Sub];

/// The smallest demand that the verification of the integer model can have, as far as it is known before it is made: a byte
/// for each element of what the target computes. What it takes is known when there is one, and held to the same limits.
///
/// # Errors
/// A demand beyond the limits; a model that cannot be run.
pub fn foresee(
    (module, bodies): (&Module, &Bodies),
    (spec, settings): (&TargetSpec, &Settings),
    limits: &Limits,
) -> Result<(), CompileError> {
    let running = bodies.whole(module).map_err(CompileError::defect)?;
    let float = cost(&running, running.main)?;
    let mut placed = module.clone();
    let (observation, constraints) = (Observation::default(), Constraints::default());
    let main = placed.main;
    place(
        &mut placed,
        main,
        &Annotation::new(spec, &observation, settings, &constraints),
    );
    let graph = placed.main();
    let is_integer = |def: Def| match def {
        Def::Node(node, _) => graph
            .node(node)
            .is_some_and(|node| node.place == Placement::Accelerator),
        _ => false,
    };
    let is_absorbed = |id: ValueId| {
        let mut uses = graph.uses(id);
        let reader = uses.next().and_then(|only| graph.node(only.node));
        let absorbs = reader.is_some_and(|reader| ABSORBING.contains(&reader.op.term()));
        absorbs && uses.next().is_none() && !graph.is_output(id)
    };
    let integers = graph
        .values()
        .filter(|&(id, value)| is_integer(value.def) && !is_absorbed(id));
    let elements = integers.map(|(_, value)| element_count(&value.ty.shape).unwrap_or_default());
    let kept = elements.fold(0, u64::saturating_add);
    // Both graphs are run, and where they hold nothing but codes their values take a quarter of those of float32.
    let mut smallest = float.clone();
    smallest.constants /= 4;
    smallest.copies = 0;
    smallest.ports /= 4;
    smallest.peak.amount /= 4;
    let demand = Demand::new(smallest).keeping(kept);
    let any_work = Limits {
        operations: Operations::Unlimited,
        ..*limits
    };
    any_work.admit(&demand, NonZeroUsize::MIN)?;
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
