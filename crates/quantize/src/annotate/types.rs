//! Types of codes: which pair each node computes on, and in which type each value leaves its producer.
//!
//! A node that computes wants its operands in the activation type of its pair. A node that only moves codes wants what all
//! readers behind it agree on, and nothing of its own where they do not. Where all readers of a result agree on a type that
//! the producer's row has, the result leaves in that one, and is rounded once.

use super::draft::Site;
use super::grids::{GridWish, GridWishes};
use super::roles::{Role, keeps_grid, shares_grid};
use super::{AnnotateError, Annotation};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    Elem, Granularity, Graph, Node, NodeId, Policy, Reason, ReasonCode, Scheme, SchemeError, Term, ValueId,
};
use strait_requantize::scales::next_power_of_two;
use strait_requantize::{IntType, Rounding};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, OpRow, Pair, Recipe, ScaleSet};

/// Type of codes, and the kind of their grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codes {
    pub(super) ty: Integer,
    /// The zero point is 0, because the configuration wants that. Where the table wants it, this says nothing.
    symmetric: bool,
    /// The same of scales that are powers of two.
    power_of_two: bool,
}

impl Codes {
    /// Codes of a type on the grids that are wished for.
    pub(super) fn new(ty: Integer, wish: GridWish) -> Codes {
        let plain = Codes {
            ty,
            symmetric: false,
            power_of_two: false,
        };
        plain.wished(wish)
    }

    /// As far as a wish says something, it wins.
    fn wished(self, wish: GridWish) -> Codes {
        Codes {
            symmetric: wish.symmetric.unwrap_or(self.symmetric),
            power_of_two: wish.power_of_two.unwrap_or(self.power_of_two),
            ..self
        }
    }

    /// The same where a node reads them whose row may take no zero point.
    fn as_read(self, spec: &TargetSpec, node: &Node) -> Codes {
        let row = spec.row_for(node.op.term(), self.ty.into());
        Codes {
            symmetric: self.symmetric || row.is_some_and(|(_, row)| row.is_symmetric_for(&node.op)),
            ..self
        }
    }

    /// The same on a grid that a definition fixes: nothing is wished for that it is not.
    fn fixed(self, (scale, zero): (f32, i32)) -> Codes {
        let power = next_power_of_two(scale.into()) == f64::from(scale);
        Codes {
            symmetric: self.symmetric && zero == 0,
            power_of_two: self.power_of_two && power,
            ..self
        }
    }
}

/// Codes that the readers of a value want.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wish {
    Nothing,
    One(Codes),
    Several,
}

impl Wish {
    fn and(self, other: Wish) -> Wish {
        match (self, other) {
            (Wish::Nothing, wish) | (wish, Wish::Nothing) => wish,
            (Wish::One(a), Wish::One(b)) if a == b => self,
            _ => Wish::Several,
        }
    }
}

/// Types of the nodes of the accelerator, and of what they make.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    /// By node: the codes of its activation operands, and those of its weights.
    of: Vec<Option<[Codes; 2]>>,
    /// By value that a node of the accelerator makes, or an input of which a rule wants some: its codes.
    leaves: Vec<Option<Codes>>,
    /// By value: what its readers want.
    wishes: Vec<Wish>,
}

impl Types {
    /// Codes of the activations and weights that a node of the accelerator reads.
    pub(super) fn of(&self, id: NodeId) -> Option<[Codes; 2]> {
        *self.of.get(id.index())?
    }

    /// The codes as which a value leaves a node of the accelerator, or the host that hands it over.
    pub(super) fn leaves(&self, value: ValueId) -> Option<Codes> {
        *self.leaves.get(value.index())?
    }

