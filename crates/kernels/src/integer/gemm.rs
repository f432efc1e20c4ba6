//! Integer matrix products: of an activation and constant weights, and of two activations.

use super::{
    bytes::{check_codes, flip, width},
    lane::{word, word_offset},
    loops::Loops,
    planes::{Bias, Planes, Starts, Weights},
    product::{Bytes, COLUMNS, STRIP, Strip, StripStarts, Words},
    sums::Carrier,
};
use crate::context::Context;
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, try_for_each},
    simd::{Simd, interleave},
};
use strait_requantize::IntType;

/// The weights of a fully connected layer. They are packed once, when the plan is made.
#[derive(Clone, Debug)]
pub struct GemmWeights {
    element: IntType,
    k: usize,
    n: usize,
    panels: Panels,
}

/// A packed operand, and the numbers that the sums of its columns start from.
#[derive(Clone, Debug)]
struct Panels {
    planes: Planes,
    /// The panels, one plane after the other.
    bytes: Vec<u8>,
    starts: Starts,
}

impl Panels {
    /// Packs the elements `element(k, n)`. Let s be the sum of the elements of column `n`. The accumulators of this
    /// column then start from `start(n, s)`.
    #[inline(always)]
    fn new(
        planes: Planes,
        [k, n]: [usize; 2],
        element: impl Fn(usize, usize) -> i32,
        start: impl Fn(usize, i64) -> i64,
    ) -> Result<Panels, KernelError> {
        if k > LARGEST_EXTENT || n > LARGEST_EXTENT {
            return Err(KernelError::Size(format!("a packed operand of {k} × {n}")));
        }
        let columns = n.next_multiple_of(COLUMNS);
        // The number of bytes is below 2^60, so nothing here overflows.
        let plane_bytes = columns * planes.depth(k);
        let mut bytes = vec![0; planes.list.len() * plane_bytes];
        let mut sums = vec![0_i64; columns];
        for (plane, bytes) in bytes.chunks_exact_mut(plane_bytes.max(1)).enumerate() {
            sums.fill(0);
            let part = planes.list[plane];
            let mut sum = |n: usize, element: i32| sums[n] += i64::from(element);
            if planes.words {
                pack_columns::<2>(bytes, [k, n], |k, n| {
                    let element = element(k, n);
                    sum(n, element);
                    part.word(element)
                });
            } else {
                pack_columns::<1>(bytes, [k, n], |k, n| {
                    let element = element(k, n);
                    sum(n, element);
                    [planes.byte(element)]
                });
            }
        }
        let starts = sums.into_iter().enumerate().map(|(n, sum)| start(n, sum));
        Ok(Panels {
            starts: Starts::new(planes.narrow, starts),
            planes,
            bytes,
        })
    }
}

/// Packs the elements `element(k, n)`, with `BYTES` bytes each.
#[inline(always)]
fn pack_columns<const BYTES: usize>(
    panels: &mut [u8],
    [k, n]: [usize; 2],
    mut element: impl FnMut(usize, usize) -> [u8; BYTES],
) {
    let lanes = 4 / BYTES;
    let panel_bytes = 4 * COLUMNS * k.div_ceil(lanes);
    for (p, panel) in panels.chunks_exact_mut(panel_bytes.max(1)).enumerate() {
        for (i, row) in panel.chunks_exact_mut(4 * COLUMNS).enumerate() {
            for (l, four) in row.chunks_exact_mut(4).enumerate().take(n - p * COLUMNS) {
                for (j, to) in four.as_chunks_mut().0.iter_mut().enumerate().take(k - lanes * i) {
                    *to = element(lanes * i + j, p * COLUMNS + l);
                }
            }
        }
    }
}

