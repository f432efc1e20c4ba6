//! Calls each loop of a kernel with operands that are chosen so that certain accumulators result. Operands have 8 bits
//! and sums 32 bits. For forms that are defined for more than 32 bits, there are also operands of 16 bits with sums of
//! 64 bits.

use crate::accumulators::accumulators;
use crate::numbers::Numbers;
use crate::placed::Placed;
use strait_kernels::{
    Context, Conv, Images, KernelError, Pool, Window,
    integer::{Activation, Addend, Axis, Bias, Broadcast, Carrier, ConvWeights, GemmWeights, Loops, Weights},
};
use strait_requantize::{IntType, OutsideDomain, Requantization};

/// One call of one loop, with its operands and with the accumulators that follow from the operands.
pub(crate) struct Run {
    kind: Kind,
    widths: Widths,
    /// Channel and accumulator of each result, in the order of the output.
    accumulators: Vec<(usize, i64)>,
    out: IntType,
}

/// The types of the operands and of their sums.
#[derive(Clone, Copy)]
struct Widths {
    element: IntType,
    carrier: Carrier,
}

const NARROW: Widths = Widths {
    element: IntType::I8,
    carrier: Carrier::I32,
};
const WIDE: Widths = Widths {
    element: IntType::I16,
    carrier: Carrier::I64,
};

impl Widths {
    /// Smallest and largest value of the type that carries the sums.
    fn ends(self) -> (i64, i64) {
        match self.carrier {
            Carrier::I32 => (i32::MIN.into(), i32::MAX.into()),
            Carrier::I64 => (i64::MIN, i64::MAX),
        }
    }

    /// The sum as it is stored in the type that carries the sums, in which it may wrap around.
    fn wrapped(self, sum: i64) -> i64 {
        match self.carrier {
            Carrier::I32 => (sum as i32).into(),
            Carrier::I64 => sum,
        }
    }

    fn codes(self, count: usize, numbers: &mut Numbers) -> Vec<i32> {
        (0..count).map(|_| self.code(numbers)).collect()
    }

    fn code(self, numbers: &mut Numbers) -> i32 {
        numbers.between(self.element.min().into(), self.element.max().into()) as i32
    }

    fn bytes(self, codes: &[i32]) -> Vec<u8> {
        let narrow = |code: &i32| code.to_ne_bytes();
        match self.element {
            IntType::I16 => codes.iter().flat_map(|&code| (code as i16).to_ne_bytes()).collect(),
            IntType::I8 => codes.iter().map(|&code| (code as i8).cast_unsigned()).collect(),
            _ => codes.iter().flat_map(narrow).collect(),
        }
    }
}

enum Kind {
    Requantize {
        extents: [usize; 3],
        sums: Vec<i64>,
        /// The bytes of the accumulators as 32-bit elements. Only used if sums have 32 bits.
        input: Vec<u8>,
    },
    Gemm {
        bias: Vec<i64>,
        rows: usize,
        a: Vec<u8>,
    },
    Conv {
        conv: Conv,
        bias: Vec<i64>,
        input: Vec<u8>,
    },
    MatMul {
        extents: [usize; 3],
        a: Vec<u8>,
        b: Vec<u8>,
        zeros: [i32; 2],
    },
    SumPool {
        pool: Pool,
        axis: Axis,
        pad_value: i32,
        input: Vec<u8>,
    },
    Add {
        tables: Box<[[i32; 256]; 2]>,
        operands: [Vec<u8>; 2],
    },
    Multiply {
        zeros: [i32; 2],
        operands: [Vec<u8>; 2],
    },
}

/// The number of accumulators of each channel in a run that requantizes accumulators directly.
const INNER: usize = 67;
/// How many thresholds of a channel are tested if there are too many to test all.
pub(crate) const SPREAD: i64 = 255;
/// Number of rows of a matrix product, and of positions in an image. This number is not a multiple of the size of the
/// tiles in which kernels compute.
const ROWS: usize = 7;

