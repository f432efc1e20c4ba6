//! The forms of requantization in words, and as formulas.

/// The words and the formula of a form. `x` is the accumulator, `y` the result, `⟨·⟩` rounds.
pub(crate) fn form(name: &str) -> Option<(&'static str, &'static str)> {
    let row = FORMS.iter().find(|(own, ..)| *own == name)?;
    Some((row.1, row.2))
}

const FORMS: &[(&str, &str, &str)] = &[
    (
        "arith_folded",
        "The factor is part of the weights and the bias, so only a shift is left.",
        "y = sat(⟨x / 2ˢ⟩)",
    ),
    (
        "fractional_zero",
        "Multiply, add a zero point with a fraction, shift and round once.",
        "y = sat(⟨(x·m + c) / 2ˢ⟩)",
    ),
    (
        "tf_lite",
        "Multiply by an integer, shift and round once, add the zero point.",
        "y = sat(⟨x·m / 2ˢ⟩ + z)",
    ),
    (
        "gemmlowp",
        "Multiply by a 31-bit fraction and shift, with one or two roundings, then add the zero point.",
        "y = sat(⟨⟨x·2ᵉ⁺·m / 2³¹⟩ / 2ᵉ⁻⟩ + z)",
    ),
    (
        "sixteen_by_eight",
        "Multiply by a 16-bit multiplier, shift and round once.",
        "y = sat(⟨x·m₁₆ / 2¹⁵⁻ᵉ⟩ + z)",
    ),
    (
        "tosa_rescale",
        "TOSA's RESCALE: subtract the zero point, multiply, shift, add the zero point.",
        "y = sat((((x − z₁)·m + 2ˢ⁻¹ + d) >> s) + z₂)",
    ),
    (
        "float",
        "Multiply by a 32-bit float, round to even, add the zero point.",
        "y = sat(⟨f32(x)·r⟩ + z)",
    ),
    (
        "float64",
        "Multiply by a 53-bit fraction in double precision, round, add the zero point.",
        "y = sat(⟨f64(x·m)·2ᵉ⁻⁵³⟩ + z)",
    ),
    (
        "float_zero_inside",
        "Multiply by a 32-bit float, add the zero point in float, round to even.",
        "y = sat(⟨f32(x)·r + z⟩)",
    ),
    (
        "ascend_requant",
        "Multiply by a 32-bit float, cut off below 0, round to even, add the offset.",
        "y = sat(max(⟨f32(x)·r⟩, 0) + o)",
    ),
    (
        "dequant_quant",
        "Convert to float and back to codes, each step in 32-bit float.",
        "y = sat(⟨max(f32(x)·d, 0)·q + o⟩)",
    ),
    (
        "ascend_dequant_s16",
        "Shift to 16 bits, rounding down.",
        "s = sat₁₆(⌊x / 2ᴺ⌋)",
    ),
    (
        "ascend_requant_s16",
        "Convert 16-bit results to codes of 8 bits by a 32-bit float.",
        "y = sat₈(⟨f32(s)·r⟩ + o)",
    ),
    (
        "fixed",
        "Multiply, add, shift and round, then add the zero point.",
        "y = sat(⟨(x·m + c) / 2ˢ⟩ + z)",
    ),
    (
        "steps",
        "Count the thresholds that the accumulator reaches.",
        "y = lowest + #{t : t ≤ x}",
    ),
];
