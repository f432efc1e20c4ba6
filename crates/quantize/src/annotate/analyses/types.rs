//! Types of codes: the pair of types on which each node computes, and the type in which the producer of each value
//! stores it.
//!
//! A node that computes takes its operands in the activation type of its pair. A node that only moves codes takes the
//! type on which all nodes that read the moved codes agree. If they do not agree, the node has no preference. If all
//! readers of a result agree on a type that the producer's row supports, the result has that type and is rounded only
//! once.

use super::roles::{Role, keeps_grid, shares_grid};
use super::scope::Scope;
use crate::annotate::settings::{AnnotateError, Annotation, GridSettings};
use strait_core::{Elem, Granularity, Graph, Node, NodeId, Policy, Scheme, SchemeError, ValueId};
use strait_requantize::scales::next_power_of_two;
use strait_requantize::{IntType, Rounding};
use strait_target::TargetSpec;
use strait_target::spec::{Integer, OpRow, Recipe, ScaleSet};

/// A type of codes, and the kind of their grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeType {
    pub(crate) ty: Integer,
    /// True if settings require a zero point of 0. False if they do not, even if the target's table requires it.
    symmetric: bool,
    /// True if settings require scales that are powers of two. False if they do not, even if the target's table
    /// requires such scales.
    power_of_two: bool,
}

impl CodeType {
    /// Codes of type `ty`, on grids with the settings `grid`.
    pub(crate) fn new(ty: Integer, grid: GridSettings) -> CodeType {
        let plain = CodeType {
            ty,
            symmetric: false,
            power_of_two: false,
        };
        plain.on(grid)
    }

    /// The same codes on a grid with the given settings. A property that the settings do not state stays as it is.
    fn on(self, grid: GridSettings) -> CodeType {
        CodeType {
            symmetric: grid.symmetric.unwrap_or(self.symmetric),
            power_of_two: grid.power_of_two.unwrap_or(self.power_of_two),
            ..self
        }
    }

    /// Returns the type of the codes as a node reads them. If the node's row supports no other zero point than 0, the
    /// zero point is 0.
    fn as_read(self, spec: &TargetSpec, node: &Node) -> CodeType {
        let row = spec.row_for(node.op.term(), self.ty.into());
        CodeType {
            symmetric: self.symmetric || row.is_some_and(|(_, row)| row.is_symmetric_for(&node.op)),
            ..self
        }
    }

    /// Returns the type of the codes on a grid that the definition of an op fixes. Settings that contradict this grid
    /// are dropped.
    fn fixed(self, (scale, zero): (f32, i32)) -> CodeType {
        let power = next_power_of_two(scale.into()) == f64::from(scale);
        CodeType {
            symmetric: self.symmetric && zero == 0,
            power_of_two: self.power_of_two && power,
            ..self
        }
    }
}

/// The type of codes that the readers of a value prefer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Readers {
    /// No reader has a preference.
    None,
    One(CodeType),
    Several,
}

impl Readers {
    fn and(self, other: Readers) -> Readers {
        match (self, other) {
            (Readers::None, readers) | (readers, Readers::None) => readers,
            (Readers::One(a), Readers::One(b)) if a == b => self,
            _ => Readers::Several,
        }
    }
}

/// The types of the nodes on the accelerator, and the types of these nodes' results.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    /// For each node: the type of its activation operands, and the type of its weights.
    of: Vec<Option<[CodeType; 2]>>,
    /// For each value, the type of the codes that its producer stores. Present only for results of nodes on the
    /// accelerator, and for inputs whose type a rule chooses.
    leaves: Vec<Option<CodeType>>,
    /// For each value, the type of codes that its readers prefer.
    readers: Vec<Readers>,
}

impl Types {
    /// The types of activations and weights that a node on the accelerator reads.
    pub(crate) fn of(&self, id: NodeId) -> Option<[CodeType; 2]> {
        *self.of.get(id.index())?
    }

