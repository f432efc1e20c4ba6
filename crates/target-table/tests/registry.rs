//! Tests of the errors that the author of a target's crate sees if table and kernels do not fit together, and of the
//! ways to add code.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use strait_core::op::{Add, Conv};
use strait_core::{Reason, ReasonCode};
use strait_kernels::integer::{Loops, standard};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form};
use strait_target::{
    Decision, FormKernel, FusionSite, OptionValue, Options, Origin, Registry, Table, TableTarget, Target, TargetError,
    TargetFactory, TargetSpec,
};

const TABLE: &str = include_str!("tables/every-form.toml");
const FORMS: [&str; 17] = [
    "shift",
    "fractional",
    "single",
    "fifteen",
    "double",
    "packed",
    "single-precision",
    "general",
    "thresholds",
    "zero-inside",
    "relu-before-offset",
    "chain",
    "left-or-right",
    "sixteen",
    "double-precision",
    "scale32",
    "scale16",
];

fn kernels(forms: &[&'static str]) -> &'static [FormKernel] {
    let kernels: Vec<FormKernel> = forms.iter().map(|form| FormKernel::host(form)).collect();
    Box::leak(kernels.into())
}

fn factory(origin: &'static str, table: &'static str, forms: &[&'static str]) -> TargetFactory {
    TargetFactory::new(origin, table).kernels(kernels(forms))
}

fn error(factory: &TargetFactory) -> String {
    Registry::default().add(factory).unwrap_err().to_string()
}

#[test]
fn a_form_without_kernel_and_a_kernel_without_form_are_named() {
    assert!(Registry::default().add(&factory("mine 1.0.0", TABLE, &FORMS)).is_ok());
    assert_eq!(
        error(&factory("mine 1.0.0", TABLE, &FORMS[1..])),
        "mine 1.0.0 (built in): no kernel for the form `shift` of its table; name one in `kernels`, or `FormKernel::host` for the host's"
    );
    // Also if the factory says that tests check it: they do so by this function.
    assert_eq!(
        error(&factory("mine 1.0.0", TABLE, &FORMS[1..]).tested()),
        error(&factory("mine 1.0.0", TABLE, &FORMS[1..]))
    );
    let unknown = [&FORMS[..], &["fractionl"]].concat();
    assert_eq!(
        error(&factory("mine 1.0.0", TABLE, &unknown)),
        "mine 1.0.0 (built in): a kernel for the form `fractionl`, which its table does not have; did you mean `fractional`?"
    );
    let twice = [&FORMS[..], &["shift"]].concat();
    assert_eq!(
        error(&factory("mine 1.0.0", TABLE, &twice)),
        "mine 1.0.0 (built in): two kernels for the form `shift`"
    );
    assert!(error(&factory("mine 1.0.0", "schema = 1", &FORMS)).contains("`id` is missing"));
}

#[test]
fn two_targets_with_one_id_are_refused_with_both_origins() {
    let mut registry = Registry::default();
    registry.add(&factory("mine 1.0.0", TABLE, &FORMS)).unwrap();
    let error = registry
        .add(&factory("yours 2.0.0", TABLE, &FORMS))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "target `every-form` comes from mine 1.0.0 (built in) and from yours 2.0.0 (built in)"
    );
}

#[test]
fn a_file_that_is_absent_or_no_text_is_refused_by_its_name() {
    let mut registry = Registry::default();
    let absent = std::path::Path::new("no/such/table.toml");
    assert!(
        registry
            .add_file(absent)
            .unwrap_err()
            .to_string()
            .starts_with("cannot read no")
    );
    let binary = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("binary.toml");
    std::fs::write(&binary, [0xFF, 0xFE, 0x00]).unwrap();
    assert!(
        registry
            .add_file(&binary)
            .unwrap_err()
            .to_string()
            .ends_with("it is not UTF-8 text")
    );
    for folder in [
        std::path::Path::new("."),
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")),
    ] {
        let error = registry.add_file(folder).unwrap_err().to_string();
        assert!(error.ends_with("this is not a regular file"), "{error}");
    }
    assert_eq!(
        registry.get("sima", &Options::new()).err().unwrap().to_string(),
        "target `sima` is not registered; no target is"
    );
}

#[test]
fn a_table_alone_can_neither_write_a_package_nor_have_verbs_of_its_own() {
    let row = "[[fusion]]\nname = \"a\"\nops = [\"conv\"]\naccept = [\"shift\"]\nthen = [\"custom:mine\"]\n";
    let option = "[options.mode]\ntype = \"bool\"\ndefault = false\nhelp = \"a test\"\n[overlay.mode.true]\n";
    let id = "id      = \"every-form\"";
    let emitting = TABLE.replace(id, &format!("{id}\nemit = [\"qdq-onnx\", \"package\"]"));
    let cases = [
        (
            format!("{TABLE}\n{row}"),
            "`custom:mine` is code of a target's crate, and this target has none",
        ),
        (emitting, "there is `qdq-onnx` for every target"),
        // also if only the overlay of an option emits the package
        (
            format!("{TABLE}\n{option}emit = [\"package\"]"),
            "a package is written by code of a target's crate or library",
        ),
    ];
    for (text, expect) in cases {
        let table = Table::parse("t.toml", text.as_str()).unwrap();
        let origin = Origin::File("t.toml".into());
        let said = Registry::default().add_table(origin, table).unwrap_err().to_string();
        assert!(said.contains("--> t.toml:") && said.contains(expect), "{said}");
        // If the target has code, the same table is accepted.
        let with_code = factory("mine 1.0.0", text.leak(), &FORMS).code(&|table| Ok(Arc::new(table)));
        Registry::default().add(&with_code).unwrap();
    }
}

fn shift(shift: u8) -> Requantization {
    Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing {
            shift: shift.into(),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        },
    })
}

