//! Lists the registered targets and shows their tables.

mod against;
mod text;

pub use against::{Against, against};

use std::collections::{BTreeMap, BTreeSet};
use std::{fmt::Display, ops::RangeInclusive};

use serde::Serialize;
use strait_target::{
    Entry, Registry, TargetSpec,
    spec::{Alignments, Arithmetic, Base, Fidelity, FormRow, FusionRow, Integer, OpRow, OptionRow, Passes, Per, Row},
};

use crate::{
    diagnostic::Diagnostics,
    failure,
    report::{Counts, claim},
};

/// What a list shows about a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Id of the target.
    pub id: String,
    /// Version of the target's table.
    pub version: String,
    /// Where the target comes from.
    pub origin: String,
    /// SHA-256 of the target's table.
    pub digest: String,
    /// The tables that this table extends. The table that it extends directly comes first.
    pub extends: Vec<BaseLine>,
    /// The reference that integer models for the target follow.
    pub reference: String,
    /// What can be claimed about the results of a model that uses every row of the table. The row with the weakest
    /// evidence decides this.
    pub claim: String,
    /// Number of rows that decide the bits of results, for each kind of evidence.
    pub rows: Counts,
    /// Who makes the chip or the runtime.
    pub vendor: Option<String>,
    /// Licence of the table.
    pub licence: Option<String>,
    /// Where the target's documentation is.
    pub docs: Option<String>,
    /// The chip and firmware on which results were recorded, and the recordings. The bits that the table defines were
    /// compared with these results.
    pub silicon: Option<String>,
}

/// A table that another table extends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaseLine {
    /// Id of the table.
    pub id: String,
    /// Version of the table.
    pub version: String,
    /// SHA-256 of the table's text.
    pub digest: String,
}

/// All registered targets, sorted by id.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    /// The targets.
    pub targets: Vec<Card>,
}

/// A target's table, prepared for display.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// General information about the target, the same as its entry in a [`List`].
    pub target: Card,
    /// Types of activations and weights, with their scales and zero points.
    pub types: Vec<TypeLine>,
    /// Widths of accumulators, and what happens if a sum does not fit.
    pub accumulators: Vec<AccumulatorLine>,
    /// Groups of ops that annotation treats alike, and for each group the operands that share a scale and zero point.
    pub passes: PassLines,
    /// The rules that rewrite the float graph for this target, in addition to those that apply to every target.
    pub rules: Vec<String>,
    /// How each op is lowered to integers.
    pub ops: Vec<OpLine>,
    /// The requantizations that the target computes.
    pub forms: Vec<FormLine>,
    /// The fusion rows, in the order in which they are tried.
    pub fusions: Vec<FusionLine>,
    /// Which fusions are made unless a configuration says otherwise: `exact`, `bounded` or `any`.
    pub accept: String,
    /// If `accept` is `bounded`: the largest difference that a fusion may make, in LSB of the output.
    pub max_lsb: Option<u32>,
    /// The options that a configuration may set.
    pub options: Vec<OptionLine>,
}

/// A type of activations or weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeLine {
    /// What the type is for: `activations` or `weights`.
    pub of: &'static str,
    /// Name of the type.
    #[serde(rename = "type")]
    pub elem: String,
    /// True if the zero point is always 0.
    pub symmetric: bool,
    /// Which scales are possible: `any` or `power_of_two`.
    pub scale: String,
    /// The smallest and the largest code that are used.
    pub codes: [i32; 2],
    /// The possible granularities of scales: per tensor, per channel or per block. The preferred one comes first.
    pub per: Vec<String>,
    /// For activations: the type of biases.
    pub bias: Option<String>,
}

/// Groups of ops that the passes of annotation treat alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassLines {
    /// Ops that compute on codes, so that their operands are quantized.
    pub computing: Vec<String>,
    /// Ops whose first operand and results share a scale and zero point.
    pub passive: Vec<String>,
    /// Functions that become a clamp in the requantization of their producer.
    pub activation: Vec<String>,
    /// For each kind of op, which operands and results share a scale and zero point.
    pub alignment: BTreeMap<&'static str, String>,
    /// True if a result whose readers all use the same scale and zero point is computed directly with these.
    pub simplify: bool,
    /// True if all readers of a value must use the scale and zero point to which one reader has aligned it.
    pub force_overlap: bool,
}

