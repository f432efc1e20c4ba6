//! Operators that become several ops: their structure, defaults, versions, and what is refused. Their numbers are those of ONNX's
//! node tests.

use super::make::*;
use super::operators::check;
use strait_core::TensorData;

#[test]
#[rustfmt::skip] // tables
fn functions_of_an_element() {
    check(7, "Selu", "f32[2]", vec![], vec![], "elu alpha=1.6732632; mul a_zero=0 b_zero=0 -> f32[2]");
    check(12, "Celu", "f32[2]", vec![], vec![], "elu alpha=1 -> f32[2]");
    check(12, "Celu", "f32[2]", vec![], vec![float("alpha", 2.0)], "div; elu alpha=1; mul a_zero=0 b_zero=0 -> f32[2]");
    check(12, "Celu", "f32[2]", vec![], vec![float("alpha", 0.0)], "`alpha` is 0; it has to be positive");
    check(7, "Softsign", "f32[2]", vec![], vec![], "unary function=abs; add; div -> f32[2]");
    check(24, "Swish", "f32[2]", vec![], vec![], "unary function=silu -> f32[2]");
    check(24, "Swish", "f32[2]", vec![], vec![float("alpha", 2.0)], "mul a_zero=0 b_zero=0; unary function=sigmoid; mul a_zero=0 b_zero=0 -> f32[2]");
    check(28, "SwiGLU", "f32[2]", vec![weight("b", &[2])], vec![], "unary function=silu; mul a_zero=0 b_zero=0 -> f32[2]");
}

#[test]
#[rustfmt::skip] // tables
fn functions_along_an_axis() {
    check(13, "LogSoftmax", "f32[2,3]", vec![], vec![], "reduce reduction=max axes=[-1] keep_dims=1; sub; unary function=exp; reduce reduction=sum axes=[-1] keep_dims=1; unary function=log; sub -> f32[2,3]");
    check(11, "LogSoftmax", "f32[2,3,4]", vec![], vec![], "flatten axis=1; reduce reduction=max axes=[1]");
    let axes = || vec![list("a", &[1])];
    check(18, "ReduceL1", "f32[2,3]", axes(), vec![], "unary function=abs; reduce reduction=sum axes=[1]");
    check(13, "ReduceL2", "f32[2,3]", vec![], vec![ints("axes", &[1])], "mul a_zero=0 b_zero=0; reduce reduction=sum axes=[1] keep_dims=1; unary function=sqrt -> f32[2,1]");
    check(18, "ReduceLogSum", "f32[2,3]", vec![], vec![int("noop_with_empty_axes", 1)], "unary function=log -> f32[2,3]");
    check(18, "ReduceSumSquare", "f32[2,3]", vec![], vec![int("noop_with_empty_axes", 1)], "mul a_zero=0 b_zero=0 -> f32[2,3]");
    check(18, "ReduceLogSumExp", "f32[2,3]", vec![], vec![int("keepdims", 0)], "squeeze axes=[0,1]; add -> f32[]");
}