impl GemmWeights {
    /// Packs weights for activations of type `element`, of 8 or 16 bits. Weight `(k, n)` is `weights[k·strides[0] +
    /// n·strides[1]]`. `bias` has one value for each `n`, in the unit of the accumulators. It must already contain the
    /// terms by which zero points change the accumulators.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if extents, strides and slices do not fit together; [`KernelError::Size`] if an extent
    /// exceeds the limits, or weights have more than 17 bits.
    pub fn new(
        element: IntType,
        [k, n]: [usize; 2],
        weights: Weights<'_>,
        strides: [usize; 2],
        bias: Bias<'_>,
    ) -> Result<GemmWeights, KernelError> {
        check_codes("the activation", element)?;
        check_view("the weights", weights.len(), [k, n], strides)?;
        if let Some(values) = bias.len() {
            expect_len("the bias", values, Some(n))?;
        }
        let mut planes = Planes::lifted(element, weights.ends(), bias.carrier(), k)?;
        let offset = planes.offset(element);
        let column = |n: usize| (0..k).map(move |k| i64::from(weights.get(k * strides[0] + n * strides[1])));
        planes.prove((0..n).map(|n| {
            let (sum, magnitudes) = column(n).fold((0, 0), |(sum, all), w| (sum + w, all + w.abs()));
            (bias.get(n).wrapping_add(offset * sum), magnitudes)
        }));
        let panels = Panels::new(
            planes,
            [k, n],
            |k, n| weights.get(k * strides[0] + n * strides[1]),
            |column, sum| match column < n {
                true => bias.get(column).wrapping_add(offset * sum),
                false => 0,
            },
        )?;
        Ok(GemmWeights { element, k, n, panels })
    }

    /// Returns an upper bound for the size in bytes of packed weights `[k, n]`, including the data that is packed
    /// beside them. The values of the weights lie between `ends`. Activations have the type `element`. The extents have
    /// to be those of a tensor in memory, because otherwise their product could overflow.
    ///
    /// # Errors
    /// [`KernelError::Size`] if weights have more than 17 bits.
    pub fn packed_bytes(
        [k, n]: [usize; 2],
        element: IntType,
        ends: [i32; 2],
        carrier: Carrier,
    ) -> Result<usize, KernelError> {
        Ok(n.next_multiple_of(COLUMNS) * Planes::lifted(element, ends, carrier, k)?.bytes(k))
    }

    /// The extents of the weights, `[k, n]`.
    pub fn extents(&self) -> [usize; 2] {
        [self.k, self.n]
    }
}

/// An activation that is an operand of a matrix product.
#[derive(Clone, Copy, Debug)]
pub struct Activation<'a> {
    /// The codes, as bytes.
    pub data: &'a [u8],
    /// Type of the codes, of 8 or 16 bits.
    pub element: IntType,
    /// The code that stands for real 0.
    pub zero_point: i32,
    /// Number of elements from one row to the next, and from one column to the next.
    pub strides: [usize; 2],
}

impl Activation<'_> {
    #[inline(always)]
    fn byte(&self, row: usize, column: usize) -> u8 {
        self.data[row * self.strides[0] + column * self.strides[1]]
    }

    /// The 16-bit word that products read for an element.
    #[inline(always)]
    fn word(&self, row: usize, column: usize) -> i16 {
        let (at, width) = (row * self.strides[0] + column * self.strides[1], width(self.element));
        word(self.element, &self.data[at * width..(at + 1) * width])
    }

    /// The smallest and the largest word that products can read for an element.
    fn ends(&self) -> [i32; 2] {
        let offset = word_offset(self.element) as i32;
        [self.element.min() - offset, self.element.max() - offset]
    }
}

/// Checks that all elements of a `[rows, columns]` view with these strides are inside of its data.
fn check_view(what: &str, len: usize, extents: [usize; 2], strides: [usize; 2]) -> Result<(), KernelError> {
    if extents.contains(&0) {
        return Ok(());
    }
    let end = |axis: usize| (extents[axis] - 1).checked_mul(strides[axis]);
    match end(0).zip(end(1)).and_then(|(rows, columns)| rows.checked_add(columns)) {
        Some(last) if last < len => Ok(()),
        _ => Err(KernelError::Shape(format!(
            "{what} is a view of {extents:?} beyond its {len} elements"
        ))),
    }
}

/// The largest extent that a matrix product may have.
const LARGEST_EXTENT: usize = 1 << 28;

/// Number of rows that a task computes. They and the task's panels stay in the second-level cache.
const TASK_ROWS: usize = 48;
const TASK_PANELS: usize = STRIP / COLUMNS;

/// A matrix product whose panels are already packed. Each task packs the rows that it computes.
struct Product<'a> {
    loops: &'a dyn Loops,
    m: usize,
    n: usize,
    k: usize,
    panels: &'a Panels,
    /// Writes row `m` as `k` unsigned bytes, or as `k` words.
    row: &'a (dyn Fn(usize, &mut [u8]) + Sync),
    /// The sum of a row's elements, times this factor, is added to each result of the row.
    row_factor: i64,
}

