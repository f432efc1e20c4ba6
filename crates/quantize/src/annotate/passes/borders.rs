//! **Borders.** What: a config for each input and each output of the graph.
//! Why: what the host hands over and takes is quantization, too; text, files and rules speak of it as of any other place.
//! Preconditions: the groups stand.
//! Effect: an input of which codes alone are read, all on one grid, is overlapped by its readers: it is quantized once. An
//! input that a rule gives a type or a scheme has had a config since [`super::configs`], and stands. Any other is float: real
//! numbers go in, and each grid on which they are read is made of these. An output is on the grid of the codes that are left,
//! which the host reads dequantized; where an accumulator is left it follows from that; else it is float, also where it is an
//! input.

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
            // What came in goes out as it is.
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

/// The root of the readers of a value, if all of them read codes on one grid.
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
