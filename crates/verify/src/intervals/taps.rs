//! Finds out whether the taps of a moving window read elements or padding.

/// The largest number of positions that are checked one by one.
const MOST_POSITIONS: i128 = 1 << 16;

/// Along one axis, at most this many pairs of a position and a tap are checked one by one. If there are more pairs, or
/// if all axes together have more positions than this number, the numbers of elements are not found.
const MOST_TAPS: i128 = 1 << 24;

/// What a tap can read at the positions of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tap {
    /// True if there is a position at which the tap reads an element.
    pub(super) inside: bool,
    /// True if there is a position at which the tap reads no element.
    pub(super) outside: bool,
}

/// A window along one axis. At position p, tap k reads the element p·stride + k·dilation − begin, if there is one.
#[derive(Clone, Copy, Debug)]
struct Axis {
    taps: i128,
    stride: i128,
    dilation: i128,
    begin: i128,
    end: i128,
    extent: i128,
    /// The last position.
    last: i128,
}

impl Axis {
    fn element(&self, position: i128, tap: i128) -> i128 {
        position * self.stride + tap * self.dilation - self.begin
    }

    fn tap(&self, tap: i128) -> Tap {
        // `first` is the first position at which the tap is not before the first element. From one position to the
        // next, the tap moves towards the end of the axis.
        let in_front = (-self.element(0, tap)).max(0);
        let first = (in_front + self.stride - 1) / self.stride;
        Tap {
            inside: first <= self.last && self.element(first, tap) < self.extent,
            outside: in_front > 0 || self.element(self.last, tap) >= self.extent,
        }
    }

    /// True if there is a position at which a tap reads no element. Only the first tap at the first position and the
    /// last tap at the last position have to be checked, because these two reach farthest beyond the ends of the axis.
    fn leaves(&self) -> bool {
        self.begin > 0 || self.element(self.last, self.taps - 1) >= self.extent
    }

    /// Like [`Axis::leaves`], but only counts the padding that the attributes state. A window may also reach beyond
    /// this padding.
    fn pads(&self) -> bool {
        self.begin > 0 || self.end > 0 && self.leaves()
    }

    /// True if there is a position at which no tap reads an element.
    fn is_empty_somewhere(&self) -> bool {
        if self.element(self.last, 0) >= self.extent {
            return true;
        }
        // If a window starts before the first element, only the first of its taps that is not before the first element
        // has to be checked.
        let is_empty = |position: i128| {
            let in_front = -self.element(position, 0);
            let tap = (in_front + self.dilation - 1) / self.dilation;
            tap >= self.taps || self.element(position, tap) >= self.extent
        };
        let starts = ((self.begin + self.stride - 1) / self.stride).min(self.last + 1);
        starts > MOST_POSITIONS || (0..starts).any(is_empty)
    }
}

/// A window over the spatial axes, with all its positions.
#[derive(Clone, Debug)]
pub(super) struct Window(Vec<Axis>);

/// The attributes of an op with a window, with one number for each axis. The padding has first the begins of all axes,
/// then the ends.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    pub(super) stride: &'a [u32],
    pub(super) dilation: &'a [u32],
    pub(super) pad: &'a [u32],
}

impl<'a> Attributes<'a> {
    pub(super) fn new(stride: &'a [u32], dilation: &'a [u32], pad: &'a [u32]) -> Attributes<'a> {
        Attributes { stride, dilation, pad }
    }
}

impl Window {
    /// Makes a window from the extents of the window, the operand and the result. The first two axes of operand and
    /// result are batch and channels. `None` if the extents do not fit together.
    pub(super) fn new(
        attributes: Attributes<'_>,
        size: impl ExactSizeIterator<Item = u64>,
        operand: &[u64],
        result: &[u64],
    ) -> Option<Window> {
        let (operand, result, axes) = (operand.get(2..)?, result.get(2..)?, size.len());
        let axis = |(axis, taps): (usize, u64)| {
            let positive = |list: &[u32]| list.get(axis).filter(|n| **n > 0).map(|&n| i128::from(n));
            let pad = |side: usize| attributes.pad.get(axis + side).map(|&n| i128::from(n));
            let last = i128::from(*result.get(axis)?) - 1;
            let axis = Axis {
                taps: taps.into(),
                stride: positive(attributes.stride)?,
                dilation: positive(attributes.dilation)?,
                begin: pad(0)?,
                end: pad(axes)?,
                extent: (*operand.get(axis)?).into(),
                last,
            };
            (taps > 0 && last >= 0).then_some(axis)
        };
        size.enumerate().map(axis).collect::<Option<_>>().map(Window)
    }

    /// What each tap can read. The last axis runs fastest.
    pub(super) fn taps(&self) -> Vec<Tap> {
        let first = Tap {
            inside: true,
            outside: false,
        };
        // A tap reads an element if it lies inside of the operand along every axis, and reads none if it lies outside
        // along any axis. The positions along different axes are independent, so each axis can be examined separately.
        self.0.iter().fold(vec![first], |taps, axis| {
            let along: Vec<Tap> = (0..axis.taps).map(|tap| axis.tap(tap)).collect();
            let both = |tap: Tap| {
                along.iter().map(move |other| Tap {
                    inside: tap.inside && other.inside,
                    outside: tap.outside || other.outside,
                })
            };
            taps.into_iter().flat_map(both).collect()
        })
    }

