//! Compares what the target generic-int8 computes with LiteRT's int8 kernels, which are written here again from their
//! public definition (gemmlowp's fixed point; the reference kernels CONV_2D, FULLY_CONNECTED, ADD, MUL, MEAN,
//! REDUCE_MAX, LOGISTIC, TANH and LEAKY_RELU). Every code must be equal.
//!
//! The port starts from the contents of a .tflite file: scales in f32, codes of the weights, and biases into which
//! nothing has been folded. It shares no arithmetic with the compiler.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_core::{Module, Value};
use strait_execute::{Tensor, TensorView, reference};
use strait_tests::integer::{InMemory, Integer, integer};

/// gemmlowp's `SaturatingRoundingDoublingHighMul`.
fn doubling_high_multiply(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    let product = i64::from(a) * i64::from(b);
    let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
    // Division in C++ rounds towards zero.
    ((product + nudge) / (1 << 31)) as i32
}

/// gemmlowp's `RoundingDivideByPOT`.
fn rounding_divide(x: i32, exponent: i32) -> i32 {
    let mask = ((1i64 << exponent) - 1) as i32;
    let threshold = (mask >> 1) + i32::from(x < 0);
    (x >> exponent) + i32::from(x & mask > threshold)
}

/// LiteRT's `QuantizeMultiplier`: a 31-bit significand and a left shift.
fn quantize_multiplier(real: f64) -> (i32, i32) {
    // frexp written out: real = significand * 2^shift, with the significand in [0.5, 1).
    let (mut significand, mut shift) = (real, 0);
    while significand >= 1.0 {
        (significand, shift) = (significand / 2.0, shift + 1);
    }
    while significand < 0.5 {
        (significand, shift) = (significand * 2.0, shift - 1);
    }
    let mut fixed = (significand * f64::from(1u32 << 31)).round() as i64;
    if fixed == 1 << 31 {
        (fixed, shift) = (fixed / 2, shift + 1);
    }
    if shift < -31 { (0, 0) } else { (fixed as i32, shift) }
}

/// LiteRT's `MultiplyByQuantizedMultiplier`, which rounds twice.
fn multiply(x: i32, real: f64) -> i32 {
    let (multiplier, shift) = quantize_multiplier(real);
    let (left, right) = (shift.max(0), (-shift).max(0));
    rounding_divide(doubling_high_multiply(x.wrapping_shl(left as u32), multiplier), right)
}

/// FULLY_CONNECTED has no integer multiplier. It applies C's `round`, ties away from zero, to a product of two doubles.
fn multiply_once(x: i32, real: f64) -> i32 {
    (f64::from(x) * real).round() as i32
}

fn saturate(x: i32) -> i32 {
    x.clamp(-128, 127)
}

/// Scale and zero point of a value, and its codes if it is a constant.
struct Quantized {
    scale: f64,
    zero: i32,
}

fn value<'a>(module: &'a Module, integer: &'a Integer, name: &str) -> &'a Value {
    let graph = module.graph(integer.lowered).unwrap();
    let found = graph.values().find(|(_, v)| module.name(v.name) == name);
    found.unwrap_or_else(|| panic!("there is no {name}")).1
}

fn grid(integer: &Integer, name: &str) -> Quantized {
    let (scale, zero) = value(&integer.module, integer, name)
        .quant
        .as_deref()
        .unwrap()
        .as_tensor()
        .unwrap();
    let scale = f64::from(scale);
    Quantized { scale, zero }
}

/// A model of one operator, its integers, its input codes and its output codes.
struct Run {
    integer: Integer,
    inputs: Vec<Vec<i32>>,
    codes: Vec<(String, Vec<i32>)>,
}

