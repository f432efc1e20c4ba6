//! Tests that a copy with factors computes what the model computes, and that reasons are told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use super::apply::{Factors, apply};
use super::seams::{pinned, seams};
use super::walk::{Cut, Walk};
use std::collections::BTreeSet;
use strait_core::{Module, text::parse};
use strait_execute::{Plan, PlanOptions, Tensor, Threads, Workspace};

const GEMM: &str = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
const CONV: &str = "{stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}";

fn module(inputs: &str, nodes: &str, output: &str, data: &[(&str, &str)]) -> Module {
    let constants = data.iter().enumerate();
    let constants = constants.map(|(at, (name, shape))| format!("data @{name}: f32[{shape}] = random {}\n", at + 1));
    let nodes = nodes.replace("CONV", CONV).replace("GEMM", GEMM);
    let text = format!(
        "strait 1 float\ngraph @main({inputs}) {{\n{nodes}\n  return {output}\n}}\n{}",
        constants.collect::<String>()
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Two convolutions with a residual addition, a depthwise one, a pool, and a matrix product behind a flattened tensor.
fn network() -> Module {
    module(
        "%x: f32[1,3,6,6]",
        "  %a: f32[1,4,6,6] = conv(%x, @w1, @b1) CONV
  %r: f32[1,4,6,6] = relu(%a)
  %b: f32[1,4,6,6] = conv(%r, @w2, @b2) CONV
  %s: f32[1,4,6,6] = add(%b, %r)
  %d: f32[1,4,6,6] = conv(%s, @w3, @b3) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=4, pad_value=0}
  %l: f32[1,4,6,6] = leaky_relu(%d) {alpha=0.1}
  %p: f32[1,4,3,3] = max_pool(%l) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0}
  %f: f32[1,36] = reshape(%p) {shape=[1,36]}
  %g: f32[1,5] = gemm(%f, @w4, @b4) GEMM",
        "%g",
        &[
            ("w1", "4,3,3,3"),
            ("b1", "4"),
            ("w2", "4,4,3,3"),
            ("b2", "4"),
            ("w3", "4,1,3,3"),
            ("b3", "4"),
            ("w4", "5,36"),
            ("b4", "5"),
        ],
    )
}

/// A block of a transformer: a normalization, the values of two heads, and a gated product.
fn block() -> Module {
    module(
        "%x: f32[1,5,8]",
        "  %n: f32[1,5,8] = layer_normalization(%x, @g, @c) {axis=-1, epsilon=0.00001}
  %q: f32[1,5,8] = gemm(%n, @wq, @bq) GEMM
  %v: f32[1,5,8] = gemm(%n, @wv, @bv) GEMM
  %qh: f32[1,5,2,4] = reshape(%q) {shape=[1,5,2,4]}
  %vh: f32[1,5,2,4] = reshape(%v) {shape=[1,5,2,4]}
  %qt: f32[1,2,5,4] = transpose(%qh) {permutation=[0,2,1,3]}
  %vt: f32[1,2,5,4] = transpose(%vh) {permutation=[0,2,1,3]}
  %kt: f32[1,2,4,5] = transpose(%qh) {permutation=[0,2,3,1]}
  %a: f32[1,2,5,5] = matmul(%qt, %kt) {a_zero=0, b_zero=0}
  %p: f32[1,2,5,5] = softmax(%a) {axis=-1}
  %o: f32[1,2,5,4] = matmul(%p, %vt) {a_zero=0, b_zero=0}
  %ot: f32[1,5,2,4] = transpose(%o) {permutation=[0,2,1,3]}
  %of: f32[1,5,8] = reshape(%ot) {shape=[1,5,8]}
  %y: f32[1,5,8] = gemm(%of, @wo, @bo) GEMM
  %z: f32[1,5,8] = add(%y, %x)
  %m: f32[1,5,8] = layer_normalization(%z, @g2, @c2) {axis=-1, epsilon=0.00001}
  %u: f32[1,5,12] = gemm(%m, @wu) GEMM
  %t: f32[1,5,12] = gemm(%m, @wt) GEMM
  %ts: f32[1,5,12] = unary(%t) {function=sigmoid}
  %h: f32[1,5,12] = mul(%u, %ts) {a_zero=0, b_zero=0}
  %e: f32[1,5,8] = gemm(%h, @wd) GEMM
  %s: f32[1,5,8] = add(%e, %m)",
        "%s",
        &[
            ("g", "8"),
            ("c", "8"),
            ("wq", "8,8"),
            ("bq", "8"),
            ("wv", "8,8"),
            ("bv", "8"),
            ("wo", "8,8"),
            ("bo", "8"),
            ("g2", "8"),
            ("c2", "8"),
            ("wu", "12,8"),
            ("wt", "12,8"),
            ("wd", "8,12"),
        ],
    )
}

