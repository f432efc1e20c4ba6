//! Tests recurrent layers whose activations are the identity, so that the states can be computed by hand.

use super::close;
use super::common::{Builder, run};
use strait_core::op::{Activation, Activations, Cell, Direction, Recurrent};
use strait_core::{Elem, Op, Stage};
use strait_execute::Tensor;

/// An operand: absent, floats, or lengths of sequences.
enum Operand<'a> {
    Absent,
    Floats(&'a [u64], &'a [f32]),
    Lengths(&'a [i64]),
}
use Operand::{Absent, Floats, Lengths};

/// All results of a layer.
fn layer(op: Recurrent, operands: &[Operand<'_>]) -> Vec<Vec<f32>> {
    let mut builder = Builder::new(Stage::Float);
    let mut tensors = Vec::new();
    let inputs: Vec<_> = operands
        .iter()
        .map(|operand| match operand {
            Absent => None,
            Floats(dims, values) => {
                let shape: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
                tensors.push(Tensor::from_values(&shape, values).unwrap());
                Some(builder.input(Elem::F32, dims))
            }
            Lengths(lengths) => {
                tensors.push(Tensor::from_values(&[lengths.len()], lengths).unwrap());
                Some(builder.input(Elem::I64, &[lengths.len() as u64]))
            }
        })
        .collect();
    let op: Op = op.into();
    let types: Vec<_> = inputs
        .iter()
        .map(|input| {
            input
                .and_then(|value| builder.module.main().value(value))
                .map(|value| &value.ty)
        })
        .collect();
    let types = builder.module.result_types(&op, &types, None).unwrap();
    let mut named = Vec::new();
    for ty in types {
        named.push((builder.module.names.fresh("result"), ty, None));
    }
    let name = builder.module.names.fresh("layer");
    let graph = builder.module.main_mut();
    let node = graph.add_node(name, op, &inputs, named);
    let results = graph.node(node).unwrap().outputs.to_vec();
    let found = run(&builder.output(&results), &tensors);
    found
        .iter()
        .map(|tensor| tensor.values::<f32>().unwrap().to_vec())
        .collect()
}

/// A layer whose activations are the identity.
fn linear(cell: Cell, direction: Direction) -> Recurrent {
    let count = cell.activations() * if direction == Direction::Bidirectional { 2 } else { 1 };
    Recurrent {
        cell,
        direction,
        activations: Activations(vec![Activation::Affine; count].into()),
        alpha: vec![1.0; count],
        beta: vec![0.0; count],
        clip: f32::INFINITY,
        coupled: false,
        cell_clip: f32::INFINITY,
    }
}

#[test]
fn a_plain_layer_adds_what_its_state_says() {
    let x = Floats(&[2, 1, 1], &[1.0, 2.0]);
    let half = Floats(&[1, 1, 1], &[0.5]);
    let found = layer(linear(Cell::Plain, Direction::Forward), &[x, half]);
    assert_eq!(found, [vec![1.0, 2.5], vec![2.5]]);
    let (x, half) = (Floats(&[2, 1, 1], &[1.0, 2.0]), Floats(&[1, 1, 1], &[0.5]));
    let first = Floats(&[1, 1, 1], &[4.0]);
    let found = layer(linear(Cell::Plain, Direction::Reverse), &[x, half, Absent, first]);
    // 2 + ½·4, and then 1 + ½·4.
    assert_eq!(found, [vec![3.0, 4.0], vec![3.0]]);
}

#[test]
fn the_product_of_state_and_weights_takes_rows_of_the_weights() {
    let x = Floats(&[1, 1, 2], &[0.0, 0.0]);
    let weight = Floats(&[1, 2, 2], &[1.0, 10.0, 100.0, 1000.0]);
    let first = Floats(&[1, 1, 2], &[2.0, 3.0]);
    let found = layer(linear(Cell::Plain, Direction::Forward), &[x, weight, Absent, first]);
    assert_eq!(found[1], [32.0, 3200.0]);
}

#[test]
fn sequences_end_where_their_lengths_say_and_begin_there_backwards() {
    // There are two sequences, of three steps and of one. Both directions read the same numbers.
    let x = [1.0, 1.0, 5.0, 5.0, 10.0, 10.0, 7.0, 7.0, 100.0, 100.0, 9.0, 9.0];
    let operands = [
        Floats(&[3, 2, 2], &x),
        Floats(&[2, 1, 1], &[1.0, 1.0]),
        Lengths(&[3, 1]),
    ];
    let found = layer(linear(Cell::Plain, Direction::Bidirectional), &operands);
    assert_eq!(
        found[0],
        [1.0, 5.0, 111.0, 5.0, 11.0, 0.0, 110.0, 0.0, 111.0, 0.0, 100.0, 0.0]
    );
    assert_eq!(found[1], [111.0, 5.0, 111.0, 5.0]);
}

#[test]
fn an_lstm_goes_on_as_its_formulas_say() {
    // The gates are i, o, f and c. Only i reads the state.
    let operands = || {
        vec![
            Floats(&[2, 1, 4], &[2.0, 3.0, 1.0, 5.0, 1.0, 1.0, 2.0, 1.0]),
            Floats(&[1, 4, 1], &[1.0, 0.0, 0.0, 0.0]),
        ]
    };
    let plain = linear(Cell::Lstm, Direction::Forward);
    // c = 2·5, h = 3·10; then i = 1 + 30, c = 2·10 + 31·1.
    assert_eq!(
        layer(plain.clone(), &operands()),
        [vec![30.0, 51.0], vec![51.0], vec![51.0]]
    );
    let mut with = operands();
    with.extend([Absent, Absent, Absent, Floats(&[1, 3], &[1.0, 1.0, 1.0])]);
    // o = 3 + 10; then i = 1 + 130 + 10, f = 2 + 10, c = 12·10 + 141, o = 1 + 261.
    assert_eq!(
        layer(plain.clone(), &with),
        [vec![130.0, 68382.0], vec![68382.0], vec![261.0]]
    );
    let coupled = Recurrent {
        coupled: true,
        ..plain.clone()
    };
    // f = 1 − 31.
    assert_eq!(
        layer(coupled, &operands()),
        [vec![30.0, -269.0], vec![-269.0], vec![-269.0]]
    );
    let bounded = Recurrent {
        cell_clip: 8.0,
        ..plain.clone()
    };
    // c = min(2·5, 8), h = 3·8; then i = 1 + 24, c = min(2·8 + 25, 8), h = 1·8.
    assert_eq!(layer(bounded, &operands()), [vec![24.0, 8.0], vec![8.0], vec![8.0]]);
    let clipped = Recurrent { clip: 4.0, ..plain };
    // c = 2·4, h = 3·4; then i = 4, c = 2·8 + 4, h = 1·4.
    assert_eq!(layer(clipped, &operands()), [vec![12.0, 4.0], vec![4.0], vec![20.0]]);
}

#[test]
fn a_gru_resets_its_state_or_what_comes_of_it() {
    let operands = || {
        vec![
            Floats(&[1, 1, 3], &[0.5, 2.0, 3.0]),
            Floats(&[1, 3, 1], &[0.0, 0.0, 1.0]),
            Absent,
            Floats(&[1, 1, 1], &[4.0]),
        ]
    };
    // ½·(3 + 2·4) + ½·4.
    assert_eq!(layer(linear(Cell::Gru, Direction::Forward), &operands())[1], [7.5]);
    let mut with = operands();
    with.extend([Absent, Absent, Floats(&[1, 1], &[1.0])]);
    // ½·(3 + 2·(4 + 1)) + ½·4.
    assert_eq!(layer(linear(Cell::GruLinear, Direction::Forward), &with)[1], [8.5]);
}

#[test]
fn each_activation_is_its_formula() {
    let x = [-2.0f32, -0.5, 0.5, 2.0];
    let cases: &[(Activation, f32, f32, &dyn Fn(f64) -> f64)] = &[
        (Activation::Sigmoid, 0.0, 0.0, &|x| 1.0 / (1.0 + (-x).exp())),
        (Activation::Tanh, 0.0, 0.0, &f64::tanh),
        (Activation::Relu, 0.0, 0.0, &|x| x.max(0.0)),
        (Activation::Affine, 3.0, 0.25, &|x| 3.0 * x + 0.25),
        (Activation::LeakyRelu, 0.5, 0.0, &|x| if x < 0.0 { x / 2.0 } else { x }),
        (Activation::ThresholdedRelu, 1.0, 0.0, &|x| {
            if x > 1.0 { x } else { 0.0 }
        }),
        (Activation::ScaledTanh, 2.0, 0.5, &|x| 2.0 * (x / 2.0).tanh()),
        (Activation::HardSigmoid, 0.25, 0.5, &|x| (x / 4.0 + 0.5).clamp(0.0, 1.0)),
        (Activation::Elu, 2.0, 0.0, &|x| {
            if x < 0.0 { 2.0 * x.exp_m1() } else { x }
        }),
        (Activation::Softsign, 0.0, 0.0, &|x| x / (1.0 + x.abs())),
        (Activation::Softplus, 0.0, 0.0, &|x| x.exp().ln_1p()),
    ];
    assert_eq!(cases.len(), Activation::ALL.len());
    for &(activation, alpha, beta, formula) in cases {
        let op = Recurrent {
            activations: Activations(vec![activation].into()),
            alpha: vec![alpha],
            beta: vec![beta],
            ..linear(Cell::Plain, Direction::Forward)
        };
        let found = layer(op, &[Floats(&[1, 4, 1], &x), Floats(&[1, 1, 1], &[0.0])]);
        let expected: Vec<f32> = x.iter().map(|&x| formula(f64::from(x)) as f32).collect();
        close(&found[0], &expected);
    }
}
