//! Grids and codes that a program adds to a configuration. The configuration file itself has no keys for them.

use strait_core::{Elem, Port, QuantParams, TensorData};

/// A grid that is known in advance, for an operand or a result. For example, it comes from a record of another
/// compilation. If the layer can compute in integers with exactly this grid, it does. Otherwise the layer runs on the
/// host, with the reason `given-grid`.
#[derive(Clone, Debug)]
pub struct Given {
    /// The source name of the layer.
    pub layer: String,
    /// The operand or result of the layer, counted as it is after the target-independent rewrite rules.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// If the operand is a parameter: the codes of its numbers. They are used instead of rounding the numbers.
    pub codes: Option<TensorData>,
}
