//! Bake, the last pass over the annotated graph: parameters become codes, and whoever reads them later reads these.
//!
//! **Effect.** Each constant operand with a grid (weights, a bias, a constant that an op reads as an activation) is rounded
//! to it once for each distinct grid and type, and its config becomes baked. The tensors go into the module's pool; configs
//! that agree share one, those that do not have one each. The float values stay where they are.
//!
//! **Preconditions.** The graph is annotated; every config that a parameter's grid rests on has one.
//!
//! **Why last.** The grids that codes rest on stay from then on ([`QuantTable::transition`](strait_core::QuantTable)).
//! Codes that were given are taken as they are. A bias is round(b / (s_x·s_w)); what a target folds into it besides is
//! lowering's.

use crate::codes::{How, codes};
use crate::lowering::LowerError;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    ConfigId, DataId, Derivation, Failure, Graph, Module, Move, Node, NodeId, Port, QuantParams, Reason, ReasonCode,
    Scheme, State, TensorData,
};
use strait_requantize::Rounding;
use strait_target::TargetSpec;
use strait_target::spec::{Recipe, WeightGrid};

/// Codes that have been made, by what they are of. One that is kept from pass to pass over one module makes none twice.
#[derive(Clone, Debug, Default)]
pub struct Baked {
    made: BTreeMap<Want, DataId>,
    /// The grids that the model had for tensors of its own.
    own: BTreeMap<DataId, QuantParams>,
}

impl Baked {
    /// In front of the first pass over a module that came with grids of its own for some tensors.
    pub fn with_scales(own: BTreeMap<DataId, QuantParams>) -> Baked {
        Baked {
            own,
            ..Baked::default()
        }
    }

    /// Forgets the codes that no config has any more, and takes them out of the pool.
    pub(crate) fn prune(&mut self, module: &mut Module) {
        let table = &module.main().quant;
        let live: BTreeSet<DataId> = table.iter().filter_map(|(id, _)| Some(table.codes(id)?.data)).collect();
        self.made.retain(|_, data| {
            let is_live = live.contains(data);
            if !is_live {
                module.drop_data(*data);
            }
            is_live
        });
    }
}

/// Everything that codes depend on. Scales are their bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Want {
    data: DataId,
    elem: &'static str,
    range: [i64; 2],
    rounding: Rounding,
    scales: Vec<u32>,
    zeros: Vec<i32>,
    axis: Option<u8>,
    block: Option<u32>,
    /// 0 for one rounding, 1 for two, else the operand's scale in a product.
    how: u64,
}

impl Want {
    fn new(data: DataId, scheme: &Scheme, elem: &'static str, range: [i64; 2], grid: &QuantParams, how: &How) -> Want {
        let scale = match how {
            How::Product(_, weights) => weights,
            How::Once | How::Twice(_) => &grid.scale,
        };
        Want {
            data,
            elem,
            range,
            rounding: scheme.rounding(),
            scales: scale.values().iter().map(|scale| scale.to_bits()).collect(),
            zeros: grid.zero_point.values().to_vec(),
            axis: grid.axis,
            block: grid.block.map(std::num::NonZeroU32::get),
            how: match how {
                How::Once => 0,
                How::Twice(_) => 1,
                How::Product(x, _) => 2 + u64::from(x.to_bits()),
            },
        }
    }
}

/// Bakes the parameters of the main graph that are not baked yet.
///
/// # Errors
/// [`LowerError::Nodes`] with every node of which a parameter does not fit its type.
pub fn bake(module: &mut Module, spec: &TargetSpec, known: &mut Baked) -> Result<(), LowerError> {
    // Nodes on the host may be weight-only.
    let nodes: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    bake_nodes(module, spec, known, nodes)
}

/// The same for some of the nodes.
pub(crate) fn bake_nodes(
    module: &mut Module,
    spec: &TargetSpec,
    known: &mut Baked,
    nodes: impl IntoIterator<Item = NodeId>,
) -> Result<(), LowerError> {
    let mut refused = Vec::new();
    for node in nodes {
        if let Err(failure) = bake_node(module, spec, known, node) {
            refused.push(failure.refusal(node).map_err(LowerError::Ours)?);
        }
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(LowerError::Nodes(refused)),
    }
}

