use super::*;
use crate::quant::{Grid, QuantParams};
use crate::text::parse;
use crate::verifier::verify;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A product with weights and bias, and a constant that two nodes read on one grid.
const TEXT: &str = "strait 1 annotated
graph @main(%x: f32[1,2]) {
  %a: f32[1,2] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %m: f32[1,2] = mul(%a, @k) {a_zero=0, b_zero=0}
  %n: f32[1,2] = mul(%m, @k) {a_zero=0, b_zero=0}
  return %n
}
quant @main {
  input 0: i8[-128,127] asymmetric half_even overlapped a operand 0
  a operand 0: i8[-128,127] asymmetric half_even activated scale=0.5 zero=3 observed
  a operand 1: i8[-127,127] symmetric channel=0 half_even activated scale=[0.5,0.25] zero=0 axis=0 observed
  a operand 2: i32[-2147483648,2147483647] symmetric channel=0 half_even passive product a operand 0, a operand 1
  a result 0: i8[-128,127] asymmetric half_even activated scale=0.25 zero=0 observed
  m operand 0: i8[-128,127] asymmetric half_even overlapped a result 0
  m operand 1: i8[-128,127] asymmetric half_even activated scale=0.125 zero=1 observed
  m result 0: i8[-128,127] asymmetric half_even activated scale=0.5 zero=0 observed
  n operand 0: i8[-128,127] asymmetric half_even overlapped m result 0
  n operand 1: i8[-128,127] asymmetric half_even overlapped m operand 1
  n result 0: i8[-128,127] asymmetric half_even activated scale=2.0 zero=0 observed
  output 0: i8[-128,127] asymmetric half_even overlapped n result 0
}
data @w: f32[2,2] = inline [1.0,-2.0,0.5,3.0]
data @b: f32[2] = inline [4.0,-8.0]
data @k: f32[2] = inline [1.0,-0.5]
";

/// Parameters of the graph: node, operand, elements.
const PARAMETERS: [(usize, usize, usize); 4] = [(0, 1, 4), (0, 2, 2), (1, 1, 2), (2, 1, 2)];

/// q = rint(x / s) + z, by channels of axis 0, into the pool.
fn rounded(module: &mut Module, id: ConfigId) -> Result<DataId, IllegalMove> {
    let graph = module.main();
    let (config, grid) = (graph.quant.config(id).unwrap(), graph.quant.params(id).unwrap());
    let Port::Operand(index) = config.port else {
        panic!("no operand")
    };
    let value = graph.node(config.node).unwrap().inputs[index].unwrap();
    let tensor = module.constant(graph, value).unwrap();
    let values = tensor.to_f32().unwrap();
    let each = values.len() / grid.scale.channels().unwrap_or(1);
    let code = |(at, x): (usize, &f32)| {
        let zero = i64::from(*grid.zero_point.get(at / each).unwrap());
        (x / grid.scale.get(at / each).unwrap()).round_ties_even() as i64 + zero
    };
    let codes: Vec<i64> = values.iter().enumerate().map(code).collect();
    let codes = TensorData::from_integers(config.scheme.elem().unwrap(), tensor.shape(), &codes).unwrap();
    Ok(module.add_data(codes))
}

fn op(module: &mut Module, node: usize) -> QuantizableOp<'_> {
    let main = module.main;
    QuantizableOp::new(module, main, NodeId::new(node)).unwrap()
}

fn bake(module: &mut Module, node: usize) {
    op(module, node).bake(rounded).unwrap();
}

/// The parameters that the nodes of the model read, to the bit, with grids and states.
fn read(module: &mut Module) -> impl PartialEq + std::fmt::Debug + use<> {
    let tensors = PARAMETERS.map(|(node, index, _)| op(module, node).parameter(index).cloned());
    let table = &module.main().quant;
    let configs: Vec<_> = (0..3)
        .flat_map(|node| {
            [Port::Operand(0), Port::Operand(1), Port::Operand(2), Port::Result(0)].map(|port| (node, port))
        })
        .filter_map(|(node, port)| table.id(NodeId::new(node), port))
        .map(|id| (table.state(id), table.grid(id)))
        .collect();
    (tensors, configs)
}

