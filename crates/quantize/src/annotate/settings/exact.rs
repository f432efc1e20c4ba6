//! Scale and zero point that a file of parameters gives to a tensor.

use strait_core::{Dim, Elem, QuantParams, Scheme};

/// Scale and zero point that a value, or one operand, takes instead of those that its statistics lead to. Unlike a given
/// grid ([`Given`](super::Given)), it has no influence on where nodes run and on which operands share a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
}

impl Exact {
    /// Scale and zero point for a config with this scheme, whose value has this shape. If the codes of the scheme have the
    /// other signedness, codes and zero point change by the same number, so that all real numbers stay the same.
    ///
    /// # Errors
    /// The scheme does not have such a grid. The text is the end of a sentence whose subject is the grid.
    pub fn on(&self, scheme: Scheme, shape: &[Dim]) -> Result<QuantParams, String> {
        let params = match scheme.elem() {
            Some(own) if own == self.elem => self.params.clone(),
            Some(own) if self.elem.other_sign() == Some(own) => self.params.moved(self.elem.distance_to(own)),
            _ => {
                return Err(format!(
                    "has codes of {} bits, and {scheme} is needed",
                    self.elem.bits()
                ));
            }
        };
        match scheme.misfit(&params, shape) {
            Some(wrong) => Err(wrong.to_owned()),
            None => Ok(params),
        }
    }
}