fn value(module: &Module, name: &str) -> strait_core::ValueId {
    let mut values = module.main().values();
    let found = values.find(|(_, value)| module.name(value.name) == name);
    found.unwrap_or_else(|| panic!("no {name}")).0
}

fn run(module: &Module) -> Vec<f32> {
    let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
    let input = module.main().value(module.main().inputs()[0]).unwrap();
    let shape: Vec<usize> = input.ty.dims().unwrap().iter().map(|&extent| extent as usize).collect();
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count)
        .map(|at| ((at * 7 + at / 5) % 13) as f32 * 0.3 - 1.7)
        .collect();
    let tensor = Tensor::from_values(&shape, &numbers).unwrap();
    let outputs = plan.run(&mut Workspace::new(&plan, &Threads::one()), &[tensor.view()]);
    outputs.unwrap()[0].values::<f32>().unwrap().to_vec()
}

/// Gives all seams factors between 1/20 and 20. Returns the number of seams and of inserted multiplications.
fn check(module: &Module, cuts: &[Cut]) -> (usize, usize) {
    let walk = Walk::new(module, &cuts.iter().copied().collect());
    let found = seams(&walk);
    let classes = found.iter().flat_map(|seam| &seam.classes);
    let all: Factors = classes
        .map(|&class| (class, (f64::from(class * 7 % 13) - 6.0).exp2() * 0.3125))
        .collect();
    let made = apply(module, &walk, &all).unwrap();
    strait_core::verifier::verify(&made.module).unwrap();
    let (before, after) = (run(module), run(&made.module));
    let scale = before.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    for (before, after) in before.iter().zip(&after) {
        assert!((before - after).abs() < 1e-4 * scale, "{before} became {after}");
    }
    // Ids and names of the model stay.
    for (id, node) in module.main().nodes() {
        let other = made.module.main().node(id).unwrap();
        assert_eq!(
            (module.name(node.name), &node.op),
            (made.module.name(other.name), &other.op)
        );
    }
    (found.len(), made.inserted.len())
}

#[test]
fn a_copy_with_factors_computes_the_same() {
    // The residual group of %r, %b and %s, and what the depthwise convolution makes.
    assert_eq!(check(&network(), &[]), (2, 0));
    // Normalization to q and v, v to the projection, and the gated product. The second normalization has another reader.
    assert_eq!(check(&block(), &[]), (3, 0));
}

#[test]
fn multiplications_are_put_in_where_they_are_wanted() {
    let block = block();
    let cuts = [Cut::Before(value(&block, "m")), Cut::Behind(value(&block, "e"))];
    assert_eq!(check(&block, &cuts), (5, 2));
    let walk = Walk::new(&block, &cuts.into_iter().collect());
    let all: Factors = seams(&walk)
        .iter()
        .flat_map(|seam| seam.classes.clone())
        .map(|class| (class, 2.0))
        .collect();
    let made = apply(&block, &walk, &all).unwrap();
    let graph = made.module.main();
    let mul = graph.node(made.inserted[&cuts[0]].0).unwrap();
    // Both products read the multiplication, and the addition reads the value itself.
    assert_eq!(graph.uses(mul.result().unwrap()).count(), 2);
    assert_eq!(graph.uses(value(&block, "m")).count(), 2);
    assert_eq!(made.balance.len(), 6);
}

