//! Parameters of single recipes.

use super::Findings;
use crate::spec::{IntegerFunction, OpRow, Padding, RecipeName};
use strait_document::KeyPath;
use strait_requantize::FormKind;

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
