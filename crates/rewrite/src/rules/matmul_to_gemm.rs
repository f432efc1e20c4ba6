//! **Pattern**: a matmul whose right operand is a constant matrix.
//! **Why**: such a matmul is a fully connected layer. As a gemm, its weights can be quantized with a scale for each output.
//! **Preconditions**: the constant has rank 2, and the other operand has rank 1 or more.
//! **Exactness**: exact, because the same products are added in the same order.

use super::canonical_gemm::transposed;
use crate::matching::{GraphNode, push, tensor};
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::Gemm;
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that turns a matmul with a constant matrix into a gemm.
pub const RULE: NodeRule = NodeRule {
    name: "matmul-to-gemm",
    anchors: || vec![Term::MatMul],
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let (weight, values) = site.floats(b).ok_or(NoMatch)?;
    let &[rows, columns] = weight.shape() else {
        return Err(NoMatch);
    };
    let mut patch = Patch::default();
    let weight = match site.turned(b) {
        // The grid is transposed together with the matrix. The transpose node itself is folded later.
        Some(turned) => push(&mut patch, turned),
        None => {
            let values = transposed(&values, rows as usize, columns as usize);
            patch.data.push(("weight".into(), tensor(&[columns, rows], &values)?));
            Source::Data(0)
        }
    };
    let operands = [Some(Source::Old(a)), Some(weight)];
    patch.add.push(NewNode::new(Gemm::canonical(), &operands, &[site.id]));
    site.completed(patch)
}
