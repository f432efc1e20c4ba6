//! Tests that a target's own code can refuse nodes that its table admits.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use strait_core::text::parse;
use strait_core::{Attribute, Reason, ReasonCode, Term};
use strait_kernels::integer::Loops;
use strait_quantize::Annotation;
use strait_quantize::annotate::{place, refuse, refused_by_code};
use strait_requantize::Requantization;
use strait_target::{Candidate, Options, Origin, Registry, Table, Target, TargetError, TargetSpec};

const GRAPH: &str = "strait 1 float
graph @main(%x: f32[1,2,4,4]) {
  %a: f32[1,2,4,4] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=2, pad_value=0}
  %b: f32[1,2,4,4] = conv(%a, @v) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  return %b
}
data @w: f32[2,1,1,1] = inline [1.0, 0.5]
data @v: f32[2,2,1,1] = inline [1.0, 0.5, 2.0, 0.25]";

/// A target that refuses convolutions whose groups have one channel each, or panics.
struct Chip {
    table: Arc<dyn Target>,
    fails: bool,
}

impl Target for Chip {
    fn spec(&self) -> &TargetSpec {
        self.table.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.table.loops(form, clamp)
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        if self.fails {
            return Err(TargetError::Unsupported("an answer".into()));
        }
        assert_eq!(
            (node.term(), node.operands(), node.attribute("group")),
            (Term::Conv, 2, None)
        );
        assert_eq!(
            (node.is_constant(0), node.is_constant(1), node.is_constant(2)),
            (false, true, false)
        );
        assert_eq!(
            (node.extents(0), node.result()),
            (Some(vec![1, 2, 4, 4]), Some(vec![1, 2, 4, 4]))
        );
        match node.attribute("groups") {
            Some(Attribute::Int(groups)) if Some(groups as u64) == node.extents(1).map(|w| w[0]) => {
                let text = format!("`{}` has one channel in each group", node.name());
                Err(Reason::new(ReasonCode::TargetCode, text).into())
            }
            _ => Ok(()),
        }
    }
}

fn chip(fails: bool) -> Chip {
    let table = Table::parse("every-form.toml", include_str!("filetests/tables/every-form.toml")).unwrap();
    let mut registry = Registry::default();
    let entry = registry
        .add_table(Origin::File("every-form.toml".into()), table)
        .unwrap();
    let table = entry.target(&Options::new()).unwrap();
    Chip { table, fails }
}

#[test]
fn code_refuses_a_node_with_a_reason_and_the_others_stay() {
    let chip = chip(false);
    let (settings, constraints, observation) = strait_tests::passes::plain(chip.spec());
    let how = Annotation::new(chip.spec(), &observation, &settings, &constraints);
    let mut module = parse(GRAPH).unwrap();
    let main = module.main;
    let mut fixpoint = place(&mut module, main, &how);
    let refused = refused_by_code(&module, main, &chip).unwrap();
    assert!(refuse(module.main_mut(), &how, &mut fixpoint, refused));
    let places: Vec<String> = module
        .main()
        .nodes()
        .map(|(_, node)| format!("{:?}", node.place))
        .collect();
    assert!(
        places[0].contains("TargetCode") && places[0].contains("`a` has one channel in each group"),
        "{places:?}"
    );
    assert_eq!(places[1], "Accelerator");
}

#[test]
fn another_error_of_the_code_is_no_reason_for_the_host() {
    let mut module = parse(GRAPH).unwrap();
    let (chip, main) = (chip(true), module.main);
    let (settings, constraints, observation) = strait_tests::passes::plain(chip.spec());
    let how = Annotation::new(chip.spec(), &observation, &settings, &constraints);
    place(&mut module, main, &how);
    let error = refused_by_code(&module, main, &chip).unwrap_err();
    assert_eq!(error.to_string(), "an answer is not supported");
}
