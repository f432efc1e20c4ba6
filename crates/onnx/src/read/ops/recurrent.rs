//! Reads recurrent layers. The matrix product of the input and its weights does not depend on the state. So it is
//! computed by one op over all steps, before the layer. Biases that are simply added are part of that op.

use crate::activations::{ACTIVATIONS, Parameter};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Activations, Add, Cell, Direction, Gemm, Pad, PadMode, Recurrent, Transpose};
use strait_core::{ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("RNN", 7, |reader| layer(reader, Cell::Plain)).and(&[14, 22]),
    Row::new("GRU", 7, |reader| {
        let linear = reader.flag("linear_before_reset")?;
        layer(reader, if linear { Cell::GruLinear } else { Cell::Gru })
    })
    .and(&[14, 22]),
    Row::new("LSTM", 7, |reader| layer(reader, Cell::Lstm)).and(&[14, 22]),
];

fn layer(reader: &mut OperatorReader<'_, '_>, cell: Cell) -> Result<(), Refusal> {
    let invalid = |text: String| Refusal::invalid(ReasonCode::Operands, text);
    let direction = reader.word("direction", "forward", Direction::parse)?;
    let (weight, recurrent) = (reader.ty(1)?, reader.ty(2)?);
    let (Some(weights), Some(states)) = (weight.dims(), recurrent.dims()) else {
        return Err(invalid(format!("the weights {weight} and {recurrent} are symbolic")));
    };
    let (&[directions, rows, inputs], &[_, _, hidden]) = (&weights[..], &states[..]) else {
        return Err(invalid(format!(
            "the weights {weight} and {recurrent} do not have three axes"
        )));
    };
    if reader
        .int("hidden_size")?
        .is_some_and(|size| u64::try_from(size) != Ok(hidden))
    {
        return Err(invalid(format!("`hidden_size` is not that of the weights, {hidden}")));
    }
    let batch_first = reader.opset() >= 14 && reader.flag("layout")?;
    let op = operation(reader, cell, direction)?;
    let extent =
        |extent: u64| i64::try_from(extent).map_err(|_| Refusal::invalid(ReasonCode::Limit, "an axis is too long"));
    let (directions, rows, inputs, hidden) = (extent(directions)?, extent(rows)?, extent(inputs)?, extent(hidden)?);
    let all = directions
        .checked_mul(rows)
        .ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "the weights have too many rows"))?;

    let turned = |reader: &mut OperatorReader<'_, '_>, position: usize| {
        let operand = Arg::Operand(position);
        if !batch_first || !reader.has(position) {
            return Ok(operand);
        }
        reader.transposed(&operand, &[1, 0, 2])
    };
    let x = turned(reader, 0)?;
    let weight = reader.reshaped(&Arg::Operand(1), &[all, inputs])?;
    let (bias, inner) = match reader.has(3) {
        true => biases(reader, cell, directions, hidden)?,
        false => (Arg::Absent, Arg::Absent),
    };
    let before = reader.push(Gemm::canonical(), &[x, weight, bias])?;
    let lengths = lengths(reader)?;
    let (h, c) = (turned(reader, 5)?, turned(reader, 6)?);
    let mut operands = vec![before, Arg::Operand(2), lengths, h];
    match cell {
        Cell::Lstm => operands.extend([c, Arg::Operand(7)]),
        Cell::GruLinear => operands.extend([Arg::Absent, Arg::Absent, inner]),
        Cell::Plain | Cell::Gru => {}
    }
    if !batch_first {
        return reader.finish(op, &operands);
    }
    let results = reader.push_all(op, &operands)?;
    let orders: [&[u32]; 3] = [&[2, 0, 1, 3], &[1, 0, 2], &[1, 0, 2]];
    for (position, (result, order)) in results.into_iter().zip(orders).enumerate() {
        let permutation = order.into();
        reader.finish_result(position, Transpose { permutation }, &[result])?;
    }
    Ok(())
}