#[test]
fn loops_are_those_of_a_form_that_accepts_and_else_every_form_says_why_not() {
    let mut registry = Registry::default();
    registry.add(&factory("mine 1.0.0", TABLE, &FORMS)).unwrap();
    let target = registry.get("every-form", &Options::new()).unwrap();
    assert_eq!(target.loops(&shift(3), None).unwrap().out(), IntType::I8);
    let refused = target.loops(&shift(40), None).err().unwrap();
    assert!(matches!(refused, TargetError::NoForm { .. }));
    let text = refused.to_string();
    assert!(
        text.contains("shift: the shift 40 of channel 0 is outside 0 ..= 31"),
        "{text}"
    );
    assert!(FORMS.iter().all(|form| text.contains(form)), "{text}");
    let options = Options::from([("speed".to_owned(), OptionValue::Integer(3))]);
    let error = registry.get("every-form", &options).err().unwrap().to_string();
    assert_eq!(error, "target `every-form`: option `speed`: this target has no options");
}

/// The host computes in registers what a target's own kernel passes to a batch kernel of the host.
#[test]
fn own_loops_with_a_batch_kernel_requantize_in_registers() {
    let mut all = FORMS.map(FormKernel::host);
    all[0] = FormKernel::new("shift", &|form, clamp| standard(form, clamp));
    let factory = TargetFactory::new("mine 1.0.0", TABLE).kernels(Box::leak(Box::new(all)));
    let mut registry = Registry::default();
    registry.add(&factory).unwrap();
    let target = registry.get("every-form", &Options::new()).unwrap();
    let loops = target.loops(&shift(3), None).unwrap();
    let host = standard(&shift(3), None).unwrap();
    assert!(host.has_vectors() && host.codes().is_some() == loops.codes().is_some() && loops.has_vectors());
}

/// A target with code that decides one fusion. Everything else is left to its table.
struct Deciding(TableTarget);

impl Target for Deciding {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn custom(&self, verb: &str, site: &FusionSite<'_>) -> Result<Decision, TargetError> {
        match verb {
            "halve" => Ok(Decision::Refuse(Reason::new(
                ReasonCode::from("odd"),
                format!("{} is not even", site.term()),
            ))),
            _ => Err(TargetError::Unsupported(verb.into())),
        }
    }
}

#[test]
fn code_wraps_the_table_and_a_verb_that_nobody_knows_is_an_error() {
    let mut registry = Registry::default();
    registry.add(&factory("plain 1.0.0", TABLE, &FORMS)).unwrap();
    let plain = registry.get("every-form", &Options::new()).unwrap();
    let with_code = factory("code 1.0.0", TABLE, &FORMS).code(&|table| Ok(Arc::new(Deciding(table))));
    let mut registry = Registry::default();
    registry.add(&with_code).unwrap();
    let deciding = registry.get("every-form", &Options::new()).unwrap();

    let (op, requant) = (Conv::plain(2).into(), shift(3));
    let site = FusionSite::new("halves", &op, &[], &requant);
    let decision = deciding.custom("halve", &site).unwrap();
    assert_eq!(
        decision,
        Decision::Refuse(Reason::new(ReasonCode::from("odd"), "conv is not even"))
    );
    let op = Add {}.into();
    let unknown = plain
        .custom("halve", &FusionSite::new("halves", &op, &[], &requant))
        .unwrap_err();
    assert_eq!(unknown.to_string(), "the fusion verb `halve` is not supported");
    assert_eq!(deciding.spec(), plain.spec());
    assert!(deciding.loops(&requant, None).is_ok());
}

#[test]
fn code_that_makes_no_target_is_told_with_its_origin() {
    let option = "[options.mode]\ntype = \"integer\"\ndefault = 2\nhelp = \"a test\"\n";
    let table: &'static str = format!("{TABLE}\n{option}").leak();
    let made = factory("code 1.0.0", table, &FORMS).code(&|table: TableTarget| {
        let OptionValue::Integer(mode) = table.spec().chosen["mode"] else {
            panic!("a value of another type")
        };
        match mode {
            1 => Err(TargetError::Unsupported(format!("mode {mode}"))),
            2 => Ok(Arc::new(Deciding(table))),
            _ => panic!("mode {mode}"),
        }
    });
    let mut registry = Registry::default();
    registry.add(&made).unwrap();
    let with = |mode| {
        registry.get(
            "every-form",
            &Options::from([("mode".to_owned(), OptionValue::Integer(mode))]),
        )
    };
    assert!(with(2).is_ok());
    let said = |mode| with(mode).err().unwrap().to_string();
    let prefix = "target `every-form` of code 1.0.0 (built in): its code cannot make it: ";
    assert_eq!(said(1), format!("{prefix}mode 1 is not supported"));
    assert_eq!(said(3), format!("{prefix}it panicked: mode 3"));
}
