//! **Simplify.**
//! - What: puts the producer and the readers of each value on the same grid, if all readers want the same grid and the
//!   producer can use it.
//! - Why: if all of them use one grid, a result is rounded only once. Each additional grid costs a requantization.
//! - Preconditions: operands and results of each node are bound as its arithmetic and its alignment require.
//! - Effect:
//!   - Readers without a grid of their own take the producer's grid. Readers for which the configuration sets the same
//!     range share a grid.
//!   - If all other readers want the same grid, in the producer's type, the producer makes its result on that grid. For
//!     example, a value that only a concatenation reads is made on the grid of the concatenation.
//!   - A node that only moves codes wants for its operand the grid that the readers of its result want. If all these
//!     readers agree, the producer of the codes is asked for their grid. Otherwise, moved codes stay on the producer's
//!     grid and are requantized after the moves.
//!   - An output of the graph counts as a reader that agrees with no other reader. A given grid never changes.
//!   - If readers differ, the producer stores codes on its own grid, and these codes are requantized for readers with
//!     another grid. But if the table requantizes accumulators at the readers' operands, the producer stores its
//!     accumulator, and each reader requantizes this accumulator.
//!   - With `force_overlap`, or if the target does not requantize codes, producer and all readers use the grid of an
//!     aligned operand. The report lists the readers that wanted another grid.
//!   - If `simplify` is off, a producer makes its result on a grid of its own, even if its readers agree on another
//!     grid.
//!   - Readers of a value whose producer has no codes share one grid per type.
//!
//! The result does not depend on the order in which nodes are stored.

use super::{configs, passive};
use crate::annotate::analyses::readers_narrow;
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, Overlapped, PassContext};
use std::collections::BTreeMap;
use strait_core::{ConfigId, NodeId, Port, Scheme, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::Integer;

/// For each operand whose codes are moved, a config on the grid that all readers of the moved codes want. The key is
/// the root of the group to which the operand's config belongs. The entry is `None` if these readers want different
/// grids, as readers of the parts of a split may.
type Behind = BTreeMap<ConfigId, Option<ConfigId>>;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let mut behind = Behind::new();
    // The loop goes from readers to producers. So when it comes to the operand of a node that moves codes, it already
    // knows which grid the readers of the node's results want.
    for &value in &context.scope.values {
        let leaves = draft.left(context, value);
        agree(context, draft, &mut behind, value, leaves)?;
    }
    Ok(())
}

/// True if the target can requantize codes of a scheme to other grids.
pub(crate) fn can_requantize(spec: &TargetSpec, from: Option<Scheme>) -> bool {
    let from = from.and_then(Scheme::int_type);
    from.is_some_and(|from| spec.requantizes(Integer::from(from)).is_some())
}

/// True if the grid of a config's group is already decided: it is the grid of a result, of aligned operands, or of
/// another value.
fn is_fixed(draft: &Draft, id: ConfigId) -> bool {
    let root = draft.table.root(id);
    let port = draft.table.config(root).map(|root| root.port);
    let bound = |id: ConfigId| draft.bound.get(id.index());
    let own = bound(root).zip(bound(id));
    matches!(port, Some(Port::Result(_))) || own.is_some_and(|(root, own)| root.anchored || root.value != own.value)
}

/// True if a result has the grid of its node's operand, and no rule sets a range for this grid.
fn is_moved(draft: &Draft, result: ConfigId) -> bool {
    let root = draft.table.root(result);
    let read = draft.table.config(root).zip(draft.table.config(result));
    let own = read.is_some_and(|(read, result)| read.node == result.node && matches!(read.port, Port::Operand(_)));
    own && draft.bound.get(root.index()).is_some_and(|bound| !bound.anchored)
}

/// True if the settings allow a result to be made on the grid that all its readers want.
fn simplifies(context: &PassContext<'_>, draft: &Draft, result: ConfigId) -> bool {
    let maker = draft.table.config(result).map(|config| config.node);
    context.how.settings.simplifies(maker)
}

/// The readers of one value.
#[derive(Default)]
struct Readers {
    /// All readers, in the order of the graph.
    all: Vec<ConfigId>,
    /// For each reader whose grid is already decided, a config with this grid. Usually it is the reader's own config.
    /// If the reader only moves codes, it is the config that the readers of its result want.
    fixed: Vec<ConfigId>,
    /// Readers that can use whatever grid the producer has.
    free: Vec<ConfigId>,
    /// Readers that move codes, each with the grid that all readers of the moved codes want.
    moves: Vec<(ConfigId, ConfigId)>,
}

