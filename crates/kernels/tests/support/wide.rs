//! Makes codes of every type, and compares loops with sums of 32 and of 64 bits.

use super::{Numbers, finish, loops};
use strait_kernels::{
    Context, Isa,
    integer::{Carrier, Loops, accumulators},
};
use strait_requantize::{IntType, Requantization, form};

pub(crate) const ELEMENTS: [IntType; 5] = [IntType::I8, IntType::U8, IntType::I16, IntType::U16, IntType::I4];
pub(crate) const CARRIERS: [Carrier; 2] = [Carrier::I32, Carrier::I64];

/// Number of bytes of a code.
pub(crate) fn width(element: IntType) -> usize {
    usize::from(element.bits().div_ceil(8))
}

/// Codes, and their bytes.
pub(crate) struct CodeBytes {
    pub(crate) element: IntType,
    pub(crate) values: Vec<i64>,
    pub(crate) bytes: Vec<u8>,
}

/// Codes of a type. Many of them are the smallest or the largest code.
pub(crate) fn codes(element: IntType, count: usize, numbers: &mut Numbers) -> CodeBytes {
    let values: Vec<i32> = (0..count)
        .map(|_| match numbers.below(4) {
            0 => element.min(),
            1 => element.max(),
            _ => numbers.between(element.min(), element.max()),
        })
        .collect();
    let width = width(element);
    CodeBytes {
        element,
        bytes: values.iter().flat_map(|v| v.to_ne_bytes()[..width].to_vec()).collect(),
        values: values.into_iter().map(i64::from).collect(),
    }
}

/// The sums as bytes. Sums of 32 bits wrap.
pub(crate) fn raw(carrier: Carrier, sums: &[i64]) -> Vec<u8> {
    match carrier {
        Carrier::I32 => sums.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
        Carrier::I64 => sums.iter().flat_map(|x| x.to_ne_bytes()).collect(),
    }
}

/// Forms that map accumulators with magnitudes of about `size` to the whole range of the output type: forms for
/// accumulators of 48 and of 64 bits, and one form for 32 bits, which computes in f32.
pub(crate) fn forms(channels: usize, size: i64) -> Vec<Requantization> {
    let shift = (size / 30_000).max(2).ilog2() as i32;
    vec![
        form::SixteenByEight {
            multiplier: (0..channels).map(|c| 1_200_000_001 + 200_000 * c as i32).collect(),
            exponent: (0..channels)
                .map(|c| (-shift + c as i32 % 2).clamp(-31, 3) as i8)
                .collect(),
            zp: 0,
            out: IntType::I16,
        }
        .into(),
        form::ArithFolded {
            narrowing: strait_requantize::Narrowing {
                shift: (0..channels).map(|c| shift as u8 + (c % 3) as u8).collect(),
                rounding: strait_requantize::Rounding::HalfEven,
                out: IntType::I8,
            },
        }
        .into(),
        form::Float {
            scale: (0..channels).map(|c| 1.0 / (1 << 20) as f32 + c as f32 / 1e9).collect(),
            zp: 3,
            out: IntType::I16,
        }
        .into(),
    ]
}

/// Compares the results of loops with sums. `channel` gives the channel of a sum.
pub(crate) fn check(
    what: &str,
    channels: usize,
    carrier: Carrier,
    sums: &[i64],
    channel: impl Fn(usize) -> usize,
    run: impl Fn(&dyn Loops, &Context, &mut [u8]),
) {
    let each = |loops: &dyn Loops, wanted: &[u8], what: &str| {
        for isa in Isa::available() {
            let mut found = vec![0xA5; wanted.len()];
            run(loops, &Context::with_isa(isa), &mut found);
            assert!(found == wanted, "{what} on {}", isa.name());
        }
    };
    each(&*accumulators(), &raw(carrier, sums), what);
    // The compiler proves that accumulators fit in their type, so sums that do not fit in 32 bits are skipped.
    if carrier == Carrier::I32 && sums.iter().any(|&sum| i32::try_from(sum).is_err()) {
        return;
    }
    let size = sums.iter().map(|s| s.abs()).max().unwrap_or(0);
    for form in forms(channels, size) {
        let inside = |(at, &x): (usize, &i64)| {
            let (low, high) = form.domain(channel(at)).into_inner();
            x.clamp(low, high)
        };
        let inside: Vec<i64> = sums.iter().enumerate().map(inside).collect();
        for clamp in [None, Some([-100, 100])] {
            let wanted = finish(&form, clamp, &inside, &channel);
            for loops in loops(&form, clamp) {
                each(&*loops, &wanted, &format!("{what}, {}", form.kind()));
            }
        }
    }
}
