//! Reads `If`, `Loop` and `Scan`, whose nodes contain graphs.

use crate::read::body::{Body, Formal, run_inputs};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::op::{Gather, Identity, If, Loop};
use strait_core::{Dim, ReasonCode, TensorData, TensorType};
use strait_import::slice_along;

pub(super) const ROWS: &[Row] = &[
    Row::new("If", 1, choice).and(&[11, 13, 16, 19, 21, 23, 24, 25]),
    Row::new("Loop", 1, repeat).and(&[11, 13, 16, 19, 21, 23, 24, 25]),
    Row::new("Scan", 8, scan).and(&[9, 11, 16, 19, 21, 23, 24, 25]),
];

/// Maximum number of times that a loop's body is read to find out which extents of its carried values stay the same.
const MOST_READINGS: usize = 8;

const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];

fn choice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let graphs = [reader.graph(BRANCHES[0])?, reader.graph(BRANCHES[1])?];
    let outer = reader.captures(&graphs);
    if let Some(condition) = reader.constant(0)? {
        let taken = usize::from(condition.bytes().first().is_none_or(|&byte| byte == 0));
        let body = reader.body(graphs[taken], &outer, &[], &[], None);
        return reader.finish_inline(body.map_err(|refusal| of_branch(taken, refusal))?);
    }
    let (then, other) = match graphs.map(|graph| reader.body(graph, &outer, &[], &[], None)) {
        [Ok(then), Ok(other)] => (then, other),
        [Ok(body), Err(refusal)] if is_dead(&refusal) => return only(reader, body, (1, refusal)),
        [Err(refusal), Ok(body)] if is_dead(&refusal) => return only(reader, body, (0, refusal)),
        [Err(refusal), _] => return Err(of_branch(0, refusal)),
        [_, Err(refusal)] => return Err(of_branch(1, refusal)),
    };
    for (position, (a, b)) in then.types().iter().zip(&other.types()).enumerate() {
        if a.elem != b.elem || a.shape.len() != b.shape.len() {
            let text = format!("result {position} is {a} in one of its graphs and {b} in the other");
            return Err(Refusal::Unsupported(text));
        }
    }
    let mut operands = vec![Arg::Operand(0)];
    operands.extend(then.captured.iter().copied().map(Arg::Value));
    let op = If {
        then_graph: reader.adopted(&then),
        else_graph: reader.adopted(&other),
    };
    reader.finish(op, &operands)
}

/// Inlines one branch of an `If`. The other branch cannot run, because its extents contradict each other, so every run
/// that succeeds takes the branch that is inlined. The user is told, because the contradiction may come from an extent
/// that was bound to a wrong number.
fn only(reader: &mut OperatorReader<'_, '_>, body: Body, (other, refusal): (usize, Refusal)) -> Result<(), Refusal> {
    if let Refusal::Invalid(reason) = of_branch(other, refusal) {
        let text = format!("node `{}` (If): {}", reader.name(), reason.text);
        reader.builder.assumed.dropped.push(text);
    }
    reader.finish_inline(body)
}

fn is_dead(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Invalid(reason) if reason.code == ReasonCode::DeadGraph)
}

/// Adds the name of the branch to a refusal of something in that branch.
fn of_branch(branch: usize, refusal: Refusal) -> Refusal {
    refusal.within(&format!("its {}", BRANCHES[branch]))
}

fn repeat(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let graph = reader.graph("body")?;
    let outer = reader.captures(&[graph]);
    let carried = reader.operand_count().saturating_sub(Loop::BOUNDS);
    let mut types = Vec::new();
    for position in 0..carried {
        types.push(reader.ty(Loop::BOUNDS + position)?);
    }
    let body = carried_body(reader, &mut types, 1, |reader, types| {
        let own = run_inputs().into_iter().chain(types.iter().cloned());
        let formals: Vec<Formal> = own.map(Formal::Value).collect();
        reader.body(graph, &outer, &[], &formals, None)
    })?;
    let most = reader
        .constant(0)?
        .and_then(|most| most.to_i64().ok()?.first().copied());
    let begins = match reader.has(1) {
        true => reader
            .constant(1)?
            .map(|condition| condition.bytes().iter().all(|&byte| byte != 0)),
        false => Some(true),
    };
    let trips = match (begins, most) {
        (Some(false), _) => 0,
        (Some(true), Some(most)) if body.holds(0, 1) => most.max(0),
        _ => -1,
    };
    let mut operands: Vec<Arg> = match trips {
        // The loop keeps the bounds of the node. A bound that the node does not have is absent.
        -1 => (0..Loop::BOUNDS).map(Arg::Operand).collect(),
        _ => vec![Arg::Absent; Loop::BOUNDS],
    };
    operands.extend((0..carried).map(|position| Arg::Operand(Loop::BOUNDS + position)));
    operands.extend(body.captured.iter().copied().map(Arg::Value));
    let op = Loop {
        body: reader.adopted(&body),
        carried: carried as u32,
        trips,
    };
    reader.finish(op, &operands)
}