    /// For each axis and position, the number of taps that read elements. `None` if there are too many to check.
    pub(super) fn elements(&self) -> Option<Vec<Vec<u64>>> {
        let along = |axis: &Axis| {
            let positions = axis.last + 1;
            let few = positions.checked_mul(axis.taps).is_some_and(|looks| looks <= MOST_TAPS);
            let inside = |p: i128| {
                let elements = (0..axis.taps).map(|tap| axis.element(p, tap));
                elements.filter(|at| (0..axis.extent).contains(at)).count() as u64
            };
            few.then(|| (0..positions).map(inside).collect::<Vec<u64>>())
        };
        let all: Vec<Vec<u64>> = self.0.iter().map(along).collect::<Option<_>>()?;
        let positions = all.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.len()))?;
        (positions as i128 <= MOST_TAPS).then_some(all)
    }

    /// True if there is a position at which a tap reads no element.
    pub(super) fn leaves(&self) -> bool {
        self.0.iter().any(Axis::leaves)
    }

    /// True if some tap can read padding that the attributes state.
    pub(super) fn pads(&self) -> bool {
        self.0.iter().any(Axis::pads)
    }

    /// True if there is a position at which no tap reads an element.
    pub(super) fn is_empty_somewhere(&self) -> bool {
        self.0.iter().any(Axis::is_empty_somewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every window up to some size, over every operand up to some size, with the definition.
    #[test]
    fn every_position_of_every_small_window_was_looked_at() {
        let ranges = |n: u64| 0..n;
        let mut windows = 0;
        for (taps, extent) in (1..5).flat_map(|taps| (1..6).map(move |extent| (taps, extent))) {
            for (stride, dilation) in (1..4).flat_map(|stride| (1..4).map(move |dilation| (stride, dilation))) {
                for (begin, end) in ranges(5).flat_map(|begin| ranges(5).map(move |end| (begin, end))) {
                    for ceil in [0, 1] {
                        let reach = (taps - 1) * dilation + 1;
                        let Some(room) = (extent + begin + end).checked_sub(reach) else {
                            continue;
                        };
                        let over = ceil * u64::from(!room.is_multiple_of(stride));
                        let positions = room / stride + 1 + over;
                        check([taps, stride, dilation, begin, end, extent, positions]);
                        windows += 1;
                    }
                }
            }
        }
        assert!(windows > 5000, "{windows}");
    }

    fn check(window: [u64; 7]) {
        let [taps, stride, dilation, begin, end, extent, positions] = window;
        let attributes = Attributes {
            stride: &[1, stride as u32],
            dilation: &[1, dilation as u32],
            pad: &[0, begin as u32, 0, end as u32],
        };
        let found = Window::new(
            attributes,
            [1, taps].into_iter(),
            &[1, 1, 3, extent],
            &[1, 1, 3, positions],
        );
        let found = found.expect("a window");
        let at = |p: u64, k: u64| (p * stride + k * dilation).checked_sub(begin);
        let inside = |p: u64, k: u64| at(p, k).is_some_and(|x| x < extent);
        let pads = |p: u64, k: u64| !inside(p, k) && p * stride + k * dilation < begin + extent + end;
        let any = |f: &dyn Fn(u64, u64) -> bool| (0..positions).any(|p| (0..taps).any(|k| f(p, k)));
        let expect: Vec<Tap> = (0..taps)
            .map(|k| Tap {
                inside: (0..positions).any(|p| inside(p, k)),
                outside: (0..positions).any(|p| !inside(p, k)),
            })
            .collect();
        assert_eq!(found.taps(), expect, "{window:?}");
        assert_eq!(found.leaves(), any(&|p, k| !inside(p, k)), "{window:?}");
        // It does no harm if `pads` is true without any padding.
        assert!(found.pads() || !any(&pads), "{window:?}");
        let empty = (0..positions).any(|p| !(0..taps).any(|k| inside(p, k)));
        assert_eq!(found.is_empty_somewhere(), empty, "{window:?}");
    }

    #[test]
    fn a_tap_is_outside_where_it_is_on_any_axis() {
        let attributes = Attributes {
            stride: &[1, 1],
            dilation: &[1, 1],
            pad: &[1, 1, 0, 1],
        };
        let window = Window::new(attributes, [2, 3].into_iter(), &[1, 1, 4, 4], &[1, 1, 4, 4]);
        let outside: Vec<bool> = window.expect("a window").taps().iter().map(|tap| tap.outside).collect();
        assert_eq!(outside, [true, true, true, true, false, true]);
    }

    #[test]
    fn endless_padding_is_decided_at_once() {
        let attributes = Attributes {
            stride: &[1],
            dilation: &[2],
            pad: &[u32::MAX, u32::MAX],
        };
        let window = Window::new(attributes, [3].into_iter(), &[1, 1, 1], &[1, 1, 1 << 33]);
        assert!(window.expect("a window").is_empty_somewhere());
    }
}
