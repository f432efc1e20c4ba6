//! Writes forms as rows of a target's table.

use crate::answer::Subject;
use strait_requantize::{IntType, Per, Requantization, Roundings};

/// The keys and values, in TOML, of a table row that describes these forms. The forms are all of one kind.
pub(crate) fn row(subject: &Subject, forms: &[&Requantization], clamps: [bool; 2]) -> Vec<(&'static str, String)> {
    let rule = matches!(subject, Subject::Rule(_));
    let bits = match subject {
        Subject::Hypothesis(hypothesis) => hypothesis.bits,
        Subject::Rule(_) => 0,
    };
    let text = |text: &str| format!("{text:?}");
    let shift = |of: fn(&Requantization) -> Vec<i8>| {
        let shifts: Vec<i8> = forms.iter().flat_map(|form| of(form)).collect();
        let (min, max) = (shifts.iter().min().unwrap_or(&0), shifts.iter().max().unwrap_or(&0));
        format!("{{ min = {min}, max = {max} }}")
    };
    let multiplier = |bits: u8| format!("{{ bits = {bits} }}");
    let Some(first) = forms.first() else {
        return Vec::new();
    };
    let mut row = Vec::new();
    let (zero_point, from) = match first {
        Requantization::ArithFolded(form) => {
            row.push(("kind", text("shift")));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("folded_in_bias", "free")
        }
        Requantization::TfLite(form) => {
            row.push(("kind", text("multiply_shift")));
            row.push(("stages", "1".into()));
            row.push(("multiplier", multiplier(bits)));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("after", "free")
        }
        Requantization::FractionalZero(form) => {
            row.push(("kind", text("multiply_shift")));
            row.push(("stages", "1".into()));
            row.push(("multiplier", multiplier(bits)));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("before_shift", "free")
        }
        Requantization::Gemmlowp(form) => {
            row.push(("kind", text("gemmlowp")));
            row.push((
                "stages",
                if form.roundings == Roundings::Two { "2" } else { "1" }.into(),
            ));
            row.push(("shift", shift(shifts)));
            ("after", if rule { "litert" } else { "free" })
        }
        Requantization::SixteenByEight(_) => {
            row.push(("kind", text("sixteen_by_eight")));
            row.push(("shift", shift(shifts)));
            ("after", "litert")
        }
        Requantization::Float64(_) => {
            row.push(("kind", text("float64_scale")));
            ("after", "litert")
        }
        Requantization::Float(_) => {
            row.push(("kind", text("float_scale")));
            if !rule {
                row.push(("multiplier", multiplier(bits)));
            }
            ("after", if rule { "onnxruntime" } else { "free" })
        }
        Requantization::FloatZeroInside(_) => {
            row.push(("kind", text("float_scale")));
            ("inside_rounding", if rule { "onnxruntime" } else { "free" })
        }
        Requantization::AscendRequant(_) => {
            let packed = *subject == Subject::Rule(crate::RuntimeRule::AscendPacked);
            row.push(("kind", text("ascend_requant")));
            row.push(("multiplier", multiplier(if packed { 11 } else { 24 })));
            ("after", "ascend") // tidy: allow(names): the name of a rule of scales
        }
        // No hypothesis has a form of another kind.
        _ => return Vec::new(),
    };
    let mut outputs: Vec<&str> = forms.iter().map(|form| word(form.out())).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let per_channel = forms.iter().any(|form| form.channels().is_some());
    row.extend([
        ("zero_point", text(zero_point)),
        ("output", format!("{outputs:?}")),
        ("per", format!("[{:?}]", if per_channel { "channel" } else { "tensor" })),
        ("clamp", text(if clamps == [false; 2] { "none" } else { "any" })),
        ("from", text(from)),
    ]);
    row
}

/// The right shifts of a form, as a table states them.
fn shifts(form: &Requantization) -> Vec<i8> {
    let right = |exponents: &Per<i8>| exponents.values().iter().map(|exponent| -exponent).collect();
    match form {
        Requantization::Gemmlowp(form) => right(&form.exponent),
        Requantization::SixteenByEight(form) => right(&form.exponent),
        form => {
            let narrowing = form.narrowing();
            // Shifts are at most 62, so the cast loses nothing.
            narrowing.map_or_else(Vec::new, |n| {
                n.shift.values().iter().map(|&shift| shift as i8).collect()
            })
        }
    }
}

/// The word for a type in target tables.
fn word(out: IntType) -> &'static str {
    match out {
        IntType::I4 => "int4",
        IntType::U4 => "uint4",
        IntType::I8 => "int8",
        IntType::U8 => "uint8",
        IntType::I16 => "int16",
        IntType::U16 => "uint16",
        IntType::I32 => "int32",
    }
}
