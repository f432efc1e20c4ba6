//! Float operators on f32, one file each. Sums of products and sums over axes use the deterministic loops of
//! `strait-kernels`; nothing here reorders a sum.

pub(crate) mod activation;
pub(crate) mod arithmetic;
pub(crate) mod average_pool;
pub(crate) mod batch_normalization;
pub(crate) mod col2im;
pub(crate) mod conv;
pub(crate) mod conv_transpose;
pub(crate) mod deform_conv;
pub(crate) mod det;
pub(crate) mod dft;
pub(crate) mod gemm;
pub(crate) mod global_average_pool;
pub(crate) mod grid_sample;
pub(crate) mod layer_normalization;
pub(crate) mod matmul;
pub(crate) mod max_pool;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod resize;
pub(crate) mod roi_align;
pub(crate) mod round_to;
pub(crate) mod softmax;
pub(crate) mod unary;
pub(crate) mod volume;
