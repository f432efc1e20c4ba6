//! `table(a) ± table(b) → requantize → clamp`: how both ways of adding on eight bits end up, over a common shift or over
//! a common grid.

use super::epilogue;
use super::table::{self, Table};
use super::{Found, Join, Joins, Scope};
use crate::error::StepError;
use crate::step::{Io, Step};
use strait_core::{NodeId, Op};
use strait_kernels::integer::{Broadcast, Loops};
use strait_requantize::IntType;

struct Sum {
    broadcast: Broadcast,
    elements: [IntType; 2],
    tables: [Box<[i32; 256]>; 2],
    loops: Box<dyn Loops>,
}

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> Found {
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
    let (Some(left), Some(right)) = (table::behind(scope, joins, a)?, table::behind(scope, joins, b)?) else {
        return Ok(None);
    };
    let (Some(first), Some(second)) = (accumulators(&left, 1), accumulators(&right, sign)) else {
        return Ok(None);
    };
    let epilogue = epilogue::behind(scope, joins, id);
    let nodes = [left.nodes, right.nodes, vec![id], epilogue.nodes].concat();
    let Some(output) = nodes.last().and_then(|&tail| scope.result(tail)) else {
        return Ok(None);
    };
    site.fused = epilogue.fused;
    let prepare = || {
        Ok(Sum {
            broadcast: Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?,
            elements: [left.element, right.element],
            tables: [first, second],
            loops: site.loops()?,
        })
    };
    let step: Result<Sum, StepError> = prepare();
    let join = Join {
        node: id,
        inputs: [Some(left.base), Some(right.base)].into_iter().collect(),
        output,
        step: Box::new(step.map_err(|error| scope.error(id, error))?),
    };
    Ok(Some((join, nodes)))
}

/// The entries as accumulators with a sign, if they fit.
fn accumulators(table: &Table, sign: i64) -> Option<Box<[i32; 256]>> {
    let entries = table.entries.iter().map(|&entry| i32::try_from(sign * entry).ok());
    let entries: Vec<i32> = entries.collect::<Option<_>>()?;
    entries.into_boxed_slice().try_into().ok()
}

impl Step for Sum {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let operands = [io.input(0)?, io.input(1)?];
        let tables = [&*self.tables[0], &*self.tables[1]];
        let context = io.context;
        let out = io.output()?;
        Ok(self
            .loops
            .add(context, &self.broadcast, self.elements, tables, operands, out)?)
    }
}
