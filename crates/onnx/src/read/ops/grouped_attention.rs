//! Reads GroupQueryAttention of ONNX Runtime, as its provider for CPUs computes the operator.

use super::attention::{hidden_unless, repeated_heads};
use super::multi_head_attention::{finish_heads, head_count, scores, seen, split};
use super::rotary::{angles, rotated};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{BinaryFunction, Concat, Function, Gather, Identity, Relation};
use strait_core::{Elem, ReasonCode};

pub(super) const ROWS: &[Row] = &[Row::of_runtime("GroupQueryAttention", group_query_attention)];

/// Positions of the operands.
const PAST_KEY: usize = 3;
const PAST_VALUE: usize = 4;
const LENGTHS: usize = 5;
const TOTAL: usize = 6;
const COS: usize = 7;
const POSITIONS: usize = 9;
const SUMMAND: usize = 10;
const SINK: usize = 11;

/// The operands that only other providers of ONNX Runtime take.
const OTHERS: [(usize, &str); 4] = [
    (12, "k_scale"),
    (13, "v_scale"),
    (14, "q_norm_weight"),
    (15, "k_norm_weight"),
];

/// How many keys of the past are valid, for each sample of the batch.
enum Past {
    /// The number is the same for all samples, and known.
    Known(i64),
    /// A value of shape [batch], known only at run time.
    AtRunTime(Arg),
}

/// The extents that matter for the keys.
struct Extents {
    batch: i64,
    /// The number of queries, which is also the number of new keys.
    queries: i64,
    /// The number of keys for which the operand `past_key` has room.
    room: i64,
    /// The number of keys, with those of the past.
    total: i64,
}

/// softmax(scale·q·kᵀ + summand)·v for each head. Several heads of the query share one head of keys and values. Each
/// query sees the keys up to its own position. The new keys stand behind the valid keys of the past, and rows behind
/// them are 0. In the first step, the results of queries behind the end of a sequence are not specified.
fn group_query_attention(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    check(reader)?;
    let (heads, key_heads) = (head_count(reader, "num_heads")?, head_count(reader, "kv_num_heads")?);
    let [mut query, mut key, value] = operands(reader, heads, key_heads)?;
    let extents = extents(reader, &query)?;
    let past = past(reader, &extents)?;
    if reader.flag("do_rotary")? {
        let interleaved = reader.flag("rotary_interleaved")?;
        let positions = positions(reader, &past, extents.queries)?;
        let angles = angles(reader, [COS, COS + 1], &positions, 1)?;
        let turned = 2 * reader.extent(&Arg::Operand(COS), 1)?;
        let size = reader.extent(&query, 3)?;
        if turned == 0 || turned > size {
            let text = format!("`cos_cache` has angles for {turned} of {size} elements of a head");
            return Err(Refusal::invalid(ReasonCode::Blocks, text));
        }
        for x in [&mut query, &mut key] {
            let (mut turned, steps) = rotated(reader, x, angles.clone(), turned, interleaved)?;
            for (op, more) in steps {
                let args: Vec<Arg> = std::iter::once(turned).chain(more).collect();
                turned = reader.push(op, &args)?;
            }
            *x = turned;
        }
    } else {
        reader.ignore(&["rotary_interleaved"]);
    }
    let key = present(reader, key, PAST_KEY, &past, &extents, 1)?;
    let value = present(reader, value, PAST_VALUE, &past, &extents, 2)?;
    let key = repeated_heads(reader, key, key_heads, heads)?;
    let value = repeated_heads(reader, value, key_heads, heads)?;
    let mut scores = scores(reader, &query, &key)?;
    let cap = f64::from(reader.float("softcap")?.unwrap_or(0.0));
    if cap > 0.0 {
        let inner = reader.scaled(&scores, 1.0 / cap)?;
        let bounded = reader.function(Function::Tanh, &inner)?;
        scores = reader.scaled(&bounded, cap)?;
    }
    if reader.has(SUMMAND) {
        scores = reader.plus(&scores, &Arg::Operand(SUMMAND))?;
    }
    if let Some(seen) = visible(reader, &past, &extents)? {
        let mask = hidden_unless(reader, &seen)?;
        scores = reader.plus(&scores, &mask)?;
    }
    let weights = weights(reader, &scores, heads, &extents)?;
    finish_heads(reader, &weights, &value)
}

