//! **Pattern**: gemm of a batch normalization of rank 2.
//! **Why**: with g = scale / √(variance + ε) and s = bias − mean·g, w'\[o, i\] = w\[o, i\]·g\[i\] and
//! b'\[o\] = b\[o\] + Σ w\[o, i\]·s\[i\] make it cost nothing; what normalizes in front of a classifier has no product to fold into.
//! **Preconditions**: the gemm alone reads the normalization, all parameters are constants, and the folded ones are finite.
//! **Exactness**: exact in real numbers; computed in f64, each folded parameter is rounded to f32 once.

use super::batch_normalization_into_producer::affine;
use crate::matching::{GraphNode, tensor};
use strait_core::{
    GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term,
};

/// See the module's documentation.
pub struct BatchNormalizationIntoReader;

impl Rule for BatchNormalizationIntoReader {
    fn name(&self) -> &'static str {
        "batch-normalization-into-reader"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Gemm]
    }

    fn depth(&self) -> usize {
        2
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(norm) = site.producer(x, Term::BatchNormalization) else {
            return Ok(Outcome::NoMatch);
        };
        let two = site.dims(x).is_some_and(|dims| dims.len() == 2);
        if !two || !matches!(&site.node.op, Op::Gemm(gemm) if gemm.is_canonical()) {
            return Ok(Outcome::NoMatch);
        }
        let refused = |code, text: &str| Ok(Outcome::Refused(Reason::new(code, text)));
        if !site.used_once(x) {
            return refused(ReasonCode::SeveralUses, "the normalization is used elsewhere too");
        }
        let weight = site.input(1).and_then(|weight| site.floats(weight));
        let (Some(affine), Some((weight, values))) = (affine(&norm), weight) else {
            return refused(ReasonCode::NotConstant, "its parameters are not constants");
        };
        let &[outputs, inputs] = weight.shape() else {
            return Ok(Outcome::NoMatch);
        };
        if inputs == 0 || inputs as usize != affine.len() {
            return Ok(Outcome::NoMatch);
        }
        let bias = match site.input(2) {
            None => vec![0.0; outputs as usize],
            Some(bias) => match site.per_last_axis(bias, outputs as usize) {
                Some(bias) => bias.into_owned(),
                None => return refused(ReasonCode::NotConstant, "the bias is no constant per channel"),
            },
        };
        let rows = values.chunks_exact(affine.len());
        let folded: Vec<f32> = rows
            .clone()
            .flat_map(|row| row.iter().zip(&affine))
            .map(|(&w, (factor, _))| (f64::from(w) * factor) as f32)
            .collect();
        let summed = |row: &[f32]| {
            row.iter()
                .zip(&affine)
                .map(|(&w, (_, summand))| f64::from(w) * summand)
                .sum::<f64>()
        };
        let bias: Vec<f32> = bias
            .iter()
            .zip(rows)
            .map(|(&b, row)| (f64::from(b) + summed(row)) as f32)
            .collect();
        if !folded.iter().chain(&bias).all(|v| v.is_finite()) {
            return refused(ReasonCode::NotFinite, "a folded weight or bias is not finite");
        }
        let data = vec![
            ("weight".to_string(), tensor(weight.shape(), &folded)?),
            ("bias".to_string(), tensor(&[outputs], &bias)?),
        ];
        let operands = [
            norm.input(0).map(Source::Old),
            Some(Source::Data(0)),
            Some(Source::Data(1)),
        ];
        Ok(Outcome::Apply(Patch {
            data,
            add: vec![NewNode::new(site.node.op.clone(), &operands, &[at, norm.id])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at, norm.id],
        }))
    }
}
