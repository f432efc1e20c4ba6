//! The codes of reasons. They are a closed list with a sentence for each code, to which
//! `crates/explain` adds an example and a remedy.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

macro_rules! reason_codes {
    ($($group:literal { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)* })*) => {
        /// The code of a [`crate::Reason`]. Codes are for programs, and never change. `docs/codes.md` explains them.
        ///
        /// A program can match on this type. [`fmt::Display`] writes a code as the word that stands in reports, in the text form
        /// and in IR bytes, and `From<&str>` converts such a word back to the code.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", from = "String")]
        #[non_exhaustive]
        pub enum ReasonCode {
            $($($(#[doc = $doc])+ $variant,)*)*
            /// `target-limit-QUANTITY`: this quantity of the op is outside a limit of the op's row in the target's table.
            TargetLimit(Cow<'static, str>),
            /// A code of a target's own crate.
            Vendor(Cow<'static, str>),
        }

        impl ReasonCode {
            /// All groups of codes: a group has a title, and a word and a sentence for each of its codes.
            pub const GROUPS: &'static [(&'static str, &'static [(&'static str, &'static str)])] =
                &[$(($group, &[$(($word, concat!($($doc),+))),*])),*];

            fn word(&self) -> (&'static str, &str) {
                match self {
                    $($(ReasonCode::$variant => ("", $word),)*)*
                    ReasonCode::TargetLimit(quantity) => (TARGET_LIMIT, quantity),
                    ReasonCode::Vendor(word) => ("", word),
                }
            }

            fn listed(word: &str) -> Option<ReasonCode> {
                match word { $($($word => Some(ReasonCode::$variant),)*)* _ => None }
            }
        }
    };
}

/// The begin of the word for a [`ReasonCode::TargetLimit`], before the quantity.
const TARGET_LIMIT: &str = "target-limit-";

reason_codes! {
    "Types and shapes" {
        /// An op has too few or too many operands, or a required one is missing.
        Arity = "arity",
        /// A list of axes names an axis twice, or has the wrong length.
        Axes = "axes",
        /// The tensor does not have this axis.
        Axis = "axis",
        /// A parameter of a batch normalization does not have exactly one number for each channel.
        BatchNormalizationChannels = "batch-normalization-channels",
        /// The operand of a batch normalization has no channel axis.
        BatchNormalizationRank = "batch-normalization-rank",
        /// Two shapes cannot be broadcast to each other.
        Broadcast = "broadcast",
        /// A called graph does not exist, or has too many outputs.
        Call = "call",
        /// The lower bound of a clamp is above the upper one, or a bound does not fit the element type.
        Clamp = "clamp",
        /// Concatenated tensors differ in element type or in the extent of another axis, or the concatenated axis is symbolic.
        Concat = "concat",
        /// The stride, padding or dilation of a convolution does not match its spatial axes, or the channels cannot be divided
        /// into its groups.
        ConvAttributes = "conv-attributes",
        /// The bias of a convolution does not have exactly one number for each output channel.
        ConvBias = "conv-bias",
        /// The operand and the weight of a convolution have different numbers of channels, or these are symbolic.
        ConvChannels = "conv-channels",
        /// The operand and the weight of a convolution have different ranks, or too few axes.
        ConvRank = "conv-rank",
        /// The weight of a convolution has a symbolic or an impossible shape.
        ConvWeight = "conv-weight",
        /// `dequantize` has to read integers and make floats.
        DequantizeType = "dequantize-type",
        /// The element types of the operands cannot be combined.
        ElementTypes = "element-types",
        /// Strait cannot infer the results of a foreign op.
        Foreign = "foreign",
        /// The indices of a gather are not i64.
        Gather = "gather",
        /// The bias of a matrix product cannot be broadcast to its result.
        GemmBias = "gemm-bias",
        /// `alpha` and `beta` have to be 1 in a product of integers.
        GemmFactors = "gemm-factors",
        /// The two factors of a product have different inner extents.
        GemmInner = "gemm-inner",
        /// The factors of a `gemm` need two axes.
        GemmRank = "gemm-rank",
        /// The integer function of a layer normalization does not support this type of codes or rows of this length.
        LayerNormalizationDomain = "layer-normalization-domain",
        /// The scale or the bias of a layer normalization does not have the shape of the normalized axes.
        LayerNormalizationShape = "layer-normalization-shape",
        /// The table of a lookup does not have an entry for each code of its operand, or the operand has more than 16 bits.
        Lookup = "lookup",
        /// The integer function that computes the entries of a lookup table does not support these grids.
        LookupDomain = "lookup-domain",
        /// The two factors of a `matmul` have different inner extents.
        MatmulInner = "matmul-inner",
        /// A factor of a `matmul` has too few axes.
        MatmulRank = "matmul-rank",
        /// The results of a call can only be inferred together with the module that has the called graph.
        ModuleNeeded = "module-needed",
        /// The types, ranks or extents of the operands do not match each other or the attributes.
        Operands = "operands",
        /// The amounts of padding do not match the operand, or an axis cannot be padded like this.
        Pad = "pad",
        /// A permutation does not name each axis exactly once.
        Permutation = "permutation",
        /// The operand that selects a channel of parameters for each element has an unsuitable type or shape, or is not
        /// allowed here.
        PickedChannels = "picked-channels",
        /// The size, stride, padding or dilation of a pool does not match its operand.
        Pool = "pool",
        /// A window of an average pool is empty, or counts fewer elements at the border.
        PoolCount = "pool-count",
        /// The operand of a pool has no spatial axes.
        PoolRank = "pool-rank",
        /// `quantize` has to read floats and make integers of 8, 16 or 32 bits.
        QuantizeType = "quantize-type",
        /// The form of a requantization is not for the number of channels that the tensor has.
        RequantizeChannels = "requantize-channels",
        /// `requantize` has to read integers.
        RequantizeType = "requantize-type",
        /// The number of elements does not fit the requested shape.
        Reshape = "reshape",
        /// The scales or sizes of a resize do not match its operand.
        Resize = "resize",
        /// The factors or the type of an addition of codes are not legal.
        ScaledAdd = "scaled-add",
        /// A left shift overflows 32 bits, or its operand cannot be shifted.
        ShiftLeft = "shift-left",
        /// The lists of a slice do not match its operand, a step is 0, or the axis is symbolic.
        Slice = "slice",
        /// The integer function of a softmax does not support this type of codes or rows of this length.
        SoftmaxDomain = "softmax-domain",
        /// The sizes of a split do not add up to the extent of its axis.
        Split = "split",
        /// A squeezed axis does not have extent 1.
        Squeeze = "squeeze",
        /// The extent of an axis over which a window moves is symbolic.
        SymbolicWindow = "symbolic-window",
        /// A result exceeds the limits on the rank or on the number of elements.
        TooLarge = "too-large",
        /// The weights have neither a single zero point nor one for each output.
        WeightZeros = "weight-zeros",
        /// A window does not fit into its operand.
        Window = "window",
    }
    "Reading a model" {
        /// An attribute does not have the type that its operator requires.
        AttributeType = "attribute-type",
        /// An extent is not a multiple of the block size.
        Blocks = "blocks",
        /// A `Cast` does not name the type of its result.
        Cast = "cast",
        /// The interval of a `Clip` is empty.
        Clip = "clip",
        /// A constant has a type or a value that is not allowed in this place.
        Constant = "constant",
        /// The nodes of the model form a cycle.
        Cycle = "cycle",
        /// A graph inside a node, such as a branch of an `If`, can never run to its end with these extents.
        DeadGraph = "dead-graph",
        /// The model states two versions of the same operator set.
        DuplicateOpset = "duplicate-opset",
        /// Two tensors have the same name.
        DuplicateTensor = "duplicate-tensor",
        /// A number or a shape exceeds a limit of Strait.
        Limit = "limit",
        /// A required operand is missing.
        MissingOperand = "missing-operand",
        /// No tensor has this name.
        MissingTensor = "missing-tensor",
        /// An attribute, or an operand that is read as an attribute, is NaN.
        Nan = "nan",
        /// The model has no outputs.
        NoOutputs = "no-outputs",
        /// An operand has an element type that its operator does not accept.
        OperandType = "operand-type",
        /// An output has another type than the one that the model states.
        OutputType = "output-type",
        /// The extent of an axis has to be known, but is symbolic.
        SymbolicAxis = "symbolic-axis",
        /// The model computes with a shape that is symbolic.
        SymbolicShape = "symbolic-shape",
        /// A softmax of an old operator set merges axes, one of which is symbolic.
        SymbolicSoftmax = "symbolic-softmax",
        /// Strait does not support this operator, or this use of it.
        Unsupported = "unsupported",
    }
    "Rules" {
        /// The layer already has a bias, which is not a constant with one number for each channel.
        Bias = "bias",
        /// A convolution is computed on blocks of an image, and its results are not put back where the blocks came from.
        BlockOrder = "block-order",
        /// A convolution over blocks of an image has a stride above 1.
        BlockStride = "block-stride",
        /// The operands of a concat do not all come from layers into which the rule can fold something, or these layers differ.
        Branches = "branches",
        /// The node cannot be computed at compile time.
        CannotRun = "cannot-run",
        /// The folded constant would be too large.
        ConstantSize = "constant-size",
        /// The configuration forbids merging this layer into another one.
        KeptLayer = "kept-layer",
        /// A parameter is not a constant.
        NotConstant = "not-constant",
        /// A number is, or would become, NaN or infinite.
        NotFinite = "not-finite",
        /// A constant does not have exactly one number for each channel.
        NotPerChannel = "not-per-channel",
        /// The result is an output of the graph, and the value that would replace it cannot take its name.
        OutputName = "output-name",
        /// The padding is not only along spatial axes.
        PadAxes = "pad-axes",
        /// The padding does not consist of zeros.
        PadMode = "pad-mode",
        /// Another node also reads the value.
        SeveralUses = "several-uses",
    }
    "Placement and grids" {
        /// The node only moves data between nodes on the host.
        BetweenHostNodes = "between-host-nodes",
        /// The bias is not a constant.
        BiasNotConstant = "bias-not-constant",
        /// The bias does not have exactly one number for each output.
        BiasShape = "bias-shape",
        /// The node clips real numbers from the host, and stays on the host too. If the numbers were quantized before
        /// they are clipped, codes would be spent on numbers that are clipped away.
        ClipsReals = "clips-reals",
        /// The configuration runs this layer in float.
        Configuration = "configuration",
        /// An extent of an operand or a result depends on the data.
        ExtentDependsOnData = "extent-depends-on-data",
        /// The node needs codes with more bits than its operand has, so it reads real numbers instead.
        FewBits = "few-bits",
        /// Ops in float read the result, so the node stays in float, too.
        FloatIsRead = "float-is-read",
        /// The node computes a function, a comparison or a mean, and its operands are real numbers from the host. It
        /// stays on the host too, because quantizing its operands would cost accuracy.
        FunctionOfReals = "function-of-reals",
        /// A `gemm` is not a·bᵀ + bias with a constant b.
        GemmForm = "gemm-form",
        /// A group of connected nodes has no convolution, Gemm or MatMul, and only the host reads its results.
        Island = "island",
        /// A mean is not over all spatial axes.
        MeanAxes = "mean-axes",
        /// A pass or a rule needs another grid than the one that the model, a record or a definition fixes.
        GivenGrid = "given-grid",
        /// An operand or a result has no elements, so there is nothing to quantize.
        NoElements = "no-elements",
        /// No grid of the result makes the factor from the accumulator to the result a power of two that a shift can express.
        NoShift = "no-shift",
        /// The node computes on integers in the model.
        NotFloat = "not-float",
        /// There are no statistics of the value, because no calibration sample reached it.
        NotObserved = "not-observed",
        /// The padding value is not a code of the grid.
        PadValue = "pad-value",
        /// A quantization config is not in the state that the change requires.
        QuantizationState = "quantization-state",
        /// A range is empty or not finite, needs a scale that no f32 can hold, or includes negative numbers, which the codes
        /// cannot represent.
        Range = "range",
        /// A resize has a mode that interpolates.
        ResizeMode = "resize-mode",
        /// The scale of the accumulator is larger than every measured result of the layer, so rounding to the accumulator's grid
        /// would destroy all results.
        SumStep = "sum-step",
        /// Code in the target's crate refuses the node, although the target's table allows it.
        TargetCode = "target-code",
        /// The target's table keeps the op on the host.
        TargetHost = "target-host",
        /// The target's table has no row for the op.
        TargetNoRow = "target-no-row",
        /// A quantity that the table limits is too large to be computed.
        TargetOverflow = "target-overflow",
        /// A quantity that the table limits is symbolic.
        TargetSymbolic = "target-symbolic",
        /// The operands of a concatenation have very different ranges, and only the host reads the result. So each
        /// operand keeps its own grid.
        UnlikeParts = "unlike-parts",
        /// An operand is needed on another grid than the one on which it was computed, and the target cannot requantize codes.
        TwoGrids = "two-grids",
        /// The weights are not constants.
        WeightNotConstant = "weight-not-constant",
        /// A weight or a bias is NaN or infinite.
        WeightNotFinite = "weight-not-finite",
        /// The weights are too large or too small for a scale in f32.
        WeightScale = "weight-scale",
    }
    "Forms" {
        /// The table row does not allow such a clamp after its forms.
        FormClamp = "form-clamp",
        /// No integers within the limits of the row's form express the factor.
        FormFactor = "form-factor",
        /// The parameters of the form contradict each other.
        FormIllegal = "form-illegal",
        /// The row requires another kind of form.
        FormKind = "form-kind",
        /// A multiplier is outside of the row's limits.
        FormMultiplier = "form-multiplier",
        /// The result of the form has another type than the row states.
        FormOutput = "form-output",
        /// The form has parameters for each channel and the row for the whole tensor, or the other way round.
        FormPer = "form-per",
        /// The form and the row round differently.
        FormRounding = "form-rounding",
        /// A shift is outside of the row's limits.
        FormShift = "form-shift",
        /// The row's form cannot have this zero point.
        FormZeroPoint = "form-zero-point",
        /// No form can be used: no form of the row can compute the requantization, or the row names no forms.
        NoForm = "no-form",
        /// The form is not defined for every accumulator that can occur.
        OutsideDomain = "outside-domain",
    }
    "Lowering" {
        /// A sum can overflow its accumulator.
        AccumulatorOverflow = "accumulator-overflow",
        /// A bias, divided by the scale of the accumulator, does not fit the type that the target has for biases.
        BiasWidth = "bias-width",
        /// A value has no grid, or no single grid for the whole tensor.
        NoGrid = "no-grid",
        /// A value or a tensor is missing.
        NoValue = "no-value",
        /// A parameter cannot be read or converted to integers.
        Parameter = "parameter",
        /// The node stays on the host in this attempt to compile, so that the compiler can find further nodes that have to stay
        /// there.
        Refused = "refused",
        /// A lookup table cannot be made, or no single table is right for all channels.
        Table = "table",
        /// A lookup table is for codes of another type than its operand has.
        TableType = "table-type",
        /// A zero point cannot be removed, or several zero points have to be equal and are not.
        ZeroPoint = "zero-point",
    }
    "Fusion" {
        /// The producer's result is not an accumulator.
        Accumulator = "accumulator",
        /// The producer already has a requantization that is not the identity.
        AlreadyFused = "already-fused",
        /// No single form computes the same as the two requantizations after the producer.
        Chain = "chain",
        /// The channels of the requantization lie along another axis than those of the producer.
        ChannelAxis = "channel-axis",
        /// The parameters differ between channels, but a quantization has one grid for all channels.
        Channels = "channels",
        /// The operands of a concat would no longer be on the same grid.
        ConcatAlignment = "concat-alignment",
        /// Another node also reads the accumulator.
        Consumers = "consumers",
        /// A verb that the target's own code implements failed.
        CustomVerb = "custom-verb",
        /// The producer is a mean, which divides and rounds by itself.
        Divides = "divides",
        /// The fusion would change the result of a window without elements.
        EmptyWindow = "empty-window",
        /// The bounds of the accumulators are unknown.
        NoInterval = "no-interval",
        /// The target's table has no row that fuses something into this producer.
        NoRow = "no-row",
        /// The fused operation does not give the same integers as the operations that it would replace.
        NotEqual = "not-equal",
        /// The fused operation has to give the same integers as the operations that it would replace, but some of its
        /// integers differ from theirs.
        NotExact = "not-exact",
        /// An option does not have the value that the row requires.
        Option = "option",
        /// The row is for producers with another op.
        Producer = "producer",
        /// A clamp changes nothing, because the operations before it never exceed its bounds.
        RedundantClamp = "redundant-clamp",
        /// Another row fuses more of the operations after the producer.
        Shorter = "shorter",
        /// An element type is not the one that the row requires.
        Type = "type",
        /// The compiler found no proof that the result would be the same.
        Undecided = "undecided",
        /// A verb of the row has no exact meaning for this producer and these operations.
        Verb = "verb",
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, word) = self.word();
        write!(f, "{family}{word}")
    }
}

impl From<&str> for ReasonCode {
    fn from(word: &str) -> ReasonCode {
        let own = |word: &str| Cow::Owned(word.to_owned());
        ReasonCode::listed(word).unwrap_or_else(|| match word.strip_prefix(TARGET_LIMIT) {
            Some(quantity) => ReasonCode::TargetLimit(own(quantity)),
            None => ReasonCode::Vendor(own(word)),
        })
    }
}

impl From<String> for ReasonCode {
    fn from(word: String) -> ReasonCode {
        ReasonCode::from(word.as_str())
    }
}

impl From<ReasonCode> for String {
    fn from(code: ReasonCode) -> String {
        code.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::ReasonCode;
    use std::collections::BTreeSet;

    #[test]
    fn each_code_is_read_back_from_its_word() {
        let words = || {
            ReasonCode::GROUPS
                .iter()
                .flat_map(|(_, codes)| codes.iter().map(|(word, _)| *word))
        };
        assert_eq!(
            words().collect::<BTreeSet<_>>().len(),
            words().count(),
            "a word stands twice"
        );
        for word in words() {
            let code = ReasonCode::from(word);
            assert!(
                !matches!(code, ReasonCode::Vendor(_) | ReasonCode::TargetLimit(_)),
                "{word}"
            );
            assert_eq!(code.to_string(), word);
            assert!(
                word.bytes().all(|b| b == b'-' || b.is_ascii_lowercase()),
                "{word} is not kebab-case"
            );
        }
        assert_eq!(ReasonCode::from("target-limit-k"), ReasonCode::TargetLimit("k".into()));
        assert_eq!(ReasonCode::from("target-limit-k").to_string(), "target-limit-k");
        assert_eq!(ReasonCode::from("odd"), ReasonCode::Vendor("odd".into()));
    }
}
