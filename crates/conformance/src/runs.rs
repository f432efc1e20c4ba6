//! The loops, each with operands that bring it to accumulators of our choice.

use crate::accumulators::accumulators;
use crate::numbers::Numbers;
use strait_kernels::{
    Context, Conv, Images, KernelError, Pool, Window,
    integer::{Activation, Addend, Axis, Bias, Broadcast, Carrier, ConvWeights, GemmWeights, Loops, Weights},
};
use strait_requantize::{IntType, Requantization};

/// One call of one loop: what it is given, and the accumulators that it comes to by our own sums.
pub(crate) struct Run {
    kind: Kind,
    /// Channel and accumulator of each result, in the order of the output.
    accumulators: Vec<(usize, i32)>,
    out: IntType,
}

enum Kind {
    Requantize {
        channels: usize,
        inner: usize,
        input: Vec<u8>,
    },
    Gemm {
        bias: Vec<i32>,
        rows: usize,
        a: Vec<u8>,
    },
    Conv {
        conv: Conv,
        bias: Vec<i32>,
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

/// Positions of an accumulator array per channel.
const INNER: usize = 67;
/// Rows of a product, and positions of an image: not a multiple of a tile.
const ROWS: usize = 7;

impl Run {
    /// A run of each loop. Those of two operands have one channel, so they are for forms with one set of parameters.
    pub(crate) fn all(form: &Requantization, numbers: &mut Numbers) -> Vec<Run> {
        let channels = form.channels().unwrap_or(3);
        let mut runs = vec![
            Run::requantize(form, channels, numbers),
            Run::gemm(form, channels, numbers),
            Run::conv(form, channels, numbers),
            Run::matmul(channels, numbers),
            Run::sum_pool(channels, numbers),
            Run::sum_pool_by_position(channels, numbers),
        ];
        if form.channels().is_none() {
            runs.push(Run::add(form, numbers));
            runs.push(Run::multiply(numbers));
        }
        for run in &mut runs {
            run.out = form.out();
        }
        // A sum of ours that leaves a form's domain is nobody's concern.
        runs.retain(|run| {
            run.accumulators
                .iter()
                .all(|&(channel, acc)| form.domain(channel).contains(&acc.into()))
        });
        runs
    }

    fn new(kind: Kind, accumulators: Vec<(usize, i32)>) -> Run {
        Run {
            kind,
            accumulators,
            out: IntType::I32,
        }
    }

    /// Accumulators as they are, `[1, channels, INNER]`.
    fn requantize(form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let of = |channel| {
            accumulators(form, channel, INNER, numbers)
                .into_iter()
                .map(move |acc| (channel, acc))
        };
        let accumulators: Vec<(usize, i32)> = (0..channels).flat_map(of).collect();
        let input = accumulators.iter().flat_map(|(_, acc)| acc.to_ne_bytes()).collect();
        Run::new(
            Kind::Requantize {
                channels,
                inner: INNER,
                input,
            },
            accumulators,
        )
    }

    /// One row of weights of one, and the accumulators of interest as the bias: acc = bias[n] + a[m].
    fn gemm(form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let bias = biases(form, channels, numbers);
        let a = small(ROWS, numbers);
        let accumulators = a.iter().flat_map(|&a| {
            bias.iter()
                .enumerate()
                .map(move |(n, b)| (n, b.wrapping_add(i32::from(a))))
        });
        Run::new(
            Kind::Gemm {
                bias: bias.clone(),
                rows: ROWS,
                a: bytes(&a),
            },
            accumulators.collect(),
        )
    }

    /// One tap of one, and the accumulators of interest as the bias: acc = bias[o] + x[position].
    fn conv(form: &Requantization, channels: usize, numbers: &mut Numbers) -> Run {
        let bias = biases(form, channels, numbers);
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
            .flat_map(|(o, b)| x.iter().map(move |&x| (o, b.wrapping_add(i32::from(x)))));
        let accumulators = accumulators.collect();
        Run::new(
            Kind::Conv {
                conv,
                bias: bias.clone(),
                input: bytes(x),
            },
            accumulators,
        )
    }

    fn matmul(channels: usize, numbers: &mut Numbers) -> Run {
        let (rows, k) = (ROWS, 5);
        let (a, b) = (codes(rows * k, numbers), codes(k * channels, numbers));
        let zeros = [0; 2].map(|_| numbers.between(-128, 127) as i32);
        let sum = |m: usize, n: usize| {
            let term = |i: usize| (i32::from(a[m * k + i]) - zeros[0]) * (i32::from(b[i * channels + n]) - zeros[1]);
            (n, (0..k).map(term).sum())
        };
        let accumulators = (0..rows * channels)
            .map(|at| sum(at / channels, at % channels))
            .collect();
        Run::new(
            Kind::MatMul {
                extents: [rows, channels, k],
                a: bytes(&a),
                b: bytes(&b),
                zeros,
            },
            accumulators,
        )
    }

    /// Windows of 2 × 3 without padding.
    fn sum_pool(channels: usize, numbers: &mut Numbers) -> Run {
        let (height, width) = (4, 9);
        let x = codes(channels * height * width, numbers);
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
            let tap = |t: usize| i32::from(x[(channel * height + y + t / 3) * width + column + t % 3]);
            (channel, (0..6).map(tap).sum())
        };
        let accumulators = (0..channels * rows * columns).map(sum).collect();
        Run::new(
            Kind::SumPool {
                pool,
                axis: Axis::Rows,
                pad_value: 0,
                input: bytes(&x),
            },
            accumulators,
        )
    }

    /// Pairs of neighbours in the rows of two images; a position of the output is a channel.
    fn sum_pool_by_position(channels: usize, numbers: &mut Numbers) -> Run {
        let (images, width) = (2, channels + 1);
        let x = codes(images * width, numbers);
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
            (position, i32::from(x[first]) + i32::from(x[first + 1]))
        };
        let accumulators = (0..images * channels).map(sum).collect();
        Run::new(
            Kind::SumPool {
                pool,
                axis: Axis::Columns,
                pad_value: 0,
                input: bytes(&x),
            },
            accumulators,
        )
    }

