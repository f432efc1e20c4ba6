//! Writes forms as rows of a target's table.

use crate::answer::Subject;
use strait_requantize::{IntType, Requantization, Rounding};

/// The word for the rule of ONNX Runtime in tables.
const RUNTIME_RULE: &str = "onnxruntime"; // tidy: allow(names): the rule is named after the same program as a target

/// The keys and values, in TOML, of a table row that describes these forms. The forms are all of one kind.
pub(crate) fn row(subject: &Subject, forms: &[&Requantization], clamps: [bool; 2]) -> Vec<(&'static str, String)> {
    let rule = matches!(subject, Subject::Rule(_));
    let bits = match subject {
        Subject::Hypothesis(hypothesis) => hypothesis.bits,
        Subject::Rule(_) => 0,
    };
    let shift = |of: fn(&Requantization) -> Vec<i16>| {
        let shifts: Vec<i16> = forms.iter().flat_map(|form| of(form)).collect();
        let (min, max) = (shifts.iter().min().unwrap_or(&0), shifts.iter().max().unwrap_or(&0));
        format!("shift = {{ min = {min}, max = {max} }}")
    };
    let multiplied = |rounding: Rounding, zero_point: &str| {
        format!(
            "{{ multiply_shift = {{ bits = {bits}, {}, rounding = \"{rounding}\"{zero_point} }} }}",
            shift(shifts)
        )
    };
    let Some(first) = forms.first() else {
        return Vec::new();
    };
    let (kind, from) = match first {
        Requantization::ArithFolded(form) => {
            let rounding = form.narrowing.rounding;
            (
                format!("{{ shift = {{ {}, rounding = \"{rounding}\" }} }}", shift(shifts)),
                "free",
            )
        }
        Requantization::TfLite(form) => (multiplied(form.narrowing.rounding, ""), "free"),
        Requantization::FractionalZero(form) => (
            multiplied(form.narrowing.rounding, ", zero_point = \"before_shift\""),
            "free",
        ),
        Requantization::Gemmlowp(form) => {
            let roundings = form.roundings.name();
            let kind = format!("{{ gemmlowp = {{ roundings = \"{roundings}\", {} }} }}", shift(shifts));
            (kind, if rule { "litert" } else { "free" })
        }
        Requantization::SixteenByEight(_) => (format!("{{ sixteen_by_eight = {{ {} }} }}", shift(shifts)), "litert"),
        Requantization::Float64(_) => ("\"float64_scale\"".to_owned(), "litert"),
        Requantization::Float(_) if rule => ("\"float_scale\"".to_owned(), RUNTIME_RULE),
        Requantization::Float(_) => (format!("{{ float_scale = {{ bits = {bits} }} }}"), "free"),
        Requantization::FloatZeroInside(_) => {
            let kind = "{ float_scale = { zero_point = \"inside_rounding\" } }".to_owned();
            (kind, if rule { RUNTIME_RULE } else { "free" })
        }
        Requantization::AscendRequant(_) => {
            let packed = *subject == Subject::Rule(crate::RuntimeRule::AscendPacked);
            let bits = if packed { 11 } else { 24 };
            (
                format!("{{ ascend_requant = {{ bits = {bits} }} }}"),
                "dequantize_quantize",
            )
        }
        // Hypotheses and rules have no forms of other kinds.
        _ => return Vec::new(),
    };
    let mut outputs: Vec<&str> = forms.iter().map(|form| word(form.out())).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let per_channel = forms.iter().any(|form| form.channels().is_some());
    vec![
        ("kind", kind),
        ("output", format!("{outputs:?}")),
        ("per", format!("[{:?}]", if per_channel { "channel" } else { "tensor" })),
        (
            "clamp",
            format!("{:?}", if clamps == [false; 2] { "none" } else { "any" }),
        ),
        ("from", format!("{from:?}")),
    ]
}

/// The shifts to the right of a form, as a table states them.
fn shifts(form: &Requantization) -> Vec<i16> {
    let channels = 0..form.channels().unwrap_or(1);
    channels.filter_map(|channel| form.right_shift(channel)).collect()
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
