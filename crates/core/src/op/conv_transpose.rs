//! Transposed convolution.

use super::prelude::*;

op! {
    /// Transposed convolution over one to three spatial axes: each element of `x` adds a multiple of the kernel to the
    /// result.
    ///
    /// Operands: `x` `[N, C, spatial…]`, `weight` `[C, O/groups, kernel…]` and optionally `bias` `[O]`, all float.
    /// Result: `[N, O, spatial…]` with extents (x − 1)·stride + (kernel − 1)·dilation + 1 + output_padding − begin −
    /// end, where begin and end are the two numbers that `pad` has for an axis. The element of x at position p, times
    /// tap k, is added at position p·stride + k·dilation − begin of the result.
    ConvTranspose = "conv_transpose" v 1: Real, 2 to 3 {
        /// Distance between the kernels of neighbouring elements of x, along each spatial axis.
        stride: SmallVec<[u32; 2]>,
        /// How many elements are cut off from the result: first at the begin of each axis, then at the end of each
        /// axis.
        pad: SmallVec<[u32; 4]>,
        /// Dilation along each spatial axis.
        dilation: SmallVec<[u32; 2]>,
        /// How many elements are added at the end of the result, along each spatial axis.
        output_padding: SmallVec<[u32; 2]>,
        /// Number of independent groups into which C and O are divided.
        groups: u32,
    }
}

impl OpFacts for ConvTranspose {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, weight) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::all_float(operands)?;
        let spatial = x.shape.len().saturating_sub(2);
        support::ensure(
            (1..=3).contains(&spatial) && weight.shape.len() == x.shape.len(),
            ReasonCode::ConvRank,
            || {
                let (x, weight) = (x.shape.len(), weight.shape.len());
                format!("x has rank {x} and weight rank {weight}; both need 3 to 5, alike")
            },
        )?;
        let lists = [
            self.stride.len(),
            self.dilation.len(),
            self.output_padding.len(),
            self.pad.len() / 2,
        ];
        support::ensure(
            lists == [spatial; 4] && self.pad.len().is_multiple_of(2),
            ReasonCode::ConvAttributes,
            || format!("stride, dilation, output_padding and pad must describe {spatial} axes"),
        )?;
        let kernel = weight
            .dims()
            .ok_or_else(|| Reason::new(ReasonCode::ConvWeight, "the weight has a symbolic dimension"))?;
        let groups = u64::from(self.groups);
        let outputs = kernel[1].checked_mul(groups);
        let channels = x.shape[1].fixed();
        let fits = groups > 0 && kernel[0] % groups.max(1) == 0 && channels == Some(kernel[0]);
        let Some(outputs) = outputs.filter(|_| fits) else {
            let text = format!(
                "{} input channels, {groups} groups and a weight of {kernel:?} do not fit together",
                x.shape[1]
            );
            return Err(Reason::new(ReasonCode::ConvChannels, text));
        };
        support::bias(operands, 2, outputs)?;
        let mut shape: SmallVec<[Dim; 4]> = smallvec![x.shape[0], Dim::Fixed(outputs)];
        for axis in 0..spatial {
            shape.push(self.extent(axis, x.shape[axis + 2], kernel[axis + 2])?);
        }
        support::one(x.elem, shape)
    }
}

impl ConvTranspose {
    /// Returns the extent of the result along a spatial axis.
    fn extent(&self, axis: usize, x: Dim, kernel: u64) -> Result<Dim, Reason> {
        let (stride, dilation) = (u64::from(self.stride[axis]), u64::from(self.dilation[axis]));
        let pads = u64::from(self.pad[axis]) + u64::from(self.pad[axis + self.stride.len()]);
        let more = u64::from(self.output_padding[axis]);
        let Dim::Fixed(extent) = x else {
            if (kernel, stride, pads, more) == (1, 1, 0, 0) {
                return Ok(x);
            }
            let text = "a transposed convolution over a symbolic dimension; bind it to a number";
            return Err(Reason::new(ReasonCode::SymbolicWindow, text));
        };
        let made = || {
            let reach = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
            let whole = extent.checked_sub(1)?.checked_mul(stride)?.checked_add(reach)?;
            whole.checked_add(more)?.checked_sub(pads).filter(|&extent| extent > 0)
        };
        let extent = made().filter(|_| stride > 0 && dilation > 0);
        extent.map(Dim::Fixed).ok_or_else(|| {
            let text = format!(
                "kernels of {kernel} with stride {stride}, dilation {dilation} and a padding of {pads} leave nothing of {x}"
            );
            Reason::new(ReasonCode::Window, text)
        })
    }
}
