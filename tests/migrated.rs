//! Scale that is moved between layers before a model is quantized.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::num::NonZeroUsize;
use std::sync::Arc;
use strait_builtin as _;
use strait_compile::{
    Algorithms, Built, Cut, InMemory, Means, MigratedModel, Model, Optimising, Resolved, Silent, Task, build, hold,
};
use strait_core::text::{PrintOptions, parse, print};
use strait_core::{Module, Switches, TensorData};
use strait_execute::{Limits, Plan, PlanOptions, Tensor, Threads, Workspace};
use strait_target::spec::WeightPer;
use strait_tests::numeric::inputs;
use strait_tests::passes::target;
use strait_verify::Ranges;

const EQUALIZE: Algorithms = Algorithms {
    equalize: true,
    ..NOTHING
};
const SMOOTH: Algorithms = Algorithms {
    smooth: true,
    ..NOTHING
};
const NOTHING: Algorithms = Algorithms {
    correct_bias: false,
    round: false,
    repair: false,
    ranges: false,
    smooth: false,
    equalize: false,
};

/// Convolutions with a residual addition and a depthwise convolution.
const CONVOLUTIONS: &str = "strait 1 float
graph @main(%x: f32[1,3,8,8]) {
  %a: f32[1,8,8,8] = conv(%x, @w1, @b1) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
  %b: f32[1,8,8,8] = relu(%a)
  %c: f32[1,8,8,8] = conv(%b, @w2, @b2) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=8, pad_value=0}
  %d: f32[1,8,8,8] = relu(%c)
  %e: f32[1,8,8,8] = conv(%d, @w3, @b3) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
  %f: f32[1,512] = reshape(%e) {shape=[1,512]}
  %g: f32[1,10] = gemm(%f, @w4) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %g
}
data @w1: f32[8,3,3,3] = random 1
data @b1: f32[8] = random 2
data @w2: f32[8,1,3,3] = random 3
data @b2: f32[8] = random 4
data @w3: f32[8,8,3,3] = random 5
data @b3: f32[8] = random 6
data @w4: f32[10,512] = random 7
";

/// A normalization in front of two products, of which the first one is behind a residual addition.
const PRODUCTS: &str = "strait 1 float
graph @main(%x: f32[1,16,32]) {
  %n: f32[1,16,32] = layer_normalization(%x, @g, @c) {axis=-1, epsilon=0.00001}
  %a: f32[1,16,32] = gemm(%n, @w1, @b1) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %s: f32[1,16,32] = RESIDUAL
  %m: f32[1,16,32] = layer_normalization(%s, @g2, @c2) {axis=-1, epsilon=0.00001}
  %y: f32[1,16,12] = gemm(%m, @w2, @b2) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %y
}
data @g: f32[32] = random 1
data @c: f32[32] = random 2
data @w1: f32[32,32] = random 3
data @b1: f32[32] = random 4
data @g2: f32[32] = random 5
data @c2: f32[32] = random 6
data @w2: f32[12,32] = random 7
data @b2: f32[12] = random 8
";

/// Multiplies the elements of the constants of some nodes, each given as the result of the node, the operand, the axis and a
/// power of the factors. The factors of channel c are 4^(c mod 5 − 2).
fn plant(text: &str, constants: &[(&str, usize, usize, i32)]) -> Module {
    let mut module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for &(result, operand, axis, power) in constants {
        let graph = module.main();
        let found = graph.nodes().find(|(_, node)| {
            let value = node.result().and_then(|result| graph.value(result));
            value.is_some_and(|value| module.name(value.name) == result)
        });
        let data = graph.data_of(found.unwrap().1.input(operand).unwrap()).unwrap();
        let tensor = module.data(data).unwrap().clone();
        let inner: u64 = tensor.shape()[axis + 1..].iter().product();
        let mut numbers = tensor.to_f32().unwrap().into_owned();
        let channels = if result == "g" { 8 } else { tensor.shape()[axis] };
        let each = inner * (tensor.shape()[axis] / channels);
        for (at, number) in numbers.iter_mut().enumerate() {
            let channel = at as u64 / each % channels;
            *number *= 4f32.powi((channel % 5) as i32 - 2).powi(power);
        }
        assert!(module.replace_data(data, TensorData::from_values(tensor.shape(), &numbers).unwrap()));
    }
    module
}

