//! Tests products and embeddings whose weights alone have codes, with a scale for each block.

use super::{module, nodes};
use crate::proto::{ModelProto, TensorProto};
use crate::write::encode_operators;
use prost::Message;

fn model(text: &str) -> ModelProto {
    let mut bytes = Vec::new();
    let encoded = encode_operators(&module(text), "data", usize::MAX).unwrap_or_else(|error| panic!("{error}\n{text}"));
    encoded.write(&mut bytes).unwrap();
    ModelProto::decode(bytes.as_slice()).unwrap()
}

fn constant<'m>(model: &'m ModelProto, name: &str) -> &'m TensorProto {
    let graph = model.graph.as_ref().unwrap();
    let tensor = graph.initializer.iter().find(|tensor| tensor.name == name);
    tensor.unwrap_or_else(|| panic!("no {name} in {:?}", nodes(model)))
}

/// The operand of the only packed node at a position.
fn operand(model: &ModelProto, at: usize) -> &TensorProto {
    let graph = model.graph.as_ref().unwrap();
    let node = graph.node.iter().find(|node| node.domain == "com.microsoft").unwrap();
    constant(model, &node.input[at])
}

/// The operators of a file.
fn operators(model: &ModelProto) -> Vec<String> {
    let graph = model.graph.as_ref().unwrap();
    graph.node.iter().map(|node| node.op_type.clone()).collect()
}

/// The attributes of the packed node.
fn attribute(model: &ModelProto, name: &str) -> i64 {
    let graph = model.graph.as_ref().unwrap();
    let node = graph.node.iter().find(|node| node.domain == "com.microsoft").unwrap();
    node.attribute.iter().find(|one| one.name == name).unwrap().i.unwrap()
}

fn product(weights: &str, bias: &str) -> String {
    let (dims, _) = weights.split_once(']').unwrap();
    let (_, dims) = dims.split_once('[').unwrap();
    let (rows, columns) = dims.split_once(',').unwrap();
    let bias = if bias.is_empty() { "" } else { ", @b" };
    format!(
        "strait 1 export\ngraph @main(%x: f32[1,{columns}]) {{\n  %w: f32[{dims}] = dequantize(@c)\n  %y: f32[1,{rows}] = \
         gemm(%x, %w{bias}) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}\n  return %y\n}}\ndata @c: {weights}\n\
         data @b: f32[{rows}] = random 2\n"
    )
}

/// Codes 0, 1, 2, … modulo `modulus`, less `below`.
fn counted(count: i64, modulus: i64, below: i64) -> String {
    let codes: Vec<String> = (0..count).map(|code| (code % modulus - below).to_string()).collect();
    format!("inline [{}]", codes.join(","))
}

#[test]
fn sixteen_codes_with_zero_points_are_packed_from_the_lowest_bits_on() {
    let codes = counted(64, 16, 0);
    let text = product(
        &format!("u4[2,32] scale=[0.5,0.25,2.0,1.0] zero=[1,2,3,15] axis=1 block=16 = {codes}"),
        "",
    );
    let model = model(&text);
    assert_eq!(operators(&model), ["MatMulNBits"]);
    assert_eq!(
        ["N", "K", "bits", "block_size", "accuracy_level"].map(|name| attribute(&model, name)),
        [2, 32, 4, 16, 1]
    );
    let packed = operand(&model, 1);
    assert_eq!(packed.dims, [2, 2, 8]);
    assert_eq!(
        packed.raw_data.as_deref().unwrap()[..8],
        [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe]
    );
    let scales: Vec<f32> = operand(&model, 2)
        .raw_data
        .as_deref()
        .unwrap()
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(scales, [0.5, 0.25, 2.0, 1.0]);
    // Each row of zero points begins with a new byte.
    assert_eq!(
        (
            operand(&model, 3).dims.as_slice(),
            operand(&model, 3).raw_data.as_deref().unwrap()
        ),
        (&[2, 1][..], &[0x21, 0xf3][..])
    );
}