/// Refuses what ONNX Runtime does not compute on CPUs, and what Strait does not read.
fn check(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["kv_cache_bit_width", "qk_norm_epsilon"]);
    reader.only("sliding_window_cache", 0)?;
    reader.only("qk_output", 0)?;
    for key in ["k_quant_type", "v_quant_type"] {
        let kind = reader.text(key, "NONE")?;
        if kind != "NONE" {
            return Err(Refusal::unsupported(format!(
                "`{key}` is {kind}; a cache of floats (NONE) is read"
            )));
        }
    }
    if let Some((_, name)) = OTHERS.iter().find(|(operand, _)| reader.has(*operand)) {
        return Err(Refusal::unsupported(format!(
            "its operand `{name}` is not read; leave it out"
        )));
    }
    if reader.has(POSITIONS) {
        return Err(Refusal::unsupported(
            "its operand `position_ids` is not read; without it, positions follow from `seqlens_k`",
        ));
    }
    for (one, other, names) in [
        (1, 2, "`key` and `value`"),
        (PAST_KEY, PAST_VALUE, "`past_key` and `past_value`"),
    ] {
        if reader.has(one) != reader.has(other) {
            let text = format!("{names} are given together or not at all");
            return Err(Refusal::invalid(ReasonCode::MissingOperand, text));
        }
    }
    if reader.flag("do_rotary")? && !(reader.has(COS) && reader.has(COS + 1)) {
        let text = "`do_rotary` needs the operands `cos_cache` and `sin_cache`";
        return Err(Refusal::invalid(ReasonCode::MissingOperand, text));
    }
    Ok(())
}