fn built(float: &Module, name: &str, per: Option<WeightPer>, algorithms: Algorithms, threads: usize) -> Built {
    let samples = InMemory((0..32).map(|at| inputs(float, 77 + at, 1.0)).collect());
    let target = target(name).unwrap();
    let model = Model::new(float.clone(), &Switches::default()).unwrap();
    let observed = model
        .observe(Arc::new(samples.clone()), Means::default(), &Silent)
        .unwrap();
    let mut resolved = Resolved::new(target.spec());
    resolved.settings.default.weights.per = per;
    let task = Task {
        float: &observed.model.module,
        bodies: &observed.model.bodies,
        observation: &observed.observation,
        target: &target,
        resolved: &resolved,
        ranges: &Ranges::default(),
        optimise: Some(Optimising {
            samples: &samples,
            algorithms,
        }),
        on_copy: None,
        random_inputs: 1,
        is_revised: true,
        limits: Limits::default(),
        threads: NonZeroUsize::new(threads).unwrap(),
    };
    let before = text(&observed.model.module);
    let mut built = build(&task, &Silent).unwrap();
    assert_eq!(before, text(&observed.model.module));
    hold(&task, &mut built, &Silent).unwrap();
    built
}

fn text(module: &Module) -> String {
    let all = PrintOptions {
        inline_limit: usize::MAX,
        ..PrintOptions::default()
    };
    print(module, &all)
}

fn moved(built: &Built) -> &MigratedModel {
    built.optimised.as_ref().unwrap().migration.as_ref().unwrap()
}

/// The mean squared error of the simulated model, over samples that nobody has seen, divided by the power of the outputs.
fn error(float: &Module, built: &Built) -> f64 {
    let simulated = strait_lower::simulate(&built.annotated, None, strait_lower::Parameters::Reals).unwrap();
    let (mut noise, mut power) = (0.0, 0.0);
    for seed in 0..16 {
        let sample = inputs(float, 5000 + seed, 1.0);
        let run = |module: &Module| -> Vec<f32> {
            let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
            let views: Vec<_> = sample.iter().map(Tensor::view).collect();
            let outputs = plan.run(&mut Workspace::new(&plan, &Threads::one()), &views).unwrap();
            outputs[0].values::<f32>().unwrap().to_vec()
        };
        for (exact, made) in run(float).into_iter().zip(run(&simulated)) {
            noise += f64::from(made - exact).powi(2);
            power += f64::from(exact).powi(2);
        }
    }
    noise / power
}

/// Convolutions whose channels differ by factors up to 256, in the weights and in what they make.
fn spread() -> Module {
    let plants = [
        ("a", 1, 0, 1),
        ("a", 2, 0, 1),
        ("c", 1, 0, -1),
        ("e", 1, 0, 1),
        ("e", 2, 0, 1),
        ("g", 1, 1, -1),
    ];
    plant(CONVOLUTIONS, &plants)
}

#[test]
fn equalized_weights_with_one_scale_are_as_good_as_weights_with_a_scale_for_each_channel() {
    let float = spread();
    let [plain, per_channel, equalized] = [
        (WeightPer::Tensor, NOTHING),
        (WeightPer::Channel, NOTHING),
        (WeightPer::Tensor, EQUALIZE),
    ]
    .map(|(per, how)| built(&float, "generic-int8", Some(per), how, 1));
    let errors = [&plain, &per_channel, &equalized].map(|built| error(&float, built));
    assert!(errors[2] < 0.1 * errors[0] && errors[2] < 1.2 * errors[1], "{errors:?}");
    assert!(!moved(&equalized).kept.is_empty());
}

