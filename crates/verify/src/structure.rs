//! Checks that the fused graph is the lowered graph with requantizations and clamps fused into their producers.
//!
//! The check walks both graphs backwards from their outputs, in pairs of values. Names do not matter. Two values
//! correspond if the same op computes them from values that correspond, or if both follow from the same op through
//! chains of requantizations and clamps. If the chains do not consist of the same nodes, the place is a [`FusedSite`],
//! and a certificate has to say how far the chains differ.

use crate::chain::{Along, Base, Chain, eval_tensor};
use crate::finding::{Fault, Finding};
use crate::intervals::Interval;
use std::collections::BTreeSet;
use strait_core::{Addend, Carrier, Def, Elem, Graph, GraphId, Module, Node, Op, ValueId};
use strait_requantize::FromFloat;

/// A place where a single node of the fused graph replaces several nodes of the lowered graph.
#[derive(Clone, Debug)]
pub(crate) struct FusedSite<'a> {
    /// The name of the value in the fused graph.
    pub(crate) value: String,
    pub(crate) fused: Chain<'a>,
    pub(crate) lowered: Chain<'a>,
    pub(crate) kind: SiteKind,
    /// If the fused node adds codes inside its accumulator, this is the node of the lowered graph that computes the
    /// accumulator to which these codes are added.
    pub(crate) product: Option<&'a Node>,
    /// The value in the fused graph and the value in the lowered graph.
    pub(crate) pair: (ValueId, ValueId),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SiteKind {
    /// Both chains start from the same accumulators.
    Accumulators,
    /// The chains were applied to constants.
    Constants(Constants),
    /// Both chains start at quantizations of the same floats, each to its own grid.
    Floats { lowered: FromFloat, fused: FromFloat },
}

/// The outcome of applying the chains to constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Constants {
    /// The number of elements of the constant in the lowered graph. `interval` contains all of these elements.
    pub(crate) entries: u64,
    pub(crate) interval: Option<Interval>,
    /// The largest difference between corresponding elements after the chains were applied.
    pub(crate) max_lsb: u32,
}

/// The result of comparing two graphs.
#[derive(Debug, Default)]
pub(crate) struct Correspondence<'a> {
    pub(crate) sites: Vec<FusedSite<'a>>,
    pub(crate) findings: Vec<Finding>,
    /// Values of the fused graph, each with the value of the lowered graph that it stands for. Both have the same type
    /// and grid.
    pub(crate) pairs: Vec<(ValueId, ValueId)>,
    /// Graphs that the fused graph calls, each with the graph that the lowered graph calls in its place.
    pub(crate) calls: BTreeSet<(GraphId, GraphId)>,
}

/// Walks both graphs and compares them.
pub(crate) fn correspond<'a>(module: &'a Module, fused: &'a Graph, lowered: &'a Graph) -> Correspondence<'a> {
    let mut walk = Walk {
        module,
        fused,
        lowered,
        open: Vec::new(),
        seen: BTreeSet::new(),
        result: Correspondence::default(),
    };
    let counts = [fused, lowered].map(|graph| (graph.inputs().len(), graph.outputs().len()));
    if counts[0] != counts[1] {
        let text = format!("the graphs have {counts:?} inputs and outputs");
        walk.fault(None, Fault::Structure(text));
    }
    for pair in fused.outputs().iter().copied().zip(lowered.outputs().iter().copied()) {
        walk.expect(pair);
    }
    // Each value corresponds to one value of the other graph, or several values correspond to the same one. So there
    // are at most as many pairs as both graphs together have values.
    let most = fused.value_bound().saturating_add(lowered.value_bound());
    while let Some(pair) = walk.open.pop() {
        if walk.result.pairs.len() == most {
            let text = format!("values of the graphs stand for each other in more ways than there are values, {most}");
            walk.fault(None, Fault::Structure(text));
            break;
        }
        walk.visit(pair);
    }
    walk.result
}

