use super::*;
use crate::text::parse;
use crate::{DataId, Elem, Granularity, Move, NodeId, Policy, Port, QuantParams, Scheme, TensorData};
use std::sync::Arc;
use strait_requantize::Rounding;

/// Returns a module in which `weights` is the line with the config of the weights.
fn module(weights: &str) -> Module {
    let text = format!(
        "strait 1 annotated
        graph @g(%x: f32[1,2]) {{
          %y: f32[1,2] = gemm(%x, @w, @b) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
          return %y
        }}
        quant @g {{
          input 0: i8[-128,127] asymmetric half_even overlapped y operand 0
          y operand 0: i8[-128,127] asymmetric half_even activated scale=0.5 zero=3 observed
          y operand 1: {weights}
          y operand 2: i32[-2147483648,2147483647] symmetric channel=0 half_even passive product y operand 0, y operand 1
          y result 0: i8[-128,127] asymmetric half_even overlapped y operand 0
          output 0: i8[-128,127] asymmetric half_even overlapped y operand 0
        }}
        data @w: f32[2,2] = splat 1.0 data @b: f32[2] = splat 1.0"
    );
    parse(&text).unwrap()
}

const GOOD: &str = "i8[-127,127] symmetric channel=0 half_even activated scale=[1.0,2.0] zero=0 axis=0 observed";

fn broken(module: &Module, invariant: u8, text: &str) {
    let found = verify(module).unwrap_err();
    assert_eq!(found.shown[0].invariant, invariant, "{found}");
    assert!(found.to_string().contains(text), "{found}");
}

#[test]
fn a_grid_that_its_scheme_does_not_allow_is_found() {
    assert_eq!(verify(&module(GOOD)), Ok(()));
    let legal = [
        "i8[-127,127] symmetric channel=0 half_even activated scale=1.0 zero=0 observed",
        "i8[-127,127] symmetric half_even initial",
        "i8[-127,127] symmetric power_of_two half_even activated scale=5.877472e-39 zero=0 given",
        "i8[-127,127] symmetric power_of_two half_even activated scale=0.25 zero=0 given",
        "i4[-8,7] symmetric axis=1 block=2 half_even activated scale=[1.0,2.0] zero=0 axis=1 block=2 given",
        "e4m3 half_even activated scale=0.5 zero=0 observed",
    ];
    for line in legal {
        assert_eq!(verify(&module(line)), Ok(()), "{line}");
    }
    let cases = [
        (
            "i8[-127,127] symmetric half_even activated scale=0.0 zero=0 observed",
            "not finite and positive",
        ),
        (
            "i8[-127,127] symmetric half_even activated scale=inf zero=0 observed",
            "not finite and positive",
        ),
        (
            "i8[-127,127] symmetric half_even float activated scale=-1.0 zero=0 observed",
            "not finite and positive",
        ),
        (
            "i8[-127,127] symmetric half_even activated scale=1.0 zero=1 observed",
            "but is symmetric",
        ),
        ("e4m3 half_even activated scale=1.0 zero=1 observed", "but is symmetric"),
        ("e4m3 half_even activated scale=0.3 zero=0 observed", "no power of two"),
        (
            "u8[0,255] asymmetric half_even activated scale=1.0 zero=-1 observed",
            "outside of the type",
        ),
        // This scale is three times the smallest positive f32.
        (
            "u8[0,255] asymmetric power_of_two half_even activated scale=4e-45 zero=1 observed",
            "no power of two",
        ),
        (
            "u8[0,255] asymmetric half_even activated scale=1.0 zero=256 observed",
            "outside of the type",
        ),
        (
            "i8[-127,127] symmetric half_even activated scale=1.0 zero=0 axis=2 observed",
            "an axis that its value lacks",
        ),
        (
            "i8[-127,127] symmetric half_even activated scale=[1.0,1.0] zero=0 axis=0 observed",
            "along another axis",
        ),
        (
            "i8[-127,127] symmetric channel=1 half_even activated scale=[1.0,1.0] zero=0 axis=0 observed",
            "along another axis",
        ),
        (
            "i8[-127,127] symmetric channel=2 half_even activated scale=[1.0,1.0] zero=0 axis=2 observed",
            "as many scales",
        ),
        (
            "i8[-127,127] symmetric channel=0 half_even activated scale=[1.0,1.0,1.0] zero=0 axis=0 observed",
            "as many scales",
        ),
        (
            "i4[-8,7] symmetric axis=1 block=2 half_even activated scale=[1.0,2.0] zero=0 axis=1 block=1 given",
            "in other blocks",
        ),
        (
            "i4[-8,7] symmetric axis=1 block=3 half_even activated scale=[1.0,2.0] zero=0 axis=1 block=3 given",
            "as many scales",
        ),
    ];
    for (line, text) in cases {
        broken(&module(line), 20, text);
    }
}