    /// The type of the codes that a value's producer on the accelerator stores, or to which the host converts an input.
    pub(crate) fn leaves(&self, value: ValueId) -> Option<CodeType> {
        *self.leaves.get(value.index())?
    }

    /// Finds the types of the nodes and values in the scope.
    pub(crate) fn update(&mut self, graph: &Graph, how: &Annotation<'_>, scope: &Scope) {
        self.of.resize(graph.node_bound(), None);
        self.leaves.resize(graph.value_bound(), None);
        self.readers.resize(graph.value_bound(), Readers::None);
        for &value in &scope.values {
            (self.leaves[value.index()], self.readers[value.index()]) = (None, Readers::None);
        }
        for id in &scope.nodes {
            self.of[id.index()] = None;
        }
        let nodes = || {
            let nodes = scope.nodes.iter().filter_map(|&id| Some((id, graph.node(id)?)));
            nodes.filter_map(|(id, node)| Some((id, node, how.roles().recipe(id, node)?)))
        };
        for (id, node, (_, kind)) in nodes().collect::<Vec<_>>().into_iter().rev() {
            let reads = match moves(how, id, node, kind) {
                false => match computed_on(how, id, node, kind) {
                    Some([codes, _]) => Readers::One(codes),
                    None => continue,
                },
                // If the readers disagree, the values keep their producer's type.
                true => match self.behind(node) {
                    Readers::Several => Readers::None,
                    readers => readers,
                },
            };
            for (index, input) in node.inputs.iter().enumerate() {
                if let Some(value) = input.filter(|&value| scope.has(value))
                    && how.roles().role(graph, id, node, kind, index) == Role::Activation
                {
                    let reads = match reads {
                        Readers::One(codes) => Readers::One(operand(how, (id, node), index, kind, codes)),
                        others => others,
                    };
                    let known = &mut self.readers[value.index()];
                    *known = known.and(reads);
                }
            }
        }
        self.handed_over(graph, how, scope);
        for (id, node, (_, kind)) in nodes() {
            let term = node.op.term();
            let Some([preferred, weight]) = computed_on(how, id, node, kind) else {
                continue;
            };
            let activation = match (moves(how, id, node, kind), self.behind(node)) {
                (false, _) => preferred,
                (true, behind) => {
                    let agreed = match (self.operands(graph, how, (id, node), kind), behind) {
                        (Readers::One(t), _) | (_, Readers::One(t)) => t,
                        _ => preferred,
                    };
                    if how.spec.row_for(term, agreed.ty.into()).is_some() {
                        agreed
                    } else {
                        preferred
                    }
                }
            };
            self.of[id.index()] = Some([activation, weight]);
            let row = how.spec.row_for(term, activation.ty.into()).map(|(_, row)| row);
            let results = row
                .and_then(|row| row.results.clone())
                .unwrap_or_else(|| vec![activation.ty]);
            let fixed = row.and_then(|row| row.recipe).and_then(Recipe::fixed_grid);
            let real = |value: ValueId| graph.value(value).is_some_and(|value| value.ty.elem == Elem::F32);
            for &value in node.outputs.iter().filter(|&&value| scope.has(value) && real(value)) {
                if keeps_grid(kind) {
                    let narrower = match self.readers[value.index()] {
                        Readers::One(codes) if moves(how, id, node, kind) => Some(codes.ty),
                        _ => None,
                    };
                    let narrower = narrower.filter(|&ty| row.is_some_and(|row| row.narrows_to(ty)));
                    self.leaves[value.index()] = Some(CodeType {
                        ty: narrower.unwrap_or(activation.ty),
                        ..activation
                    });
                    continue;
                }
                let made = match self.readers[value.index()] {
                    Readers::One(codes) if results.contains(&codes.ty) => codes,
                    _ if results.contains(&activation.ty) => activation,
                    _ => CodeType {
                        ty: results.first().copied().unwrap_or(activation.ty),
                        ..activation
                    },
                };
                let own = how.value_type(value).filter(|ty| results.contains(ty));
                let ty = own.unwrap_or(made.ty);
                let codes = CodeType { ty, ..made }.on(how.settings.value_grid(value));
                self.leaves[value.index()] = Some(fixed.map_or(codes, |grid| codes.fixed(grid)));
            }
        }
    }

