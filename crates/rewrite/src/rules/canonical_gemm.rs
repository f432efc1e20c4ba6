//! **Pattern**: a gemm that is not a·bᵀ + bias with a constant b, or whose constant bias is not `[outputs]`.
//! **Why**: later steps see one form: a row of the weights and an element of the bias belong to one output.
//! **Preconditions**: b (and the bias, where beta ≠ 1) are constants; a is not transposed.
//! **Exactness**: alpha and beta are multiplied into the constants in f64: one rounding each, none where they are 1.

use crate::matching::GraphNode;
use crate::rounding::rounded;
use strait_core::op::Gemm;
use strait_core::{
    GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term, ValueId,
};

/// See the module's documentation.
pub struct CanonicalGemm;

/// The transpose of a matrix with these extents.
pub(super) fn transposed<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|c| (0..rows).map(move |r| values[r * columns + c]))
        .collect()
}

/// A constant bias times beta: `[outputs]` where it is the same for all rows, else of its own shape. `None` for a bias
/// that is not constant.
fn scaled(site: &GraphNode<'_>, bias: ValueId, beta: f32, outputs: usize) -> Option<(Vec<u64>, Vec<f64>)> {
    let (tensor, numbers) = site.exact(bias)?;
    let scaled: Vec<f64> = numbers.iter().map(|number| number * f64::from(beta)).collect();
    let row = vec![outputs as u64];
    Some(match scaled[..] {
        [one] => (row, vec![one; outputs]),
        _ if site.per_last_axis(bias, outputs).is_some() => (row, scaled),
        _ => (tensor.shape().to_vec(), scaled),
    })
}

impl Rule for CanonicalGemm {
    fn name(&self) -> &'static str {
        "canonical-gemm"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Gemm]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Op::Gemm(gemm), Some(a), Some(b), Some(y)) = (&site.node.op, site.input(0), site.input(1), site.output())
        else {
            return Ok(Outcome::NoMatch);
        };
        let Some(&[rows, columns]) = site.dims(b).as_deref() else {
            return Ok(Outcome::NoMatch);
        };
        let outputs = if gemm.transpose_b { rows } else { columns };
        let bias = site
            .input(2)
            .map(|bias| (bias, scaled(&site, bias, gemm.beta, outputs as usize)));
        let bias_is_canonical = match &bias {
            Some((old, Some((shape, _)))) => site.dims(*old).as_ref() == Some(shape),
            _ => true,
        };
        if gemm.is_canonical() && bias_is_canonical {
            return Ok(Outcome::NoMatch);
        }
        if gemm.transpose_a {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::GemmTransposeA,
                "its first operand is transposed",
            )));
        }
        let Some((_, numbers)) = site.exact(b) else {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::GemmWeight,
                "its second operand is not a constant",
            )));
        };
        let mut patch = Patch::default();
        let mut operands = vec![Some(Source::Old(a)), Some(Source::Old(b))];
        let turned = (gemm.alpha == 1.0 && !gemm.transpose_b)
            .then(|| site.turned(b))
            .flatten();
        if let Some(turned) = turned {
            // Its grid is turned with it, and the transpose is folded.
            patch.add.push(turned);
            operands[1] = Some(Source::New(0, 0));
        } else if !(gemm.transpose_b && gemm.alpha == 1.0) {
            let mut numbers: Vec<f64> = numbers.iter().map(|w| w * f64::from(gemm.alpha)).collect();
            let shape = if gemm.transpose_b {
                [rows, columns]
            } else {
                numbers = transposed(&numbers, rows as usize, columns as usize);
                [columns, rows]
            };
            operands[1] = rounded(&mut patch, "weight", &shape, numbers)?;
        }
        match bias {
            None => {}
            Some((old, _)) if bias_is_canonical && gemm.beta == 1.0 => operands.push(Some(Source::Old(old))),
            Some((_, Some((shape, numbers)))) => operands.push(rounded(&mut patch, "bias", &shape, numbers)?),
            Some((_, None)) => {
                return Ok(Outcome::Refused(Reason::new(
                    ReasonCode::GemmBias,
                    "its scaled bias is not a constant",
                )));
            }
        }
        if operands.contains(&None) {
            let text = "a weight or bias times alpha or beta is not finite";
            return Ok(Outcome::Refused(Reason::new(ReasonCode::NotFinite, text)));
        }
        patch.replace.push((y, Source::New(patch.add.len() as u16, 0)));
        patch.add.push(NewNode::new(Gemm::canonical(), &operands, &[at]));
        patch.remove.push(at);
        Ok(Outcome::Apply(patch))
    }
}