impl Run {
    fn new(text: &str, seed: u64) -> Run {
        let float = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut random = SplitMix64::new(seed);
        let graph = float.main();
        let dims: Vec<Vec<usize>> = (graph.inputs().iter())
            .map(|&v| {
                graph
                    .value(v)
                    .unwrap()
                    .ty
                    .dims()
                    .unwrap()
                    .iter()
                    .map(|&d| d as usize)
                    .collect()
            })
            .collect();
        let mut sample = |scale: f32| -> Vec<Tensor> {
            let tensor = |(input, shape): (usize, &Vec<usize>)| {
                // The inputs have different scales and are not centred at zero.
                let (scale, middle) = (scale * (1.0 + input as f32 * 1.7), 0.3 * input as f32);
                let real = |_| ((random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0) * scale + middle;
                let values: Vec<f32> = (0..shape.iter().product()).map(real).collect();
                Tensor::from_values(shape, &values).unwrap()
            };
            dims.iter().enumerate().map(tensor).collect()
        };
        let samples = InMemory((0..3).map(|_| sample(1.0)).collect());
        // Twice as far out as anything in the calibration data, so that accumulators and results saturate, too.
        let far = sample(2.0);
        let integer = integer(&float, "generic-int8", &samples).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let views: Vec<TensorView<'_>> = far.iter().map(Tensor::view).collect();
        let mut codes: Vec<(String, Vec<i32>)> = Vec::new();
        let module = &integer.module;
        let lowered = module.graph(integer.lowered).unwrap();
        reference::run(module, integer.lowered, &views, &mut |id, tensor| {
            let name = module.name(lowered.value(id).unwrap().name);
            if let Ok(values) = tensor.values::<i8>() {
                codes.push((name.to_string(), values.iter().map(|&q| q.into()).collect()));
            }
        })
        .unwrap();
        let names = ["x:quantized", "y:quantized"];
        let inputs = names
            .iter()
            .filter_map(|name| Some(codes.iter().find(|(n, _)| n == name)?.1.clone()));
        let inputs = inputs.collect();
        Run { integer, inputs, codes }
    }

    fn grid(&self, name: &str) -> Quantized {
        grid(&self.integer, name)
    }

    fn result(&self) -> &[i32] {
        &self.codes.iter().find(|(name, _)| name == "r:requantize").unwrap().1
    }

    /// Codes of the weights, their scale for each output, and the biases without what lowering folds into them.
    fn parameters(&self, x_zero: i32) -> (Vec<i32>, Vec<f64>, Vec<i32>) {
        let module = &self.integer.module;
        let constant = |name: &str| {
            let value = value(module, &self.integer, name);
            let strait_core::Def::Data(data) = value.def else {
                panic!("{name} is no constant")
            };
            let codes = module.data(data).unwrap().to_i64().unwrap();
            codes.iter().map(|&code| code as i32).collect::<Vec<i32>>()
        };
        let (weights, folded) = (constant("weight:codes"), constant("bias:codes"));
        let quant = value(module, &self.integer, "weight:codes").quant.clone().unwrap();
        let each = weights.len() / folded.len();
        let scale = |c: usize| f64::from(*quant.scale.get(c).unwrap());
        let scales = (0..folded.len()).map(scale).collect();
        let unfolded = |(c, b): (usize, &i32)| b + x_zero * weights[c * each..(c + 1) * each].iter().sum::<i32>();
        let biases = folded.iter().enumerate().map(unfolded).collect();
        (weights, scales, biases)
    }
}

/// Number of results of 20 random models that differ, and number of all results.
fn differing(model: impl Fn(u64) -> String, kernel: impl Fn(&Run) -> Vec<i32>) -> (usize, usize) {
    let (mut differ, mut total) = (0, 0);
    for seed in 0..20 {
        let run = Run::new(&model(seed), seed);
        let expect = kernel(&run);
        let found = run.result();
        assert_eq!(expect.len(), found.len());
        differ += expect.iter().zip(found).filter(|(a, b)| a != b).count();
        total += found.len();
    }
    (differ, total)
}

#[test]
fn conv_2d() {
    let model = |seed| {
        format!(
            "strait 1 float graph @main(%x: f32[1,3,7,8]) {{
               %r: f32[1,5,4,4] = conv(%x, @w, @b) {{stride=[2,2], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}}
               return %r }}
             data @w: f32[5,3,3,3] = random {seed}
             data @b: f32[5] = random {}",
            seed + 100
        )
    };
    let kernel = |run: &Run| {
        let (x, r) = (run.grid("x:quantized"), run.grid("r:requantize"));
        let (weights, scales, biases) = run.parameters(x.zero);
        let input = &run.inputs[0];
        let mut out = Vec::new();
        for (c, row, column) in (0..5).flat_map(|c| (0..16).map(move |at| (c, at / 4, at % 4))) {
            let mut acc = 0;
            for (channel, ky, kx) in (0..3).flat_map(|i| (0..9).map(move |at| (i, at / 3, at % 3))) {
                // Taps outside of the image are left out.
                let (iy, ix) = ((row * 2 + ky) as i32 - 1, (column * 2 + kx) as i32 - 1);
                if (0..7).contains(&iy) && (0..8).contains(&ix) {
                    let code = input[(channel * 7 + iy as usize) * 8 + ix as usize];
                    acc += (code - x.zero) * weights[((c * 3 + channel) * 3 + ky) * 3 + kx];
                }
            }
            out.push(saturate(
                multiply(acc + biases[c], x.scale * scales[c] / r.scale) + r.zero,
            ));
        }
        out
    };
    assert_eq!(differing(model, kernel), (0, 1600));
}

