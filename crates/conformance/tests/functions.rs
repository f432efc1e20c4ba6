//! Tests of how the kit checks the functions of a target's code: it calls each one, or the report says why it did not.
#![allow(clippy::unwrap_used)]

use crate::kit::{TABLE, examined};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use strait_conformance::{Group, Kit, Line};
use strait_core::{Module, Reason, ReasonCode};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{
    Candidate, FormKernel, Make, Origin, Registry, Sink, Table, TableTarget, Target, TargetError, TargetFactory,
    TargetSpec,
};

/// What is wrong with the target's code.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// `admits` refuses a node at every other call.
    Wavers,
    /// `emit` writes different bytes each time.
    Counts,
    /// `emit` writes the same file for every model.
    Constant,
    /// `emit` writes a file outside of the artifact.
    Climbs,
}

struct Code(TableTarget, Fault, AtomicUsize);

impl Target for Code {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn admits(&self, _: &Candidate<'_>) -> Result<(), TargetError> {
        let calls = self.2.fetch_add(1, Ordering::Relaxed);
        match self.1 == Fault::Wavers && calls % 2 == 1 {
            true => Err(Reason::new(ReasonCode::TargetCode, "not now").into()),
            false => Ok(()),
        }
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let nodes = module.main().nodes().map(|(_, node)| module.name(node.name));
        let text = nodes.collect::<Vec<_>>().join(" ");
        let calls = self.2.fetch_add(1, Ordering::Relaxed);
        match self.1 {
            Fault::Counts => sink.bytes("calls", &calls.to_le_bytes()),
            Fault::Constant => sink.bytes("model", b"model"),
            Fault::Climbs => sink.bytes("../model", text.as_bytes()),
            Fault::None | Fault::Wavers => sink.bytes("model", text.as_bytes()),
        }
    }
}

fn kit(fault: Fault) -> Kit {
    let code: Box<Make> =
        Box::new(move |table| Ok(Arc::new(Code(table, fault, AtomicUsize::new(0))) as Arc<dyn Target>));
    let kernels: &'static [FormKernel] = Box::leak(Box::new([FormKernel::host("scale31")]));
    let table: &'static str = TABLE
        .replacen("schema  = 2", "schema  = 2\nemit = [\"package\"]", 1)
        .leak();
    let factory = TargetFactory::new("a test", table)
        .kernels(kernels)
        .code(Box::leak(code));
    let mut registry = Registry::default();
    registry.add(&factory).unwrap();
    examined(registry.entry("vendor-npu").unwrap(), &[])
}

fn line<'k>(kit: &'k Kit, name: &str) -> &'k Line {
    kit.lines.iter().find(|line| line.name == name).unwrap()
}

#[test]
fn each_method_is_called_or_the_report_says_why_it_was_not() {
    let kit = kit(Fault::None);
    assert!(kit.is_ok(), "{kit}");
    let functions = kit.lines.iter().filter(|line| line.group == Group::Functions);
    for line in functions {
        let is_called = line.checked.starts_with("called ");
        assert!(is_called != line.skipped.is_some(), "{}: {kit}", line.name);
    }
    for name in ["loops", "admits", "emit"] {
        assert_eq!(line(&kit, name).outcome(), "passed", "{kit}");
    }
    assert!(line(&kit, "emit").checked.contains("6 networks, 6 files"), "{kit}");
}

#[test]
fn answers_and_files_that_are_others_the_next_time_fail_at_their_functions() {
    for (fault, name, part) in [
        (Fault::Wavers, "admits", "asked again, it is"),
        (Fault::Counts, "emit", "called again, calls is another file"),
        (Fault::Constant, "emit", "have the same files"),
        (Fault::Climbs, "emit", "the name climbs by `..`"),
    ] {
        let kit = kit(fault);
        let findings = &line(&kit, name).findings;
        assert!(findings.iter().any(|text| text.contains(part)), "{part}: {kit}");
    }
}

#[test]
fn the_id_of_a_target_in_the_program_fails() {
    let builtin = Registry::builtin().unwrap();
    let id = "generic-int8";
    assert!(builtin.entry(id).is_ok());
    let table = Table::parse("vendor.toml", TABLE.replace("vendor-npu", id)).unwrap();
    let mut registry = Registry::default();
    let entry = registry.add_table(Origin::File("vendor.toml".into()), table).unwrap();
    let kit = examined(entry, &[]);
    assert!(
        line(&kit, "an id of its own").findings[0].contains("a deployment refuses two of one id"),
        "{kit}"
    );
    assert_eq!(
        line(&examined(builtin.entry(id).unwrap(), &[]), "an id of its own").outcome(),
        "passed"
    );
}