    /// Tables of halves of accumulators of interest.
    fn add(form: &Requantization, numbers: &mut Numbers) -> Run {
        let interest = accumulators(form, 0, 256, numbers);
        let mut tables = Box::new([[0; 256]; 2]);
        for code in 0..256 {
            // The two halves of one accumulator meet where both operands have the same code.
            let Some(&acc) = interest.get(code) else { continue };
            tables[0][code] = acc >> 1;
            tables[1][code] = acc - (acc >> 1);
        }
        let a: Vec<i8> = (-128..=127).chain(-128..=127).collect();
        let b: Vec<i8> = (-128..=127).chain(codes(256, numbers)).collect();
        let entry = |table: &[i32; 256], code: i8| table[usize::from(code.cast_unsigned() ^ 0x80)];
        let sums = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| (0, entry(&tables[0], a).wrapping_add(entry(&tables[1], b))));
        let accumulators = sums.collect();
        Run::new(
            Kind::Add {
                tables,
                operands: [bytes(&a), bytes(&b)],
            },
            accumulators,
        )
    }

    fn multiply(numbers: &mut Numbers) -> Run {
        let [a, b] = [0; 2].map(|_| codes(301, numbers));
        let zeros = [0; 2].map(|_| numbers.between(-128, 127) as i32);
        let products = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| (0, (i32::from(a) - zeros[0]) * (i32::from(b) - zeros[1])));
        let accumulators = products.collect();
        Run::new(
            Kind::Multiply {
                zeros,
                operands: [bytes(&a), bytes(&b)],
            },
            accumulators,
        )
    }

    /// The loop's name.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Requantize { .. } => "requantize",
            Kind::Gemm { .. } => "gemm",
            Kind::Conv { .. } => "conv",
            Kind::MatMul { .. } => "matmul",
            Kind::SumPool { axis: Axis::Rows, .. } => "sum_pool",
            Kind::SumPool { .. } => "sum_pool by position",
            Kind::Add { .. } => "add",
            Kind::Multiply { .. } => "multiply",
        }
    }

    /// The number of results.
    pub(crate) fn len(&self) -> usize {
        self.accumulators.len()
    }

    /// Channel and accumulator of a result.
    pub(crate) fn accumulator(&self, at: usize) -> (usize, i32) {
        self.accumulators[at]
    }

    /// Result of the loops.
    pub(crate) fn results(&self, loops: &dyn Loops, cx: &Context) -> Result<Vec<i32>, KernelError> {
        let width = usize::from(self.out.bits() / 8);
        let mut out = vec![0; self.len() * width];
        let i8s = [IntType::I8; 2];
        match &self.kind {
            Kind::Requantize { channels, inner, input } => {
                loops.requantize(cx, [1, *channels, *inner], IntType::I32, input, &mut out)?;
            }
            Kind::Gemm { bias, rows, a } => {
                let n = bias.len();
                let weights = GemmWeights::new(
                    IntType::I8,
                    [1, n],
                    Weights::I8(&vec![1; n]),
                    [n, 1],
                    Bias::I32(Some(bias)),
                )?;
                loops.gemm(cx, &weights, *rows, a, &mut out)?;
            }
            Kind::Conv { conv, bias, input } => {
                let weights = ConvWeights::new(
                    *conv,
                    IntType::I8,
                    0,
                    Weights::I8(&vec![1; bias.len()]),
                    Bias::I32(Some(bias)),
                )?;
                loops.conv(cx, &weights, 1, input, &mut out)?;
            }
            Kind::MatMul { extents, a, b, zeros } => {
                let operand = |data, zero_point, row| Activation {
                    data,
                    element: IntType::I8,
                    zero_point,
                    strides: [row, 1],
                };
                let [_, n, k] = *extents;
                loops.matmul(
                    cx,
                    *extents,
                    operand(a, zeros[0], k),
                    operand(b, zeros[1], n),
                    Carrier::I32,
                    &mut out,
                )?;
            }
            Kind::SumPool {
                pool,
                axis,
                pad_value,
                input,
            } => {
                loops.sum_pool(cx, pool, *axis, IntType::I8, *pad_value, Carrier::I32, input, &mut out)?;
            }
            Kind::Add {
                tables,
                operands: [a, b],
            } => {
                let shape = Broadcast::new(&[a.len()], &[b.len()])?;
                let addends = [Addend::Table(&tables[0]), Addend::Table(&tables[1])];
                loops.add(cx, &shape, i8s, addends, [a, b], &mut out)?;
            }
            Kind::Multiply {
                zeros,
                operands: [a, b],
            } => {
                let shape = Broadcast::new(&[a.len()], &[b.len()])?;
                loops.multiply(cx, &shape, i8s, *zeros, Carrier::I32, [a, b], &mut out)?;
            }
        }
        Ok(out.chunks_exact(width).map(|bytes| element(self.out, bytes)).collect())
    }
}

