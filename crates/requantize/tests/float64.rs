//! Tests the form `float64`, LiteRT's product in `f64`, against its definition in exact integers.

use strait_requantize::{IntType, Requantization, form, scales::litert};

/// `size / 2^shift`, rounded to the nearest integer. For a tie, `tie` gets the lower neighbour and says which neighbour
/// to take.
fn divided(size: u128, shift: u32, tie: impl Fn(u128) -> bool) -> u128 {
    let below = size >> shift;
    let (rest, step) = (size - (below << shift), 1u128 << shift);
    below + u128::from(2 * rest > step || (2 * rest == step && tie(below)))
}

/// A product of two integers, rounded to 53 bits (ties to even), multiplied by a power of two, and rounded to an
/// integer (ties away from zero).
fn defined(x: i64, multiplier: i64, exponent: i8, zp: i32) -> Option<i32> {
    if !(-(1i64 << 53)..=1 << 53).contains(&x) {
        return None;
    }
    let product = i128::from(x) * i128::from(multiplier);
    let size = product.unsigned_abs();
    let spare = (128 - size.leading_zeros()).saturating_sub(53);
    let kept = divided(size, spare, |below| below % 2 == 1) << spare;
    let whole = match 53 - i32::from(exponent) {
        shift @ ..120 => divided(kept, shift as u32, |_| true) as i128,
        _ => 0, // of 107 bits
    };
    let whole = i32::try_from(whole * product.signum()).ok()?;
    whole.checked_add(zp)
}

#[test]
fn products_in_f64_are_their_definition() {
    let multipliers = [1 << 52, (1 << 53) - 1, 0x0015_5555_5555_5555, 0x001A_2B3C_4D5E_6F71];
    for (i, exponent) in [31, 20, 3, 1, 0, -1, -3, -10, -20, -40, -66, -67, -128]
        .into_iter()
        .enumerate()
    {
        for multiplier in multipliers {
            for zp in [0, 1, -3, 127, -128, i32::MIN, i32::MAX] {
                let out = IntType::ALL[i % IntType::ALL.len()];
                let form = Requantization::from(form::Float64 {
                    multiplier: multiplier.into(),
                    exponent: exponent.into(),
                    zp,
                    out,
                });
                let channel = form.channel(0).unwrap();
                let (low, high) = channel.domain().into_inner();
                let steps = [out.min(), out.min() + 1, -100, -1, 0, 1, 2, 63, 64, out.max()].into_iter();
                let steps = steps.map(|code| channel.least_reaching(code.into()));
                let near = steps.chain([low, high, 0]).flat_map(|x| [x - 1, x, x + 1]);
                for x in near.chain((-32_768..=32_767).step_by(7)) {
                    let expect = defined(x, multiplier, exponent, zp).map(|y| out.saturate(y.into()));
                    assert_eq!(channel.eval(x).ok(), expect, "{form:?} at {x}");
                }
            }
        }
    }
}

#[test]
fn float64_keeps_wide_accumulators_and_rounds_ties_away() {
    let form = |factor: f64, zp, out| litert::product_in_f64(&factor.into(), zp, out).unwrap();
    for (x, y) in [(1, 2), (-1, 0), (3, 3), (-3, -1)] {
        assert_eq!(form(0.5, 1, IntType::I8).eval(0, x), Ok(y), "{x}");
    }
    // With the f64 just below one half, there is no tie.
    assert_eq!(form(0.5f64.next_down(), 0, IntType::I8).eval(0, 1), Ok(0));
    // This accumulator cannot be represented in f32.
    assert_eq!(form(1.0, 0, IntType::I32).eval(0, (1 << 24) + 1), Ok((1 << 24) + 1));
    assert_eq!(
        form(2f64.powi(-38), 0, IntType::I16).eval(0, (1 << 50) + 1),
        Ok(1 << 12)
    );
    assert!(form(1e-12, 0, IntType::I16).eval(0, (1 << 53) + 1).is_err());
    // The result has to fit into i32 before and after the zero point is added.
    assert_eq!(form(1.0, 5, IntType::I8).domain(0), -(1 << 31)..=(1 << 31) - 6);
    assert!(form(1.0, 0, IntType::I16).is_identity() && !form(1.0, 1, IntType::I16).is_identity());
    for factor in [0.0, -1.0, f64::NAN, 2f64.powi(31), 1e-40] {
        assert!(
            litert::product_in_f64(&factor.into(), 0, IntType::I8).is_err(),
            "{factor}"
        );
    }
    assert_eq!(form(2f64.powi(-129), 0, IntType::I8).eval(0, 1 << 53), Ok(0));
}
