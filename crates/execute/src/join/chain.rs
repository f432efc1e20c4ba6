//! Joins two or more consecutive functions of 8-bit codes to one table.

use super::scope::{FoundJoin, Join, Joins, Scope};
use super::table;
use crate::integer::lookup;
use crate::integer::operands::eight_bits;
use crate::reference::write;
use smallvec::smallvec;
use strait_core::NodeId;

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(&Some(base)) = scope.node(id).and_then(|node| node.inputs.first()) else {
        return Ok(None);
    };
    let Some(element) = eight_bits(&scope.slot(base)?).filter(|_| table::is_function(scope, id)) else {
        return Ok(None);
    };
    let mut nodes = vec![id];
    let mut last = id;
    while let Some((next, _)) = scope.follower(joins, last)
        && table::is_function(scope, next)
    {
        nodes.push(next);
        last = next;
    }
    let Some(output) = scope.result(last).filter(|_| nodes.len() > 1) else {
        return Ok(None);
    };
    let Some(entries) = table::entries(scope, element, &nodes)? else {
        return Ok(None);
    };
    let elem = scope.slot(output)?.elem;
    let mut table = vec![0; entries.len() * elem.size()];
    // If an entry does not fit the table's type, the nodes are not joined. They then report an error only if a run
    // needs this entry.
    if write(elem, &entries, &mut table).is_err() {
        return Ok(None);
    }
    let join = Join {
        node: id,
        inputs: [Some(base)].into_iter().collect(),
        outputs: smallvec![output],
        step: lookup::step(element, table),
        last: None,
    };
    Ok(Some((join, nodes)))
}