impl Run {
    /// One run for each loop. Loops with two operands have a single channel, so there are runs of them only for forms
    /// with one set of parameters.
    pub(crate) fn all(form: &Requantization, numbers: &mut Numbers) -> Vec<Run> {
        let channels = form.channels().unwrap_or(3);
        let is_wide = (0..channels).all(|channel| {
            let (low, high) = NARROW.ends();
            let domain = form.domain(channel);
            *domain.start() < low && *domain.end() > high
        });
        let mut runs = Vec::new();
        for widths in [NARROW, WIDE].into_iter().take(1 + usize::from(is_wide)) {
            runs.extend([
                Run::requantize(widths, form, channels, numbers),
                Run::gemm(widths, form, channels, numbers),
                Run::conv(widths, form, channels, numbers),
                Run::matmul(widths, channels, numbers),
                Run::sum_pool(widths, channels, numbers),
                Run::sum_pool_by_position(widths, channels, numbers),
            ]);
            if form.channels().is_none() {
                runs.push(Run::multiply(widths, numbers));
            }
        }
        if form.channels().is_none() {
            runs.push(Run::add(form, numbers));
        }
        for run in &mut runs {
            run.out = form.out();
        }
        // Results for sums outside of the form's domain need not be right, so runs with such sums are left out.
        let most = runs.iter().map(Run::channels).max().unwrap_or(0);
        let domains: Vec<_> = (0..most).map(|channel| form.domain(channel)).collect();
        runs.retain(|run| {
            let mut its = run.accumulators.iter();
            its.all(|(channel, acc)| domains.get(*channel).is_some_and(|domain| domain.contains(acc)))
        });
        runs
    }

    fn new(widths: Widths, kind: Kind, accumulators: Vec<(usize, i64)>) -> Run {
        Run {
            kind,
            widths,
            accumulators,
            out: IntType::I32,
        }
    }

    /// A run of the loop that requantizes accumulators directly, of shape `[1, channels, INNER]`.
    fn requantize(widths: Widths, form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let of = |channel| {
            accumulators(form, channel, INNER, widths.ends(), numbers)
                .into_iter()
                .map(move |acc| (channel, acc))
        };
        let accumulators: Vec<(usize, i64)> = (0..channels).flat_map(of).collect();
        Run::of_accumulators(widths, channels, accumulators)
    }

    /// A run with the same number of accumulators for each channel. `accumulators` has them channel by channel.
    fn of_accumulators(widths: Widths, channels: usize, accumulators: Vec<(usize, i64)>) -> Run {
        let sums: Vec<i64> = accumulators.iter().map(|(_, sum)| *sum).collect();
        let input = match widths.carrier {
            Carrier::I32 => sums.iter().flat_map(|&sum| (sum as i32).to_ne_bytes()).collect(),
            Carrier::I64 => Vec::new(),
        };
        let extents = [1, channels, sums.len() / channels.max(1)];
        Run::new(widths, Kind::Requantize { extents, sums, input }, accumulators)
    }

    /// Makes a run with accumulators of 32 bits: the thresholds at which the result of a channel changes, and their
    /// predecessors. All thresholds are tested if results have at most 8 bits. For one set of parameters without a
    /// clamp, all thresholds are also tested if results have 16 bits. Otherwise, [`SPREAD`] evenly spaced thresholds of
    /// each channel are tested, different thresholds in each channel.
    pub(crate) fn thresholds(form: &Requantization, clamp: Option<[i32; 2]>) -> Option<Run> {
        let channels = form.channels().unwrap_or(3);
        let [least, most] = form.range().map(i64::from);
        let one = form.channels().is_none_or(|channels| channels == 1) && clamp.is_none();
        let step = match form.out().bits() {
            ..=8 => 1,
            ..=16 if one => 1,
            _ => (most - least) / SPREAD + 1,
        };
        // If the form has one set of parameters, all channels are equal. So one channel is enough if there are many
        // thresholds.
        let of_each = if step == 1 && form.out().bits() > 8 {
            1
        } else {
            channels
        };
        let mut accumulators = Vec::new();
        for channel in 0..of_each {
            let scalars = form.channel(channel).ok()?;
            let domain = scalars.domain();
            let (low, high) = NARROW.ends();
            let (low, high) = (low.max(*domain.start()), high.min(*domain.end()));
            let codes = (least + 1..=most).step_by(usize::try_from(step).ok()?);
            // Each channel begins at a different code, and all channels have the same number of codes.
            let offset = channel as i64 * step / channels as i64;
            for code in codes.map(|code| (code + offset).min(most)) {
                let first = scalars.least_reaching(code);
                accumulators.extend([first - 1, first].map(|x| (channel, x.clamp(low, high))));
            }
        }
        let mut run = Run::of_accumulators(NARROW, of_each, accumulators);
        run.out = form.out();
        Some(run)
    }

