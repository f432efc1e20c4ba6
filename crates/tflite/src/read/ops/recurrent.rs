//! Reads recurrent layers over whole sequences. The inputs of all steps are multiplied by the input weights in one
//! matrix product before the layer.
//!
//! LiteRT keeps the states of such a layer in variables from one run to the next; before the first run they are 0. Here
//! every run begins with states of 0, as in the model from which the file was converted.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::Activation;
use strait_core::ReasonCode;
use strait_core::op::{self, Activations, Cell, Direction, Function, Gemm, Recurrent, Squeeze, Transpose};

pub(super) const ROWS: &[Row] = &[
    Row::new("UNIDIRECTIONAL_SEQUENCE_LSTM", 3, lstm).with_states(),
    Row::new("UNIDIRECTIONAL_SEQUENCE_RNN", 3, rnn).with_states(),
    Row::new("BIDIRECTIONAL_SEQUENCE_LSTM", 3, lstm_of_both).with_states(),
    Row::new("BIDIRECTIONAL_SEQUENCE_RNN", 3, rnn_of_both).with_states(),
];

fn lstm(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, UnidirectionalSequenceLSTMOptions);
    if option!(options, diagonal_recurrent_tensors, false) {
        return Err(Refusal::unsupported("the weights of its state are diagonals"));
    }
    if (20..24).any(|position| reader.has(position)) {
        return Err(Refusal::unsupported("it normalizes its gates"));
    }
    let by_time = option!(options, time_major, false);
    let function = of_lstm(
        option!(options, fused_activation_function, Activation::None),
        option!(options, cell_clip, 0.0),
    )?;
    let x = sequence(reader, by_time)?;
    states(reader, &[18, 19])?;
    let states = lstm_layer(reader, &x, 1, Direction::Forward, function)?;
    finish(reader, 0, &states, by_time)
}

fn rnn(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, SequenceRNNOptions);
    let by_time = option!(options, time_major, false);
    let activation = option!(options, fused_activation_function, Activation::None);
    let x = sequence(reader, by_time)?;
    states(reader, &[4])?;
    let states = rnn_layer(reader, &x, 1, Direction::Forward, activation)?;
    finish(reader, 0, &states, by_time)
}

fn lstm_of_both(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, BidirectionalSequenceLSTMOptions);
    let by_time = option!(options, time_major, true);
    let function = of_lstm(
        option!(options, fused_activation_function, Activation::None),
        option!(options, cell_clip, 0.0),
    )?;
    let is_merged = option!(options, merge_outputs, false);
    no_second_input(reader, 39..48)?;
    let x = sequence(reader, by_time)?;
    states(reader, &[35, 36, 37, 38])?;
    let forward = lstm_layer(reader, &x, 1, Direction::Forward, function)?;
    let backward = lstm_layer(reader, &x, 18, Direction::Reverse, function)?;
    if reader.arg_type(&forward)? != reader.arg_type(&backward)? {
        let text = "its directions have states of different sizes, of which LiteRT has no kernel";
        return Err(Refusal::invalid(ReasonCode::Operands, text));
    }
    finish_both(reader, [forward, backward], by_time, is_merged)
}

fn rnn_of_both(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, BidirectionalSequenceRNNOptions);
    let by_time = option!(options, time_major, false);
    let activation = option!(options, fused_activation_function, Activation::None);
    let is_merged = option!(options, merge_outputs, false);
    no_second_input(reader, 9..12)?;
    let x = sequence(reader, by_time)?;
    states(reader, &[4, 8])?;
    let forward = rnn_layer(reader, &x, 1, Direction::Forward, activation)?;
    let backward = rnn_layer(reader, &x, 5, Direction::Reverse, activation)?;
    finish_both(reader, [forward, backward], by_time, is_merged)
}