/// Query, keys and values, split into heads. Without keys, all three are packed in the query.
fn operands(reader: &mut OperatorReader<'_, '_>, heads: i64, key_heads: i64) -> Result<[Arg; 3], Refusal> {
    let rank = reader.rank(0)?;
    if rank != 3 {
        return Err(Refusal::invalid(
            ReasonCode::Axis,
            format!("the query has rank {rank}, 3 is needed"),
        ));
    }
    if heads % key_heads != 0 {
        let text = format!("{heads} heads of the query for {key_heads} of the keys; a multiple is needed");
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    if reader.has(1) {
        return Ok([
            split(reader, &Arg::Operand(0), heads)?,
            split(reader, &Arg::Operand(1), key_heads)?,
            split(reader, &Arg::Operand(2), key_heads)?,
        ]);
    }
    let packed = split(
        reader,
        &Arg::Operand(0),
        heads.saturating_add(key_heads).saturating_add(key_heads),
    )?;
    let mut part = |start: i64, count: i64| reader.part(&packed, 1, start, start + count);
    Ok([
        part(0, heads)?,
        part(heads, key_heads)?,
        part(heads + key_heads, key_heads)?,
    ])
}

/// Checks that the keys are those of the past and the new ones, or that `past_key` has room for all of them.
fn extents(reader: &mut OperatorReader<'_, '_>, query: &Arg) -> Result<Extents, Refusal> {
    let (batch, queries) = (reader.extent(query, 0)?, reader.extent(query, 2)?);
    let room = match reader.has(PAST_KEY) {
        true => reader.extent(&Arg::Operand(PAST_KEY), 2)?,
        false => 0,
    };
    let total = reader.given_int(TOTAL, "`total_sequence_length`");
    let total = total.map_err(|refusal| match refusal {
        Refusal::Unsupported(text) => Refusal::unsupported(format!(
            "{text}; it has to be a constant, or to follow from extents that are bound to numbers"
        )),
        other => other,
    })?;
    if total < queries || (total > room && total != room + queries) {
        let text = format!(
            "`total_sequence_length` is {total} with {queries} new keys and a past of {room}; it has to be their sum, \
             or at most the past if that has room for all keys"
        );
        return Err(Refusal::invalid(ReasonCode::OperandType, text));
    }
    if queries > 1 && total != queries && batch != 1 {
        let text = format!("{queries} queries after a past in a batch of {batch}; only a batch of 1 is possible");
        return Err(Refusal::invalid(ReasonCode::OperandType, text));
    }
    Ok(Extents {
        batch,
        queries,
        room,
        total,
    })
}

/// The number of valid keys of the past: `seqlens_k` + 1 − queries. In the first step there is no past.
fn past(reader: &mut OperatorReader<'_, '_>, extents: &Extents) -> Result<Past, Refusal> {
    if extents.total == extents.queries {
        return Ok(Past::Known(0));
    }
    let shift = 1 - extents.queries;
    let lengths = reader.constant(LENGTHS)?.map(|lengths| lengths.to_i64()).transpose()?;
    if let Some(lengths) = lengths {
        let Some(&first) = lengths.first() else {
            return Err(Refusal::invalid(ReasonCode::OperandType, "`seqlens_k` is empty"));
        };
        if lengths
            .iter()
            .any(|&length| length + shift < 0 || length >= extents.total)
        {
            let text = format!("`seqlens_k` is {lengths:?} with {} keys in all", extents.total);
            return Err(Refusal::invalid(ReasonCode::OperandType, text));
        }
        if lengths.iter().all(|&length| length == first) {
            return Ok(Past::Known(first + shift));
        }
    }
    let lengths = reader.indices(LENGTHS)?;
    let lengths = reader.reshaped(&lengths, &[-1])?;
    reader.shifted(&lengths, shift as f64).map(Past::AtRunTime)
}

/// The positions of the queries, with shape [1 or batch, queries].
fn positions(reader: &mut OperatorReader<'_, '_>, past: &Past, queries: i64) -> Result<Arg, Refusal> {
    let steps = reader.counted(&[1, queries.unsigned_abs()], queries)?;
    match past {
        Past::Known(past) => reader.shifted(&steps, *past as f64),
        Past::AtRunTime(past) => {
            let past = reader.reshaped(past, &[-1, 1])?;
            reader.plus(&past, &steps)
        }
    }
}

/// All keys or values: the valid ones of the past, the new ones, and zeros behind them, if the past has more room. They
/// are also a result of the node. Returns those that the queries can see.
fn present(
    reader: &mut OperatorReader<'_, '_>,
    new: Arg,
    operand: usize,
    past: &Past,
    extents: &Extents,
    result: usize,
) -> Result<Arg, Refusal> {
    let Extents {
        batch,
        queries,
        room,
        total,
    } = *extents;
    let length = total.max(room);
    let all = match past {
        Past::Known(0) if length == queries => new,
        &Past::Known(past) if past == room && length == room + queries => {
            reader.push(Concat { axis: 2 }, &[Arg::Operand(operand), new])?
        }
        _ => {
            // Each row of the result is a row of these: of the past, of the new ones, or the row of zeros at the end.
            let mut shape = reader.extents(&new)?;
            shape[2] = 1;
            let shape: Vec<u64> = shape.into_iter().map(i64::unsigned_abs).collect();
            let count = reader.room(&shape)?;
            let zeros = Arg::Constant(reader.floats_of(&shape, &vec![0.0; count])?);
            let old = (room > 0).then_some(Arg::Operand(operand));
            let rows = reader.joined(&old.into_iter().chain([new, zeros]).collect::<Vec<_>>(), 2)?;
            match past {
                &Past::Known(past) => {
                    reader.room(&[length.unsigned_abs()])?;
                    let row = |at: i64| match at {
                        _ if at < past => at,
                        _ if at < past + queries => room + at - past,
                        _ => room + queries,
                    };
                    let picks: Vec<i64> = (0..length).map(row).collect();
                    let picks = Arg::Constant(reader.integers(&[length.unsigned_abs()], &picks)?);
                    reader.push(Gather { axis: 2 }, &[rows, picks])?
                }
                Past::AtRunTime(past) => {
                    let mut samples = Vec::new();
                    for sample in 0..batch {
                        let past = reader.part(past, 0, sample, sample + 1)?;
                        let rows = match batch {
                            1 => rows.clone(),
                            _ => reader.part(&rows, 0, sample, sample + 1)?,
                        };
                        let picks = picks(reader, &past, extents, length)?;
                        samples.push(reader.push(Gather { axis: 2 }, &[rows, picks])?);
                    }
                    match samples.as_slice() {
                        [one] => one.clone(),
                        several => reader.joined(several, 0)?,
                    }
                }
            }
        }
    };
    reader.finish_result(result, Identity {}, std::slice::from_ref(&all))?;
    match length == total {
        true => Ok(all),
        false => reader.part(&all, 2, 0, total),
    }
}

/// The rows of [`present`], if the number of valid keys is known only at run time.
fn picks(reader: &mut OperatorReader<'_, '_>, past: &Arg, extents: &Extents, length: i64) -> Result<Arg, Refusal> {
    let at = reader.counted(&[length.unsigned_abs()], length)?;
    let behind = reader.minus(&at, past)?;
    let queries = reader.number(&behind, extents.queries as f64)?;
    let is_new = reader.compare(Relation::Less, &behind, &queries)?;
    let new = reader.shifted(&behind, extents.room as f64)?;
    let zeros = reader.number(&behind, (extents.room + extents.queries) as f64)?;
    let later = reader.select(&is_new, &new, &zeros)?;
    let is_old = reader.compare(Relation::Less, &at, past)?;
    reader.select(&is_old, &at, &later)
}

/// Says which query sees which key; `None` if each query sees all keys. With p valid keys of the past, query i sees the
/// keys up to p + i, or all valid keys if attention is not causal. With a window w, it sees only the last w of them.
fn visible(reader: &mut OperatorReader<'_, '_>, past: &Past, extents: &Extents) -> Result<Option<Arg>, Refusal> {
    let is_causal = reader.int("causal")?.unwrap_or(1) != 0;
    let window = match reader.int("local_window_size")?.unwrap_or(-1) {
        -1 => None,
        window @ 1.. if is_causal => Some(window),
        other => {
            let text = format!("`local_window_size` is {other}; −1, or 1 and more if `causal` is 1, is read");
            return Err(Refusal::unsupported(text));
        }
    };
    let (queries, total) = (extents.queries, extents.total);
    // A query sees a key if low < p ≤ …, rearranged so that p stands alone: key − last(query) ≤ p.
    let last = move |query: i64| if is_causal { query } else { queries - 1 };
    match past {
        &Past::Known(past) => {
            let sees = |query: i64, key: i64| {
                key - last(query) <= past && window.is_none_or(|window| past < key - query + window)
            };
            let all = (0..queries).all(|query| sees(query, 0) && sees(query, total - 1));
            match all {
                true => Ok(None),
                false => seen(reader, queries, total, sees).map(Some),
            }
        }
        Past::AtRunTime(past) => {
            let past = reader.reshaped(past, &[-1, 1, 1, 1])?;
            let least = table(reader, extents, |query, key| key - last(query))?;
            let mut seen = reader.compare(Relation::LessOrEqual, &least, &past)?;
            if let Some(window) = window {
                let end = table(reader, extents, |query, key| (key - query).saturating_add(window))?;
                let inside = reader.compare(Relation::Less, &past, &end)?;
                seen = reader.binary(BinaryFunction::And, &seen, &inside)?;
            }
            Ok(Some(seen))
        }
    }
}

/// A constant of integers, one for each query and key.
fn table(
    reader: &mut OperatorReader<'_, '_>,
    extents: &Extents,
    value: impl Fn(i64, i64) -> i64,
) -> Result<Arg, Refusal> {
    let shape = [extents.queries, extents.total].map(i64::unsigned_abs);
    reader.room(&shape)?;
    let pairs = (0..extents.queries).flat_map(|query| (0..extents.total).map(move |key| (query, key)));
    let values: Vec<i64> = pairs.map(|(query, key)| value(query, key)).collect();
    Ok(Arg::Constant(reader.integers(&shape, &values)?))
}

/// The softmax of the scores. A sink is one more score of each query, for which there is no value. With
/// `smooth_softmax`, the sink of each head is 0.
fn weights(reader: &mut OperatorReader<'_, '_>, scores: &Arg, heads: i64, extents: &Extents) -> Result<Arg, Refusal> {
    let is_smooth = reader.flag("smooth_softmax")?;
    if !is_smooth && !reader.has(SINK) {
        return reader.softmax(scores, -1);
    }
    let shape = [extents.batch, heads, extents.queries, 1].map(i64::unsigned_abs);
    let count = reader.room(&shape)?;
    let mut sink = Arg::Constant(reader.floats_of(&shape, &vec![0.0; count])?);
    if reader.has(SINK) {
        let own = reader.converted(&Arg::Operand(SINK), Elem::F32)?;
        let own = reader.reshaped(&own, &[1, heads, 1, 1])?;
        sink = reader.plus(&sink, &own)?;
    }
    let all = reader.joined(&[scores.clone(), sink], 3)?;
    let weights = reader.softmax(&all, -1)?;
    reader.part(&weights, 3, 0, extents.total)
}