    /// Makes a matrix product with an inner dimension of 1, in which all weights are 1. The bias has the chosen
    /// accumulators, and the operand a has small numbers. The accumulator in row m and column n is bias[n] + a[m].
    fn gemm(widths: Widths, form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let bias = biases(widths, form, channels, numbers);
        let a = small(ROWS, numbers);
        let accumulators = a.iter().flat_map(|&a| {
            bias.iter()
                .enumerate()
                .map(move |(n, b)| (n, widths.wrapped(b.wrapping_add(a.into()))))
        });
        let kind = Kind::Gemm {
            bias: bias.clone(),
            rows: ROWS,
            a: widths.bytes(&a),
        };
        Run::new(widths, kind, accumulators.collect())
    }

    /// Makes a convolution with one tap whose weight is 1. The bias has the chosen accumulators, and the operand x has
    /// small numbers. The accumulator of the output channel o at a position is bias[o] + x[position].
    fn conv(widths: Widths, form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let bias = biases(widths, form, channels, numbers);
        let size = [3, ROWS];
        let x = small(3 * ROWS, numbers);
        let conv = Conv {
            window: Window::new([1, 1]),
            input: Images {
                batch: 1,
                channels: 1,
                size,
            },
            out_channels: channels,
            groups: 1,
        };
        let x = &x;
        let accumulators = bias
            .iter()
            .enumerate()
            .flat_map(|(o, b)| x.iter().map(move |&x| (o, widths.wrapped(b.wrapping_add(x.into())))));
        let accumulators = accumulators.collect();
        let kind = Kind::Conv {
            conv,
            bias: bias.clone(),
            input: widths.bytes(x),
        };
        Run::new(widths, kind, accumulators)
    }

    fn matmul(widths: Widths, channels: usize, numbers: &mut Numbers) -> Run {
        let (rows, k) = (ROWS, 5);
        let (a, b) = (widths.codes(rows * k, numbers), widths.codes(k * channels, numbers));
        let zeros = [0; 2].map(|_| widths.code(numbers));
        let sum = |m: usize, n: usize| {
            let factor = |code: i32, zero: i32| i64::from(code) - i64::from(zero);
            let term = |i: usize| factor(a[m * k + i], zeros[0]) * factor(b[i * channels + n], zeros[1]);
            (n, (0..k).map(term).sum())
        };
        let accumulators = (0..rows * channels)
            .map(|at| sum(at / channels, at % channels))
            .collect();
        let kind = Kind::MatMul {
            extents: [rows, channels, k],
            a: widths.bytes(&a),
            b: widths.bytes(&b),
            zeros,
        };
        Run::new(widths, kind, accumulators)
    }

    /// Sum pooling with windows of 2 × 3 and no padding.
    fn sum_pool(widths: Widths, channels: usize, numbers: &mut Numbers) -> Run {
        let (height, width) = (4, 9);
        let x = widths.codes(channels * height * width, numbers);
        let (rows, columns) = (height - 1, width - 2);
        let pool = Pool {
            window: Window::new([2, 3]),
            input: Images {
                batch: 1,
                channels,
                size: [height, width],
            },
            output: [rows, columns],
        };
        let sum = |at: usize| {
            let (channel, y, column) = (at / (rows * columns), at / columns % rows, at % columns);
            let tap = |t: usize| i64::from(x[(channel * height + y + t / 3) * width + column + t % 3]);
            (channel, (0..6).map(tap).sum())
        };
        let accumulators = (0..channels * rows * columns).map(sum).collect();
        let kind = Kind::SumPool {
            pool,
            axis: Axis::Rows,
            pad_value: 0,
            input: widths.bytes(&x),
        };
        Run::new(widths, kind, accumulators)
    }

