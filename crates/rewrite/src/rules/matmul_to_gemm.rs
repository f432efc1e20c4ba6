//! **Pattern**: a matmul whose right operand is a constant matrix.
//! **Why**: such a matmul is a fully connected layer. As a gemm, its weights can be quantized with a scale for each output.
//! **Preconditions**: the constant has rank 2, and the other operand has rank 1 or more.
//! **Exactness**: exact, because the same products are added in the same order.

use super::canonical_gemm::transposed;
use crate::matching::{GraphNode, tensor};
use strait_core::op::Gemm;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that turns a matmul with a constant matrix into a gemm.
pub struct MatMulToGemm;

impl Rule for MatMulToGemm {
    fn name(&self) -> &'static str {
        "matmul-to-gemm"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::MatMul]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(a), Some(b), Some(y)) = (site.input(0), site.input(1), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some((weight, values)) = site.floats(b) else {
            return Ok(Outcome::NoMatch);
        };
        let &[rows, columns] = weight.shape() else {
            return Ok(Outcome::NoMatch);
        };
        let mut patch = Patch::default();
        let weight = match site.turned(b) {
            // The grid is transposed together with the matrix. The transpose node itself is folded later.
            Some(turned) => {
                patch.add.push(turned);
                Source::New(0, 0)
            }
            None => {
                let values = transposed(&values, rows as usize, columns as usize);
                patch.data.push(("weight".into(), tensor(&[columns, rows], &values)?));
                Source::Data(0)
            }
        };
        let gemm = NewNode::new(Gemm::canonical(), &[Some(Source::Old(a)), Some(weight)], &[at]);
        patch.replace.push((y, Source::New(patch.add.len() as u16, 0)));
        patch.add.push(gemm);
        patch.remove.push(at);
        Ok(Outcome::Apply(patch))
    }
}
