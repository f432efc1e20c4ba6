use super::{Kernel, Prepared, direct::direct, prepared};
use crate::{integer::epilogue::Correction, simd::I32s};
use std::sync::Arc;
use strait_requantize::{
    Rounding,
    form::{Affine, Arithmetic, Channel},
};

/// Makes the kernel for forms whose channels only compute `round(x / 2^s)`, in i32, with results in `range`. Returns `None` for
/// other forms.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let shifts: Vec<Affine> = channels
        .iter()
        .map(|channel| match channel.arithmetic() {
            Arithmetic::Affine(a) if (a.factor, a.addend, a.zero_point) == (1, 0, 0) && a.shift <= 30 => Some(a),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let rounding = shifts.first()?.rounding;
    // For a shift of 1, x + 1 would overflow if x is the largest i32.
    let halves = shifts.iter().any(|a| a.shift == 1);
    Some(match rounding {
        Rounding::Floor => {
            let values: Vec<_> = shifts.iter().map(|a| [i32::from(a.shift), 0, 0]).collect();
            direct(HalfUp, &values, tensor)
        }
        Rounding::HalfUp if !halves => {
            let values: Vec<_> = shifts.iter().map(|a| half_up(a.shift)).collect();
            direct(HalfUp, &values, tensor)
        }
        Rounding::HalfEven if shifts.iter().all(|a| is_narrow(a.shift, range)) => {
            // The bits of 2^−s: the exponent of 1 is 127.
            let power = |a: &Affine| [(127 - i32::from(a.shift)) << 23];
            let values: Vec<_> = shifts.iter().map(power).collect();
            direct(HalfEvenNarrow, &values, tensor)
        }
        Rounding::HalfEven if !halves => {
            let values: Vec<_> = shifts
                .iter()
                .map(|a| {
                    let [first, one, second] = half_up(a.shift);
                    // x & `mask` is x modulo 2^(s+1). If it equals `tie`, x / 2^s is half way between two integers, and
                    // the smaller of them is even. For shift 0, x & 0 is never 1, so there are no ties.
                    let (mask, tie) = match a.shift {
                        0 => (0, 1),
                        s => (((2_i64 << s) - 1) as i32, 1 << (s - 1)),
                    };
                    debug_assert!(one == second);
                    [first, one, mask, tie]
                })
                .collect();
            prepared(HalfEven, &values, tensor)
        }
        _ => {
            let values: Vec<_> = shifts
                .iter()
                .map(|a| {
                    let c = Correction::new(a.rounding, a.shift.into());
                    // For shifts up to 30, these constants are at most 2^30 − 1, so the casts lose nothing.
                    let [base, negative, even, after] = [c.base, c.negative, c.even, c.after].map(|c| c as i32);
                    [i32::from(a.shift), (1 << a.shift) - 1, base, negative, even, after]
                })
                .collect();
            prepared(AnyRounding, &values, tensor)
        }
    })
}

/// True if [`HalfEvenNarrow`] computes this shift: accumulators below 2^24 are exact in f32, and all others saturate. With a
/// shift of 0, the largest of them would leave i32.
fn is_narrow(shift: u8, range: [i32; 2]) -> bool {
    (1..24).contains(&shift) && range.iter().all(|end| end.unsigned_abs() < 1 << (24 - shift))
}

/// Computes `half_even(f32(x) / 2^s)`. The constant is 2^−s.
struct HalfEvenNarrow;

impl Kernel<1> for HalfEvenNarrow {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[power]: &[V; 1], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { x.to_f32().multiply_f32(power).round_f32() }
    }
}

/// The constants of [`HalfUp`]. The shift must not be 1.
fn half_up(shift: u8) -> [i32; 3] {
    match shift {
        0 => [0, 0, 0],
        s => [i32::from(s) - 1, 1, 1],
    }
}

/// ⌊(x + 2^(s−1)) / 2^s⌋ = ⌊(⌊x / 2^(s−1)⌋ + 1) / 2⌋. For s > 1, the right side never leaves i32.
pub(super) struct HalfUp;

impl Kernel<3> for HalfUp {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[first, one, second]: &[V; 3], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { x.shift_right(first).add(one).shift_right(second) }
    }
}

/// Like [`HalfUp`], but subtracts one if x is a tie whose smaller neighbour is even: x ≡ 2^(s−1) modulo 2^(s+1).
pub(super) struct HalfEven;

impl Kernel<4> for HalfEven {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[first, one, mask, tie]: &[V; 4], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            HalfUp
                .lanes(&[first, one, one], x)
                .decrement_where_equal(x.and(mask), tie)
        }
    }
}

/// Shifts and rounds with the corrections of `Correction`. With x = q·2^s + r and 0 ≤ r < 2^s, the result is q + ((r +
/// base + (negative if x < 0) + (even if q is odd)) >> s) + after.
pub(super) struct AnyRounding;

impl Kernel<6> for AnyRounding {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[shift, mask, base, negative, even, after]: &[V; 6], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let quotient = x.shift_right(shift);
            let sign = x.shift_right(V::splat(31));
            let correction = base.add(sign.and(negative)).add(quotient.and(even));
            let rest = x.and(mask).add(correction).shift_right(shift);
            quotient.add(rest).add(after)
        }
    }
}
