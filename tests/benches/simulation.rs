//! Measures what a simulation costs before and after its parameters are quantized, on one thread, compared with the
//! float model: for single layers with a bias, and for MobileNetV2, all with random weights. `cargo bench -p strait-tests`
//! prints milliseconds, the best of several runs.
#![allow(clippy::unwrap_used, reason = "it serves nobody but its reader")]

use std::fmt::Write;
use std::time::Instant;
use strait_core::text::parse;
use strait_core::{Module, Move};
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace};
use strait_lower::{FusionPolicy, Parameters, Signs, simulate};
use strait_tests::integer::{InMemory, integer_under};
use strait_tests::numeric::inputs;
use strait_tests::passes::target;

/// Expansion, channels, blocks and first stride of each stage: Sandler et al. (2018), MobileNetV2, table 2.
const STAGES: [[usize; 4]; 7] = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
];

#[derive(Default)]
struct Model {
    nodes: String,
    data: String,
    count: usize,
}

impl Model {
    fn node(&mut self, shape: [usize; 3], text: &str) -> String {
        let (name, [c, h, w]) = (format!("v{}", self.count), shape);
        writeln!(self.nodes, "  %{name}: f32[1,{c},{h},{w}] = {text}").unwrap();
        self.count += 1;
        name
    }

    /// A convolution with its bias, followed by ReLU6.
    fn conv(
        &mut self,
        x: &str,
        [channels, size]: [usize; 2],
        [out, kernel, stride, groups]: [usize; 4],
        clip: bool,
    ) -> String {
        let (n, pad, after) = (self.count, kernel / 2, size / stride);
        let inner = channels / groups;
        writeln!(
            self.data,
            "data @w{n}: f32[{out},{inner},{kernel},{kernel}] = random {n}"
        )
        .unwrap();
        writeln!(self.data, "data @b{n}: f32[{out}] = random {}", n + 1000).unwrap();
        let shape = [out, after, after];
        let last = pad - usize::from(stride == 2);
        let y = self.node(
            shape,
            &format!(
                "conv(%{x}, @w{n}, @b{n}) {{stride=[{stride},{stride}], pad=[{pad},{pad},{last},{last}], dilation=[1,1], \
                 groups={groups}, pad_value=0}}"
            ),
        );
        if clip {
            self.node(shape, &format!("clip(%{y}) {{min=0.0, max=6.0}}"))
        } else {
            y
        }
    }

    /// The module whose output is the value `result`, for an input of `channels` channels and `size` rows and columns.
    fn parsed(&self, result: &str, [channels, size]: [usize; 2]) -> Module {
        let text = format!(
            "strait 1 float\ngraph @main(%x: f32[1,{channels},{size},{size}]) {{\n{}  return %{result}\n}}\n{}",
            self.nodes, self.data
        );
        parse(&text).unwrap()
    }
}

fn mobilenet_v2() -> Module {
    let mut model = Model::default();
    let mut x = model.conv("x", [3, 224], [32, 3, 2, 1], true);
    let (mut channels, mut size) = (32, 112);
    for [expansion, out, blocks, first] in STAGES {
        for block in 0..blocks {
            let (stride, wide) = (if block == 0 { first } else { 1 }, channels * expansion);
            let before = x.clone();
            if expansion > 1 {
                x = model.conv(&x, [channels, size], [wide, 1, 1, 1], true);
            }
            x = model.conv(&x, [wide, size], [wide, 3, stride, wide], true);
            size /= stride;
            x = model.conv(&x, [wide, size], [out, 1, 1, 1], false);
            if block > 0 {
                x = model.node([out, size, size], &format!("add(%{before}, %{x})"));
            }
            channels = out;
        }
    }
    x = model.conv(&x, [channels, size], [1280, 1, 1, 1], true);
    x = model.node([1280, 1, 1], &format!("global_average_pool(%{x})"));
    x = model.conv(&x, [1280, 1], [1000, 1, 1, 1], false);
    model.parsed(&x, [3, 224])
}

