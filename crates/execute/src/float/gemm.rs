//! Matrix product with a bias.

use crate::elementwise::Broadcast;
use crate::prelude::*;
use crate::step::Operand;
use strait_kernels::float::{Bias, CodedMatrix, Matrix, gemm};

/// Computes alpha·(a·b) + beta·bias.
struct Gemm {
    op: op::Gemm,
    /// Number of rows, of columns, and of summands per element.
    extents: [usize; 3],
    bias: BiasKind,
    /// The second operand, if it was packed.
    packed: Option<CodedMatrix>,
}

/// How the bias is added to the product.
enum BiasKind {
    /// The sums start from the bias. This needs a bias with one value per column, and alpha and beta must be 1.
    Start,
    /// The bias is added after the product, because alpha or beta is not 1, or the bias broadcasts in another way.
    After(Broadcast),
    Absent,
}

impl Executable for op::Gemm {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        prepare(self, site, None)
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.each(match self.transpose_a {
            true => types.operand(0).map_or(1, |a| extent(a, 0)),
            false => types.extent_from_end(0, 1),
        })
    }
}

/// Prepares the step. If the second operand was packed, the step does not read it.
pub(crate) fn prepare(
    op: &op::Gemm,
    site: &NodeSlots<'_>,
    packed: Option<CodedMatrix>,
) -> Result<Box<dyn Step>, StepError> {
    let (a, result) = (site.input(0)?, site.output()?);
    let columns = result.dims.last().copied().unwrap_or(1);
    let rows = result.dims.iter().rev().skip(1).product();
    let depth = if op.transpose_a { a.dims.first() } else { a.dims.last() };
    let bias = match site.optional(2) {
        None => BiasKind::Absent,
        Some(bias)
            if (op.alpha, op.beta) == (1.0, 1.0) && bias.count() == columns && bias.dims.last() == Some(&columns) =>
        {
            BiasKind::Start
        }
        Some(bias) => BiasKind::After(Broadcast::new(&result.dims, &bias.dims)?),
    };
    Ok(Box::new(Gemm {
        op: op.clone(),
        extents: [rows, columns, depth.copied().unwrap_or(1)],
        bias,
        packed,
    }))
}

impl Step for Gemm {
    fn reads(&self, operand: usize) -> bool {
        operand != 1 || self.packed.is_none()
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let [rows, columns, depth] = self.extents;
        let matrix = |data, transposed: bool, height: usize, width: usize| {
            if transposed {
                Matrix::transposed(data, height)
            } else {
                Matrix::row_major(data, width)
            }
        };
        let a = matrix(io.input(0)?, self.op.transpose_a, rows, depth);
        let bias = io.optional::<f32>(2)?;
        let start = match (&self.bias, bias) {
            (BiasKind::Start, Some(bias)) => Bias::Columns(bias),
            _ => Bias::Zero,
        };
        let context = io.context;
        match &self.packed {
            Some(packed) => {
                let start = match start {
                    Bias::Columns(bias) => Some(bias),
                    _ => None,
                };
                packed.product(context, rows, a.data, start, io.output()?)?;
            }
            None => {
                let b = matrix(io.input(1)?, self.op.transpose_b, depth, columns);
                gemm(context, self.extents, a, b, start, io.output()?)?;
            }
        }
        let out = io.output::<f32>()?;
        if self.op.alpha != 1.0 {
            out.iter_mut().for_each(|v| *v *= self.op.alpha);
        }
        match (&self.bias, bias) {
            (BiasKind::After(broadcast), Some(bias)) => {
                let beta = self.op.beta;
                broadcast.apply(Operand::InPlace, Operand::Slice(bias), out, |v, bias| v + beta * bias)
            }
            _ => Ok(()),
        }
    }
}