    /// Sum pooling over pairs of neighbours in the rows of two images. In this run, each position of the output is a
    /// channel of its own.
    fn sum_pool_by_position(widths: Widths, channels: usize, numbers: &mut Numbers) -> Run {
        let (images, width) = (2, channels + 1);
        let x = widths.codes(images * width, numbers);
        let pool = Pool {
            window: Window::new([1, 2]),
            input: Images {
                batch: 1,
                channels: images,
                size: [1, width],
            },
            output: [1, channels],
        };
        let sum = |at: usize| {
            let (image, position) = (at / channels, at % channels);
            let first = image * width + position;
            (position, i64::from(x[first]) + i64::from(x[first + 1]))
        };
        let accumulators = (0..images * channels).map(sum).collect();
        let kind = Kind::SumPool {
            pool,
            axis: Axis::Columns,
            pad_value: 0,
            input: widths.bytes(&x),
        };
        Run::new(widths, kind, accumulators)
    }

    /// An addition of two operands through a lookup table for each. The entries of both tables for the same code add up
    /// to a chosen accumulator.
    fn add(form: &Requantization, numbers: &mut Numbers) -> Run {
        let widths = NARROW;
        let interest = accumulators(form, 0, 256, widths.ends(), numbers);
        let mut tables = Box::new([[0; 256]; 2]);
        for code in 0..256 {
            // If both operands have this code, the loop adds the two halves of `acc`.
            let acc = interest.get(code).and_then(|&acc| i32::try_from(acc).ok());
            let Some(acc) = acc else { continue };
            tables[0][code] = acc >> 1;
            tables[1][code] = acc - (acc >> 1);
        }
        let a: Vec<i32> = (-128..=127).chain(-128..=127).collect();
        let b: Vec<i32> = (-128..=127).chain(widths.codes(256, numbers)).collect();
        let entry = |table: &[i32; 256], code: i32| table[(code + 128) as usize];
        let sums = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| (0, entry(&tables[0], a).wrapping_add(entry(&tables[1], b)).into()));
        let accumulators = sums.collect();
        let kind = Kind::Add {
            tables,
            operands: [widths.bytes(&a), widths.bytes(&b)],
        };
        Run::new(widths, kind, accumulators)
    }

    fn multiply(widths: Widths, numbers: &mut Numbers) -> Run {
        let [a, b] = [0; 2].map(|_| widths.codes(301, numbers));
        let zeros = [0; 2].map(|_| widths.code(numbers));
        let less = |code: i32, zero: i32| i64::from(code) - i64::from(zero);
        let products = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| (0, less(a, zeros[0]) * less(b, zeros[1])));
        let accumulators = products.collect();
        let kind = Kind::Multiply {
            zeros,
            operands: [widths.bytes(&a), widths.bytes(&b)],
        };
        Run::new(widths, kind, accumulators)
    }

    /// Name of the loop that is called.
    pub(crate) fn name(&self) -> &'static str {
        let [narrow, wide] = match self.kind {
            Kind::Requantize { .. } => ["requantize", "requantize in 64 bits"],
            Kind::Gemm { .. } => ["gemm", "gemm in 64 bits"],
            Kind::Conv { .. } => ["conv", "conv in 64 bits"],
            Kind::MatMul { .. } => ["matmul", "matmul in 64 bits"],
            Kind::SumPool { axis: Axis::Rows, .. } => ["sum_pool", "sum_pool in 64 bits"],
            Kind::SumPool { .. } => ["sum_pool by position", "sum_pool by position in 64 bits"],
            Kind::Add { .. } => ["add"; 2],
            Kind::Multiply { .. } => ["multiply", "multiply in 64 bits"],
        };
        match self.widths.carrier {
            Carrier::I32 => narrow,
            Carrier::I64 => wide,
        }
    }

    /// Number of results of the call.
    pub(crate) fn len(&self) -> usize {
        self.accumulators.len()
    }

    /// Number of channels, which is one more than the highest channel of a result.
    pub(crate) fn channels(&self) -> usize {
        let last = self.accumulators.iter().map(|(channel, _)| *channel).max();
        last.map_or(0, |last| last + 1)
    }

    /// Channel and accumulator of a result.
    pub(crate) fn accumulator(&self, at: usize) -> (usize, i64) {
        self.accumulators[at]
    }

    /// The results for all accumulators, by the definition of the form.
    pub(crate) fn expected(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Vec<i32>, OutsideDomain> {
        let [low, high] = clamp.unwrap_or([i32::MIN, i32::MAX]);
        let channels: Vec<_> = (0..self.channels()).map(|channel| form.channel(channel).ok()).collect();
        let of = |&(channel, accumulator): &(usize, i64)| {
            let code = match channels.get(channel) {
                Some(Some(channel)) => channel.eval(accumulator)?,
                _ => form.eval(channel, accumulator)?,
            };
            Ok(code.min(high).max(low))
        };
        self.accumulators.iter().map(of).collect()
    }

    /// Calls the loop and returns its results.
    pub(crate) fn results(&self, loops: &dyn Loops, cx: &Context) -> Result<Vec<i32>, KernelError> {
        Ok(self.placed(loops, cx, 0)?.results())
    }

    /// Calls the loop and returns the memory with its results. Before the call, the memory is filled with `fill` and
    /// surrounded by guard bytes.
    pub(crate) fn placed(&self, loops: &dyn Loops, cx: &Context, fill: u8) -> Result<Placed, KernelError> {
        let mut placed = Placed::new(self.out, self.len(), fill);
        self.write(loops, cx, placed.bytes_mut())?;
        Ok(placed)
    }

    fn write(&self, loops: &dyn Loops, cx: &Context, out: &mut [u8]) -> Result<(), KernelError> {
        let Widths { element, carrier } = self.widths;
        let narrow = |sums: &[i64]| sums.iter().map(|&sum| sum as i32).collect::<Vec<i32>>();
        // The sums fit the type that carries them, so no bits are lost in the casts.
        let (narrow_bias, wide_bias) = match &self.kind {
            Kind::Gemm { bias, .. } | Kind::Conv { bias, .. } => (narrow(bias), bias.as_slice()),
            _ => (Vec::new(), [].as_slice()),
        };
        let bias_of = match carrier {
            Carrier::I32 => Bias::I32(Some(&narrow_bias)),
            Carrier::I64 => Bias::I64(Some(wide_bias)),
        };
        match &self.kind {
            Kind::Requantize { extents, sums, input } => match carrier {
                Carrier::I32 => loops.requantize(cx, *extents, IntType::I32, input, out)?,
                Carrier::I64 => loops.requantize_wide(cx, *extents, sums, out)?,
            },
            Kind::Gemm { bias, rows, a } => {
                let n = bias.len();
                let weights = GemmWeights::new(element, [1, n], Weights::I8(&vec![1; n]), [n, 1], bias_of)?;
                loops.gemm(cx, &weights, *rows, a, out)?;
            }
            Kind::Conv { conv, bias, input } => {
                let ones = vec![1; bias.len()];
                let weights = ConvWeights::new(*conv, element, 0, Weights::I8(&ones), bias_of)?;
                loops.conv(cx, &weights, 1, input, out)?;
            }
            Kind::MatMul { extents, a, b, zeros } => {
                let operand = |data, zero_point, row| Activation {
                    data,
                    element,
                    zero_point,
                    strides: [row, 1],
                };
                let [_, n, k] = *extents;
                loops.matmul(
                    cx,
                    *extents,
                    operand(a, zeros[0], k),
                    operand(b, zeros[1], n),
                    carrier,
                    out,
                )?;
            }
            Kind::SumPool {
                pool,
                axis,
                pad_value,
                input,
            } => {
                loops.sum_pool(cx, pool, *axis, element, *pad_value, carrier, input, out)?;
            }
            Kind::Add {
                tables,
                operands: [a, b],
            } => {
                let shape = Broadcast::new(&[self.len()], &[self.len()])?;
                let addends = [Addend::Table(&tables[0]), Addend::Table(&tables[1])];
                loops.add(cx, &shape, [element; 2], addends, [a, b], out)?;
            }
            Kind::Multiply {
                zeros,
                operands: [a, b],
            } => {
                let shape = Broadcast::new(&[self.len()], &[self.len()])?;
                loops.multiply(cx, &shape, [element; 2], *zeros, carrier, [a, b], out)?;
            }
        }
        Ok(())
    }
}

/// Chooses one accumulator for each channel.
fn biases(widths: Widths, form: &Requantization, channels: usize, numbers: &mut Numbers) -> Vec<i64> {
    let one = |channel| {
        accumulators(form, channel, 1, widths.ends(), numbers)
            .first()
            .copied()
            .unwrap_or_default()
    };
    (0..channels).map(one).collect()
}

/// Random codes from -4 to 3. When they are added to a bias, the sums lie on both sides of the thresholds near the
/// bias.
fn small(count: usize, numbers: &mut Numbers) -> Vec<i32> {
    (0..count).map(|_| numbers.between(-4, 3) as i32).collect()
}
