//! Measures what a simulation costs before and after its parameters are quantized, on one thread, compared with the
//! float model. The model is MobileNetV2 with random weights. `cargo bench -p strait-tests` prints milliseconds per
//! image, the best of several runs.
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
    let text = format!(
        "strait 1 float\ngraph @main(%x: f32[1,3,224,224]) {{\n{}  return %{x}\n}}\n{}",
        model.nodes, model.data
    );
    parse(&text).unwrap()
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

fn main() {
    let float = mobilenet_v2();
    let sample = inputs(&float, 1, 1.0);
    let target = target("generic-int8").unwrap();
    let samples = InMemory(vec![sample.clone()]);
    let baked = integer_under(FusionPolicy::Exact, &float, "generic-int8", &samples)
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
    let plain = time(&float, &sample);
    let before = of(&annotated, Parameters::Reals);
    let after = of(&baked, Parameters::Reals);
    println!("float model                               {plain:8.2} ms");
    println!("simulation, parameters rounded in each run{before:8.2} ms");
    println!(
        "simulation, baked, as codes               {:8.2} ms",
        of(&baked, Parameters::Codes(Signs::Own))
    );
    println!("simulation, baked, as real numbers        {after:8.2} ms");
    println!("baking saves {:.0} %", 100.0 * (1.0 - after / before));
}
