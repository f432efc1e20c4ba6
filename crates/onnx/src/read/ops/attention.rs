//! Reads scaled dot product attention.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::op::{
    BinaryFunction, Concat, Function, Gather, Identity, Pad, PadMode, Reduction, Relation, Reshape, Transpose,
};
use strait_core::{Elem, ReasonCode};
use strait_import::matrix_product;

pub(super) const ROWS: &[Row] = &[Row::new("Attention", 23, attention).and(&[24, 25])];

/// Positions of the operands.
const MASK: usize = 3;
const PAST_KEY: usize = 4;
const PAST_VALUE: usize = 5;
const LENGTHS: usize = 6;

/// Positions of the results.
const PRESENT_KEY: usize = 1;
const PRESENT_VALUE: usize = 2;
const SCORES: usize = 3;

/// Reads Attention: softmax(scale·q·kᵀ + bias)·v, with the query q, the keys k and the values v. Several heads of the
/// query may share one head of keys and values. The bias is the mask, with −∞ for each key that a query must not see.
/// If a query sees no key, its result is 0.
fn attention(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // The attribute asks for a float type in which the softmax is computed. Strait uses a type that is at least as
    // wide.
    reader.ignore(&["softmax_precision"]);
    let rank = reader.rank(0)?;
    let heads = (reader.int("q_num_heads")?, reader.int("kv_num_heads")?);
    let query = split_heads(reader, 0, heads.0)?;
    let key = split_heads(reader, 1, heads.1)?;
    let value = split_heads(reader, 2, heads.1)?;
    let key = with_past(reader, key, PAST_KEY, PRESENT_KEY)?;
    let value = with_past(reader, value, PAST_VALUE, PRESENT_VALUE)?;
    let (key_heads, query_heads) = (reader.extent(&key, 1)?, reader.extent(&query, 1)?);
    let key = repeated_heads(reader, key, key_heads, query_heads)?;
    let value = repeated_heads(reader, value, key_heads, query_heads)?;

    let size = reader.extent(&query, 3)?;
    let scale = match reader.float("scale")? {
        None => 1.0 / (size as f64).sqrt(),
        Some(scale) => scale.into(),
    };
    let query = reader.scaled(&query, scale)?;
    let turned = reader.transposed(&key, &[0, 1, 3, 2])?;
    let raw = reader.product(&query, &turned)?;
    let cap = f64::from(reader.float("softcap")?.unwrap_or(0.0));
    let capped = match cap > 0.0 {
        false => raw.clone(),
        true => {
            let inner = reader.scaled(&raw, 1.0 / cap)?;
            let bounded = reader.function(Function::Tanh, &inner)?;
            reader.scaled(&bounded, cap)?
        }
    };
    let bias = bias(reader, &query, &key)?;
    let biased = match &bias {
        None => capped.clone(),
        Some(bias) => reader.plus(&capped, bias)?,
    };
    let mut weights = reader.softmax(&biased, -1)?;
    if let Some(bias) = bias
        && may_hide_all(&bias)
    {
        let largest = reader.reduced(Reduction::Max, &bias, &[-1])?;
        let (nothing, zero) = (
            reader.number(&largest, f64::NEG_INFINITY)?,
            reader.number(&weights, 0.0)?,
        );
        let hidden = reader.compare(Relation::Equal, &largest, &nothing)?;
        weights = reader.select(&hidden, &zero, &weights)?;
    }
    let shown = match reader.int("qk_matmul_output_mode")?.unwrap_or(0) {
        0 => raw,
        1 => capped,
        2 => biased,
        3 => weights.clone(),
        other => return Err(Refusal::Unsupported(format!("`qk_matmul_output_mode` is {other}"))),
    };
    if reader.has_result(SCORES) {
        reader.finish_result(SCORES, Identity {}, &[shown])?;
    }
    if rank == 4 {
        return reader.finish_result(0, matrix_product(), &[weights, value]);
    }
    let heads = reader.product(&weights, &value)?;
    let permutation = smallvec![0, 2, 1, 3];
    let rows = reader.push(Transpose { permutation }, &[heads])?;
    let shape = smallvec![0, 0, -1];
    reader.finish_result(0, Reshape { shape }, &[rows])
}