#[derive(Clone, Debug)]
enum Step {
    Dequantize(usize),
    Restore(usize),
    Bake(usize),
    Copy(usize),
    /// A parameter, and what its numbers become.
    Store(usize, f32),
}

fn any_step(store: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3usize).prop_map(Step::Dequantize),
        3 => (0..3usize).prop_map(Step::Restore),
        4 => (0..3usize).prop_map(Step::Bake),
        1 => (0..3usize).prop_map(Step::Copy),
        store => (0..4usize, 1..5i8).prop_map(|(which, by)| Step::Store(which, f32::from(by) / 4.0)),
    ]
}

/// The weights' grid as annotation would make it from their numbers: the largest of each row is code 4.
fn annotate_again(module: &mut Module) {
    let graph = module.main();
    let id = graph.quant.id(NodeId::new(0), Port::Operand(1)).unwrap();
    if graph.quant.state(id) == Some(State::Initial) {
        let values = op(module, 0).parameter(1).unwrap().to_f32().unwrap().into_owned();
        let scales: Vec<f32> = values
            .chunks(2)
            .map(|row| row[0].abs().max(row[1].abs()) / 4.0)
            .collect();
        let grid = Grid::new(QuantParams::channel(scales.into(), 0), Origin::Observed);
        module.main_mut().quant.transition(id, Move::Activate(grid)).unwrap();
    }
}

fn take(module: &mut Module, step: &Step, numbers: &mut BTreeMap<usize, Vec<f32>>) {
    match *step {
        Step::Dequantize(node) => op(module, node).dequantize(),
        Step::Restore(node) => op(module, node).restore(),
        Step::Bake(node) => bake(module, node),
        Step::Copy(node) => {
            let copy = op(module, node).copy().unwrap().unwrap();
            let both = [node, copy.index()].map(|node| op(module, node).parameter(1).cloned());
            assert_eq!(both[0], both[1]);
        }
        Step::Store(which, value) => {
            let (node, index, count) = PARAMETERS[which];
            let shape = op(module, node).parameter(index).unwrap().shape().to_vec();
            let edited = vec![value; count];
            match op(module, node).store(index, TensorData::from_values(&shape, &edited).unwrap()) {
                Ok(()) => drop(numbers.insert(which, edited)),
                Err(error) => assert_eq!((which, error), (2, StoreError::Shared(1))),
            }
        }
    }
}

/// The same model with these numbers, annotated and not baked.
fn fresh(numbers: &BTreeMap<usize, Vec<f32>>) -> Module {
    let mut module = parse(TEXT).unwrap();
    for (&which, values) in numbers {
        let (node, index, _) = PARAMETERS[which];
        let shape = op(&mut module, node).parameter(index).unwrap().shape().to_vec();
        let tensor = TensorData::from_values(&shape, values).unwrap();
        op(&mut module, node).store(index, tensor).unwrap();
    }
    annotate_again(&mut module);
    module
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_steps_end_in_the_original_or_the_quantized_state(steps in proptest::collection::vec(any_step(0), 0..20)) {
        let mut module = parse(TEXT).unwrap();
        let mut numbers = BTreeMap::new();
        for step in &steps {
            take(&mut module, step, &mut numbers);
            prop_assert_eq!(verify(&module), Ok(()));
        }
        let mut original = parse(TEXT).unwrap();
        let mut baked = original.clone();
        for node in 0..3 {
            op(&mut module, node).dequantize();
            op(&mut original, node).dequantize();
            bake(&mut baked, node);
        }
        prop_assert_eq!(read(&mut module), read(&mut original));
        for node in 0..3 {
            op(&mut module, node).restore();
            bake(&mut module, node);
        }
        prop_assert_eq!(verify(&module), Ok(()));
        prop_assert_eq!(read(&mut module), read(&mut baked));
    }

    #[test]
    fn edited_parameters_end_as_if_they_had_been_those_of_the_model(steps in proptest::collection::vec(any_step(4), 0..20)) {
        let mut module = parse(TEXT).unwrap();
        let mut numbers = BTreeMap::new();
        for step in &steps {
            take(&mut module, step, &mut numbers);
            prop_assert_eq!(verify(&module), Ok(()));
        }
        let mut expected = fresh(&numbers);
        for node in 0..3 {
            op(&mut module, node).restore();
        }
        annotate_again(&mut module);
        for node in 0..3 {
            bake(&mut module, node);
            bake(&mut expected, node);
        }
        prop_assert_eq!(verify(&module), Ok(()));
        prop_assert_eq!(read(&mut module), read(&mut expected));
    }
}

