//! A target that is a table with kernels for its forms.

use crate::spec::TargetSpec;
use crate::target::{Target, TargetError};
use std::collections::BTreeMap;
use strait_core::Reason;
use strait_kernels::{
    KernelError,
    integer::{Loops, standard},
};
use strait_requantize::Requantization;

/// The type of functions that prepare the loops of a layer. The arguments are the requantization and the clamp after
/// it; the ends of the clamp are codes, and both are allowed results. Such a function may have state of its own.
pub type Prepare = dyn Fn(&Requantization, Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> + Send + Sync;

/// The kernel that computes one form of a table.
#[derive(Clone, Copy)]
pub struct FormKernel {
    pub(crate) form: &'static str,
    pub(crate) own: Option<&'static Prepare>,
}

impl FormKernel {
    /// Says that a kernel of the target's crate computes the form with the name `form`. `prepare` may use a kernel
    /// family of the host or code of its own.
    pub const fn new(form: &'static str, prepare: &'static Prepare) -> FormKernel {
        FormKernel {
            form,
            own: Some(prepare),
        }
    }

    /// The host's kernels compute the form of this name.
    pub const fn host(form: &'static str) -> FormKernel {
        FormKernel { form, own: None }
    }
}

/// The kernel of a form; `None` if the host's kernels compute the form.
pub(crate) type Kernel = Option<&'static Prepare>;

/// A table with a kernel for each of its forms. A target without further code is a value of this type. A target with
/// code contains a value of this type and passes on to it the calls that it does not handle itself.
pub struct TableTarget {
    spec: TargetSpec,
    kernels: BTreeMap<String, Kernel>,
}

impl TableTarget {
    /// Makes a target from a table and its kernels. The registry has checked that every form of the table has a kernel.
    pub(crate) fn new(spec: TargetSpec, kernels: BTreeMap<String, Kernel>) -> TableTarget {
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
                (Ok(()), Some(kernel)) => {
                    let loops = kernel.map_or_else(|| standard(form, clamp), |own| own(form, clamp));
                    return loops.map_err(|error| TargetError::Kernel {
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
