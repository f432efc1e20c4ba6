//! Tests that a target's own code can decide a fusion. It decides about the step after an op, not about the op.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use strait_core::text::parse;
use strait_core::{Attribute, Fused, Term};
use strait_kernels::integer::Loops;
use strait_lower::{Fusion, FusionPolicy, fuse};
use strait_requantize::Requantization;
use strait_target::{Decision, FusionSite, Options, Origin, Registry, Table, Target, TargetError, TargetSpec};

const TABLE: &str = include_str!("filetests/tables/every-form.toml");

const GRAPH: &str = "strait 1 integer
graph @main(%x: i8[1,1,2,2] scale=1.0 zero=0) {
  %a: i32[1,1,2,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %y: i8[1,1,2,2] scale=8.0 zero=0 = requantize(%a) {form={arith_folded shift=3 rounding=half_even out=i8}, axis=1}
  return %y
}
data @w: i8[1,1,1,1] = inline [3]
data @b: i32[1] = inline [5]";

/// A target whose fusion row for convolutions leaves the decision to code. The code fuses the requantization as it is,
/// into the producer's op or into another one.
struct Deciding {
    spec: TargetSpec,
    /// The same target without that row, since a table alone has no code.
    table: Arc<dyn Target>,
}

impl Target for Deciding {
    fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.table.loops(form, clamp)
    }

    fn custom(&self, _verb: &str, site: &FusionSite<'_>) -> Result<Decision, TargetError> {
        assert_eq!(site.term(), Term::Conv);
        assert_eq!(site.attribute("groups"), Some(Attribute::Int(1)));
        assert_eq!(site.attribute("group"), None);
        Ok(Decision::Fuse(Fused::new(site.requant.clone(), None)))
    }
}

fn fused() -> Fusion {
    let verbs = r#"["set_requantize", "requantize_clamp"]"#;
    assert!(TABLE.contains(verbs));
    let table = |text: String| Table::parse("deciding.toml", text).unwrap();
    let spec = table(TABLE.replace(verbs, r#"["custom:keep"]"#))
        .spec(&Options::new())
        .unwrap();
    let mut registry = Registry::default();
    let entry = registry
        .add_table(Origin::File("every-form.toml".into()), table(TABLE.into()))
        .unwrap();
    let table = entry.target(&Options::new()).unwrap();
    let mut module = parse(GRAPH).unwrap();
    let main = module.main;
    let target = Deciding { spec, table };
    fuse(&mut module, main, &target, FusionPolicy::Any).unwrap()
}

#[test]
fn a_step_that_code_decides_is_certified() {
    let kept = fused();
    assert_eq!((kept.fired.len(), kept.refused.len()), (1, 0), "{:?}", kept.refused);
    assert_eq!(kept.fired[0].row, "conv");
    assert_eq!(kept.fired[0].certificate.worst().max_lsb(), 0);
}
