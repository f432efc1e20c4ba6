//! Tests models with loops and conditions from end to end. Layers inside of them are quantized, certified and checked
//! like any other layer.

use super::tokens::{Given, SAMPLES, save};
use super::*;
use strait_container::Model;
use strait_core::{Fused, GraphId, Module, ReasonCode, text};
use strait_execute::{Plan, PlanOptions, Tensor, Threads, Workspace};
use strait_samples::NumberType;
use strait_tests::numeric::signal_to_noise;
use strait_verify::{VerifyOptions, lay_open, verify_module};

/// Three runs of a loop whose body has a condition: every other run goes through one convolution, the rest through
/// another. After the loop there is a condition whose second branch no sample takes.
const MODEL: &str = "
    strait 1 float main=@main
    graph @even(%e: f32[1,4,6,6]) stage=float {
      %e1: f32[1,4,6,6] = conv(%e, @a) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
      %e2: f32[1,4,6,6] = unary(%e1) {function=sigmoid}
      %e3: f32[1,4,6,6] = conv(%e2, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %e3
    }
    graph @odd(%o: f32[1,4,6,6]) stage=float {
      %o1: f32[1,4,6,6] = conv(%o, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %o1
    }
    graph @body(%n: i64[], %more: bool[], %v: f32[1,4,6,6], %kept: f32[1,4,6,6]) stage=float {
      %rest: i64[] = binary(%n, @two) {function=modulo}
      %is: bool[] = compare(%rest, @zero) {relation=equal}
      %w: f32[1,4,6,6] = if @even, @odd(%is, %v)
      %mean: f32[1,4] = reduce(%w) {reduction=mean, axes=[2,3], keep_dims=0}
      %s: f32[1,4,6,6] = add(%w, %kept)
      return %more, %s, %mean
    }
    graph @seen(%p: f32[1,4,6,6]) stage=float {
      %p1: f32[1,2,6,6] = conv(%p, @c) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %p1
    }
    graph @unseen(%u: f32[1,4,6,6]) stage=float {
      %u1: f32[1,2,6,6] = conv(%u, @d) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %u1
    }
    graph @main(%x: f32[1,4,6,6]) stage=float {
      %r: f32[1,4,6,6] = conv(%x, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %all: f32[1,4,6,6], %means: f32[3,1,4] = loop @body(_, _, %r, %r) {carried=1, trips=3}
      %far: f32[1] = reduce(%x) {reduction=max, axes=[1,2,3], keep_dims=0}
      %is_near: bool[1] = compare(%far, @large) {relation=less}
      %y: f32[1,2,6,6] = if @seen, @unseen(%is_near, %all)
      return %y, %means
    }
    data @a: f32[4,4,3,3] = random 1
    data @b: f32[4,4,1,1] = random 2
    data @c: f32[2,4,1,1] = random 3
    data @d: f32[2,4,1,1] = random 4
    data @two: i64[] = inline [2]
    data @zero: i64[] = inline [0]
    data @large: f32[] = inline [100.0]";

const ELEMENTS: usize = 4 * 6 * 6;

fn pixels() -> Vec<f32> {
    (0..SAMPLES * ELEMENTS)
        .map(|at| (at * 37 % 101) as f32 / 50.0 - 1.0)
        .collect()
}

fn given() -> Given {
    let given = Given::new(MODEL);
    save(
        &given.at("samples/x.npy"),
        NumberType::F32,
        &[SAMPLES, 4, 6, 6],
        &pixels(),
    );
    given
}

/// The float model's first output.
fn float() -> Vec<f32> {
    let module = text::parse(MODEL).unwrap();
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    let mut space = Workspace::new(&plan, &Threads::one());
    let mut found = Vec::new();
    for sample in pixels().chunks(ELEMENTS) {
        let sample = Tensor::from_values(&[1, 4, 6, 6], sample).unwrap();
        let outputs = plan.run(&mut space, &[sample.view()]).unwrap();
        found.extend_from_slice(outputs[0].values::<f32>().unwrap());
    }
    found
}

/// Where the layer with this source name runs in the main graph, with all bodies inlined.
fn place(module: &Module, source: &str) -> Placement {
    let nodes = module.main().nodes();
    let mut found = nodes.filter(|(_, node)| node.sources.iter().any(|&name| module.name(name) == source));
    let found = found.find(|(_, node)| !matches!(node.op, Op::Quantize(_) | Op::Dequantize(_)));
    found.unwrap_or_else(|| panic!("no layer of {source}")).1.place.clone()
}

#[test]
fn the_layers_of_a_body_are_on_the_accelerator_and_hold_like_any_others() {
    let (given, float) = (given(), float());
    for target in TARGETS {
        let opened = given
            .compile(target, "")
            .unwrap_or_else(|stop| panic!("{target}: {stop}"));
        for layer in ["r", "e1", "e3", "o1", "p1"] {
            assert_eq!(
                place(opened.module(), layer),
                Placement::Accelerator,
                "{target}: {layer}"
            );
        }
        match place(opened.module(), "u1") {
            Placement::Host(reason) => assert_eq!(reason.code, ReasonCode::NotObserved, "{target}"),
            Placement::Accelerator => panic!("{target}: a layer that no sample reached has no grid"),
        }
        assert_eq!(strait_driver::artifact::inputs(&opened).unwrap().len(), 1, "{target}");
        let verified = given.verified(&opened);
        assert!(verified.findings.is_empty(), "{target}: {:?}", verified.findings);
        let outputs = given.run(&opened, &[("x", "samples/x.npy")]).unwrap();
        let found: Vec<f32> = outputs[0].view().unwrap().iter().copied().collect();
        let ratio = signal_to_noise(&float, &found);
        assert!(ratio > 25.0, "{target}: {ratio:.1} dB");
        assert_eq!(outputs[1].shape(), [SAMPLES, 3, 1, 4], "{target}");
    }
}

#[test]
fn the_bytes_of_an_artifact_with_bodies_depend_on_the_input_alone() {
    let given = given();
    let first = given.compile("generic-int8", "").unwrap().artifact.manifest().digest();
    let again = given.compile("generic-int8", "").unwrap().artifact.manifest().digest();
    assert_eq!(first, again);
}

#[test]
fn a_fused_step_of_a_body_that_is_another_one_is_found() {
    let opened = given().compile("generic-int8", "").unwrap();
    let Model { certificates, .. } = &opened.model;
    let threads = Threads::one();
    let sound = |mut module: Module| {
        lay_open(&mut module);
        verify_module(&module, certificates, &VerifyOptions::new(&threads))
            .unwrap()
            .is_sound()
    };
    assert!(sound(opened.whole().clone()));
    let mut module = opened.whole().clone();
    let inside = (0..module.graphs.len())
        .map(GraphId::new)
        .filter(|&id| id != module.main);
    let (id, node) = inside
        .filter_map(|id| {
            let mut nodes = module.graph(id)?.nodes();
            Some((id, nodes.find(|(_, node)| node.fused.is_some())?.0))
        })
        .next()
        .expect("a fused step in a body");
    let graph = &mut module.graphs[id.index()];
    let known = graph.node(node).unwrap();
    let (place, fused) = (known.place.clone(), known.fused.as_deref().unwrap());
    let clipped = Fused::new(fused.requant.clone(), Some([0, 1]));
    graph.set_fused(node, Some(clipped), place);
    assert!(!sound(module));
}