    /// Stores the type of codes to which the host converts an input of the graph. This is done for each input for which
    /// a rule chooses the type or the kind of grid, if some node reads the input as codes.
    fn handed_over(&mut self, graph: &Graph, how: &Annotation<'_>, scope: &Scope) {
        for &value in graph.inputs() {
            let read = || graph.uses(value).any(|at| how.roles().reads_codes(graph, at));
            if !scope.has(value) || !how.has_own_codes(value) || !read() {
                continue;
            }
            let agreed = match self.readers[value.index()] {
                Readers::One(codes) => codes,
                Readers::None | Readers::Several => outside(how.spec),
            };
            let ty = how.value_type(value).unwrap_or(agreed.ty);
            self.leaves[value.index()] = Some(CodeType { ty, ..agreed }.on(how.settings.value_grid(value)));
        }
    }

    /// The type of codes that the readers of a node's results prefer.
    fn behind(&self, node: &Node) -> Readers {
        let readers = node.outputs.iter().map(|y| self.readers[y.index()]);
        readers.fold(Readers::None, Readers::and)
    }

    /// For a node that moves codes, finds the type of the codes that the producers of its operands store. Only
    /// producers on the accelerator count.
    fn operands(&self, graph: &Graph, how: &Annotation<'_>, (id, node): (NodeId, &Node), kind: Recipe) -> Readers {
        let operands = node.inputs.iter().enumerate();
        let operands =
            operands.filter(|(index, _)| how.roles().role(graph, id, node, kind, *index) == Role::Activation);
        let types = operands.filter_map(|(_, value)| self.leaves((*value)?));
        types.map(Readers::One).fold(Readers::None, Readers::and)
    }
}

/// True if a node takes over the types of its neighbours. This is the case if the node moves or compares codes, and no
/// setting chooses a type for it.
fn moves(how: &Annotation<'_>, id: NodeId, node: &Node, kind: Recipe) -> bool {
    let own = how.types(id).own.0.is_some() || !how.settings.grid(id, node, true).is_none();
    shares_grid(kind) && !own
}

/// Returns the types of activations and weights on which a node computes. For a node that only moves codes, these are
/// the types that the node prefers. Returns `None` if the node computes on real numbers.
fn computed_on(how: &Annotation<'_>, id: NodeId, node: &Node, kind: Recipe) -> Option<[CodeType; 2]> {
    let (spec, settings) = (how.spec, how.settings);
    let pair = how.types(id).pair(spec, node.op.term())?;
    let own = settings.grid(id, node, shares_grid(kind));
    let activation = CodeType::new(pair.codes()?, own.or(settings.default.grid));
    Some([
        activation.as_read(spec, node),
        CodeType::new(pair.weight, settings.weight_grid(id)),
    ])
}

/// The type of one operand of a node that computes on the types `codes`.
pub(crate) fn operand(
    how: &Annotation<'_>,
    (id, node): (NodeId, &Node),
    index: usize,
    kind: Recipe,
    codes: CodeType,
) -> CodeType {
    let own = match shares_grid(kind) {
        true => GridSettings::default(),
        false => how.settings.operand_grid(id, index),
    };
    codes.on(own).as_read(how.spec, node)
}

/// Returns the type of codes for inputs and outputs of the graph whose type nothing else determines. It is the
/// activation type of the first pair in the target's table whose activations are codes.
pub(crate) fn outside(spec: &TargetSpec) -> CodeType {
    let first = spec.types.pairs.iter().find_map(|pair| pair.codes());
    CodeType::new(first.unwrap_or(Integer::Int8), GridSettings::default())
}