#[test]
fn a_group_of_layers_joined_by_additions_shares_its_factors() {
    let network = network();
    let walk = Walk::new(&network, &BTreeSet::new());
    let roots = |name: &str| {
        let label = &walk.labels[&value(&network, name)];
        label
            .classes
            .iter()
            .map(|&class| walk.classes.root(class))
            .collect::<Vec<_>>()
    };
    assert_eq!(roots("r"), roots("s"));
    assert_eq!(roots("b"), roots("s"));
    assert_ne!(roots("d"), roots("s"));
    // Nine elements of each channel of the pool.
    let flat = roots("f");
    assert_eq!(
        (flat[0], flat[8], flat[9]),
        (roots("d")[0], roots("d")[0], roots("d")[1])
    );
}

#[test]
fn what_needs_its_operand_as_it_is_is_named() {
    let clipped = module(
        "%x: f32[1,3,6,6]",
        "  %a: f32[1,4,6,6] = conv(%x, @w1, @b1) CONV
  %r: f32[1,4,6,6] = clip(%a) {min=0.0, max=6.0}
  %b: f32[1,4,6,6] = conv(%r, @w2, @b2) CONV
  %z: f32[1,4,6,6] = relu(%b)
  %c: f32[1,4,6,6] = conv(%z, @w2, @b3) CONV
  %d: f32[1,4,6,6] = conv(%b, @w4) CONV
  %e: f32[1,4,6,6] = unary(%b) {function=sigmoid}
  %s: f32[1,4,6,6] = add(%c, %d)
  %t: f32[1,4,6,6] = add(%s, %e)",
        "%t",
        &[
            ("w1", "4,3,3,3"),
            ("b1", "4"),
            ("w2", "4,4,3,3"),
            ("b2", "4"),
            ("b3", "4"),
            ("w4", "4,4,3,3"),
        ],
    );
    let walk = Walk::new(&clipped, &BTreeSet::new());
    assert!(seams(&walk).is_empty());
    let left: Vec<&str> = walk.left.values().copied().collect();
    assert_eq!(left, ["its weights are no constant of its own"; 2]);
    let why: Vec<String> = pinned(&walk, clipped.main()).into_values().flatten().collect();
    assert_eq!(why[0], "it reads an input of the model");
    assert!(
        walk.labels[&value(&clipped, "a")]
            .classes
            .iter()
            .all(|&class| { walk.classes.pinned(class).unwrap().contains("at a bound other than 0") })
    );
    // The residual reader of a normalization.
    let block = block();
    let walk = Walk::new(&block, &BTreeSet::new());
    let why = pinned(&walk, block.main());
    let readers = block.main().uses(value(&block, "m")).map(|at| at.node);
    let why: Vec<&String> = readers.filter_map(|id| why.get(&id)?.as_ref()).collect();
    assert_eq!(why.len(), 2);
    assert!(why.iter().all(|why| why.contains("output of the model")), "{why:?}");
}

#[test]
fn a_second_normalization_leaves_the_first_one_as_it_is() {
    let block = block();
    let beside = Cut::Beside(value(&block, "m"));
    assert_eq!(check(&block, &[beside]), (4, 1));
    let walk = Walk::new(&block, &BTreeSet::from([beside]));
    let classes = seams(&walk).into_iter().flat_map(|seam| seam.classes);
    let made = apply(&block, &walk, &classes.map(|class| (class, 4.0)).collect()).unwrap();
    let (_, result) = made.inserted[&beside];
    let graph = made.module.main();
    let [first, second] = [value(&block, "m"), result].map(|value| graph.producer(value).unwrap().1);
    assert_eq!(first.op, second.op);
    let scales = [first, second].map(|node| {
        made.module
            .constant(graph, node.input(1).unwrap())
            .unwrap()
            .to_f32()
            .unwrap()
    });
    assert_eq!(scales[0][3], 4.0 * scales[1][3]);
    assert_eq!(graph.uses(result).count(), 2);
}
