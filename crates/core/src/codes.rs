//! Codes of errors and warnings that concern the configuration and its data. They are stable, because programs depend
//! on them.

/// The model cannot be read.
pub const MODEL: &str = "M001";
/// The model's file does not have the digest that the configuration states.
pub const DIGEST: &str = "M002";
/// A dimension of the model has no size.
pub const FREE_DIMENSION: &str = "M003";
/// The model has operators that we do not know.
pub const OPERATOR: &str = "M004";
/// The model cannot be run.
pub const RUN: &str = "M005";
/// The model cannot be cut at the place that the configuration names.
pub const CUT: &str = "M006";
/// The batch dimension of the model has no size and is bound to 1.
pub const BATCH: &str = "M007";
/// The file declares another shape for an output than the operators give it. A warning.
pub const MISSTATED: &str = "M009";
/// A graph inside of a node is left out, because it can never run. A warning.
pub const DROPPED: &str = "M010";
/// Data files with the model's weights cannot be read.
pub const DATA_FILES: &str = "M008";
/// A rule of the configuration matches nothing, or asks for something impossible.
pub const RULE: &str = "Q001";
/// An output of the integer model has almost nothing in common with the float model. A warning.
pub const SANITY: &str = "Q002";
/// A run needs more memory than allowed.
pub const MEMORY: &str = "S002";
/// A run needs more operations than allowed.
pub const WORK: &str = "S003";
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
/// The float model's figure is worse than `expect_float`. A warning.
pub const EXPECTED: &str = "E003";
/// An output that a metric reads contains NaN or infinity.
pub const NOT_A_NUMBER: &str = "E004";
/// The float model has another figure than the known one.
pub const UNEXPECTED: &str = "E005";
/// The configuration wants to run a command, but commands are not allowed.
pub const COMMANDS: &str = "E006";
/// A command failed, or its output cannot be used.
pub const COMMAND: &str = "E007";
/// A sample has another shape, or another number of tensors, than the model expects.
pub const SAMPLE_SHAPE: &str = "D005";
/// There are no samples, or not the required number.
pub const NO_SAMPLES: &str = "D006";
/// A sample cannot be used.
pub const SAMPLE: &str = "D008";
/// All numbers in the calibration samples of an input are the same. A warning.
pub const CONSTANT: &str = "D011";
/// Files of statistics cannot be merged, because they are invalid, damaged, or do not belong together.
pub const STATISTICS: &str = "D012";
/// The calibration samples are random numbers. A warning.
pub const RANDOM: &str = "D014";
/// Images that cannot be decoded are left out. A warning.
pub const LEFT_OUT: &str = "D015";
/// A value becomes NaN on the calibration samples. A warning, or an error if the configuration says so.
pub const NAN: &str = "D016";
/// Recorded vectors that cannot be used.
pub const VECTORS: &str = "D013";
/// A file cannot be written.
pub const OUTPUT: &str = "A002";
/// The artifact is damaged: a file is missing, or has changed since the artifact was made.
pub const DAMAGED: &str = "A003";
