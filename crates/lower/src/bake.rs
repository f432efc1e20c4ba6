//! Bake, the last pass over the annotated graph: it rounds parameters to codes. Later passes read these codes.
//!
//! **Effect.** Each constant operand with a grid (weights, a bias, or a constant that an op reads as an activation) is
//! rounded to codes on its grid, and its config becomes baked. The codes go into the module's pool of tensors. They are
//! made once for each combination of value, grid and type: configs that agree in all three share one tensor. The float
//! values stay in the pool.
//!
//! **Preconditions.** The graph is annotated. Every config that the grid of a parameter depends on has a grid itself.
//!
//! **Why last.** Once codes exist, the grids that they depend on can no longer change
//! ([`QuantTable::transition`](strait_core::QuantTable)). Codes that were given from outside are used unchanged. The
//! code of a bias b is round(b / (s_x·s_w)), with the scales s_x of the operand and s_w of the weights. If a target
//! also folds zero points into the bias, lowering adds them.

use crate::codes::{How, codes};
use crate::error::LowerError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use strait_core::{
    ConfigId, DataId, Derivation, Elem, Failure, Graph, Module, Move, Node, NodeId, Port, QuantParams, ReasonCode,
    Scheme, State, TensorData, refused,
};
use strait_requantize::Rounding;
use strait_target::TargetSpec;
use strait_target::spec::{Recipe, WeightGrid};

/// The tensors of codes that were computed so far, each with everything that it was computed from. Passes that share a
/// `Baked` do not compute the same tensor twice.
#[derive(Clone, Debug, Default)]
pub struct Baked {
    made: BTreeMap<Want, DataId>,
    /// For each tensor that has a grid in the model: this grid.
    own: BTreeMap<DataId, QuantParams>,
    /// The parameters that an optimisation has chosen, by node.
    chosen: BTreeMap<NodeId, Chosen>,
}

/// The parameters that an optimisation has chosen for a node. They are used only while the weights have the grid for which
/// they were chosen. On any other grid, the model's own parameters are rounded as usual.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The grid of the weights.
    pub grid: Arc<QuantParams>,
    /// The codes of the weights on this grid. `None` if each weight is rounded to the nearest code.
    pub weights: Option<DataId>,
    /// The bias as real numbers, in place of the model's. `None` if the model's bias is used.
    pub bias: Option<DataId>,
}

impl Baked {
    /// Starts with no codes, for a module in which some tensors have grids in the model.
    pub fn with_scales(own: BTreeMap<DataId, QuantParams>) -> Baked {
        Baked {
            own,
            ..Baked::default()
        }
    }

    /// Uses these parameters for a node from now on, or the model's own if there are none.
    pub fn choose(&mut self, node: NodeId, chosen: Option<Chosen>) {
        match chosen {
            Some(chosen) => self.chosen.insert(node, chosen),
            None => self.chosen.remove(&node),
        };
    }

    /// Removes the codes that no config uses any more. They are removed from the module's pool of tensors too.
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

/// Everything that the codes of a parameter depend on. Scales are compared by their bits.
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
    /// How the elements are rounded, encoded as an integer: 0 for `How::Once`, and 1 for `How::Twice`. For
    /// `How::Product`, this integer is 2 plus the bits of the operand's scale.
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
/// [`LowerError::Nodes`] with every node that has a parameter which does not fit its type.
pub fn bake(module: &mut Module, spec: &TargetSpec, known: &mut Baked) -> Result<(), LowerError> {
    // Nodes on the host are included, because the weights of a weight-only node on the host have codes too.
    let nodes: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    bake_nodes(module, spec, known, nodes)
}

/// Bakes the parameters of the nodes in `nodes` in the same way as [`bake`].
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

/// Bakes the parameters of one node anew, because other parameters were chosen for it.
///
/// # Errors
/// [`LowerError::Nodes`] if a parameter does not fit its type.
pub fn rebake(module: &mut Module, spec: &TargetSpec, known: &mut Baked, node: NodeId) -> Result<(), LowerError> {
    let count = module.main().node(node).map_or(0, |node| node.inputs.len());
    for index in 0..count {
        let table = &mut module.main_mut().quant;
        if let Some(id) = table.id(node, Port::Operand(index))
            && table.baked(node, Port::Operand(index)).is_some()
        {
            let done = table.transition(id, Move::Unbake);
            done.map_err(|refused| LowerError::Ours(refused.to_string()))?;
        }
    }
    bake_nodes(module, spec, known, [node])
}

/// Rounds the parameters of a node to codes. These are the constant operands with a grid that are not baked yet. Codes
/// that were given from outside are used without a change. Codes belong to a config, so if two nodes read the same
/// value on different grids, the value has different codes for these nodes. If a parameter fails, the parameters before
/// it stay baked.
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
            // If the config shares a grid with other configs, it leaves their set, and its grid is derived from their
            // grid instead. The config can then have codes of its own.
            move_to(module, Move::MasteredBy(Derivation::Same(root)))?;
        }
        let request = match module.main().quant.codes(id) {
            Some(given) => Move::Bake(given.data),
            None => made(module, spec, known, id)?,
        };
        move_to(module, request)?;
    }
    Ok(())
}

