//! Widen: if the readers of a sum or of a function of one variable need more bits, the sum or function also computes in
//! more bits. A sum is here an addition, a subtraction, or a sum or mean over axes.
//!
//! In a residual network, a sum is passed on from block to block, and at the beginning of each block a layer
//! normalization reads it. If the table has layer normalization only on 16 bits, either an 8-bit sum would be rounded
//! twice, or everything would stay in real numbers on the host. So if an op that needs more bits reads a sum, directly
//! or after nodes that only move codes, the sum is computed in the type that this op reads. A sum that is read only by
//! widened sums is widened too. The producers of the sum's operands store them in that type as well, if their rows
//! support it. For a function of one variable, such as a leaky ReLU, the table's row on a type with few bits may not
//! allow results with more bits. If a reader needs more bits, the function is then also computed in the wider type.
//!
//! The rows of a softmax may be longer than its definition on the node's type allows. If the table has a type for which
//! the definition allows longer rows, the softmax gets this type.

use super::refusal::refusal;
use crate::annotate::settings::{Annotation, Run};
use strait_core::op::Reduction;
use strait_core::{Graph, GraphId, Kind, Module, Node, NodeId, Op, Term, ValueId};
use strait_requantize::IntType;
use strait_target::spec::{Activation, Integer, Pair};

/// How a node reads an operand in more bits than the operand's producer would use by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// The reader needs the given type: the table has a row for the reader's op on this type, and none on the type that
    /// the operand would have by default.
    Needs(Integer),
    /// The reader is a sum (such as an addition or a mean) or a function of one variable that was itself widened to the
    /// given type. It can read this type and the narrower default type.
    Takes(Integer),
}

impl Reads {
    fn ty(self) -> Integer {
        match self {
            Reads::Needs(ty) | Reads::Takes(ty) => ty,
        }
    }
}

/// Finds the sums (such as additions and means) and the functions of one variable to widen. If settings choose the type
/// of activations, for all nodes or for this one, the node keeps that type.
pub fn widen(module: &Module, graph: GraphId, how: &mut Annotation<'_>) {
    let Some(graph) = module.graph(graph) else { return };
    let Ok(order) = graph.topological_order() else { return };
    if how.settings.default.activation.is_some() {
        return;
    }
    let mut widening = Widening {
        module,
        graph,
        how,
        reads: vec![None; graph.node_bound()],
    };
    for id in order.into_iter().rev() {
        let Some(node) = graph.node(id) else { continue };
        let is_function = node.op.term().kind() == Kind::Function;
        let given = widening.how.constraints.has_given(id);
        let wider = match (is_sum(node) || is_function) && !given {
            true => widening.wider(id, node),
            false => None,
        };
        let reads = if is_sum(node) && !given || wider.is_some() {
            wider
        } else {
            if !given {
                widening.longer_rows(id, node);
            }
            widening.operand(id, node)
        };
        widening.reads[id.index()] = reads;
    }
}

/// True if a node adds up elements, or computes their mean.
fn is_sum(node: &Node) -> bool {
    match &node.op {
        Op::Add(_) | Op::Sub(_) | Op::GlobalAveragePool(_) => true,
        Op::Reduce(reduce) => matches!(reduce.reduction, Reduction::Sum | Reduction::Mean),
        _ => false,
    }
}

fn bits(codes: Integer) -> u8 {
    IntType::from(codes).bits()
}

struct Widening<'a, 'b> {
    module: &'a Module,
    graph: &'a Graph,
    how: &'a mut Annotation<'b>,
    /// For each node, how it reads its operands, if it reads them in more bits than by default.
    reads: Vec<Option<Reads>>,
}

impl Widening<'_, '_> {
    /// True if settings or constraints decide the type of a node's activations. This pass then must not change the
    /// type.
    fn has_own(&self, id: NodeId) -> bool {
        self.how.types(id).own.0.is_some()
    }

    /// True if table and recipe allow a node to compute on codes of type `ty` on the accelerator.
    fn computes_on(&self, id: NodeId, node: &Node, ty: Integer) -> bool {
        let on_host = matches!(self.how.settings.run(id), Some(Run::Float(_)));
        !on_host
            && refusal(
                self.module,
                self.graph,
                self.how.spec,
                node,
                (Activation::from(ty), None),
            )
            .is_none()
    }

    /// Widens a sum (such as an addition or a mean) whose readers need more bits, or a function of one variable whose
    /// row on the narrow type cannot make a result with more bits. Returns how the node then reads its operands.
    fn wider(&mut self, id: NodeId, node: &Node) -> Option<Reads> {
        let term = node.op.term();
        let ty = self.behind(node)?.ty();
        let spec = self.how.spec;
        let narrow = self.how.types(id).pair(spec, term)?.codes()?;
        let has = spec.pairs_of(term).any(|pair| pair.codes() == Some(ty));
        let row = spec.row_for(term, narrow.into());
        let results = row.and_then(|(_, row)| row.results.as_deref());
        let leaves = !is_sum(node) && results.is_some_and(|results| results.contains(&ty));
        let wider = bits(ty) > bits(narrow) && has && !leaves && self.computes_on(id, node, ty);
        if !wider || self.has_own(id) {
            return None;
        }
        self.how.wider.insert(id, ty.into());
        Some(Reads::Takes(ty))
    }

    /// Widens a softmax whose rows are too long for its definition on the narrow type.
    fn longer_rows(&mut self, id: NodeId, node: &Node) {
        let term = node.op.term();
        let own = self.how.types(id).pair(self.how.spec, term).and_then(Pair::codes);
        let Some(own) = own.filter(|_| term == Term::Softmax && !self.has_own(id)) else {
            return;
        };
        let mut others = self.how.spec.pairs_of(term).filter_map(Pair::codes);
        let takes = |ty: &Integer| bits(*ty) > bits(own) && self.computes_on(id, node, *ty);
        if let Some(ty) = others.find(takes).filter(|_| !self.computes_on(id, node, own)) {
            self.how.wider.insert(id, ty.into());
        }
    }

    /// How a node that is not a sum reads its operand.
    fn operand(&self, id: NodeId, node: &Node) -> Option<Reads> {
        let (term, spec) = (node.op.term(), self.how.spec);
        let (_, row) = spec.op_row(term)?;
        if row.recipe?.keeps_grid() {
            return self.behind(node);
        }
        let own = self.how.types(id).pair(spec, term)?.codes()?;
        let codes = spec.pairs_of(term).filter_map(Pair::codes);
        let least = codes.map(bits).min()?;
        let first = spec.types.pairs.iter().find_map(|pair| pair.codes())?;
        let needs = least > bits(first) && bits(own) > bits(first);
        (needs && self.computes_on(id, node, own)).then_some(Reads::Needs(own))
    }

    /// Returns how the readers of a node's results read them. If one reader needs a type, the result is this type.
    /// Otherwise all readers have to be widened to the same type.
    fn behind(&self, node: &Node) -> Option<Reads> {
        let uses = |value: ValueId| self.graph.uses(value).map(|at| self.reads[at.node.index()]);
        let read = || node.outputs.iter().flat_map(|&value| uses(value));
        let needed = read().flatten().find(|reads| matches!(reads, Reads::Needs(_)));
        let leaves = node.outputs.iter().any(|&value| self.graph.is_output(value));
        let first = read().next().flatten().filter(|_| !leaves);
        needed.or_else(|| first.filter(|&first| read().all(|reads| reads == Some(first))))
    }
}
