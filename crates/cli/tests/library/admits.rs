//! Tests of a library's `admits` function, which accepts or refuses nodes.

use crate::build::{TABLE, build, program, workshop};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strait_core::{Attribute, Elem, ReasonCode, Term};
use strait_plugin_host::{Library, Patience, register};
use strait_target::{Candidate, Operand, Options, Registry, Target, TargetError};

/// Builds the test plugin with the function `admits`, and opens its target.
fn target(folder: &Path, name: &str, definitions: &[&str]) -> Arc<dyn Target> {
    let definitions = [&["ADMITS=1"], definitions].concat();
    let path = build(folder, name, TABLE, &definitions);
    let patience = Patience {
        call: Duration::from_secs(2),
        ..Patience::default()
    };
    let library = Library::load(&path, None, program(), patience).unwrap();
    let mut registry = Registry::default();
    let entry = register(&mut registry, Arc::new(library)).unwrap();
    entry.target(&Options::new()).unwrap()
}

fn node(name: &str) -> Candidate<'_> {
    let operand = |extents: Option<&[u64]>, constant| Operand {
        element: Elem::F32,
        extents: extents.map(<[u64]>::to_vec),
        constant,
    };
    let attributes = [
        ("groups", Attribute::Int(-3)),
        ("pad", Attribute::Ints(vec![0, i64::MAX])),
        ("low", Attribute::Float(f32::NEG_INFINITY)),
        ("scales", Attribute::Floats(vec![0.5, 3e38])),
        ("empty", Attribute::Ints(vec![])),
        ("mode", Attribute::Text("half \"pixel\"".into())),
    ];
    Candidate::of(
        name.into(),
        Term::Conv,
        attributes.map(|(key, value)| (key.into(), value)).into(),
        vec![
            Some(operand(Some(&[1, 2, 4]), false)),
            None,
            Some(operand(Some(&[]), true)),
            Some(operand(None, false)),
        ],
        Operand {
            element: Elem::I64,
            ..operand(Some(&[7]), false)
        },
    )
}

const SEEN: &str = "conv groups=-3, pad=0,9223372036854775807, low=-inf, scales=0.5,3e+38, empty= mode=half \"pixel\" \
                    0[1,2,4,] none constant 0[] 0[?] -> 7[7,]";

#[test]
fn a_library_sees_all_of_a_node_and_refuses_it_with_its_reason() {
    let Some(folder) = workshop() else { return };
    let plain = target(folder.path(), "plain", &[]);
    let nodes = ["conv", "fine", "unknown", "bad"].map(node);
    let reasons = plain.refusals(&nodes).unwrap();
    assert_eq!(reasons.len(), 4);
    for (at, refused) in [true, false, false, true].into_iter().enumerate() {
        let reason = reasons[at].as_ref();
        assert_eq!(reason.is_some(), refused, "{at}");
        assert!(reason.is_none_or(|reason| reason.code == ReasonCode::TargetCode && reason.text == SEEN));
    }
    let TargetError::Refused(reason) = plain.admits(&nodes[0]).unwrap_err() else {
        panic!("another error");
    };
    assert_eq!(reason.text, SEEN);
    assert_eq!(plain.admits(&nodes[1]), Ok(()));

    let own = target(folder.path(), "own", &["REASON=\"acme-odd\""]);
    let reasons = own.refusals(&nodes[..1]).unwrap();
    assert_eq!(reasons[0].as_ref().unwrap().code.to_string(), "acme-odd");
    let none = build(folder.path(), "none", TABLE, &[]);
    assert!(
        !Library::load(&none, None, program(), Patience::default())
            .unwrap()
            .description()
            .admits
    );
}

#[test]
fn a_library_that_goes_wrong_about_a_node_is_an_error_with_its_name() {
    let Some(folder) = workshop() else { return };
    for (fault, part) in [
        ("IN_ADMITS=CRASH", "admits crashed: signal 11"),
        ("IN_ADMITS=EXIT", "admits ended the process, with exit code 3"),
        ("IN_ADMITS=LOOP", "admits did not return within 2 s"),
        ("IN_ADMITS=FAILURE", "admits: the chip's list of nodes has no licence"),
        ("IN_ADMITS=GARBAGE", "admits answered with "),
    ] {
        let target = target(folder.path(), "wrong", &[fault]);
        let start = Instant::now();
        let error = target.refusals(&["fine", "bad", "fine"].map(node)).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("of the node `bad`: the plugin acme-npu 1.2.0: ") && error.contains(part),
            "{fault}: {error}"
        );
        assert!(start.elapsed() < Duration::from_secs(20));
        // The next call starts a new worker.
        assert_eq!(target.refusals(&[node("fine")]), Ok(vec![None]), "{fault}");
    }
    let spelled = target(folder.path(), "spelled", &["REASON=\"Too Odd\""]);
    let error = spelled.refusals(&["fine", "x"].map(node)).unwrap_err().to_string();
    assert!(
        error.contains("of the node `x`") && error.contains("lower-case"),
        "{error}"
    );
}
