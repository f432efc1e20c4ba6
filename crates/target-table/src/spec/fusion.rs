//! `[[fusion]]`: rows that fuse a requantization into its producer. If the conditions of several rows hold, the row
//! that fuses the most steps after the producer is applied. If several rows fuse equally many, the first of them is
//! applied.

use super::words::{Evidence, Integer};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{collections::BTreeMap, fmt};
use strait_core::{Elem, Kind, Term};
use strait_document::words;

/// Which fusions are made unless a configuration says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FusionDefault {
    /// Which fusions are made.
    #[serde(default)]
    pub accept: Difference,
    /// With `accept = "bounded"`: the largest difference, in steps of the result's codes (LSB). Default: 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub max_lsb: Option<u32>,
}

words! {
    /// Which fusions are made.
    #[derive(Default)]
    Difference {
        /// Fusions that are proved to give the same integers.
        #[default]
        Exact = "exact",
        /// Fusions whose difference is proved to be at most `max_lsb`.
        Bounded = "bounded",
        /// All fusions that the table allows. The report gives the difference.
        Any = "any",
    }
}

/// A fusion row: where it applies, which forms it accepts, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FusionRow {
    /// The name of the row in reports. It has to be unique.
    pub name: String,
    /// The ops that the producer can be, by their terms, or `constant` for a constant tensor of the model.
    pub ops: Vec<String>,
    /// A second op between the producer and the requantization: an addition that the row `op.add` lowers by
    /// `in_accumulator`. It is fused too, and its other operand becomes an operand of the producer.
    pub with: Option<With>,
    /// Further conditions under which the row applies.
    #[serde(default)]
    pub when: When,
    /// The forms that the producer can take over, the cheapest first. Default: any form. Only rows that requantize a constant or
    /// a table at compile time (`requantize_data`, `burn_into_table`) may leave this key out, because then no chip computes the
    /// form, and every entry is compared.
    pub accept: Option<Vec<String>>,
    /// The forms to which a requantization may be converted if it has none of the forms of `accept`. The first of these forms
    /// that is proved to be equal is taken, with a certificate.
    #[serde(default)]
    pub weaken_to: Vec<String>,
    /// What the row does, as a list of verbs in this order: the verb that prepares the producer (`merge_scales`), the verb by
    /// which the producer takes over the requantization, and the verbs that follow from it (`requantize_clamp`,
    /// `requantize_zero_point`).
    pub then: Vec<Verb>,
    /// The reference for this row, if it differs from the reference of the table.
    pub oracle: Option<String>,
    /// The evidence for this row, if it differs from the evidence of the table.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

/// A second op, which reads the result of the producer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct With {
    /// The term of the second op.
    pub op: String,
    /// The type of the codes of the second op's other operand. Default: any.
    pub other: Option<Integer>,
    /// If true, both operands of the second op must have the same shape. An addition inside an accumulator needs this.
    #[serde(default)]
    pub same_shape: bool,
}

/// Conditions under which a row applies. Every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The requantization that the producer already has. It has to be `identity` even if the row does not say so, because the
    /// fused requantization takes its place.
    pub requantize: Option<Own>,
    /// The type of the producer's result before the fusion.
    pub output: Option<Produced>,
    /// The number of readers of the producer's result. An output of the graph counts as a reader. The number has to be 1 even
    /// if the row does not say so, because other readers would still need the accumulator.
    pub consumers: Option<u32>,
    /// The type of the producer's first operand.
    pub input: Option<Integer>,
    /// The type of the result of the requantization.
    pub to: Option<Integer>,
    /// If a concatenation reads the requantized value, the extent of this value along the concatenated axis has to be a
    /// multiple of this number.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub concat_multiple: Option<u32>,
    /// The values that options of the target must have.
    #[serde(default)]
    pub option: BTreeMap<String, super::OptionValue>,
}

words! {
    /// The type of a producer's result.
    Produced {
        /// -128 ..= 127
        Int8 = "int8",
        /// -32768 ..= 32767
        Int16 = "int16",
        /// -2^31 ..= 2^31 - 1
        Int32 = "int32",
        /// An accumulator, which has 32 or 64 bits.
        Accumulator = "accumulator",
    }
}

impl Produced {
    /// True if the condition holds for a result of this type.
    pub fn is(self, elem: Elem) -> bool {
        match self {
            Produced::Int8 => elem == Elem::I8,
            Produced::Int16 => elem == Elem::I16,
            Produced::Int32 => elem == Elem::I32,
            Produced::Accumulator => matches!(elem, Elem::I32 | Elem::I64),
        }
    }
}

words! {
    /// The requantization that a producer already has.
    Own {
        /// None: the result of the producer is the accumulator.
        Identity = "identity",
    }
}

/// Declares the verbs, with their words and explanations.
macro_rules! verbs {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal),* $(,)?) => {
        /// One of the changes to the graph that a fusion row makes.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Verb {
            $($(#[doc = $doc])* $variant,)*
            /// A change that code of the target makes. The string is the name after `custom:`.
            Custom(String),
        }

        impl Verb {
            /// The words of the verbs that need no code of the target, each with its explanation.
            #[cfg(feature = "schema")]
            const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, concat!($($doc),*))),*];

            /// The verbs that need no code of the target.
            pub(super) const ALL: &'static [Verb] = &[$(Verb::$variant),*];

            /// The verb that a word stands for.
            pub fn parse(word: &str) -> Option<Verb> {
                match word {
                    $($word => Some(Verb::$variant),)*
                    _ => {
                        let name = word.strip_prefix(CUSTOM)?;
                        (!name.is_empty()).then(|| Verb::Custom(name.into()))
                    }
                }
            }
        }

        impl fmt::Display for Verb {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Verb::$variant => f.write_str($word),)*
                    Verb::Custom(name) => write!(f, "{CUSTOM}{name}"),
                }
            }
        }
    };
}

