//! Rules that are switched off do nothing, and layers that are kept are taken into no other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Module, ReasonCode, Rewritten, Switches, Term};
use strait_rewrite::{canonical, names};

const MODEL: &str = "strait 1 float
graph @main(%x: f32[1,1,2,2]) {
  %conv: f32[1,1,2,2] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %norm: f32[1,1,2,2] = batch_normalization(%conv, @one, @one, @one, @one) {epsilon=0.0}
  %same: f32[1,1,2,2] = identity(%norm)
  %other: f32[1,1,2,2] = conv(%same, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %bias: f32[1,1,2,2] = add(%other, @one)
  return %bias
}
data @w: f32[1,1,1,1] = inline [3.0]
data @one: f32[1] = inline [1.0]
";

/// Rewrites the model. Returns the terms of the remaining nodes, and the log of the rewrite.
fn rewritten(switches: &Switches) -> (Vec<Term>, Rewritten) {
    let mut module: Module = parse(MODEL).unwrap();
    let main = module.main;
    let done = canonical().switched(switches).run(&mut module, main).unwrap();
    let order = module.main().topological_order().unwrap();
    let terms = order.into_iter().map(|id| module.main().node(id).unwrap().op.term());
    (terms.collect(), done)
}

fn set(names: &[&str]) -> std::collections::BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_rule_that_is_off_leaves_its_pattern_to_nobody() {
    assert_eq!(rewritten(&Switches::default()).0, [Term::Conv, Term::Conv]);
    let off = set(&["bias-into-producer"]);
    let (left, done) = rewritten(&Switches {
        off,
        ..Switches::default()
    });
    assert_eq!(left, [Term::Conv, Term::Conv, Term::Add]);
    assert_eq!(done.counts().get("bias-into-producer"), None);
}

#[test]
fn without_fusion_layers_stay_and_identities_go() {
    let switches = Switches {
        no_fusion: true,
        ..Switches::default()
    };
    let left = [Term::Conv, Term::BatchNormalization, Term::Conv, Term::Add];
    assert_eq!(rewritten(&switches).0, left);
}

#[test]
fn a_layer_that_is_kept_is_refused_with_its_name_and_counted() {
    for layer in ["conv", "norm"] {
        let kept = set(&[layer]);
        let (left, done) = rewritten(&Switches {
            kept,
            ..Switches::default()
        });
        assert_eq!(left, [Term::Conv, Term::BatchNormalization, Term::Conv]);
        let [(rule, node, reason)] = &done.refused[..] else {
            unreachable!("{:?}", done.refused)
        };
        assert_eq!((*rule, node.as_str()), ("batch-normalization-into-producer", "norm"));
        assert_eq!(reason.code, ReasonCode::KeptLayer);
        assert!(reason.text.contains(&format!("`{layer}`")), "{reason}");
        let counts = done.counts();
        let of = |rule| counts.get(rule).map(|counts| (counts.matched, counts.applied));
        assert_eq!(of("batch-normalization-into-producer"), Some((1, 0)));
        assert_eq!(of("bias-into-producer"), Some((1, 1)));
    }
}

#[test]
fn the_names_are_those_of_all_rules() {
    let names = names();
    assert!(names.contains("silu-to-sigmoid") && canonical().rules().all(|rule| names.contains(rule.name())));
}