/// Splits the last axis into heads: [batch, positions, heads·size] becomes [batch, heads, positions, size]. An operand
/// of rank 4 is already split.
fn split_heads(reader: &mut OperatorReader<'_, '_>, operand: usize, heads: Option<i64>) -> Result<Arg, Refusal> {
    let x = Arg::Operand(operand);
    match (reader.rank(operand)?, heads) {
        (4, _) => Ok(x),
        (3, Some(heads @ 1..)) => {
            let split = reader.reshaped(&x, &[0, 0, heads, -1])?;
            reader.transposed(&split, &[0, 2, 1, 3])
        }
        (3, _) => Err(Refusal::invalid(ReasonCode::Blocks, "the numbers of heads are missing")),
        (rank, _) => Err(Refusal::invalid(
            ReasonCode::Axis,
            format!("an operand has rank {rank}, 3 or 4 is needed"),
        )),
    }
}

/// Appends the keys or values of operand `x` to those of the past. The joined keys or values are also a result of the
/// node.
fn with_past(reader: &mut OperatorReader<'_, '_>, x: Arg, past: usize, result: usize) -> Result<Arg, Refusal> {
    let all = match reader.has(past) {
        true => reader.push(Concat { axis: 2 }, &[Arg::Operand(past), x])?,
        false => x,
    };
    if reader.has_result(result) {
        reader.finish_result(result, Identity {}, std::slice::from_ref(&all))?;
    }
    Ok(all)
}

/// Repeats each head, so that `from` heads become `to` heads.
pub(super) fn repeated_heads(reader: &mut OperatorReader<'_, '_>, x: Arg, from: i64, to: i64) -> Result<Arg, Refusal> {
    if from == to {
        return Ok(x);
    }
    if from == 0 || to % from != 0 {
        let text = format!("{to} heads of the query for {from} of the keys");
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    reader.room(&[to.unsigned_abs()])?;
    let picks: Vec<i64> = (0..to).map(|head| head / (to / from)).collect();
    let picks = Arg::Constant(reader.integers(&[to.unsigned_abs()], &picks)?);
    reader.push(Gather { axis: 1 }, &[x, picks])
}

/// The keys that a query may see: from `left` positions before the query to `right` positions after it.
#[derive(Default)]
struct Bounds {
    left: Option<i64>,
    right: Option<i64>,
}

/// Returns the sum of everything that is added to the scores, such as the mask; `None` if nothing is added.
fn bias(reader: &mut OperatorReader<'_, '_>, query: &Arg, key: &Arg) -> Result<Option<Arg>, Refusal> {
    let (queries, keys) = (reader.extent(query, 2)?, reader.extent(key, 2)?);
    let mut bounds = Bounds {
        left: reader.int("left_window_size")?.filter(|&size| size >= 0),
        right: reader.int("right_window_size")?.filter(|&size| size >= 0),
    };
    if reader.flag("is_causal")? {
        bounds.right = Some(0);
    }
    let has_lengths = reader.has(LENGTHS);
    let past = match reader.has(PAST_KEY) {
        true => Some(reader.extent(&Arg::Operand(PAST_KEY), 2)?),
        false => None,
    };
    let mut summands = Vec::new();
    if reader.has(MASK) {
        summands.push(mask(reader, keys)?);
    }
    match (past, has_lengths) {
        (None, true) => summands.push(by_lengths(reader, &bounds, queries, keys, true)?),
        (past, _) => {
            if bounds.left.is_some() || bounds.right.is_some() {
                summands.push(by_positions(reader, &bounds, queries, keys, past.unwrap_or(0))?);
            }
            if has_lengths {
                summands.push(by_lengths(reader, &Bounds::default(), queries, keys, false)?);
            }
        }
    }
    let mut sum: Option<Arg> = None;
    for summand in summands {
        sum = Some(match sum {
            None => summand,
            Some(sum) => reader.plus(&sum, &summand)?,
        });
    }
    Ok(sum)
}

/// Returns the mask as numbers that are added to the scores. If the mask has fewer entries than there are keys, the
/// keys beyond the end of the mask are not visible.
fn mask(reader: &mut OperatorReader<'_, '_>, keys: i64) -> Result<Arg, Refusal> {
    let mut mask = Arg::Operand(MASK);
    if reader.ty(MASK)?.elem == Elem::Bool {
        mask = hidden_unless(reader, &mask)?;
    }
    let rank = reader.rank(MASK)?;
    let Some(last) = rank.checked_sub(1) else {
        return Ok(mask);
    };
    let missing = keys - reader.extent(&mask, last as i64)?;
    if missing <= 0 {
        return Ok(mask);
    }
    let mut amounts = smallvec::SmallVec::from_elem(0, 2 * rank);
    amounts[2 * rank - 1] = missing;
    let pad = Pad {
        amounts,
        mode: PadMode::Constant,
        value: f32::NEG_INFINITY,
    };
    reader.push(pad, &[mask])
}

/// 0 where the condition `seen` is true, and −∞ elsewhere.
pub(super) fn hidden_unless(reader: &mut OperatorReader<'_, '_>, seen: &Arg) -> Result<Arg, Refusal> {
    let zero = Arg::Constant(reader.floats_of(&[], &[0.0])?);
    let hidden = Arg::Constant(reader.floats_of(&[], &[f32::NEG_INFINITY])?);
    reader.select(seen, &zero, &hidden)
}

/// Makes a constant with shape [queries, keys] that is added to the scores: 0 where `bounds` lets the query see the
/// key, and −∞ elsewhere. The first query is at position `offset`.
fn by_positions(
    reader: &mut OperatorReader<'_, '_>,
    bounds: &Bounds,
    queries: i64,
    keys: i64,
    offset: i64,
) -> Result<Arg, Refusal> {
    let shape = [queries, keys].map(i64::unsigned_abs);
    reader.room(&shape)?;
    let sees = |query: i64, key: i64| {
        let behind = key - (query + offset);
        bounds.left.is_none_or(|left| -behind <= left) && bounds.right.is_none_or(|right| behind <= right)
    };
    let pairs = (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key)));
    let values: Vec<f32> = pairs
        .map(|(query, key)| if sees(query, key) { 0.0 } else { f32::NEG_INFINITY })
        .collect();
    Ok(Arg::Constant(reader.floats_of(&shape, &values)?))
}

