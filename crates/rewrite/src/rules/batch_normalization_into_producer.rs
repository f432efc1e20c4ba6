//! **Pattern**: batch normalization of the result of a conv or a transposed conv, or of rank 2 of that of a gemm, which may be
//! reshaped in between; and a product of such a result, or of that of a gemm, with one constant for each of its channels or for
//! all, as TensorFlow spells a normalization out.
//! **Why**: with g = scale / √(variance + ε), w'\[o\] = w\[o\]·g\[o\] and b'\[o\] = (b\[o\] − mean\[o\])·g\[o\] + bias\[o\]
//! it costs nothing at inference. Of a product with g it is the same without mean and bias.
//! **Preconditions**: the result is used by the normalization alone, all parameters are constants, and the folded ones
//! are finite; a reshape keeps the last axis.
//! **Exactness**: exact in real numbers; computed in f64, each folded parameter is rounded to f32 once.

use super::merge_reshapes::RESHAPES;
use crate::matching::{GraphNode, tensor};
use strait_core::{
    GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term, ValueId,
};

/// See the module's documentation.
pub struct BatchNormalizationIntoProducer;

/// Factor and summand per channel of a batch normalization: x·factor + summand.
pub(super) fn affine(site: &GraphNode<'_>) -> Option<Vec<(f64, f64)>> {
    let Op::BatchNormalization(op) = &site.node.op else {
        return None;
    };
    let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|i| site.input(i).and_then(|v| site.floats(v)));
    let (scale, bias, mean, variance) = (scale?.1, bias?.1, mean?.1, variance?.1);
    let channels = scale.len();
    if [bias.len(), mean.len(), variance.len()] != [channels; 3] {
        return None;
    }
    let channel = |c: usize| {
        let factor = f64::from(scale[c]) / (f64::from(variance[c]) + f64::from(op.epsilon)).sqrt();
        (factor, f64::from(bias[c]) - f64::from(mean[c]) * factor)
    };
    Some((0..channels).map(channel).collect())
}

/// Factor and summand of each channel; nothing where they are no constants.
type Affine = Option<Vec<(f64, f64)>>;

/// The operand that is normalized or multiplied, and by how much.
fn scaled(site: &GraphNode<'_>) -> Option<(ValueId, Affine)> {
    match site.node.op {
        Op::Mul(_) => {
            let mut orders = site.both_orders().into_iter();
            orders.find_map(|(x, constant)| Some((x, Some(factors(site, x, constant)?))))
        }
        _ => Some((site.input(0)?, affine(site))),
    }
}

/// The factors of a product, if there is one for each channel of what a convolution or a gemm makes, or one for all.
fn factors(site: &GraphNode<'_>, x: ValueId, constant: ValueId) -> Option<Vec<(f64, f64)>> {
    let (tensor, values) = site.floats(constant)?;
    let dims = site.dims(x)?;
    let axis = match site.graph.producer(x)?.1.op.term() {
        Term::Conv | Term::ConvTranspose => 1,
        Term::Gemm => dims.len().checked_sub(1)?,
        _ => return None,
    };
    let missing = dims.len().checked_sub(tensor.shape().len())?;
    let channels = *dims.get(axis)?;
    let along = |(place, &extent): (usize, &u64)| extent == 1 || place + missing == axis;
    let count = usize::try_from(channels).ok()?;
    let fits = tensor.shape().iter().enumerate().all(along) && [1, count].contains(&values.len());
    let factors = values.iter().map(|&value| (f64::from(value), 0.0)).cycle();
    (fits && site.keeps_type(x)).then(|| factors.take(count).collect())
}

/// Output channels of the weights of a product, by the position of an element.
struct Channels {
    /// Elements from one channel to the next.
    step: usize,
    /// Channels in a row: all of them, or those of one group, which then repeat for each input of the group.
    row: usize,
    groups: usize,
    /// Elements of all inputs of a group.
    group: usize,
}

