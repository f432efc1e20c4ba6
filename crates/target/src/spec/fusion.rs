//! `[[fusion]]`: rows that fuse a requantization into its producer. They are tried in order; of those whose
//! conditions hold, the first that takes most of the chain behind the producer fires.

use super::words::{Evidence, Integer, words};
use crate::Located;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// Which fusions are made unless a configuration says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FusionDefault {
    /// Which differences they may make.
    #[serde(default)]
    pub accept: Difference,
    /// With `accept = "bounded"`: the largest difference, in units of the last place of the result. Absent: 1.
    #[schemars(range(min = 1, max = 255))]
    pub max_lsb: Option<Located<u32>>,
}

words! {
    /// Which differences a fusion may make.
    #[derive(Default)]
    Difference {
        /// None: it is proved to give the same integers.
        #[default]
        Exact = "exact",
        /// At most `max_lsb`, as is proved.
        Bounded = "bounded",
        /// Any; the report states it.
        Any = "any",
    }
}

/// One row: where it applies, what it accepts and what it does.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FusionRow {
    /// The row's name in reports; unique.
    pub name: Located<String>,
    /// The producer: ops by their terms, or `constant` for a tensor of the model.
    pub ops: Located<Vec<Located<String>>>,
    /// A second op between the producer and the requantization. This version cannot compile such a row yet, and refuses it.
    pub with: Option<With>,
    /// What must hold at the site besides.
    #[serde(default)]
    pub when: When,
    /// The forms that the producer takes over, cheapest first. Absent: any. That is for rows that requantize ahead of time
    /// (`requantize_data`, `burn_into_table`): no chip computes the form then, and every entry is compared.
    pub accept: Option<Located<Vec<Located<String>>>>,
    /// A requantization that is none of `accept` may become one of these, the first that does, with a certificate.
    #[serde(default)]
    pub weaken_to: Vec<Located<String>>,
    /// What is done, in this order: what prepares the producer (`merge_scales`), then what takes the requantization over,
    /// then what follows from it (`requantize_clamp`, `requantize_zero_point`).
    pub then: Located<Vec<Located<Verb>>>,
    /// The reference that this row equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// How sure that is, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

/// A second op, which the producer's result flows into.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// Its term.
    pub op: Located<String>,
    /// The type of its other operand.
    pub other: Option<Integer>,
    /// Both operands have one shape.
    #[serde(default)]
    pub same_shape: bool,
}

/// What must hold at the site: every key that is given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The producer's own requantization so far. It has to be `identity` whether a row says so or not: what is fused
    /// into a producer takes the place of its own requantization.
    pub requantize: Option<Own>,
    /// The type of the producer's result so far.
    pub output: Option<Integer>,
    /// The number of operands that read the producer's result; an output of the graph counts as one. It has to be 1
    /// whether a row says so or not: other readers still need the accumulator.
    #[schemars(range(min = 1, max = 1))]
    pub consumers: Option<Located<u32>>,
    /// The type of the producer's first operand.
    pub input: Option<Integer>,
    /// The type that the requantization narrows to.
    pub to: Option<Integer>,
    /// Where the requantized value is read by a concatenation, its extent along that axis is a multiple of this.
    #[schemars(range(min = 1))]
    pub concat_multiple: Option<Located<u32>>,
    /// Values of the target's options.
    #[serde(default)]
    pub option: BTreeMap<String, Located<super::OptionValue>>,
}

words! {
    /// The producer's own requantization.
    Own {
        /// None: its result is the accumulator.
        Identity = "identity",
    }
}

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// The producer computes the requantization.
    SetRequantize,
    /// A clamp behind the accumulator moves behind the requantization, its ends requantized.
    RequantizeClamp,
    /// What stands for zero at the accumulator's resolution is requantized.
    RequantizeZeroPoint,
    /// The constant's elements are requantized.
    RequantizeData,
    /// The entries of a lookup are requantized.
    BurnIntoTable,
    /// The scale and the zero point of a quantization from float are replaced by the result's.
    RescaleQuantize,
    /// A dequantization and a quantization, with a ReLU in between, become one factor, the product of theirs, and the form's
    /// ReLU. The result differs from what was there; the certificate says by how much.
    MergeScales,
    /// The other operand of the second op is added to the accumulator. This version refuses it.
    AddInAccumulator,
    /// Code of the target, by this name.
    Custom(String),
}

impl FusionRow {
    /// The names of the forms that the producer takes over; none where it takes any.
    pub fn accepted(&self) -> impl Iterator<Item = &Located<String>> {
        self.accept.iter().flat_map(|names| names.iter())
    }
}

impl FusionDefault {
    /// The largest difference where there is a bound.
    pub fn bound(&self) -> Option<u32> {
        let given = self.max_lsb.as_deref().copied();
        (self.accept == Difference::Bounded).then(|| given.unwrap_or(1))
    }
}

impl Verb {
    /// The words of the verbs that need no code of the target's.
    pub const NAMES: [&'static str; 8] = [
        "set_requantize",
        "requantize_clamp",
        "requantize_zero_point",
        "requantize_data",
        "burn_into_table",
        "rescale_quantize",
        "merge_scales",
        "add_in_accumulator",
    ];

    /// Its place in the order in which the verbs of a row are done: in front of taking the requantization over, that
    /// itself, or behind it.
    pub(super) fn turn(&self) -> u8 {
        match self {
            Verb::MergeScales | Verb::AddInAccumulator => 0,
            Verb::SetRequantize
            | Verb::RequantizeData
            | Verb::BurnIntoTable
            | Verb::RescaleQuantize
            | Verb::Custom(_) => 1,
            Verb::RequantizeClamp | Verb::RequantizeZeroPoint => 2,
        }
    }

    /// The verb that a word stands for.
    pub fn parse(word: &str) -> Option<Verb> {
        Some(match word {
            "set_requantize" => Verb::SetRequantize,
            "requantize_clamp" => Verb::RequantizeClamp,
            "requantize_zero_point" => Verb::RequantizeZeroPoint,
            "requantize_data" => Verb::RequantizeData,
            "burn_into_table" => Verb::BurnIntoTable,
            "rescale_quantize" => Verb::RescaleQuantize,
            "merge_scales" => Verb::MergeScales,
            "add_in_accumulator" => Verb::AddInAccumulator,
            _ => Verb::Custom(word.strip_prefix("custom:").filter(|name| !name.is_empty())?.into()),
        })
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = match self {
            Verb::SetRequantize => 0,
            Verb::RequantizeClamp => 1,
            Verb::RequantizeZeroPoint => 2,
            Verb::RequantizeData => 3,
            Verb::BurnIntoTable => 4,
            Verb::RescaleQuantize => 5,
            Verb::MergeScales => 6,
            Verb::AddInAccumulator => 7,
            Verb::Custom(name) => return write!(f, "custom:{name}"),
        };
        f.write_str(Verb::NAMES[index])
    }
}

impl<'de> Deserialize<'de> for Verb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Verb, D::Error> {
        let word = String::deserialize(deserializer)?;
        Verb::parse(&word).ok_or_else(|| {
            let known = Verb::NAMES.map(|name| format!("`{name}`")).join(", ");
            de::Error::custom(format_args!(
                "unknown variant `{word}`, expected one of {known}, `custom:NAME`"
            ))
        })
    }
}

impl JsonSchema for Verb {
    fn schema_name() -> Cow<'static, str> {
        "Verb".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!("^({}|custom:.+)$", Verb::NAMES.join("|"));
        json_schema!({ "type": "string", "pattern": pattern })
    }
}
