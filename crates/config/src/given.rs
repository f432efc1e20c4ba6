//! Grids and codes that a program adds to a configuration. No key of the file can express them.

use strait_core::{Elem, Port, QuantParams, TensorData};

/// The grid of an operand or a result that is known in advance, for example from a record of another compilation. If its layer
/// runs in integers, it uses exactly this grid. Otherwise the layer moves to the host with the reason `given-grid`.
#[derive(Clone, Debug)]
pub struct Given {
    /// The source name of the layer.
    pub layer: String,
    /// The operand or result, counted in the layer after the target-independent rewrite rules.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// For a parameter: its codes. They are used instead of rounding the numbers.
    pub codes: Option<TensorData>,
}
