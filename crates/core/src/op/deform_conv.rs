//! Deformable convolution, in which an operand moves the taps of the kernel.

use super::prelude::*;

op! {
    /// Convolution over two spatial axes. Each tap is moved by an offset from `offset`, and multiplied by a weight from
    /// `mask`.
    ///
    /// Operands: `x` `[N, C, H, W]`; `weight` `[O, C/groups, h, w]`; `offset` `[N, offset_groups·h·w·2, rows,
    /// columns]`, with a vertical and a horizontal offset for each tap and position; optionally `bias` `[O]` and `mask`
    /// `[N, offset_groups·h·w, rows, columns]`. Result: `[N, O, rows, columns]`. For a tap that is moved to a place
    /// between elements, the elements are interpolated linearly. All elements outside of the image are zero.
    DeformConv = "deform_conv" v 1: Real, 3 to 5 {
        /// Vertical and horizontal distance between the windows of neighbouring results.
        stride: SmallVec<[u32; 2]>,
        /// Padding: top, left, bottom, right.
        pad: SmallVec<[u32; 4]>,
        /// Vertical and horizontal distance between neighbouring taps.
        dilation: SmallVec<[u32; 2]>,
        /// Number of independent groups into which C and O are divided.
        groups: u32,
        /// Number of groups into which C is divided for the offsets. The channels of a group share their offsets.
        offset_groups: u32,
    }
}

impl OpFacts for DeformConv {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, weight) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let offset = support::operand(operands, 2)?;
        let mask = operands.get(4).copied().flatten();
        support::all_float(operands)?;
        support::ensure(
            [self.stride.len(), self.dilation.len(), self.pad.len() / 2] == [2; 3] && self.pad.len() == 4,
            ReasonCode::ConvAttributes,
            || "stride, dilation and pad must describe 2 axes".into(),
        )?;
        let (Some(kernel), [batch, channels, ..]) = (weight.dims(), &x.shape[..]) else {
            let text = format!("the weight {weight} is symbolic, or {x} has too few axes");
            return Err(Reason::new(ReasonCode::ConvWeight, text));
        };
        let (groups, parts) = (u64::from(self.groups), u64::from(self.offset_groups));
        let divides = |whole: u64, parts: u64| parts > 0 && whole.is_multiple_of(parts);
        let channels = channels.fixed();
        let fits = x.shape.len() == 4
            && kernel.len() == 4
            && divides(kernel[0], groups)
            && kernel[1].checked_mul(groups) == channels
            && channels.is_some_and(|channels| divides(channels, parts));
        support::ensure(fits, ReasonCode::ConvChannels, || {
            format!("{x} in {groups} groups, {parts} for offsets, does not fit to a weight of {kernel:?}")
        })?;
        let [rows, columns] = [0, 1].map(|axis| {
            let window = support::Window::along(axis, kernel[axis + 2], [&self.stride, &self.dilation, &self.pad]);
            support::window_extent(x.shape[axis + 2], window)
        });
        let (rows, columns) = (rows?, columns?);
        let taps = kernel[2]
            .checked_mul(kernel[3])
            .and_then(|taps| taps.checked_mul(parts));
        let wanted = |each: u64| -> Option<Shape> {
            let numbers = taps?.checked_mul(each)?;
            Some(smallvec![*batch, Dim::Fixed(numbers), rows, columns])
        };
        let mask = mask.is_none_or(|mask| Some(&mask.shape) == wanted(1).as_ref());
        support::ensure(
            Some(&offset.shape) == wanted(2).as_ref() && mask,
            ReasonCode::Operands,
            || format!("offsets of {offset}, or their mask, do not move {kernel:?} taps over {x}"),
        )?;
        support::bias(operands, 3, kernel[0])?;
        support::one(x.elem, smallvec![*batch, Dim::Fixed(kernel[0]), rows, columns])
    }
}