/// An element in the machine's order.
fn element(t: IntType, bytes: &[u8]) -> i32 {
    match (t, bytes) {
        (IntType::I8 | IntType::I4, [a]) => i32::from(a.cast_signed()),
        (IntType::I16, [a, b]) => i32::from(i16::from_ne_bytes([*a, *b])),
        (IntType::U16, [a, b]) => i32::from(u16::from_ne_bytes([*a, *b])),
        (IntType::I32, [a, b, c, d]) => i32::from_ne_bytes([*a, *b, *c, *d]),
        (_, bytes) => bytes.first().copied().map_or(0, i32::from),
    }
}

/// An accumulator of interest for each channel.
fn biases(form: &Requantization, channels: usize, numbers: &mut Numbers) -> Vec<i32> {
    let one = |channel| {
        accumulators(form, channel, 1, numbers)
            .first()
            .copied()
            .unwrap_or_default()
    };
    (0..channels).map(one).collect()
}

/// Codes from -4 to 3: they lead a bias across the steps around it.
fn small(count: usize, numbers: &mut Numbers) -> Vec<i8> {
    (0..count).map(|_| numbers.between(-4, 3) as i8).collect()
}

fn codes(count: usize, numbers: &mut Numbers) -> Vec<i8> {
    (0..count).map(|_| numbers.between(-128, 127) as i8).collect()
}

fn bytes(codes: &[i8]) -> Vec<u8> {
    codes.iter().map(|code| code.cast_unsigned()).collect()
}
