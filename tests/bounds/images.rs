//! Random graphs of integer primitives on images with 8-bit codes.

use std::fmt::Write;
use strait_core::text::random::SplitMix64;

/// Channels, height and width; the batch size is one.
type Dims = [u64; 3];

/// The zero point of all values in these graphs.
const ZERO: i64 = -9;

/// Shape of the graph's inputs.
pub(crate) const INPUT: Dims = [2, 4, 5];

struct Maker {
    random: SplitMix64,
    nodes: String,
    data: String,
    /// The 8-bit values that have been made so far.
    values: Vec<(String, Dims)>,
    counter: usize,
}

/// A window that fits its operand.
struct Window {
    size: [u64; 2],
    attributes: String,
    result: [u64; 2],
}

impl Maker {
    fn below(&mut self, count: u64) -> u64 {
        (self.random.next_u64() >> 8) % count
    }

    fn fresh(&mut self, letter: char) -> String {
        self.counter += 1;
        format!("{letter}{}", self.counter)
    }

    fn pick(&mut self) -> (String, Dims) {
        let index = self.below(self.values.len() as u64) as usize;
        self.values[index].clone()
    }

    /// Two values of the same shape; twice the same value if there is no other.
    fn pair(&mut self) -> (String, String, Dims) {
        let (first, dims) = self.pick();
        let alike: Vec<String> = (self.values.iter().filter(|v| v.1 == dims))
            .map(|v| v.0.clone())
            .collect();
        let index = self.below(alike.len() as u64) as usize;
        (first, alike[index].clone(), dims)
    }

    fn codes(&mut self, text: &str, dims: Dims) {
        let (name, [c, h, w]) = (self.fresh('q'), dims);
        let _ = writeln!(
            self.nodes,
            "  %{name}: i8[1,{c},{h},{w}] scale=1.0 zero={ZERO} = {text}"
        );
        self.values.push((name, dims));
    }

    /// A sum, requantized to codes. Sometimes there is a clamp before that.
    fn sum(&mut self, text: &str, dims: Dims) {
        let (mut wide, [c, h, w]) = (self.fresh('a'), dims);
        let _ = writeln!(self.nodes, "  %{wide}: i32[1,{c},{h},{w}] scale=1.0 zero=0 = {text}");
        if self.below(4) == 0 {
            let (low, high) = (self.below(500) as i64 - 400, self.below(500) as i64 + 100);
            let clamped = self.fresh('a');
            let clamp = format!("clamp(%{wide}) {{min={low}, max={high}}}");
            let _ = writeln!(
                self.nodes,
                "  %{clamped}: i32[1,{c},{h},{w}] scale=1.0 zero=0 = {clamp}"
            );
            wide = clamped;
        }
        let shift = match self.below(2) {
            0 => self.below(8).to_string(),
            _ => format!("{:?}", (0..c).map(|_| self.below(8)).collect::<Vec<u64>>()),
        };
        let form = format!("arith_folded shift={shift} rounding=half_up out=i8");
        self.codes(&format!("requantize(%{wide}) {{form={{{form}}}, axis=1}}"), dims);
    }

    /// A sum, requantized with parameters that an operand picks for each position, or for each row.
    fn picked(&mut self, text: &str, dims: Dims) {
        let (wide, picks, [c, h, w]) = (self.fresh('a'), self.fresh('p'), dims);
        let _ = writeln!(self.nodes, "  %{wide}: i32[1,{c},{h},{w}] scale=1.0 zero=0 = {text}");
        let columns = if self.below(2) == 0 { w } else { 1 };
        let each: Vec<u64> = (0..h * columns).map(|_| self.below(3)).collect();
        let _ = writeln!(self.data, "data @{picks}: i32[{h},{columns}] = inline {each:?}");
        let shift: Vec<u64> = (0..3).map(|_| self.below(8)).collect();
        let form = format!("arith_folded shift={shift:?} rounding=half_up out=i8");
        self.codes(
            &format!("requantize(%{wide}, @{picks}) {{form={{{form}}}, axis=0}}"),
            dims,
        );
    }

    /// A random window with dilation, strides and uneven padding. A pool's window may reach beyond the image; its
    /// padding is narrower than the window. `None` if the window is too large.
    fn window(&mut self, [_, h, w]: Dims, is_pool: bool) -> Option<Window> {
        let two = |maker: &mut Maker, low: u64, high: u64| [0; 2].map(|_: u64| low + maker.below(high - low));
        let (size, stride, dilation) = (two(self, 1, 4), two(self, 1, 3), two(self, 1, 4));
        let (begin, end) = (two(self, 0, 4), two(self, 0, 4));
        let ceil = is_pool && self.below(2) == 0;
        let mut result = [0; 2];
        for (axis, extent) in [h, w].into_iter().enumerate() {
            let reach = (size[axis] - 1) * dilation[axis] + 1;
            if is_pool && begin[axis].max(end[axis]) >= reach {
                return None;
            }
            let room = (extent + begin[axis] + end[axis]).checked_sub(reach)?;
            let count = if ceil {
                room.div_ceil(stride[axis])
            } else {
                room / stride[axis]
            } + 1;
            // A window that would start behind the last element is dropped.
            let beyond = ceil && (count - 1) * stride[axis] >= extent + begin[axis];
            result[axis] = count - u64::from(beyond);
        }
        let pad = [begin, end].concat();
        let ceil = if is_pool {
            format!(", ceil={}", u8::from(ceil))
        } else {
            String::new()
        };
        let attributes = format!("stride={stride:?}, pad={pad:?}, dilation={dilation:?}{ceil}");
        (result.iter().all(|&extent| extent < 12)).then_some(Window {
            size,
            attributes,
            result,
        })
    }

