//! Tests residual sums inside the accumulator. They are compared with sums of products that are computed here one by
//! one, and with real numbers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_core::{Graph, Module, Node, NodeId, Op, ValueId};
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::{InMemory, Integer, findings, integer};

const ACME: &str = "../configs/targets/acme-npu2.toml";

/// A residual block with a projection, and one whose sum is clipped. One channel of the first has tiny weights.
const BLOCKS: &str = "strait 1 float graph @main(%x: f32[2,3,5,6]) {
  %p: f32[2,4,5,6] = conv(%x, @proj) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %a: f32[2,4,5,6] = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
  %s: f32[2,4,5,6] = add(%a, %p)
  %y: f32[2,4,5,6] = relu(%s)
  %c: f32[2,4,5,6] = conv(%y, @v) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=4, pad_value=0}
  %t: f32[2,4,5,6] = add(%y, %c)
  %z: f32[2,4,5,6] = clip(%t) {min=0.0, max=1.5}
  return %z }
  data @proj: f32[4,3,1,1] = random 4
  data @w: f32[4,3,3,3] = random 5
  data @b: f32[4] = inline [0.5,-0.25,0.0,1.0]
  data @v: f32[4,1,3,3] = random 6";

fn sample(seed: u64, scale: f32) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let mut real = || ((random.next_u64() >> 40) as f32 / 8_388_608.0 - 0.9) * scale;
    let reals: Vec<f32> = (0..2 * 3 * 5 * 6).map(|_| real()).collect();
    vec![Tensor::from_values(&[2, 3, 5, 6], &reals).unwrap()]
}

fn compiled() -> Integer {
    let float = parse(BLOCKS).unwrap();
    let samples = InMemory((0..3).map(|seed| sample(seed, 1.0)).collect());
    integer(&float, ACME, &samples).unwrap_or_else(|error| panic!("{error}"))
}

fn values(
    module: &Module,
    graph: strait_core::GraphId,
    inputs: &[Tensor],
) -> (Vec<Tensor>, BTreeMap<ValueId, Vec<i64>>) {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut found = BTreeMap::new();
    let mut observe = |id, tensor: TensorView<'_>| {
        found.insert(id, tensor.to_tensor().to_data().unwrap().to_i64().unwrap_or_default());
    };
    let outputs = reference::run(module, graph, &views, &mut observe).unwrap();
    (outputs, found)
}

#[test]
fn a_fusion_is_known_by_the_node_that_it_made() {
    let made = compiled();
    let (module, graph) = (&made.module, made.module.main());
    for fired in &made.fusion.fired {
        let mut values = graph.values();
        let (value, _) = values
            .find(|(_, value)| module.name(value.name) == fired.value)
            .unwrap();
        let (_, node) = graph.producer(value).unwrap();
        assert_eq!(module.name(node.name), fired.node, "{}", fired.row);
    }
}

fn residuals(graph: &Graph) -> Vec<(NodeId, &Node)> {
    graph.nodes().filter(|(_, node)| node.addend().is_some()).collect()
}

#[test]
fn every_plan_of_both_graphs_makes_the_same_codes() {
    let integer = compiled();
    assert_eq!(residuals(integer.module.main()).len(), 2);
    assert_eq!(findings(&integer.module, &integer.fusion), Ok(Vec::new()));
    for inputs in [sample(0, 1.0), sample(9, 50.0)] {
        let (expected, _) = values(&integer.module, integer.lowered, &inputs);
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        for graph in [integer.lowered, integer.module.main] {
            assert_eq!(values(&integer.module, graph, &inputs).0, expected);
            for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 2)]) {
                let options = PlanOptions {
                    context: Context::with_isa(isa),
                    ..PlanOptions::default()
                };
                let plan = Plan::new(&integer.module, graph, &options).unwrap();
                let threads = Threads::new(NonZeroUsize::new(threads).unwrap());
                let found = plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap();
                assert!(found == expected, "{} on {graph:?}", isa.name());
            }
        }
    }
}