struct Walk<'a> {
    module: &'a Module,
    fused: &'a Graph,
    lowered: &'a Graph,
    open: Vec<(ValueId, ValueId)>,
    seen: BTreeSet<(ValueId, ValueId)>,
    result: Correspondence<'a>,
}

impl<'a> Walk<'a> {
    fn expect(&mut self, pair: (ValueId, ValueId)) {
        if self.seen.insert(pair) {
            self.open.push(pair);
        }
    }

    fn fault(&mut self, at: Option<ValueId>, fault: Fault) {
        let value = self.name(at);
        self.result.findings.push(Finding { value, fault });
    }

    /// The name of a value of the fused graph. Without a value, the name of the graph itself.
    fn name(&self, at: Option<ValueId>) -> String {
        let symbol = at
            .and_then(|id| self.fused.value(id))
            .map_or(self.fused.name, |v| v.name);
        self.module.name(symbol).into()
    }

    fn differ(&mut self, at: ValueId, text: String) {
        self.fault(Some(at), Fault::Structure(text));
    }

    fn visit(&mut self, (f, l): (ValueId, ValueId)) {
        let (Some(fused), Some(lowered)) = (self.fused.value(f), self.lowered.value(l)) else {
            return self.differ(f, "a value was removed but is still used".into());
        };
        if fused.ty != lowered.ty || fused.quant != lowered.quant {
            return self.differ(f, "its type or grid is another one in the lowered graph".into());
        }
        self.result.pairs.push((f, l));
        match (fused.def, lowered.def) {
            (Def::Input(a), Def::Input(b)) if a == b => {}
            (Def::Data(a), Def::Data(b)) if a == b || self.module.data(a) == self.module.data(b) => {}
            (Def::Node(a, i), Def::Node(b, j)) => {
                let (a, b) = (self.fused.node(a), self.lowered.node(b));
                match i == j && (self.are_calls(a, b) || self.is_same(a, b)) {
                    true => self.expect_operands(f, a, b),
                    false => self.compare_chains(f, l),
                }
            }
            _ => self.compare_chains(f, l),
        }
    }

    /// True if both nodes have the same op, and the op calls graphs. In that case, the called graphs are recorded as
    /// pairs that have to correspond, too.
    fn are_calls(&mut self, fused: Option<&Node>, lowered: Option<&Node>) -> bool {
        let Some((f, l)) = fused.zip(lowered) else { return false };
        let (own, other) = (f.op.graphs(), l.op.graphs());
        let nobody = |op: &Op| op.with_graphs(|_| GraphId::new(0));
        if own.is_empty() || nobody(&f.op) != nobody(&l.op) {
            return false;
        }
        self.result.calls.extend(own.into_iter().zip(other));
        f.fused == l.fused && f.place == l.place
    }

    /// True if both nodes compute the same result from the same operands.
    fn is_same(&self, fused: Option<&Node>, lowered: Option<&Node>) -> bool {
        fused
            .zip(lowered)
            .is_some_and(|(f, l)| f.op == l.op && f.fused == l.fused && f.place == l.place)
    }

    fn expect_operands(&mut self, at: ValueId, fused: Option<&'a Node>, lowered: Option<&'a Node>) {
        let Some((fused, lowered)) = fused.zip(lowered) else {
            return;
        };
        self.expect_some_operands(at, [&fused.inputs, &lowered.inputs]);
    }

    fn expect_some_operands(&mut self, at: ValueId, [fused, lowered]: [&[Option<ValueId>]; 2]) {
        if fused.len() != lowered.len() {
            return self.differ(at, "it has another number of operands in the lowered graph".into());
        }
        for operands in fused.iter().zip(lowered) {
            match operands {
                (Some(f), Some(l)) => self.expect((*f, *l)),
                (None, None) => {}
                _ => self.differ(at, "an operand is absent in one of the graphs".into()),
            }
        }
    }

