use strait_requantize::FormError;

/// Why a kernel did not run. No error depends on the values in a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The caller is at fault: slices, shapes and parameters do not fit together. Nothing was written.
    #[error("kernel shapes do not fit: {0}")]
    Shape(String),
    /// The model is at fault: an extent, a stride or a buffer is larger than the kernels can address.
    #[error("kernel size out of range: {0}")]
    Size(String),
    /// The loops that a target chose cannot compute the requantization, or a parameter of the requantization has a
    /// value that is not allowed. The target is at fault.
    #[error("requantization cannot be computed: {0}")]
    Requantization(String),
    /// A batch kernel of the target failed.
    #[error("target's kernel: {0}")]
    Tile(String),
}

impl From<FormError> for KernelError {
    fn from(error: FormError) -> KernelError {
        KernelError::Requantization(error.to_string())
    }
}

/// Checks that a slice has the length that its shape requires. `wanted` is `None` if that length overflows.
pub(crate) fn expect_len(what: &str, found: usize, wanted: Option<usize>) -> Result<(), KernelError> {
    match wanted {
        Some(wanted) if wanted == found => Ok(()),
        Some(wanted) => Err(KernelError::Shape(format!(
            "{what} has {found} elements, its shape has {wanted}"
        ))),
        None => Err(KernelError::Size(format!(
            "the number of elements of {what} does not fit in a machine word"
        ))),
    }
}

/// The product of all extents; `None` if it overflows.
pub(crate) fn product(extents: &[usize]) -> Option<usize> {
    extents.iter().try_fold(1_usize, |p, &e| p.checked_mul(e))
}
