//! The targets that are registered: where they come from, what they equal with what evidence, and their tables.

mod against;
mod text;

pub use against::{Against, against};

use std::collections::{BTreeMap, BTreeSet};
use std::{fmt::Display, ops::RangeInclusive};

use serde::Serialize;
use strait_target::{
    Entry, Options, Registry, TargetSpec,
    spec::{Alignments, Base, Fidelity, FormRow, FusionRow, Integer, Limit, OpRow, OptionRow, Passes, Per, Row},
};

use crate::{
    diagnostic::Diagnostics,
    failure,
    report::{Counts, claim},
};

/// A target in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// The version of its table.
    pub version: String,
    /// Where it comes from.
    pub origin: String,
    /// SHA-256 of its table.
    pub digest: String,
    /// The tables that this one stands on, the nearest first.
    pub extends: Vec<BaseLine>,
    /// The reference that its integer models follow.
    pub reference: String,
    /// Claim for a model that uses all of the table.
    pub claim: String,
    /// The rows that decide bits, by their evidence.
    pub rows: Counts,
    /// Who makes the chip or the runtime.
    pub vendor: Option<String>,
    /// The licence of the table.
    pub licence: Option<String>,
    /// Where its documentation is.
    pub docs: Option<String>,
    /// Which chip it is, with its firmware, and what the bits were held against.
    pub silicon: Option<String>,
}

/// A table that another one stands on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaseLine {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its text.
    pub digest: String,
}

/// All targets, by id.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    /// One for each.
    pub targets: Vec<Card>,
}

/// All that a target's table says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// The target.
    pub target: Card,
    /// Types of codes, with their grids.
    pub types: Vec<TypeLine>,
    /// Widths of sums, and the behaviour of a sum that does not fit.
    pub accumulators: Vec<AccumulatorLine>,
    /// Ops that annotation treats alike, and which grids they share.
    pub passes: PassLines,
    /// The rules over the float graph that it wants besides those for every target.
    pub rules: Vec<String>,
    /// Lowering of ops to integers.
    pub ops: Vec<OpLine>,
    /// The requantizations that it computes.
    pub forms: Vec<FormLine>,
    /// Fusions of requantizations, in the order in which rows are tried.
    pub fusions: Vec<FusionLine>,
    /// Which fusions are made unless a configuration says otherwise: `exact`, `bounded` or `any`.
    pub accept: String,
    /// With `bounded`: the largest difference, in units of the last place.
    pub max_lsb: Option<u32>,
    /// Options that a configuration may set.
    pub options: Vec<OptionLine>,
}

/// A type of codes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeLine {
    /// `activations` or `weights`.
    pub of: &'static str,
    /// The type.
    #[serde(rename = "type")]
    pub elem: String,
    /// True if the zero point is 0.
    pub symmetric: bool,
    /// Which scales there are: `any` or `power_of_two`.
    pub scale: String,
    /// The smallest and the largest code in use.
    pub codes: [i32; 2],
    /// Granularities of scales, the preferred one first.
    pub per: Vec<String>,
    /// Of activations: the type of biases.
    pub bias: Option<String>,
}

/// Lists of ops for the passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassLines {
    /// Ops for whose sake codes are made.
    pub computing: Vec<String>,
    /// Ops whose first operand and results share a grid.
    pub passive: Vec<String>,
    /// Functions that become a clamp of their producer's requantization.
    pub activation: Vec<String>,
    /// Which grids the operands and results of a kind of ops share.
    pub alignment: BTreeMap<&'static str, String>,
    /// True: results are made on the grid that all readers want.
    pub simplify: bool,
    /// True: the grid of an aligned operand is imposed on its other readers, too.
    pub force_overlap: bool,
}

/// The accumulators of one type of activations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccumulatorLine {
    /// The type of the activations.
    pub activation: String,
    /// Width in bits.
    pub bits: u8,
    /// Behaviour of a sum that does not fit: `wrap`, `saturate` or `undefined`.
    pub overflow: String,
    /// Evidence for the accumulator's row.
    pub evidence: String,
    /// A remark.
    pub note: Option<String>,
}

/// A row for an op.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpLine {
    /// Its name in the table.
    pub name: String,
    /// The ops that it is for.
    pub ops: Vec<String>,
    /// The pairs of activation type and weight type that it is for; none on the host.
    pub pairs: Vec<[String; 2]>,
    /// The recipe; absent on the host.
    pub recipe: Option<String>,
    /// The forms that narrow its results.
    pub requantize: Vec<String>,
    /// The forms that bring its operands to one grid.
    pub inputs: Vec<String>,
    /// The types that its results may have, where these are not those of the activations.
    pub results: Vec<String>,
    /// Which of its results are narrowed, where that is not as in the rest of the table.
    pub points: Option<String>,
    /// Granularity of the scales of its weights, where that is not the preferred one of their type.
    pub weight_per: Option<String>,
    /// Limits, by quantity.
    pub limits: BTreeMap<String, String>,
    /// Evidence for the row's bits; absent on the host.
    pub evidence: Option<String>,
    /// Reason why the op runs on the host, or a remark.
    pub note: Option<String>,
}

