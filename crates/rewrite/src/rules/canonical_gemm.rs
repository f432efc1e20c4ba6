//! **Pattern**: a gemm that is not a·bᵀ + bias with a constant b.
//! **Why**: later steps see one form: a row of the weights belongs to one output.
//! **Preconditions**: b (and the bias, where beta ≠ 1) are constants; a is not transposed.
//! **Exactness**: alpha and beta are multiplied into the constants in f32: one rounding each, none where they are 1.

use crate::matching::{Site, tensor};
use strait_core::op::Gemm;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Reason, Rule, Source};

/// See the module's documentation.
pub struct CanonicalGemm;

/// The transpose of a matrix with these extents.
pub(super) fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns)
        .flat_map(|c| (0..rows).map(move |r| values[r * columns + c]))
        .collect()
}

impl Rule for CanonicalGemm {
    fn name(&self) -> &'static str {
        "canonical-gemm"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["gemm"]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = Site::new(module, graph, at)?;
        let (Op::Gemm(gemm), Some(a), Some(b), Some(y)) = (&site.node.op, site.input(0), site.input(1), site.output())
        else {
            return Ok(Outcome::NoMatch);
        };
        if gemm.is_canonical() {
            return Ok(Outcome::NoMatch);
        }
        if gemm.transpose_a {
            return Ok(Outcome::Refused(Reason::new(
                "gemm-transpose-a",
                "its first operand is transposed",
            )));
        }
        let Some((weight, values)) = site.floats(b) else {
            return Ok(Outcome::Refused(Reason::new(
                "gemm-weight",
                "its second operand is not a constant",
            )));
        };
        let (rows, columns) = (weight.shape()[0], weight.shape()[1]);
        let mut values = values.into_owned();
        if gemm.alpha != 1.0 {
            values.iter_mut().for_each(|w| *w *= gemm.alpha);
        }
        let shape = if gemm.transpose_b {
            [rows, columns]
        } else {
            values = transposed(&values, rows as usize, columns as usize);
            [columns, rows]
        };
        let mut patch = Patch {
            data: vec![("weight".into(), tensor(&shape, &values)?)],
            ..Patch::default()
        };
        let mut operands = vec![Some(Source::Old(a)), Some(Source::Data(0))];
        if let Some(bias) = site.input(2) {
            operands.push(Some(if gemm.beta == 1.0 {
                Source::Old(bias)
            } else {
                let Some((bias, values)) = site.floats(bias) else {
                    return Ok(Outcome::Refused(Reason::new(
                        "gemm-bias",
                        "its scaled bias is not a constant",
                    )));
                };
                let scaled: Vec<f32> = values.iter().map(|v| v * gemm.beta).collect();
                patch.data.push(("bias".into(), tensor(bias.shape(), &scaled)?));
                Source::Data(1)
            }));
        }
        patch.add.push(NewNode::new(Gemm::canonical(), &operands, &[at]));
        patch.replace.push((y, Source::New(0, 0)));
        patch.remove.push(at);
        Ok(Outcome::Apply(patch))
    }
}
