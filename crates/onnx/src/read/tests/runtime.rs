//! Tests ONNX Runtime's own operators: their structure and defaults, and what is refused. Their results are compared
//! with those of ONNX Runtime elsewhere.

use super::make::*;
use super::operators::{check, check_in};
use crate::proto::{AttributeProto, TensorProto};

fn own(op: &str, x: &str, constants: Vec<TensorProto>, attributes: Vec<AttributeProto>, expect: &str) {
    check_in("com.microsoft", 17, op, x, constants, attributes, expect);
}

#[test]
#[rustfmt::skip] // tables
fn functions_of_a_sum() {
    let b = || vec![weight("b", &[2])];
    own("Gelu", "f32[2]", vec![], vec![], "unary function=gelu -> f32[2]");
    own("BiasGelu", "f32[2]", b(), vec![], "add; unary function=gelu -> f32[2]");
    own("FastGelu", "f32[2]", vec![], vec![], "unary function=gelu_tanh -> f32[2]");
    own("FastGelu", "f32[2]", b(), vec![], "add; unary function=gelu_tanh -> f32[2]");
    own("QuickGelu", "f32[2]", vec![], vec![float("alpha", 1.0)], "unary function=sigmoid; mul a_zero=0 b_zero=0 -> f32[2]");
    own("Gelu", "f32[2]", vec![], vec![text("approximate", "none")], "its attribute `approximate` is not known");
    own("Dropout", "f32[2]", vec![], vec![], "(com.microsoft.Dropout, operator set 1): the operator is not known");
}

#[test]
#[rustfmt::skip] // tables
fn fused_products() {
    let b = |shape: &[u64]| vec![weight("b", shape)];
    let turned = |keys: &[&str]| keys.iter().map(|key| int(key, 1)).collect::<Vec<_>>();
    own("FusedMatMul", "f32[3,4]", b(&[4, 5]), vec![], "-> f32[3,5]");
    // The weight is multiplied by the factor.
    own("FusedMatMul", "f32[3,4]", b(&[4, 5]), vec![float("alpha", 0.5)], "matmul a_zero=0 b_zero=0 -> f32[3,5]");
    own("FusedMatMul", "f32[4,3]", b(&[4, 5]), turned(&["transA"]), "transpose permutation=[1,0]; matmul a_zero=0 b_zero=0 -> f32[3,5]");
    own("FusedMatMul", "f32[3,2,4]", b(&[2, 4, 5]), turned(&["transBatchA"]), "transpose permutation=[1,0,2]; matmul a_zero=0 b_zero=0 -> f32[2,3,5]");
    own("FusedMatMul", "f32[4,2,3]", b(&[2, 4, 5]), turned(&["transBatchA", "transA"]), "transpose permutation=[1,2,0]; matmul a_zero=0 b_zero=0 -> f32[2,3,5]");
    own("FusedMatMul", "f32[3,4]", b(&[4, 5]), turned(&["transBatchA"]), "operand 0 has no batch to turn round");
    own("FusedGemm", "f32[3,4]", b(&[4, 5]), vec![text("activation", "LeakyRelu"), float("activation_alpha", 0.5)], "leaky_relu alpha=0.5 -> f32[3,5]");
    own("FusedGemm", "f32[3,4]", b(&[4, 5]), vec![text("activation", "Selu"), float("activation_alpha", 1.5), float("activation_gamma", 2.0)], "elu alpha=1.5; mul a_zero=0 b_zero=0 -> f32[3,5]");
    own("FusedGemm", "f32[3,4]", b(&[4, 5]), vec![text("activation", "Gelu")], "`activation` is Gelu");
    let conv = |more: Vec<AttributeProto>| [vec![ints("kernel_shape", &[3, 3])], more].concat();
    own("FusedConv", "f32[1,2,5,5]", b(&[4, 2, 3, 3]), conv(vec![text("activation", "Clip"), floats("activation_params", &[0.0, 6.0])]), "clip min=0 max=6 -> f32[1,4,3,3]");
    own("FusedConv", "f32[1,2,5,5]", vec![weight("b", &[4, 2, 3, 3]), weight("c", &[4]), weight("z", &[1, 4, 3, 3])], conv(vec![text("activation", "Relu")]), "add; relu -> f32[1,4,3,3]");
}

#[test]
#[rustfmt::skip] // tables
fn normalizations_of_a_sum_and_before_their_operator_set() {
    let of = |count: usize| ["s", "g", "b", "c"][..count].iter().map(|name| weight(name, if *name == "s" { &[2, 4] } else { &[4] })).collect::<Vec<_>>();
    own("SkipLayerNormalization", "f32[2,4]", of(3), vec![], "add; layer_normalization axis=-1 epsilon=0.000000000001 -> f32[2,4]");
    own("SkipLayerNormalization", "f32[2,4]", of(4), vec![float("epsilon", 0.5)], "add; add; layer_normalization axis=-1 epsilon=0.5 -> f32[2,4]");
    own("SkipSimplifiedLayerNormalization", "f32[2,4]", of(2), vec![], "add; mul a_zero=0 b_zero=0; reduce reduction=mean axes=[-1]");
    check(11, "LayerNormalization", "f32[2,4]", of(2)[1..].to_vec(), vec![], "layer_normalization axis=-1 epsilon=0.00001 -> f32[2,4]");
    check(11, "SimplifiedLayerNormalization", "f32[2,4]", of(2)[1..].to_vec(), vec![], "mul a_zero=0 b_zero=0; reduce reduction=mean axes=[1]");
    check(11, "SkipLayerNormalization", "f32[2,4]", of(3), vec![], "(ai.onnx.SkipLayerNormalization, operator set 11): the operator is not known");
}