#[test]
fn a_normalization_takes_up_the_outliers_of_channels() {
    let text = PRODUCTS.replace("RESIDUAL", "add(%a, %x)");
    let float = plant(
        &text,
        &[
            ("n", 1, 0, 1),
            ("n", 2, 0, 1),
            ("a", 1, 1, -1),
            ("m", 1, 0, 1),
            ("m", 2, 0, 1),
            ("y", 1, 1, -1),
        ],
    );
    for name in ["generic-int8", "ascend"] {
        let [plain, smoothed] = [NOTHING, SMOOTH].map(|how| built(&float, name, None, how, 1));
        let errors = [&plain, &smoothed].map(|built| error(&float, built));
        assert!(errors[1] < 0.5 * errors[0], "{name}: {errors:?}");
        let pairs: Vec<_> = moved(&smoothed).pairs().filter(|pair| pair.cut.is_none()).collect();
        assert_eq!(pairs.len(), 2, "{name}");
        assert!(
            pairs
                .iter()
                .all(|pair| pair.makers.len() == 1 && pair.readers.len() == 1)
        );
    }
}

#[test]
fn a_normalization_with_another_reader_gets_a_multiplication_or_a_second_one() {
    let text = PRODUCTS.replace("RESIDUAL", "add(%a, %n)");
    let float = plant(&text, &[("n", 1, 0, 1), ("n", 2, 0, 1), ("a", 1, 1, -1)]);
    // Ascend's vector unit computes normalizations in float.
    for (name, multiplies) in [("generic-int8", false), ("ascend", true)] {
        let [plain, smoothed] = [NOTHING, SMOOTH].map(|how| built(&float, name, None, how, 1));
        let errors = [&plain, &smoothed].map(|built| error(&float, built));
        assert!(errors[1] < 0.9 * errors[0], "{name}: {errors:?}");
        let is_own = |cut: &Cut| match multiplies {
            true => matches!(cut, Cut::Before(_)),
            false => matches!(cut, Cut::Beside(_)),
        };
        let mut cuts = moved(&smoothed).pairs().filter_map(|pair| pair.cut);
        assert!(cuts.any(|cut| is_own(&cut)), "{name}");
        let copy = smoothed.migrated().unwrap();
        assert!(copy.balance.values().any(|balance| balance.input.len() == 32));
        assert_eq!(
            copy.float.main().nodes().count(),
            smoothed.annotated.main().nodes().count()
        );
    }
}

#[test]
fn a_function_in_front_of_a_product_on_codes_says_why_there_are_no_factors() {
    let normalization = "layer_normalization(%x, @g, @c) {axis=-1, epsilon=0.00001}";
    let text = PRODUCTS.replace("RESIDUAL", "add(%a, %n)");
    let text = text.replacen(normalization, "unary(%x) {function=tanh}", 1);
    let text = text.replace("data @g: f32[32] = random 1\ndata @c: f32[32] = random 2\n", "");
    let smoothed = built(&parse(&text).unwrap(), "generic-int8", None, SMOOTH, 1);
    let why: Vec<&str> = moved(&smoothed).found.untouched.values().map(String::as_str).collect();
    assert!(
        why.contains(&"nothing before it can take up a factor for each channel"),
        "{why:?}"
    );
}

#[test]
fn nothing_depends_on_the_number_of_threads() {
    let float = spread();
    let all = Algorithms {
        smooth: true,
        correct_bias: true,
        ..EQUALIZE
    };
    for name in ["generic-int8", "sima", "ascend"] {
        let models = [1, 3].map(|threads| built(&float, name, Some(WeightPer::Tensor), all, threads));
        let texts = models.each_ref().map(|built| text(&built.module));
        assert!(texts[0] == texts[1], "{name}");
    }
}
