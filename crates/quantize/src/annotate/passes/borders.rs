//! **Borders.**
//! - What: gives each input and each output of the graph a config.
//! - Why: the host quantizes what it passes in, and dequantizes what it takes out. Rules, files and the text form of a
//!   graph can then refer to inputs and outputs in the same way as to operands and results of nodes.
//! - Preconditions: the groups are complete.
//! - Effect: an input that is only read as codes of a single grid takes over that grid, so that it is quantized once.
//!   An input for which a rule sets a type or scheme already has a config from [`super::configs`], and keeps it. Any
//!   other input is float: the host passes it in as real numbers, which are quantized for each grid on which they are
//!   read. An output has the grid of the codes that its producer stores, and the host dequantizes these codes. If the
//!   producer stores an accumulator, the output's grid is derived from that of the accumulator. Otherwise the output is
//!   float. An output that is also an input is float too.

use crate::annotate::analyses::{Role, borders, types};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{ConfigId, Derivation, Elem, Move, NodeId, Port, ValueId};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for (port, value) in borders(context.graph) {
        let float = context
            .graph
            .value(value)
            .is_some_and(|value| value.ty.elem == Elem::F32);
        if !float || draft.table.id(NodeId::OUTSIDE, port).is_some() {
            continue;
        }
        let of = match port {
            Port::Input(_) => readers(context, draft, value),
            // An output that is also an input is passed through without a change.
            _ if context.graph.producer(value).is_none() => None,
            _ => context.graph.left_by(&draft.table, value),
        };
        let of = of.and_then(|id| Some((id, draft.bound.get(id.index())?.role)));
        match of {
            Some((id, role @ (Role::Activation | Role::Accumulator))) => {
                let Some(scheme) = draft.scheme(id) else { continue };
                let config = draft.follow(NodeId::OUTSIDE, port, scheme, value, role);
                draft.transition(
                    config,
                    match role {
                        Role::Accumulator => Move::MasteredBy(Derivation::Same(id)),
                        _ => Move::DominatedBy(id),
                    },
                )?;
            }
            _ => {
                let scheme = types::activation(context.how.spec, types::outside(context.how.spec))?;
                let config = draft.follow(NodeId::OUTSIDE, port, scheme, value, Role::Other);
                draft.transition(config, Move::Dequantize)?;
            }
        }
    }
    Ok(())
}

/// Returns the root of the group (the config that holds the group's grid) to which all readers of a value belong.
/// Returns `None` unless all readers read codes on the same grid.
fn readers(context: &PassContext<'_>, draft: &Draft, value: ValueId) -> Option<ConfigId> {
    if !context.how.roles().only_codes_are_read(context.graph, value) {
        return None;
    }
    let mut uses = context.graph.uses(value);
    let mut root = || {
        let at = uses.next()?;
        Some(
            draft
                .activation(at.node, at.operand.into())
                .map(|id| draft.table.root(id)),
        )
    };
    let first = root()??;
    let same = |id: ConfigId| id == first || draft.are_given_alike(id, first);
    std::iter::from_fn(root)
        .all(|other| other.is_some_and(same))
        .then_some(first)
}