#[test]
fn signed_codes_lose_their_sign_with_their_zero_point() {
    for (ty, bits, middle, first) in [("i4", 4, 8, 0x10), ("i8", 8, 128, 120)] {
        let codes = counted(32, 16, 8);
        let text = product(
            &format!("{ty}[1,32] scale=[0.5,-0.25] zero=[0,1] axis=1 block=16 = {codes}"),
            "",
        );
        let model = model(&text);
        assert_eq!(attribute(&model, "bits"), bits);
        assert_eq!(operand(&model, 1).raw_data.as_deref().unwrap()[0], first, "{ty}");
        let zeros = operand(&model, 3);
        let expected = if bits == 4 {
            vec![0x98]
        } else {
            vec![middle, middle + 1]
        };
        assert_eq!(zeros.raw_data.as_deref().unwrap(), expected, "{ty}");
        // A scale of a block may be negative, as quantizers of 4 bits write it.
        assert_eq!(
            operand(&model, 2).raw_data.as_deref().unwrap()[4..],
            (-0.25f32).to_le_bytes()
        );
    }
}

#[test]
fn a_bias_is_the_sixth_operand() {
    let codes = counted(64, 16, 0);
    let text = product(
        &format!("u4[2,32] scale=[0.5,0.25] zero=[8,8] axis=1 block=32 = {codes}"),
        "bias",
    );
    let found = nodes(&model(&text));
    assert!(
        found[0].contains("MatMulNBits(x, ") && found[0].ends_with(", , b)"),
        "{found:?}"
    );
}

#[test]
fn blocks_that_the_operators_do_not_take_are_dequantized() {
    let codes = counted(64, 16, 0);
    for grid in [
        // Blocks of 8, and blocks that are no power of two.
        format!("u4[1,64] scale=[1,2,3,4,5,6,7,8] zero=8 axis=1 block=8 = {codes}"),
        format!(
            "u4[1,48] scale=[0.5,0.25] zero=8 axis=1 block=24 = {}",
            counted(48, 16, 0)
        ),
        // Scales of channels.
        format!("u4[2,32] scale=[0.5,0.25] zero=8 axis=0 = {codes}"),
    ] {
        let model = model(&product(&grid, ""));
        assert_eq!(operators(&model)[0], "DequantizeLinear", "{grid}");
    }
}

#[test]
fn an_embedding_gathers_rows_of_bytes() {
    let text = format!(
        "strait 1 export\ngraph @main(%i: i64[3]) {{\n  %w: f32[2,32] = dequantize(@c)\n  %y: f32[3,32] = gather(%w, %i) \
         {{axis=0}}\n  return %y\n}}\ndata @c: u4[2,32] scale=[0.5,0.25] zero=[8,7] axis=1 block=32 = {}\n",
        counted(64, 16, 0)
    );
    let model = model(&text);
    assert_eq!(operators(&model), ["GatherBlockQuantized"]);
    assert_eq!(operand(&model, 0).dims, [2, 16]);
    assert_eq!(
        ["bits", "block_size", "gather_axis", "quantize_axis"].map(|name| attribute(&model, name)),
        [4, 32, 0, 1]
    );
    assert_eq!(operand(&model, 3).raw_data.as_deref().unwrap(), [8, 7]);
}

#[test]
fn weights_with_another_reader_stay_a_dequantization() {
    let text = format!(
        "strait 1 export\ngraph @main(%i: i64[3]) {{\n  %w: f32[2,32] = dequantize(@c)\n  %g: f32[3,32] = gather(%w, %i) \
         {{axis=0}}\n  %y: f32[2,32] = add(%w, %w)\n  return %g, %y\n}}\n\
         data @c: u4[2,32] scale=[0.5,0.25] zero=[8,7] axis=1 block=32 = {}\n",
        counted(64, 16, 0)
    );
    assert!(!operators(&model(&text)).contains(&"GatherBlockQuantized".to_owned()));
}
