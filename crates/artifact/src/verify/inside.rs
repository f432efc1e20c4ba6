//! Runs the whole model on given samples to find out which inputs its bodies of control flow (loops and branches) get.

use std::collections::BTreeMap;

use strait_core::{GraphId, Symbol, ValueId};
use strait_execute::{ExecuteError, Plan, PlanOptions, Tensor, TensorView, Workspace};
use strait_verify::VerifyError;

use super::Graphs;

/// The whole model, ready to run. Where bodies of control flow are inlined, their inputs are additional inputs of the
/// main graph. This type also has the positions of these inputs among all inputs.
pub(super) struct Inside {
    pub(super) plan: Plan,
    positions: BTreeMap<(GraphId, ValueId), usize>,
}

impl Inside {
    /// Prepares the whole model. Returns `None` if the model has no bodies of control flow.
    ///
    /// # Errors
    /// If a graph cannot be run.
    pub(super) fn new(graphs: &Graphs<'_>, options: &PlanOptions<'_>) -> Result<Option<Inside>, ExecuteError> {
        let Graphs {
            open, whole, bodies, ..
        } = *graphs;
        if bodies.is_empty() {
            return Ok(None);
        }
        let inputs = open.main().inputs().iter().enumerate();
        let named = inputs.filter_map(|(position, &input)| {
            let name = open.main().value(input)?.name;
            Some((open.name(name), position))
        });
        let named: BTreeMap<&str, usize> = named.collect();
        let at = |name: Symbol| named.get(whole.name(name)).copied();
        let graphs = bodies.graphs(whole).into_iter();
        let positions = graphs
            .filter_map(|id| Some((id, whole.graph(id)?)))
            .flat_map(|(id, graph)| graph.inputs().iter().map(move |&input| (id, graph, input)))
            .filter_map(|(id, graph, input)| Some(((id, input), at(graph.value(input)?.name)?)))
            .collect();
        let plan = Plan::new(whole, whole.main, options)?;
        Ok(Some(Inside { plan, positions }))
    }

    /// Runs the model on a sample and returns the inputs of the model and of its bodies. For a body, these are the
    /// inputs of its last run. If the body did not run, they are taken from `random`.
    ///
    /// # Errors
    /// If a run fails.
    pub(super) fn filled(
        &self,
        space: &mut Workspace,
        sample: &[TensorView<'_>],
        mut random: Vec<Tensor>,
    ) -> Result<Vec<Tensor>, VerifyError> {
        let mut see = |graph: GraphId, value: ValueId, tensor: TensorView<'_>| {
            let input = self.positions.get(&(graph, value));
            if let Some(place) = input.and_then(|&position| random.get_mut(position)) {
                *place = tensor.to_tensor();
            }
        };
        let ran = self.plan.run_observed_inside(space, sample, &mut see);
        ran.map_err(|source| VerifyError::Execute { graph: "fused", source })?;
        Ok(random)
    }
}