#[test]
fn fully_connected() {
    let model = |seed| {
        format!(
            "strait 1 float graph @main(%x: f32[6,33]) {{
               %r: f32[6,17] = gemm(%x, @w, @b) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
               return %r }}
             data @w: f32[17,33] = random {seed}
             data @b: f32[17] = random {}",
            seed + 100
        )
    };
    let kernel = |run: &Run| {
        let (x, r) = (run.grid("x:quantized"), run.grid("r:requantize"));
        let (weights, scales, biases) = run.parameters(x.zero);
        let one = |(row, c): (usize, usize)| {
            let product = |k: usize| (run.inputs[0][row * 33 + k] - x.zero) * weights[c * 33 + k];
            let acc = (0..33).map(product).sum::<i32>() + biases[c];
            saturate(multiply_once(acc, x.scale * scales[c] / r.scale) + r.zero)
        };
        (0..6).flat_map(|row| (0..17).map(move |c| (row, c))).map(one).collect()
    };
    assert_eq!(differing(model, kernel), (0, 2040));
}

const ELEMENTWISE: &str =
    "strait 1 float graph @main(%x: f32[1,400], %y: f32[1,400]) { %r: f32[1,400] = OP return %r }";

#[test]
fn add() {
    for (op, sign) in [("add(%x, %y)", 1), ("sub(%x, %y)", -1)] {
        let kernel = |run: &Run| {
            let (x, y, r) = (
                run.grid("x:quantized"),
                run.grid("y:quantized"),
                run.grid("r:requantize"),
            );
            let twice = 2.0 * x.scale.max(y.scale);
            let operand = |code: i32, of: &Quantized| multiply((code - of.zero) << 20, of.scale / twice);
            let one = |(&a, &b): (&i32, &i32)| {
                let sum = operand(a, &x) + sign * operand(b, &y);
                saturate(multiply(sum, twice / (f64::from(1 << 20) * r.scale)) + r.zero)
            };
            run.inputs[0].iter().zip(&run.inputs[1]).map(one).collect()
        };
        assert_eq!(differing(|_| ELEMENTWISE.replace("OP", op), kernel), (0, 8000), "{op}");
    }
}

#[test]
fn mul() {
    let kernel = |run: &Run| {
        let (x, y, r) = (
            run.grid("x:quantized"),
            run.grid("y:quantized"),
            run.grid("r:requantize"),
        );
        // MUL computes its factor in f32.
        let factor = f64::from(x.scale as f32 * y.scale as f32 / r.scale as f32);
        let one = |(&a, &b): (&i32, &i32)| saturate(multiply((a - x.zero) * (b - y.zero), factor) + r.zero);
        run.inputs[0].iter().zip(&run.inputs[1]).map(one).collect()
    };
    let model = |_| ELEMENTWISE.replace("OP", "mul(%x, %y) {a_zero=0, b_zero=0}");
    assert_eq!(differing(model, kernel), (0, 8000));
}

/// `MultiplyByQuantizedMultiplier` with two roundings, for given integers.
fn multiply_fixed(x: i32, fixed: i32, shift: i32) -> i32 {
    let (left, right) = (shift.max(0), (-shift).max(0));
    rounding_divide(doubling_high_multiply(x.wrapping_shl(left as u32), fixed), right)
}