/// The input with the time axis first. If `by_time` is false, the batch axis comes first in the file.
fn sequence(reader: &mut OperatorReader<'_, '_>, by_time: bool) -> Result<Arg, Refusal> {
    if reader.operand_grid(0).is_some() {
        return Err(Refusal::unsupported(
            "it computes with codes; recurrent layers of floats are read",
        ));
    }
    reader.of_rank(0, 3)?;
    match by_time {
        true => Ok(Arg::Operand(0)),
        false => reader.transposed(&Arg::Operand(0), &[1, 0, 2]),
    }
}

/// Checks that the states are variables, as LiteRT requires.
fn states(reader: &mut OperatorReader<'_, '_>, positions: &[usize]) -> Result<(), Refusal> {
    for &position in positions {
        if !reader.operand_of_file(position).is_some_and(|state| state.is_variable) {
            let text = format!("operand {position}, a state, is no variable");
            return Err(Refusal::invalid(ReasonCode::Operands, text));
        }
    }
    Ok(())
}

/// The activation function of an LSTM's states, and the bound of its cell state.
#[derive(Clone, Copy)]
struct OfLstm {
    inner: op::Activation,
    parameter: f32,
    bound: f32,
}

fn of_lstm(activation: Activation, clip: f32) -> Result<OfLstm, Refusal> {
    // Without an activation, LiteRT's kernel uses the wrong numbers: the buffer for the states still has the values of
    // another gate.
    if activation == Activation::None {
        return Err(Refusal::unsupported(
            "its states go through no function, which LiteRT does not compute",
        ));
    }
    let (inner, parameter) = function(activation)?;
    let bound = if clip > 0.0 { clip } else { f32::INFINITY };
    Ok(OfLstm {
        inner,
        parameter,
        bound,
    })
}

fn no_second_input(reader: &OperatorReader<'_, '_>, positions: std::ops::Range<usize>) -> Result<(), Refusal> {
    match positions.into_iter().any(|position| reader.has(position)) {
        true => Err(Refusal::unsupported("it has a second input")),
        false => Ok(()),
    }
}

/// Returns the states of an LSTM after each step, with the shape `[steps, 1, batch, hidden]`. The operands of the LSTM
/// begin at position `first`: four input weights for the gates i, f, c and o, four recurrent weights, three peepholes,
/// four biases, and a projection.
fn lstm_layer(
    reader: &mut OperatorReader<'_, '_>,
    x: &Arg,
    first: usize,
    direction: Direction,
    function: OfLstm,
) -> Result<Arg, Refusal> {
    let (state, peephole, bias, projection) = (first + 4, first + 8, first + 11, first + 15);
    if reader.has(projection) {
        return Err(Refusal::unsupported("its states are projected"));
    }
    for position in first..peephole {
        reader.not_hybrid(0, position)?;
    }
    // If the operands for gate i are absent, the gate is 1 − f. Since 1 − sigmoid(z) is sigmoid(−z), the weights of
    // gate i are those of gate f with the opposite sign.
    let is_coupled = !reader.has(first);
    let weight = gates(reader, first, is_coupled)?;
    let bias = gates(reader, bias, is_coupled)?;
    let state = gates(reader, state, is_coupled)?;
    let peepholes = if reader.has(peephole + 2) {
        let [i, f, o] = [peephole, peephole + 1, peephole + 2];
        let i = own_or_negated(reader, i, f, is_coupled)?;
        let all = reader.joined(&[i, Arg::Operand(o), Arg::Operand(f)], 0)?;
        reader.unsqueezed(&all, &[0])?
    } else {
        Arg::Absent
    };
    let before = reader.push(Gemm::canonical(), &[x.clone(), weight, bias])?;
    let state = reader.unsqueezed(&state, &[0])?;
    let sigmoid = op::Activation::Sigmoid;
    let inner = (function.inner, function.parameter);
    let op = Recurrent {
        cell_clip: function.bound,
        ..recurrent(Cell::Lstm, direction, [(sigmoid, 0.0), inner, inner])
    };
    let [lengths, h, c] = [Arg::Absent, Arg::Absent, Arg::Absent];
    reader.push(op, &[before, state, lengths, h, c, peepholes])
}

