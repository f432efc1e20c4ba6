//! **Pattern**: x · sigmoid(x), in either order.
//! **Why**: as one function of one variable it is one table lookup with one rounding instead of two.
//! **Exactness**: exact in real numbers; in f32 the product is rounded once either way.

use crate::matching::{GraphNode, unary};
use strait_core::op::Function;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// See the module's documentation.
pub struct Silu;

impl Rule for Silu {
    fn name(&self) -> &'static str {
        "silu"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Mul]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        for (x, gate) in site.both_orders() {
            let Some(sigmoid) = site.producer(gate, Term::Sigmoid) else {
                continue;
            };
            if sigmoid.input(0) != Some(x) {
                continue;
            }
            return Ok(Outcome::Apply(Patch {
                add: vec![NewNode::new(
                    unary(Function::Silu),
                    &[Some(Source::Old(x))],
                    &[at, sigmoid.id],
                )],
                replace: vec![(y, Source::New(0, 0))],
                remove: vec![at],
                ..Patch::default()
            }));
        }
        Ok(Outcome::NoMatch)
    }
}
