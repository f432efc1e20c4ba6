//! The activations of recurrent layers: the name of each in ONNX, and its parameters. Reader and writer use this table.

use strait_core::op::Activation;

/// A parameter of an activation.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Parameter {
    /// The activation does not have this parameter.
    Absent,
    /// The value of the parameter if the model does not state one.
    Or(f32),
    /// The model has to state the parameter.
    Stated,
}

use Parameter::{Absent, Or, Stated};

/// Each activation, its name, and its parameters alpha and beta. The defaults are those of the elementwise operators.
pub(crate) const ACTIVATIONS: [(Activation, &str, [Parameter; 2]); 11] = [
    (Activation::Sigmoid, "Sigmoid", [Absent, Absent]),
    (Activation::Tanh, "Tanh", [Absent, Absent]),
    (Activation::Relu, "Relu", [Absent, Absent]),
    (Activation::Affine, "Affine", [Stated, Stated]),
    (Activation::LeakyRelu, "LeakyRelu", [Or(0.01), Absent]),
    (Activation::ThresholdedRelu, "ThresholdedRelu", [Or(1.0), Absent]),
    (Activation::ScaledTanh, "ScaledTanh", [Stated, Stated]),
    (Activation::HardSigmoid, "HardSigmoid", [Or(0.2), Or(0.5)]),
    (Activation::Elu, "Elu", [Or(1.0), Absent]),
    (Activation::Softsign, "Softsign", [Absent, Absent]),
    (Activation::Softplus, "Softplus", [Absent, Absent]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_activation_has_a_row() {
        for activation in Activation::ALL {
            assert!(ACTIVATIONS.iter().any(|(own, ..)| *own == activation), "{activation:?}");
        }
    }
}
