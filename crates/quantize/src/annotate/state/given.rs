//! Grids and codes that are known before annotation, because they came with the model or from a record.

use super::draft::{Draft, refuse};
use crate::annotate::settings::{AnnotateError, Given};
use crate::annotate::state::context::PassContext;
use strait_core::{ConfigId, Def, Grid, Move, Origin};

/// Puts the config of an activation or of weights on its given grid, if there is one. The grid of a bias is not set
/// here, because it follows from the grids of operand and weights.
pub(crate) fn activate(
    context: &PassContext<'_>,
    draft: &mut Draft,
    id: ConfigId,
    is_bias: bool,
) -> Result<(), AnnotateError> {
    let Some(given) = of(context, draft, id) else {
        return Ok(());
    };
    if let Some(wrong) = unfit(context, draft, id, given) {
        refuse(draft, id, &wrong);
    } else if !is_bias {
        draft.transition(id, Move::Activate(Grid::new(given.params.clone(), Origin::Given)))?;
        draft.mark(id, |at| at.anchored = true);
    }
    Ok(())
}

/// The grid and codes that are given for a config.
pub(crate) fn of<'a>(context: &PassContext<'a>, draft: &Draft, id: ConfigId) -> Option<&'a Given> {
    let config = draft.table.config(id)?;
    context.how.given(config.node, config.port)
}

/// The reason why a config cannot use the grid or the codes that are given for it. `None` if the config can use them.
fn unfit(context: &PassContext<'_>, draft: &Draft, id: ConfigId, given: &Given) -> Option<String> {
    let (scheme, bound) = (draft.scheme(id)?, draft.bound.get(id.index())?);
    let value = context.graph.value(bound.value)?;
    if scheme.elem() != Some(given.elem) {
        return Some(format!("is given in {}, and is {scheme} here", given.elem));
    }
    if let Some(wrong) = scheme.misfit(&given.params, &value.ty.shape) {
        return Some(format!("is {scheme}, and the grid that is given {wrong}"));
    }
    if let Some(own) = draft.table.grid(id).filter(|own| own.params != given.params) {
        let (scale, zero) = own.params.as_tensor().unwrap_or_default();
        return Some(format!(
            "has the scale {scale} and the zero point {zero} by its definition, and others are given"
        ));
    }
    let codes = context.module.data(given.codes?);
    let [low, high] = scheme.range()?;
    let fits = codes.is_some_and(|codes| {
        let inside = codes
            .extremes()
            .is_none_or(|(least, most)| least >= low && most <= high);
        codes.elem() == given.elem && codes.tensor_type().shape == value.ty.shape && inside
    });
    match value.def {
        Def::Data(_) if fits => None,
        Def::Data(_) => Some(format!(
            "is {scheme}, and the codes that are given have another type, shape or range"
        )),
        _ => Some("has codes given, and is no constant".into()),
    }
}