    /// Types of the nodes and values of the scope.
    pub(super) fn update(&mut self, site: &Site<'_>) {
        let (graph, how, scope) = (site.graph, site.how, site.scope);
        self.of.resize(graph.node_bound(), None);
        self.leaves.resize(graph.value_bound(), None);
        self.wishes.resize(graph.value_bound(), Wish::Nothing);
        for &value in &scope.values {
            (self.leaves[value.index()], self.wishes[value.index()]) = (None, Wish::Nothing);
        }
        for id in &scope.nodes {
            self.of[id.index()] = None;
        }
        let nodes = || {
            let nodes = scope.nodes.iter().filter_map(|&id| Some((id, graph.node(id)?)));
            nodes.filter_map(|(id, node)| Some((id, node, how.roles().recipe(id, node)?)))
        };
        for (id, node, (_, kind)) in nodes().collect::<Vec<_>>().into_iter().rev() {
            let wish = match moves(how, id, node, kind) {
                false => match how.types.codes(how.spec, id, node, kind) {
                    Some([codes, _]) => Wish::One(codes),
                    None => continue,
                },
                // Where readers differ, the group keeps its producer's type.
                true => match self.behind(node) {
                    Wish::Several => Wish::Nothing,
                    wish => wish,
                },
            };
            for (index, input) in node.inputs.iter().enumerate() {
                if let Some(value) = input.filter(|&value| scope.has(value))
                    && how.roles().role(graph, id, node, kind, index) == Role::Activation
                {
                    let wish = match wish {
                        Wish::One(codes) => Wish::One(how.types.operand(how.spec, (id, node), index, kind, codes)),
                        wish => wish,
                    };
                    let known = &mut self.wishes[value.index()];
                    *known = known.and(wish);
                }
            }
        }
        self.handed_over(site);
        for (id, node, (_, kind)) in nodes() {
            let term = node.op.term();
            let Some([preferred, weight]) = how.types.codes(how.spec, id, node, kind) else {
                continue;
            };
            let activation = match (moves(how, id, node, kind), self.behind(node)) {
                (false, _) => preferred,
                (true, behind) => {
                    let agreed = match (self.operands(graph, how, (id, node), kind), behind) {
                        (Wish::One(t), _) | (_, Wish::One(t)) => t,
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
            let fixed = row.and_then(OpRow::recipe).and_then(Recipe::fixed_grid);
            let real = |value: ValueId| graph.value(value).is_some_and(|value| value.ty.elem == Elem::F32);
            for &value in node.outputs.iter().filter(|&&value| scope.has(value) && real(value)) {
                if keeps_grid(kind) {
                    let narrower = match self.wishes[value.index()] {
                        Wish::One(codes) if moves(how, id, node, kind) => Some(codes.ty),
                        _ => None,
                    };
                    let narrower = narrower.filter(|&ty| row.is_some_and(|row| row.narrows_to(ty)));
                    self.leaves[value.index()] = Some(Codes {
                        ty: narrower.unwrap_or(activation.ty),
                        ..activation
                    });
                    continue;
                }
                let wish = match self.wishes[value.index()] {
                    Wish::One(codes) if results.contains(&codes.ty) => codes,
                    _ if results.contains(&activation.ty) => activation,
                    _ => Codes {
                        ty: results.first().copied().unwrap_or(activation.ty),
                        ..activation
                    },
                };
                let own = how.types.values.get(&value).filter(|ty| results.contains(ty));
                let ty = own.copied().unwrap_or(wish.ty);
                let grid = how.types.grids.values.get(&value).copied().unwrap_or_default();
                let codes = Codes { ty, ..wish }.wished(grid);
                self.leaves[value.index()] = Some(fixed.map_or(codes, |grid| codes.fixed(grid)));
            }
        }
    }

    /// The codes of which the host hands inputs over, where a rule wants some and anything reads them.
    fn handed_over(&mut self, site: &Site<'_>) {
        let (graph, how) = (site.graph, site.how);
        for &value in graph.inputs() {
            let read = || graph.uses(value).any(|at| how.roles().reads_codes(graph, at));
            if !site.scope.has(value) || !how.types.is_wished(value) || !read() {
                continue;
            }
            let agreed = match self.wishes[value.index()] {
                Wish::One(codes) => codes,
                Wish::Nothing | Wish::Several => outside(how.spec),
            };
            let ty = how.types.values.get(&value).copied().unwrap_or(agreed.ty);
            let grid = how.types.grids.values.get(&value).copied().unwrap_or_default();
            self.leaves[value.index()] = Some(Codes { ty, ..agreed }.wished(grid));
        }
    }

    /// The wish of the readers of all results of a node.
    fn behind(&self, node: &Node) -> Wish {
        let wishes = node.outputs.iter().map(|y| self.wishes[y.index()]);
        wishes.fold(Wish::Nothing, Wish::and)
    }

    /// Types in which the operands of a node that moves codes leave their producers on the accelerator.
    fn operands(&self, graph: &Graph, how: &Annotation<'_>, (id, node): (NodeId, &Node), kind: Recipe) -> Wish {
        let operands = node.inputs.iter().enumerate();
        let operands =
            operands.filter(|(index, _)| how.roles().role(graph, id, node, kind, *index) == Role::Activation);
        let types = operands.filter_map(|(_, value)| self.leaves((*value)?));
        types.map(Wish::One).fold(Wish::Nothing, Wish::and)
    }
}

/// True if a node has the types of its neighbours, because it moves or compares codes and nobody has said otherwise.
fn moves(how: &Annotation<'_>, id: NodeId, node: &Node, kind: Recipe) -> bool {
    let types = &how.types;
    let own = types.activations.contains_key(&id) || !types.grids.own(id, node, true).is_none();
    shares_grid(kind) && !own
}

/// Types that the configuration wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeWishes {
    /// Of the activations that nodes compute on, as far as the target's table has it for them.
    pub activation: Option<Activation>,
    /// The same of weights.
    pub weight: Option<Integer>,
    /// Of the activations that single nodes compute on, which the table has for them.
    pub activations: BTreeMap<NodeId, Activation>,
    /// The same of weights.
    pub weights: BTreeMap<NodeId, Integer>,
    /// Nodes that the configuration wants in float, weights and all.
    pub plain: BTreeSet<NodeId>,
    /// In which single values leave the nodes that make them, where these have it.
    pub values: BTreeMap<ValueId, Integer>,
    /// Nodes whose results are codes in the model, and so also where the host alone reads them.
    pub on_codes: BTreeSet<NodeId>,
    /// Those of them all of whose operands are codes in the model, too: it computes on integers there.
    pub between_codes: BTreeSet<NodeId>,
    /// Kinds of grids.
    pub grids: GridWishes,
}

impl TypeWishes {
    /// The codes that a node computes on, unless it only moves those of others; none where it computes on real numbers.
    fn codes(&self, spec: &TargetSpec, id: NodeId, node: &Node, kind: Recipe) -> Option<[Codes; 2]> {
        let pair = self.pair(spec, id, node.op.term())?;
        let own = self.grids.own(id, node, shares_grid(kind));
        let activation = Codes::new(pair.codes()?, own.or(self.grids.activation));
        Some([
            activation.as_read(spec, node),
            Codes::new(pair.weight, self.grids.weight(id)),
        ])
    }

    /// True if a rule says of which type or scheme a value leaves.
    pub(super) fn is_wished(&self, value: ValueId) -> bool {
        let grid = self.grids.values.get(&value);
        self.values.contains_key(&value) || grid.is_some_and(|grid| !grid.is_none())
    }

    /// The codes of one operand of a node that computes on `codes`.
    pub(super) fn operand(
        &self,
        spec: &TargetSpec,
        (id, node): (NodeId, &Node),
        index: usize,
        kind: Recipe,
        codes: Codes,
    ) -> Codes {
        let own = self.grids.operands.get(&(id, index)).filter(|_| !shares_grid(kind));
        codes.wished(own.copied().unwrap_or_default()).as_read(spec, node)
    }

    /// Reason why a node is on the host though the target has its op: activations are to be real numbers, and the op is none
    /// whose weights alone can have codes there.
    pub(super) fn stays_float(&self, spec: &TargetSpec, id: NodeId, node: &Node) -> Option<Reason> {
        let wanted = self.activations.get(&id).copied().or(self.activation);
        let pair = self.pair(spec, id, node.op.term());
        let float = wanted == Some(Activation::Float32) && !pair.is_some_and(|pair| pair.is_weight_only());
        let term = node.op.term();
        (float && spec.op_row(term).is_some()).then(|| {
            let text = match self.pair_on_host(spec, id, term) {
                Some(pair) => format!("no row takes {pair} for `{term}`: the host computes it"),
                None => format!("activations are float32, and the target has no such pair for `{term}`"),
            };
            Reason::new(ReasonCode::Configuration, text)
        })
    }

    /// The pair of a node on the host of which the weights alone have codes: where activations are to be real numbers, the
    /// first one with the weights that are wanted of this node, and else of all nodes, as far as there is one.
    pub fn pair_on_host(&self, spec: &TargetSpec, id: NodeId, term: Term) -> Option<Pair> {
        let activation = self.activations.get(&id).copied().or(self.activation);
        if activation != Some(Activation::Float32) || self.plain.contains(&id) {
            return None;
        }
        let own = self.weights.get(&id).copied();
        let having = |weight: Option<Integer>| {
            let mut pairs = spec.weight_only_pairs(term);
            pairs.find(|pair| weight.is_none_or(|wanted| wanted == pair.weight))
        };
        having(own.or(self.weight)).or_else(|| having(own))
    }

    /// The pair that a node computes on: of those that the table has for its op the first with what is wanted of this node,
    /// and else of all nodes, as far as there is one. Real activations are taken where they are wanted, or where the op has
    /// no others. None where the table has no row for the op.
    pub fn pair(&self, spec: &TargetSpec, id: NodeId, term: Term) -> Option<Pair> {
        let own = (self.activations.get(&id).copied(), self.weights.get(&id).copied());
        let (activation, weight) = (own.0.or(self.activation), own.1.or(self.weight));
        let tries = [(activation, weight), (activation, own.1), (own.0, weight), own];
        let reals = spec.pairs_of(term).all(|pair| pair.is_weight_only());
        tries.into_iter().find_map(|(activation, weight)| {
            spec.pairs_of(term).find(|pair| {
                activation.map_or(reals || !pair.is_weight_only(), |wanted| wanted == pair.activation)
                    && weight.is_none_or(|wanted| wanted == pair.weight)
            })
        })
    }
}

/// Codes of inputs and outputs of which nothing says more: those of the table's first pair that has some.
pub(super) fn outside(spec: &TargetSpec) -> Codes {
    let first = spec.types.pairs.iter().find_map(|pair| pair.codes());
    Codes::new(first.unwrap_or(Integer::Int8), GridWish::default())
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
pub(super) fn activation(spec: &TargetSpec, codes: Codes) -> Result<Scheme, AnnotateError> {
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
pub(super) fn weight(spec: &TargetSpec, codes: Codes, per: Granularity) -> Result<Scheme, AnnotateError> {
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

/// The scheme of sums over activations of a type, of a row: as wide as the target forms them.
pub(super) fn accumulator(
    spec: &TargetSpec,
    row: &OpRow,
    activation: Integer,
    per: Granularity,
) -> Result<Scheme, AnnotateError> {
    let sums = spec.accumulator.get(&activation).map(|sums| sums.bits);
    sum(spec, row.accumulator.or(sums).unwrap_or(32), per)
}

/// The scheme of sums that are shifted to 16 bits, of what a node reads.
pub(super) fn shifted(per: Granularity) -> Result<Scheme, AnnotateError> {
    let range = [i16::MIN, i16::MAX].map(i64::from);
    Scheme::integers(policy(true, false, per), Elem::I16, range, Rounding::Floor).map_err(ours)
}

/// The scheme of gains, on whichever codes they work.
pub(super) fn gain(spec: &TargetSpec) -> Result<Scheme, AnnotateError> {
    let range = [i16::MIN, i16::MAX].map(i64::from);
    let policy = policy(true, false, Granularity::Tensor);
    Scheme::integers(policy, Elem::I16, range, spec.quantize.weight_rounding()).map_err(ours)
}

/// The scheme of the bias of sums over activations of a type.
pub(super) fn bias(spec: &TargetSpec, activation: Integer) -> Result<Scheme, AnnotateError> {
    let bits = spec.types.bias.get(&activation).map_or(32, |bias| bias.bits());
    sum(spec, bits, Granularity::Channel { axis: 0 })
}

/// Integers of so many bits, without a zero point, in the type that carries them.
fn sum(spec: &TargetSpec, bits: u8, per: Granularity) -> Result<Scheme, AnnotateError> {
    let elem = if bits <= 32 { Elem::I32 } else { Elem::I64 };
    let end = (1i64 << (bits - 2)) + ((1i64 << (bits - 2)) - 1);
    let policy = policy(true, false, per);
    Scheme::integers(policy, elem, [-end - 1, end], spec.quantize.bias_rounding()).map_err(ours)
}
