//! Tests averages over windows that have different numbers of elements. The expected sums and averages are computed
//! here one by one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_core::{Module, Op, ValueId};
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::{InMemory, Integer, integer};

/// Shape of the image.
const IMAGE: [usize; 4] = [1, 3, 7, 6];

/// Size, stride, padding, dilation, whether the output size is rounded up, and whether padding counts. Then the
/// expected output size and divisors.
struct Pool {
    size: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 4],
    dilation: [usize; 2],
    ceil: bool,
    counted: bool,
    result: [usize; 2],
    divisors: &'static [usize],
}

const POOLS: [Pool; 5] = [
    Pool {
        size: [3, 3],
        stride: [1, 1],
        pad: [1, 1, 1, 1],
        dilation: [1, 1],
        ceil: false,
        counted: false,
        result: [7, 6],
        divisors: &[4, 6, 9],
    },
    Pool {
        size: [3, 2],
        stride: [2, 2],
        pad: [0, 0, 0, 0],
        dilation: [1, 1],
        ceil: true,
        counted: true,
        result: [3, 3],
        divisors: &[6],
    },
    Pool {
        size: [2, 4],
        stride: [2, 3],
        pad: [0, 1, 1, 1],
        dilation: [1, 1],
        ceil: true,
        counted: true,
        result: [4, 3],
        divisors: &[4, 8],
    },
    Pool {
        size: [2, 4],
        stride: [2, 3],
        pad: [0, 1, 1, 1],
        dilation: [1, 1],
        ceil: true,
        counted: false,
        result: [4, 3],
        divisors: &[1, 2, 3, 4, 6, 8],
    },
    Pool {
        size: [3, 2],
        stride: [1, 2],
        pad: [1, 0, 2, 1],
        dilation: [2, 1],
        ceil: false,
        counted: false,
        result: [6, 3],
        divisors: &[4, 6],
    },
];

impl Pool {
    fn text(&self) -> String {
        let list = |list: &[usize]| format!("{list:?}").replace(' ', "");
        format!(
            "average_pool(%x) {{size={}, stride={}, pad={}, dilation={}, ceil={}, count_include_pad={}}}",
            list(&self.size),
            list(&self.stride),
            list(&self.pad),
            list(&self.dilation),
            u8::from(self.ceil),
            u8::from(self.counted)
        )
    }

    /// The elements of the window at a position, by their indices in the image, and how many of its taps count.
    fn window(&self, at: [usize; 2]) -> (Vec<[usize; 2]>, usize) {
        let (mut inside, mut counted) = (Vec::new(), 0);
        for tap in (0..self.size[0]).flat_map(|y| (0..self.size[1]).map(move |x| [y, x])) {
            let from = [0, 1].map(|a| at[a] * self.stride[a] + tap[a] * self.dilation[a]);
            let is_element = |a: usize| (self.pad[a]..self.pad[a] + IMAGE[a + 2]).contains(&from[a]);
            if is_element(0) && is_element(1) {
                inside.push([0, 1].map(|a| from[a] - self.pad[a]));
                counted += 1;
            } else if self.counted && (0..2).all(|a| from[a] < self.pad[a] + IMAGE[a + 2] + self.pad[a + 2]) {
                counted += 1;
            }
        }
        (inside, counted)
    }
}

fn sample(seed: u64, scale: f32) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let mut real = || ((random.next_u64() >> 40) as f32 / 8_388_608.0 - 0.6) * scale;
    let reals: Vec<f32> = (0..IMAGE.iter().product()).map(|_| real()).collect();
    vec![Tensor::from_values(&IMAGE, &reals).unwrap()]
}

/// The integers of every value in the lowered graph.
fn values(integer: &Integer, inputs: &[Tensor]) -> (Vec<Tensor>, BTreeMap<ValueId, Vec<i64>>) {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut found = BTreeMap::new();
    let mut observe = |id, tensor: TensorView<'_>| {
        found.insert(id, tensor.to_tensor().to_data().unwrap().to_i64().unwrap_or_default());
    };
    let outputs = reference::run(&integer.module, integer.lowered, &views, &mut observe).unwrap();
    (outputs, found)
}

fn same_by_every_plan(integer: &Integer, inputs: &[Tensor], expected: &[Tensor], case: &str) {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    for (graph, isa) in [integer.lowered, integer.module.main]
        .into_iter()
        .flat_map(|g| Isa::available().map(move |isa| (g, isa)))
    {
        for threads in [1, 2] {
            let context = Context::with_isa(isa);
            let plan = Plan::new(
                &integer.module,
                graph,
                &PlanOptions {
                    context,
                    ..PlanOptions::default()
                },
            )
            .unwrap();
            let threads = Threads::new(NonZeroUsize::new(threads).unwrap());
            let found = plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap();
            assert!(found == expected, "{case}: {} on {graph:?}", isa.name());
        }
    }
}

