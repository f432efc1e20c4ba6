//! **Pattern**: x / c with a constant c.
//! **Why**: no target can divide codes, and all targets can multiply them. Exporters write such divisions in attention,
//! where scores are divided by a square root, and in squeeze-and-excitation blocks, where the gate is divided by six.
//! **Preconditions**: the reciprocal of each element of c is a normal number. The quotient is not part of a function that
//! another rule recognises, such as the x / √2 before the `erf` of a GELU. If an element of c is not a power of two, the
//! quotient is not read by an op for which the last bit can matter: a rounding, a remainder, a comparison, or a cast to
//! integers.
//! **Exactness**: exact if c is a power of two. Otherwise exact in real numbers. In f32, the reciprocal is rounded too, and
//! the result differs from the quotient by at most one unit in the last place.

use super::function;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::{BinaryFunction, Function, Mul};
use strait_core::{Kind, NewNode, Op, Patch, ReasonCode, Source, Term, ValueId, refused};

/// The rule that replaces a division by a constant with a multiplication.
pub const RULE: NodeRule = NodeRule {
    name: "division-to-multiplication",
    anchors: || vec![Term::Div],
    depth: || 1,
    is_fusion: false,
    look,
};

/// True for 2^k and −2^k, whose reciprocals are exact if they are normal numbers.
fn is_power_of_two(x: f32) -> bool {
    const FRACTION: u32 = (1 << 23) - 1;
    x.is_normal() && x.to_bits() & FRACTION == 0
}

/// The largest number of nodes between the quotient and the end of a function that the quotient belongs to.
const FARTHEST_END: usize = 5;

/// True if the node is part of a function that another rule will recognise when it reaches the function's last node.
fn is_of_function(site: &GraphNode<'_>, y: ValueId) -> bool {
    let mut behind = vec![y];
    for _ in 0..FARTHEST_END {
        let mut next = Vec::new();
        for id in behind
            .iter()
            .flat_map(|&value| site.graph.uses(value))
            .map(|at| at.node)
        {
            let Some(node) = site.graph.node(id) else { continue };
            let reader = GraphNode { id, node, ..*site };
            if function::found(&reader).is_some_and(|(_, found)| found.nodes.contains(&site.id)) {
                return true;
            }
            let is_inside = matches!(node.op.term(), Term::Add | Term::Mul | Term::Erf);
            next.extend(node.result().filter(|_| is_inside));
        }
        behind = next;
    }
    false
}

/// True if a reader of the quotient could change its result by a whole step when only the last bit of the quotient
/// changes.
fn is_decisive(site: &GraphNode<'_>, y: ValueId) -> bool {
    site.graph
        .uses(y)
        .filter_map(|at| site.graph.node(at.node))
        .any(|node| match &node.op {
            Op::Unary(unary) => matches!(
                unary.function,
                Function::Floor | Function::Ceil | Function::Round | Function::Sign
            ),
            Op::Binary(binary) => matches!(binary.function, BinaryFunction::Modulo | BinaryFunction::Remainder),
            Op::Cast(cast) => !cast.to.is_float(),
            _ => node.op.term().kind() == Kind::Compares,
        })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (x, y) = (site.operand(0)?, site.result()?);
    let (shape, divisors) = site.floats(site.operand(1)?).ok_or(NoMatch)?;
    if is_of_function(site, y) || !divisors.iter().copied().all(is_power_of_two) && is_decisive(site, y) {
        return Err(NoMatch);
    }
    if !divisors.iter().all(|divisor| divisor.recip().is_normal()) {
        let text = "the reciprocal of a divisor is no normal number";
        return refused(ReasonCode::NotFinite, text);
    }
    let mut patch = Patch::default();
    let factors = divisors.iter().map(|&divisor| f64::from(divisor).recip()).collect();
    let factor = rounded(&mut patch, "reciprocal", shape.shape(), factors)?;
    let operands = [Some(Source::Old(x)), factor];
    patch.add.push(NewNode::new(Mul::float(), &operands, &[site.id]));
    site.completed(patch)
}