impl Readers {
    /// Joins readers for which rules set the same range, and sorts all readers into the fields of this type.
    fn new(
        context: &PassContext<'_>,
        draft: &mut Draft,
        behind: &Behind,
        value: ValueId,
        requantizes: bool,
    ) -> Result<Readers, AnnotateError> {
        let uses = context.graph.uses(value);
        let operands = uses.filter_map(|at| Some((at, draft.activation(at.node, at.operand.into())?)));
        let mut sorted: Vec<_> = operands
            .map(|(at, config)| (context.position(at.node), at.operand, config))
            .collect();
        sorted.sort_unstable();
        let all: Vec<ConfigId> = sorted.into_iter().map(|(.., config)| config).collect();
        join_alike(context, draft, &all)?;
        let mut readers = Readers::default();
        let apart = |id: ConfigId| requantizes && draft.bound.get(id.index()).is_some_and(|bound| bound.apart);
        // A reader may be in the group of its node's result, whose grid is already decided. A node that moves codes
        // wants the grid that the readers of its results want. Any other reader takes the grid of the producer.
        for reader in all.iter().copied().filter(|&id| !apart(id)) {
            match behind.get(&draft.table.root(reader)).copied().flatten() {
                _ if is_fixed(draft, reader) => readers.fixed.push(reader),
                Some(grid) => {
                    readers.fixed.push(grid);
                    readers.moves.push((reader, grid));
                }
                None => readers.free.push(reader),
            }
        }
        Ok(Readers { all, ..readers })
    }

    /// Returns the grid that all readers want, if the producer can store the value on this grid. Returns `None` if
    /// there is no such grid.
    fn agreed(&self, context: &PassContext<'_>, draft: &Draft, value: ValueId, leaves: ConfigId) -> Option<ConfigId> {
        let first = *self.fixed.first()?;
        let root = draft.table.root(first);
        let is_it = |&other: &ConfigId| draft.table.root(other) == root || draft.are_given_alike(other, root);
        // An output of the graph has to have all numbers of the value. If the grid comes from another reader's clamp,
        // it may be limited to the clamp's bounds, and numbers beyond them would be clipped.
        let agree = self.free.is_empty()
            && !context.graph.is_output(value)
            && !is_kept(draft, leaves)
            && simplifies(context, draft, leaves)
            && draft.scheme(first) == draft.scheme(leaves)
            && self.fixed.iter().all(is_it);
        agree.then_some(first)
    }
}

/// True if the grid of a result must not change.
fn is_kept(draft: &Draft, leaves: ConfigId) -> bool {
    draft.table.derivation(leaves).is_some() || draft.is_given(leaves)
}

/// Chooses the grids on which a value is stored and read. If all its readers want the same grid and the producer can
/// store the value on this grid, the producer uses this grid too. Then the value is not requantized.
fn agree(
    context: &PassContext<'_>,
    draft: &mut Draft,
    behind: &mut Behind,
    value: ValueId,
    leaves: Option<ConfigId>,
) -> Result<(), AnnotateError> {
    let requantizes = can_requantize(context.how.spec, leaves.and_then(|leaves| draft.scheme(leaves)));
    let readers = Readers::new(context, draft, behind, value, requantizes)?;
    let sum = leaves.filter(|&leaves| stays_a_sum(context, draft, leaves, &readers));
    if let Some(sum) = sum {
        let node = draft.table.config(sum).map(|config| config.node);
        draft.table.withdraw([sum]);
        if let Some(node) = node
            && let Some(config) = configs::accumulator(context, draft, node, value)?
        {
            passive::rest_on_product(draft, config, node)?;
        }
    } else if let Some(leaves) = leaves {
        produce(context, draft, behind, (value, leaves), &readers, requantizes)?;
    }
    for (reader, grid) in readers.moves {
        let same = |leaves: &ConfigId| draft.scheme(*leaves) == draft.scheme(reader);
        let leaves = leaves.filter(|leaves| sum.is_none() && same(leaves));
        draft.join(reader, leaves.unwrap_or(grid))?;
    }
    // Readers on the same type of codes that still have no grid share a grid.
    let mut deciding: Vec<ConfigId> = Vec::new();
    for reader in readers.free {
        if is_fixed(draft, reader) {
            continue;
        }
        let same = |other: &&ConfigId| draft.scheme(**other) == draft.scheme(reader);
        match deciding.iter().find(same) {
            Some(&other) => draft.join(reader, other)?,
            None => deciding.push(reader),
        }
    }
    Ok(())
}

