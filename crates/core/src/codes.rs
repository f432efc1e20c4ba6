//! Codes of errors and warnings about the configuration and its data. The codes are stable, because programs depend on
//! them.

/// Declares the codes of a group: a constant for each code, and the list of all of them.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: &str = $code;)*

        /// Every code with its meaning, in the order of this list.
        pub const ALL: &[(&str, &str)] = &[$(($code, concat!($($doc),+))),*];
    };
}

codes! {
    /// The model cannot be read.
    MODEL = "M001";
    /// The digest of the model's file is not the one that the configuration states.
    DIGEST = "M002";
    /// A dimension of the model has no fixed size.
    FREE_DIMENSION = "M003";
    /// The model has operators that Strait does not know.
    OPERATOR = "M004";
    /// The model cannot be run.
    RUN = "M005";
    /// The model cannot be cut at the place that the configuration names.
    CUT = "M006";
    /// The batch dimension of the model has no fixed size, so it is set to 1. A warning.
    BATCH = "M007";
    /// A data file with weights of the model cannot be read.
    DATA_FILES = "M008";
    /// The file declares a shape for an output, but its operators compute another shape. A warning.
    MISSTATED = "M009";
    /// A graph inside of a node can never run, so it is left out. A warning.
    DROPPED = "M010";
    /// A rule of the configuration matches nothing, or asks for something impossible.
    RULE = "Q001";
    /// An output of the integer model is almost completely different from that of the float model. A warning.
    SANITY = "Q002";
    /// Tensors cannot have the scale and the zero point that a file of parameters gives them, or the file names tensors that the
    /// model does not have. A remark, if they only share the codes of others or are no codes.
    PARAMS = "Q003";
    /// The target is not registered, or its table, kernels or options are wrong.
    TARGET = "T001";
    /// The target cannot do what the configuration asks for.
    UNSUPPORTED = "T002";
    /// A fusion was refused, and the configuration treats that as an error.
    FUSION = "T003";
    /// A file or a folder with samples or labels cannot be read.
    FILE = "D001";
    /// A file with samples or labels is truncated, or does not have the format that its name stands for.
    FORMAT = "D002";
    /// The numbers in a file with samples or labels have a type that Strait does not read.
    TYPE = "D003";
    /// A sample does not have the shape that the model expects, or not the expected number of tensors.
    SAMPLE_SHAPE = "D005";
    /// There are no samples, or not as many as required.
    NO_SAMPLES = "D006";
    /// The names of arrays, files or folders with samples are not the names of the inputs of the model.
    NAME = "D007";
    /// A sample cannot be used.
    SAMPLE = "D008";
    /// The preprocessing does not fit the samples.
    PREPROCESSING = "D009";
    /// A label is not the number of a class.
    LABEL = "D010";
    /// All numbers that the calibration samples have for an input are equal. A warning.
    CONSTANT = "D011";
    /// Files of statistics cannot be merged, because they are invalid, damaged, or do not belong together.
    STATISTICS = "D012";
    /// Recorded test vectors cannot be used.
    VECTORS = "D013";
    /// The calibration samples are random numbers. A warning.
    RANDOM = "D014";
    /// Some images cannot be decoded and are left out. A warning.
    LEFT_OUT = "D015";
    /// A value becomes NaN on the calibration samples. A warning, or an error if the configuration says so.
    NAN = "D016";
    /// The evaluation is not possible.
    EVALUATION = "E001";
    /// The float model is not better than guessing. A warning.
    GUESSING = "E002";
    /// The float model's metric is worse than `expect_float`. A warning.
    EXPECTED = "E003";
    /// An output that a metric reads contains NaN or infinity.
    NOT_A_NUMBER = "E004";
    /// The metric of the float model is not the value that the configuration expects.
    UNEXPECTED = "E005";
    /// The configuration contains a command to run, but commands are not allowed.
    COMMANDS = "E006";
    /// A command failed, or its output cannot be used.
    COMMAND = "E007";
    /// The artifact cannot be read or written.
    ARTIFACT = "A001";
    /// A file cannot be written.
    OUTPUT = "A002";
    /// The artifact is damaged: a file is missing, or has changed since the artifact was made.
    DAMAGED = "A003";
    /// The machine does not have the instruction set that was asked for.
    INSTRUCTION_SET = "S001";
    /// A run needs more memory than allowed.
    MEMORY = "S002";
    /// A run needs more operations than allowed.
    WORK = "S003";
    /// Results cannot be exchanged with the processes that have the other shares.
    EXCHANGE = "S004";
    /// A defect in Strait.
    DEFECT = "S999";
}
