//! The trait that says how an op is written, and the list of the operators from which each op is read.

pub(super) use super::at::At;
pub(super) use crate::error::WriteError;
pub(super) use crate::write::emitter::Emitter;
use strait_core::{Graph, Node};

/// An op that can be written as ONNX operators.
#[diagnostic::on_unimplemented(
    message = "ONNX has no operator for `{Self}` yet",
    note = "add a row to `operators!` or `without_operator!` of `write/ops/mod.rs`, or implement `Operator` in a file beside it"
)]
pub(in crate::write) trait Operator: Read {
    /// Writes a node with this op.
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError>;

    /// The first operator set that can express the node.
    fn since(&self, _graph: &Graph, _node: &Node) -> i64 {
        1
    }
}

/// An op for which it is known whether an ONNX operator is read as this op. The macro `read_from!` implements the trait.
#[diagnostic::on_unimplemented(
    message = "nothing says from which ONNX operators `{Self}` is read",
    note = "add a row to `read_from!` of `write/ops/operator.rs`"
)]
pub(in crate::write) trait Read {}

/// Lists ONNX operators that are read as an op. Compiling fails if no row in `read/ops` reads one of them.
macro_rules! read_from {
    ($($op:ident: $($name:literal)*;)*) => { $(
        $(const _: () = assert!(crate::read::is_read($name), concat!("no row of `read/ops` reads the operator ", $name));)*
        impl $crate::write::ops::operator::Read for strait_core::op::$op {}
    )* };
}
pub(super) use read_from;

read_from! {
    ArgReduce: "ArgMax" "ArgMin";
    AveragePool: "AveragePool";
    Binary: "And" "Or" "Xor" "Mod" "Min" "Max";
    BitCast: "BitCast";
    Cast: "Cast";
    Clip: "Clip";
    Col2Im: "Col2Im";
    Compare: "Equal" "Greater" "Less";
    Conv: "Conv";
    Cumulative: "CumSum";
    Dequantize: "DequantizeLinear";
    Dft: "DFT";
    Gemm: "Gemm";
    GridSample: "GridSample";
    If: "If";
    Loop: "Loop" "Scan";
    MatMul: "MatMul";
    Mul: "Mul";
    Pad: "Pad";
    Quantize: "QuantizeLinear";
    Recurrent: "RNN" "GRU" "LSTM";
    Reduce: "ReduceMax" "ReduceMean" "ReduceMin" "ReduceProd" "ReduceSum";
    Resize: "Resize";
    RmsNormalization: "RMSNormalization";
    RoiAlign: "RoiAlign";
    Scatter: "ScatterElements" "ScatterND";
    Squeeze: "Squeeze";
    TopK: "TopK";
    Unary: "Abs" "Exp" "Sigmoid" "Tanh";
}

// No ONNX operator is read as one of these ops. They are created by passes, targets or readers of other formats.
read_from! {
    Call: ;
    Clamp: ;
    Foreign: ;
    IntegerLayerNormalization: ;
    IntegerResize: ;
    IntegerSoftmax: ;
    Interpolate: ;
    Lookup: ;
    Requantize: ;
    RoundTo: ;
    ScaledAdd: ;
    ShiftLeft: ;
    SumPool: ;
}