/// The accumulators for one type of activations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccumulatorLine {
    /// Type of the activations.
    pub activation: String,
    /// Width of an accumulator in bits.
    pub bits: u8,
    /// What happens if a sum does not fit: `wrap`, `saturate` or `undefined`.
    pub overflow: String,
    /// Evidence for this row.
    pub evidence: String,
    /// Remark that the table has for this row.
    pub note: Option<String>,
}

/// A row of the table that says how ops are lowered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpLine {
    /// Name of the row.
    pub name: String,
    /// The ops that the row is for.
    pub ops: Vec<String>,
    /// The pairs of activation type and weight type that the row is for; empty if the ops run on the host.
    pub pairs: Vec<[String; 2]>,
    /// The recipe that lowers the ops; absent if they run on the host.
    pub recipe: Option<String>,
    /// The forms that requantize the results.
    pub requantize: Vec<String>,
    /// The forms that requantize the operands to a common scale.
    pub inputs: Vec<String>,
    /// The types that results may have. Only given if results may have another type than the activations.
    pub results: Vec<String>,
    /// Which of the results are requantized. Only given if the row differs from the table's setting for all rows.
    pub points: Option<String>,
    /// Whether scales of weights are per tensor, per channel or per block. Only given if the row's choice is not the
    /// one that the table prefers for the type of the weights.
    pub weight_per: Option<String>,
    /// Limits of the ops. The key names what is limited, for example an attribute.
    pub limits: BTreeMap<String, String>,
    /// Evidence for what the row computes; absent if the ops run on the host.
    pub evidence: Option<String>,
    /// Why the ops run on the host, or a remark.
    pub note: Option<String>,
}

/// A row of the table that describes a form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormLine {
    /// Name of the form in the table.
    pub name: String,
    /// The kind of arithmetic, in the word that the table uses for it.
    pub kind: String,
    /// Number of roundings, `one` or `two`. Only given for kinds that may round twice.
    pub roundings: Option<String>,
    /// Width of the multiplier, or of the significand of a float, in bits. `None` for a kind that has only one possible
    /// width.
    pub bits: Option<u8>,
    /// True if the highest bit of the multiplier is set.
    pub normalized: bool,
    /// Where the zero point of the output is added. Only given for kinds that allow several places.
    pub zero_point: Option<String>,
    /// How results are rounded.
    pub rounding: String,
    /// Smallest and largest shift.
    pub shift: Option<[i8; 2]>,
    /// Types of the results.
    pub output: Vec<String>,
    /// Whether parameters are per tensor or per channel.
    pub per: Vec<String>,
    /// The rule by which the parameters are computed from scales.
    pub from: String,
    /// Evidence for what the form computes.
    pub evidence: String,
    /// Remark that the table has for this row.
    pub note: Option<String>,
}

/// A fusion row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FusionLine {
    /// Name of the row.
    pub name: String,
    /// The ops into which the row can fuse requantizations and clamps.
    pub ops: Vec<String>,
    /// The forms that the row accepts; empty if it accepts any.
    pub accept: Vec<String>,
    /// The steps that the row fuses into the operation.
    pub then: Vec<String>,
    /// Evidence for what the fused operation computes.
    pub evidence: String,
    /// Remark that the table has for this row.
    pub note: Option<String>,
}

/// An option of the target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionLine {
    /// Name of the option.
    pub name: String,
    /// Type of the option's values.
    pub kind: String,
    /// Value of the option if a configuration does not set it.
    pub default: String,
    /// What the option is for.
    pub help: String,
}

/// Lists the targets of a registry.
pub fn list(registry: &Registry) -> List {
    let card = |(_, entry): (_, &Entry)| card(entry, entry.table().default_spec());
    List {
        targets: registry.entries().map(card).collect(),
    }
}

