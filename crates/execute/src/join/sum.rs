//! Joins `f(a) ± g(b) → requantize → clamp`. Each of f and g is a table, or shifts and requantizes codes. Every
//! lowering of an addition to integers has this form.

use super::addend::{self, ShiftedOperand};
use super::epilogue;
use super::scope::{FoundJoin, Join, Joins, Scope};
use super::table::{self, Table};
use crate::error::ExecuteError;
use crate::prelude::*;
use smallvec::smallvec;
use strait_core::{NodeId, Op, ValueId};
use strait_kernels::Context;
use strait_kernels::integer::{Addend, AffineSum, Broadcast, Loops, RoundedSum};
use strait_requantize::IntType;

/// Factors in place of tables are only looked for if the result has so many elements. Looking for them compares the results for
/// all 65536 pairs of codes, and saves less than a nanosecond for each element.
const FEWEST: usize = 512;

struct Sum {
    broadcast: Broadcast,
    /// True if both operands have the extents of the result.
    alike: bool,
    elements: [IntType; 2],
    operands: [Operand; 2],
    loops: Box<dyn Loops>,
    /// The same sum with factors instead of tables, if the operands have the extents of the result, there
    /// is one, and the result has [`FEWEST`] elements or more.
    affine: Option<AffineSum>,
    /// The same sum with factors for rounded operands, if there is one, and if it is needed.
    rounded: Option<RoundedSum>,
}

/// How an operand of the sum is computed.
enum Operand {
    /// A table of accumulators, one for each 8-bit code.
    Table(Box<[i32; 256]>),
    /// Each element is `±requantize((code − zero)·2^bits)`.
    Codes {
        zero: i32,
        bits: u8,
        loops: Option<Box<dyn Loops>>,
        negative: bool,
    },
}

/// An operand of the sum, and the value from whose codes it is computed.
struct Origin {
    base: ValueId,
    element: IntType,
    nodes: Vec<NodeId>,
    operand: Operand,
}

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(node) = scope.node(id) else {
        return Ok(None);
    };
    let sign = match node.op {
        Op::Add(_) => 1,
        Op::Sub(_) => -1,
        _ => return Ok(None),
    };
    let [Some(a), Some(b)] = node.inputs[..] else {
        return Ok(None);
    };
    let mut site = scope.site(id)?;
    if site.inputs.iter().flatten().any(|slot| slot.elem.int_type().is_none()) {
        return Ok(None);
    }
    let (Some(left), Some(right)) = (origin(scope, joins, a, 1)?, origin(scope, joins, b, sign)?) else {
        return Ok(None);
    };
    let epilogue = epilogue::behind(scope, joins, id);
    let nodes = [left.nodes, right.nodes, vec![id], epilogue.nodes].concat();
    let Some(output) = nodes.last().and_then(|&tail| scope.result(tail)) else {
        return Ok(None);
    };
    site.fused = epilogue.fused;
    let prepare = || {
        let (elements, operands) = ([left.element, right.element], [left.operand, right.operand]);
        let (loops, alike) = (site.loops()?, site.input(0)?.dims == site.input(1)?.dims);
        let (mut affine, mut rounded) = (None, None);
        let elements_of_result: usize = site.input(0)?.dims.iter().product();
        let is_worth_it = alike && elements_of_result >= FEWEST;
        if let ([Operand::Table(a), Operand::Table(b)], true) = (&operands, is_worth_it) {
            let context = Context::detect();
            affine = AffineSum::find(&*loops, &context, elements, [a, b])?;
            if affine.is_none() {
                rounded = RoundedSum::find(&*loops, &context, elements, [a, b])?;
            }
        }
        Ok(Sum {
            broadcast: Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?,
            alike,
            elements,
            operands,
            loops,
            affine,
            rounded,
        })
    };
    let step: Result<Sum, StepError> = prepare();
    let join = Join {
        node: id,
        inputs: [Some(left.base), Some(right.base)].into_iter().collect(),
        outputs: smallvec![output],
        step: Box::new(step.map_err(|error| scope.error(id, error))?),
        last: None,
    };
    Ok(Some((join, nodes)))
}

/// Finds how an operand is computed from codes: by a table if possible, and otherwise code by code.
fn origin(scope: &Scope<'_>, joins: &Joins, value: ValueId, sign: i64) -> Result<Option<Origin>, ExecuteError> {
    if let Some(table) = table::behind(scope, joins, value)?
        && let Some(entries) = accumulators(&table, sign)
    {
        let Table {
            base, element, nodes, ..
        } = table;
        return Ok(Some(Origin {
            base,
            element,
            nodes,
            operand: Operand::Table(entries),
        }));
    }
    let Some(ShiftedOperand {
        base,
        element,
        zero,
        bits,
        form,
        nodes,
    }) = addend::behind(scope, joins, value)?
    else {
        return Ok(None);
    };
    // A target's loops only compute the forms in its table.
    let loops = match form.map(|form| scope.options.loops.loops_for(&form, None)) {
        Some(Err(_)) => return Ok(None),
        Some(Ok(loops)) => Some(loops),
        None => None,
    };
    Ok(Some(Origin {
        base,
        element,
        nodes,
        operand: Operand::Codes {
            zero,
            bits,
            loops,
            negative: sign < 0,
        },
    }))
}

/// Returns the entries of a table, times `sign`, as accumulators. Returns `None` if an entry does not fit.
fn accumulators(table: &Table, sign: i64) -> Option<Box<[i32; 256]>> {
    let entries = table.entries.iter().map(|&entry| i32::try_from(sign * entry).ok());
    let entries: Vec<i32> = entries.collect::<Option<_>>()?;
    entries.into_boxed_slice().try_into().ok()
}

impl Operand {
    fn addend(&self) -> Addend<'_> {
        match self {
            Operand::Table(table) => Addend::Table(table),
            Operand::Codes {
                zero,
                bits,
                loops,
                negative,
            } => Addend::Codes {
                zero: *zero,
                bits: *bits,
                loops: loops.as_deref(),
                negative: *negative,
            },
        }
    }
}

impl Step for Sum {
    fn orders(&self) -> Orders {
        match self.alike {
            true => Orders::Any,
            false => Orders::Planes,
        }
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let operands = [io.input(0)?, io.input(1)?];
        let [a, b] = &self.operands;
        let context = io.context;
        let out = io.output()?;
        if let Some(sum) = &self.affine {
            return Ok(sum.run(context, operands, out)?);
        }
        if let Some(sum) = &self.rounded
            && sum.run(context, operands, out)?
        {
            return Ok(());
        }
        let addends = [a.addend(), b.addend()];
        Ok(self
            .loops
            .add(context, &self.broadcast, self.elements, addends, operands, out)?)
    }
}