#[test]
#[rustfmt::skip] // tables
fn normalizations() {
    let channels = || vec![weight("s", &[4]), weight("b", &[4])];
    check(17, "LayerNormalization", "f32[2,4]", channels(), vec![], "layer_normalization axis=-1 epsilon=0.00001 -> f32[2,4]");
    check(23, "RMSNormalization", "f32[2,4]", vec![weight("s", &[4])], vec![], "mul a_zero=0 b_zero=0; reduce reduction=mean axes=[1] keep_dims=1; add; unary function=sqrt; div; mul a_zero=0 b_zero=0 -> f32[2,4]");
    check(7, "InstanceNormalization", "f32[N,4,5,6]", channels(), vec![], "reshape shape=[0,4,-1]; layer_normalization axis=2 epsilon=0.00001; reshape shape=[0,4,5,6]; mul a_zero=0 b_zero=0; add -> f32[N,4,5,6]");
    check(7, "InstanceNormalization", "f32[1,4,H,6]", channels(), vec![], "bind `H`");
    check(21, "GroupNormalization", "f32[N,4,5]", channels(), vec![int("num_groups", 2)], "reshape shape=[0,2,-1]; layer_normalization axis=2 epsilon=0.00001; reshape shape=[0,4,5]; mul a_zero=0 b_zero=0; add -> f32[N,4,5]");
    check(18, "GroupNormalization", "f32[1,4,5]", vec![weight("s", &[2]), weight("b", &[2])], vec![int("num_groups", 2)], "add; reshape shape=[0,4,5] -> f32[1,4,5]");
    check(21, "GroupNormalization", "f32[1,4,5]", channels(), vec![int("num_groups", 3)], "`num_groups` does not divide 4 channels");
    check(13, "MeanVarianceNormalization", "f32[1,4,5,6]", vec![], vec![], "axes=[0,2,3]");
    check(7, "LpNormalization", "f32[2,4]", vec![], vec![int("p", 1)], "unary function=abs; reduce reduction=sum axes=[-1]");
    check(7, "LpNormalization", "f32[2,4]", vec![], vec![int("p", 3)], "`p` is 3");
    check(13, "LRN", "f32[N,4,5,6]", vec![], vec![int("size", 3)], "average_pool size=[3,1] stride=[1,1] pad=[1,0,1,0] dilation=[1,1] ceil=0 count_include_pad=1");
    check(13, "LRN", "f32[1,4,5,6]", vec![], vec![int("size", 0)], "`size` has to be positive");
}

#[test]
#[rustfmt::skip] // tables
fn pools_and_repetitions() {
    let pool = |ceil| vec![ints("kernel_shape", &[2]), ints("strides", &[2]), int("p", 2), int("ceil_mode", ceil)];
    check(18, "LpPool", "f32[1,2,5]", vec![], pool(0), "mul a_zero=0 b_zero=0; conv stride=[2] pad=[0,0] dilation=[1] groups=2 pad_value=0; unary function=sqrt -> f32[1,2,2]");
    check(18, "LpPool", "f32[1,2,5]", vec![], pool(1), "pad=[0,1]");
    check(7, "GlobalLpPool", "f32[1,2,5]", vec![], vec![int("p", 1)], "unary function=abs; reduce reduction=sum axes=[2]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[2, 1])], vec![], "concat axis=0 -> f32[4,3]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[1, 0])], vec![], "slice starts=[0] ends=[0] axes=[1] steps=[1] -> f32[2,0]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[1])], vec![], "1 repeats for rank 2");
    check(18, "CenterCropPad", "f32[4,5]", vec![list("s", &[7, 2])], vec![], "slice starts=[1] ends=[3] axes=[1] steps=[1]; pad amounts=[1,0,2,0] mode=constant value=0 -> f32[7,2]");
    check(20, "AffineGrid", "f32[2,2,3]", vec![list("s", &[2, 3, 4, 5])], vec![], "transpose permutation=[0,2,1]; matmul a_zero=0 b_zero=0; reshape shape=[0,4,5,2] -> f32[2,4,5,2]");
    check(9, "EyeLike", "f32[2,3]", vec![], vec![], "-> f32[2,3]");
    check(9, "EyeLike", "f32[2,3,4]", vec![], vec![], "the operand needs rank 2");
}

