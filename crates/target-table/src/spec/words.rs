//! Enums whose words occur in several parts of a table.

use strait_document::words;
use strait_requantize::IntType;

words! {
    /// How well it is known that the table says what the reference computes. The words are in order, from the strongest evidence
    /// to the weakest. A layer that depends on several rows has the weakest evidence of these rows, which is the maximum in this
    /// order.
    Evidence {
        /// Derived from the reference's definition.
        Proved = "proved",
        /// Compared with the reference, output by output.
        Measured = "measured",
        /// Written in the vendor's documentation.
        Documented = "documented",
        /// None of these: it is the most plausible assumption.
        Assumed = "assumed",
    }
}

words! {
    /// An integer type.
    Integer {
        /// -128 to 127
        Int8 = "int8",
        /// 0 to 255
        Uint8 = "uint8",
        /// -32768 to 32767
        Int16 = "int16",
        /// -2^31 to 2^31 - 1
        Int32 = "int32",
        /// 0 to 65535
        Uint16 = "uint16",
        /// -8 to 7
        Int4 = "int4",
        /// 0 to 15
        Uint4 = "uint4",
    }
}

words! {
    /// The part of a tensor that shares a scale, or a set of integers.
    Per {
        /// The whole tensor.
        Tensor = "tensor",
        /// Each output channel.
        Channel = "channel",
    }
}

words! {
    /// The weights that share a scale.
    WeightPer {
        /// The whole tensor.
        Tensor = "tensor",
        /// Each output channel.
        Channel = "channel",
        /// A block of inputs of each output channel, at each position of the window. This is only for weight-only layers.
        Block = "block",
    }
}

words! {
    /// A rewrite of the float graph that only some targets use. Rewrites that run for all targets have no word.
    FloatRule {
        /// An average pool whose windows all count the same number of elements becomes a depthwise convolution, whose result
        /// has a grid of its own.
        AveragePoolToConv = "average-pool-to-conv",
        /// A batch normalization that could not be folded into another layer becomes a depthwise convolution.
        BatchNormalizationToConv = "batch-normalization-to-conv",
        /// A ReLU6 becomes a ReLU in the exported graph, if all readers quantize its result on grids without codes for numbers
        /// above 6.
        Relu6ToRelu = "relu6-to-relu",
        /// silu(x) becomes the product of x and sigmoid(x), and the range of the sigmoid is measured.
        SiluToSigmoid = "silu-to-sigmoid",
    }
}

impl From<Integer> for IntType {
    fn from(word: Integer) -> IntType {
        match word {
            Integer::Int8 => IntType::I8,
            Integer::Uint8 => IntType::U8,
            Integer::Int16 => IntType::I16,
            Integer::Int32 => IntType::I32,
            Integer::Uint16 => IntType::U16,
            Integer::Int4 => IntType::I4,
            Integer::Uint4 => IntType::U4,
        }
    }
}

impl From<IntType> for Integer {
    fn from(t: IntType) -> Integer {
        match t {
            IntType::I8 => Integer::Int8,
            IntType::U8 => Integer::Uint8,
            IntType::I16 => Integer::Int16,
            IntType::I32 => Integer::Int32,
            IntType::U16 => Integer::Uint16,
            IntType::I4 => Integer::Int4,
            IntType::U4 => Integer::Uint4,
        }
    }
}

/// JSON schemas of types from crates that have none, and narrower schemas of types of this crate.
#[cfg(feature = "schema")]
pub(crate) mod schemas {
    use crate::spec::{Activation, Integer};
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use strait_requantize::{Rounding, Roundings, function::Definition, quantize::ZeroPoint};

    /// The schema of a [`Rounding`].
    pub(crate) struct RoundingWord;

    /// The schema of [`Roundings`].
    pub(crate) struct RoundingsWord;

    /// The schema of a [`ZeroPoint`].
    pub(crate) struct ZeroPointWord;

    /// The schema of a [`Definition`].
    pub(crate) struct FunctionName;

    /// The schema of an interval that contains more than one code.
    pub(crate) struct Ends;

    macro_rules! schema {
        ($name:ident: $schema:tt) => {
            impl JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        };
    }

    schema!(RoundingWord: { "type": "string", "enum": Rounding::ALL.map(Rounding::name) });
    schema!(RoundingsWord: { "type": "string", "enum": [Roundings::One.name(), Roundings::Two.name()] });
    schema!(ZeroPointWord: { "type": "string", "enum": ZeroPoint::ALL.map(ZeroPoint::name) });
    schema!(Activation: { "type": "string", "enum": ([Integer::NAMES, &[Activation::FLOAT32]].concat()) });
    schema!(FunctionName: { "type": "string", "enum": Definition::ALL.map(Definition::name) });
    schema!(Ends: { "type": "array", "format": "range", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2 });
}
