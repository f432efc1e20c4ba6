//! Reads operators that pass a state from one call to the next.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use smallvec::smallvec;
use strait_core::op::{Concat, Conv, Function, Identity, Slice, Unary};
use strait_core::{Carrier, ReasonCode, WeightZero};

pub(super) const ROWS: &[Row] = &[
    Row::new("CausalConvWithState", 27, causal_conv),
    Row::new("LinearAttention", 27, linear_attention),
];

/// A causal convolution of each channel by itself. It runs over the state followed by the operand; the end of both
/// becomes the new state.
fn causal_conv(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let activation = match site.text("activation", "none")? {
        "none" => None,
        "silu" | "swish" => Some(Function::Silu),
        other => return Err(Refusal::Unsupported(format!("`activation` is {other}"))),
    };
    let (x, weight) = (site.extents(&Arg::Operand(0))?, site.extents(&Arg::Operand(1))?);
    let (&[_, channels, length], &[_, _, taps @ 1..=i64::MAX]) = (x.as_slice(), weight.as_slice()) else {
        return Err(Refusal::invalid(
            ReasonCode::ConvWeight,
            "operand and weight need rank 3",
        ));
    };
    let state = taps - 1;
    let mut padded = Arg::Operand(0);
    let mut before = state;
    if site.has(3) {
        padded = site.joined(&[Arg::Operand(3), padded], 2)?;
        before = 0;
    } else if site.has_result(1) && state > 0 {
        let pad = strait_core::op::Pad {
            amounts: smallvec![0, 0, state, 0, 0, 0],
            mode: strait_core::op::PadMode::Constant,
            value: 0.0,
        };
        padded = site.push(pad, &[padded])?;
        before = 0;
    }
    if site.has_result(1) {
        let end = Slice {
            starts: smallvec![length],
            ends: smallvec![length + state],
            axes: smallvec![2],
            steps: smallvec![1],
        };
        site.finish_result(1, end, &[padded.clone()])?;
    }
    let narrow =
        |number: i64| u32::try_from(number).map_err(|_| Refusal::invalid(ReasonCode::Limit, "it is too large"));
    let conv = Conv {
        stride: smallvec![1],
        pad: smallvec![narrow(before)?, 0],
        dilation: smallvec![1],
        groups: narrow(channels)?,
        pad_value: 0,
        accumulator: Carrier::I32,
        weight_zero: WeightZero::default(),
    };
    let operands = [padded, Arg::Operand(1), Arg::Operand(2)];
    match activation {
        None => site.finish_result(0, conv, &operands),
        Some(function) => {
            let sums = site.push(conv, &operands)?;
            site.finish_result(0, Unary { function }, &[sums])
        }
    }
}

/// The largest number of steps of a recurrence that is unrolled.
const MOST_STEPS: i64 = 1024;

/// Linear attention. Each head has a state S, [size of keys, size of values], which each position updates and then
/// reads:
///
/// S ← exp(g)·S, if `update_rule` has a gate; S ← S + k·vᵀ, or with the delta rule S + k·(β·(v − Sᵀk))ᵀ;
/// result: scale·qᵀS. Several neighbouring heads of the query share one head of keys and values.
fn linear_attention(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    // The chunk size only tells an implementation how many positions to process together.
    site.ignore(&["chunk_size"]);
    let (gated, delta) = match site.text("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(Refusal::Unsupported(format!("`update_rule` is {other}"))),
    };
    let (queries, keys) = (
        site.int("q_num_heads")?.unwrap_or(0),
        site.int("kv_num_heads")?.unwrap_or(0),
    );
    let invalid = |text: &str| Refusal::invalid(ReasonCode::Blocks, text);
    if keys <= 0 || queries <= 0 || queries % keys != 0 {
        return Err(invalid(
            "the number of heads of the query is no multiple of that of the keys",
        ));
    }
    let (q, v) = (site.extents(&Arg::Operand(0))?, site.extents(&Arg::Operand(2))?);
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
    let scale = match site.float("scale")?.unwrap_or(0.0) {
        0.0 => 1.0 / (d_k as f64).sqrt(),
        scale => scale.into(),
    };
    let mut state = match site.has(3) {
        true => Arg::Operand(3),
        false => {
            let shape = [batch, keys, d_k, d_v].map(i64::unsigned_abs);
            let count = site.room(&shape)?;
            Arg::Constant(site.floats_of(&shape, &vec![0.0; count])?)
        }
    };
    let gates = match gated {
        true => Some(site.function(Function::Exp, &Arg::Operand(4))?),
        false => None,
    };
    let query = site.scaled(&Arg::Operand(0), scale)?;
    let width = queries
        .checked_mul(d_v)
        .ok_or_else(|| invalid("the result is too large"))?;
    let mut results = Vec::new();
    for step in 0..steps {
        let at = |site: &mut NodeReader<'_, '_>, x: &Arg, shape: [i64; 4]| -> Result<Arg, Refusal> {
            let row = site.part(x, 1, step, step + 1)?;
            site.reshaped(&row, &shape)
        };
        let q = at(site, &query, [0, keys, group, d_k])?;
        let k = at(site, &Arg::Operand(1), [0, keys, d_k, 1])?;
        let mut v = at(site, &Arg::Operand(2), [0, keys, 1, d_v])?;
        if let Some(gates) = &gates {
            // The gate is one number for a head, or one for each row of its state.
            let gate = at(site, gates, [0, keys, -1, 1])?;
            state = site.times(&state, &gate)?;
        }
        if delta {
            let row = at(site, &Arg::Operand(1), [0, keys, 1, d_k])?;
            let known = site.product(&row, &state)?;
            let new = site.minus(&v, &known)?;
            let beta = at(site, &Arg::Operand(5), [0, -1, 1, 1])?;
            v = site.times(&beta, &new)?;
        }
        let change = site.times(&k, &v)?;
        state = site.plus(&state, &change)?;
        let read = site.product(&q, &state)?;
        results.push(site.reshaped(&read, &[0, 1, width])?);
    }
    site.finish_result(1, Identity {}, &[state])?;
    site.finish_result(0, Concat { axis: 1 }, &results)
}
