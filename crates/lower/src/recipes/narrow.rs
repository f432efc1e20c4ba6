//! The last step of every recipe with an accumulator: to the codes of the result, or to real numbers.

use super::Site;
use crate::forms::{Ends, Product, choose, takes_input_zero};
use crate::lowering::{Lowering, integers};
use std::sync::Arc;
use strait_core::op::{Add, Requantize};
use strait_core::{Elem, QuantParams, Reason, ValueId};

/// An accumulator that is to be narrowed.
pub(super) struct Wide<'a> {
    /// The i32 value.
    pub(super) acc: ValueId,
    /// Its code of real zero, the same for every element.
    pub(super) zero: i32,
    /// Where its scale comes from.
    pub(super) product: Product<'a>,
    /// The axis that channels of parameters run along.
    pub(super) axis: u32,
}

/// Requantizes `wide` to the grid of the node's first result; where that has none, because it is read in float alone,
/// makes it real.
pub(super) fn narrow(walk: &mut Lowering<'_>, site: &Site<'_>, wide: Wide<'_>) -> Result<(), Reason> {
    let y = site.output()?;
    if !walk.has_grid(site.id, site.node) {
        return walk.dequantize_accumulator(site.node, y, wide.acc);
    }
    let (scale, zero) = walk.grid(y)?;
    let quant = Arc::new(QuantParams::tensor(scale, zero));
    let out = walk.spec.types.activation_type();
    let ends = Ends {
        input_zero: wide.zero,
        scale: f64::from(scale),
        zero,
        out,
    };
    let codes = requantize(walk, site, wide, ends, &Forms::Result, Some(quant), "requantize")?;
    walk.set_codes(y, codes);
    Ok(())
}

/// Which list of forms of the row is meant.
pub(super) enum Forms {
    /// `requantize`.
    Result,
    /// `inputs`.
    Operands,
}

/// A requantize node by the first form that fits. Where none of them takes in the accumulator's zero point, it is
/// taken away first: round((acc − z)·m) needs one more sum, and no form at all can do without.
pub(super) fn requantize(
    walk: &mut Lowering<'_>,
    site: &Site<'_>,
    mut wide: Wide<'_>,
    mut ends: Ends,
    list: &Forms,
    quant: Option<Arc<QuantParams>>,
    suffix: &str,
) -> Result<ValueId, Reason> {
    let spec = walk.spec;
    let names: Vec<&str> = match list {
        Forms::Result => site.forms().collect(),
        Forms::Operands => site.input_forms().collect(),
    };
    let absorbs = names.iter().any(|n| spec.form.get(*n).is_some_and(takes_input_zero));
    if wide.zero != 0 && !absorbs {
        let offset = integers(&[1], &[-wide.zero], Elem::I32)?;
        let offset = walk.data("offset", offset, None);
        wide.acc = walk.emit(site.node, Add {}, &[wide.acc, offset], None, "centre")?;
        (wide.zero, ends.input_zero) = (0, 0);
    }
    let (_, form) = choose(spec, names, &wide.product, ends)?;
    walk.emit(
        site.node,
        Requantize { form, axis: wide.axis },
        &[wide.acc],
        quant,
        suffix,
    )
}
