//! Kernels that convert real numbers to codes, codes to real numbers, and two codes to one. `strait_requantize::mixed`
//! and `strait_requantize::quantize` define these functions. Here they are prepared once and run on arrays, with the
//! same bits on every instruction set.
//!
//! ```
//! use strait_kernels::{Context, mixed::{CodeSlice, Dequantize, Quantize}};
//! use strait_requantize::{IntType, mixed::{AscendDequant, QuantizeLinear}};
//!
//! let form = QuantizeLinear { scale: 0.5, zero_point: -3, out: IntType::I8 };
//! let mut codes = [0; 4];
//! Quantize::new(&form.quantization().into())?.run(&Context::detect(), [1, 1, 4], &[0.0, 0.75, -1e9, f32::NAN], &mut codes)?;
//! assert_eq!(codes.map(u8::cast_signed), [-3, -1, -128, -3]);
//!
//! let form = AscendDequant { scale: [0.5, 2.0].into_iter().collect(), relu: true };
//! let mut reals = [0.0; 4];
//! let codes = CodeSlice::I32(&[-1, 3, 4, -5]);
//! Dequantize::new(&form.dequantization())?.run(&Context::detect(), [1, 2, 2], codes, &mut reals)?;
//! assert_eq!(reals, [0.0, 1.5, 8.0, 0.0]);
//! # Ok::<(), strait_kernels::KernelError>(())
//! ```

mod chain;
mod dequantize;
mod qlinear_add;
mod quantize;
mod quantize_last;

pub use chain::{Activation, ChainResults, ChainSlice, FloatChain, QuantizeScaled};
pub use dequantize::{CodeSlice, Dequantize};
pub use qlinear_add::QLinearAdd;
pub use quantize::Quantize;

use crate::{error::KernelError, integer::PerChannel};
use strait_requantize::Per;

/// Converts parameters from the type in `strait_requantize` to the type that the loops here take.
fn per_channel<T: Clone>(values: &Per<T>) -> Result<PerChannel<T>, KernelError> {
    match values {
        Per::Tensor(value) => Ok(PerChannel::Tensor(value.clone())),
        Per::Channel(values) if values.is_empty() => Err(KernelError::Requantization(
            "parameters per channel for no channel".into(),
        )),
        Per::Channel(values) => Ok(PerChannel::Channels(values.iter().cloned().collect())),
    }
}
