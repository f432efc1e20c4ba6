//! Tests of recurrent layers: the ops that they become, and the messages about those that are not read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::common;
use strait_import::Decoded;

use bytes::Bytes;
use common::{Table, Value, file, graph, kind, model, operator, tensor};
use strait_core::text::{self, PrintOptions};
use strait_tflite::{Model, ReadOptions};

const LSTM: u64 = 44;
const TANH: u64 = 4;

/// An LSTM with one step, one sequence, two inputs and one state. `change` replaces operands at the given positions.
fn lstm(options: Table, change: &[(usize, i32)]) -> Table {
    let variable = |name: &str| tensor(name, &[1, 1], 0).bits(5, 1);
    let tensors = vec![
        tensor("x", &[1, 1, 2], 0),
        tensor("w", &[1, 2], 1),
        tensor("r", &[1, 1], 2),
        tensor("b", &[1], 2),
        variable("h"),
        variable("c"),
        tensor("y", &[1, 1, 1], 0),
    ];
    let mut operands = vec![0, 1, 1, 1, 1, 2, 2, 2, 2, -1, -1, -1, 3, 3, 3, 3, -1, -1, 4, 5];
    for &(position, operand) in change {
        operands.resize(operands.len().max(position + 1), -1);
        operands[position] = operand;
    }
    let layer = operator(0, &operands, &[6]).bits(3, 71).with(4, Value::Table(options));
    model(
        vec![kind(LSTM, 1)],
        graph(tensors, vec![layer], &[0], &[6]),
        &[&[0.5, 7.0], &[0.25]],
    )
}

fn read(root: &Table) -> Result<String, String> {
    let model = Model::decode(Bytes::from(file(root))).map_err(|error| error.to_string())?;
    let module = model.read(&ReadOptions::default()).map_err(|error| error.to_string())?;
    Ok(text::print(&module, &PrintOptions::default()))
}

#[test]
fn the_states_of_an_lstm_are_variables_that_begin_at_zero() {
    let text = read(&lstm(Table::default().bits(0, TANH), &[])).unwrap();
    let clipped = Table::default().bits(0, TANH).bits(1, f32::to_bits(10.0).into());
    let bounded = read(&lstm(clipped, &[])).unwrap();
    assert!(
        bounded.contains("cell_clip=10.0") && !text.contains("cell_clip"),
        "{bounded}"
    );
    assert!(text.contains("recurrent(") && text.contains("cell=lstm"), "{text}");
    // The weights for the gates i, o, f and c are in one matrix product over all steps. The states are not operands.
    assert!(text.contains("[0.5,7.0,0.5,7.0,0.5,7.0,0.5,7.0]"), "{text}");
    assert!(!text.contains("%h") && !text.contains("%c:"), "{text}");
}

#[test]
fn an_input_gate_without_weights_is_the_forget_gate_negated() {
    let change = [(1, -1), (5, -1), (12, -1)];
    let text = read(&lstm(Table::default().bits(0, TANH), &change)).unwrap();
    assert!(text.contains("[-0.5,-7.0,0.5,7.0,0.5,7.0,0.5,7.0]"), "{text}");
    assert!(text.contains("[-0.25,0.25,0.25,0.25]"), "{text}");
}

#[test]
fn layers_of_other_kinds_are_refused_by_name() {
    let tanh = || Table::default().bits(0, TANH);
    for (options, change, words) in [
        (tanh(), (16, 2), "its states are projected"),
        (tanh(), (20, 3), "it normalizes its gates"),
        (tanh(), (18, 3), "operand 18, a state, is no variable"),
        (tanh(), (3, -1), "operand 3 is missing"),
        (tanh().bits(5, 1), (4, 1), "the weights of its state are diagonals"),
        (
            Table::default().bits(0, 3),
            (4, 1),
            "another function than tanh, ReLU or none",
        ),
        (Table::default(), (4, 1), "which LiteRT does not compute"),
    ] {
        let text = read(&lstm(options, &[change])).unwrap_err();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn other_operators_take_no_variable() {
    let mut root = lstm(Table::default().bits(0, TANH), &[]);
    // An ADD with the same operands, which cannot have variables as operands.
    root.0[1].1 = Value::Tables(vec![kind(0, 1)]);
    let text = read(&root).unwrap_err();
    assert!(text.contains("`h` is a variable"), "{text}");
}

/// A plain recurrent layer with one state and four inputs. Its input weights are codes on a grid.
fn hybrid(x: Table) -> Table {
    let grid = Table::default()
        .with(2, Value::Floats(vec![0.5]))
        .with(3, Value::Longs(vec![0]));
    let tensors = vec![
        x,
        tensor("w", &[1, 4], 1).bits(1, 9).with(4, Value::Table(grid)),
        tensor("r", &[1, 1], 2),
        tensor("b", &[1], 2),
        tensor("h", &[1, 1], 0).bits(5, 1),
        tensor("y", &[1, 1, 1], 0),
    ];
    let options = Table::default().bits(1, TANH);
    let layer = operator(0, &[0, 1, 2, 3, 4], &[5])
        .bits(3, 31)
        .with(4, Value::Table(options));
    let codes = f32::from_bits(u32::from_le_bytes([1, 2, 3, 0xfc]));
    model(
        vec![kind(35, 1)],
        graph(tensors, vec![layer], &[0], &[5]),
        &[&[codes], &[0.25]],
    )
}

#[test]
fn weights_of_codes_are_refused_unless_they_may_be_read_as_numbers() {
    let root = hybrid(tensor("x", &[1, 1, 4], 0));
    assert!(read(&root).unwrap_err().contains("it is hybrid"));
    let options = ReadOptions {
        hybrid_as_float: true,
        ..ReadOptions::default()
    };
    let module = Model::decode(Bytes::from(file(&root))).unwrap().read(&options).unwrap();
    let text = text::print(&module, &PrintOptions::default());
    assert!(text.contains("inline [0.5,1.0,1.5,-2.0]"), "{text}");
}

#[test]
fn a_layer_of_codes_is_refused() {
    let grid = Table::default()
        .with(2, Value::Floats(vec![0.5]))
        .with(3, Value::Longs(vec![0]));
    let codes = tensor("x", &[1, 1, 4], 0).bits(1, 9).with(4, Value::Table(grid));
    let text = read(&hybrid(codes)).unwrap_err();
    assert!(text.contains("it computes with codes"), "{text}");
}
