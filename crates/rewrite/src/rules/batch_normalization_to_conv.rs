//! **Pattern**: a batch normalization of an image, if this normalization could not be folded into the layer before it. Also
//! the equivalent multiplication and addition: an image is multiplied by a constant for each channel, and then another such
//! constant is added.
//! **Why**: a depthwise convolution with one weight for each channel computes the same. Every target has depthwise
//! convolution, and it rounds only once.
//! **Preconditions**: the image has one to three spatial axes. The parameters are constants, and the factor and the summand
//! of each channel are finite. The image is not the result of a conv that only the normalization reads, because the
//! normalization is then folded into this conv. In the form with a multiplication and an addition, only the addition reads
//! the result of the multiplication.
//! **Exactness**: exact in real numbers. The weights and the bias are computed in f64 and rounded to f32 once.

use super::batch_normalization_into_producer::affine;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::Affine;
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::Conv;
use strait_core::{NewNode, NodeId, Patch, Source, Term, ValueId};

/// The rule that replaces a batch normalization by a depthwise convolution.
pub const RULE: NodeRule = NodeRule {
    name: "batch-normalization-to-conv",
    anchors: || vec![Term::BatchNormalization, Term::Add],
    depth: || 2,
    is_fusion: false,
    look,
};

/// The operand of a normalization, and its factors and summands. If the normalization is written as a multiplication
/// and an addition, `product` is the multiplication.
struct NormalizedValue {
    x: ValueId,
    affine: Affine,
    product: Option<NodeId>,
}

/// A batch normalization that cannot be folded into the op before it.
fn normalization(site: &GraphNode<'_>) -> Option<NormalizedValue> {
    let x = site.input(0)?;
    let folds = site.producer(x, Term::Conv).is_some() && site.used_once(x);
    Some(NormalizedValue {
        x,
        affine: affine(site).filter(|_| !folds)?,
        product: None,
    })
}

/// One number for each channel of a value of rank `rank`. The channels lie along axis 1.
fn per_channel(site: &GraphNode<'_>, value: ValueId, rank: usize, channels: usize) -> Option<Vec<f64>> {
    let (tensor, values) = site.exact(value)?;
    let own = tensor.shape();
    let first = rank.checked_sub(own.len())?;
    let along = |(axis, &extent): (usize, &u64)| extent == if first + axis == 1 { channels as u64 } else { 1 };
    let fits = first <= 1 && own.iter().enumerate().all(along);
    fits.then(|| values.into_owned())
}

/// A multiplication and an addition, x·factors + summands, with more than one channel.
fn sum(site: &GraphNode<'_>) -> Option<NormalizedValue> {
    let dims = site.dims(site.output()?)?;
    let channels = usize::try_from(*dims.get(1)?).ok().filter(|&channels| channels > 1)?;
    site.both_orders().into_iter().find_map(|(product, summands)| {
        let summands = per_channel(site, summands, dims.len(), channels)?;
        let of = site.producer(product, Term::Mul).filter(|_| site.used_once(product))?;
        of.both_orders().into_iter().find_map(|(x, factors)| {
            let factors = per_channel(site, factors, dims.len(), channels)?;
            (site.keeps_type(x) && site.constant(x).is_none()).then(|| NormalizedValue {
                x,
                affine: factors.into_iter().zip(summands.iter().copied()).collect(),
                product: Some(of.id),
            })
        })
    })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = match site.node.op.term() {
        Term::Add => sum(site),
        _ => normalization(site),
    };
    let NormalizedValue { x, affine, product } = found.ok_or(NoMatch)?;
    let spatial = site.dims(x).map_or(0, |d| d.len().saturating_sub(2));
    if !(1..=3).contains(&spatial) {
        return Err(NoMatch);
    }
    let channels = affine.len() as u64;
    let groups = u32::try_from(channels).map_err(|_| NoMatch)?;
    let mut shape = vec![channels];
    shape.resize(spatial + 2, 1);
    let mut patch = Patch::default();
    let (weight, bias) = affine.into_iter().unzip();
    let weight = rounded(&mut patch, "weight", &shape, weight)?;
    let bias = rounded(&mut patch, "bias", &[channels], bias)?;
    if weight.is_none() || bias.is_none() {
        return Err(NoMatch);
    }
    let conv = Conv {
        groups,
        ..Conv::plain(spatial)
    };
    let origins: Vec<NodeId> = std::iter::once(site.id).chain(product).collect();
    let conv = NewNode::new(conv, &[Some(Source::Old(x)), weight, bias], &origins);
    patch.add.push(conv);
    patch.remove.extend(product);
    site.completed(patch)
}
