//! Random graphs of what the rules look for, as exporters write it and mixed up.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::fmt::Write;
use strait_core::Module;
use strait_core::text::parse;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// The shape of an image. The next constants are the shapes of the same elements with the axes in another order and as
/// a matrix.
const IMAGE: &str = "1,4,3,3";
const LAST: &str = "1,3,3,4";

/// The text of a graph, while it is being written.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) body: String,
    pub(crate) data: String,
    values: usize,
    tensors: usize,
    nodes: usize,
}

/// Shuffles items with the Fisher–Yates algorithm.
pub(crate) fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// The distance between a and b in units in the last place.
pub(crate) fn ulps(a: f32, b: f32) -> u32 {
    let ordered = |x: f32| {
        let bits = x.to_bits() as i32;
        if bits < 0 { i32::MIN - bits } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

impl Text {
    /// Adds a node and returns its result.
    pub(crate) fn node(&mut self, shape: &str, op: &str, operands: &[&str], attributes: &str) -> String {
        let name = format!("%v{}", self.values);
        self.values += 1;
        self.nodes += 1;
        let attributes = if attributes.is_empty() {
            String::new()
        } else {
            format!(" {{{attributes}}}")
        };
        let operands = operands.join(", ");
        writeln!(self.body, "  {name}: f32[{shape}] = {op}({operands}){attributes}").unwrap();
        name
    }

    pub(crate) fn add(&mut self, shape: &str, a: &str, b: &str) -> String {
        self.node(shape, "add", &[a, b], "")
    }

    pub(crate) fn mul(&mut self, shape: &str, a: &str, b: &str) -> String {
        self.node(shape, "mul", &[a, b], "a_zero=0, b_zero=0")
    }

    fn function(&mut self, x: &str, function: &str) -> String {
        self.node(IMAGE, "unary", &[x], &format!("function={function}"))
    }

    /// Adds a constant of positive numbers that are no powers of two.
    fn constant(&mut self, random: &mut Random, shape: &[usize]) -> String {
        self.positive(random, shape).0
    }

    /// Like [`Text::constant`], but also returns the numbers.
    pub(crate) fn positive(&mut self, random: &mut Random, shape: &[usize]) -> (String, Vec<f64>) {
        self.list(shape, || (random.below(1 << 20) as f32 + 0.5) / 65_536.0 + 0.1)
    }

    /// Like [`Text::positive`], with numbers of both signs.
    pub(crate) fn numbers(&mut self, random: &mut Random, shape: &[usize]) -> (String, Vec<f64>) {
        self.list(shape, || {
            let number = (random.below(1 << 20) as f32 + 0.5) / 65_536.0 + 0.1;
            if random.below(2) == 0 { number } else { -number }
        })
    }

    fn list(&mut self, shape: &[usize], number: impl FnMut() -> f32) -> (String, Vec<f64>) {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = std::iter::repeat_with(number).take(count).collect();
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let text: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        let name = self.tensor(&shape.join(","), &text.join(","));
        (name, values.into_iter().map(f64::from).collect())
    }

    fn tensor(&mut self, shape: &str, values: &str) -> String {
        let name = format!("@d{}", self.tensors);
        self.tensors += 1;
        writeln!(self.data, "data {name}: f32[{shape}] = inline [{values}]").unwrap();
        name
    }

    fn number(&mut self, number: f32) -> String {
        self.tensor("", &format!("{number:?}"))
    }

    /// Adds batch normalizations, multiplications and additions per channel after `x`, in random order and number.
    fn affine(
        &mut self,
        random: &mut Random,
        mut x: String,
        shape: &str,
        (channels, behind): (usize, usize),
    ) -> String {
        let per_channel: Vec<usize> = std::iter::once(channels).chain(vec![1; behind]).collect();
        for _ in 0..random.below(4) {
            x = match random.below(3) {
                // The channels of a batch normalization are the second axis.
                0 if shape != LAST => {
                    let parameters = [(); 4].map(|()| self.constant(random, &[channels]));
                    let operands: Vec<&str> = std::iter::once(&x).chain(&parameters).map(String::as_str).collect();
                    self.node(shape, "batch_normalization", &operands, "epsilon=0.001")
                }
                1 => {
                    let factor = self.constant(random, &per_channel);
                    self.mul(shape, &x, &factor)
                }
                _ => {
                    let summand = self.constant(random, &per_channel);
                    self.add(shape, &summand, &x)
                }
            };
        }
        x
    }

    pub(crate) fn conv(&mut self, random: &mut Random, x: &str) -> String {
        let bias = random.below(2) == 0;
        let weight = self.constant(random, &[4, 4, 1, 1]);
        let bias = bias.then(|| self.constant(random, &[4]));
        let operands: Vec<&str> = [x, &weight].into_iter().chain(bias.as_deref()).collect();
        let plain = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0";
        self.node(IMAGE, "conv", &operands, plain)
    }

    fn mean(&mut self, x: &str) -> String {
        self.node("1,4,3,1", "reduce", &[x], "reduction=mean, axes=[-1], keep_dims=1")
    }

    /// Adds nodes that a rule looks for, with an image as their operand. `other` is another image.
    fn block(&mut self, random: &mut Random, x: &str, other: &str) -> String {
        match random.below(18) {
            0..=2 => {
                let conv = self.conv(random, x);
                self.affine(random, conv, IMAGE, (4, 2))
            }
            3 => {
                let padded = self.node(
                    "1,4,5,5",
                    "pad",
                    &[x],
                    "amounts=[0,0,1,1,0,0,1,1], mode=constant, value=0.0",
                );
                let weight = self.constant(random, &[4, 4, 3, 3]);
                let plain = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0";
                let conv = self.node(IMAGE, "conv", &[&padded, &weight], plain);
                self.affine(random, conv, IMAGE, (4, 2))
            }
            4 => {
                let last = self.node(LAST, "transpose", &[x], "permutation=[0,2,3,1]");
                let affine = self.affine(random, last, LAST, (4, 0));
                let relu = self.node(LAST, "relu", &[&affine], "");
                self.node(IMAGE, "transpose", &[&relu], "permutation=[0,3,1,2]")
            }
            5 => {
                let line = self.node("1,4,9", "reshape", &[x], "shape=[1,4,9]");
                let summand = self.constant(random, &[4, 1]);
                let sum = self.add("1,4,9", &line, &summand);
                self.node(IMAGE, "reshape", &[&sum], "shape=[1,4,3,3]")
            }
            6 => {
                let gate = self.function(x, "sigmoid");
                self.mul(IMAGE, &gate, x)
            }
            7 => {
                let (root, one, half) = (
                    self.number(std::f32::consts::SQRT_2),
                    self.number(1.0),
                    self.number(0.5),
                );
                let scaled = self.node(IMAGE, "div", &[x, &root], "");
                let erf = self.function(&scaled, "erf");
                let gate = self.add(IMAGE, &erf, &one);
                let product = self.mul(IMAGE, x, &gate);
                self.mul(IMAGE, &product, &half)
            }
            8 => {
                let (two, epsilon) = (self.number(2.0), self.number(0.001));
                let mean = self.mean(x);
                let centred = self.node(IMAGE, "sub", &[x, &mean], "");
                let square = self.node(IMAGE, "pow", &[&centred, &two], "");
                let variance = self.mean(&square);
                let guarded = self.add("1,4,3,1", &variance, &epsilon);
                let root = self.node("1,4,3,1", "unary", &[&guarded], "function=sqrt");
                let normal = self.node(IMAGE, "div", &[&centred, &root], "");
                let (scale, bias) = (self.constant(random, &[3]), self.constant(random, &[3]));
                let scaled = self.mul(IMAGE, &normal, &scale);
                self.add(IMAGE, &scaled, &bias)
            }
            9 => {
                let flat = self.node("4,9", "reshape", &[x], "shape=[4,9]");
                let (weight, bias) = (self.constant(random, &[9, 9]), self.constant(random, &[9]));
                let attributes = "transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0";
                let gemm = self.node("4,9", "gemm", &[&flat, &weight, &bias], attributes);
                let affine = self.affine(random, gemm, "4,9", (9, 0));
                self.node(IMAGE, "reshape", &[&affine], "shape=[1,4,3,3]")
            }
            10 => self.node(IMAGE, "identity", &[x], ""),
            11 => self.node(IMAGE, "relu", &[x], ""),
            12 => {
                let (slopes, half) = (self.constant(random, &[4, 1, 1]), self.number(0.5));
                let relu = self.node(IMAGE, "relu", &[x], "");
                let abs = self.function(x, "abs");
                let twice = self.node(IMAGE, "sub", &[x, &abs], "");
                let scaled = self.mul(IMAGE, &slopes, &twice);
                let negative = self.mul(IMAGE, &scaled, &half);
                self.add(IMAGE, &relu, &negative)
            }
            13 => {
                // These are the nodes that JAX writes for a layer normalization.
                let (per, epsilon) = (self.number(1.0 / 3.0), self.number(0.001));
                let mean = |text: &mut Text, x: &str| {
                    let sum = text.node("1,4,3", "reduce", &[x], "reduction=sum, axes=[3], keep_dims=0");
                    text.mul("1,4,3", &sum, &per)
                };
                let square = self.mul(IMAGE, x, x);
                let [average, squares] = [x, &square].map(|x| mean(self, x));
                let less = self.mul("1,4,3", &average, &average);
                let variance = self.node("1,4,3", "sub", &[&squares, &less], "");
                let positive = self.node("1,4,3", "clip", &[&variance], "min=0.0, max=inf");
                let kept = "shape=[1,4,3,1]";
                let [positive, average] = [positive, average].map(|x| {
                    let row = self.node("1,4,3,1", "reshape", &[&x], kept);
                    self.node("1,4,3,1", "expand", &[&row], kept)
                });
                let guarded = self.add("1,4,3,1", &positive, &epsilon);
                let root = self.node("1,4,3,1", "unary", &[&guarded], "function=sqrt");
                let inverse = self.node("1,4,3,1", "unary", &[&root], "function=reciprocal");
                let scale = self.constant(random, &[1, 1, 1, 3]);
                let factor = self.mul(IMAGE, &inverse, &scale);
                let difference = self.node(IMAGE, "sub", &[x, &average], "");
                self.mul(IMAGE, &factor, &difference)
            }
            14 => {
                let largest = self.node("1,4,3", "reduce", &[x], "reduction=max, axes=[3], keep_dims=0");
                let row = self.node("1,4,3,1", "reshape", &[&largest], "shape=[1,4,3,1]");
                let below = self.node(IMAGE, "sub", &[x, &row], "");
                let exp = self.function(&below, "exp");
                let sum = self.node("1,4,3,1", "reduce", &[&exp], "reduction=sum, axes=[3], keep_dims=1");
                let spread = self.node(IMAGE, "expand", &[&sum], "shape=[1,4,3,3]");
                self.node(IMAGE, "div", &[&exp, &spread], "")
            }
            _ => self.add(IMAGE, x, other),
        }
    }
}

/// A float graph with about this many nodes.
pub(crate) fn module(random: &mut Random, nodes: usize) -> Module {
    let mut text = Text::default();
    let mut images = vec!["%x".to_owned()];
    while text.nodes < nodes {
        // Most nodes read the value that was made last.
        let back = |random: &mut Random| {
            if random.below(4) == 0 {
                random.below(images.len().min(8))
            } else {
                0
            }
        };
        let [a, b] = [back(random), back(random)].map(|back| images[images.len() - 1 - back].clone());
        images.push(text.block(random, &a, &b));
    }
    let results = images.iter().rev().take(3).filter(|image| *image != "%x").cloned();
    let results = results.collect::<Vec<_>>().join(", ");
    let Text { body, data, .. } = text;
    parse(&format!(
        "strait 1 float\ngraph @main(%x: f32[{IMAGE}]) {{\n{body}  return {results}\n}}\n{data}"
    ))
    .unwrap()
}