#[test]
fn what_a_node_reads_is_what_its_config_says() {
    let mut module = parse(TEXT).unwrap();
    bake(&mut module, 0);
    let codes = |module: &mut Module| op(module, 0).parameter(1).unwrap().to_i64().unwrap();
    assert_eq!(codes(&mut module), [2, -4, 2, 12]);
    assert_eq!(op(&mut module, 0).parameter(2).unwrap().to_i64().unwrap(), [16, -64]);
    // The second reader's grid is its own affair.
    op(&mut module, 0).dequantize();
    op(&mut module, 0).dequantize();
    assert_eq!(
        *op(&mut module, 0).parameter(1).unwrap().to_f32().unwrap(),
        [1.0, -2.0, 0.5, 3.0]
    );
    op(&mut module, 0).restore();
    assert_eq!(codes(&mut module), [2, -4, 2, 12]);
}

#[test]
fn an_edited_parameter_is_that_of_one_node_and_its_bias_waits_for_the_new_grid() {
    let mut module = parse(TEXT).unwrap();
    (0..3).for_each(|node| bake(&mut module, node));
    let pool = module.pool().to_vec();
    let edited = TensorData::from_values(&[2], &[3.0f32, 3.0]).unwrap();
    op(&mut module, 2).store(1, edited.clone()).unwrap();
    assert_eq!(op(&mut module, 2).parameter(1), Some(&edited));
    // The other reader has its codes still, and the old tensors are as they were.
    assert_eq!(op(&mut module, 1).parameter(1).unwrap().to_i64().unwrap(), [9, -3]);
    assert_eq!(module.pool()[..pool.len()], pool);
    let weights = TensorData::from_values(&[2, 2], &[1.0f32; 4]).unwrap();
    op(&mut module, 0).store(1, weights).unwrap();
    let table = &module.main().quant;
    let state = |index| table.state(table.id(NodeId::new(0), Port::Operand(index)).unwrap());
    assert_eq!([1, 2].map(state), [Some(State::Initial), Some(State::PassiveInitial)]);
}

#[test]
fn a_store_that_cannot_be_changes_nothing() {
    let mut module = parse(TEXT).unwrap();
    let weight = module.main().quant.id(NodeId::new(0), Port::Operand(1)).unwrap();
    let grid = Grid::new(QuantParams::channel([0.5, 0.25].into(), 0), Origin::Given);
    let given = rounded(&mut module, weight).unwrap();
    let table = &mut module.main_mut().quant;
    table.transition(weight, Move::Activate(grid)).unwrap();
    table.transition(weight, Move::Give(given)).unwrap();
    (0..3).for_each(|node| bake(&mut module, node));
    assert_eq!(module.main().quant.baked(NodeId::new(0), Port::Operand(1)), Some(given));
    let before = module.clone();
    let two = TensorData::from_values(&[2], &[3.0f32, 3.0]).unwrap();
    let four = TensorData::from_values(&[2, 2], &[3.0f32; 4]).unwrap();
    let (node, port) = (NodeId::new(0), Port::Operand(1));
    for (at, index, tensor, expected) in [
        (0, 0, &two, StoreError::NotConstant(0)),
        (0, 7, &two, StoreError::NotConstant(7)),
        (0, 1, &two, StoreError::Type(1)),
        (0, 1, &four, StoreError::Given { node, port }),
        (1, 1, &two, StoreError::Shared(1)),
    ] {
        assert_eq!(op(&mut module, at).store(index, tensor.clone()), Err(expected));
        assert_eq!(module.main().quant.differences(&before.main().quant), []);
        assert_eq!(module.pool(), before.pool());
    }
}