/// Turns the parameters of a node, the constant operands that have a grid of codes and are not baked yet, into codes: those that
/// were given, else those that are made. Codes belong to a config: nodes that share a value on different grids have different ones
/// of it. Parameters in front of one that fails are baked then.
fn bake_node(module: &mut Module, spec: &TargetSpec, known: &mut Baked, node: NodeId) -> Result<(), Failure> {
    let operands = module.main().node(node).map(|node| node.inputs.clone());
    for (index, operand) in operands.into_iter().flatten().enumerate() {
        let (graph, table) = (module.main(), &module.main().quant);
        let Some(id) = table.id(node, Port::Operand(index)) else {
            continue;
        };
        let (state, root) = (table.state(id), table.root(id));
        let open = matches!(state, Some(State::Activated | State::Overlapped | State::Passive))
            && table.config(id).is_some_and(|config| config.scheme.has_codes());
        let constant = operand.and_then(|value| graph.data_of(value));
        if !open || constant.is_none() || table.grid(id).is_none() {
            continue;
        }
        let move_to = |module: &mut Module, request| {
            let done = module.main_mut().quant.transition(id, request);
            done.map_err(|refused| Failure::Defect(refused.to_string()))
        };
        if state == Some(State::Overlapped) {
            // The grid of a set is read as a derivation from here on, so that the config can have codes of its own.
            move_to(module, Move::MasteredBy(Derivation::Same(root)))?;
        }
        let codes = match module.main().quant.codes(id) {
            Some(given) => given.data,
            None => made(module, spec, known, id)?,
        };
        move_to(module, Move::Bake(codes))?;
    }
    Ok(())
}

/// The codes of a parameter, those of another reader where it wants the same.
fn made(module: &mut Module, spec: &TargetSpec, known: &mut Baked, id: ConfigId) -> Result<DataId, Failure> {
    let missing = || Failure::defect("a parameter has no codes to become");
    let (graph, table) = (module.main(), &module.main().quant);
    let config = table.config(id).ok_or_else(missing)?;
    let node = graph.node(config.node).ok_or_else(missing)?;
    let Port::Operand(index) = config.port else {
        return Err(missing());
    };
    let value = node.inputs.get(index).copied().flatten().ok_or_else(missing)?;
    let (scheme, grid) = (config.scheme, table.params(id).ok_or_else(missing)?);
    let (Some(elem), Some(range)) = (scheme.elem(), scheme.range()) else {
        return Err(missing());
    };
    let data = graph.data_of(value).ok_or_else(missing)?;
    let how = match table.derivation(id) {
        Some(Derivation::Product(x, weights)) => {
            let (x, weights) = table.params(x).zip(table.params(weights)).ok_or_else(missing)?;
            How::Product(x.as_tensor().ok_or_else(missing)?.0, weights.scale.clone())
        }
        _ if index == 1 && rounds_twice(graph, spec, config.node, node) => How::Twice(known.own.get(&data).cloned()),
        _ => How::Once,
    };
    let want = Want::new(data, &scheme, elem.name(), range, &grid, &how);
    if let Some(&made) = known.made.get(&want) {
        return Ok(made);
    }
    let tensor = module.data(data).ok_or_else(missing)?;
    let found = codes(tensor, &grid, range, scheme.rounding(), &how)?;
    let outside = found
        .iter()
        .enumerate()
        .find(|(_, code)| **code < range[0] || **code > range[1]);
    // All but biases saturate.
    if let Some((element, code)) = outside {
        let text = format!(
            "element {element} of the bias is {code}: past [{}, {}]",
            range[0], range[1]
        );
        return Err(Reason::new(ReasonCode::BiasWidth, text).into());
    }
    let made = TensorData::from_integers(elem, tensor.shape(), &found)?;
    let made = module.add_data(made);
    known.made.insert(want, made);
    Ok(made)
}

/// True if the weights of a node reach their grid in two roundings: where a shift leads from there to the result's.
fn rounds_twice(graph: &Graph, spec: &TargetSpec, id: NodeId, node: &Node) -> bool {
    let read = graph.quant.scheme_of(id, Port::Operand(0));
    let read = read.and_then(|scheme| scheme.elem()?.int_type());
    let row = read.and_then(|read| spec.row_for(node.op.term(), read.into()));
    let folds = Recipe::MultiplyAccumulate {
        weight_grid: WeightGrid::MaxAbsThenShift,
    };
    let recipe = row.and_then(|(_, row)| row.recipe());
    let result = graph.quant.scheme_of(id, Port::Result(0));
    recipe == Some(folds) && result.is_some_and(|scheme| !scheme.is_of_sums())
}
