//! Makes random float graphs as text, and random statistics for them.

use std::fmt::Write;
use strait_core::Module;
use strait_core::text::random::SplitMix64;
use strait_quantize::statistics::{Kind, Record};
use strait_quantize::{Observation, Statistics};

/// A graph that is being made.
struct Maker {
    random: SplitMix64,
    nodes: String,
    data: String,
    /// Names and shapes [1, C, H, W] of the values so far.
    values: Vec<(String, [u64; 4])>,
    counter: usize,
}

const KINDS: u64 = 14;

impl Maker {
    fn below(&mut self, count: u64) -> u64 {
        (self.random.next_u64() >> 8) % count
    }

    fn pick(&mut self) -> (String, [u64; 4]) {
        let index = self.below(self.values.len() as u64) as usize;
        self.values[index].clone()
    }

    /// Two values of the same shape; twice the same value if there is no other.
    fn pair(&mut self) -> (String, String, [u64; 4]) {
        let (a, dims) = self.pick();
        let alike: Vec<String> = self
            .values
            .iter()
            .filter(|v| v.1 == dims)
            .map(|v| v.0.clone())
            .collect();
        let index = self.below(alike.len() as u64) as usize;
        (a, alike[index].clone(), dims)
    }

    fn node(&mut self, text: &str, dims: [u64; 4]) {
        let name = format!("n{}", self.counter);
        self.counter += 1;
        let [a, b, c, d] = dims;
        let _ = writeln!(self.nodes, "  %{name}: f32[{a},{b},{c},{d}] = {text}");
        self.values.push((name, dims));
    }

    /// A constant of random numbers in [-1, 1).
    fn constant(&mut self, dims: &[u64]) -> String {
        let (name, seed) = (format!("c{}", self.counter), self.below(1 << 30));
        self.counter += 1;
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        let _ = writeln!(self.data, "data @{name}: f32[{}] = random {seed}", dims.join(","));
        name
    }

    fn conv(&mut self) {
        let (x, [_, c, h, w]) = self.pick();
        let depthwise = self.below(3) == 0;
        let (out, groups) = if depthwise { (c, c) } else { (1 + self.below(5), 1) };
        let (kernel, pad) = if self.below(2) == 0 { (1, 0) } else { (3, 1) };
        let weight = self.constant(&[out, c / groups, kernel, kernel]);
        let bias = if self.below(2) == 0 {
            "_".into()
        } else {
            format!("@{}", self.constant(&[out]))
        };
        let attributes =
            format!("stride=[1,1], pad=[{pad},{pad},{pad},{pad}], dilation=[1,1], groups={groups}, pad_value=0");
        self.node(
            &format!("conv(%{x}, @{weight}, {bias}) {{{attributes}}}"),
            [1, out, h, w],
        );
    }

    fn pool(&mut self, op: &str, more: &str) {
        let (x, [_, c, h, w]) = self.pick();
        if h >= 2 && w >= 2 {
            let attributes = format!("size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0{more}");
            self.node(&format!("{op}(%{x}) {{{attributes}}}"), [1, c, h - 1, w - 1]);
        }
    }

    fn step(&mut self) {
        match self.below(KINDS) {
            0..3 => self.conv(),
            3 => {
                let (x, dims) = self.pick();
                self.node(&format!("relu(%{x})"), dims);
            }
            4 => {
                let (x, dims) = self.pick();
                self.node(&format!("clip(%{x}) {{min=-1.0, max=2.0}}"), dims);
            }
            5 => {
                let (a, b, dims) = self.pair();
                let op = if self.below(2) == 0 { "add" } else { "sub" };
                self.node(&format!("{op}(%{a}, %{b})"), dims);
            }
            6 => {
                let (a, b, dims) = self.pair();
                self.node(&format!("mul(%{a}, %{b}) {{a_zero=0, b_zero=0}}"), dims);
            }
            7 => {
                let (x, dims) = self.pick();
                let factor = self.constant(&[1, dims[1], 1, 1]);
                self.node(&format!("mul(%{x}, @{factor}) {{a_zero=0, b_zero=0}}"), dims);
            }
            8 => {
                let (a, b, [n, c, h, w]) = self.pair();
                if c < 16 {
                    self.node(&format!("concat(%{a}, %{b}) {{axis=1}}"), [n, 2 * c, h, w]);
                }
            }
            9 => self.pool("max_pool", ""),
            10 => self.pool("average_pool", ", count_include_pad=0"),
            11 => {
                let (x, dims) = self.pick();
                let function = ["sigmoid", "tanh", "silu", "abs"][self.below(4) as usize];
                self.node(&format!("unary(%{x}) {{function={function}}}"), dims);
            }
            12 => {
                let (x, [n, c, h, w]) = self.pick();
                let value = ["0.0", "0.75"][self.below(2) as usize];
                let attributes = format!("amounts=[0,0,1,0,0,0,0,1], mode=constant, value={value}");
                self.node(&format!("pad(%{x}) {{{attributes}}}"), [n, c, h + 1, w + 1]);
            }
            _ => {
                let (x, [n, c, h, w]) = self.pick();
                if h > 1 {
                    self.node(
                        &format!("slice(%{x}) {{starts=[1], ends=[{h}], axes=[2], steps=[1]}}"),
                        [n, c, h - 1, w],
                    );
                }
            }
        }
    }
}

/// A graph of about `steps` operators on an image `[1, 3, 5, 6]`, with a fully connected layer at the end. The last
/// operators are its outputs.
pub fn random_graph(seed: u64, steps: usize) -> String {
    let mut maker = Maker {
        random: SplitMix64::new(seed),
        nodes: String::new(),
        data: String::new(),
        values: vec![("x".into(), [1, 3, 5, 6])],
        counter: 0,
    };
    // With only the input there would be little to choose from.
    maker.conv();
    for _ in 0..steps {
        maker.step();
    }
    let (last, dims) = maker.values[maker.values.len() - 1].clone();
    let inner: u64 = dims.iter().product();
    let weight = maker.constant(&[4, inner]);
    let _ = writeln!(maker.nodes, "  %flat: f32[1,{inner}] = flatten(%{last}) {{axis=1}}");
    let _ = writeln!(
        maker.nodes,
        "  %fc: f32[1,4] = gemm(%flat, @{weight}) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}"
    );
    let second = &maker.values[maker.values.len() - 2].0;
    let outputs = if second == "x" {
        "%fc".to_string()
    } else {
        format!("%fc, %{second}")
    };
    format!(
        "strait 1 float\ngraph @main(%x: f32[1,3,5,6]) {{\n{}  return {outputs}\n}}\n{}",
        maker.nodes, maker.data
    )
}

/// Random ranges of very different sizes for every value. For targets that only shift, some scales must then be made
/// larger.
pub fn observation(module: &Module, random: &mut SplitMix64) -> Observation {
    let mut observation = Observation::default();
    for (_, value) in module.main().values() {
        let end = (random.next_u64() % 4000) as f32 / 100.0 + 0.01;
        let mut statistics = Statistics::default();
        statistics.add(0, &[-end * (random.next_u64() % 3) as f32, 0.5 * end, end]);
        observation.insert(Kind::Elements, module.name(value.name), Record::Statistics(statistics));
    }
    observation
}