/// Concatenates the operands for the gates. In the file, they begin at position `first`, in the order i, f, c, o; the
/// IR has the order i, o, f, c.
fn gates(reader: &mut OperatorReader<'_, '_>, first: usize, is_coupled: bool) -> Result<Arg, Refusal> {
    if let Some(missing) = (first + 1..first + 4).find(|&gate| !reader.has(gate)) {
        let text = format!("operand {missing} is missing");
        return Err(Refusal::invalid(ReasonCode::MissingOperand, text));
    }
    let i = own_or_negated(reader, first, first + 1, is_coupled)?;
    let [f, c, o] = [1, 2, 3].map(|gate| Arg::Operand(first + gate));
    reader.joined(&[i, o, f, c], 0)
}

fn own_or_negated(
    reader: &mut OperatorReader<'_, '_>,
    own: usize,
    other: usize,
    is_negated: bool,
) -> Result<Arg, Refusal> {
    match is_negated {
        true => reader.function(Function::Neg, &Arg::Operand(other)),
        false => Ok(Arg::Operand(own)),
    }
}

/// Returns the states of a plain RNN layer after each step. The operands of the layer are input weights, recurrent
/// weights, and a bias.
fn rnn_layer(
    reader: &mut OperatorReader<'_, '_>,
    x: &Arg,
    first: usize,
    direction: Direction,
    activation: Activation,
) -> Result<Arg, Refusal> {
    reader.not_hybrid(0, first)?;
    reader.not_hybrid(0, first + 1)?;
    let operands = [x.clone(), Arg::Operand(first), Arg::Operand(first + 2)];
    let before = reader.push(Gemm::canonical(), &operands)?;
    let state = reader.unsqueezed(&Arg::Operand(first + 1), &[0])?;
    let op = recurrent(Cell::Plain, direction, [function(activation)?]);
    reader.push(op, &[before, state])
}

fn recurrent<const N: usize>(cell: Cell, direction: Direction, activations: [(op::Activation, f32); N]) -> Recurrent {
    Recurrent {
        cell,
        direction,
        activations: Activations(activations.iter().map(|&(activation, _)| activation).collect()),
        alpha: activations.iter().map(|&(_, a)| a).collect(),
        beta: vec![0.0; N],
        clip: f32::INFINITY,
        coupled: false,
        cell_clip: f32::INFINITY,
    }
}

/// The activation function of the states, and its parameter.
fn function(activation: Activation) -> Result<(op::Activation, f32), Refusal> {
    match activation {
        Activation::None => Ok((op::Activation::Affine, 1.0)),
        Activation::Relu => Ok((op::Activation::Relu, 0.0)),
        Activation::Tanh => Ok((op::Activation::Tanh, 0.0)),
        Activation::ReluN1To1 | Activation::Relu6 | Activation::SignBit => Err(Refusal::unsupported(
            "its states go through another function than tanh, ReLU or none",
        )),
    }
}

/// Makes the states `[steps, 1, batch, hidden]` a result of the node. The axes of the result have the same order as
/// those of the input.
fn finish(reader: &mut OperatorReader<'_, '_>, position: usize, states: &Arg, by_time: bool) -> Result<(), Refusal> {
    let squeeze = Squeeze {
        axes: [1].as_slice().into(),
    };
    if by_time {
        return reader.finish_result(position, squeeze, std::slice::from_ref(states));
    }
    let states = reader.push(squeeze, std::slice::from_ref(states))?;
    let permutation = [1, 0, 2].as_slice().into();
    reader.finish_result(position, Transpose { permutation }, &[states])
}

/// Makes the states of both directions two results of the node. If `is_merged` is true, they become one result, joined
/// along the last axis.
fn finish_both(
    reader: &mut OperatorReader<'_, '_>,
    states: [Arg; 2],
    by_time: bool,
    is_merged: bool,
) -> Result<(), Refusal> {
    if !is_merged {
        finish(reader, 0, &states[0], by_time)?;
        return finish(reader, 1, &states[1], by_time);
    }
    let joined = reader.joined(&states, 3)?;
    finish(reader, 0, &joined, by_time)
}