/// Shows the table of one target, with the defaults of its options.
///
/// # Errors
/// If the target is not registered. The error names the nearest id.
pub fn sheet(registry: &Registry, id: &str) -> Result<Sheet, Diagnostics> {
    let entry = registry.entry(id).map_err(|error| failure::registry(&error))?;
    let spec = entry.table().default_spec();
    Ok(Sheet {
        target: card(entry, spec),
        types: types(spec),
        passes: passes(&spec.passes),
        accumulators: spec
            .accumulator
            .keys()
            .filter_map(|&of| accumulator(spec, of))
            .collect(),
        rules: texts(&spec.rules),
        ops: spec.op.iter().map(|(name, row)| op(spec, name, row)).collect(),
        forms: spec.form.iter().map(|(name, row)| form(spec, name, row)).collect(),
        fusions: spec.fusion.iter().map(|row| fusion(spec, row)).collect(),
        accept: spec.fusion_default.accept.to_string(),
        max_lsb: spec.fusion_default.bound(),
        options: spec.options.iter().map(|(name, row)| option(name, row)).collect(),
    })
}

fn card(entry: &Entry, spec: &TargetSpec) -> Card {
    Card {
        id: spec.id.clone(),
        version: spec.version.clone(),
        origin: entry.origin().to_string(),
        digest: spec.digest_text(),
        extends: spec.bases.iter().map(base).collect(),
        reference: spec.reference.oracle.clone(),
        claim: claim(&spec.reference.oracle, spec.supports()),
        rows: Counts::of(spec.supports().map(|support| support.evidence)),
        vendor: spec.vendor.clone(),
        licence: spec.licence.clone(),
        docs: spec.docs.clone(),
        silicon: spec.silicon.as_ref().map(|silicon| {
            let firmware = silicon.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
            let fidelity = format!("bits held against: {}", silicon.fidelity);
            let files = silicon
                .evidence
                .iter()
                .map(|one| format!("{} ({})", one.file, one.sha256.get(..12).unwrap_or(&one.sha256)))
                .collect::<Vec<_>>();
            let vectors = match (files.is_empty(), silicon.fidelity) {
                (false, _) => Some(format!("recorded in {}", files.join(", "))),
                (true, Fidelity::Silicon) => Some("no recording is named".to_owned()),
                (true, _) => None,
            };
            let parts = silicon.name.clone().into_iter().chain(firmware);
            let rates = silicon.rates.map(|rates| {
                let [multiply_adds, elements, bytes] = [rates.multiply_adds, rates.elements, rates.bytes];
                format!("in a cycle {multiply_adds} multiply-adds, {elements} elements, {bytes} bytes")
            });
            let parts = parts.chain([fidelity]).chain(vectors).chain(rates);
            parts.collect::<Vec<_>>().join("; ")
        }),
    }
}

fn base(base: &Base) -> BaseLine {
    BaseLine {
        id: base.id.clone(),
        version: base.version.clone(),
        digest: base.sha256.clone(),
    }
}

/// Converts values of a table to texts, without the places where they are written in the table.
fn texts<'a, T: Display + 'a>(all: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    all.into_iter().map(T::to_string).collect()
}

/// The evidence for a row of the table, as text.
fn evidence(spec: &TargetSpec, row: Row<'_>) -> String {
    spec.support(row)
        .map(|support| support.evidence.to_string())
        .unwrap_or_default()
}

fn accumulator(spec: &TargetSpec, activation: Integer) -> Option<AccumulatorLine> {
    let row = spec.accumulator.get(&activation)?;
    Some(AccumulatorLine {
        activation: activation.to_string(),
        bits: row.bits,
        overflow: row.overflow.to_string(),
        evidence: evidence(spec, Row::Accumulator(activation)),
        note: row.note.clone(),
    })
}

fn types(spec: &TargetSpec) -> Vec<TypeLine> {
    let types = &spec.types;
    let ends = |codes: RangeInclusive<i32>| [*codes.start(), *codes.end()];
    let activations: BTreeSet<Integer> = types.activations().collect();
    let activations = activations.into_iter().map(|t| TypeLine {
        of: "activations",
        elem: t.to_string(),
        symmetric: types.activation(t).symmetric,
        scale: types.activation(t).scale.to_string(),
        codes: ends(types.activation_range(t)),
        per: vec![Per::Tensor.to_string()],
        bias: types.bias.get(&t).map(ToString::to_string),
    });
    let weights: BTreeSet<Integer> = types.pairs.iter().map(|pair| pair.weight).collect();
    let weights = weights.into_iter().map(|t| TypeLine {
        of: "weights",
        elem: t.to_string(),
        symmetric: types.weight(t).symmetric,
        scale: types.weight(t).scale.to_string(),
        codes: ends(types.weight_range(t)),
        per: texts(&types.weight(t).per),
        bias: None,
    });
    activations.chain(weights).collect()
}

