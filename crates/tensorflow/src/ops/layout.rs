//! The order of axes: most TensorFlow graphs have channels last, and the ops of the IR have channels first.

use strait_core::Op;
use strait_core::ReasonCode;
use strait_core::op::Transpose;
use strait_import::{Arg, Refusal};

use crate::operator_reader::OperatorReader;

/// The position of the channel axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The channel axis comes after the axes of the image.
    Last,
    /// The channel axis is between the batch and the axes of the image.
    First,
}

/// The order of axes that the attribute `data_format` gives. If the attribute is absent, channels are last.
pub(super) fn layout(reader: &mut OperatorReader<'_, '_>) -> Result<Layout, Refusal> {
    match reader.text("data_format", "NHWC")? {
        "NHWC" | "NDHWC" => Ok(Layout::Last),
        "NCHW" | "NCDHW" => Ok(Layout::First),
        other => Err(Refusal::Unsupported(format!("`data_format` is {other}"))),
    }
}

impl Layout {
    /// The position of the channel axis.
    pub(super) fn channels(self, rank: usize) -> usize {
        match self {
            Layout::Last => rank.saturating_sub(1),
            Layout::First => 1,
        }
    }

    /// The position of an image axis. `position` is its index among the image axes.
    pub(super) fn spatial(self, position: usize) -> usize {
        match self {
            Layout::Last => position + 1,
            Layout::First => position + 2,
        }
    }
}

/// A value with channels first. If channels are last, a transpose is added.
pub(super) fn to_first(reader: &mut OperatorReader<'_, '_>, layout: Layout, x: Arg) -> Result<Arg, Refusal> {
    let rank = reader.arg_type(&x)?.shape.len();
    if layout == Layout::First {
        return Ok(x);
    }
    if rank < 3 {
        return Err(rank_of(rank));
    }
    let permutation = [0, rank - 1].into_iter().chain(1..rank - 1).map(|axis| axis as u32);
    reader.transposed(&x, &permutation.collect::<Vec<u32>>())
}

/// Adds the node's last op, which takes channels first. If the node has channels last, its result is transposed back.
pub(super) fn finish(
    reader: &mut OperatorReader<'_, '_>,
    layout: Layout,
    op: impl Into<Op>,
    args: &[Arg],
) -> Result<(), Refusal> {
    if layout == Layout::First {
        return reader.finish(op, args);
    }
    let result = reader.push(op, args)?;
    let rank = reader.arg_type(&result)?.shape.len();
    if rank < 3 {
        return Err(rank_of(rank));
    }
    let permutation = std::iter::once(0).chain(2..rank).chain([1]).map(|axis| axis as u32);
    let permutation = permutation.collect();
    reader.finish(Transpose { permutation }, &[result])
}

fn rank_of(rank: usize) -> Refusal {
    Refusal::invalid(
        ReasonCode::ConvRank,
        format!("an operand has rank {rank}, and no image"),
    )
}
