//! Windows: padding as TFLite's operators state it.

use super::super::emitter::{Emitter, Index, Refused};

/// The window of a convolution or pool over height and width.
pub(super) struct Window<'a> {
    pub(super) size: [u64; 2],
    pub(super) stride: &'a [u32],
    pub(super) dilation: &'a [u32],
    /// The padding before both axes, and then the padding after both axes.
    pub(super) pad: &'a [u32],
}

/// How the windows of an image are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Same,
    Valid,
    /// The image has to be padded by an operator of its own, by these amounts before and after each of the two axes.
    Explicit([[u64; 2]; 2]),
}

impl Padding {
    /// The number that an operator's options have for this padding. Explicit padding has the number of `Valid`, because
    /// the operator reads an image that has already been padded.
    pub(super) fn number(self) -> i8 {
        i8::from(self != Padding::Same)
    }
}

impl Window<'_> {
    /// Returns the padding of the window. `image` and `result` are the height and width of the image and of the result.
    /// Padding at the end that no window reaches is left out, because it does not change the result.
    pub(super) fn padding(&self, image: [u64; 2], result: [u64; 2]) -> Result<Padding, Refused> {
        let (mut same, mut none, mut amounts) = (true, true, [[0; 2]; 2]);
        for axis in 0..2 {
            let number = |list: &[u32], at: usize| list.get(at).copied().map(u64::from);
            let missing = "its window has too few numbers";
            let stride = number(self.stride, axis).ok_or(missing)?;
            let begin = number(self.pad, axis).ok_or(missing)?;
            let reach = self.size[axis].saturating_sub(1) * number(self.dilation, axis).ok_or(missing)? + 1;
            let needed = result[axis].saturating_sub(1) * stride + reach;
            let end = needed.saturating_sub(image[axis] + begin);
            let total = needed.saturating_sub(image[axis]);
            same &=
                result[axis] == image[axis].div_ceil(stride.max(1)) && begin == total / 2 && end == total - total / 2;
            none &= begin == 0
                && end == 0
                && image[axis] >= reach
                && (image[axis] - reach) / stride.max(1) + 1 == result[axis];
            // The windows of the padded image are as many as the result has.
            amounts[axis] = [begin, end];
        }
        Ok(match (none, same) {
            (true, _) => Padding::Valid,
            (_, true) => Padding::Same,
            _ => Padding::Explicit(amounts),
        })
    }
}

/// Pads an image [N, H, W, C] with rows and columns whose elements are `value` or, without a value, real zero.
pub(super) fn padded(
    emitter: &mut Emitter<'_>,
    image: Index,
    amounts: [[u64; 2]; 2],
    value: Option<f64>,
) -> Result<Index, Refused> {
    let shape = emitter.tensor(image).shape.clone();
    let mut grown = shape.clone();
    for (axis, [begin, end]) in amounts.into_iter().enumerate() {
        grown[axis + 1] += begin + end;
    }
    let made = emitter.like(image, "padded", grown)?;
    let [[top, bottom], [left, right]] = amounts.map(|pair| pair.map(|amount| amount as i32));
    let list = emitter.matrix(&[[0, 0], [top, bottom], [left, right], [0, 0]])?;
    match value {
        None => emitter.emit("PAD", &[image, list], &[made], None)?,
        Some(value) => {
            let value = emitter.number_like(image, value)?;
            emitter.emit("PADV2", &[image, list, value], &[made], None)?;
        }
    }
    Ok(made)
}

/// Gives an image [N, W, C] a height of 1, and returns an image [N, H, W, C] unchanged. Images of any other rank are
/// refused.
pub(super) fn with_height(emitter: &mut Emitter<'_>, image: Index) -> Result<Index, Refused> {
    let shape = emitter.tensor(image).shape.clone();
    match shape.as_slice() {
        &[n, width, channels] => {
            let made = emitter.like(image, "image", vec![n, 1, width, channels])?;
            emitter.reshape(image, made)?;
            Ok(made)
        }
        [_, _, _, _] => Ok(image),
        other => Err(format!(
            "it has images over {} axes; TFLite's integer operators have images over one or two",
            other.len().saturating_sub(2)
        )),
    }
}

/// Returns a list with one number for the height and one for the width. A list for a single axis has only the width;
/// the height then gets `first`.
pub(super) fn both<T: Copy>(list: &[T], first: T) -> Vec<T> {
    match list {
        &[only] => vec![first, only],
        other => other.to_vec(),
    }
}
