//! Upsamples chroma to the size of the image, as libjpeg-turbo's "fancy upsampling" does. If the size is doubled, two
//! neighbouring levels are weighted by ¾ and ¼. For other factors, levels are repeated.
//!
//! If the size is doubled, each level x becomes two levels. These two depend on x and on the neighbours of x in the
//! direction that is doubled:
//!
//! ```text
//! across        (3 x + left + 1) >> 2, (3 x + right + 2) >> 2            both ends as they are
//! down          (3 x + above + 1) >> 2, (3 x + below + 2) >> 2
//! both          s = 3 x + (above or below)
//!               (3 s + left + 8) >> 4, (3 s + right + 7) >> 4            at the ends (4 s + 8) >> 4, (4 s + 7) >> 4
//! ```
//!
//! The first row also serves as the row above it, and the last row as the row below it.

use super::Component;

/// Writes row `y` of the image to `out`. Both `out` and `sums` must have at least eight elements more than the row.
pub(super) fn row(component: &Component, most: [usize; 2], y: usize, out: &mut [u8], sums: &mut [u16]) {
    let factors = [0, 1].map(|axis| (most[axis], component.sampling[axis]));
    let stride = 8 * component.blocks[0];
    let [width, height] = component.size;
    let line = |y: usize| &component.levels[y * stride..][..width];
    let doubles = factors.map(|(most, own)| most == 2 * own);
    let same = factors.map(|(most, own)| most == own);
    let (middle, odd) = (y / 2, y % 2 == 1);
    let beside = match odd {
        true => (middle + 1).min(height - 1),
        false => middle.saturating_sub(1),
    };
    match (doubles, same) {
        (_, [true, true]) => out[..width].copy_from_slice(line(y)),
        ([true, false], [_, true]) if width > 2 => across(line(y), out),
        ([false, true], [true, _]) => {
            let bias = if odd { 2 } else { 1 };
            for (out, (&x, &other)) in out.iter_mut().zip(line(middle).iter().zip(line(beside))) {
                *out = ((3 * u16::from(x) + u16::from(other) + bias) >> 2) as u8;
            }
        }
        ([true, true], _) if width > 2 => {
            for (sum, (&x, &other)) in sums.iter_mut().zip(line(middle).iter().zip(line(beside))) {
                *sum = 3 * u16::from(x) + u16::from(other);
            }
            both(&sums[..width], out);
        }
        _ => {
            let source = line(y * factors[1].1 / factors[1].0);
            let (most, own) = factors[0];
            for (x, out) in out.iter_mut().enumerate() {
                *out = source[(x * own / most).min(width - 1)];
            }
        }
    }
}

fn across(line: &[u8], out: &mut [u8]) {
    let last = line.len() - 1;
    let (out, _) = out.as_chunks_mut::<2>();
    let x = |at: usize| u16::from(line[at]);
    out[0] = [line[0], ((3 * x(0) + x(1) + 2) >> 2) as u8];
    for (out, three) in out[1..].iter_mut().zip(line.windows(3)) {
        let [left, x, right] = [three[0], three[1], three[2]].map(u16::from);
        *out = [((3 * x + left + 1) >> 2) as u8, ((3 * x + right + 2) >> 2) as u8];
    }
    if let Some(out) = out.get_mut(last) {
        *out = [((3 * x(last) + x(last - 1) + 1) >> 2) as u8, line[last]];
    }
}

fn both(sums: &[u16], out: &mut [u8]) {
    let last = sums.len() - 1;
    let (out, _) = out.as_chunks_mut::<2>();
    out[0] = [((4 * sums[0] + 8) >> 4) as u8, ((3 * sums[0] + sums[1] + 7) >> 4) as u8];
    for (out, three) in out[1..].iter_mut().zip(sums.windows(3)) {
        let [left, x, right] = [three[0], three[1], three[2]];
        *out = [((3 * x + left + 8) >> 4) as u8, ((3 * x + right + 7) >> 4) as u8];
    }
    if let Some(out) = out.get_mut(last) {
        *out = [
            ((3 * sums[last] + sums[last - 1] + 8) >> 4) as u8,
            ((4 * sums[last] + 7) >> 4) as u8,
        ];
    }
}