/// MEAN over some axes of `[2, 3, 4, 5]`: the multiplier is divided by the number of elements.
#[test]
fn mean() {
    let dims = [2usize, 3, 4, 5];
    for (axes, keep) in [
        (&[2usize, 3][..], false),
        (&[2, 3], true),
        (&[3], true),
        (&[1], false),
        (&[0, 3], false),
    ] {
        let kept: Vec<String> = (0..4)
            .filter_map(|axis| match (axes.contains(&axis), keep) {
                (true, true) => Some("1".to_owned()),
                (true, false) => None,
                (false, _) => Some(dims[axis].to_string()),
            })
            .collect();
        let list: Vec<String> = axes.iter().map(ToString::to_string).collect();
        // Negative axes count from the end, and their order does not matter.
        let list = if keep {
            list.join(",")
        } else {
            list.iter()
                .rev()
                .map(|a| format!("-{}", 4 - a.parse::<i32>().unwrap()))
                .collect::<Vec<_>>()
                .join(",")
        };
        let model = format!(
            "strait 1 float graph @main(%x: f32[2,3,4,5]) {{ %r: f32[{}] = reduce(%x) {{reduction=mean, axes=[{list}], keep_dims={}}} return %r }}",
            kept.join(","),
            u8::from(keep)
        );
        let kernel = |run: &Run| {
            let (x, r) = (run.grid("x:quantized"), run.grid("r:requantize"));
            let (mut sums, mut count) = (std::collections::BTreeMap::<Vec<usize>, i32>::new(), 0);
            for (index, &code) in run.inputs[0].iter().enumerate() {
                let at = [index / 60, index / 20 % 3, index / 5 % 4, index % 5];
                let place: Vec<usize> = (0..4)
                    .filter(|axis| !axes.contains(axis))
                    .map(|axis| at[axis])
                    .collect();
                *sums.entry(place).or_default() += code - x.zero;
                count += 1;
            }
            let elements = count / sums.len() as i32;
            let (fixed, shift) = quantize_multiplier(x.scale / r.scale);
            let bits = (31 - elements.leading_zeros() as i32).min(31 + shift);
            let fixed = ((i64::from(fixed) << bits) / i64::from(elements)) as i32;
            let one = |&sum: &i32| saturate(multiply_fixed(sum, fixed, shift - bits) + r.zero);
            sums.values().map(one).collect()
        };
        let results = 120 / axes.iter().map(|&axis| dims[axis]).product::<usize>();
        assert_eq!(differing(|_| model.clone(), kernel), (0, 20 * results), "{model}");
    }
}

/// REDUCE_MAX and REDUCE_MIN: the results are codes of the operand, with its scale.
#[test]
fn extremes() {
    for (word, extreme) in [("max", i32::max as fn(i32, i32) -> i32), ("min", i32::min)] {
        let model = format!(
            "strait 1 float graph @main(%x: f32[1,6,4,5]) {{
                %n: f32[1,6,4,5] = unary(%x) {{function=neg}}
                %r: f32[1,6] = reduce(%n) {{reduction={word}, axes=[2,3], keep_dims=0}}
                return %r
            }}"
        );
        for seed in 0..5 {
            let run = Run::new(&model, seed);
            let codes = |name: &str| &run.codes.iter().find(|(n, _)| n == name).unwrap().1;
            let expect: Vec<i32> = codes("n")
                .chunks(20)
                .map(|map| map.iter().copied().reduce(extreme).unwrap())
                .collect();
            assert_eq!(codes("r:codes"), &expect, "{word}");
            assert_eq!(run.grid("n").scale, run.grid("r:codes").scale);
        }
    }
}

/// LOGISTIC and TANH are tables that the C library fills in f32. LEAKY_RELU has a multiplier for each sign.
#[test]
fn functions_of_one_code() {
    type Kernel = fn(i32, &Quantized, &Quantized) -> i32;
    let kernels: [(&str, Kernel); 3] = [
        ("unary(%x) {function=sigmoid}", |q, x, r| {
            let logistic = 1.0 / (1.0 + (-(x.scale as f32 * (q - x.zero) as f32)).exp());
            saturate((logistic * 256.0).round() as i32 + r.zero)
        }),
        ("unary(%x) {function=tanh}", |q, x, r| {
            let tanh = (x.scale as f32 * (q - x.zero) as f32).tanh();
            saturate((tanh * (1.0 / r.scale as f32)).round() as i32 + r.zero)
        }),
        ("leaky_relu(%x) {alpha=0.1}", |q, x, r| {
            let (d, slope) = (q - x.zero, if q < x.zero { 0.1f32 } else { 1.0 });
            let factor = x.scale as f32 * slope / r.scale as f32;
            saturate(multiply(d, factor.into()) + r.zero)
        }),
    ];
    for (op, kernel) in kernels {
        let model = format!("strait 1 float graph @main(%x: f32[1,40]) {{ %r: f32[1,40] = {op} return %r }}");
        for seed in 0..20 {
            let run = Run::new(&model, seed);
            let (x, r) = (run.grid("x:quantized"), run.grid("r:lookup"));
            let found = &run.codes.iter().find(|(name, _)| name == "r:lookup").unwrap().1;
            let expect: Vec<i32> = run.inputs[0].iter().map(|&q| kernel(q, &x, &r)).collect();
            assert_eq!(found, &expect, "{op}");
            if op.contains("sigmoid") {
                assert_eq!((r.scale, r.zero), (1.0 / 256.0, -128));
            }
        }
    }
}
