//! The codes of reasons: a closed list with a sentence each, from which `docs/reasons.md` is made.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

macro_rules! reason_codes {
    ($($group:literal { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)* })*) => {
        /// The code of a [`crate::Reason`]: for programs, and stable. `docs/reasons.md` lists them.
        ///
        /// A program matches on it; [`fmt::Display`] gives the word that stands in reports, text form and IR bytes, and
        /// `From<&str>` is its inverse.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", from = "String")]
        #[non_exhaustive]
        pub enum ReasonCode {
            $($($(#[doc = $doc])+ $variant,)*)*
            /// `target-limit-QUANTITY`: this quantity of the op is outside of a limit of its row in the target's table.
            TargetLimit(Cow<'static, str>),
            /// A code of a target's own crate.
            Vendor(Cow<'static, str>),
        }

        impl ReasonCode {
            /// Every group of codes: its title, and the word and the sentence of each code.
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

/// Stands in front of the quantity in the word of [`ReasonCode::TargetLimit`].
const TARGET_LIMIT: &str = "target-limit-";

reason_codes! {
    "Types and shapes" {
        /// An op has too few or too many operands, or a required one is absent.
        Arity = "arity",
        /// A list of axes names one twice, or has the wrong length.
        Axes = "axes",
        /// There is no such axis.
        Axis = "axis",
        /// A parameter of a batch normalization is not one number for each channel.
        BatchNormalizationChannels = "batch-normalization-channels",
        /// The operand of a batch normalization has no axis of channels.
        BatchNormalizationRank = "batch-normalization-rank",
        /// Two shapes do not broadcast.
        Broadcast = "broadcast",
        /// A called graph does not exist, or has too many outputs.
        Call = "call",
        /// A clamp is not in order, or does not fit the type that it is for.
        Clamp = "clamp",
        /// Tensors that are joined differ in element type or in another axis, or the joined axis is symbolic.
        Concat = "concat",
        /// The lists of a convolution (stride, pad, dilation) do not fit its spatial axes, or its groups do not divide.
        ConvAttributes = "conv-attributes",
        /// The bias of a convolution is not one number for each output channel.
        ConvBias = "conv-bias",
        /// The channels of a convolution's operand and weight differ, or are symbolic.
        ConvChannels = "conv-channels",
        /// The operand and the weight of a convolution have different numbers of axes, or too few.
        ConvRank = "conv-rank",
        /// The weight of a convolution has a symbolic or an impossible shape.
        ConvWeight = "conv-weight",
        /// `dequantize` reads integers and makes floats.
        DequantizeType = "dequantize-type",
        /// The element types of operands do not go together.
        ElementTypes = "element-types",
        /// The results of a foreign op are not ours to infer.
        Foreign = "foreign",
        /// The indices of a gather are not i64.
        Gather = "gather",
        /// The bias of a matrix product does not broadcast to its result.
        GemmBias = "gemm-bias",
        /// `alpha` and `beta` of a product of integers are 1.
        GemmFactors = "gemm-factors",
        /// The two factors of a product have different inner extents.
        GemmInner = "gemm-inner",
        /// The factors of a `gemm` have two axes.
        GemmRank = "gemm-rank",
        /// A layer normalization on codes of a type, or over rows of a length, that its definition does not have.
        LayerNormalizationDomain = "layer-normalization-domain",
        /// Scale or bias of a layer normalization do not have the normalized shape.
        LayerNormalizationShape = "layer-normalization-shape",
        /// The table of a lookup does not have an entry for each code of its operand, or that has more than 16 bits.
        Lookup = "lookup",
        /// A function of one code between grids that its definition does not have.
        LookupDomain = "lookup-domain",
        /// The two factors of a `matmul` have different inner extents.
        MatmulInner = "matmul-inner",
        /// A factor of a `matmul` has too few axes.
        MatmulRank = "matmul-rank",
        /// The results of a call are known where the called graph is: in the module.
        ModuleNeeded = "module-needed",
        /// Types, ranks or extents of the operands do not fit each other, or the attributes.
        Operands = "operands",
        /// The amounts of padding do not fit the operand, or an axis cannot be padded so.
        Pad = "pad",
        /// A permutation does not name each axis once.
        Permutation = "permutation",
        /// An operand picks channels in a type or a shape that cannot, or where it must not.
        PickedChannels = "picked-channels",
        /// The lists of a pool (size, stride, pad, dilation) do not fit its operand.
        Pool = "pool",
        /// A window of an average pool has no element to take the mean of, or counts fewer elements at the border.
        PoolCount = "pool-count",
        /// The operand of a pool has no spatial axes.
        PoolRank = "pool-rank",
        /// `quantize` reads floats and makes integers of 8 or 16 bits, or 32.
        QuantizeType = "quantize-type",
        /// A form has other channels than the axis that they run along.
        RequantizeChannels = "requantize-channels",
        /// `requantize` reads integers.
        RequantizeType = "requantize-type",
        /// The elements do not fill the shape that is asked for.
        Reshape = "reshape",
        /// The scales or sizes of a resize do not fit its operand.
        Resize = "resize",
        /// A shift to the left leaves 32 bits, or its operand cannot be shifted.
        ShiftLeft = "shift-left",
        /// The lists of a slice do not fit its operand, a step is 0, or the axis is symbolic.
        Slice = "slice",
        /// A softmax on codes of a type, or over rows of a length, that its definition does not have.
        SoftmaxDomain = "softmax-domain",
        /// The sizes of a split do not add up to the extent of its axis.
        Split = "split",
        /// A squeezed axis does not have the extent 1.
        Squeeze = "squeeze",
        /// The extent that a window runs over is symbolic.
        SymbolicWindow = "symbolic-window",
        /// A result is past the limits of rank or of the number of elements.
        TooLarge = "too-large",
        /// The zero points of weights are neither one nor as many as there are outputs.
        WeightZeros = "weight-zeros",
        /// A window does not fit its operand.
        Window = "window",
    }
    "Reading a model" {
        /// An attribute has another type than its operator says.
        AttributeType = "attribute-type",
        /// An extent is not made of whole blocks.
        Blocks = "blocks",
        /// A `Cast` does not say to which type.
        Cast = "cast",
        /// The interval of a `Clip` is empty.
        Clip = "clip",
        /// A constant has a type or a value that its place does not allow.
        Constant = "constant",
        /// The nodes of the model form a cycle.
        Cycle = "cycle",
        /// With the extents that it is given, no run gets through a graph inside of a node.
        DeadGraph = "dead-graph",
        /// The model states two versions of one operator set.
        DuplicateOpset = "duplicate-opset",
        /// Two tensors have one name.
        DuplicateTensor = "duplicate-tensor",
        /// A number or a shape is past our limits.
        Limit = "limit",
        /// A required operand is absent.
        MissingOperand = "missing-operand",
        /// A name stands for no tensor.
        MissingTensor = "missing-tensor",
        /// An attribute, or an operand that becomes one, is NaN.
        Nan = "nan",
        /// The model has no outputs.
        NoOutputs = "no-outputs",
        /// An operand has an element type that its operator does not take.
        OperandType = "operand-type",
        /// An output has another type than the model says.
        OutputType = "output-type",
        /// The extent of an axis has to be known, and is symbolic.
        SymbolicAxis = "symbolic-axis",
        /// A shape is computed with, and is symbolic.
        SymbolicShape = "symbolic-shape",
        /// A softmax of an old operator set joins axes, one of which is symbolic.
        SymbolicSoftmax = "symbolic-softmax",
        /// The operator, or this use of it, is not read.
        Unsupported = "unsupported",
    }
    "Rules" {
        /// There is a bias already that is no constant per channel.
        Bias = "bias",
        /// Results for blocks of an image are not put back in the places that the blocks are from.
        BlockOrder = "block-order",
        /// A convolution over blocks of an image steps by more than one position.
        BlockStride = "block-stride",
        /// The branches that a concat puts side by side are not all products that take their part, or are not alike.
        Branches = "branches",
        /// The node cannot be computed ahead.
        CannotRun = "cannot-run",
        /// The folded constant would be too large.
        ConstantSize = "constant-size",
        /// The configuration keeps the layer from being taken into another one.
        KeptLayer = "kept-layer",
        /// A parameter is no constant.
        NotConstant = "not-constant",
        /// A number would be NaN or infinite, or is.
        NotFinite = "not-finite",
        /// A constant is not one number for each channel.
        NotPerChannel = "not-per-channel",
        /// The result is an output of the graph, whose name the other value cannot take over.
        OutputName = "output-name",
        /// Other axes than the spatial ones are padded.
        PadAxes = "pad-axes",
        /// The padding is not of zeros.
        PadMode = "pad-mode",
        /// Something else reads the value too.
        SeveralUses = "several-uses",
    }
    "Placement and grids" {
        /// The node only passes on what the host computes for the host.
        BetweenHostNodes = "between-host-nodes",
        /// The bias is no constant.
        BiasNotConstant = "bias-not-constant",
        /// The bias is not one number for each output.
        BiasShape = "bias-shape",
        /// A clamp clips reals that no code of its operand's grid is for.
        ClipsReals = "clips-reals",
        /// The configuration wants this layer in float.
        Configuration = "configuration",
        /// An extent of an operand or a result depends on data.
        ExtentDependsOnData = "extent-depends-on-data",
        /// The node reads codes of more bits than its operand has.
        FewBits = "few-bits",
        /// The result is read in float, and the node stays between float ops.
        FloatIsRead = "float-is-read",
        /// The node is a function of real numbers that the host computes, and has codes only behind it.
        FunctionOfReals = "function-of-reals",
        /// A `gemm` is not a·bᵀ + bias with a constant b.
        GemmForm = "gemm-form",
        /// Connected nodes without a convolution, Gemm or MatMul, of which host nodes alone read the results.
        Island = "island",
        /// A mean is not over all spatial axes.
        MeanAxes = "mean-axes",
        /// A pass or a rule needs another grid than the one that is given: with the model, from a record, or by a definition.
        GivenGrid = "given-grid",
        /// An operand or a result has no elements, of which there are no codes.
        NoElements = "no-elements",
        /// No grid lets a shift of whole bits be the factor to the output.
        NoShift = "no-shift",
        /// The node computes on integers in the model.
        NotFloat = "not-float",
        /// The calibration data never reached the value.
        NotObserved = "not-observed",
        /// Padding is of a number that is no code.
        PadValue = "pad-value",
        /// A quantization config is in another state than the change needs.
        QuantizationState = "quantization-state",
        /// A range is empty, not finite, or needs a step that no f32 holds; or it goes below 0, and codes do not.
        Range = "range",
        /// A resize interpolates.
        ResizeMode = "resize-mode",
        /// One step of the accumulator is larger than all that the layer was seen to compute: nothing would be left of its results.
        SumStep = "sum-step",
        /// The target's own code refuses the node, which its table admits.
        TargetCode = "target-code",
        /// The table keeps the op on the host.
        TargetHost = "target-host",
        /// The table has no row for the op.
        TargetNoRow = "target-no-row",
        /// A limited quantity is too large to be computed.
        TargetOverflow = "target-overflow",
        /// A limited quantity is symbolic.
        TargetSymbolic = "target-symbolic",
        /// The parts that a concatenation joins are of unlike range, and the host alone reads them: each leaves on a grid of its own.
        UnlikeParts = "unlike-parts",
        /// An operand is on another grid than its producer leaves, and the target requantizes no codes.
        TwoGrids = "two-grids",
        /// The weights are no constants.
        WeightNotConstant = "weight-not-constant",
        /// A weight or a bias is NaN or infinite.
        WeightNotFinite = "weight-not-finite",
        /// The weights are too large or too small for a scale in f32.
        WeightScale = "weight-scale",
    }
    "Forms" {
        /// The row has no such clamp behind its forms.
        FormClamp = "form-clamp",
        /// No integers of the row's form express the factor.
        FormFactor = "form-factor",
        /// The form is not legal: its parameters contradict each other.
        FormIllegal = "form-illegal",
        /// The row is for another kind of form.
        FormKind = "form-kind",
        /// A multiplier is outside of the row's limits.
        FormMultiplier = "form-multiplier",
        /// The form makes another type than the row.
        FormOutput = "form-output",
        /// The row's parameters are for the whole tensor, the form's for channels, or the other way round.
        FormPer = "form-per",
        /// The form rounds otherwise than the row.
        FormRounding = "form-rounding",
        /// A shift is outside of the row's limits.
        FormShift = "form-shift",
        /// The row's form has no place for this zero point.
        FormZeroPoint = "form-zero-point",
        /// There is no form to take: none accepts, or the row names none.
        NoForm = "no-form",
        /// The form is not defined on every accumulator that can occur.
        OutsideDomain = "outside-domain",
    }
    "Lowering" {
        /// A sum can leave its accumulator.
        AccumulatorOverflow = "accumulator-overflow",
        /// A bias on the accumulator's grid does not fit the type that the target has for it.
        BiasWidth = "bias-width",
        /// A value has no grid, or none for the whole tensor.
        NoGrid = "no-grid",
        /// A value or a tensor is missing.
        NoValue = "no-value",
        /// A parameter cannot be read or made as integers.
        Parameter = "parameter",
        /// The node is kept on the host to find further refusals.
        Refused = "refused",
        /// A table of entries cannot be made, or there is none for all channels.
        Table = "table",
        /// A lookup is made for another type than its operand has.
        TableType = "table-type",
        /// A zero point cannot be taken away, or differs where it has to be one.
        ZeroPoint = "zero-point",
    }
    "Fusion" {
        /// The producer's result is no accumulator.
        Accumulator = "accumulator",
        /// The producer has a requantization of its own, which is not the identity.
        AlreadyFused = "already-fused",
        /// No one form computes the two requantizations of the chain.
        Chain = "chain",
        /// Channels run along another axis than the producer's.
        ChannelAxis = "channel-axis",
        /// A quantization has one grid for all channels.
        Channels = "channels",
        /// The operands of a concat would not be aligned.
        ConcatAlignment = "concat-alignment",
        /// Something else reads the accumulator too.
        Consumers = "consumers",
        /// A verb of the target's own failed.
        CustomVerb = "custom-verb",
        /// The producer divides and rounds itself.
        Divides = "divides",
        /// A window without elements would see the change.
        EmptyWindow = "empty-window",
        /// The accumulators have no known bounds.
        NoInterval = "no-interval",
        /// No row of the table fuses into the producer.
        NoRow = "no-row",
        /// The fused step is not equal to the chain.
        NotEqual = "not-equal",
        /// The row wants equality, and the fused step only comes near it.
        NotExact = "not-exact",
        /// An option has another value than the row wants.
        Option = "option",
        /// The row is for another producer.
        Producer = "producer",
        /// A clamp changes nothing behind what stands in front of it.
        RedundantClamp = "redundant-clamp",
        /// Another row takes more of the chain.
        Shorter = "shorter",
        /// An element type is not the one that the row wants.
        Type = "type",
        /// No proof that the result would be the same was found.
        Undecided = "undecided",
        /// The verb has no exact meaning here.
        Verb = "verb",
    }
}

impl ReasonCode {
    /// The page that lists every code, in Markdown.
    pub fn page() -> String {
        let mut page = String::from(
            "# Reasons\n\n\
             <!-- Made from the codes in crates/core/src/reason_code.rs by `cargo xtask bless`; edits here are lost. -->\n\n\
             A layer that stays on the host, a fusion that is not made, a rule that refuses and a model that is not read\n\
             have a reason: a sentence for people and one of these codes for programs. Codes are stable.\n\n\
             Besides these, `target-limit-QUANTITY` says that a quantity of an op is outside of a limit of its row in the\n\
             target's table ([target-table.md](target-table.md) lists the quantities), and the crate of a target may have\n\
             codes of its own.\n",
        );
        for (title, codes) in ReasonCode::GROUPS {
            page += &format!("\n## {title}\n\n| code | meaning |\n|---|---|\n");
            for (word, meaning) in *codes {
                page += &format!("| `{word}` | {} |\n", meaning.trim());
            }
        }
        page
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
