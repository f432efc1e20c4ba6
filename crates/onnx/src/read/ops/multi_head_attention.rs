//! Reads MultiHeadAttention of ONNX Runtime, as its provider for CPUs computes the operator.

use super::attention::hidden_unless;
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Relation, Reshape, Transpose};

pub(super) const ROWS: &[Row] = &[Row::of_runtime("MultiHeadAttention", multi_head_attention)];

/// Positions of the operands.
const BIAS: usize = 3;
const MASK: usize = 4;
const SUMMAND: usize = 5;
const PAST_KEY: usize = 6;
const PAST_VALUE: usize = 7;

/// softmax(scale·q·kᵀ + summand + mask)·v for each head, where the biases of the projections are added to q, k and v
/// first. Keys and values of the past come before the new ones.
fn multi_head_attention(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let heads = head_count(reader, "num_heads")?;
    if reader.rank(0)? != 3 || !reader.has(1) || !reader.has(2) || reader.rank(1)? == 5 {
        return Err(Refusal::unsupported(
            "its query, key and value are packed in one operand, which ONNX Runtime does not compute on CPUs either; \
             a query of rank 3, a key and a value are read",
        ));
    }
    if reader.has(8) || reader.has(9) {
        return Err(Refusal::unsupported(
            "`past_sequence_length` and `cache_indirection` are not read; leave them out, and let the past have only \
             the keys that are valid",
        ));
    }
    let width = reader.extent(&Arg::Operand(0), 2)?;
    let query = projected(reader, 0, heads, [0, width])?;
    let (key, value) = match reader.rank(1)? {
        // The keys and values of an encoder, which are already split into heads.
        4 if reader.has(BIAS) || reader.has(PAST_KEY) => {
            return Err(Refusal::invalid(
                ReasonCode::OperandType,
                "a key of rank 4 has neither a bias nor a past",
            ));
        }
        4 => (Arg::Operand(1), Arg::Operand(2)),
        _ => {
            let end = match reader.has(BIAS) {
                true => reader.extent(&Arg::Operand(BIAS), 0)?,
                false => 0,
            };
            let key = projected(reader, 1, heads, [width, 2 * width])?;
            (key, projected(reader, 2, heads, [2 * width, end])?)
        }
    };
    let (queries, new) = (reader.extent(&query, 2)?, reader.extent(&key, 2)?);
    let key = with_past(reader, key, PAST_KEY, 1)?;
    let value = with_past(reader, value, PAST_VALUE, 2)?;
    let keys = reader.extent(&key, 2)?;
    let mut scores = scores(reader, &query, &key)?;
    if reader.has(SUMMAND) {
        scores = reader.plus(&scores, &Arg::Operand(SUMMAND))?;
    }
    let hidden = reader.float("mask_filter_value")?.unwrap_or(-10_000.0);
    if reader.has(MASK) {
        let mask = mask(reader, keys, hidden)?;
        scores = reader.plus(&scores, &mask)?;
    }
    if reader.flag("unidirectional")? && queries > 1 {
        if new != queries {
            let text = format!(
                "`unidirectional` with {queries} queries and {new} new keys; as many keys as queries are needed"
            );
            return Err(Refusal::unsupported(text));
        }
        let seen = seen(reader, queries, keys, |query, key| key <= query + keys - new)?;
        let mask = hidden_unless(reader, &seen)?;
        scores = reader.plus(&scores, &mask)?;
    }
    let weights = reader.softmax(&scores, -1)?;
    finish_heads(reader, &weights, &value)
}

/// An attribute that is a number of heads.
pub(super) fn head_count(reader: &mut OperatorReader<'_, '_>, key: &'static str) -> Result<i64, Refusal> {
    match reader.int(key)? {
        Some(count @ 1..) => Ok(count),
        other => Err(Refusal::invalid(
            ReasonCode::Blocks,
            format!("`{key}` is {}; 1 or more is needed", other.unwrap_or(0)),
        )),
    }
}

