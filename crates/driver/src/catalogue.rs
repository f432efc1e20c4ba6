//! The targets that are registered: where they come from, what they equal with what evidence, and their tables.

use std::fmt::Display;

use serde::Serialize;
use strait_target::{
    Entry, Options, Registry, TargetSpec,
    spec::{FormRow, FusionRow, Integer, OpRow, OptionRow, Row},
};

use crate::{
    diagnostic::Diagnostics,
    report::{Counts, claim},
    table, targets,
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

/// All targets, by id.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    /// One for each.
    pub targets: Vec<Card>,
}

/// All that a target's table says that is not a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// The target.
    pub target: Card,
    /// Widths of sums, and the behaviour of a sum that does not fit.
    pub accumulators: Vec<AccumulatorLine>,
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
    /// The ops that it is for.
    pub ops: Vec<String>,
    /// The recipe; absent on the host.
    pub recipe: Option<String>,
    /// The forms that narrow its results.
    pub requantize: Vec<String>,
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
    let entry = registry.entry(id).map_err(|error| targets::finding(&error))?;
    let spec = spec(entry)?;
    Ok(Sheet {
        target: card(entry, &spec),
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
        .map_err(|error| targets::finding(&error.into()))
}

fn card(entry: &Entry, spec: &TargetSpec) -> Card {
    Card {
        id: spec.id.clone(),
        version: spec.version.clone(),
        origin: entry.origin().to_string(),
        digest: spec.digest_text(),
        reference: spec.reference.oracle.clone(),
        claim: claim(&spec.reference.oracle, spec.supports()),
        rows: Counts::of(spec.supports().map(|support| support.evidence)),
        vendor: spec.vendor.clone(),
        licence: spec.licence.clone(),
        docs: spec.docs.clone(),
        silicon: spec.silicon.as_ref().map(|silicon| {
            let firmware = silicon.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
            let fidelity = format!("bits held against: {}", silicon.fidelity);
            let parts = silicon.name.clone().into_iter().chain(firmware).chain([fidelity]);
            parts.collect::<Vec<_>>().join("; ")
        }),
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

fn op(spec: &TargetSpec, name: &str, row: &OpRow) -> OpLine {
    OpLine {
        ops: row.ops.clone().unwrap_or_else(|| vec![name.to_owned()]),
        recipe: row
            .recipe
            .filter(|_| !row.is_host())
            .map(|recipe| recipe.name().to_owned()),
        requantize: row.requantize.clone(),
        evidence: (!row.is_host()).then(|| evidence(spec, Row::Op(name))),
        note: row.why.as_ref().or(row.note.as_ref()).cloned(),
    }
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

impl List {
    /// For a person, in lines of at most so many letters as far as words allow it.
    pub fn text(&self, width: usize) -> String {
        let line = |card: &Card| {
            let cells = [
                card.id.clone(),
                card.version.clone(),
                card.origin.clone(),
                card.digest.chars().take(12).collect(),
                card.rows.to_string(),
                card.reference.clone(),
            ];
            (cells, String::new())
        };
        let heading = ["target", "version", "from", "table", "rows by evidence", "reference"];
        section(width, heading, self.targets.iter().map(line))
    }
}

impl Sheet {
    /// As [`List::text`].
    pub fn text(&self, width: usize) -> String {
        let card = &self.target;
        let accumulators = self.accumulators.iter().map(|line| {
            (
                [
                    line.activation.clone(),
                    line.bits.to_string(),
                    line.overflow.clone(),
                    line.evidence.clone(),
                ],
                line.note.clone().unwrap_or_default(),
            )
        });
        let ops = self.ops.iter().map(|line| {
            let recipe = line.recipe.clone().unwrap_or_else(|| "on the host".to_owned());
            let evidence = line.evidence.clone().unwrap_or_default();
            (
                [line.ops.join(", "), recipe, line.requantize.join(", "), evidence],
                line.note.clone().unwrap_or_default(),
            )
        });
        let forms = self.forms.iter().map(|line| {
            let shift = line.shift.map(|[low, high]| format!("{low}..{high}"));
            let stages = line
                .stages
                .map(|stages| format!(", {}", table::count(stages.into(), "stage")));
            let bits = line
                .multiplier
                .map(|bits| format!(", {}", table::count(bits.into(), "bit")));
            let cells = [
                line.name.clone(),
                [line.kind.clone(), stages.unwrap_or_default(), bits.unwrap_or_default()].concat(),
                line.zero_point.clone(),
                line.rounding.clone(),
                shift.unwrap_or_default(),
                line.output.join(", "),
                line.per.join(", "),
                line.from.clone(),
                line.evidence.clone(),
            ];
            (cells, line.note.clone().unwrap_or_default())
        });
        let fusions = self.fusions.iter().map(|line| {
            let (name, evidence) = (line.name.clone(), line.evidence.clone());
            (
                [
                    name,
                    line.ops.join(", "),
                    match &line.accept[..] {
                        [] => "any form".to_owned(),
                        forms => forms.join(", "),
                    },
                    line.then.join(", "),
                    evidence,
                ],
                line.note.clone().unwrap_or_default(),
            )
        });
        let options = self.options.iter().map(|line| {
            (
                [line.name.clone(), line.kind.clone(), line.default.clone()],
                line.help.clone(),
            )
        });
        let bound = self.max_lsb.map_or_else(String::new, |bound| format!(", {bound} LSB"));
        let default = match self.fusions.is_empty() {
            true => String::new(),
            false => format!("fusions by default: {}{bound}\n", self.accept),
        };
        let form = [
            "form",
            "kind",
            "zero point",
            "rounding",
            "shift",
            "output",
            "per",
            "integers by",
            "evidence",
        ];
        let head = [
            format!("{} {}, from {}", card.id, card.version, card.origin),
            card.claim.clone(),
            format!("table {}; rows by evidence: {}", card.digest, card.rows),
        ];
        let rules = Some(self.rules.join(", ")).filter(|rules| !rules.is_empty());
        let known = [
            ("vendor", &card.vendor),
            ("licence", &card.licence),
            ("documentation", &card.docs),
            ("silicon", &card.silicon),
            ("rules over the float graph", &rules),
        ];
        let known = known
            .into_iter()
            .filter_map(|(what, text)| Some(format!("{what}: {}", text.as_ref()?)));
        let head: Vec<String> = head
            .into_iter()
            .chain(known)
            .flat_map(|text| table::wrapped(&text, width))
            .collect();
        let parts = [
            head.join("\n") + "\n",
            section(width, ["sums of", "bits", "overflow", "evidence"], accumulators),
            section(width, ["op", "recipe", "narrowed by", "evidence"], ops),
            section(width, form, forms),
            section(width, ["fusion", "into", "accepts", "then", "evidence"], fusions),
            default,
            section(width, ["option", "values", "default"], options),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }
}

/// A table, unless it has no rows.
fn section<const N: usize>(
    width: usize,
    heading: [&str; N],
    rows: impl Iterator<Item = ([String; N], String)>,
) -> String {
    let mut rows = rows.peekable();
    let mut text = String::new();
    if rows.peek().is_some() {
        let heading = (heading.map(str::to_owned), String::new());
        // A text takes all that is written.
        let _ = table::write_within(&mut text, width, std::iter::once(heading).chain(rows));
    }
    text
}