/// The recurrent op, with the activations that the attributes state.
fn operation(reader: &mut OperatorReader<'_, '_>, cell: Cell, direction: Direction) -> Result<Recurrent, Refusal> {
    let usual: &[&str] = match cell {
        Cell::Plain => &["Tanh"],
        Cell::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        Cell::Gru | Cell::GruLinear => &["Sigmoid", "Tanh"],
    };
    let directions = if direction == Direction::Bidirectional { 2 } else { 1 };
    let given = reader.texts("activations")?.unwrap_or_default();
    let words: Vec<&str> = match given.is_empty() {
        true => usual.repeat(directions),
        false => given,
    };
    // For a plain layer, ONNX defines two activations as the default, although the layer may have only one direction.
    let count = usual.len() * directions;
    let words = words.get(..count).ok_or_else(|| {
        Refusal::invalid(
            ReasonCode::Operands,
            format!("{} `activations`, {count} are needed", words.len()),
        )
    })?;
    let mut alphas = reader.floats("activation_alpha")?.unwrap_or_default().iter().copied();
    let mut betas = reader.floats("activation_beta")?.unwrap_or_default().iter().copied();
    let mut op = Recurrent {
        cell,
        direction,
        activations: Activations(Default::default()),
        alpha: Vec::new(),
        beta: Vec::new(),
        clip: match reader.float("clip")? {
            Some(clip) if clip > 0.0 => clip,
            _ => f32::INFINITY,
        },
        coupled: cell == Cell::Lstm && reader.flag("input_forget")?,
        cell_clip: f32::INFINITY,
    };
    for word in words {
        let found = ACTIVATIONS.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(word));
        let found = found.ok_or_else(|| Refusal::Unsupported(format!("its activation is {word}")))?;
        let &(activation, _, [alpha, beta]) = found;
        // The lists of parameters have an entry only for those activations that have the parameter, in the order of the
        // activations.
        let next = |parameter: Parameter, stated: &mut dyn Iterator<Item = f32>| match parameter {
            Parameter::Absent => Ok(0.0),
            Parameter::Or(default) => Ok(stated.next().unwrap_or(default)),
            Parameter::Stated => stated.next().ok_or_else(|| {
                Refusal::Unsupported(format!("its activation {word} has no parameters, and no default"))
            }),
        };
        op.activations.0.push(activation);
        op.alpha.push(next(alpha, &mut alphas)?);
        op.beta.push(next(beta, &mut betas)?);
    }
    Ok(op)
}

/// Returns two biases: the one that is added to the product of the input and its weights, and the one that a GRU with
/// `linear_before_reset` adds inside of a gate (absent for other layers). In the node's operand, the input biases come
/// first, and then the state biases.
fn biases(
    reader: &mut OperatorReader<'_, '_>,
    cell: Cell,
    directions: i64,
    hidden: i64,
) -> Result<(Arg, Arg), Refusal> {
    let too_long = || Refusal::invalid(ReasonCode::Limit, "the biases are too long");
    let rows = hidden.checked_mul(cell.gates() as i64).ok_or_else(too_long)?;
    let part = |reader: &mut OperatorReader<'_, '_>, from: i64, to: i64| reader.part(&Arg::Operand(3), 1, from, to);
    let end = rows.checked_mul(2).ok_or_else(too_long)?;
    let input = part(reader, 0, rows)?;
    let (state, inner) = match cell {
        Cell::GruLinear => {
            let gates = part(reader, rows, end - hidden)?;
            let op = Pad {
                amounts: [0, 0, 0, hidden].as_slice().into(),
                mode: PadMode::Constant,
                value: 0.0,
            };
            (reader.push(op, &[gates])?, part(reader, end - hidden, end)?)
        }
        _ => (part(reader, rows, end)?, Arg::Absent),
    };
    let sum = reader.push(Add {}, &[input, state])?;
    let all = rows.checked_mul(directions).ok_or_else(too_long)?;
    Ok((reader.reshaped(&sum, &[all])?, inner))
}

/// The number of steps of each sequence. Absent if all sequences have as many steps as the input.
fn lengths(reader: &mut OperatorReader<'_, '_>) -> Result<Arg, Refusal> {
    if !reader.has(4) {
        return Ok(Arg::Absent);
    }
    let steps = reader.ty(0)?.shape.first().and_then(|dim| dim.fixed());
    let known = reader
        .constant(4)?
        .and_then(|lengths: TensorData| lengths.to_i64().ok());
    match known {
        Some(lengths) if lengths.iter().all(|&length| u64::try_from(length).ok() == steps) => Ok(Arg::Absent),
        _ => reader.indices(4),
    }
}