fn passes(passes: &Passes) -> PassLines {
    let Alignments {
        activation,
        elementwise,
        concat,
        pooling,
        resize,
        passive,
        simplify,
        force_overlap,
    } = passes.alignment;
    let kinds = [
        ("activation", activation),
        ("elementwise", elementwise),
        ("concat", concat),
        ("pooling", pooling),
        ("resize", resize),
        ("passive", passive),
    ];
    PassLines {
        computing: passes.computing.clone(),
        passive: passes.passive.clone(),
        activation: passes.activation.clone(),
        alignment: kinds.map(|(kind, alignment)| (kind, alignment.to_string())).into(),
        simplify,
        force_overlap,
    }
}

fn op(spec: &TargetSpec, name: &str, row: &OpRow) -> OpLine {
    let pairs = spec.pairs(row).filter(|_| !row.is_host());
    OpLine {
        name: name.to_owned(),
        ops: row.ops.clone().unwrap_or_else(|| vec![name.to_owned()]),
        pairs: pairs
            .map(|pair| [pair.activation.to_string(), pair.weight.to_string()])
            .collect(),
        recipe: row
            .recipe
            .filter(|_| !row.is_host())
            .map(|recipe| recipe.name().to_owned()),
        requantize: row.requantize.clone(),
        inputs: row.inputs.clone(),
        results: row.results.iter().flatten().map(ToString::to_string).collect(),
        points: row.points.map(|points| points.to_string()),
        weight_per: row.weight_per.map(|per| per.to_string()),
        limits: limits(row),
        evidence: (!row.is_host()).then(|| evidence(spec, Row::Op(name))),
        note: row.why.as_ref().or(row.note.as_ref()).cloned(),
    }
}

/// Returns the limits of a row: for each property that is limited, a text that says which values are allowed.
fn limits(row: &OpRow) -> BTreeMap<String, String> {
    let own = row.limit.iter().map(|(of, limit)| (of.clone(), limit.to_string()));
    let of_weights = row.limit_of.iter().flat_map(|(weight, limits)| {
        let named = move |of: &String| format!("{of} with weights of {weight}");
        limits.iter().map(move |(of, limit)| (named(of), limit.to_string()))
    });
    own.chain(of_weights).collect()
}

fn form(spec: &TargetSpec, name: &str, row: &FormRow) -> FormLine {
    let (bits, roundings, zero_point) = match row.kind {
        Arithmetic::MultiplyShift { bits, zero_point, .. } => (Some(bits), None, Some(zero_point.to_string())),
        Arithmetic::FloatScale { bits, zero_point } => (Some(bits), None, Some(zero_point.name().to_owned())),
        Arithmetic::TosaRescale { bits, roundings, .. } => (Some(bits), Some(roundings.name().to_owned()), None),
        Arithmetic::Gemmlowp { roundings, .. } => (None, Some(roundings.name().to_owned()), None),
        Arithmetic::AscendRequant(scale) | Arithmetic::DequantQuant(scale) | Arithmetic::RequantS16(scale) => {
            (Some(scale.bits), None, None)
        }
        _ => (None, None, None),
    };
    FormLine {
        name: name.to_owned(),
        kind: row.kind.name().to_owned(),
        roundings,
        bits,
        normalized: row.is_normalized(),
        zero_point,
        rounding: row.rounding().name().to_owned(),
        shift: row.shift().map(|shift| [shift.min, shift.max]),
        output: texts(&row.output),
        per: texts(&row.per),
        from: row.from.to_string(),
        evidence: evidence(spec, Row::Form(name)),
        note: row.note.clone(),
    }
}

fn fusion(spec: &TargetSpec, row: &FusionRow) -> FusionLine {
    FusionLine {
        name: row.name.clone(),
        ops: row.ops.clone(),
        accept: row.accepted().cloned().collect(),
        then: texts(&row.then),
        evidence: evidence(spec, Row::Fusion(&row.name)),
        note: row.note.clone(),
    }
}

fn option(name: &str, row: &OptionRow) -> OptionLine {
    OptionLine {
        name: name.to_owned(),
        kind: match &row.one_of {
            Some(values) => texts(values).join(" | "),
            None => row.kind.to_string(),
        },
        default: row.default.to_string(),
        help: row.help.clone(),
    }
}
