//! Classes of accumulators. The class of an accumulator decides which line of the report lists a wrong result for this
//! accumulator.

use strait_requantize::{
    Rounding,
    form::{Arithmetic, Channel},
};

/// What is special about an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The exact result lies halfway between two integers, so the rounding decides.
    Tie,
    /// The accumulator is at an end of the form's domain, or needs more than 32 bits.
    Edge,
    /// The accumulator is the smallest or largest 32-bit number, or it is zero or one.
    Extreme,
    /// Any other accumulator. Most of them lie next to a threshold where the result changes.
    Threshold,
}

/// The class of an accumulator in one channel.
pub(super) fn of(channel: &Channel<'_>, x: i64) -> Class {
    if is_tie(channel.arithmetic(), x) {
        return Class::Tie;
    }
    let domain = channel.domain();
    let past = i32::try_from(x).is_err();
    if past || x == *domain.start() && x > i32::MIN.into() || x == *domain.end() && x < i32::MAX.into() {
        return Class::Edge;
    }
    if [i32::MIN.into(), i32::MAX.into(), -1, 0, 1].contains(&x) {
        return Class::Extreme;
    }
    Class::Threshold
}

fn is_tie(arithmetic: Arithmetic<'_>, x: i64) -> bool {
    let half = |value: i128, shift: u32| shift > 0 && value & ((1 << shift) - 1) == 1 << (shift - 1);
    match arithmetic {
        Arithmetic::Affine(a) => half(
            i128::from(x) * i128::from(a.factor) + i128::from(a.addend),
            a.shift.into(),
        ),
        Arithmetic::Doubling(d) => {
            let product = i128::from(x) * i128::from(d.factor) + i128::from(d.addend);
            let high = Rounding::HalfUp.shift_right_wide(product, 31);
            half(product, 31) || half(high, u32::from(d.shift).saturating_sub(31))
        }
        Arithmetic::Float(f) => (x as f32 * f.scale).abs().fract() == 0.5,
        Arithmetic::FloatAffine(f) => (x as f32 * f.factor * f.scale + f.offset).abs().fract() == 0.5,
        Arithmetic::Double(f) => (x as f64 * f.scale).abs().fract() == 0.5,
        Arithmetic::Steps(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use strait_requantize::{IntType, Narrowing, Requantization, form};

    #[test]
    fn ties_are_halves_and_edges_are_where_the_domain_ends() {
        let shift = Requantization::from(form::ArithFolded {
            narrowing: Narrowing {
                shift: 3.into(),
                rounding: Rounding::HalfEven,
                out: IntType::I8,
            },
        });
        let classes = [4, -4, 12, 3, 5, 8, 0, i64::from(i32::MAX), 1 << 40].map(|x| of(&shift.channel(0).unwrap(), x));
        use Class::{Edge, Extreme, Threshold, Tie};
        assert_eq!(
            classes,
            [Tie, Tie, Tie, Threshold, Threshold, Threshold, Extreme, Extreme, Edge]
        );
        let float = Requantization::from(form::Float {
            scale: 0.25.into(),
            zp: 3,
            out: IntType::I8,
        });
        assert_eq!(
            [2, 6, -2, 4, 5].map(|x| of(&float.channel(0).unwrap(), x)),
            [Tie, Tie, Tie, Threshold, Threshold]
        );
    }
}