/// A form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormLine {
    /// Its name in the table.
    pub name: String,
    /// Its arithmetic, by the table's word.
    pub kind: String,
    /// Number of roundings, of the kinds that may round twice.
    pub stages: Option<u8>,
    /// The width of its multiplier in bits, where the row says it.
    pub multiplier: Option<u8>,
    /// Where the output's zero point comes in.
    pub zero_point: String,
    /// Its rounding.
    pub rounding: String,
    /// The smallest and the largest shift.
    pub shift: Option<[i8; 2]>,
    /// The types of its results.
    pub output: Vec<String>,
    /// Granularities of a set of integers.
    pub per: Vec<String>,
    /// The rule by which scales become its integers.
    pub from: String,
    /// Evidence for the row's bits.
    pub evidence: String,
    /// A remark.
    pub note: Option<String>,
}

/// A fusion row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FusionLine {
    /// Its name.
    pub name: String,
    /// The producers that it is for.
    pub ops: Vec<String>,
    /// The forms that it accepts; none where it takes any.
    pub accept: Vec<String>,
    /// Steps of the row.
    pub then: Vec<String>,
    /// Evidence for the row's bits.
    pub evidence: String,
    /// A remark.
    pub note: Option<String>,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionLine {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: String,
    /// Its value where a configuration gives none.
    pub default: String,
    /// Steps of the row.
    pub help: String,
}

/// The targets of a registry.
///
/// # Errors
/// A table that cannot be used with its defaults, which registering has ruled out.
pub fn list(registry: &Registry) -> Result<List, Diagnostics> {
    let targets = registry
        .entries()
        .map(|(_, entry)| Ok(card(entry, &spec(entry)?)))
        .collect::<Result<_, Diagnostics>>()?;
    Ok(List { targets })
}

/// The table of one target, with the defaults of its options.
///
/// # Errors
/// A target that is not registered, with the nearest id.
pub fn sheet(registry: &Registry, id: &str) -> Result<Sheet, Diagnostics> {
    let entry = registry.entry(id).map_err(|error| failure::registry(&error))?;
    let spec = spec(entry)?;
    Ok(Sheet {
        target: card(entry, &spec),
        types: types(&spec),
        passes: passes(&spec.passes),
        accumulators: spec
            .accumulator
            .keys()
            .filter_map(|&of| accumulator(&spec, of))
            .collect(),
        rules: texts(&spec.rules),
        ops: spec.op.iter().map(|(name, row)| op(&spec, name, row)).collect(),
        forms: spec.form.iter().map(|(name, row)| form(&spec, name, row)).collect(),
        fusions: spec.fusion.iter().map(|row| fusion(&spec, row)).collect(),
        accept: spec.fusion_default.accept.to_string(),
        max_lsb: spec.fusion_default.bound(),
        options: spec.options.iter().map(|(name, row)| option(name, row)).collect(),
    })
}

fn spec(entry: &Entry) -> Result<TargetSpec, Diagnostics> {
    entry
        .table()
        .spec(&Options::new())
        .map_err(|error| failure::registry(&error.into()))
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
            let parts = parts.chain([fidelity]).chain(vectors);
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

/// The texts of what the table holds together with its place.
fn texts<'a, T: Display + 'a>(all: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    all.into_iter().map(T::to_string).collect()
}

/// The evidence of a row that the table has.
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

/// The limits of a row: each name with the values that it allows.
fn limits(row: &OpRow) -> BTreeMap<String, String> {
    let own = row.limit.iter().map(|(of, limit)| (of.clone(), allowed(limit)));
    let of_weights = row.limit_of.iter().flat_map(|(weight, limits)| {
        let named = move |of: &String| format!("{of} with weights of {weight}");
        limits.iter().map(move |(of, limit)| (named(of), allowed(limit)))
    });
    own.chain(of_weights).collect()
}

/// Values that a limit allows.
fn allowed(limit: &Limit) -> String {
    let ends = match (limit.min, limit.max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    };
    let step = limit.multiples_of.map(|step| format!("multiples of {step}"));
    let one_of = limit.one_of.as_ref().map(|values| texts(values).join(" or "));
    ends.into_iter()
        .chain(step)
        .chain(one_of)
        .collect::<Vec<_>>()
        .join(", ")
}

fn form(spec: &TargetSpec, name: &str, row: &FormRow) -> FormLine {
    FormLine {
        name: name.to_owned(),
        kind: row.kind.to_string(),
        stages: row.stages,
        multiplier: row.multiplier.as_ref().map(|multiplier| multiplier.bits),
        zero_point: row.zero_point.to_string(),
        rounding: row.rounding().name().to_owned(),
        shift: row.shift.map(|shift| [shift.min, shift.max]),
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