/// Splits the last axis into heads: [batch, positions, heads·size] becomes [batch, heads, positions, size].
pub(super) fn split(reader: &mut OperatorReader<'_, '_>, x: &Arg, heads: i64) -> Result<Arg, Refusal> {
    let width = reader.extent(x, 2)?;
    if width % heads != 0 {
        let text = format!("{heads} heads do not divide the {width} elements of an operand");
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    let split = reader.reshaped(x, &[0, 0, heads, width / heads])?;
    reader.transposed(&split, &[0, 2, 1, 3])
}

/// An operand with its part of the bias, split into heads.
fn projected(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    heads: i64,
    [start, end]: [i64; 2],
) -> Result<Arg, Refusal> {
    let mut x = Arg::Operand(operand);
    if reader.has(BIAS) {
        let bias = reader.part(&Arg::Operand(BIAS), 0, start, end)?;
        x = reader.plus(&x, &bias)?;
    }
    split(reader, &x, heads)
}

/// Appends new keys or values to those of the past. Together they are also a result of the node.
fn with_past(reader: &mut OperatorReader<'_, '_>, x: Arg, past: usize, result: usize) -> Result<Arg, Refusal> {
    if reader.has(PAST_KEY) != reader.has(PAST_VALUE) {
        return Err(Refusal::invalid(
            ReasonCode::MissingOperand,
            "`past_key` and `past_value` are given together or not at all",
        ));
    }
    if reader.has(past) && reader.result_count() < 3 {
        // ONNX Runtime ignores the past here.
        return Err(Refusal::unsupported(
            "a past without the results `present_key` and `present_value`; name these results, too",
        ));
    }
    let all = match reader.has(past) {
        true => reader.push(Concat { axis: 2 }, &[Arg::Operand(past), x])?,
        false => x,
    };
    reader.finish_result(result, Identity {}, std::slice::from_ref(&all))?;
    Ok(all)
}

/// scale·q·kᵀ. If the attribute `scale` is missing or 0, the scale is 1/√size of a head.
pub(super) fn scores(reader: &mut OperatorReader<'_, '_>, query: &Arg, key: &Arg) -> Result<Arg, Refusal> {
    let scale = match reader.float("scale")? {
        Some(scale) if scale != 0.0 => f64::from(scale),
        _ => 1.0 / (reader.extent(query, 3)? as f64).sqrt(),
    };
    let query = reader.scaled(query, scale)?;
    let key = reader.transposed(key, &[0, 1, 3, 2])?;
    reader.product(&query, &key)
}

/// The operand that says which keys are padding, as numbers that are added to the scores: `hidden` for a padded key.
fn mask(reader: &mut OperatorReader<'_, '_>, keys: i64, hidden: f32) -> Result<Arg, Refusal> {
    let batch = reader.extent(&Arg::Operand(0), 0)?;
    let mask = reader.indices(MASK)?;
    let extents = reader.extents(&mask)?;
    let is_seen = match extents.as_slice() {
        &[count] if count == batch => {
            let lengths = reader.reshaped(&mask, &[-1, 1, 1, 1])?;
            let positions = reader.counted(&[keys.unsigned_abs()], keys)?;
            reader.compare(Relation::Less, &positions, &lengths)?
        }
        &[.., last] if last == keys && matches!(extents.len(), 2 | 3) => {
            let axes: &[i64] = if extents.len() == 2 { &[1, 2] } else { &[1] };
            let mask = reader.unsqueezed(&mask, axes)?;
            let zero = reader.number(&mask, 0.0)?;
            reader.compare(Relation::Less, &zero, &mask)?
        }
        other => {
            return Err(Refusal::unsupported(format!(
                "`key_padding_mask` has shape {other:?}; [{batch}], [{batch}, {keys}] or [{batch}, queries, {keys}] is \
                 read"
            )));
        }
    };
    let zero = Arg::Constant(reader.floats_of(&[], &[0.0])?);
    let hidden = Arg::Constant(reader.floats_of(&[], &[hidden])?);
    reader.select(&is_seen, &zero, &hidden)
}

/// A constant of shape [queries, keys] that says which query sees which key.
pub(super) fn seen(
    reader: &mut OperatorReader<'_, '_>,
    queries: i64,
    keys: i64,
    sees: impl Fn(i64, i64) -> bool,
) -> Result<Arg, Refusal> {
    let shape = [queries, keys].map(i64::unsigned_abs);
    reader.room(&shape)?;
    let pairs = (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key)));
    let values: Vec<bool> = pairs.map(|(query, key)| sees(query, key)).collect();
    Ok(Arg::Constant(reader.truths(&shape, &values)?))
}

/// Multiplies the values by their weights, and joins the heads.
pub(super) fn finish_heads(reader: &mut OperatorReader<'_, '_>, weights: &Arg, value: &Arg) -> Result<(), Refusal> {
    let heads = reader.product(weights, value)?;
    let permutation = smallvec![0, 2, 1, 3];
    let rows = reader.push(Transpose { permutation }, &[heads])?;
    let shape = smallvec![0, 0, -1];
    reader.finish_result(0, Reshape { shape }, &[rows])
}