/// Compares the requantized sums of a pool with the averages of the codes, position by position.
fn check(pool: &Pool, integer: &Integer, found: &BTreeMap<ValueId, Vec<i64>>, case: &str) {
    let module: &Module = &integer.module;
    let graph = module.graph(integer.lowered).unwrap();
    let (_, sum) = graph
        .nodes()
        .find(|(_, node)| matches!(node.op, Op::SumPool(_)))
        .unwrap_or_else(|| panic!("{case}: no pool"));
    let (_, narrow) = graph
        .nodes()
        .find(|(_, node)| {
            matches!(node.op, Op::Requantize(_))
                && graph.value(node.outputs[0]).unwrap().ty.shape == graph.value(sum.outputs[0]).unwrap().ty.shape
        })
        .unwrap();
    let Op::Requantize(requantize) = &narrow.op else {
        panic!()
    };
    let grid = |id: ValueId| graph.value(id).unwrap().quant.as_ref().unwrap().as_tensor().unwrap();
    let x = sum.inputs[0].unwrap();
    let ((x_scale, x_zero), (y_scale, y_zero)) = (grid(x), grid(narrow.outputs[0]));
    let picks = narrow
        .picked_channels()
        .map(|id| module.constant(graph, id).unwrap().to_i64().unwrap());
    assert_eq!(picks.is_some(), pool.divisors.len() > 1, "{case}");
    let taps = (pool.size[0] * pool.size[1]) as i64;
    let [rows, columns] = pool.result;
    for index in 0..IMAGE[1] * rows * columns {
        let (channel, position) = (index / (rows * columns), index % (rows * columns));
        let (inside, n) = pool.window([position / columns, position % columns]);
        let code = |[row, column]: [usize; 2]| found[&x][(channel * IMAGE[2] + row) * IMAGE[3] + column];
        let sum_of_codes: i64 = inside.iter().map(|&at| code(at)).sum();
        let padded = (taps - inside.len() as i64) * i64::from(x_zero);
        assert_eq!(found[&sum.outputs[0]][index], sum_of_codes + padded, "{case}, {index}");
        // The form with the divisor of this position. Its input is the sum, or the sum minus its zero point.
        let own = picks.as_ref().map_or(0, |picks| picks[position] as usize);
        let of = pool.divisors.iter().position(|&divisor| divisor == n);
        assert_eq!(Some(own), of, "{case}, {index}: {n} elements count");
        let reaches = found[&narrow.inputs[0].unwrap()][index];
        let result = found[&narrow.outputs[0]][index];
        assert_eq!(
            i64::from(requantize.form.eval(own, reaches).unwrap()),
            result,
            "{case}, {index}"
        );
        let centred = sum_of_codes - inside.len() as i64 * i64::from(x_zero);
        let mean = f64::from(x_scale) * centred as f64 / n as f64;
        let ideal = (mean / f64::from(y_scale) + f64::from(y_zero)).clamp(-128.0, 127.0);
        assert!(
            (ideal - result as f64).abs() < 1.0,
            "{case}, {index}: {result} for {ideal}"
        );
    }
}

#[test]
fn every_position_is_the_form_of_its_divisor_and_beside_the_real_mean() {
    for pool in &POOLS {
        let ([rows, columns], text) = (pool.result, pool.text());
        // The product makes sure that the pool reads codes, even if a target has float values between its layers.
        let text = format!(
            "strait 1 float graph @main(%x: f32[1,3,7,6]) {{
               %y: f32[1,3,{rows},{columns}] = {text}
               %z: f32[1,2,{rows},{columns}] = conv(%y, @w) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               return %z }} data @w: f32[2,3,1,1] = random 4"
        );
        let float = parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        let samples = InMemory((0..3).map(|seed| sample(seed, 1.0)).collect());
        for target in [
            "filetests/tables/every-form.toml",
            "../configs/targets/acme-npu2.toml",
            "ascend",
        ] {
            // Other targets have no pools with dilation, and one of them does not count padding.
            let taken = pool.dilation == [1, 1] && !(pool.counted && target.contains("acme"));
            if !taken && !target.contains("every-form") {
                continue;
            }
            let case = format!("{target}: {text}");
            let integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{case}: {error}"));
            for inputs in [&samples.0[0], &sample(9, 50.0)] {
                let (outputs, found) = values(&integer, inputs);
                check(pool, &integer, &found, &case);
                same_by_every_plan(&integer, inputs, &outputs, &case);
            }
            // The pool only takes the requantization if the zero point need not be subtracted from the sum first.
            let main = integer.module.main();
            let fused = main
                .nodes()
                .any(|(_, node)| matches!(node.op, Op::SumPool(_)) && node.fused.is_some());
            assert_eq!(fused, target.contains("every-form"), "{case}");
        }
    }
}