impl Channels {
    fn new(op: &Op, shape: &[u64]) -> Channels {
        let product = |extents: &[u64]| extents.iter().product::<u64>() as usize;
        match (op, shape) {
            (Op::ConvTranspose(op), &[inputs, outputs, ref kernel @ ..]) => {
                let groups = (op.groups as usize).max(1);
                let step = product(kernel);
                let row = outputs as usize;
                Channels {
                    step,
                    row,
                    groups,
                    group: (inputs as usize / groups) * row * step,
                }
            }
            _ => {
                let (row, step) = (
                    shape.first().map_or(0, |&o| o as usize),
                    product(shape.get(1..).unwrap_or_default()),
                );
                Channels {
                    step,
                    row,
                    groups: 1,
                    group: row * step,
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.row * self.groups
    }

    /// The channel of an element; there is none in an empty tensor.
    fn of(&self, element: usize) -> usize {
        let group = element / self.group.max(1);
        group * self.row + element / self.step.max(1) % self.row.max(1)
    }
}

/// Extent of the last axis.
fn last(site: &GraphNode<'_>, value: ValueId) -> Option<u64> {
    site.dims(value)?.last().copied()
}

impl Rule for BatchNormalizationIntoProducer {
    fn name(&self) -> &'static str {
        "batch-normalization-into-producer"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::BatchNormalization, Term::Mul]
    }

    fn depth(&self) -> usize {
        3
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some((x, affine)), Some(y)) = (scaled(&site), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let is_product = matches!(site.node.op, Op::Mul(_));
        let two = site.dims(x).is_some_and(|d| d.len() == 2);
        let reshape = RESHAPES.iter().find_map(|&term| site.producer(x, term)).filter(|_| two);
        let product = match &reshape {
            Some(reshape) => reshape.input(0).filter(|&from| last(&site, from) == last(&site, x)),
            None => Some(x),
        };
        let Some(product) = product else {
            return Ok(Outcome::NoMatch);
        };
        let conv = [Term::Conv, Term::ConvTranspose]
            .iter()
            .find_map(|&term| site.producer(product, term))
            .filter(|_| reshape.is_none());
        let producer = conv.or_else(|| {
            site.producer(product, Term::Gemm)
                .filter(|g| (two || is_product) && matches!(&g.node.op, Op::Gemm(g) if g.is_canonical()))
        });
        let Some(producer) = producer else {
            return Ok(Outcome::NoMatch);
        };
        if !site.used_once(x) || !site.used_once(product) {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::SeveralUses,
                "its operand is used elsewhere too",
            )));
        }
        let Some(affine) = affine else {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::NotConstant,
                "its parameters are not constants",
            )));
        };
        let weight = producer.input(1).and_then(|w| site.floats(w));
        let channels = |shape: &[u64]| Channels::new(&producer.node.op, shape);
        let Some((weight, values)) = weight.filter(|(w, _)| channels(w.shape()).count() == affine.len()) else {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::NotConstant,
                "the weights of its producer are not constants",
            )));
        };
        let bias = match producer.input(2) {
            None => vec![0.0; affine.len()],
            Some(bias) => match site.per_last_axis(bias, affine.len()) {
                Some(bias) => bias.into_owned(),
                None => {
                    return Ok(Outcome::Refused(Reason::new(
                        ReasonCode::NotConstant,
                        "the bias is no constant per channel",
                    )));
                }
            },
        };
        let channels = channels(weight.shape());
        let folded: Vec<f32> = values
            .iter()
            .enumerate()
            .map(|(i, &w)| (f64::from(w) * affine[channels.of(i)].0) as f32)
            .collect();
        let bias: Vec<f32> = bias
            .iter()
            .zip(&affine)
            .map(|(&b, (f, s))| (f64::from(b) * f + s) as f32)
            .collect();
        if !folded.iter().chain(&bias).all(|v| v.is_finite()) {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::NotFinite,
                "a folded weight or bias is not finite",
            )));
        }
        let mut data = vec![("weight".to_string(), tensor(weight.shape(), &folded)?)];
        let mut operands = vec![producer.input(0).map(Source::Old), Some(Source::Data(0))];
        if !is_product || producer.input(2).is_some() {
            data.push(("bias".to_string(), tensor(&[affine.len() as u64], &bias)?));
            operands.push(Some(Source::Data(1)));
        }
        let mut add = vec![NewNode::new(producer.node.op.clone(), &operands, &[producer.id, at])];
        let mut remove = vec![at];
        if let Some(reshape) = &reshape {
            add.push(NewNode::new(
                reshape.node.op.clone(),
                &[Some(Source::New(0, 0))],
                &[reshape.id],
            ));
            remove.push(reshape.id);
        }
        remove.push(producer.id);
        Ok(Outcome::Apply(Patch {
            data,
            add,
            replace: vec![(y, Source::New(u16::from(reshape.is_some()), 0))],
            remove,
        }))
    }
}
