//! **Pattern**: batch normalization of an image that could not be folded into its producer.
//! **Why**: as a depthwise convolution with one weight per channel it is an op that every target has.
//! **Preconditions**: x has one to three spatial axes; the parameters are constants, and factor and summand finite; x is
//! not the result of a conv that it alone uses (then it is folded instead).
//! **Exactness**: exact in real numbers; computed in f64, weight and bias are rounded to f32 once.

use super::batch_normalization_into_producer::affine;
use crate::matching::{GraphNode, tensor};
use strait_core::op::Conv;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// See the module's documentation.
pub struct BatchNormalizationToConv;

impl Rule for BatchNormalizationToConv {
    fn name(&self) -> &'static str {
        "batch-normalization-to-conv"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::BatchNormalization]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let spatial = site.dims(x).map_or(0, |d| d.len().saturating_sub(2));
        let folds = site.producer(x, Term::Conv).is_some() && site.used_once(x);
        let finite = |affine: &[(f64, f64)]| {
            affine
                .iter()
                .all(|a| (a.0 as f32).is_finite() && (a.1 as f32).is_finite())
        };
        let Some(affine) = affine(&site).filter(|a| (1..=3).contains(&spatial) && !folds && finite(a)) else {
            return Ok(Outcome::NoMatch);
        };
        let channels = affine.len() as u64;
        let Ok(groups) = u32::try_from(channels) else {
            return Ok(Outcome::NoMatch);
        };
        let mut shape = vec![channels];
        shape.resize(spatial + 2, 1);
        let weight: Vec<f32> = affine.iter().map(|a| a.0 as f32).collect();
        let bias: Vec<f32> = affine.iter().map(|a| a.1 as f32).collect();
        let conv = Conv {
            groups,
            ..Conv::plain(spatial)
        };
        let operands = [Some(Source::Old(x)), Some(Source::Data(0)), Some(Source::Data(1))];
        Ok(Outcome::Apply(Patch {
            data: vec![
                ("weight".into(), tensor(&shape, &weight)?),
                ("bias".into(), tensor(&[channels], &bias)?),
            ],
            add: vec![NewNode::new(conv, &operands, &[at])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
        }))
    }
}