impl Product<'_> {
    fn run(&self, cx: &Context, out: &mut [u8]) -> Result<(), KernelError> {
        if out.is_empty() {
            return Ok(());
        }
        let strips = self.n.div_ceil(TASK_PANELS * COLUMNS);
        let tasks = strips * self.m.div_ceil(TASK_ROWS);
        let steps = self.m.saturating_mul(self.n).saturating_mul(self.k.max(1)) / 16;
        let out = Shared::new(out);
        try_for_each(tasks, steps, &|task| {
            cx.run(ProductTask {
                product: self,
                strip: task % strips,
                block: task / strips,
                out: &out,
            })
        })
    }
}

struct ProductTask<'a, 'b> {
    product: &'a Product<'a>,
    strip: usize,
    block: usize,
    out: &'a Shared<'b, u8>,
}

impl Job for ProductTask<'_, '_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let Product {
            loops,
            m,
            n,
            k,
            panels,
            row,
            row_factor,
        } = *self.product;
        let Panels { planes, bytes, starts } = panels;
        let depth = planes.depth(k);
        let first_row = self.block * TASK_ROWS;
        let first_column = self.strip * TASK_PANELS * COLUMNS;
        let count = TASK_ROWS.min(m - first_row);
        let columns = (TASK_PANELS * COLUMNS).min(n - first_column);
        let mut rows = vec![0; count * depth];
        let mut row_starts = [0; TASK_ROWS];
        for r in 0..count {
            let to = &mut rows[r * depth..r * depth + k * 4 / planes.lanes()];
            row(first_row + r, to);
            if row_factor != 0 {
                let sum: i64 = match planes.words {
                    true => to.as_chunks().0.iter().map(|&w| i64::from(i16::from_ne_bytes(w))).sum(),
                    false => to.iter().map(|&b| i64::from(b)).sum(),
                };
                row_starts[r] = row_factor.wrapping_mul(sum);
            }
        }
        // The starts are right modulo 2^32, which is enough for sums of 32 bits.
        let narrow = row_starts.map(|start| start as i32);
        let plane = |p: usize| &bytes[(p * n.next_multiple_of(COLUMNS) + first_column) * depth..];
        let strip = Strip {
            factors: &planes.factors(depth, |_| &rows, plane)[..planes.list.len()],
            starts: match starts {
                Starts::I32(starts) => StripStarts::Narrow {
                    rows: &narrow,
                    columns: &starts[first_column..],
                },
                Starts::I64(starts) => StripStarts::Wide {
                    rows: &row_starts,
                    columns: &starts[first_column..],
                },
            },
            carrier: planes.carrier,
            place: OutputTile {
                out: self.out,
                at: first_row * n + first_column,
                row_stride: n,
                rows: count,
                columns,
                axis: Axis::Columns,
                first_channel: first_column,
            },
        };
        match planes.words {
            true => strip.run::<S, Words>(loops),
            false => strip.run::<S, Bytes<false>>(loops),
        }
    }
}

impl dyn Loops + '_ {
    /// Computes a matrix product with constant weights, with requantization. The accumulator is `bias[n] + Σ a[m,
    /// k]·w[k, n]`. `a` is `[rows, k]`, and `out` is `[rows, n]`. Each `n` is a channel of the requantization.
    pub fn gemm(
        &self,
        cx: &Context,
        weights: &GemmWeights,
        m: usize,
        a: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let GemmWeights {
            element,
            k,
            n,
            ref panels,
        } = *weights;
        let Planes {
            words, carrier, lift, ..
        } = panels.planes;
        self.check_channels(n)?;
        expect_len("the activation", a.len(), product(&[m, k, width(element)]))?;
        expect_len("the product", out.len(), product(&[m, n, self.width(carrier)]))?;
        let (flip, row_bytes) = (flip(element), k * width(element));
        let row = |r: usize, to: &mut [u8]| {
            let codes = &a[r * row_bytes..(r + 1) * row_bytes];
            if words {
                let codes = codes.chunks_exact(width(element));
                let to = to.as_chunks_mut().0.iter_mut();
                to.zip(codes)
                    .for_each(|(to, code)| *to = word(element, code).to_ne_bytes());
            } else {
                to.iter_mut().zip(codes).for_each(|(to, &b)| *to = b ^ flip);
            }
        };
        Product {
            loops: self,
            m,
            n,
            k,
            panels,
            row: &row,
            row_factor: lift.into(),
        }
        .run(cx, out)
    }
}