/// Milliseconds of the fastest of several runs.
fn time(module: &Module, inputs: &[Tensor]) -> f64 {
    let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
    let mut space = Workspace::new(&plan, &Threads::one());
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let run = |_| {
        let start = Instant::now();
        plan.run(&mut space, &views).unwrap();
        1000.0 * start.elapsed().as_secs_f64()
    };
    (0..8).map(run).fold(f64::INFINITY, f64::min)
}

/// A model of a single layer: a convolution with a bias, from `[channels, size]` to `[out, kernel, stride, groups]`.
fn convolution(input: [usize; 2], layer: [usize; 4]) -> Module {
    let mut model = Model::default();
    let x = model.conv("x", input, layer, false);
    model.parsed(&x, input)
}

/// A model of a single layer: a fully connected one with a bias.
fn connected(rows: usize, inner: usize, out: usize) -> Module {
    let attributes = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    let text = format!(
        "strait 1 float\ngraph @main(%x: f32[{rows},{inner}]) {{\n  %y: f32[{rows},{out}] = gemm(%x, @w, @b) {attributes}\n  \
         return %y\n}}\ndata @w: f32[{out},{inner}] = random 1\ndata @b: f32[{out}] = random 2\n"
    );
    parse(&text).unwrap()
}

/// Milliseconds: of the float model, of the simulation that rounds its parameters in each run, and of the simulations whose
/// parameters are baked, as codes and as real numbers.
struct Times {
    float: f64,
    rounded: f64,
    codes: f64,
    baked: f64,
}

impl Times {
    fn of(float: &Module) -> Times {
        let sample = inputs(float, 1, 1.0);
        let target = target("generic-int8").unwrap();
        let samples = InMemory(vec![sample.clone()]);
        let baked = integer_under(FusionPolicy::Exact, float, "generic-int8", &samples)
            .unwrap()
            .annotated;
        let mut annotated = baked.clone();
        let table = &mut annotated.main_mut().quant;
        let ids: Vec<_> = table.iter().map(|(id, _)| id).collect();
        for id in ids {
            // Configs of other values have nothing to undo.
            let _ = table.transition(id, Move::Unbake);
        }
        let of = |module: &Module, form| time(&simulate(module, Some(target.spec()), form).unwrap(), &sample);
        Times {
            float: time(float, &sample),
            rounded: of(&annotated, Parameters::Reals),
            codes: of(&baked, Parameters::Codes(Signs::Own)),
            baked: of(&baked, Parameters::Reals),
        }
    }

    fn print(&self, name: &str) {
        let Times {
            float,
            rounded,
            codes,
            baked,
        } = self;
        let saved = 100.0 * (1.0 - baked / rounded);
        println!("{name:36} {float:8.3} {rounded:8.3} {codes:8.3} {baked:8.3} {saved:6.0} %");
    }
}

fn main() {
    println!("ms of one run on one thread             float  rounded    codes    baked   saved");
    for (inner, out) in [(1280, 1000), (2048, 1000), (768, 3072)] {
        Times::of(&connected(1, inner, out)).print(&format!("gemm {inner} to {out}, 1 row"));
    }
    Times::of(&connected(197, 192, 768)).print("gemm 192 to 768, 197 rows");
    for (input, layer) in [
        ([960, 7], [320, 1, 1, 1]),
        ([512, 7], [512, 3, 1, 1]),
        ([576, 14], [96, 1, 1, 1]),
        ([256, 14], [256, 3, 1, 1]),
        ([576, 14], [576, 3, 1, 576]),
        ([64, 56], [64, 3, 1, 1]),
        ([64, 56], [256, 1, 1, 1]),
    ] {
        let ([channels, size], [out, kernel, _, groups]) = (input, layer);
        let kind = if groups > 1 { ", depthwise" } else { "" };
        let name = format!("conv {kernel}x{kernel} {channels} to {out} at {size}{kind}");
        Times::of(&convolution(input, layer)).print(&name);
    }
    Times::of(&mobilenet_v2()).print("MobileNetV2");
}
