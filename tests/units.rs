//! How the activations of a model are divided into units that share one type.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;

use strait_builtin as _;
use strait_compile::{
    Built, InMemory, Means, Model, Resolved, Silent,
    types::{Unit, float_units, units},
};
use strait_core::{NodeId, Switches, text::parse};
use strait_tests::numeric::inputs;
use strait_tests::passes::target;

/// A residual block, whose sum is pooled.
const RESIDUAL: &str = "strait 1 float
graph @main(%x: f32[1,4,8,8]) {
  %a: f32[1,4,8,8] = conv(%x, @w1) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0} name=\"one\"
  %b: f32[1,4,8,8] = relu(%a) name=\"clamp\"
  %c: f32[1,4,8,8] = conv(%b, @w2) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0} name=\"two\"
  %d: f32[1,4,8,8] = add(%b, %c) name=\"sum\"
  %e: f32[1,4,4,4] = max_pool(%d) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0} name=\"pool\"
  %f: f32[1,4,4,4] = conv(%e, @w3) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0} name=\"three\"
  return %f
}
data @w1: f32[4,4,3,3] = random 1
data @w2: f32[4,4,3,3] = random 2
data @w3: f32[4,4,3,3] = random 3
";

fn built() -> Built {
    let float = parse(RESIDUAL).unwrap_or_else(|error| panic!("{error}"));
    let target = target("generic-int8").unwrap();
    let samples = InMemory((0..2).map(|at| inputs(&float, at, 1.0)).collect());
    let model = Model::new(float, &Switches::default()).unwrap();
    let observed = model.observe(Arc::new(samples), Means::default(), &Silent).unwrap();
    let resolve = |_: &_| Ok::<_, strait_compile::CompileError>(Resolved::new(target.spec()));
    observed.compile(&target, resolve, &Silent).unwrap()
}

/// The names of the layers of each unit.
fn layers(built: &Built, units: &[Unit]) -> Vec<Vec<String>> {
    let module = &built.annotated;
    let name = |id: &NodeId| module.name(module.main().node(*id).unwrap().name).to_owned();
    units.iter().map(|unit| unit.nodes.iter().map(name).collect()).collect()
}

#[test]
fn all_readers_of_a_tensor_are_in_its_unit_with_all_that_they_read() {
    let (built, target) = (built(), target("generic-int8").unwrap());
    let found = units(&built.annotated, target.spec());
    let expected: [&[&str]; 4] = [&["one"], &["clamp", "two", "sum"], &["pool", "three"], &[]];
    assert_eq!(layers(&built, &found), expected);
    // Only the output of the model has no reader.
    let unread: Vec<usize> = found.iter().map(|unit| unit.unread.len()).collect();
    assert_eq!(unread, [0, 0, 0, 1]);
    let all: usize = found.iter().map(|unit| unit.values.len()).sum();
    let mut values: Vec<_> = found.iter().flat_map(|unit| &unit.values).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!((values.len(), all), (7, 7));
}

#[test]
fn the_layers_that_make_the_tensors_of_a_unit_have_to_run_in_float_too() {
    let (built, target) = (built(), target("generic-int8").unwrap());
    let found = float_units(&built.annotated, target.spec());
    let expected: [&[&str]; 4] = [
        &["one"],
        &["one", "clamp", "two", "sum"],
        &["sum", "pool", "three"],
        &["three"],
    ];
    assert_eq!(layers(&built, &found), expected);
}