/// Puts the producer's result on the grid on which its readers agree. Readers that can use any grid then join the
/// producer's group.
fn produce(
    context: &PassContext<'_>,
    draft: &mut Draft,
    behind: &mut Behind,
    (value, leaves): (ValueId, ConfigId),
    readers: &Readers,
    requantizes: bool,
) -> Result<(), AnnotateError> {
    let forced = context.how.settings.default.alignments.force_overlap || !requantizes;
    match readers.agreed(context, draft, value, leaves) {
        Some(first) if is_moved(draft, leaves) => {
            let root = draft.table.root(first);
            let grid = behind.entry(draft.table.root(leaves)).or_insert(Some(first));
            // If codes can be requantized after the moves, readers may want different grids. Otherwise, all readers
            // have to use one grid.
            if requantizes && grid.is_none_or(|other| draft.table.root(other) != root) {
                *grid = None;
            }
        }
        None if requantizes && !readers.all.is_empty() && is_moved(draft, leaves) => {
            behind.insert(draft.table.root(leaves), None);
        }
        Some(first) => draft.join(leaves, first)?,
        // A setting or the target requires that all readers use one grid.
        None if forced && !is_kept(draft, leaves) => {
            let alike = |&id: &ConfigId| draft.scheme(id) == draft.scheme(leaves);
            let alike: Vec<ConfigId> = readers.fixed.iter().copied().filter(alike).collect();
            overlap(context, draft, value, &alike, &readers.free);
            for reader in alike {
                draft.join(leaves, reader)?;
            }
        }
        None => {}
    }
    for &reader in &readers.free {
        draft.join(reader, leaves)?;
    }
    Ok(())
}

/// Joins readers for which the configuration sets the same range.
fn join_alike(context: &PassContext<'_>, draft: &mut Draft, readers: &[ConfigId]) -> Result<(), AnnotateError> {
    let mut told: Vec<ConfigId> = Vec::new();
    for &reader in readers {
        let Some(from) = draft
            .own_range(context, reader)
            .filter(|_| draft.table.root(reader) == reader)
        else {
            continue;
        };
        let same = |id| draft.own_range(context, id) == Some(from) && draft.scheme(id) == draft.scheme(reader);
        match told.iter().copied().find(|&other| same(other)) {
            Some(other) => draft.join(reader, other)?,
            None => told.push(reader),
        }
    }
    Ok(())
}

/// True if the result of a node on the accelerator stays an accumulator that each reader requantizes for itself. This
/// requires that the table requantizes accumulators at the operands of their readers, that the row can make the codes
/// that each reader in `all` wants, and that these readers want different grids.
fn stays_a_sum(context: &PassContext<'_>, draft: &Draft, leaves: ConfigId, readers: &Readers) -> bool {
    let Readers { all, fixed, free, .. } = readers;
    let (spec, table) = (context.how.spec, &draft.table);
    let maker = table.config(leaves).and_then(|config| context.graph.node(config.node));
    let row = maker.zip(table.config(leaves)).and_then(|(node, config)| {
        let [activation, _] = draft.types.of(config.node)?;
        Some((activation.ty, spec.row_for(node.op.term(), activation.ty.into())?.1))
    });
    let Some((activation, row)) = row.filter(|(_, row)| readers_narrow(spec, row)) else {
        return false;
    };
    // A result that shares a grid with an operand of its node by alignment has to exist as codes.
    let aligned = maker.zip(table.config(leaves)).is_some_and(|(node, config)| {
        let mut operands = draft.activations(config.node, node.inputs.len()).into_iter();
        operands.any(|operand| table.root(operand) == table.root(leaves))
    });
    if context.how.settings.default.alignments.force_overlap || aligned || draft.is_given(leaves) {
        return false;
    }
    let made = |id: &ConfigId| {
        let ty = draft.scheme(*id).and_then(Scheme::int_type).map(Integer::from);
        ty.is_some_and(|ty| {
            row.results
                .as_ref()
                .map_or(ty == activation, |results| results.contains(&ty))
        })
    };
    let grids = fixed.iter().map(|&id| table.root(id));
    let one_grid =
        grids.clone().all(|root| grids.clone().next() == Some(root)) && fixed.len() + free.len() == all.len();
    let one_type = all.iter().all(|&id| draft.scheme(id) == draft.scheme(leaves));
    let agree = one_type && one_grid && (fixed.is_empty() || free.is_empty());
    !agree && all.iter().all(made)
}

/// Records that the first reader in `alike` imposes its grid on other readers.
fn overlap(context: &PassContext<'_>, draft: &mut Draft, value: ValueId, alike: &[ConfigId], free: &[ConfigId]) {
    let Some(&first) = alike.first() else { return };
    let node = |id: &ConfigId| draft.table.config(*id).map(|config| config.node);
    let root = draft.table.root(first);
    let others = alike.iter().filter(|&&id| draft.table.root(id) != root);
    let mut readers: Vec<NodeId> = others.chain(free).filter_map(node).collect();
    readers.sort_unstable_by_key(|&id| context.position(id));
    readers.dedup();
    if let Some(aligned) = node(&first) {
        let overlapped = Overlapped {
            value,
            aligned,
            readers,
        };
        draft.overlapped.insert(value, overlapped);
    }
}
