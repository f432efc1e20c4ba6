//! Rounds the real numbers of a parameter to codes on a grid.

use std::ops::RangeInclusive;
use strait_core::{Parts, QuantParams, TensorData, TensorError};
use strait_requantize::quantize::quantize_each;
use strait_requantize::{Per, Rounding};

/// The way in which a parameter is rounded to its grid.
#[derive(Clone, Debug)]
pub(crate) enum How {
    /// q = rint(x / s) + z, with the quotient in f32.
    Once,
    /// For weights W that are rounded twice. They are first rounded to the codes w = rint(W / s), where s is the finest
    /// scale with which the weights fit into the range of codes. The final codes are w' = rint(w·s / s'), half to even,
    /// where s' is the scale of the weights' own grid. If the field is present, it is the grid that the model has for
    /// these weights: then s is the scale of that grid, and w are the model's own codes.
    Twice(Option<QuantParams>),
    /// q = rint(b / (s_x·s_w)) for a bias b on the grid of an accumulator, with product and quotient in f64. The fields
    /// are s_x, the operand's scale, and s_w, the weights' scale, which may differ by channel.
    Product(f32, Per<f32>),
}

/// At most this many elements are rounded before their codes are stored, so that wide codes stay in the cache.
const ROUNDED: usize = 1 << 12;

