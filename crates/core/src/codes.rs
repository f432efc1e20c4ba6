//! Codes of errors and warnings about the configuration and its data. The codes are stable, because programs depend on
//! them.

/// The model cannot be read.
pub const MODEL: &str = "M001";
/// The digest of the model's file is not the one that the configuration states.
pub const DIGEST: &str = "M002";
/// A dimension of the model has no fixed size.
pub const FREE_DIMENSION: &str = "M003";
/// The model has operators that Strait does not know.
pub const OPERATOR: &str = "M004";
/// The model cannot be run.
pub const RUN: &str = "M005";
/// The model cannot be cut at the place that the configuration names.
pub const CUT: &str = "M006";
/// The batch dimension of the model has no fixed size, so it is set to 1. A warning.
pub const BATCH: &str = "M007";
/// The file declares a shape for an output, but its operators compute another shape. A warning.
pub const MISSTATED: &str = "M009";
/// A graph inside of a node can never run, so it is left out. A warning.
pub const DROPPED: &str = "M010";
/// A data file with weights of the model cannot be read.
pub const DATA_FILES: &str = "M008";
/// A rule of the configuration matches nothing, or asks for something impossible.
pub const RULE: &str = "Q001";
/// An output of the integer model is almost completely different from that of the float model. A warning.
pub const SANITY: &str = "Q002";
/// A run needs more memory than allowed.
pub const MEMORY: &str = "S002";
/// A run needs more operations than allowed.
pub const WORK: &str = "S003";
/// Results cannot be exchanged with the processes that have the other shares.
pub const EXCHANGE: &str = "S004";
/// The target is not registered, or its table, kernels or options are wrong.
pub const TARGET: &str = "T001";
/// The target cannot do what the configuration asks for.
pub const UNSUPPORTED: &str = "T002";
/// A fusion was refused, and the configuration treats that as an error.
pub const FUSION: &str = "T003";
/// The artifact cannot be read or written.
pub const ARTIFACT: &str = "A001";
/// The evaluation is not possible.
pub const EVALUATION: &str = "E001";
/// The float model is not better than guessing. A warning.
pub const GUESSING: &str = "E002";
/// The float model's metric is worse than `expect_float`. A warning.
pub const EXPECTED: &str = "E003";
/// An output that a metric reads contains NaN or infinity.
pub const NOT_A_NUMBER: &str = "E004";
/// The metric of the float model is not the value that the configuration expects.
pub const UNEXPECTED: &str = "E005";
/// The configuration contains a command to run, but commands are not allowed.
pub const COMMANDS: &str = "E006";
/// A command failed, or its output cannot be used.
pub const COMMAND: &str = "E007";
/// A sample does not have the shape that the model expects, or not the expected number of tensors.
pub const SAMPLE_SHAPE: &str = "D005";
/// There are no samples, or not as many as required.
pub const NO_SAMPLES: &str = "D006";
/// A sample cannot be used.
pub const SAMPLE: &str = "D008";
/// All numbers that the calibration samples have for an input are equal. A warning.
pub const CONSTANT: &str = "D011";
/// Files of statistics cannot be merged, because they are invalid, damaged, or do not belong together.
pub const STATISTICS: &str = "D012";
/// The calibration samples are random numbers. A warning.
pub const RANDOM: &str = "D014";
/// Some images cannot be decoded and are left out. A warning.
pub const LEFT_OUT: &str = "D015";
/// A value becomes NaN on the calibration samples. A warning, or an error if the configuration says so.
pub const NAN: &str = "D016";
/// Recorded test vectors cannot be used.
pub const VECTORS: &str = "D013";
/// A file cannot be written.
pub const OUTPUT: &str = "A002";
/// The artifact is damaged: a file is missing, or has changed since the artifact was made.
pub const DAMAGED: &str = "A003";
