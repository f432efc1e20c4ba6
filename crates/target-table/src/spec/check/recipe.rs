//! Checks single recipes: their parameters must fit the row's ops, forms and types.

use super::Findings;
use crate::spec::{Arithmetic, FormRow, Lines, OpRow, Pair, PoolPadding, Recipe, ScaleSet, WeightGrid};
use strait_core::Term;
use strait_document::KeyPath;
use strait_requantize::{FormKind, IntType, function::Definition};

pub(super) fn check(
    findings: &mut Findings<'_>,
    row: &OpRow,
    recipe: Recipe,
    ops: &[&str],
    at: &impl Fn(&str) -> KeyPath,
) {
    let spec = findings.spec;
    let forms = |names, is: fn(&FormRow) -> bool| spec.forms_of(names).any(is);
    let shifts = forms(&row.requantize, |form| matches!(form.kind, Arithmetic::Shift { .. }));
    let path = at("recipe");
    let parameter = |key: &str| path.clone().key(recipe.name()).key(key);
    match recipe {
        Recipe::MultiplyAccumulate { weight_grid, .. } => {
            weights(findings, row, weight_grid, shifts, &parameter("weight_grid"));
        }
        Recipe::AddShifted => {
            let takes = forms(&row.inputs, |form| matches!(form.kind, Arithmetic::DequantS16(_)));
            findings.ensure(takes, &at("inputs"), || {
                format!("`{recipe}` needs a form of the kind `dequant_s16`")
            });
            let makes = forms(&row.requantize, |form| matches!(form.kind, Arithmetic::RequantS16(_)));
            findings.ensure(makes, &at("requantize"), || {
                format!("`{recipe}` needs a form of the kind `requant_s16`")
            });
            findings.ensure(symmetric_weights(findings, row), &path, || {
                format!("`{recipe}` adds sums of weights without zero points, and those of `types.weight` have them")
            });
            findings.ensure(powers_of_two(findings, row), &path, || {
                format!(
                    "`{recipe}` makes the scales of both weights so that their sums are on one grid: no powers of two, as \
                     `types.weight.scale` asks"
                )
            });
        }
        Recipe::AddScaled => {
            let other = spec.pairs(row).filter_map(Pair::codes).map(IntType::from);
            let wide = other.into_iter().find(|codes| codes.bits() != 8);
            findings.ensure(wide.is_none() && row.results.is_none(), &at("pairs"), || {
                format!("`{recipe}` adds codes of 8 bits, and its results have the type of its operands")
            });
        }
        Recipe::AveragePoolReciprocal(_) => {
            let other = forms(&row.requantize, |form| form.form_kind() != FormKind::TfLite);
            findings.ensure(!other, &at("requantize"), || {
                format!(
                    "`{recipe}` multiplies and shifts: by forms of the kind `multiply_shift` with the zero point `after`"
                )
            });
        }
        Recipe::MaxPool { pad } => {
            narrowed(findings, row, ops, shifts, at);
            let windows = ops.contains(&Term::MaxPool.name());
            findings.ensure(windows || pad == PoolPadding::default(), &parameter("pad"), || {
                "none of the ops of this row has windows that reach into padding".into()
            });
            findings.ensure(
                pad != PoolPadding::ZeroPoint || row.results.is_none(),
                &parameter("pad"),
                || "a maximum that takes bits off pads with `type_minimum`".into(),
            );
        }
        Recipe::Lookup {
            definition,
            left_shift,
            rounding,
            interpolate,
        } => {
            let free = definition == Definition::Nearest;
            findings.ensure(rounding.is_none() || free, &parameter("rounding"), || {
                format!("`{definition}` rounds in its own way")
            });
            findings.ensure(left_shift.is_none() || free, &parameter("left_shift"), || {
                format!("`{definition}` makes codes, without the bits of `left_shift` beside them")
            });
            findings.ensure(shifts == left_shift.is_some(), &path, || {
                format!("the bits of `left_shift` of a `{recipe}` are what a shift of `requantize` takes off")
            });
            if let Some(lines) = interpolate {
                let path = parameter("interpolate");
                findings.ensure(left_shift.is_none() && free, &path, || {
                    "entries between which lines are drawn are those of `nearest.v1`, without the bits of `left_shift`"
                        .into()
                });
                evenly_spaced(findings, row, lines, &path.key("entries"));
            }
        }
        Recipe::PassThrough { fraction } => {
            let resizes = ops.contains(&Term::Resize.name());
            findings.ensure(fraction.is_none() || resizes, &parameter("fraction"), || {
                "`resize` alone interpolates".into()
            });
        }
        _ => {}
    }
}

