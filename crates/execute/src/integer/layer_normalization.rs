//! Layer normalization of codes over the last axes, with one gain per element.

use super::operands::{Prepared, codes};
use crate::prelude::*;
use strait_kernels::integer::IntegerLayerNorm;

pub(crate) fn prepare(op: &op::IntegerLayerNormalization, site: &NodeSlots<'_>) -> Prepared {
    let norm = op.norm().map_err(|error| StepError::Model(error.to_string()))?;
    let (x, gains) = (site.input(0)?, site.input(1)?);
    let (Some(from), Some(gains), None) = (codes(x), gains.constant, &site.fused) else {
        return Ok(None);
    };
    let biases = match site.optional(2).map(|biases| biases.constant) {
        None => None,
        Some(Some(biases)) => Some(biases.to_i64()?),
        Some(None) => return Ok(None),
    };
    let kernel = IntegerLayerNorm::new(&norm, from, gains.values()?.into_owned(), biases)?;
    Ok(Some(reading(1, move |io| {
        Ok(kernel.run(io.context, io.input(0)?, io.output()?)?)
    })))
}