/// The word for a producer that is not an op but a constant tensor of the model.
pub(crate) const CONSTANT: &str = "constant";

/// The turn ([`Verb::turn`]) of the verbs with which the producer takes over the requantization.
pub(super) const TAKES_OVER: u8 = 1;

/// The prefix of verbs that are implemented by code of the target.
const CUSTOM: &str = "custom:";

verbs! {
    /// The producer itself computes the requantization of its result.
    SetRequantize = "set_requantize",
    /// A clamp of the accumulator is moved after the requantization, and its bounds are requantized.
    RequantizeClamp = "requantize_clamp",
    /// The zero point, which is stated at the resolution of the accumulator, is requantized.
    RequantizeZeroPoint = "requantize_zero_point",
    /// The elements of the constant are requantized at compile time.
    RequantizeData = "requantize_data",
    /// The entries of a lookup table are requantized at compile time.
    BurnIntoTable = "burn_into_table",
    /// The scale and the zero point of a quantization from float are replaced by those of the requantization's result.
    RescaleQuantize = "rescale_quantize",
    /// A dequantization and a quantization, with a ReLU in between, become one form with the product of their factors and a
    /// ReLU of its own. The result may differ; the certificate says by how much.
    MergeScales = "merge_scales",
    /// The other operand of the second op is added to the accumulator, after its codes were converted to the grid of the
    /// accumulator.
    AddInAccumulator = "add_in_accumulator",
}

impl FusionRow {
    /// The names of the forms that the producer can take over. There are none if it can take over any form.
    pub fn accepted(&self) -> impl Iterator<Item = &String> {
        self.accept.iter().flat_map(|names| names.iter())
    }
}

impl FusionDefault {
    /// The largest difference that is allowed, if it is bounded.
    pub fn bound(&self) -> Option<u32> {
        (self.accept == Difference::Bounded).then(|| self.max_lsb.unwrap_or(1))
    }
}

impl Verb {
    /// When a row is applied, its verbs are applied in the order of their turns. Verbs with turn 0 prepare the
    /// producer. By a verb with turn 1, the producer takes over the requantization. Verbs with turn 2 come after that.
    pub(super) fn turn(&self) -> u8 {
        match self {
            Verb::MergeScales | Verb::AddInAccumulator => 0,
            Verb::SetRequantize
            | Verb::RequantizeData
            | Verb::BurnIntoTable
            | Verb::RescaleQuantize
            | Verb::Custom(_) => TAKES_OVER,
            Verb::RequantizeClamp | Verb::RequantizeZeroPoint => 2,
        }
    }

    /// True if the verb makes sense for `producer`, which is the term of an op or [`CONSTANT`]. Most verbs need a
    /// producer that computes an accumulator or passes one on, because the steps after the producer can then become
    /// part of it.
    pub(super) fn applies(&self, producer: &str) -> bool {
        match (self, Term::parse(producer)) {
            (Verb::RequantizeData, _) => producer == CONSTANT,
            (Verb::BurnIntoTable, term) => term == Some(Term::Lookup),
            (Verb::RescaleQuantize, term) => term == Some(Term::Quantize),
            (Verb::AddInAccumulator, term) => matches!(term, Some(Term::Conv | Term::Gemm)),
            (_, Some(term)) => {
                term == Term::ShiftLeft || matches!(term.kind(), Kind::Accumulates | Kind::Selects | Kind::Divides)
            }
            (_, None) => false,
        }
    }

    /// True if the verb requantizes at compile time. Then any form can be used, since no chip has to compute it.
    pub(super) fn is_ahead(&self) -> bool {
        matches!(self, Verb::RequantizeData | Verb::BurnIntoTable)
    }

    /// True if this verb only changes a requantization that another verb has moved into the producer, and no verb in
    /// `then` moves a requantization into the producer. This verb would then have no effect.
    pub(super) fn needs_set_requantize(&self, then: &[Verb]) -> bool {
        let sets = then.contains(&Verb::SetRequantize);
        match self {
            Verb::RequantizeClamp | Verb::MergeScales => !sets,
            Verb::RequantizeZeroPoint => !sets && !then.iter().any(Verb::is_custom),
            _ => false,
        }
    }

    /// True if the zero point of the result replaces the producer's zero point. This requires that the two zero points
    /// are the same number.
    pub fn moves_zero_point(&self) -> bool {
        matches!(self, Verb::RequantizeZeroPoint | Verb::RescaleQuantize)
    }

    /// True if code of the target implements this verb.
    pub(super) fn is_custom(&self) -> bool {
        matches!(self, Verb::Custom(_))
    }
}

impl Serialize for Verb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Verb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Verb, D::Error> {
        let word = String::deserialize(deserializer)?;
        Verb::parse(&word).ok_or_else(|| de::Error::custom("no verb"))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Verb {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Verb".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let word = |(word, doc): &(&str, &str)| serde_json::json!({ "const": word, "description": doc.trim() });
        let own = serde_json::json!({
            "type": "string",
            "pattern": format!("^{CUSTOM}.+$"),
            "title": format!("{CUSTOM}NAME"),
            "description": "Code of the target, by this name.",
        });
        let words: Vec<_> = Verb::WORDS.iter().map(word).chain([own]).collect();
        json_schema!({ "oneOf": words })
    }
}
