//! Converts components to red, green and blue as libjpeg does, in fixed-point arithmetic with 16 fractional bits. The
//! last column has the factors as real numbers.
//!
//! ```text
//! r = y + ((91881 (cr − 128) + 2¹⁵) >> 16)                                        1.402
//! g = y + ((−22554 (cb − 128) − 46802 (cr − 128) + 2¹⁵) >> 16)                    0.34414, 0.71414
//! b = y + ((116130 (cb − 128) + 2¹⁵) >> 16)                                       1.772
//! ```
//!
//! CMYK colors are stored inverted, as Adobe does. Pillow's `convert("RGB")` converts each component c other than black
//! to `w − round(c · w / 255)`, where w is 255 minus black.

/// The color space of a file's components.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Gray,
    Rgb,
    /// Luma, and two chroma components: the differences of blue and of red to luma.
    Ycc,
    Cmyk,
    /// CMYK, in which cyan, magenta and yellow are stored as luma and two differences.
    Ycck,
}

/// Converts the first `width` pixels of one row of all components, and appends them to `out`.
pub(super) fn append(rows: &[Vec<u8>], width: usize, space: Space, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + 3 * width, 0);
    let (pixels, _) = out[begin..].as_chunks_mut::<3>();
    match (space, rows) {
        (Space::Gray, [gray, ..]) => {
            for (pixel, &x) in pixels.iter_mut().zip(gray) {
                *pixel = [x; 3];
            }
        }
        (Space::Rgb, [r, g, b, ..]) => {
            for (pixel, ((&r, &g), &b)) in pixels.iter_mut().zip(r.iter().zip(g).zip(b)) {
                *pixel = [r, g, b];
            }
        }
        (Space::Ycc, [y, cb, cr, ..]) => {
            for (pixel, ((&y, &cb), &cr)) in pixels.iter_mut().zip(y.iter().zip(cb).zip(cr)) {
                *pixel = rgb(y, cb, cr);
            }
        }
        (Space::Cmyk, [c, m, y, k, ..]) => {
            let inks = c.iter().zip(m).zip(y).zip(k);
            for (pixel, (((&c, &m), &y), &k)) in pixels.iter_mut().zip(inks) {
                *pixel = [c, m, y].map(|ink| printed(ink, k));
            }
        }
        (Space::Ycck, [y, cb, cr, k, ..]) => {
            let inks = y.iter().zip(cb).zip(cr).zip(k);
            for (pixel, (((&y, &cb), &cr), &k)) in pixels.iter_mut().zip(inks) {
                *pixel = rgb(y, cb, cr).map(|ink| printed(255 - ink, k));
            }
        }
        _ => {}
    }
}

#[inline(always)]
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let [y, cb, cr] = [i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128];
    let half = 1 << 15;
    [
        y + ((91881 * cr + half) >> 16),
        y + ((-22554 * cb - 46802 * cr + half) >> 16),
        y + ((116130 * cb + half) >> 16),
    ]
    .map(|x| x.clamp(0, 255) as u8)
}

/// Returns the level of red, green or blue. `ink` is the level of cyan, magenta or yellow. Both `ink` and `black` are
/// stored inverted.
fn printed(ink: u8, black: u8) -> u8 {
    let (ink, white) = (u32::from(255 - ink), u32::from(black));
    let product = ink * white + 128;
    (white - ((product + (product >> 8)) >> 8)) as u8
}
