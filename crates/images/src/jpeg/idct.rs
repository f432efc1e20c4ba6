//! The inverse DCT of an 8 × 8 block, as in libjpeg's `jidctint.c`, after Loeffler, Ligtenberg and Moschytz (1989).
//!
//! Constants have 13 fractional bits. Columns are transformed first. Their results have two fractional bits, which are
//! rounded away after the rows are transformed. All arithmetic is in 32 bits; it may wrap around for coefficients that
//! no real image has.

use std::num::Wrapping;

type I = Wrapping<i32>;

/// Number of fractional bits of the constants.
const BITS: usize = 13;
/// Number of fractional bits of the results of the column pass.
const KEPT: usize = 2;

const fn constant(x: i32) -> I {
    Wrapping(x)
}

// Each constant is 2¹³ times the number in its name, rounded.
const C_0_298631336: I = constant(2446);
const C_0_390180644: I = constant(3196);
const C_0_541196100: I = constant(4433);
const C_0_765366865: I = constant(6270);
const C_0_899976223: I = constant(7373);
const C_1_175875602: I = constant(9633);
const C_1_501321110: I = constant(12299);
const C_1_847759065: I = constant(15137);
const C_1_961570560: I = constant(16069);
const C_2_053119869: I = constant(16819);
const C_2_562915447: I = constant(20995);
const C_3_072711026: I = constant(25172);

/// Applies the one-dimensional transform to eight numbers. The results are multiplied by 2^13.
#[inline(always)]
fn one(x: [I; 8]) -> [I; 8] {
    // The even part of the transform.
    let z = (x[2] + x[6]) * C_0_541196100;
    let t2 = z - x[6] * C_1_847759065;
    let t3 = z + x[2] * C_0_765366865;
    let t0 = (x[0] + x[4]) << BITS;
    let t1 = (x[0] - x[4]) << BITS;
    let even = [t0 + t3, t1 + t2, t1 - t2, t0 - t3];
    // The odd part of the transform.
    let [a, b, c, d] = [x[7], x[5], x[3], x[1]];
    let z5 = (a + c + b + d) * C_1_175875602;
    let z1 = -(a + d) * C_0_899976223;
    let z2 = -(b + c) * C_2_562915447;
    let z3 = -(a + c) * C_1_961570560 + z5;
    let z4 = -(b + d) * C_0_390180644 + z5;
    let odd = [
        d * C_1_501321110 + z1 + z4,
        c * C_3_072711026 + z2 + z3,
        b * C_2_053119869 + z2 + z4,
        a * C_0_298631336 + z1 + z3,
    ];
    [
        even[0] + odd[0],
        even[1] + odd[1],
        even[2] + odd[2],
        even[3] + odd[3],
        even[3] - odd[3],
        even[2] - odd[2],
        even[1] - odd[1],
        even[0] - odd[0],
    ]
}

fn rounded(x: I, bits: usize) -> I {
    (x + (Wrapping(1) << (bits - 1))) >> bits
}

fn level(x: I) -> u8 {
    (x.0 + 128).clamp(0, 255) as u8
}

/// Transforms a block, and writes its levels to the first eight places of eight rows, which begin `stride` apart. Rows
/// beyond the end of `out` are left out.
pub(super) fn transform(block: &[i16; 64], table: &[u16; 64], out: &mut [u8], stride: usize) {
    let rows = out.chunks_mut(stride).take(8);
    if block[1..].iter().all(|&coefficient| coefficient == 0) {
        let dc = (Wrapping(i32::from(block[0])) * Wrapping(i32::from(table[0]))) << KEPT;
        let flat = level(rounded(dc, KEPT + 3));
        rows.for_each(|row| row[..8].fill(flat));
        return;
    }
    let mut columns = [[Wrapping(0); 8]; 8];
    for x in 0..8 {
        let column: [I; 8] =
            std::array::from_fn(|y| Wrapping(i32::from(block[8 * y + x])) * Wrapping(i32::from(table[8 * y + x])));
        if column[1..] == [Wrapping(0); 7] {
            let flat = column[0] << KEPT;
            columns.iter_mut().for_each(|row| row[x] = flat);
            continue;
        }
        for (row, sum) in columns.iter_mut().zip(one(column)) {
            row[x] = rounded(sum, BITS - KEPT);
        }
    }
    for (row, numbers) in rows.zip(columns) {
        let levels = one(numbers).map(|sum| level(rounded(sum, BITS + KEPT + 3)));
        row[..8].copy_from_slice(&levels);
    }
}