/// Reads a loop body again and again until the extents of its carried values do not change any more. Extents that
/// differ from run to run become named extents. `first` is the position of the first carried value among the body's
/// outputs.
fn carried_body<'b, 'a>(
    reader: &mut OperatorReader<'b, 'a>,
    types: &mut [TensorType],
    first: usize,
    mut read: impl FnMut(&mut OperatorReader<'b, 'a>, &[TensorType]) -> Result<Body, Refusal>,
) -> Result<Body, Refusal> {
    for _ in 0..MOST_READINGS {
        let body = read(reader, types)?;
        let made = body.types();
        if made.len() < first + types.len() {
            return Err(Refusal::invalid(
                ReasonCode::Arity,
                "its graph has fewer outputs than it carries values",
            ));
        }
        let mut same = true;
        for (position, (before, after)) in types.iter_mut().zip(&made[first..]).enumerate() {
            if before.elem != after.elem || before.shape.len() != after.shape.len() {
                let text = format!("the carried value {position} is {before} in front of a run, and {after} behind it");
                return Err(Refusal::Unsupported(text));
            }
            for (dim, after) in before.shape.iter_mut().zip(&after.shape) {
                if dim.fixed().is_some() && *dim != *after {
                    (*dim, same) = (Dim::OPEN, false);
                }
            }
        }
        if same {
            return Ok(body);
        }
    }
    Err(Refusal::unsupported("the extents of its carried values do not settle"))
}

/// The largest number of sequences in a batch of a Scan of operator set 8. Each sequence is scanned by a loop of its
/// own.
const MOST_SEQUENCES: u64 = 64;

