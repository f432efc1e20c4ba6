//! The target that is a table and kernels for its forms.

use crate::spec::TargetSpec;
use crate::target::{Target, TargetError};
use std::collections::BTreeMap;
use strait_core::Reason;
use strait_kernels::{KernelError, integer::Loops};
use strait_requantize::Requantization;

/// Prepares the loops of a layer for one requantization and the clamp behind it.
pub type Prepare = fn(&Requantization, Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError>;

/// The kernel that computes one form of a table.
#[derive(Clone, Copy, Debug)]
pub struct FormKernel {
    /// The form's name in the table.
    pub form: &'static str,
    /// The kernel that computes the op: a family of the host's instantiated by the target's crate, or code of its own.
    /// For what the host computes, [`strait_kernels::integer::standard`].
    pub prepare: Prepare,
}

/// A table with a kernel for each of its forms. It is all of a target that needs no further code; one that does, holds
/// it and passes on what it does not change.
pub struct TableTarget {
    spec: TargetSpec,
    kernels: BTreeMap<String, Prepare>,
}

impl TableTarget {
    /// Every form of the table needs a kernel; the registry has seen to that.
    pub(crate) fn new(spec: TargetSpec, kernels: BTreeMap<String, Prepare>) -> TableTarget {
        TableTarget { spec, kernels }
    }
}

impl Target for TableTarget {
    fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        let target = self.spec.id.to_string();
        let mut reasons = Vec::new();
        for (name, row) in &self.spec.form {
            match (row.accepts(form, clamp), self.kernels.get(name)) {
                (Ok(()), Some(prepare)) => {
                    return prepare(form, clamp).map_err(|error| TargetError::Kernel {
                        target,
                        form: name.clone(),
                        error,
                    });
                }
                (Ok(()), None) => reasons.push(format!("{name} has no kernel")),
                (Err(Reason { text, .. }), _) => reasons.push(format!("{name}: {text}")),
            }
        }
        Err(TargetError::NoForm {
            target,
            kind: form.kind().name(),
            reasons: reasons.join("; "),
        })
    }
}