#[test]
#[rustfmt::skip] // tables
fn sums_of_products_by_labels() {
    let by = |equation| vec![text("equation", equation)];
    let b = |shape: &[u64]| vec![weight("b", shape)];
    check(12, "Einsum", "f32[2,3]", vec![], by("ij->ji"), "transpose permutation=[1,0] -> f32[3,2]");
    check(12, "Einsum", "f32[2,3]", vec![], by("ij"), "identity -> f32[2,3]");
    check(12, "Einsum", "f32[2,3]", vec![], by("ij->i"), "reduce reduction=sum axes=[1] keep_dims=0; identity -> f32[2]");
    check(12, "Einsum", "f32[2,3]", b(&[3, 4]), by("ij, jk -> ik"), "matmul a_zero=0 b_zero=0; identity -> f32[2,4]");
    check(12, "Einsum", "f32[5,2,3]", b(&[5, 3, 4]), by("...ij,...jk"), "matmul a_zero=0 b_zero=0; identity -> f32[5,2,4]");
    check(12, "Einsum", "f32[2]", b(&[3]), by("i,j->ij"), "mul a_zero=0 b_zero=0; identity -> f32[2,3]");
    check(12, "Einsum", "f32[4,3,3]", vec![], by("bii->bi"), "reshape shape=[4,9]; slice starts=[0] ends=[9] axes=[1] steps=[4]; identity -> f32[4,3]");
    check(12, "Einsum", "f32[2,3]", b(&[4, 4]), by("ij,jk->ik"), "an axis has the extents 3 and 4");
    check(12, "Einsum", "f32[2,3]", vec![], by("ij->ik"), "the result has an axis that no operand has");
    check(12, "Einsum", "f32[2,3]", vec![], by("ij,jk->ik"), "has 2 terms for 1 operands");
    check(12, "Einsum", "f32[2,3]", vec![], by("i1->i"), "`1` is no label");
}

#[test]
#[rustfmt::skip] // tables
fn operators_on_codes() {
    let scale = || constant("s", &TensorData::scalar(0.5f32));
    let zero = || constant("z", &TensorData::scalar(3u8));
    check(13, "QuantizeLinear", "f32[2]", vec![scale(), zero()], vec![], "div; unary function=round; add; clip min=0 max=255; cast to=u8 -> u8[2]");
    check(13, "QuantizeLinear", "f32[2,3]", vec![numbers("s", &[1.0, 2.0])], vec![int("axis", 0)], "div; unary function=round; clip min=0 max=255; cast to=u8 -> u8[2,3]");
    check(13, "QuantizeLinear", "f32[2,3]", vec![numbers("s", &[1.0, 2.0])], vec![int("axis", 5)], "axis 5 is outside rank 2");
    check(13, "DequantizeLinear", "u8[2]", vec![scale(), zero()], vec![], "cast to=f32; sub; mul a_zero=0 b_zero=0 -> f32[2]");
    check(10, "MatMulInteger", "u8[2,3]", vec![constant("b", &TensorData::from_values(&[3, 4], &[1u8; 12]).unwrap())], vec![], "matmul a_zero=0 b_zero=0; cast to=i64; cast to=i32 -> i32[2,4]");
    check(10, "ConvInteger", "u8[1,2,5]", vec![constant("w", &TensorData::from_values(&[1, 2, 3], &[1u8; 6]).unwrap())], vec![], "-> i32[1,1,3]");
}

#[test]
#[rustfmt::skip] // tables
fn states_and_positions() {
    let angles = || vec![weight("c", &[1, 3, 4]), weight("s", &[1, 3, 4])];
    check(23, "RotaryEmbedding", "f32[1,2,3,8]", angles(), vec![], "concat axis=-1 -> f32[1,2,3,8]");
    check(23, "RotaryEmbedding", "f32[1,2,3,8]", angles(), vec![int("interleaved", 1)], "concat axis=-1; reshape shape=[0,0,0,8] -> f32[1,2,3,8]");
    check(23, "RotaryEmbedding", "f32[1,3,16]", angles(), vec![], "`num_heads` is missing");
    check(27, "CausalConvWithState", "f32[1,2,5]", vec![weight("w", &[2, 1, 3])], vec![], "conv stride=[1] pad=[2,0] dilation=[1] groups=2");
    let heads = |count| vec![int("q_num_heads", count), int("kv_num_heads", 1), text("update_rule", "linear")];
    let state = || vec![weight("k", &[1, 2, 4]), weight("v", &[1, 2, 3])];
    check(27, "LinearAttention", "f32[1,2,8]", state(), heads(2), "concat axis=1 -> f32[1,2,6]");
    check(27, "LinearAttention", "f32[1,2,8]", state(), heads(0), "no multiple");
}
