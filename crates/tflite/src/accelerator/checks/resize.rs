//! Constraints on resized images.

use super::unless;
use crate::accelerator::site::Site;
use crate::schema::BuiltinOptions;

/// How an image is resized: the extents of operand and result, and whether corners are aligned and centres are halves.
struct Resize {
    from: [i64; 2],
    to: [i64; 2],
    corners: bool,
    centres: bool,
}

fn resize(site: &Site<'_>) -> Option<Resize> {
    let [from, to] = [site.input(0)?, site.output()?].map(|tensor| {
        let [height, width, _] = tensor.image();
        [height, width]
    });
    let (corners, centres) = match site.options.as_ref()? {
        BuiltinOptions::ResizeBilinearOptions(options) => (options.align_corners(), options.half_pixel_centers()),
        BuiltinOptions::ResizeNearestNeighborOptions(options) => {
            (options.align_corners(), options.half_pixel_centers())
        }
        _ => return None,
    };
    let set = |option: planus::Result<bool>| option.unwrap_or_default();
    Some(Resize {
        from,
        to,
        corners: set(corners),
        centres: set(centres),
    })
}

impl Resize {
    /// The factor along an axis as a fraction.
    fn factor(&self, axis: usize) -> [i64; 2] {
        let less = i64::from(self.corners);
        [self.to[axis] - less, self.from[axis] - less]
    }

    /// The whole factor along an axis, if it is one of `known`.
    fn is_one_of(&self, axis: usize, known: &[i64]) -> bool {
        let [to, from] = self.factor(axis);
        known.iter().any(|factor| to == from * factor)
    }
}

/// An image may be enlarged by the factors 2, 4 and 8. The factor is the same along both axes, unless one axis has a
/// single position. A bilinear resize with half-pixel centres may only have the factor 2.
pub(in crate::accelerator) fn small_resize<const BILINEAR: bool>(site: &Site<'_>) -> Option<String> {
    let resize = resize(site)?;
    if resize.from == [1, 1] {
        return None;
    }
    if BILINEAR && resize.centres {
        let doubles = resize.is_one_of(0, &[2]) && resize.is_one_of(1, &[2]);
        return unless(doubles, || "with half-pixel centres its factors are not 2".into());
    }
    if resize.from == resize.to {
        return None;
    }
    let ([a, b], [c, d]) = (resize.factor(0), resize.factor(1));
    let equal = a * d == b * c;
    let single = [0, 1]
        .into_iter()
        .find(|&axis| resize.to[axis] == 1 && resize.from[axis] == 1);
    let known = [2, 4, 8];
    let axes: &[usize] = match (equal, single) {
        (_, Some(0)) => &[1],
        (_, Some(_)) => &[0],
        (true, None) => &[0, 1],
        (false, None) => return Some("its factors along the axes differ".into()),
    };
    unless(axes.iter().all(|&axis| resize.is_one_of(axis, &known)), || {
        format!("its factor is none of {known:?}")
    })
}

/// The factors of a resize are at most 2048 with aligned corners, and 1024 without. Those of a bilinear resize are
/// powers of two.
pub(in crate::accelerator) fn large_resize<const BILINEAR: bool>(site: &Site<'_>) -> Option<String> {
    let resize = resize(site)?;
    let most = if resize.corners { 2048 } else { 1024 };
    if resize.corners && resize.centres {
        return Some("aligned corners and half-pixel centres exclude each other".into());
    }
    let powers: Vec<i64> = (0..12)
        .map(|power| 1 << power)
        .filter(|&factor| factor <= most)
        .collect();
    (0..2).find_map(|axis| {
        let [to, from] = resize.factor(axis);
        let fits = match BILINEAR {
            true => resize.from[axis] == 1 || resize.is_one_of(axis, &powers),
            false => to <= most * from,
        };
        unless(fits, || format!("its factor {to} / {from} is not supported"))
    })
}
