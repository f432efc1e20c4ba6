//! Inputs of a run, held against those of the graph.

use crate::error::ExecuteError;
use crate::tensor::TensorView;
use strait_core::Elem;

/// Checks type, extents and codes of a tensor that is given for an input. A code of 4 bits has a byte of its own, which can
/// hold numbers that are no codes: no table has an entry for them.
///
/// # Errors
/// [`ExecuteError::Input`], with the first code that is none.
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
