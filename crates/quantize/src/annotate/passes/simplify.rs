//! **Simplify.** What: along each edge, what the producer leaves and what the readers want become one grid, as far as they
//! agree.
//! Why: where all agree, a result rounds once; every grid more is a requantization more.
//! Preconditions: operands and results of each node are bound as its arithmetic and its alignment demand.
//! Effect: readers without a grid of their own take what the producer leaves; readers of which the configuration says the
//! same range share theirs. If all others want one grid of the producer's type, the producer leaves its result on that:
//! what only a concatenation reads is made on the grid of the concatenation. Nodes that move codes hand on what is wanted
//! behind them: as long as all readers agree it travels up to the producer, and where they do not, moved codes stay on the
//! grid of the producer and are requantized behind the moves. An output of the graph is read by somebody who agrees with nobody. A grid that was given stays what it is. Where readers differ,
//! the producer leaves its own, and those of another grid are requantized; but where the table narrows operands, what is
//! left is the sum, and each reader narrows that. Under `force_overlap`, and where the target requantizes no codes, the grid
//! of an aligned operand is that of the producer and of all readers; who did not ask for it is told. Where `simplify` is off, a
//! producer leaves its result on a range of its own, whatever its readers agree on. Readers of what has no
//! producer with codes share a grid for each type. Nothing is decided by the order in which nodes happen to be stored.

use super::{configs, passive};
use crate::annotate::analyses::readers_narrow;
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, Overlapped, PassContext};
use std::collections::BTreeMap;
use strait_core::{ConfigId, NodeId, Port, Scheme, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::Integer;

/// By root of what a node moves: a config on the grid that all readers behind the node want; `None` where they differ, as those
/// of the parts of a split may.
type Behind = BTreeMap<ConfigId, Option<ConfigId>>;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let mut behind = Behind::new();
    // Readers first, so that what is wanted behind nodes that move codes is known in front of them.
    for &value in &context.scope.values {
        let leaves = draft.left(context, value);
        agree(context, draft, &mut behind, value, leaves)?;
    }
    Ok(())
}

/// True if the target brings codes of a scheme to other grids.
pub(crate) fn can_requantize(spec: &TargetSpec, from: Option<Scheme>) -> bool {
    let from = from.and_then(|scheme| scheme.elem()?.int_type());
    from.is_some_and(|from| spec.requantizes(Integer::from(from)).is_some())
}

/// True if the group of a config has a grid of its own: that of a result, of an alignment, or of another value.
fn is_fixed(draft: &Draft, id: ConfigId) -> bool {
    let root = draft.table.root(id);
    let port = draft.table.config(root).map(|root| root.port);
    let bound = |id: ConfigId| draft.bound.get(id.index());
    let own = bound(root).zip(bound(id));
    matches!(port, Some(Port::Result(_))) || own.is_some_and(|(root, own)| root.anchored || root.value != own.value)
}

/// True if a result is on the grid of what its node reads, of which no range is said.
fn is_moved(draft: &Draft, result: ConfigId) -> bool {
    let root = draft.table.root(result);
    let read = draft.table.config(root).zip(draft.table.config(result));
    let own = read.is_some_and(|(read, result)| read.node == result.node && matches!(read.port, Port::Operand(_)));
    own && draft.bound.get(root.index()).is_some_and(|bound| !bound.anchored)
}

/// True if a result is to be made on the grid that all its readers want.
fn simplifies(context: &PassContext<'_>, draft: &Draft, result: ConfigId) -> bool {
    let maker = draft.table.config(result).map(|config| config.node);
    context.how.settings.simplifies(maker)
}

/// The readers of one value.
#[derive(Default)]
struct Readers {
    /// All of them, in the order of the graph.
    all: Vec<ConfigId>,
    /// Configs on grids that stand already: of readers, or of what stands behind readers that move codes.
    fixed: Vec<ConfigId>,
    /// Those that take what comes.
    free: Vec<ConfigId>,
    /// Those that move codes, with the grid that all readers behind them take.
    moves: Vec<(ConfigId, ConfigId)>,
}

impl Readers {
    /// Brings those together of whose ranges the same is said, and tells the others apart.
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
        // What stands behind a result is on the grid of that result; anything else takes what comes.
        // Nodes that move codes ask for what is taken behind them.
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

    /// The grid that all of them take and on which the producer may leave the value.
    fn agreed(&self, context: &PassContext<'_>, draft: &Draft, value: ValueId, leaves: ConfigId) -> Option<ConfigId> {
        let first = *self.fixed.first()?;
        let root = draft.table.root(first);
        let is_it = |&other: &ConfigId| draft.table.root(other) == root || draft.are_given_alike(other, root);
        // Whoever reads an output of the graph wants all of its numbers, which a bound in front of other readers cuts off.
        let agree = self.free.is_empty()
            && !context.graph.is_output(value)
            && !is_kept(draft, leaves)
            && simplifies(context, draft, leaves)
            && draft.scheme(first) == draft.scheme(leaves)
            && self.fixed.iter().all(is_it);
        agree.then_some(first)
    }
}

/// True if the grid of a result stays what it is.
fn is_kept(draft: &Draft, leaves: ConfigId) -> bool {
    draft.table.derivation(leaves).is_some() || draft.is_given(leaves)
}

/// Brings the readers of a value and what its producer leaves together, as far as they agree.
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
    // Those of one type that are on a grid of their own are on the same one.
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

/// Brings what a producer leaves to the grid on which its readers agree, and those to it that take what comes.
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
            // Where codes cannot be requantized behind the moves, one grid has to do.
            if requantizes && grid.is_none_or(|other| draft.table.root(other) != root) {
                *grid = None;
            }
        }
        None if requantizes && !readers.all.is_empty() && is_moved(draft, leaves) => {
            behind.insert(draft.table.root(leaves), None);
        }
        Some(first) => draft.join(leaves, first)?,
        // There is one grid.
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

/// Brings readers to one grid of whose ranges the configuration says the same.
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

/// True if the result of a node of the accelerator is left as the sum that it is, for each of its readers to narrow: the
/// table narrows operands, and `all` of these want codes that the row makes, but not all on one grid.
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
    // Codes that are aligned with what the node reads have to be there.
    let aligned = maker.zip(table.config(leaves)).is_some_and(|(node, config)| {
        let mut operands = draft.activations(config.node, node.inputs.len()).into_iter();
        operands.any(|operand| table.root(operand) == table.root(leaves))
    });
    if context.how.settings.default.alignments.force_overlap || aligned || draft.is_given(leaves) {
        return false;
    }
    let made = |id: &ConfigId| {
        let ty = draft
            .scheme(*id)
            .and_then(|scheme| scheme.elem()?.int_type())
            .map(Integer::from);
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

/// Keeps what the first of these imposes on others.
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
