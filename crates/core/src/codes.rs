//! The codes of what can go wrong behind a configuration and its data. They are stable: programs act on them.

/// The model cannot be read.
pub const MODEL: &str = "M001";
/// The model's file is not the one that the configuration names by its digest.
pub const DIGEST: &str = "M002";
/// A dimension of the model has no size.
pub const FREE_DIMENSION: &str = "M003";
/// The model has operators that are not known.
pub const OPERATOR: &str = "M004";
/// The model cannot be run.
pub const RUN: &str = "M005";
/// The model cannot be cut where the configuration says.
pub const CUT: &str = "M006";
/// The batch of the model has no size, and is bound to 1.
pub const BATCH: &str = "M007";
/// The file declares another shape of an output than its operators make. A warning.
pub const MISSTATED: &str = "M009";
/// A graph inside of a node is left out, since no run gets through it. A warning.
pub const DROPPED: &str = "M010";
/// Files that the model's weights are in cannot be read.
pub const DATA_FILES: &str = "M008";
/// A rule of the configuration matches nothing, or asks for what cannot be.
pub const RULE: &str = "Q001";
/// Little of the float model is left in an output of the integer model. A warning.
pub const SANITY: &str = "Q002";
/// A run takes more memory than it may.
pub const MEMORY: &str = "S002";
/// A run takes more operations than it may.
pub const WORK: &str = "S003";
/// The target is not registered, or its table, kernels or options are wrong.
pub const TARGET: &str = "T001";
/// The target cannot do what is asked of it.
pub const UNSUPPORTED: &str = "T002";
/// A fusion was refused, and the configuration makes that an error.
pub const FUSION: &str = "T003";
/// The artifact cannot be read or written.
pub const ARTIFACT: &str = "A001";
/// The evaluation is not possible.
pub const EVALUATION: &str = "E001";
/// The float model is no better than guessing, or worse. A warning.
pub const GUESSING: &str = "E002";
/// The float model is worse than `expect_float` says. A warning.
pub const EXPECTED: &str = "E003";
/// An output that a metric is to judge holds NaN or infinity.
pub const NOT_A_NUMBER: &str = "E004";
/// The float model has another figure than the one that is known.
pub const UNEXPECTED: &str = "E005";
/// A command is to be started, and commands are not allowed.
pub const COMMANDS: &str = "E006";
/// A command failed, or printed what cannot be used.
pub const COMMAND: &str = "E007";
/// A sample has another shape, or another number of tensors, than the model takes.
pub const SAMPLE_SHAPE: &str = "D005";
/// There are no samples, or not as many as there have to be.
pub const NO_SAMPLES: &str = "D006";
/// A sample cannot be used.
pub const SAMPLE: &str = "D008";
/// All numbers of the calibration samples of an input are the same. A warning.
pub const CONSTANT: &str = "D011";
/// Files of statistics cannot be joined: they are none, damaged, or do not belong together.
pub const STATISTICS: &str = "D012";
/// The calibration samples are random numbers. A warning.
pub const RANDOM: &str = "D014";
/// Images that cannot be decoded are left out. A warning.
pub const LEFT_OUT: &str = "D015";
/// Values are NaN in runs on the calibration samples. A warning, or an error where the configuration says so.
pub const NAN: &str = "D016";
/// Recorded vectors that cannot be used.
pub const VECTORS: &str = "D013";
/// A file cannot be written.
pub const OUTPUT: &str = "A002";
/// The artifact is damaged: a file of it is missing, or is not what it was when the artifact was made.
pub const DAMAGED: &str = "A003";
