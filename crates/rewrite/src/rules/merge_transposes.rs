//! **Pattern**: a transpose of the result of another transpose.
//! **Why**: exporters write pairs of transposes that cancel each other.
//! **Exactness**: exact. If `first` and `second` are the two permutations, axis i of the result is axis `first[second[i]]`
//! of the operand of the first transpose.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Pattern, Slot, op};
use crate::permute::behind;
use crate::rule::NodeRule;
use strait_core::op::Transpose;
use strait_core::{NewNode, Op, Patch, Source, Term};

/// The rule that merges two transposes in a row into one.
pub const RULE: NodeRule = NodeRule {
    name: "merge-transposes",
    anchors: || PAIR.anchors(),
    depth: || PAIR.depth(),
    is_fusion: false,
    look,
};

const SOURCE: Slot = Slot(0);
const FIRST: Slot = Slot(1);
const PAIR: Pattern = op(
    &[Term::Transpose],
    &[op(&[Term::Transpose], &[Pattern::Any(SOURCE)]).shared().keep(FIRST)],
);

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = PAIR.at(site)?;
    let first = found.node(FIRST).ok_or(NoMatch)?;
    let source = found.value(SOURCE).map(Source::Old);
    let (Op::Transpose(inner), Op::Transpose(outer)) = (&first.node.op, &site.node.op) else {
        return Err(NoMatch);
    };
    let permutation = behind(&inner.permutation, &outer.permutation);
    site.replaced_by(vec![NewNode::new(Transpose { permutation }, &[source], &found.nodes)])
}
