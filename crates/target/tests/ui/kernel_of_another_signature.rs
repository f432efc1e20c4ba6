//! A kernel that does not take the clamp behind the form.

use strait_kernels::{
    KernelError,
    integer::{Loops, standard},
};
use strait_requantize::Requantization;
use strait_target::FormKernel;

fn prepare(form: &Requantization) -> Result<Box<dyn Loops>, KernelError> {
    standard(form, None)
}

fn main() {
    let _ = FormKernel { form: "floor", prepare };
}
