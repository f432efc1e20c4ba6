//! Parameters of single recipes.

use super::Findings;
use crate::spec::{IntegerFunction, Lines, OpRow, Padding, Pair, RecipeName};
use strait_core::Term;
use strait_document::KeyPath;
use strait_requantize::{FormKind, IntType};

pub(super) fn check(findings: &mut Findings<'_>, row: &OpRow, recipe: RecipeName, ops: &[&str], path: &KeyPath) {
    let at = |key: &str| path.clone().key(key);
    let spec = findings.spec;
    if recipe == RecipeName::Lookup && row.rounding.is_some() {
        let own = row.definition.filter(|&function| function != IntegerFunction::Nearest);
        findings.ensure(own.is_none(), &at("rounding"), || {
            let function = own.map_or_else(String::new, |function| function.to_string());
            format!("`{function}` rounds in its own way")
        });
    }
    if let Some(lines) = row.interpolate {
        interpolated(findings, row, lines, &at("interpolate"));
    }
    let resizes = ops.contains(&Term::Resize.name());
    findings.ensure(row.fraction.is_none() || resizes, &at("fraction"), || {
        "`resize` alone interpolates".into()
    });
    if recipe == RecipeName::AveragePoolReciprocal {
        let forms = row.requantize.iter().filter_map(|name| spec.form.get(name));
        let other = forms.into_iter().any(|form| form.form_kind() != Some(FormKind::TfLite));
        findings.ensure(!other, &at("requantize"), || {
            format!(
                "`{recipe}` multiplies and shifts: by forms of the kind `multiply_shift` with the zero point `after`"
            )
        });
    }
    if let Some(pad) = row.pad {
        let known = match recipe {
            RecipeName::MultiplyAccumulate => [Padding::ZeroPoint, Padding::ZeroCode],
            _ => [Padding::TypeMinimum, Padding::ZeroPoint],
        };
        findings.ensure(known.contains(&pad), &at("pad"), || {
            format!("`{recipe}` pads with `{}` or `{}`", known[0], known[1])
        });
        let windows = ops.iter().any(|op| ["conv", "max_pool"].contains(op));
        findings.ensure(windows, &at("pad"), || {
            "none of the ops of this row has windows that reach into padding".into()
        });
        findings.ensure(
            pad != Padding::ZeroPoint || recipe != RecipeName::MaxPool || row.results.is_none(),
            &at("pad"),
            || "a maximum that takes bits off pads with `type_minimum`".into(),
        );
    }
}

/// That entries are on evenly spaced codes of each type that the row reads, and are those of the correctly rounded function.
fn interpolated(findings: &mut Findings<'_>, row: &OpRow, lines: Lines, path: &KeyPath) {
    let spec = findings.spec;
    let other = spec
        .pairs(row)
        .filter_map(Pair::codes)
        .find(|codes| lines.step(IntType::from(*codes).bits()).is_none());
    findings.ensure(other.is_none(), &path.clone().key("entries"), || {
        let codes = other.map(|codes| codes.to_string()).unwrap_or_default();
        format!(
            "{} entries are not on evenly spaced codes of {codes}: a power of two of them are, fewer than its codes, and one more",
            lines.entries
        )
    });
    let plain = row.left_shift.is_none()
        && row
            .definition
            .is_none_or(|function| function == IntegerFunction::Nearest);
    findings.ensure(plain, path, || {
        "entries between which lines are drawn are those of `nearest.v1`, without the bits of `left_shift`".into()
    });
}
