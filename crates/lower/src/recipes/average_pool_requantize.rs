//! `average_pool_requantize`: acc = Σ q over a window of n elements, requantized by s_x / (n·s_y). Its code of real zero
//! is n·z_x; padding counts as z_x.

use super::Site;
use super::narrow::{Product, Wide, narrow};

use crate::lowering::Lowering;
use smallvec::SmallVec;
use std::sync::Arc;
use strait_core::op::{Reduce, Reduction, SumPool};
use strait_core::{Op, QuantParams, Reason};
use strait_requantize::range::Pairs;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>) -> Result<(), Reason> {
    let x = site.input(0)?;
    let (x_scale, x_zero) = walk.grid(x)?;
    let codes = walk.codes(x)?;
    let dims = walk.dims(codes);
    let (op, count): (Op, u64) = match &site.node.op {
        Op::AveragePool(pool) => {
            let sum = SumPool {
                size: pool.size.clone(),
                stride: pool.stride.clone(),
                pad: pool.pad.clone(),
                dilation: pool.dilation.clone(),
                ceil: pool.ceil,
                pad_value: x_zero,
            };
            (sum.into(), pool.size.iter().map(|&s| u64::from(s)).product())
        }
        Op::Reduce(mean) => {
            let count = mean.reduced(dims.len())?.iter().map(|&a| dims[a]).product();
            (
                Reduce {
                    reduction: Reduction::Sum,
                    ..(**mean).clone()
                }
                .into(),
                count,
            )
        }
        _ => {
            let axes: SmallVec<[i64; 4]> = (2..dims.len() as i64).collect();
            let count = dims.iter().skip(2).product();
            (
                Reduce {
                    reduction: Reduction::Sum,
                    axes,
                    keep_dims: true,
                }
                .into(),
                count,
            )
        }
    };
    walk.prove(&Pairs {
        count,
        first: (walk.any_code(), 0),
        second: ((1, 1), 0),
        any_pattern: walk.input_behind(site.input(0)?).is_some(),
    })?;
    // |n·z| ≤ 2^31 for codes of at most 16 bits.
    let count = i32::try_from(count).ok().filter(|&n| (1..=1 << 15).contains(&n));
    let count = count.ok_or_else(|| Reason::new("accumulator-overflow", "the sum of a window can pass 32 bits"))?;
    let zero = count * x_zero;
    let grid = Arc::new(QuantParams::tensor(x_scale / count as f32, zero));
    let acc = walk.emit(site.node, op, &[codes], Some(grid), "accumulate")?;
    let product = Product::Mean(x_scale, count.unsigned_abs());
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero,
            product,
            axis: 0,
        },
    )
}