#[test]
fn codes_that_are_not_those_of_their_parameter_are_found() {
    let bake = |index: usize, tensor: TensorData| {
        let mut module = module(GOOD);
        let data = module.add_data(tensor);
        let table = &mut module.main_mut().quant;
        let id = table.id(NodeId::new(0), Port::Operand(index)).unwrap();
        table.transition(id, Move::Bake(data)).unwrap();
        module
    };
    let codes = |elem, shape: &[u64], numbers: &[i64]| TensorData::from_integers(elem, shape, numbers).unwrap();
    let weights = [1, -127, 0, 127];
    assert_eq!(verify(&bake(1, codes(Elem::I8, &[2, 2], &weights))), Ok(()));
    assert_eq!(verify(&bake(2, codes(Elem::I32, &[2], &[5, i32::MIN.into()]))), Ok(()));
    let cases = [
        (
            bake(1, codes(Elem::I8, &[4], &weights)),
            "operand 1",
            "another type or shape",
        ),
        (
            bake(1, codes(Elem::I16, &[2, 2], &weights)),
            "operand 1",
            "another type or shape",
        ),
        (
            bake(1, codes(Elem::I8, &[2, 2], &[0, 0, 0, -128])),
            "operand 1",
            "leave the range",
        ),
        (
            bake(2, codes(Elem::I64, &[2], &[0, 0])),
            "operand 2",
            "another type or shape",
        ),
        (
            bake(0, codes(Elem::I8, &[1, 2], &[0, 0])),
            "operand 0",
            "are of what is no constant",
        ),
    ];
    for (module, place, text) in cases {
        broken(&module, 21, text);
        broken(&module, 21, place);
    }
    let mut absent = module(GOOD);
    let table = &mut absent.main_mut().quant;
    let id = table.id(NodeId::new(0), Port::Operand(1)).unwrap();
    table.transition(id, Move::Bake(DataId::new(99))).unwrap();
    broken(&absent, 21, "are not there");
}

#[test]
fn a_config_of_what_is_not_there_is_found() {
    let scheme = Scheme::integers(
        Policy::linear(true, Granularity::Tensor),
        Elem::I8,
        [-8, 7],
        Rounding::Floor,
    );
    let scheme = scheme.unwrap();
    for (node, port, text) in [
        (0, Port::Operand(3), "operand 3, which is not there"),
        (0, Port::Result(1), "result 1, which is not there"),
        (7, Port::Result(0), "node7: a config is of result 0"),
        // This config takes the place of an existing one.
        (0, Port::Result(0), "result 0, which is not there"),
        (0, Port::Input(1), "g: a config is of input 1, which is not there"),
    ] {
        let mut module = module(GOOD);
        module.main_mut().quant.add(NodeId::new(node), port, scheme);
        broken(&module, 18, text);
    }
    let mut module = module(GOOD);
    module.main_mut().set_stage(crate::Stage::Float);
    broken(&module, 18, "g has configs in the float stage");
}

#[test]
fn a_border_that_is_not_as_the_graph_has_it_is_found() {
    let border = |change: &dyn Fn(&mut crate::QuantTable)| {
        let mut module = module(GOOD);
        change(&mut module.main_mut().quant);
        module
    };
    for (port, text) in [
        (Port::Input(0), "input 0 has no config"),
        (Port::Output(0), "output 0 has no config"),
    ] {
        let without = border(&|table| table.withdraw(table.id(NodeId::OUTSIDE, port)));
        broken(&without, 23, text);
    }
    let other = |port: Port| {
        border(&move |table| {
            let id = table.id(NodeId::OUTSIDE, port).unwrap();
            let scheme = table.config(id).unwrap().scheme;
            table.withdraw([id]);
            let id = table.add(NodeId::OUTSIDE, port, scheme);
            let grid = crate::Grid::new(QuantParams::tensor(0.25, 3), crate::Origin::Rule);
            table.transition(id, Move::Activate(grid)).unwrap();
        })
    };
    // An operand may read the codes of the input on another grid, because they can be requantized. An output must have
    // the grid of its producer.
    assert_eq!(verify(&other(Port::Input(0))), Ok(()));
    broken(&other(Port::Output(0)), 23, "output 0 has another grid than what it is");
    let id = |table: &crate::QuantTable| table.id(NodeId::OUTSIDE, Port::Output(0)).unwrap();
    let float = border(&|table| table.transition(id(table), Move::Dequantize).unwrap());
    assert_eq!(verify(&float), Ok(()));
}

#[test]
fn a_value_with_a_grid_beside_the_configs_is_found() {
    let mut module = module(GOOD);
    let input = module.main().inputs()[0];
    module
        .main_mut()
        .set_quant(input, Some(Arc::new(QuantParams::tensor(0.5, 3))));
    broken(&module, 17, "%x has a grid beside the configs");
}

#[test]
fn a_set_with_two_schemes_is_found() {
    let mut module = module(GOOD);
    let quant = &mut module.main_mut().quant;
    let id = quant.id(NodeId::new(0), Port::Result(0)).unwrap();
    let policy = Policy::linear(false, Granularity::Tensor);
    let other = Scheme::integers(policy, Elem::I8, [-128, 127], Rounding::HalfAway).unwrap();
    quant.set_scheme(id, other);
    broken(
        &module,
        19,
        "half_away, but reads a grid of i8 [-128, 127] asymmetric per tensor half_even",
    );
}

#[test]
fn a_config_that_rests_on_what_was_taken_out_is_found() {
    // The grid of the bias is derived from the grids of both operands. The result and the graph's input and output read
    // the grid of the first operand.
    let of_first = ["input 0", "operand 2", "result 0", "output 0"];
    for (operand, resting) in [(0, of_first.as_slice()), (1, &["operand 2"])] {
        let mut module = module(GOOD);
        let table = &mut module.main_mut().quant;
        let id = table.id(NodeId::new(0), Port::Operand(operand)).unwrap();
        table.withdraw([id]);
        let found = verify(&module).unwrap_err();
        let told = found.shown.iter().filter(|violation| violation.invariant == 22);
        let told: Vec<&str> = told.map(|violation| violation.text.as_str()).collect();
        assert_eq!(told.len(), resting.len(), "{found}");
        for (text, port) in told.iter().zip(resting) {
            assert!(
                text.contains(&format!("{port} rests on a config that is not there")),
                "{text}"
            );
        }
    }
}