    fn compare_chains(&mut self, f: ValueId, l: ValueId) {
        let (fused, lowered) = (
            Chain::to(self.module, self.fused, f),
            Chain::to(self.module, self.lowered, l),
        );
        let axes = [&fused.axis, &lowered.axis].map(Clone::clone);
        let axis = match axes {
            [Err(text), _] | [_, Err(text)] => return self.differ(f, text),
            [Ok(Some(a)), Ok(Some(b))] if a != b => {
                let text = match [a.axis(), b.axis()] {
                    [Some(a), Some(b)] => format!("channels run along axis {a}, and {b} in the lowered graph"),
                    _ => "channels are not picked as they are in the lowered graph".into(),
                };
                return self.differ(f, text);
            }
            [Ok(a), Ok(b)] => a.or(b),
        };
        let result = |chain: &Chain<'_>, graph: &Graph| match chain.start.and_then(|v| graph.value(v)).map(|v| v.def) {
            Some(Def::Node(_, position)) => position,
            _ => 0,
        };
        match (fused.base, lowered.base) {
            (Base::Node(_, a), Base::Node(_, b))
                if same_op(a, b)
                    && adds_alike(a, b)
                    && a.place == b.place
                    && result(&fused, self.fused) == result(&lowered, self.lowered) =>
            {
                self.compare_nodes((f, l), fused, lowered, (a, b));
            }
            (Base::Node(_, a), Base::Node(_, b)) if a.addend().is_some() && matches!(b.op, Op::Add(_)) => {
                self.compare_sums((f, l), fused, lowered, (a, b));
            }
            (Base::Value(a), Base::Value(b)) if [a, b] != [f, l] => {
                self.compare_values((f, l), (fused, a), (lowered, b), axis);
            }
            (fused, lowered) => {
                let describe = |base: Base<'_>| match base {
                    Base::Node(_, node) => format!("`{}`", node.op.term()),
                    Base::Value(_) => "an input or constant".into(),
                };
                let text = format!(
                    "it comes from {}, and from {} in the lowered graph",
                    describe(fused),
                    describe(lowered)
                );
                self.differ(f, text);
            }
        }
    }

    /// Compares two values whose chains start at the same op.
    fn compare_nodes(
        &mut self,
        pair: (ValueId, ValueId),
        fused: Chain<'a>,
        lowered: Chain<'a>,
        (a, b): (&'a Node, &'a Node),
    ) {
        let f = pair.0;
        match &a.op {
            // The lowered graph computes round(x / s1) and requantizes the result, and the fused graph computes round(x
            // / s2). Both computations are compared as functions of the float x, not of an accumulator.
            Op::Quantize(_) if a.op != b.op || fused.steps != lowered.steps || !self.is_one_grid(&fused, &lowered) => {
                self.expect_operands(f, Some(a), Some(b));
                let from = (from_float(self.lowered, b), from_float(self.fused, a));
                let (Some(lowered_from), Some(fused_from)) = from else {
                    return self.differ(
                        f,
                        "what is quantized to another grid are no 32-bit floats on one grid".into(),
                    );
                };
                let kind = SiteKind::Floats {
                    lowered: lowered_from,
                    fused: fused_from,
                };
                self.site(pair, fused, lowered, kind);
            }
            Op::Lookup(_) if self.burnt(a, b) => {
                if let [Some(x), Some(y)] = [a, b].map(|n| n.inputs.first().copied().flatten()) {
                    self.expect((x, y));
                }
                let tables = [a, b].map(|n| n.inputs.get(1).copied().flatten());
                match tables {
                    // The lookup table is the same for all channels, so chains with channels cannot be applied to it.
                    [Some(x), Some(y)] if fused.axis == Ok(None) && lowered.axis == Ok(None) => {
                        self.compare_constants(pair, (fused, x), (lowered, y), None);
                    }
                    _ => self.differ(f, "a table was replaced by one per channel".into()),
                }
            }
            _ => {
                // The operand that selects channels belongs to the chain. The op itself does not use it.
                let own = a.op.channel_operand().unwrap_or(usize::MAX);
                self.expect_some_operands(f, [a, b].map(|node| node.inputs.get(..own).unwrap_or(&node.inputs)));
                self.site(pair, fused, lowered, SiteKind::Accumulators);
            }
        }
    }

    /// Compares a fused node that adds codes inside its accumulator with an addition in the lowered graph. The addition
    /// must add the same codes, requantized to the accumulator's grid in the same way, to the same accumulator.
    fn compare_sums(
        &mut self,
        pair: (ValueId, ValueId),
        fused: Chain<'a>,
        lowered: Chain<'a>,
        (a, b): (&'a Node, &'a Node),
    ) {
        let found = match b.inputs[..] {
            [Some(first), Some(second)] => [(first, second), (second, first)]
                .into_iter()
                .find_map(|(sum, other)| self.product(a, sum).zip(self.added(a, other))),
            _ => None,
        };
        let (Some((product, codes)), Some((_, own))) = (found.filter(|_| a.place == b.place), a.addend()) else {
            let text = "what it adds inside its accumulator is not what the lowered graph adds";
            return self.differ(pair.0, text.into());
        };
        let none = [None; Addend::OPERAND];
        let padded = [&product.inputs[..], &none[product.inputs.len().min(Addend::OPERAND)..]].concat();
        self.expect_some_operands(pair.0, [a.own_inputs(), &padded]);
        self.expect((own, codes));
        self.site(pair, fused, lowered, SiteKind::Accumulators);
        if let Some(site) = self.result.sites.last_mut() {
            site.product = Some(product);
        }
    }

    /// Returns the node of the lowered graph that computes the accumulator `sum`. Returns `None` unless this node has
    /// the same op as the fused node.
    fn product(&self, fused: &Node, sum: ValueId) -> Option<&'a Node> {
        let (_, node) = self.lowered.producer(sum)?;
        (node.op == fused.op && node.fused.is_none() && node.place == fused.place).then_some(node)
    }

    /// Returns the codes of the lowered graph that are requantized to the grid of an accumulator. Returns `None` unless
    /// the fused node requantizes them in the same way.
    fn added(&self, fused: &Node, value: ValueId) -> Option<ValueId> {
        let (addend, _) = fused.addend()?;
        let alike = |node: &Node| node.fused.is_none() && node.place == fused.place;
        let (_, last) = self.lowered.producer(value).filter(|(_, node)| alike(node))?;
        let Op::Requantize(op) = &last.op else { return None };
        let rank = self.lowered.value(value)?.ty.shape.len();
        let along = op.form.channels().is_none() || fused.op.channel_axis(rank) == Some(op.axis as usize);
        if op.form != addend.form || !along || last.picked_channels().is_some() {
            return None;
        }
        let codes = last.inputs.first().copied().flatten()?;
        let centre = self.lowered.producer(codes).filter(|(_, node)| alike(node));
        match centre.map(|(_, node)| (&node.op, node)) {
            Some((Op::ShiftLeft(op), node)) if (op.bits, op.accumulator) == (0, Carrier::I32) => {
                let whole = node.inputs.first().copied().flatten()?;
                (op.zero == addend.zero).then_some(whole)
            }
            _ => (addend.zero == 0).then_some(codes),
        }
    }

    /// True if the start values of both chains are on the same grid, and the quantizations before the chains produce
    /// codes on this grid.
    fn is_one_grid(&self, fused: &Chain<'_>, lowered: &Chain<'_>) -> bool {
        let grid = |graph: &'a Graph, chain: &Chain<'_>| chain.start.and_then(|v| graph.value(v)).map(|v| &v.quant);
        grid(self.fused, fused) == grid(self.lowered, lowered)
    }

    /// True if two lookups have different tables: different entries, or the same entries on different grids.
    fn burnt(&self, a: &Node, b: &Node) -> bool {
        let table = |graph: &'a Graph, node: &Node| {
            let table = node.inputs.get(1).copied().flatten()?;
            let value = graph.value(table)?;
            Some((value.ty.elem, &value.quant, self.module.constant(graph, table)))
        };
        table(self.fused, a) != table(self.lowered, b)
    }

    /// Compares two values whose chains start at inputs or constants.
    fn compare_values(
        &mut self,
        pair: (ValueId, ValueId),
        fused: (Chain<'a>, ValueId),
        lowered: (Chain<'a>, ValueId),
        axis: Option<Along<'a>>,
    ) {
        let is_data = [self.fused.data_of(fused.1), self.lowered.data_of(lowered.1)].map(|data| data.is_some());
        match is_data {
            [true, true] => self.compare_constants(pair, fused, lowered, axis),
            [false, false] => {
                self.expect((fused.1, lowered.1));
                self.site(pair, fused.0, lowered.0, SiteKind::Accumulators);
            }
            _ => self.differ(pair.0, "a constant is an input in the other graph".into()),
        }
    }

    /// Compares two chains that are applied to constants. All elements are known, so they are compared one by one.
    fn compare_constants(
        &mut self,
        pair: (ValueId, ValueId),
        fused: (Chain<'a>, ValueId),
        lowered: (Chain<'a>, ValueId),
        axis: Option<Along<'a>>,
    ) {
        if let Some(Along::Picked(_)) = axis {
            return self.differ(pair.0, "a constant was requantized by channels that are picked".into());
        }
        let axis = axis.and_then(Along::axis);
        let values = [(self.fused, &fused), (self.lowered, &lowered)]
            .map(|(graph, (chain, value))| eval_tensor(self.module, graph, *value, &chain.steps, axis));
        match values {
            [Some(Ok(a)), Some(Ok(b))] if a.len() == b.len() => {
                let largest = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
                let entries = self
                    .module
                    .constant(self.lowered, lowered.1)
                    .and_then(|c| c.to_i64().ok());
                let points = entries.iter().flatten().map(|&entry| Interval::point(entry));
                let constants = Constants {
                    entries: a.len() as u64,
                    interval: points.reduce(Interval::hull),
                    max_lsb: u32::try_from(largest).unwrap_or(u32::MAX),
                };
                self.site(pair, fused.0, lowered.0, SiteKind::Constants(constants));
            }
            [Some(Err(outside)), _] | [_, Some(Err(outside))] => {
                self.fault(Some(pair.0), Fault::OutsideDomain(outside));
            }
            _ => self.differ(
                pair.0,
                "a constant has another number of elements in the lowered graph".into(),
            ),
        }
    }

    fn site(&mut self, pair: (ValueId, ValueId), fused: Chain<'a>, lowered: Chain<'a>, kind: SiteKind) {
        let value = self.name(Some(pair.0));
        self.result.sites.push(FusedSite {
            pair,
            value,
            fused,
            lowered,
            kind,
            product: None,
        });
    }
}

/// True if two nodes add the same codes inside their accumulators, or if neither adds any.
fn adds_alike(a: &Node, b: &Node) -> bool {
    let addend = |node: &Node| node.fused.as_deref().and_then(|fused| fused.addend.clone());
    addend(a) == addend(b)
}

/// True if two nodes compute the same result from the same operands, without what is fused into them. For two
/// quantizations of floats, the result types may differ, because a certificate covers the difference.
fn same_op(a: &Node, b: &Node) -> bool {
    matches!((&a.op, &b.op), (Op::Quantize(_), Op::Quantize(_))) || a.op == b.op
}

/// The quantization that a node performs. `None` if the node does not quantize 32-bit floats to a single grid.
fn from_float(graph: &Graph, node: &Node) -> Option<FromFloat> {
    let Op::Quantize(op) = &node.op else { return None };
    let operand = graph.value(node.inputs.first().copied().flatten()?)?;
    let result = graph.value(*node.outputs.first()?)?;
    let (scale, zero_point) = result.quant.as_deref()?.as_tensor()?;
    (operand.ty.elem == Elem::F32).then_some(FromFloat {
        scale,
        zero_point,
        added: op.zero_point,
        rounding: op.rounding,
        reciprocal: op.reciprocal,
        out: result.ty.elem.int_type()?,
    })
}