/// Checks that the forms and types of the row allow this choice of scales for weights.
fn weights(findings: &mut Findings<'_>, row: &OpRow, grid: WeightGrid, shifts: bool, path: &KeyPath) {
    findings.ensure(shifts || !grid.leaves_a_shift(), path, || {
        format!("`{grid}` leaves a shift, and none of the forms in `requantize` is one")
    });
    findings.ensure(powers_of_two(findings, row) || !grid.leaves_a_shift(), path, || {
        format!(
            "`{grid}` makes weight scales out of the activations', which are no powers of two as `types.weight.scale` asks"
        )
    });
    let twice = grid == WeightGrid::MaxAbsThenShift;
    findings.ensure(!twice || symmetric_weights(findings, row), path, || {
        "weights that are rounded to their largest magnitude first have no zero point".into()
    });
}

/// True if weight scales that are derived from the scales of activations are powers of two, or if `types.weight.scale`
/// does not ask for powers of two.
fn powers_of_two(findings: &Findings<'_>, row: &OpRow) -> bool {
    let spec = findings.spec;
    spec.pairs(row).all(|pair| {
        let from = pair.codes().map(|activation| spec.types.activation(activation).scale);
        spec.types.weight(pair.weight).scale == ScaleSet::Any || from == Some(ScaleSet::PowerOfTwo)
    })
}

fn symmetric_weights(findings: &Findings<'_>, row: &OpRow) -> bool {
    let spec = findings.spec;
    spec.pairs(row).all(|pair| spec.types.weight(pair.weight).symmetric)
}

/// If a pool removes the lowest bits of its codes, checks that a shift removes them, and that the zero point of the
/// types is 0.
fn narrowed(findings: &mut Findings<'_>, row: &OpRow, ops: &[&str], shifts: bool, at: &impl Fn(&str) -> KeyPath) {
    let results = row.results.iter().flatten();
    findings.ensure(shifts || row.requantize.is_empty(), &at("requantize"), || {
        "`max_pool` compares codes; of `requantize` it takes a shift alone, in front of `results` of fewer bits".into()
    });
    findings.ensure(shifts == row.results.is_some(), &at("results"), || {
        "`max_pool` leaves its operand's type, or one of `results` with fewer bits, behind a shift of `requantize`"
            .into()
    });
    findings.ensure(row.results.is_none() || ops == ["max_pool"], &at("results"), || {
        "`max_pool` alone takes bits off its codes".into()
    });
    let (spec, narrowest) = (findings.spec, results.map(|t| IntType::from(*t).bits()).min());
    for activation in spec.pairs(row).filter_map(Pair::codes) {
        let wide = narrowest.is_some_and(|bits| bits < IntType::from(activation).bits());
        findings.ensure(
            !wide || spec.types.activation(activation).symmetric,
            &at("results"),
            || format!("a shift keeps a zero point of 0 alone, and that of {activation} may be another"),
        );
    }
}

/// Checks, for each type that the row reads, that the entries of a lookup table with linear interpolation are for
/// evenly spaced codes.
fn evenly_spaced(findings: &mut Findings<'_>, row: &OpRow, lines: Lines, path: &KeyPath) {
    let other = findings
        .spec
        .pairs(row)
        .filter_map(Pair::codes)
        .find(|codes| lines.step(IntType::from(*codes).bits()).is_none());
    if let Some(codes) = other {
        findings.add(
            path,
            format!(
                "{} entries are not on evenly spaced codes of {codes}: a power of two of them are, fewer than its codes, and \
                 one more",
                lines.entries
            ),
        );
    }
}
