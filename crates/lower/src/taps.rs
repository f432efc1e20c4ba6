//! Finds the taps of a window that can lie outside of the operand.

/// A window that moves over the spatial axes.
pub(crate) struct Window<'a> {
    /// The extents of the window, one per axis.
    pub(crate) size: &'a [u64],
    /// The strides, one per axis.
    pub(crate) stride: &'a [u32],
    /// The dilations, one per axis.
    pub(crate) dilation: &'a [u32],
    /// The padding: first the padding at the beginning of each axis, then the padding at the end of each axis.
    pub(crate) pad: &'a [u32],
    /// The spatial extents of the operand.
    pub(crate) operand: &'a [u64],
    /// The number of positions of the window along each axis.
    pub(crate) positions: &'a [u64],
}

/// The taps of a window that can lie outside of the operand.
pub(crate) struct Taps {
    /// For each tap, true if it lies outside of the operand at some position of the window. The last axis runs fastest.
    pub(crate) outside: Vec<bool>,
    /// True if there is a position at which the whole window lies inside the operand.
    pub(crate) interior: bool,
}

impl Taps {
    /// Finds the taps of a window that can lie outside of the operand. Along an axis, tap k at position p reads the
    /// element p · stride + k · dilation − begin, where begin is the padding before the axis.
    pub(crate) fn of(window: &Window<'_>) -> Taps {
        let mut taps = Taps {
            outside: vec![false],
            interior: true,
        };
        for (axis, &size) in window.size.iter().enumerate() {
            let at = |list: &[u32]| i128::from(list.get(axis).copied().unwrap_or(1));
            let extent = |list: &[u64]| i128::from(list.get(axis).copied().unwrap_or(1));
            let (stride, dilation) = (at(window.stride).max(1), at(window.dilation));
            let begin = i128::from(window.pad.get(axis).copied().unwrap_or(0));
            let (operand, last) = (extent(window.operand), extent(window.positions) - 1);
            let along: Vec<bool> = (0..i128::from(size))
                .map(|k| k * dilation < begin || last * stride + k * dilation - begin >= operand)
                .collect();
            taps.outside = (taps.outside.iter())
                .flat_map(|&outside| along.iter().map(move |&a| outside || a))
                .collect();
            // `first` is the first position at which the window does not start before the operand. If the window
            // reaches beyond the operand's end at this position, it does so at all later positions too.
            let first = (begin + stride - 1) / stride;
            let reaches = first * stride + (i128::from(size) - 1) * dilation - begin;
            taps.interior &= first <= last && reaches < operand;
        }
        taps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(size: u64, stride: u32, dilation: u32, (begin, end): (u32, u32), operand: u64) {
        let span = (size - 1) * u64::from(dilation) + 1;
        let room = operand + u64::from(begin) + u64::from(end);
        if room < span {
            return;
        }
        let positions = (room - span) / u64::from(stride) + 1;
        let taps = Taps::of(&Window {
            size: &[1, size],
            stride: &[1, stride],
            dilation: &[1, dilation],
            pad: &[0, begin, 0, end],
            operand: &[3, operand],
            positions: &[3, positions],
        });
        let outside = |p: u64, k: u64| {
            let at = (p * u64::from(stride) + k * u64::from(dilation)) as i64 - i64::from(begin);
            at < 0 || at >= operand as i64
        };
        let expect: Vec<bool> = (0..size).map(|k| (0..positions).any(|p| outside(p, k))).collect();
        assert_eq!(
            taps.outside, expect,
            "{size} {stride} {dilation} {begin} {end} {operand}"
        );
        let inside = (0..positions).any(|p| !(0..size).any(|k| outside(p, k)));
        assert_eq!(
            taps.interior, inside,
            "{size} {stride} {dilation} {begin} {end} {operand}"
        );
    }

    #[test]
    fn every_position_of_every_small_window_was_looked_at() {
        for (size, operand) in (1..5).flat_map(|size| (1..9).map(move |operand| (size, operand))) {
            for (stride, dilation) in (1..4).flat_map(|stride| (1..4).map(move |dilation| (stride, dilation))) {
                for pads in (0..5).flat_map(|begin| (0..5).map(move |end| (begin, end))) {
                    check(size, stride, dilation, pads, operand);
                }
            }
        }
    }

    #[test]
    fn a_tap_is_outside_where_it_is_on_any_axis() {
        let taps = Taps::of(&Window {
            size: &[2, 3],
            stride: &[1, 1],
            dilation: &[1, 1],
            pad: &[1, 1, 0, 1],
            operand: &[4, 4],
            positions: &[4, 4],
        });
        assert_eq!(taps.outside, [true, true, true, true, false, true]);
        assert!(taps.interior);
    }
}
