//! The rules, one file each.

mod batch_normalization_into_producer;
mod batch_normalization_into_reader;
mod batch_normalization_to_conv;
mod bias_into_producer;
mod canonical_gemm;
mod conv_transpose_to_conv;
mod dead_node;
mod division_to_multiplication;
mod fold_constants;
mod function;
mod gather_to_slice;
mod layer_normalization;
mod matmul_to_gemm;
mod merge_reshapes;
mod merge_transposes;
mod pad_into_conv;
mod remove_identity;
mod silu_to_sigmoid;

pub use batch_normalization_into_producer::BatchNormalizationIntoProducer;
pub use batch_normalization_into_reader::BatchNormalizationIntoReader;
pub use batch_normalization_to_conv::BatchNormalizationToConv;
pub use bias_into_producer::BiasIntoProducer;
pub use canonical_gemm::CanonicalGemm;
pub use conv_transpose_to_conv::ConvTransposeToConv;
pub use dead_node::DeadNode;
pub use division_to_multiplication::DivisionToMultiplication;
pub use fold_constants::FoldConstants;
pub use function::TakenApart;
pub use gather_to_slice::GatherToSlice;
pub use layer_normalization::LayerNormalization;
pub use matmul_to_gemm::MatMulToGemm;
pub use merge_reshapes::MergeReshapes;
pub use merge_transposes::MergeTransposes;
pub use pad_into_conv::PadIntoConv;
pub use remove_identity::RemoveIdentity;
pub use silu_to_sigmoid::SiluToSigmoid;