/// Rounds the elements of a float tensor to codes of a grid, which `store` converts to the type that they are stored in.
/// Codes out of range saturate, except with [`How::Product`]: a saturated bias would make the accumulator wrong, so the
/// caller has to refuse such a bias.
pub(crate) fn codes<T>(
    tensor: &TensorData,
    grid: &QuantParams,
    range: [i64; 2],
    rounding: Rounding,
    how: &How,
    store: impl Fn(i64) -> T,
) -> Result<Vec<T>, TensorError> {
    let values = tensor.to_f32()?;
    let part = parts(grid, tensor.shape());
    if let How::Product(x, weights) = how {
        let code = |(index, &real): (usize, &f32)| {
            let step = f64::from(*x) * f64::from(weights.get(part.of(index)).copied().unwrap_or(1.0));
            // For numbers beyond ±2^63, the cast saturates.
            rounding.round_f64(f64::from(real) / step) as i64
        };
        return Ok(values.iter().enumerate().map(code).map(store).collect());
    }
    // Only codes of biases have more than 32 bits.
    let range = range.map(|end| end.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
    let range = range[0]..=range[1];
    if let How::Twice(Some(own)) = how {
        let own_part = parts(own, tensor.shape());
        let code = |(index, &x): (usize, &f32)| {
            let scale =
                |grid: &QuantParams, part: &Parts| f64::from(grid.scale.get(part.of(index)).copied().unwrap_or(1.0));
            let (from, to) = (scale(own, &own_part), scale(grid, &part));
            let code = Rounding::HalfEven.round_f64((f64::from(x) / from).round() * (from / to)) as i64;
            code.clamp((*range.start()).into(), (*range.end()).into())
        };
        return Ok(values.iter().enumerate().map(code).map(store).collect());
    }
    let is_twice = matches!(how, How::Twice(_));
    let scales = match is_twice {
        true => finest(&values, &part, &grid.scale, &range),
        false => grid.scale.clone(),
    };
    let mut codes = Vec::with_capacity(values.len());
    let mut rounded = Vec::with_capacity(ROUNDED);
    for row in values.chunks(part.row()) {
        let part = part.of(codes.len());
        let scale = scales.get(part).copied().unwrap_or(1.0);
        let zero = grid.zero_point.get(part).copied().unwrap_or(0);
        let correction = f64::from(scale) / f64::from(grid.scale.get(part).copied().unwrap_or(1.0));
        for values in row.chunks(ROUNDED) {
            rounded.clear();
            quantize_each(values, (scale, zero), rounding, &range, &mut rounded);
            for code in rounded.iter_mut().filter(|_| is_twice) {
                let again = Rounding::HalfEven.round_f64(*code as f64 * correction) as i64;
                *code = again.clamp((*range.start()).into(), (*range.end()).into());
            }
            codes.extend(rounded.iter().map(|&code| store(code)));
        }
    }
    Ok(codes)
}

/// For each part of the tensor that has its own scale, finds the smallest scale with which the codes of this part fit
/// into `range`. If all elements of a part are zero, its scale is taken from `like`.
fn finest(values: &[f32], part: &Parts, like: &Per<f32>, range: &RangeInclusive<i32>) -> Per<f32> {
    let mut least = vec![0f64; like.channels().unwrap_or(1)];
    for (index, &w) in values.iter().enumerate() {
        let end = f64::from(if w < 0.0 { *range.start() } else { *range.end() });
        if let Some(least) = least.get_mut(part.of(index)) {
            *least = least.max(f64::from(w) / end);
        }
    }
    let mut least = least.into_iter().map(|least| least as f32);
    like.map(|&scale| least.next().filter(|&least| least > 0.0).unwrap_or(scale))
}

/// Divides a tensor into the parts that have a scale of their own. The IR verifier has already checked that the grid
/// fits the shape.
fn parts(grid: &QuantParams, shape: &[u64]) -> Parts {
    let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    Parts::of_grid(grid, &shape).unwrap_or(Parts::WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn all(shape: &[u64], values: &[f32], grid: &QuantParams, how: &How) -> Vec<i64> {
        let tensor = TensorData::from_values(shape, values).unwrap_or_else(|error| panic!("{error}"));
        codes(&tensor, grid, [-127, 127], Rounding::HalfEven, how, |code| code)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn each_element_takes_the_scale_of_its_channel_or_block() {
        let ones = [1.0; 12];
        let grid = |axis, block: Option<u32>, scales: &[f32]| QuantParams {
            block: block.and_then(NonZeroU32::new),
            ..QuantParams::channel(scales.into(), axis)
        };
        let once = |grid: &QuantParams| all(&[2, 3, 2], &ones, grid, &How::Once);
        assert_eq!(once(&QuantParams::tensor(0.5, 3)), [5; 12]);
        assert_eq!(once(&grid(0, None, &[1.0, 0.5])), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(
            once(&grid(1, None, &[1.0, 0.5, 0.25])),
            [1, 1, 2, 2, 4, 4, 1, 1, 2, 2, 4, 4]
        );
        // Two rows with one block of three numbers each. Both columns of a row have a scale of their own.
        assert_eq!(
            once(&grid(1, Some(3), &[1.0, 0.5, 0.25, 0.125])),
            [1, 2, 1, 2, 1, 2, 4, 8, 4, 8, 4, 8]
        );
    }

    #[test]
    fn two_roundings_are_those_of_the_finest_grid_and_of_the_own_one() {
        // The finest grid has steps of 0.01. On this grid, 1.27 has the code 127, and ±0.1352 becomes ±13.52, which is
        // rounded to ±14. These codes are then multiplied by 0.01 / 0.016 = 0.625.
        let grid = QuantParams::tensor(0.016, 0);
        let found = |how| all(&[3], &[1.27, 0.1352, -0.1352], &grid, how);
        assert_eq!(found(&How::Twice(None)), [79, 9, -9]);
        // With a single rounding, the last two are ±8.45, rounded.
        assert_eq!(found(&How::Once), [79, 8, -8]);
        assert_eq!(all(&[2], &[0.0, 0.0], &grid, &How::Twice(None)), [0, 0]);
        // A given grid may be finer than the finest grid that covers the numbers.
        let given = QuantParams::tensor(0.005, 0);
        assert_eq!(
            all(&[3], &[1.27, -1.27, 0.5], &given, &How::Twice(None)),
            [127, -127, 100]
        );
        // The model's own codes on its grid with steps of 0.01 are 100, 7 and −7, which do not reach the ends of the
        // type. It is these codes that are multiplied, again by 0.625.
        let own = How::Twice(Some(QuantParams::tensor(0.01, 0)));
        assert_eq!(
            all(&[3], &[1.0, 0.07, -0.07], &QuantParams::tensor(0.016, 0), &own),
            [62, 4, -4]
        );
    }

    #[test]
    fn biases_are_rounded_by_a_product_that_f32_does_not_hold() {
        let (x, w) = (1.0 + f32::EPSILON, 1.0 + f32::EPSILON);
        let grid = QuantParams::tensor(x * w, 0);
        // The bias 2^30 is divided by the exact product 1 + 2ε + ε², and not by this product rounded to f32.
        let exact = (1u64 << 30) as f64 / (f64::from(x) * f64::from(w));
        let found = all(&[1], &[2f32.powi(30)], &grid, &How::Product(x, Per::Tensor(w)));
        assert_eq!(found, [exact.round() as i64]);
        let channels = QuantParams::channel([1.0, 0.5].into(), 0);
        let how = How::Product(1.0, [1.0f32, 0.5].into_iter().collect());
        assert_eq!(all(&[2], &[1e9, 1e9], &channels, &how), [1_000_000_000, 2_000_000_000]);
    }
}