    fn conv(&mut self) {
        let (x, dims) = self.pick();
        let Some(window) = self.window(dims, false) else { return };
        let (c, groups) = (dims[0], if self.below(2) == 0 { dims[0] } else { 1 });
        let outputs = if groups == 1 { 1 + self.below(3) } else { c };
        let [kh, kw] = window.size;
        let (weight, bias, seed) = (self.fresh('w'), self.fresh('b'), self.below(1 << 30));
        let inner = c / groups;
        let _ = writeln!(
            self.data,
            "data @{weight}: i8[{outputs},{inner},{kh},{kw}] = random {seed}"
        );
        let biases: Vec<i64> = (0..outputs).map(|_| self.below(4000) as i64 - 2000).collect();
        let _ = writeln!(self.data, "data @{bias}: i32[{outputs}] = inline {biases:?}");
        // Weights have no zero point, one for all outputs, or one for each.
        let zeros: Vec<i64> = (0..outputs).map(|_| self.below(256) as i64 - 128).collect();
        let weight_zero = match self.below(3) {
            0 => String::new(),
            1 => format!(", weight_zero={}", zeros[0]),
            _ => format!(", weight_zero={zeros:?}"),
        };
        let attributes = format!("{}, groups={groups}, pad_value={ZERO}{weight_zero}", window.attributes);
        let [h, w] = window.result;
        self.sum(
            &format!("conv(%{x}, @{weight}, @{bias}) {{{attributes}}}"),
            [outputs, h, w],
        );
    }

    fn pool(&mut self, kind: u64) {
        let (x, dims) = self.pick();
        let Some(window) = self.window(dims, true) else { return };
        let (attributes, [h, w]) = (format!("size={:?}, {}", window.size, window.attributes), window.result);
        let dims = [dims[0], h, w];
        match kind {
            0 => self.codes(&format!("max_pool(%{x}) {{{attributes}}}"), dims),
            1 => {
                let counted = self.below(2);
                let op = format!("average_pool(%{x}) {{{attributes}, count_include_pad={counted}}}");
                self.codes(&op, dims);
            }
            _ => {
                let op = format!("sum_pool(%{x}) {{{attributes}, pad_value={ZERO}}}");
                match self.below(2) {
                    0 => self.sum(&op, dims),
                    _ => self.picked(&op, dims),
                }
            }
        }
    }

    fn step(&mut self) {
        match self.below(13) {
            0..2 => self.conv(),
            2 => self.pool(0),
            3 => self.pool(1),
            4 => self.pool(2),
            5 => {
                let (x, dims) = self.pick();
                let (low, high) = (self.below(100) as i64 - 60, self.below(60) as i64 + 40);
                self.codes(&format!("clamp(%{x}) {{min={low}, max={high}}}"), dims);
            }
            6 => {
                let (a, b, dims) = self.pair();
                let op = if self.below(2) == 0 { "add" } else { "sub" };
                self.sum(&format!("{op}(%{a}, %{b})"), dims);
            }
            7 => {
                let (a, b, dims) = self.pair();
                self.sum(&format!("mul(%{a}, %{b}) {{a_zero={ZERO}, b_zero=3}}"), dims);
            }
            8 => {
                let (x, dims) = self.pick();
                let (vector, seed) = (self.fresh('v'), self.below(1 << 30));
                let _ = writeln!(self.data, "data @{vector}: i8[{},1,1] = random {seed}", dims[0]);
                self.sum(&format!("add(%{x}, @{vector})"), dims);
            }
            9 => {
                let (x, dims) = self.pick();
                let bits = self.below(4);
                self.sum(&format!("shift_left(%{x}) {{zero={ZERO}, bits={bits}}}"), dims);
            }
            10 => {
                let (x, dims) = self.pick();
                let (table, seed) = (self.fresh('t'), self.below(1 << 30));
                let _ = writeln!(self.data, "data @{table}: i8[256] = random {seed}");
                self.codes(&format!("lookup(%{x}, @{table})"), dims);
            }
            11 => {
                let (x, dims) = self.pick();
                let reduction = ["sum", "max", "min"][self.below(3) as usize];
                let reduce = format!("reduce(%{x}) {{reduction={reduction}, axes=[2,3], keep_dims=1}}");
                match reduction {
                    "sum" => self.sum(&reduce, [dims[0], 1, 1]),
                    _ => self.codes(&reduce, [dims[0], 1, 1]),
                }
            }
            _ => {
                let (x, [c, h, w]) = self.pick();
                self.codes(&format!("transpose(%{x}) {{permutation=[0,1,3,2]}}"), [c, w, h]);
                let turned = self.values.last().unwrap().0.clone();
                self.sum(
                    &format!("matmul(%{x}, %{turned}) {{a_zero={ZERO}, b_zero=0}}"),
                    [c, h, h],
                );
            }
        }
    }
}

pub(crate) fn graph(seed: u64) -> String {
    let mut maker = Maker {
        random: SplitMix64::new(seed),
        nodes: String::new(),
        data: String::new(),
        values: vec![("x".into(), INPUT)],
        counter: 0,
    };
    (0..12).for_each(|_| maker.step());
    let outputs: Vec<String> = maker
        .values
        .iter()
        .skip(1)
        .map(|(name, _)| format!("%{name}"))
        .collect();
    let [c, h, w] = INPUT;
    format!(
        "strait 1 integer\ngraph @main(%x: i8[1,{c},{h},{w}] scale=1.0 zero={ZERO}) {{\n{}  return {}\n}}\n{}",
        maker.nodes,
        outputs.join(", "),
        maker.data
    )
}