/// Computes `Σ (a − za)(b − zb)`, where a and b are codes, and za and zb are their zero points. For each operand, the
/// instructions need either signed or unsigned numbers (see `product`): if codes are bytes, those of a have to be
/// unsigned. So a constant may be subtracted from the codes and the zero point of an operand. Let a', b', za' and zb'
/// be the codes and the zero points after this change. The result is Σ a'b' − zb'·Σ a' − za'·Σ b' + k·za'·zb'.
impl dyn Loops + '_ {
    /// Computes a matrix product of two activations with extents `[m, n, k]`, with requantization. The accumulator is
    /// `Σ (a[m, k] − zero)·(b[k, n] − zero)`, where `zero` is the zero point of the operand. `out` is `[m, n]`,
    /// row-major. Each `n` is a channel of the requantization.
    pub fn matmul(
        &self,
        cx: &Context,
        [m, n, k]: [usize; 3],
        a: Activation<'_>,
        b: Activation<'_>,
        carrier: Carrier,
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        self.check_channels(n)?;
        for (what, operand, extents) in [("the left operand", &a, [m, k]), ("the right operand", &b, [k, n])] {
            check_codes(what, operand.element)?;
            check_view(
                what,
                operand.data.len() / width(operand.element),
                extents,
                operand.strides,
            )?;
        }
        expect_len("the product", out.len(), product(&[m, n, self.width(carrier)]))?;
        let words = width(a.element).max(width(b.element)) > 1;
        // If products read bytes, those of `b` are signed.
        let flip_b = flip(b.element) ^ 0x80;
        let (ends, offset_b) = match words {
            true => (b.ends(), word_offset(b.element)),
            false => ([i8::MIN.into(), i8::MAX.into()], i64::from(flip_b)),
        };
        let planes = Planes::for_words(words, a.element, ends, carrier)?;
        // Each step may wrap, but the whole sum is right modulo 2^32 or 2^64.
        let zero_a = i64::from(a.zero_point) - planes.offset(a.element);
        let zero_b = i64::from(b.zero_point) - offset_b;
        let constant = (k as i64).wrapping_mul(zero_a).wrapping_mul(zero_b);
        let start = |_, sum: i64| constant.wrapping_sub(zero_a.wrapping_mul(sum));
        let panels = match words {
            true => Panels::new(planes, [k, n], |k, n| b.word(k, n).into(), start)?,
            false if b.strides[1] == 1 && k <= LONGEST => {
                let (bytes, sums) = cx.run(PackRows {
                    b: &b,
                    flip: flip_b,
                    extents: [k, n],
                });
                let starts = sums.into_iter().enumerate().map(|(n, sum)| start(n, sum));
                Panels {
                    starts: Starts::new(planes.narrow, starts),
                    planes,
                    bytes,
                }
            }
            false => Panels::new(
                planes,
                [k, n],
                |k, n| (b.byte(k, n) ^ flip_b).cast_signed().into(),
                start,
            )?,
        };
        let flip_a = flip(a.element);
        let row = |r: usize, to: &mut [u8]| match words {
            true => {
                let to = to.as_chunks_mut().0.iter_mut().enumerate();
                to.for_each(|(k, to)| *to = a.word(r, k).to_ne_bytes());
            }
            false if a.strides[1] == 1 => {
                let elements = &a.data[r * a.strides[0]..][..k];
                to.iter_mut().zip(elements).for_each(|(to, &x)| *to = x ^ flip_a);
            }
            false => to
                .iter_mut()
                .enumerate()
                .for_each(|(k, to)| *to = a.byte(r, k) ^ flip_a),
        };
        Product {
            loops: self,
            m,
            n,
            k,
            panels: &panels,
            row: &row,
            row_factor: zero_b.wrapping_neg(),
        }
        .run(cx, out)
    }
}

/// The most elements of a column whose sum is sure to fit in 32 bits.
const LONGEST: usize = 1 << 23;

/// A job that packs an operand of bytes whose rows are contiguous, as [`Panels::new`] does. Each byte is XORed with `flip`,
/// which makes it signed. Returns the panels and the sums of the columns.
struct PackRows<'a, 'b> {
    b: &'a Activation<'b>,
    flip: u8,
    extents: [usize; 2],
}

