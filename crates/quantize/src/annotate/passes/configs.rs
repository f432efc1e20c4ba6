//! **Configs.** What: a config for each operand and result of a node of the accelerator, on the type and scheme that the
//! target's table and the configuration give it.
//! Why: everything behind this speaks of configs alone.
//! Preconditions: nodes are placed.
//! Effect: configs in state `initial`, each for itself; the result of a recipe that fixes its grid, as a softmax does, has that
//! grid given, and so has each for which the annotation states one. A result that is read in real numbers alone has none where the table
//! narrows operands only.

use crate::annotate::AnnotateError;
use crate::annotate::draft::{Draft, Site, is_made};
use crate::annotate::roles::{Role, narrows, only_codes_are_read, recipe, role};
use crate::annotate::{given, types};
use strait_core::{Elem, Graph, Grid, Move, Origin, Port, QuantParams, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{OpRow, Points, Recipe};

pub(super) fn run(site: &Site<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let (graph, how) = (site.graph, site.how);
    let spec = how.spec;
    draft.types.update(site);
    for &id in &site.scope.nodes {
        let Some(node) = graph.node(id) else { continue };
        let (Some((_, kind)), Some([activation, weight])) = (recipe(spec, node), draft.types.of(id)) else {
            continue;
        };
        let Some((_, row)) = spec.row_for(node.op.term(), activation.ty.into()) else {
            continue;
        };
        for (index, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let role = role(graph, node, kind, index);
            if !is_made(site, id, role, value) {
                continue;
            }
            let scheme = match role {
                Role::Other => continue,
                Role::Activation => types::activation(spec, activation)?,
                Role::Weight => {
                    let per = how.directives.weight_per.get(&id).copied();
                    let per = per.or(row.weight_per).or(how.weight_per);
                    types::weight(spec, weight, per.unwrap_or(spec.types.weight_per(weight.ty)))?
                }
                Role::Bias => types::bias(spec, activation.ty)?,
            };
            let config = draft.add(id, Port::Operand(index), scheme, value, role);
            given::activate(site, draft, config, role == Role::Bias)?;
        }
        for (position, &value) in node.outputs.iter().enumerate() {
            let float = graph.value(value).is_some_and(|v| v.ty.elem == Elem::F32);
            if float && site.scope.has(value) && has_codes(graph, spec, row, value) {
                let scheme = types::activation(spec, draft.types.leaves(value).unwrap_or(activation))?;
                let result = draft.add(id, Port::Result(position), scheme, value, Role::Activation);
                if let Some((scale, zero)) = row.recipe().and_then(Recipe::fixed_grid) {
                    let grid = Grid::new(QuantParams::tensor(scale, zero), Origin::Given);
                    draft.transition(result, Move::Activate(grid))?;
                }
                given::activate(site, draft, result, false)?;
            }
        }
    }
    Ok(())
}

/// True if a node of the accelerator leaves codes: always where every result is narrowed, and else where codes are all
/// that is read.
fn has_codes(graph: &Graph, spec: &TargetSpec, row: &OpRow, value: ValueId) -> bool {
    match row.points.unwrap_or(spec.types.points) {
        Points::Results => true,
        Points::Operands => !narrows(row) || only_codes_are_read(graph, spec, value),
    }
}