/// Makes the codes of a parameter, or finds codes that were already made for another reader and are equal. Returns the
/// request that records them.
fn made(module: &mut Module, spec: &TargetSpec, known: &mut Baked, id: ConfigId) -> Result<Move, Failure> {
    let missing = || Failure::defect("a parameter has no codes to become");
    let (graph, table) = (module.main(), &module.main().quant);
    let config = table.config(id).ok_or_else(missing)?;
    let node = graph.node(config.node).ok_or_else(missing)?;
    let Port::Operand(index) = config.port else {
        return Err(missing());
    };
    let value = node.input(index).ok_or_else(missing)?;
    let (scheme, grid) = (config.scheme, table.params(id).ok_or_else(missing)?);
    let (Some(elem), Some(range)) = (scheme.elem(), scheme.range()) else {
        return Err(missing());
    };
    let data = graph.data_of(value).ok_or_else(missing)?;
    let chosen = known.chosen.get(&config.node);
    let chosen = chosen.filter(|chosen| table.params_of(config.node, Port::Operand(1)).as_ref() == Some(&chosen.grid));
    if let Some(codes) = chosen.and_then(|chosen| chosen.weights).filter(|_| index == 1) {
        return Ok(Move::Choose(codes));
    }
    let corrected = chosen.and_then(|chosen| chosen.bias).filter(|_| index == 2);
    let data = corrected.unwrap_or(data);
    let request = |codes: DataId| match corrected {
        Some(_) => Move::Choose(codes),
        None => Move::Bake(codes),
    };
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
        return Ok(request(made));
    }
    let tensor = module.data(data).ok_or_else(missing)?;
    // Most parameters are weights of 8 bits. Only biases can be out of range: all other codes saturate.
    let made = if elem == Elem::I8 && !matches!(how, How::Product(..)) {
        let found = codes(tensor, &grid, range, scheme.rounding(), &how, |code| code as i8)?;
        TensorData::from_values(tensor.shape(), &found)?
    } else {
        let found = codes(tensor, &grid, range, scheme.rounding(), &how, |code| code)?;
        let mut numbered = found.iter().enumerate();
        if let Some((element, code)) = numbered.find(|(_, code)| **code < range[0] || **code > range[1]) {
            let text = format!(
                "element {element} of the bias is {code}: past [{}, {}]",
                range[0], range[1]
            );
            return refused(ReasonCode::BiasWidth, text);
        }
        TensorData::from_integers(elem, tensor.shape(), &found)?
    };
    let made = module.add_data(made);
    known.made.insert(want, made);
    Ok(request(made))
}

/// True if the weights of a node are rounded twice. This is the case if their grid was chosen so that a shift alone
/// requantizes the accumulators to the result.
fn rounds_twice(graph: &Graph, spec: &TargetSpec, id: NodeId, node: &Node) -> bool {
    let read = graph.quant.scheme_of(id, Port::Operand(0));
    let read = read.and_then(Scheme::int_type);
    let row = read.and_then(|read| spec.row_for(node.op.term(), read.into()));
    let folds = matches!(
        row.and_then(|(_, row)| row.recipe),
        Some(Recipe::MultiplyAccumulate {
            weight_grid: WeightGrid::MaxAbsThenShift,
            ..
        })
    );
    let result = graph.quant.scheme_of(id, Port::Result(0));
    folds && result.is_some_and(|scheme| !scheme.is_of_sums())
}
