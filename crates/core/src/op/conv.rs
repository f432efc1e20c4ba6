//! Convolution.

use super::prelude::*;

op! {
    /// Convolution over one to three spatial axes.
    ///
    /// Operands: `x` `[N, C, spatial…]`, `weight` `[O, C/groups, kernel…]` and optionally `bias` `[O]`. Result: `[N, O,
    /// spatial…]`. On integers the result is Σ (weight − `weight_zero`)·x + bias, where padding elements are
    /// `pad_value`. The zero point of x is not subtracted; it is already part of the integer bias.
    Conv = "conv" v 3: Accumulates, 2 to 3 {
        /// Stride along each spatial axis.
        stride: SmallVec<[u32; 2]>,
        /// Padding: first the padding before each axis, then the padding after each axis.
        pad: SmallVec<[u32; 4]>,
        /// Dilation along each spatial axis.
        dilation: SmallVec<[u32; 2]>,
        /// Number of independent groups into which C and O are divided.
        groups: u32,
        /// The value of a padding element: 0 in float, and the zero point of x on integers.
        pad_value: i32,
        /// The integer type of the accumulator if the operands are codes. The default is i32. If the operands are not
        /// codes, this field has no effect and is i32.
        accumulator: Carrier,
        /// Zero point of the weights: one for all, or one for each output channel. The default is 0. For floats it is
        /// always 0.
        weight_zero: WeightZero,
    }
}

impl OpFacts for Conv {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, weight) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let elem = support::factors(x, weight, operands.get(2).copied().flatten(), self.accumulator)?;
        let spatial = x.shape.len().saturating_sub(2);
        support::ensure(
            (1..=3).contains(&spatial) && weight.shape.len() == x.shape.len(),
            ReasonCode::ConvRank,
            || {
                let (x, weight) = (x.shape.len(), weight.shape.len());
                format!("x has rank {x} and weight rank {weight}; both need 3 to 5, alike")
            },
        )?;
        let lists = [self.stride.len(), self.dilation.len(), self.pad.len() / 2];
        support::ensure(
            lists == [spatial; 3] && self.pad.len().is_multiple_of(2),
            ReasonCode::ConvAttributes,
            || format!("stride, dilation and pad must describe {spatial} axes"),
        )?;
        let kernel = weight
            .dims()
            .ok_or_else(|| Reason::new(ReasonCode::ConvWeight, "the weight has a symbolic dimension"))?;
        let channels = x.shape[1]
            .fixed()
            .ok_or_else(|| Reason::new(ReasonCode::ConvChannels, "the number of input channels is symbolic"))?;
        let (outputs, groups) = (kernel[0], u64::from(self.groups));
        support::ensure(
            groups > 0 && outputs % groups == 0 && kernel[1].checked_mul(groups) == Some(channels),
            ReasonCode::ConvChannels,
            || format!("{channels} input channels, {groups} groups and a weight of {kernel:?} do not fit together"),
        )?;
        support::one_for_each(&self.weight_zero, outputs)?;
        support::bias(operands, 2, outputs)?;
        let mut shape: SmallVec<[Dim; 4]> = smallvec![x.shape[0], Dim::Fixed(outputs)];
        for axis in 0..spatial {
            let window = support::Window::along(axis, kernel[axis + 2], [&self.stride, &self.dilation, &self.pad]);
            shape.push(support::window_extent(x.shape[axis + 2], window)?);
        }
        support::one(elem, shape)
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }

    fn weight_zero(&self) -> Option<&WeightZero> {
        Some(&self.weight_zero)
    }

    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        self.weight_zero
            .zeros()
            .chain([Zero::padding(self.pad_value, &self.pad)])
            .collect()
    }
}

impl Conv {
    /// True if the convolution is depthwise: each input channel is a group of its own, and there is more than one
    /// group.
    pub fn is_depthwise(&self, weight_shape: &[u64]) -> bool {
        self.groups > 1 && weight_shape.get(1) == Some(&1)
    }

    /// Returns a convolution over `spatial` axes with stride and dilation 1, no padding, and one group.
    pub fn plain(spatial: usize) -> Conv {
        Conv {
            stride: SmallVec::from_elem(1, spatial),
            pad: SmallVec::from_elem(0, 2 * spatial),
            dilation: SmallVec::from_elem(1, spatial),
            groups: 1,
            pad_value: 0,
            accumulator: Carrier::I32,
            weight_zero: WeightZero::default(),
        }
    }
}