fn policy(symmetric: bool, power_of_two: bool, per: Granularity) -> Policy {
    Policy::Linear {
        symmetric,
        power_of_two,
        dynamic: false,
        per,
    }
}

fn ours(error: SchemeError) -> AnnotateError {
    AnnotateError::Ours(error.to_string())
}

/// The scheme of activations.
pub(crate) fn activation(spec: &TargetSpec, codes: CodeType) -> Result<Scheme, AnnotateError> {
    let t = codes.ty;
    let (row, range) = (spec.types.activation(t), spec.types.activation_range(t));
    let policy = policy(
        row.symmetric || codes.symmetric,
        row.scale == ScaleSet::PowerOfTwo || codes.power_of_two,
        Granularity::Tensor,
    );
    let range = [*range.start(), *range.end()].map(i64::from);
    Scheme::integers(policy, Elem::from(IntType::from(t)), range, spec.quantize.rounding).map_err(ours)
}

/// The scheme of weights.
pub(crate) fn weight(spec: &TargetSpec, codes: CodeType, per: Granularity) -> Result<Scheme, AnnotateError> {
    let t = codes.ty;
    let (row, range) = (spec.types.weight(t), spec.types.weight_range(t));
    let range = [*range.start(), *range.end()].map(i64::from);
    let policy = policy(
        row.symmetric || codes.symmetric,
        row.scale == ScaleSet::PowerOfTwo || codes.power_of_two,
        per,
    );
    let rounding = spec.quantize.weight_rounding();
    Scheme::integers(policy, Elem::from(IntType::from(t)), range, rounding).map_err(ours)
}

/// Returns the scheme of the accumulators that a row makes from activations of type `activation`. Their number of bits
/// is that of the row or, if the row has none, that of the target for these activations.
pub(crate) fn accumulator(
    spec: &TargetSpec,
    row: &OpRow,
    activation: Integer,
    per: Granularity,
) -> Result<Scheme, AnnotateError> {
    let sums = spec.accumulator.get(&activation).map(|sums| sums.bits);
    sum(spec, row.accumulator.or(sums).unwrap_or(32), per)
}

/// The scheme of accumulators after they were shifted to 16 bits.
pub(crate) fn shifted(per: Granularity) -> Result<Scheme, AnnotateError> {
    let range = [i16::MIN, i16::MAX].map(i64::from);
    Scheme::integers(policy(true, false, per), Elem::I16, range, Rounding::Floor).map_err(ours)
}

/// The scheme of gains. It is the same for all types of activations.
pub(crate) fn gain(spec: &TargetSpec) -> Result<Scheme, AnnotateError> {
    let range = [i16::MIN, i16::MAX].map(i64::from);
    let policy = policy(true, false, Granularity::Tensor);
    Scheme::integers(policy, Elem::I16, range, spec.quantize.weight_rounding()).map_err(ours)
}

/// The scheme of the bias that is added to accumulators, for activations of type `activation`.
pub(crate) fn bias(spec: &TargetSpec, activation: Integer) -> Result<Scheme, AnnotateError> {
    let bits = spec.types.bias.get(&activation).map_or(32, |bias| bias.bits());
    sum(spec, bits, Granularity::Channel { axis: 0 })
}

/// Returns the scheme of integers with `bits` bits and without a zero point. The element type is the smallest type that
/// can hold these integers.
fn sum(spec: &TargetSpec, bits: u8, per: Granularity) -> Result<Scheme, AnnotateError> {
    let elem = if bits <= 32 { Elem::I32 } else { Elem::I64 };
    let end = (1i64 << (bits - 2)) + ((1i64 << (bits - 2)) - 1);
    let policy = policy(true, false, per);
    Scheme::integers(policy, elem, [-end - 1, end], spec.quantize.bias_rounding()).map_err(ours)
}
