//! Runs the kit on a target whose code refuses nodes.
#![allow(clippy::unwrap_used)]

use crate::kit::{TABLE, examined, failed};
use std::sync::Arc;
use strait_conformance::Group;
use strait_core::{Reason, ReasonCode};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{
    Candidate, FormKernel, Make, Registry, TableTarget, Target, TargetError, TargetFactory, TargetSpec,
};

/// A target whose code refuses every node.
struct Refuses(TableTarget);

impl Target for Refuses {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn admits(&self, _: &Candidate<'_>) -> Result<(), TargetError> {
        Err(Reason::new(ReasonCode::TargetCode, "not today").into())
    }
}

#[test]
fn code_that_refuses_every_node_fails_at_each_network() {
    let mut registry = Registry::default();
    let code: &Make = &|table| Ok(Arc::new(Refuses(table)));
    let kernels: &'static [FormKernel] = Box::leak(Box::new([FormKernel::host("scale31")]));
    let factory = TargetFactory::new("a test", &TABLE).kernels(kernels).code(code);
    registry.add(&factory).unwrap();
    let kit = examined(registry.entry("vendor-npu").unwrap(), &[]);
    let networks = failed(&kit, Group::Networks);
    assert!(networks.len() >= 6, "{kit}");
    assert!(
        kit.to_string().contains("refuses all") && kit.to_string().contains("not today"),
        "{kit}"
    );
}
