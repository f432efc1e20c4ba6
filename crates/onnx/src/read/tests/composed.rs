//! Tests operators that become several ops: their structure, defaults and versions, and what is refused. Their results
//! are compared with ONNX's node tests elsewhere.

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
    check(10, "ThresholdedRelu", "f32[2]", vec![], vec![], "compare relation=less; select -> f32[2]");
    check(9, "Shrink", "f32[2]", vec![], vec![], "compare relation=less; select; compare relation=less; select -> f32[2]");
    check(9, "Shrink", "i64[2]", vec![], vec![], "it shrinks integers");
}

#[test]
#[rustfmt::skip] // tables
fn functions_along_an_axis() {
    check(13, "LogSoftmax", "f32[2,3]", vec![], vec![], "reduce reduction=max axes=[-1] keep_dims=1; sub; unary function=exp; reduce reduction=sum axes=[-1] keep_dims=1; unary function=log; sub -> f32[2,3]");
    check(11, "LogSoftmax", "f32[2,3,4]", vec![], vec![], "flatten axis=1; reduce reduction=max axes=[1]");
    check(13, "Hardmax", "f32[2,3]", vec![], vec![], "cast to=f32 -> f32[2,3]");
    check(13, "Hardmax", "f32[2,N]", vec![], vec![], "bind `N`");
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
    let nothing = vec![numbers("s", &[1.0; 4]), numbers("b", &[0.0; 4])];
    check(7, "InstanceNormalization", "f32[1,4,5]", nothing, vec![], "layer_normalization axis=2 epsilon=0.00001; reshape shape=[0,4,5]; identity -> f32[1,4,5]");
    check(7, "InstanceNormalization", "f32[1,4,5]", vec![numbers("s", &[1.0; 4]), numbers("b", &[0.5; 4])], vec![], "reshape shape=[0,4,5]; mul a_zero=0 b_zero=0; add -> f32[1,4,5]");
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
fn pools_repetitions_and_masks() {
    let pool = |ceil| vec![ints("kernel_shape", &[2]), ints("strides", &[2]), int("p", 2), int("ceil_mode", ceil)];
    check(18, "LpPool", "f32[1,2,5]", vec![], pool(0), "mul a_zero=0 b_zero=0; conv stride=[2] pad=[0,0] dilation=[1] groups=2 pad_value=0; unary function=sqrt -> f32[1,2,2]");
    check(18, "LpPool", "f32[1,2,5]", vec![], pool(1), "pad=[0,1]");
    check(7, "GlobalLpPool", "f32[1,2,5]", vec![], vec![int("p", 1)], "unary function=abs; reduce reduction=sum axes=[2]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[2, 1])], vec![], "concat axis=0 -> f32[4,3]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[1, 0])], vec![], "slice starts=[0] ends=[0] axes=[1] steps=[1] -> f32[2,0]");
    check(13, "Tile", "f32[2,3]", vec![list("r", &[1])], vec![], "1 repeats for rank 2");
    check(18, "CenterCropPad", "f32[4,5]", vec![list("s", &[7, 2])], vec![], "slice starts=[1] ends=[3] axes=[1] steps=[1]; pad amounts=[1,0,2,0] mode=constant value=0 -> f32[7,2]");
    check(14, "Trilu", "f32[2,3]", vec![], vec![], "select -> f32[2,3]");
    check(11, "OneHot", "i64[2]", vec![constant("d", &TensorData::scalar(3i64)), numbers("v", &[0.0, 1.0])], vec![], "select -> f32[2,3]");
    check(11, "OneHot", "i64[2]", vec![constant("d", &TensorData::scalar(-3i64)), numbers("v", &[0.0, 1.0])], vec![], "the depth is not one number");
    check(15, "CastLike", "f32[2]", vec![list("l", &[1])], vec![], "cast to=i64 -> i64[2]");
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
    check(13, "QuantizeLinear", "f32[2]", vec![scale(), zero()], vec![], "quantize to=u8 rounding=half_even reciprocal=0 -> u8[2]");
    check(13, "QuantizeLinear", "f32[2,3]", vec![numbers("s", &[1.0, 2.0])], vec![int("axis", 0)], "quantize to=u8 rounding=half_even reciprocal=0 -> u8[2,3]");
    check(13, "QuantizeLinear", "f32[2,3]", vec![numbers("s", &[1.0, 2.0])], vec![int("axis", 5)], "axis 5 is outside rank 2");
    check(13, "DequantizeLinear", "u8[2]", vec![scale(), zero()], vec![], "dequantize; identity -> f32[2]");
    check(11, "DynamicQuantizeLinear", "f32[2]", vec![], vec![], "clip min=0 max=255; cast to=u8 -> u8[2]");
    check(10, "MatMulInteger", "u8[2,3]", vec![constant("b", &TensorData::from_values(&[3, 4], &[1u8; 12]).unwrap())], vec![], "matmul a_zero=0 b_zero=0; cast to=i64; cast to=i32 -> i32[2,4]");
    check(10, "MatMulInteger", "u8[2,300]", vec![constant("b", &TensorData::from_values(&[300, 1], &[1u8; 300]).unwrap())], vec![], "unary function=floor");
    check(10, "ConvInteger", "u8[1,2,5]", vec![constant("w", &TensorData::from_values(&[1, 2, 3], &[1u8; 6]).unwrap())], vec![], "-> i32[1,1,3]");
}

