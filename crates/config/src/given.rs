//! Grids and codes that a program states beside a configuration: no key of the file has them.

use strait_core::{Elem, Port, QuantParams, TensorData};

/// The grid of an operand or a result that is known before the model is quantized, as from a record of another compilation.
/// Where its layer runs in integers, it is kept as it is, or the layer moves to the host and says why (`given-grid`).
#[derive(Clone, Debug)]
pub struct Given {
    /// The source name of the layer.
    pub layer: String,
    /// Which of its operands or results, as the layer stands behind the rules that know no target.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// Of a parameter: its codes, which are taken instead of rounding.
    pub codes: Option<TensorData>,
}