/// Like [`by_positions`], but the number of valid keys is known only at run time: an operand gives it for each sample.
/// Keys beyond this number are not visible. The last query is at the position of the last valid key.
fn by_lengths(
    reader: &mut OperatorReader<'_, '_>,
    bounds: &Bounds,
    queries: i64,
    keys: i64,
    is_aligned: bool,
) -> Result<Arg, Refusal> {
    let lengths = reader.indices(LENGTHS)?;
    let lengths = reader.reshaped(&lengths, &[-1, 1, 1, 1])?;
    let positions = reader.counted(&[keys.unsigned_abs()], keys)?;
    let mut seen = reader.compare(Relation::Less, &positions, &lengths)?;
    if !is_aligned {
        return hidden_unless(reader, &seen);
    }
    let shape = [queries, keys].map(i64::unsigned_abs);
    let table = |reader: &mut OperatorReader<'_, '_>, value: &dyn Fn(i64, i64) -> i64| -> Result<Arg, Refusal> {
        reader.room(&shape)?;
        let pairs = (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key)));
        let values: Vec<i64> = pairs.map(|(query, key)| value(query, key)).collect();
        Ok(Arg::Constant(reader.integers(&shape, &values)?))
    };
    // Query i is at position p = i + length − queries. It sees the keys from p − left to p + right. The two
    // inequalities are rearranged so that the length is compared with a constant.
    if let Some(right) = bounds.right {
        let least = table(reader, &|query, key| key - query + queries - right)?;
        let inside = reader.compare(Relation::LessOrEqual, &least, &lengths)?;
        seen = reader.binary(BinaryFunction::And, &seen, &inside)?;
    }
    if let Some(left) = bounds.left {
        let most = table(reader, &|query, key| left.saturating_add(key - query + queries))?;
        let inside = reader.compare(Relation::LessOrEqual, &lengths, &most)?;
        seen = reader.binary(BinaryFunction::And, &seen, &inside)?;
    }
    hidden_unless(reader, &seen)
}

/// True if a row of the bias can consist of −∞ only, so that a query sees no key.
fn may_hide_all(bias: &Arg) -> bool {
    let Arg::Constant(bias) = bias else {
        return true;
    };
    let width = bias.shape().last().map_or(1, |&extent| extent as usize).max(1);
    let hides = |values: &[f32]| {
        values
            .chunks(width)
            .any(|row| row.iter().all(|&value| value == f32::NEG_INFINITY))
    };
    bias.to_f32().map_or(true, |values| hides(&values))
}
