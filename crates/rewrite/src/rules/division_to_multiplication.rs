//! **Pattern**: x / c with a constant c, of which each element is a power of two, or where x is the product of two activations.
//! **Why**: no target divides codes, and all multiply them; exporters divide attention scores by a root, and a mean of two heads
//! by two.
//! **Preconditions**: the reciprocal of each element is a normal number. What reads the quotient is no `erf`, with which it
//! is part of a function that is found as a whole.
//! **Exactness**: exact where c is a power of two; else exact in real numbers, the reciprocal is rounded once more, and a result
//! is at most one unit in the last place from the quotient.

use crate::matching::GraphNode;
use crate::rounding::rounded;
use strait_core::op::Mul;
use strait_core::{
    GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term,
};

/// See the module's documentation.
pub struct DivisionToMultiplication;

/// True for 2^k and −2^k, whose reciprocals are exact as far as they are normal.
fn is_power_of_two(x: f32) -> bool {
    const FRACTION: u32 = (1 << 23) - 1;
    x.is_normal() && x.to_bits() & FRACTION == 0
}

impl Rule for DivisionToMultiplication {
    fn name(&self) -> &'static str {
        "division-to-multiplication"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Div]
    }

    fn depth(&self) -> usize {
        2
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(divisor), Some(y)) = (site.input(0), site.input(1), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some((shape, divisors)) = site.floats(divisor) else {
            return Ok(Outcome::NoMatch);
        };
        let of_scores = site.producer(x, Term::MatMul).is_some();
        let reads_erf = |id: NodeId| site.graph.node(id).is_some_and(|node| node.op.term() == Term::Erf);
        if !(of_scores || divisors.iter().copied().all(is_power_of_two))
            || site.graph.uses(y).any(|at| reads_erf(at.node))
        {
            return Ok(Outcome::NoMatch);
        }
        let factors: Vec<f32> = divisors.iter().map(|&divisor| divisor.recip()).collect();
        if !factors.iter().all(|factor| factor.is_normal()) {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::NotFinite,
                "the reciprocal of a divisor is no normal number",
            )));
        }
        let mut patch = Patch::default();
        let factors = divisors.iter().map(|&divisor| f64::from(divisor).recip()).collect();
        let factor = rounded(&mut patch, "reciprocal", shape.shape(), factors)?;
        patch
            .add
            .push(NewNode::new(Mul::float(), &[Some(Source::Old(x)), factor], &[at]));
        patch.replace.push((y, Source::New(0, 0)));
        patch.remove.push(at);
        Ok(Outcome::Apply(patch))
    }
}
