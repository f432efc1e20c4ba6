//! `[form.NAME]`: a kind with the keys that belong to it.

use super::Findings;
use crate::spec::{Arithmetic, Evidence, FormRow, ScaleRule, ShiftLimits};
use strait_document::KeyPath;
use strait_requantize::{FormKind, Rounding};

pub(super) fn check(findings: &mut Findings<'_>) {
    for (name, row) in &findings.spec.form {
        let at = |key: &str| KeyPath::of(&["form", name, key]);
        findings.list(&at("output"), &row.output);
        findings.list(&at("per"), &row.per);
        let Some(kind) = row.form_kind() else {
            let message = format!("`{name}`: no {} has its zero point `{}`", row.kind, row.zero_point);
            let allowed = match row.kind {
                Arithmetic::Shift | Arithmetic::DequantS16 | Arithmetic::Steps => "`folded_in_bias`",
                Arithmetic::FloatScale => "`after` and `inside_rounding`",
                Arithmetic::DequantQuant => "`inside_rounding`",
                Arithmetic::Gemmlowp
                | Arithmetic::SixteenByEight
                | Arithmetic::Float64Scale
                | Arithmetic::TosaRescale
                | Arithmetic::AscendRequant
                | Arithmetic::RequantS16 => "`after`",
                Arithmetic::MultiplyShift => "`after`, or with one stage also `before_shift` and `before_and_after`",
            };
            findings.add_with(&at("zero_point"), message, format!("allowed: {allowed}"));
            continue;
        };
        keys(findings, name, row);
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
        if let Some(multiplier) = &row.multiplier {
            // The multiplier of the forms is an i32, and 2^bits where it may be 1; the significand of an f32 has 24 bits.
            let most = match kind {
                _ if row.kind.is_float() => 24,
                FormKind::FractionalZero => 30,
                _ => 31,
            };
            findings.ensure((1..=most).contains(&multiplier.bits), &at("multiplier"), || {
                format!("`{name}`: a multiplier has 1 to {most} bits, not {}", multiplier.bits)
            });
            findings.ensure(
                kind != FormKind::Gemmlowp || multiplier.bits == 31,
                &at("multiplier"),
                || format!("`{name}`: the doubling high multiply has 31 bits"),
            );
            findings.ensure(
                kind != FormKind::TosaRescale || matches!(multiplier.bits, 15 | 31),
                &at("multiplier"),
                || format!("`{name}`: a multiplier of RESCALE has 15 or 31 bits"),
            );
            let twice = row.stages == Some(2);
            findings.ensure(
                kind != FormKind::TosaRescale || multiplier.bits == 31 || !twice,
                &at("multiplier"),
                || format!("`{name}`: RESCALE with a multiplier of 15 bits rounds once"),
            );
        }
        if let Some(shift) = &row.shift {
            let (least, most) = match kind {
                FormKind::Gemmlowp => (-30, 31),
                FormKind::SixteenByEight => (-7, 31),
                FormKind::TosaRescale => (2, 62),
                FormKind::AscendDequantS16 => (1, 16),
                _ => (0, 62),
            };
            let ShiftLimits { min, max } = *shift;
            findings.ensure(min <= max, &at("shift"), || {
                format!("`{name}`: no shift is at least {min} and at most {max}")
            });
            findings.ensure(min > max || (least <= min && max <= most), &at("shift"), || {
                format!("`{name}`: shifts of this kind lie in {least} ..= {most}")
            });
        }
        let fixed = match kind {
            FormKind::Gemmlowp => Some(Rounding::HalfAway),
            FormKind::Float | FormKind::FloatZeroInside => Some(Rounding::HalfEven),
            FormKind::AscendDequantS16 => Some(Rounding::Floor),
            _ => None,
        };
        if let (Some(rounding), Some(fixed)) = (row.rounding, fixed) {
            findings.ensure(rounding == fixed, &at("rounding"), || {
                format!("`{name}`: this kind rounds `{fixed}`")
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

/// Keys that the kind needs, and keys that it does not have.
fn keys(findings: &mut Findings<'_>, name: &str, row: &FormRow) {
    use Key::{May, Must, No};
    let twice = row.stages == Some(2);
    // A float multiplier is an f32 unless the row says less. Where a kind leaves no choice of the rounding, there is no
    // key for it; a float scale may say the one that it has.
    let (multiplier, shift, rounding, stages) = match row.kind {
        Arithmetic::Shift => (No, Must, Must, No),
        Arithmetic::MultiplyShift => (Must, Must, if twice { May } else { Must }, May),
        Arithmetic::Gemmlowp => (May, Must, No, Must),
        Arithmetic::SixteenByEight => (No, Must, No, No),
        Arithmetic::TosaRescale => (Must, Must, No, Must),
        Arithmetic::FloatScale => (May, No, May, No),
        Arithmetic::AscendRequant | Arithmetic::DequantQuant | Arithmetic::RequantS16 => (May, No, No, No),
        Arithmetic::DequantS16 => (No, Must, May, No),
        Arithmetic::Float64Scale | Arithmetic::Steps => (No, No, No, No),
    };
    let keys = [
        ("multiplier", row.multiplier.is_some(), multiplier),
        ("shift", row.shift.is_some(), shift),
        ("rounding", row.rounding.is_some(), rounding),
        ("stages", row.stages.is_some(), stages),
    ];
    for (key, given, rule) in keys {
        let path = KeyPath::of(&["form", name, key]);
        findings.ensure(!given || rule != No, &path, || {
            format!("`{name}`: the kind `{}` has no `{key}`", row.kind)
        });
        findings.ensure(given || rule != Must, &path, || {
            format!("`{name}`: the kind `{}` needs `{key}`", row.kind)
        });
    }
}

/// Need of a kind for a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    No,
    May,
    Must,
}

/// The rules that make the integers of a kind.
pub(super) fn rules(kind: FormKind) -> &'static [ScaleRule] {
    match kind {
        FormKind::ArithFolded | FormKind::FractionalZero => &[ScaleRule::Sima, ScaleRule::Free],
        FormKind::TfLite => &[ScaleRule::Litert, ScaleRule::Sima, ScaleRule::Free],
        FormKind::Gemmlowp => &[ScaleRule::Litert, ScaleRule::Free],
        FormKind::SixteenByEight | FormKind::Float64 => &[ScaleRule::Litert],
        FormKind::Float => &[ScaleRule::OnnxRuntime, ScaleRule::Ascend, ScaleRule::Free],
        FormKind::FloatZeroInside => &[ScaleRule::OnnxRuntime, ScaleRule::Free],
        FormKind::AscendRequant | FormKind::DequantQuant | FormKind::AscendDequantS16 | FormKind::AscendRequantS16 => {
            &[ScaleRule::Ascend]
        }
        FormKind::TosaRescale | FormKind::Fixed | FormKind::Steps => &[ScaleRule::Free],
    }
}
