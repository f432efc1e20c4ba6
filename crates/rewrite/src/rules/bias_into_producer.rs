//! **Pattern**: add of a constant per output channel to the result of a conv or gemm.
//! **Why**: the sum is free inside the accumulator, and one rounding goes away.
//! **Preconditions**: the result is used by the add alone; the constant is one number, or varies along the channel axis
//! only (axis 1 of a conv, the last of a gemm); a present bias is a constant too.
//! **Exactness**: a new bias is exact; joining two rounds their sum once in f32.

use crate::matching::{GraphNode, tensor};
use strait_core::{
    GraphId, Module, NewNode, Node, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term,
};

/// See the module's documentation.
pub struct BiasIntoProducer;

/// The constant as one number per channel, if it varies along `axis` (of `rank`) alone.
fn per_channel(shape: &[u64], values: &[f32], rank: usize, axis: usize, channels: usize) -> Option<Vec<f32>> {
    if values.len() == 1 && shape.len() <= rank {
        return Some(vec![values[0]; channels]);
    }
    let offset = rank.checked_sub(shape.len())?;
    let varies = |i: usize, d: u64| d == 1 || i + offset == axis;
    let fits = shape.iter().enumerate().all(|(i, &d)| varies(i, d));
    (fits && values.len() == channels).then(|| values.to_vec())
}

impl Rule for BiasIntoProducer {
    fn name(&self) -> &'static str {
        "bias-into-producer"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Add]
    }

    fn depth(&self) -> usize {
        2
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        for (x, constant) in site.both_orders() {
            let producer = site.producer(x, Term::Conv).or_else(|| site.producer(x, Term::Gemm));
            // A gemm with a beta would scale what is added here.
            let scales = |node: &Node| matches!(&node.op, Op::Gemm(gemm) if gemm.beta != 1.0);
            let Some(producer) = producer.filter(|producer| !scales(producer.node)) else {
                continue;
            };
            let Some((added, values)) = site.floats(constant) else {
                continue;
            };
            if !site.used_once(x) {
                return Ok(Outcome::Refused(Reason::new(
                    ReasonCode::SeveralUses,
                    "the sum without the constant is used too",
                )));
            }
            let (Some(dims), Some(same)) = (site.dims(x), site.dims(y)) else {
                continue;
            };
            let axis = if producer.node.op.term() == Term::Conv {
                1
            } else {
                dims.len() - 1
            };
            let channels = dims[axis] as usize;
            let bias = per_channel(added.shape(), &values, dims.len(), axis, channels);
            let Some(mut bias) = bias.filter(|_| dims == same) else {
                return Ok(Outcome::Refused(Reason::new(
                    ReasonCode::NotPerChannel,
                    format!(
                        "the constant of shape {:?} varies along other axes than {axis}",
                        added.shape()
                    ),
                )));
            };
            if let Some(present) = producer.input(2) {
                let Some(present) = site.per_last_axis(present, channels) else {
                    return Ok(Outcome::Refused(Reason::new(
                        ReasonCode::Bias,
                        "there is a bias that is no constant per channel",
                    )));
                };
                bias.iter_mut().zip(present.iter()).for_each(|(b, p)| *b += p);
            }
            let mut operands: Vec<Option<Source>> = producer
                .node
                .inputs
                .iter()
                .take(2)
                .map(|i| i.map(Source::Old))
                .collect();
            operands.push(Some(Source::Data(0)));
            return Ok(Outcome::Apply(Patch {
                data: vec![("bias".into(), tensor(&[channels as u64], &bias)?)],
                add: vec![NewNode::new(producer.node.op.clone(), &operands, &[producer.id, at])],
                replace: vec![(y, Source::New(0, 0))],
                remove: vec![at, producer.id],
            }));
        }
        Ok(Outcome::NoMatch)
    }
}
