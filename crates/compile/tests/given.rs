//! Tests settings that contradict the types of a quantized model.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use strait_builtin as _;
use strait_compile::{CompileError, InMemory, Means, Model, Resolved, Silent};
use strait_core::text::parse;
use strait_core::{Module, Placement, ReasonCode, Switches};
use strait_execute::Tensor;
use strait_target::spec::{Activation, Integer};
use strait_target::{Options, Registry};

const TEXT: &str = "strait 1 float
graph @main(%x: f32[1,2,2,2] scale=0.5 zero=3 codes=i8) {
  %y: f32[1,2,2,2] scale=0.5 zero=-5 codes=i8 = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  return %y
}
data @w: f32[2,2,1,1] scale=0.5 zero=0 codes=i4 = inline [1.0, 0.5, -1.0, 2.0]";

/// Where the convolution runs if the settings choose this type of activations.
fn place(activation: Option<Activation>) -> Placement {
    let model = Model::new(parse(TEXT).unwrap(), &Switches::default()).unwrap();
    let samples = InMemory(vec![vec![Tensor::from_values(&[1, 2, 2, 2], &[1.0_f32; 8]).unwrap()]]);
    let observed = model.observe(Arc::new(samples), Means::default(), &Silent).unwrap();
    let target = Registry::builtin()
        .unwrap()
        .get("generic-int8", &Options::default())
        .unwrap();
    let resolve = |module: &Module| {
        let mut resolved = Resolved::new(target.spec());
        for (id, _) in module.main().nodes() {
            resolved.settings.layers.entry(id).or_default().activation = activation;
        }
        Ok::<_, CompileError>(resolved)
    };
    let built = observed.compile(&target, resolve, &Silent).unwrap();
    let mut nodes = built.annotated.main().nodes();
    let (_, conv) = nodes.find(|(_, node)| built.annotated.name(node.name) == "y").unwrap();
    conv.place.clone()
}

/// The target supports weights of 4 bits only with activations of 8 bits.
#[test]
fn weights_that_a_wider_activation_has_no_pair_for_move_their_node_to_the_host() {
    assert_eq!(place(None), Placement::Accelerator);
    let Placement::Host(reason) = place(Some(Integer::Int16.into())) else {
        panic!("it runs on the accelerator");
    };
    assert_eq!(reason.code, ReasonCode::GivenGrid, "{}", reason.text);
}
