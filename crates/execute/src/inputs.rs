//! Checks the tensors that a caller passes to a run against the inputs of the graph.

use crate::error::ExecuteError;
use crate::tensor::TensorView;
use strait_core::Elem;

/// Checks type, extents and codes of a tensor that the caller passes for an input. Codes have to be checked because the
/// byte that stores a 4-bit code can also hold larger numbers, for which tables have no entry.
///
/// # Errors
/// [`ExecuteError::Input`] if the tensor does not fit the input. If an element is not a code, the error names the first
/// such element.
pub(crate) fn check(
    name: impl FnOnce() -> String,
    elem: Elem,
    shape: &[usize],
    input: TensorView<'_>,
) -> Result<(), ExecuteError> {
    let wrong = |expected, found| ExecuteError::Input {
        input: name(),
        expected,
        found,
    };
    if input.elem() != elem || input.shape() != shape {
        return Err(wrong(
            format!("{elem} {shape:?}"),
            format!("{} {:?}", input.elem(), input.shape()),
        ));
    }
    let bytes = input.bytes().iter();
    let beyond = match elem {
        Elem::I4 => bytes
            .map(|&byte| i64::from(byte as i8))
            .find(|code| !(-8..8).contains(code)),
        Elem::U4 => bytes.map(|&byte| i64::from(byte)).find(|code| *code >= 16),
        _ => None,
    };
    match beyond {
        Some(code) => Err(wrong(format!("codes of {elem}"), format!("{code}"))),
        None => Ok(()),
    }
}