/// Reads Scan. In operator set 8, every operand has a batch axis in front, and the first operand has the lengths of the
/// sequences.
fn scan(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let graph = reader.graph("body")?;
    let outer = reader.captures(&[graph]);
    let invalid = |text: &str| Refusal::invalid(ReasonCode::Arity, text);
    let is_batched = reader.opset() < 9;
    let first = usize::from(is_batched);
    if is_batched && reader.has(0) {
        return Err(Refusal::unsupported("its sequences have lengths of their own"));
    }
    let count = reader
        .int("num_scan_inputs")?
        .and_then(|count| usize::try_from(count).ok());
    let operands = reader.operand_count().saturating_sub(first);
    let (Some(count), 1..) = (count.filter(|&count| count <= operands), operands) else {
        return Err(invalid("it scans more inputs than it has"));
    };
    let carried = operands - count;
    let stacks = graph.output.len().checked_sub(carried);
    let stacks = stacks.ok_or_else(|| invalid("its graph has fewer outputs than it carries values"))?;
    let mut list = |key, length: usize| -> Result<Vec<i64>, Refusal> {
        match reader.ints(key)? {
            None => Ok(vec![0; length]),
            Some(list) if list.len() == length => Ok(list.to_vec()),
            Some(_) => Err(invalid("a list of axes or directions has another length")),
        }
    };
    let (axes, directions, out_axes, out_directions) = match is_batched {
        true => (
            vec![0; count],
            list("directions", count)?,
            vec![0; stacks],
            vec![0; stacks],
        ),
        false => (
            list("scan_input_axes", count)?,
            list("scan_input_directions", count)?,
            list("scan_output_axes", stacks)?,
            list("scan_output_directions", stacks)?,
        ),
    };
    if (directions.iter().chain(&out_directions)).any(|direction| !matches!(direction, 0 | 1)) {
        return Err(invalid("a direction is neither 0, which is forward, nor 1"));
    }
    let (mut types, mut slices, mut trips, mut batch) = (Vec::new(), Vec::new(), None, None);
    for position in 0..operands {
        let mut ty = reader.ty(first + position)?;
        if is_batched {
            let sequences = ty
                .shape
                .first()
                .and_then(|dim| dim.fixed())
                .filter(|&n| n <= MOST_SEQUENCES);
            let sequences = sequences.ok_or_else(|| Refusal::unsupported("its batch is unknown or too large"))?;
            if *batch.get_or_insert(sequences) != sequences {
                return Err(invalid("its operands have different batches"));
            }
            ty.shape.remove(0);
        }
        if position < carried {
            types.push(ty);
            continue;
        }
        let axis = reader.axis(axes[position - carried], ty.shape.len())?;
        let Some(length) = ty.shape[axis].fixed().and_then(|length| i64::try_from(length).ok()) else {
            return Err(Refusal::unsupported("it scans along an axis without a number"));
        };
        if *trips.get_or_insert(length) != length {
            return Err(invalid("it scans inputs of different lengths"));
        }
        slices.push((ty, axis, directions[position - carried] != 0));
    }
    let trips = trips.ok_or_else(|| invalid("it scans no input"))?;
    let body = carried_body(reader, &mut types, 1, |reader, types| {
        let values = types.iter().cloned().map(Formal::Value);
        let scanned = slices.iter().map(|(of, axis, reverse)| Formal::Slice {
            of: of.clone(),
            axis: *axis,
            reverse: *reverse,
        });
        let formals: Vec<Formal> = values.chain(scanned).collect();
        reader.body(graph, &outer, &run_inputs(), &formals, Some(1))
    })?;
    let op = Loop {
        body: reader.adopted(&body),
        carried: carried as u32,
        trips,
    };
    let given: Vec<Arg> = (first..first + operands).map(Arg::Operand).collect();
    let results = match batch {
        None => looped(reader, &op, given, &body)?,
        Some(sequences) => {
            let mut all: Vec<Vec<Arg>> = vec![Vec::new(); carried + stacks];
            for sequence in 0..sequences {
                let number = Arg::Constant(TensorData::scalar(sequence as i64));
                let mut own = Vec::new();
                for operand in &given {
                    own.push(reader.push(Gather { axis: 0 }, &[operand.clone(), number.clone()])?);
                }
                for (parts, result) in all.iter_mut().zip(looped(reader, &op, own, &body)?) {
                    parts.push(reader.unsqueezed(&result, &[0])?);
                }
            }
            all.iter()
                .map(|parts| reader.joined(parts, 0))
                .collect::<Result<_, _>>()?
        }
    };
    for (position, mut result) in results.into_iter().enumerate() {
        if let Some(stack) = position.checked_sub(carried) {
            result = laid(reader, result, out_axes[stack], out_directions[stack] != 0)?;
        }
        reader.finish_result(position, Identity {}, &[result])?;
    }
    Ok(())
}

/// Adds a loop whose operands are `values` and the tensors that its body reads from outside. Returns the results of the
/// loop.
fn looped(reader: &mut OperatorReader<'_, '_>, op: &Loop, values: Vec<Arg>, body: &Body) -> Result<Vec<Arg>, Refusal> {
    let mut args = vec![Arg::Absent; Loop::BOUNDS];
    args.extend(values);
    args.extend(body.captured.iter().copied().map(Arg::Value));
    Ok(reader.push_all(op.clone(), &args)?.into_vec())
}

/// Moves the axis along which a scan stacks its results from the front to `axis`, and reverses the order if `reverse`
/// is true.
fn laid(reader: &mut OperatorReader<'_, '_>, mut stack: Arg, axis: i64, reverse: bool) -> Result<Arg, Refusal> {
    let rank = reader.arg_type(&stack)?.shape.len();
    let axis = reader.axis(axis, rank)?;
    if reverse {
        stack = reader.push(slice_along([(0, [-1, i64::MIN, -1])]), &[stack])?;
    }
    if axis == 0 {
        return Ok(stack);
    }
    let mut permutation: SmallVec<[u32; 8]> = (1..rank as u32).collect();
    permutation.insert(axis, 0);
    reader.transposed(&stack, &permutation)
}
