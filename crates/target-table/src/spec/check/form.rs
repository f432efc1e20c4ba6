//! Checks `[form.NAME]`: the limits must fit the kind of form, and the rule must compute integers for this kind.

use super::Findings;
use crate::spec::{Arithmetic, Evidence, ScaleRule, ShiftLimits};
use strait_document::KeyPath;
use strait_requantize::{FormKind, Roundings};

pub(super) fn check(findings: &mut Findings<'_>) {
    for (name, row) in &findings.spec.form {
        let at = |key: &str| KeyPath::of(&["form", name, key]);
        findings.list(&at("output"), &row.output);
        findings.list(&at("per"), &row.per);
        if let Some(holds) = &row.holds {
            let [low, high] = holds.accumulator;
            findings.ensure(low <= high, &at("holds"), || {
                format!("`{name}`: no accumulator is in [{low}, {high}]; the smaller end comes first")
            });
            let evidence = row.evidence.unwrap_or(findings.spec.reference.evidence);
            findings.ensure(evidence < Evidence::Documented, &at("holds"), || {
                format!("`{name}` is `{evidence}`, and so nothing was shown of any accumulator")
            });
        }
        let kind = row.form_kind();
        if kind == FormKind::FractionalZero {
            // The multiplier is an i32. It must be able to hold 2^bits, which stands for a factor of 1.
            let bits = row.multiplier_bits();
            findings.ensure(bits <= 30, &at("kind"), || {
                format!("`{name}`: a multiplier in front of a zero point before the shift has 1 to 30 bits, not {bits}")
            });
        }
        if let Arithmetic::TosaRescale { bits, roundings, .. } = row.kind {
            findings.ensure(matches!(bits, 15 | 31), &at("kind"), || {
                format!("`{name}`: a multiplier of RESCALE has 15 or 31 bits")
            });
            findings.ensure(bits != 15 || roundings == Roundings::One, &at("kind"), || {
                format!("`{name}`: RESCALE with a multiplier of 15 bits rounds once")
            });
        }
        if let Some(ShiftLimits { min, max }) = row.shift() {
            let (least, most) = match kind {
                FormKind::Gemmlowp => (-30, 31),
                FormKind::SixteenByEight => (-7, 31),
                FormKind::TosaRescale => (2, 62),
                FormKind::AscendDequantS16 => (1, 16),
                _ => (0, 62),
            };
            findings.ensure(min <= max, &at("kind"), || {
                format!("`{name}`: no shift is at least {min} and at most {max}")
            });
            findings.ensure(min > max || (least <= min && max <= most), &at("kind"), || {
                format!("`{name}`: shifts of this kind lie in {least} ..= {most}")
            });
        }
        let rules = rules(kind);
        findings.ensure(rules.contains(&row.from), &at("from"), || {
            let known: Vec<&str> = rules.iter().map(|r| r.name()).collect();
            format!(
                "`{name}`: `{}` does not make the integers of this kind; {} does",
                row.from,
                known.join(" or ")
            )
        });
    }
}

/// The rules that can compute the integers of a kind of form.
fn rules(kind: FormKind) -> &'static [ScaleRule] {
    use ScaleRule::{Correction, DequantizeQuantize, Free, Litert, OnnxRuntime};
    match kind {
        FormKind::ArithFolded | FormKind::FractionalZero => &[Correction, Free],
        FormKind::TfLite => &[Litert, Correction, Free],
        FormKind::Gemmlowp => &[Litert, Free],
        FormKind::SixteenByEight | FormKind::Float64 => &[Litert],
        FormKind::Float => &[OnnxRuntime, DequantizeQuantize, Free],
        FormKind::FloatZeroInside => &[OnnxRuntime, Free],
        FormKind::AscendRequant | FormKind::DequantQuant | FormKind::AscendDequantS16 | FormKind::AscendRequantS16 => {
            &[DequantizeQuantize]
        }
        FormKind::TosaRescale | FormKind::Fixed | FormKind::Steps => &[Free],
    }
}
