//! Reads operators that take a state from an earlier run and return the state for the next one.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Function, Identity};
use strait_import::{Window, slice_along};

pub(super) const ROWS: &[Row] = &[
    Row::new("CausalConvWithState", 27, causal_conv),
    Row::new("LinearAttention", 27, linear_attention),
];

/// Reads a causal convolution, for each channel separately. The convolution runs over the elements of the state,
/// followed by those of the operand. The last of all these elements become the new state.
fn causal_conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let activation = match reader.text("activation", "none")? {
        "none" => None,
        "silu" | "swish" => Some(Function::Silu),
        other => return Err(Refusal::Unsupported(format!("`activation` is {other}"))),
    };
    let (x, weight) = (reader.extents(&Arg::Operand(0))?, reader.extents(&Arg::Operand(1))?);
    let (&[_, channels, length], &[_, _, taps @ 1..=i64::MAX]) = (x.as_slice(), weight.as_slice()) else {
        return Err(Refusal::invalid(
            ReasonCode::ConvWeight,
            "operand and weight need rank 3",
        ));
    };
    let state = taps - 1;
    let mut padded = Arg::Operand(0);
    let mut before = state;
    if reader.has(3) {
        padded = reader.joined(&[Arg::Operand(3), padded], 2)?;
        before = 0;
    } else if reader.has_result(1) && state > 0 {
        let pad = strait_core::op::Pad {
            amounts: smallvec![0, 0, state, 0, 0, 0],
            mode: strait_core::op::PadMode::Constant,
            value: 0.0,
        };
        padded = reader.push(pad, &[padded])?;
        before = 0;
    }
    if reader.has_result(1) {
        let end = slice_along([(2, [length, length + state, 1])]);
        reader.finish_result(1, end, &[padded.clone()])?;
    }
    let narrow =
        |number: i64| u32::try_from(number).map_err(|_| Refusal::invalid(ReasonCode::Limit, "it is too large"));
    let conv = Window::dense(smallvec![narrow(before)?, 0]).convolution(narrow(channels)?);
    let operands = [padded, Arg::Operand(1), Arg::Operand(2)];
    match activation {
        None => reader.finish_result(0, conv, &operands),
        Some(function) => {
            let sums = reader.push(conv, &operands)?;
            reader.finish_result(0, function, &[sums])
        }
    }
}

/// The largest number of steps to which a recurrence is unrolled.
const MOST_STEPS: i64 = 1024;

/// Reads LinearAttention. Each head has a state S, [size of keys, size of values]. Each position has a key k, a value
/// v, a query q, a decay g and a factor β. At each position, the state is first updated and then read:
///
/// S ← exp(g)·S, if `update_rule` has a gate; S ← S + k·vᵀ, or with the delta rule S ← S + k·(β·(v − Sᵀk))ᵀ; result:
/// scale·qᵀS. Several neighbouring heads of the query use the same head of keys and values.
fn linear_attention(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // The chunk size only says how many positions an implementation may process together.
    reader.ignore(&["chunk_size"]);
    let (gated, delta) = match reader.text("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(Refusal::Unsupported(format!("`update_rule` is {other}"))),
    };
    let (queries, keys) = (
        reader.int("q_num_heads")?.unwrap_or(0),
        reader.int("kv_num_heads")?.unwrap_or(0),
    );
    let invalid = |text: &str| Refusal::invalid(ReasonCode::Blocks, text);
    if keys <= 0 || queries <= 0 || queries % keys != 0 {
        return Err(invalid(
            "the number of heads of the query is no multiple of that of the keys",
        ));
    }
    let (q, v) = (reader.extents(&Arg::Operand(0))?, reader.extents(&Arg::Operand(2))?);
    let (&[batch, steps, q_width], &[_, _, v_width]) = (q.as_slice(), v.as_slice()) else {
        return Err(invalid("query, key and value need rank 3"));
    };
    if q_width % queries != 0 || v_width % keys != 0 {
        return Err(invalid("the heads are not all of one size"));
    }
    if steps > MOST_STEPS {
        return Err(Refusal::Unsupported(format!(
            "{steps} positions; at most {MOST_STEPS} are read"
        )));
    }
    let (d_k, d_v, group) = (q_width / queries, v_width / keys, queries / keys);
    let scale = match reader.float("scale")?.unwrap_or(0.0) {
        0.0 => 1.0 / (d_k as f64).sqrt(),
        scale => scale.into(),
    };
    let mut state = match reader.has(3) {
        true => Arg::Operand(3),
        false => {
            let shape = [batch, keys, d_k, d_v].map(i64::unsigned_abs);
            let count = reader.room(&shape)?;
            Arg::Constant(reader.floats_of(&shape, &vec![0.0; count])?)
        }
    };
    let gates = match gated {
        true => Some(reader.function(Function::Exp, &Arg::Operand(4))?),
        false => None,
    };
    let query = reader.scaled(&Arg::Operand(0), scale)?;
    let width = queries
        .checked_mul(d_v)
        .ok_or_else(|| invalid("the result is too large"))?;
    let mut results = Vec::new();
    for step in 0..steps {
        let at = |reader: &mut OperatorReader<'_, '_>, x: &Arg, shape: [i64; 4]| -> Result<Arg, Refusal> {
            let row = reader.part(x, 1, step, step + 1)?;
            reader.reshaped(&row, &shape)
        };
        let q = at(reader, &query, [0, keys, group, d_k])?;
        let k = at(reader, &Arg::Operand(1), [0, keys, d_k, 1])?;
        let mut v = at(reader, &Arg::Operand(2), [0, keys, 1, d_v])?;
        if let Some(gates) = &gates {
            // The gate has one number for each head, or one for each row of the head's state.
            let gate = at(reader, gates, [0, keys, -1, 1])?;
            state = reader.times(&state, &gate)?;
        }
        if delta {
            let row = at(reader, &Arg::Operand(1), [0, keys, 1, d_k])?;
            let known = reader.product(&row, &state)?;
            let new = reader.minus(&v, &known)?;
            let beta = at(reader, &Arg::Operand(5), [0, -1, 1, 1])?;
            v = reader.times(&beta, &new)?;
        }
        let change = reader.times(&k, &v)?;
        state = reader.plus(&state, &change)?;
        let read = reader.product(&q, &state)?;
        results.push(reader.reshaped(&read, &[0, 1, width])?);
    }
    reader.finish_result(1, Identity {}, &[state])?;
    reader.finish_result(0, Concat { axis: 1 }, &results)
}