#[test]
fn a_sum_is_its_products_and_the_addend_rounded_once() {
    let integer = compiled();
    let (module, graph) = (&integer.module, integer.module.main());
    for inputs in [sample(0, 1.0), sample(9, 50.0)] {
        let (_, found) = values(module, module.main, &inputs);
        for (_, node) in residuals(graph) {
            let Op::Conv(conv) = &node.op else { panic!() };
            let (addend, codes) = node.addend().unwrap();
            let value = |id: ValueId| graph.value(id).unwrap();
            let grid = |id: ValueId| value(id).quant.as_ref().unwrap().as_tensor().unwrap();
            let constant = |index: usize| module.constant(graph, node.inputs[index].unwrap()).unwrap();
            let (x, y) = (node.inputs[0].unwrap(), node.outputs[0]);
            let (weights, bias) = (constant(1).to_i64().unwrap(), constant(2).to_i64().unwrap());
            let scales = value(node.inputs[1].unwrap()).quant.clone().unwrap().scale.clone();
            let [channels, each, k, _] = constant(1)
                .shape()
                .try_into()
                .map(|s: [u64; 4]| s.map(|e| e as usize))
                .unwrap();
            let ((x_scale, _), (r_scale, r_zero), (y_scale, y_zero)) = (grid(x), grid(codes), grid(y));
            let dims: Vec<usize> = value(x).ty.dims().unwrap().iter().map(|&e| e as usize).collect();
            let fused = node.fused.as_ref().unwrap();
            for (index, &code) in found[&y].iter().enumerate() {
                let [column, row, c, n] = [index % 6, index / 6 % 5, index / 30 % channels, index / (30 * channels)];
                let group = c / (channels / conv.groups as usize);
                let mut sum = bias[c];
                for (i, ky, kx) in (0..each * k * k).map(|tap| (tap / (k * k), tap / k % k, tap % k)) {
                    let pad = conv.pad[0] as usize;
                    let at = [(row + ky).checked_sub(pad), (column + kx).checked_sub(pad)];
                    let inside = matches!(at, [Some(r), Some(q)] if r < dims[2] && q < dims[3]);
                    let read = match (at, inside) {
                        ([Some(r), Some(q)], true) => {
                            found[&x][((n * dims[1] + group * each + i) * dims[2] + r) * dims[3] + q]
                        }
                        _ => conv.pad_value.into(),
                    };
                    sum += weights[((c * each + i) * k + ky) * k + kx] * read;
                }
                let residual = found[&codes][index];
                let added = i64::from(addend.form.eval(c, residual - i64::from(addend.zero)).unwrap());
                let [low, high] = fused.clamp.unwrap_or([-128, 127]);
                let expected = fused.requant.eval(c, sum + added).unwrap().clamp(low, high);
                assert_eq!(code, i64::from(expected), "{index}");
                // The result is the real sum of what both operands stand for, rounded to the nearest code, within a
                // step of the accumulator.
                let step = f64::from(x_scale) * f64::from(*scales.get(c).unwrap());
                let real = step * sum as f64 + f64::from(r_scale) * (residual - i64::from(r_zero)) as f64;
                let ideal = (real / f64::from(y_scale) + f64::from(y_zero)).clamp(low.into(), high.into());
                let off = (ideal - code as f64).abs();
                assert!(
                    off <= 0.5 + step / f64::from(y_scale) + 1e-4,
                    "{index}: {code} for {ideal}"
                );
            }
        }
    }
}

#[test]
fn an_addend_that_is_not_the_lowered_graphs_is_found() {
    let integer = compiled();
    let mut module = integer.module.clone();
    let (id, node) = residuals(module.main())[0];
    let (mut fused, place) = (node.fused.as_deref().unwrap().clone(), node.place.clone());
    fused.addend.as_mut().unwrap().zero += 1;
    module.main_mut().set_fused(id, Some(fused), place);
    let found = findings(&module, &integer.fusion).unwrap();
    assert!(
        found
            .iter()
            .any(|finding| finding.to_string().contains("what it adds inside its accumulator")),
        "{found:?}"
    );
}