#[test]
#[rustfmt::skip] // tables
fn attention_and_its_relatives() {
    let kv = || vec![weight("k", &[1, 2, 4, 8]), weight("v", &[1, 2, 4, 8])];
    check(23, "Attention", "f32[1,2,3,8]", kv(), vec![], "matmul a_zero=0 b_zero=0; softmax axis=-1; matmul a_zero=0 b_zero=0 -> f32[1,2,3,8]");
    check(23, "Attention", "f32[1,2,3,8]", kv(), vec![int("is_causal", 1)], "matmul a_zero=0 b_zero=0; add; softmax axis=-1; matmul a_zero=0 b_zero=0 -> f32[1,2,3,8]");
    check(23, "Attention", "f32[1,3,16]", vec![weight("k", &[1, 4, 16]), weight("v", &[1, 4, 16])], vec![int("q_num_heads", 2), int("kv_num_heads", 2)], "transpose permutation=[0,2,1,3]; reshape shape=[0,0,-1] -> f32[1,3,16]");
    check(23, "Attention", "f32[1,3,16]", vec![weight("k", &[1, 4, 16]), weight("v", &[1, 4, 16])], vec![], "the numbers of heads are missing");
    check(23, "Attention", "f32[1,3,5,8]", kv(), vec![], "3 heads of the query for 2 of the keys");
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

#[test]
#[rustfmt::skip] // tables
fn comparison_logic_and_bits() {
    let scalar = |name: &str, value: f32| constant(name, &TensorData::scalar(value));
    check(7, "Greater", "f32[2]", vec![weight("b", &[2])], vec![], "compare relation=less -> bool[2]");
    check(12, "GreaterOrEqual", "i64[2]", vec![list("b", &[1])], vec![], "compare relation=less_or_equal -> bool[2]");
    check(11, "LessOrEqual", "f32[2]", vec![weight("b", &[2])], vec![], "exists from operator set 12 on");
    check(7, "Not", "bool[2]", vec![], vec![], "compare relation=equal -> bool[2]");
    check(18, "BitwiseNot", "u8[2]", vec![], vec![], "cast to=i64; binary function=xor; cast to=u8 -> u8[2]");
    check(11, "BitShift", "u8[2]", vec![constant("n", &TensorData::scalar(1u8))], vec![text("direction", "LEFT")], "binary function=bit_shift_left; cast to=u8 -> u8[2]");
    check(11, "BitShift", "u8[2]", vec![constant("n", &TensorData::scalar(1u8))], vec![], "`direction` is ");
    check(10, "Mod", "i64[2]", vec![list("n", &[3])], vec![], "binary function=modulo -> i64[2]");
    check(10, "Mod", "f32[2]", vec![numbers("n", &[3.0])], vec![int("fmod", 1)], "binary function=remainder -> f32[2]");
    check(9, "IsNaN", "f32[2]", vec![], vec![], "compare relation=equal; compare relation=equal -> bool[2]");
    check(10, "IsInf", "f32[2]", vec![], vec![int("detect_negative", 0)], "compare relation=equal -> bool[2]");
    check(13, "Max", "i64[2]", vec![list("a", &[1]), list("b", &[2])], vec![], "binary function=maximum; binary function=maximum -> i64[2]");
    check(11, "Clip", "i64[2]", vec![constant("a", &TensorData::scalar(0i64)), constant("b", &TensorData::scalar(6i64))], vec![], "binary function=maximum; binary function=minimum -> i64[2]");
    check(8, "Expand", "f32[2,1]", vec![list("s", &[3, 1, 4])], vec![], "expand shape=[3,1,4] -> f32[3,2,4]");
    check(19, "Pad", "f32[3]", vec![list("p", &[4, -1])], vec![text("mode", "wrap")], "gather axis=0; identity -> f32[6]");
    check(13, "Pad", "i64[2]", vec![list("p", &[0, 1]), constant("v", &TensorData::scalar(7i64))], vec![], "select -> i64[3]");
    check(13, "Pad", "f32[2]", vec![list("p", &[0, 1]), scalar("v", 7.0)], vec![], "pad amounts=[0,1] mode=constant value=7 -> f32[3]");
    check(12, "MaxPool", "u8[1,1,4]", vec![], vec![ints("kernel_shape", &[2])], "cast to=f32; max_pool size=[2] stride=[1] pad=[0,0] dilation=[1] ceil=0; cast to=u8 -> u8[1,1,3]");
    check(9, "Sinh", "f32[2]", vec![], vec![], "unary function=sinh -> f32[2]");
}

#[test]
fn ranges_are_written_out() {
    let of = |start: TensorData, limit: TensorData, step: TensorData| {
        let constants = vec![constant("a", &start), constant("b", &limit), constant("c", &step)];
        let nodes = vec![node("r = Range(a, b, c)", vec![]), node("y = Add(x, r)", vec![])];
        let read = super::read(&model(13, graph(&["x: f32[1]"], constants, nodes, &["y"])));
        read.map(|module| module.pool()[0].to_f32().unwrap().into_owned())
            .map_err(|error| error.to_string())
    };
    let floats = |a: f32, b: f32, c: f32| of(TensorData::scalar(a), TensorData::scalar(b), TensorData::scalar(c));
    assert_eq!(floats(1.0, 2.0, 0.25).unwrap(), [1.0, 1.25, 1.5, 1.75]);
    assert_eq!(floats(2.0, 0.0, -1.0).unwrap(), [2.0, 1.0]);
    assert!(floats(0.0, 1.0, 0.0).unwrap_err().contains("the step is 0"));
    assert!(
        floats(0.0, f32::INFINITY, 1.0)
            .unwrap_err()
            .contains("not one finite number")
    );
    assert!(floats(0.0, 1e30, 1.0).unwrap_err().contains("too large"));
    let integers = |a: i64, b: i64, c: i64| of(TensorData::scalar(a), TensorData::scalar(b), TensorData::scalar(c));
    assert!(integers(i64::MIN, i64::MAX, 1).unwrap_err().contains("too large"));
}
