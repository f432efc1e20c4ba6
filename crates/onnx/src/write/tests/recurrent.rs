//! Writes recurrent layers. Tests that they give the same states when they are read again, and what is in the file.

use super::{bytes, module};
use crate::Model;
use crate::proto::ModelProto;
use prost::Message;
use std::path::Path;
use strait_core::op::{Activation, Cell, Direction};
use strait_execute::{Tensor, reference};
use strait_import::{Decoded, ReadOptions};

/// Numbers between −1 and 1 that do not repeat soon.
fn numbers(count: usize, seed: f32) -> Vec<f32> {
    (0..count).map(|i| ((i as f32 + seed) * 12.9898).sin()).collect()
}

/// A layer of 3 steps, 2 sequences and states of 2 numbers.
fn layer(cell: Cell, direction: Direction, activations: &[Activation], attributes: &str) -> String {
    let directions = if direction == Direction::Bidirectional { 2 } else { 1 };
    let rows = 2 * cell.gates();
    let words: Vec<&str> = activations.iter().map(|activation| activation.name()).collect();
    let results = match cell {
        Cell::Lstm => format!("%y: f32[3,{directions},2,2], %h: f32[{directions},2,2], %c: f32[{directions},2,2]"),
        _ => format!("%y: f32[3,{directions},2,2], %h: f32[{directions},2,2]"),
    };
    format!(
        "strait 1 float
graph @main(%x: f32[3,2,{all}]) {{
  {results} = recurrent(%x, @r) {{cell={cell}, direction={direction}, activations=\"{words}\", {attributes}}}
  return %y, %h
}}
data @r: f32[{directions},{rows},2] = random 7
",
        all = directions * rows,
        cell = cell.name(),
        direction = direction.name(),
        words = words.join(" "),
    )
}

#[test]
fn states_are_the_same_with_bounds_and_parameters() {
    use Activation::{Affine, Elu, HardSigmoid, LeakyRelu, ScaledTanh, Sigmoid, Tanh};
    let cases = [
        layer(
            Cell::Lstm,
            Direction::Forward,
            &[Sigmoid, Tanh, Tanh],
            "alpha=[0.0,0.0,0.0], beta=[0.0,0.0,0.0], clip=0.5, coupled=0",
        ),
        layer(
            Cell::Lstm,
            Direction::Reverse,
            &[HardSigmoid, LeakyRelu, ScaledTanh],
            "alpha=[0.25,0.125,1.5], beta=[0.5,0.0,0.75], clip=inf, coupled=1",
        ),
        layer(
            Cell::Gru,
            Direction::Bidirectional,
            &[Sigmoid, Elu, HardSigmoid, Affine],
            "alpha=[0.0,0.5,0.375,2.0], beta=[0.0,0.0,0.25,0.125], clip=2.0, coupled=0",
        ),
        layer(
            Cell::Plain,
            Direction::Forward,
            &[Affine],
            "alpha=[0.5], beta=[0.25], clip=inf, coupled=0",
        ),
    ];
    for text in cases {
        let own = module(&text);
        strait_core::verifier::verify(&own).unwrap_or_else(|e| panic!("{e}"));
        let again = Model::decode(bytes(&own).into(), Path::new("")).unwrap();
        let again = again.read(&ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let shape = own.main().value(own.main().inputs()[0]).unwrap().ty.dims().unwrap();
        let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
        let x = Tensor::from_values(&shape, &numbers(shape.iter().product(), 1.0)).unwrap();
        let [own, again] = [own, again].map(|module| {
            let made = reference::run(&module, module.main, &[x.view()], &mut |_, _| {}).unwrap();
            made.iter()
                .flat_map(|tensor| tensor.values::<f32>().unwrap().to_vec())
                .collect::<Vec<f32>>()
        });
        // The matrix product with the identity matrix only adds zeros, so the results are equal.
        assert_eq!(own, again, "{text}");
        assert!(own.iter().any(|&state| state != 0.0), "{text}");
    }
}

#[test]
fn the_file_does_not_hold_the_identity_of_the_input() {
    let text = layer(
        Cell::Lstm,
        Direction::Forward,
        &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
        "alpha=[0.0,0.0,0.0], beta=[0.0,0.0,0.0], clip=inf, coupled=0",
    );
    // 500 states have 2,000 gates, so the identity matrix would have 16 MB.
    let text = text
        .replace("[3,2,8]", "[3,2,2000]")
        .replace("1,8,2]", "1,2000,500]")
        .replace(",2,2]", ",2,500]");
    let file = bytes(&module(&text));
    let graph = ModelProto::decode(file.as_slice()).unwrap().graph.unwrap();
    let weights: usize = graph
        .initializer
        .iter()
        .filter_map(|tensor| tensor.raw_data.as_ref())
        .map(bytes::Bytes::len)
        .sum();
    assert_eq!(weights, 4 * 2000 * 500 + 8 * (2 + 3));
    assert!(file.len() < weights + 2000, "{}", file.len());
}