impl Job for PackRows<'_, '_> {
    type Output = (Vec<u8>, Vec<i64>);

    #[inline(always)]
    fn run<S: Simd>(self) -> (Vec<u8>, Vec<i64>) {
        let PackRows {
            b,
            flip,
            extents: [k, n],
        } = self;
        let depth = k.next_multiple_of(4);
        let columns = n.next_multiple_of(COLUMNS);
        let (mut bytes, mut sums) = (vec![0; columns * depth], vec![0; columns]);
        for (p, panel) in bytes.chunks_exact_mut((COLUMNS * depth).max(1)).enumerate() {
            let (first, width) = (p * COLUMNS, COLUMNS.min(n - p * COLUMNS));
            let mut of = [0_i32; COLUMNS];
            for (group, to) in panel.as_chunks_mut::<64>().0.iter_mut().enumerate() {
                let mut lines = [[0; COLUMNS]; 4];
                for (line, row) in lines.iter_mut().zip(4 * group..k) {
                    let from = &b.data[row * b.strides[0] + first..];
                    match from.first_chunk() {
                        Some(from) if width == COLUMNS => *line = *from,
                        _ => line[..width].copy_from_slice(&from[..width]),
                    }
                    for (sum, &byte) in of.iter_mut().zip(&*line) {
                        *sum += i32::from((byte ^ flip).cast_signed());
                    }
                }
                *to = interleave(&lines, flip);
            }
            for (to, sum) in sums[first..first + width].iter_mut().zip(of) {
                *to = sum.into();
            }
        }
        (bytes, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConvWeights;
    use super::*;
    use crate::{Conv, Images, Window};

    /// The weights include the smallest and the largest number of their type.
    #[test]
    fn packed_weights_have_the_size_that_is_told() {
        let (eight, sixteen) = ([i8::MIN.into(), i8::MAX.into()], [i16::MIN.into(), i16::MAX.into()]);
        for ([k, n], element, ends, carrier) in [
            ([1, 1], IntType::I8, eight, Carrier::I32),
            ([9, 16], IntType::I8, eight, Carrier::I32),
            ([30, 17], IntType::U8, eight, Carrier::I64),
            ([64, 48], IntType::I16, eight, Carrier::I32),
            ([64, 48], IntType::I16, eight, Carrier::I64),
            ([31, 5], IntType::I16, sixteen, Carrier::I64),
            ([31, 5], IntType::I8, sixteen, Carrier::I32),
            ([31, 5], IntType::I16, [-(1 << 16), (1 << 16) - 1], Carrier::I32),
        ] {
            let weights: Vec<i32> = (0..k * n).map(|i| ends[i % 2]).collect();
            let small: Vec<i8> = vec![1; k * n];
            let weights = match ends == eight {
                true => Weights::I8(&small),
                false => Weights::I32(&weights),
            };
            let bias = match carrier {
                Carrier::I32 => Bias::I32(None),
                Carrier::I64 => Bias::I64(None),
            };
            let bytes = |starts: &Starts| match starts {
                Starts::I32(starts) => size_of_val(&starts[..]),
                Starts::I64(starts) => size_of_val(&starts[..]),
            };
            let gemm = GemmWeights::new(element, [k, n], weights, [n, 1], bias).unwrap().panels;
            let found = gemm.bytes.len() + bytes(&gemm.starts);
            let told = GemmWeights::packed_bytes([k, n], element, ends, carrier);
            // If all sums are known to fit into 32 bits, the number from which a sum starts has half as many bytes.
            let fits = |told: Result<usize, KernelError>, found| {
                (found..=found + 4 * n.next_multiple_of(COLUMNS)).contains(&told.unwrap())
            };
            assert!(fits(told, found), "{k} and {n}");
            let conv = Conv {
                window: Window::new([1, 1]),
                input: Images {
                    batch: 1,
                    channels: k,
                    size: [1, 1],
                },
                out_channels: n,
                groups: 1,
            };
            let conv = ConvWeights::new(conv, element, 0, weights, bias).unwrap();
            let found = conv.rows.len() + bytes(&conv.starts) + size_of_val(&conv.taps[..]);
            let told = ConvWeights::packed_bytes([n, k], element, ends, carrier);
            assert!(fits(told, found), "{k} and {n}");
        }
    }
}
