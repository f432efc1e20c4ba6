//! Checks the rows for which a table states the evidence `measured`, using the recordings that the table names for
//! them. A row counts as measured only if the recordings tell its arithmetic apart from similar arithmetics.

use super::{
    Recording,
    lines::{Group, Line},
};
use std::collections::BTreeSet;
use strait_core::Term;
use strait_identify::{AccumulatorSource, Answer, Family, Hypothesis, RecordedLayer, left_open};
use strait_requantize::{FormKind, Rounding, Roundings};
use strait_target::{
    TargetSpec,
    spec::{FormRow, Integer, Row},
};

/// A recorded layer, with everything that `strait identify` finds out about it.
pub(super) struct IdentifiedLayer<'a> {
    pub(super) of: &'a Recording,
    pub(super) layer: &'a RecordedLayer,
    /// The answer of `strait identify`; `None` if the command cannot analyse the layer.
    pub(super) answer: Option<Answer>,
}

/// The widths that accumulators have in existing chips, in bits.
const WIDTHS: [u8; 7] = [16, 20, 24, 32, 40, 48, 64];

/// Makes a line of the report for each row of the table that has recordings. The check of a row is skipped if one of
/// its recordings was not given.
pub(super) fn lines(spec: &TargetSpec, known: &[IdentifiedLayer<'_>]) -> Vec<Line> {
    let recordings = || spec.silicon.iter().flat_map(|silicon| &silicon.evidence);
    let names: BTreeSet<&str> = recordings().flat_map(|one| &one.rows).map(String::as_str).collect();
    let line = |support: strait_target::spec::Support<'_>| {
        let name = support.row.to_string();
        if !names.contains(name.as_str()) {
            return None;
        }
        let named: Vec<&str> = recordings()
            .filter(|one| one.rows.contains(&name))
            .map(|one| one.sha256.as_str())
            .collect();
        let is_given = |digest: &&str| known.iter().any(|known| known.of.sha256 == **digest);
        let title = format!("evidence for {name}");
        if !named.iter().all(is_given) {
            return Some(Line::skipped(
                Group::Silicon,
                title,
                "not all of its recordings were given",
            ));
        }
        let layers: Vec<&IdentifiedLayer<'_>> = known
            .iter()
            .filter(|known| named.contains(&known.of.sha256.as_str()))
            .collect();
        let mut line = Line::new(Group::Silicon, title);
        let checked = match of_row(spec, support.row, support.holds, &layers) {
            Ok(told) => told,
            Err(findings) => {
                findings.into_iter().for_each(|finding| line.find(finding));
                format!("{} recorded layers", layers.len())
            }
        };
        Some(line.checked(checked))
    };
    spec.supports().filter_map(line).collect()
}

/// The result of checking a row. If the check succeeds, it is a sentence that says what the recordings show. Otherwise
/// it is a list of findings, which say what the recordings fail to show.
type Told = Result<String, Vec<String>>;

fn of_row(spec: &TargetSpec, row: Row<'_>, holds: Option<[i64; 2]>, layers: &[&IdentifiedLayer<'_>]) -> Told {
    match row {
        Row::Form(name) => match spec.form.get(name) {
            Some(form) => of_form(form, holds, layers),
            None => Err(Vec::new()),
        },
        Row::Op(name) => {
            let own = [name.to_owned()];
            let ops = spec.op.get(name).and_then(|row| row.ops.as_deref()).unwrap_or(&own);
            of_sums(ops, layers)
        }
        Row::Fusion(name) => {
            let row = spec.fusion.iter().find(|row| row.name == name);
            of_sums(row.map_or(&[][..], |row| &row.ops), layers)
        }
        Row::Accumulator(activation) => of_accumulator(spec, activation, layers),
        Row::Quantize => Err(vec![documented(
            "recordings hold codes, which say nothing of how a real number becomes one",
        )]),
    }
}

/// Makes the finding that a row may only have the evidence `documented`. `why` is the reason.
fn documented(why: impl std::fmt::Display) -> String {
    format!("{why}: the row is `documented`, and not `measured`")
}

/// Checks a row of a form. The form must explain some of the recorded layers. On the accumulators that the row covers,
/// no other form that explains these layers may give different results.
fn of_form(form: &FormRow, holds: Option<[i64; 2]>, layers: &[&IdentifiedLayer<'_>]) -> Told {
    let Some(own) = hypothesis(form) else {
        let why =
            "`strait identify` does not look for arithmetics of this kind, so that no recording tells it from others";
        return Err(vec![documented(why)]);
    };
    let answers: Vec<&Answer> = layers
        .iter()
        .filter_map(|known| known.answer.as_ref())
        .filter(|answer| left_open(&own, &[answer]).is_some())
        .collect();
    if answers.is_empty() {
        return Err(vec![documented("no layer of its recordings has this arithmetic")]);
    }
    let mut findings = Vec::new();
    let open = left_open(&own, &answers).unwrap_or_default();
    if !open.is_empty() {
        let names: Vec<String> = open.iter().map(Hypothesis::to_string).collect();
        let ties = open.iter().any(|open| open.family == own.family);
        let record = match ties {
            true => "record a layer whose factor is a power of two, of both signs",
            false => "record more outputs, of both signs, with another zero point and larger sums",
        };
        findings.push(documented(format!(
            "its recordings leave open: {}; {record}",
            names.join("; ")
        )));
    }
    let low = answers.iter().map(|answer| answer.range[0]).min().unwrap_or(0);
    let high = answers.iter().map(|answer| answer.range[1]).max().unwrap_or(0);
    if holds.is_none_or(|[from, to]| from < low || high < to) {
        findings.push(format!(
            "accumulators from {low} to {high} were recorded, and the row says more: right is `holds = {{ accumulator = [{low}, \
             {high}] }}`"
        ));
    }
    match findings.is_empty() {
        true => Ok(format!(
            "told from all others by {} layers with {low} to {high}",
            answers.len()
        )),
        false => Err(findings),
    }
}

/// Checks the row of an op: some requantization must give the recorded outputs for the sums that follow from the
/// recorded inputs and weights.
fn of_sums(ops: &[String], layers: &[&IdentifiedLayer<'_>]) -> Told {
    let mut left: Vec<String> = Vec::new();
    for op in ops {
        let source = match Term::parse(op) {
            Some(Term::Conv) => AccumulatorSource::Convolution,
            Some(Term::Gemm | Term::MatMul) => AccumulatorSource::Dense,
            _ => {
                left.push(documented(format!("recordings say nothing of how `{op}` is computed")));
                continue;
            }
        };
        if !layers
            .iter()
            .any(|known| known.layer.source == source && is_exact(known))
        {
            left.push(documented(format!(
                "no recording has `input` and `weight` of a `{op}` that an arithmetic explains"
            )));
        }
    }
    match left.is_empty() {
        true => Ok(format!("sums of {}", ops.join(" and "))),
        false => Err(left),
    }
}

/// Checks a row of `[accumulator]`: the recorded sums must need more bits than the next smaller width in [`WIDTHS`].
fn of_accumulator(spec: &TargetSpec, activation: Integer, layers: &[&IdentifiedLayer<'_>]) -> Told {
    let bits = spec.accumulator.get(&activation).map_or(64, |row| row.bits);
    let products = layers
        .iter()
        .filter(|known| known.layer.source != AccumulatorSource::Accumulators && is_exact(known));
    let reach = products
        .filter_map(|known| known.answer.as_ref())
        .flat_map(|answer| answer.range)
        .map(|end| 65 - (if end < 0 { !end } else { end }).leading_zeros())
        .max();
    let Some(reach) = reach else {
        return Err(vec![documented(
            "no recording has `input` and `weight` that an arithmetic explains",
        )]);
    };
    let narrower = WIDTHS.into_iter().rfind(|&width| width < bits).unwrap_or(0);
    if reach <= u32::from(narrower) {
        return Err(vec![documented(format!(
            "the recorded sums have {reach} bits, which leaves a width of {narrower} bits open; a large bias makes larger ones"
        ))]);
    }
    Ok(format!("sums of {reach} bits"))
}

fn is_exact(known: &IdentifiedLayer<'_>) -> bool {
    known.answer.as_ref().is_some_and(Answer::is_exact)
}

/// The hypothesis of `strait identify` for a form; `None` if the command does not search for such forms.
fn hypothesis(form: &FormRow) -> Option<Hypothesis> {
    let bits = form.multiplier_bits();
    let (family, rounding, bits) = match form.form_kind() {
        FormKind::ArithFolded => (Family::Shift, form.rounding(), 0),
        FormKind::TfLite => (Family::After, form.rounding(), bits),
        FormKind::FractionalZero => (Family::Before, form.rounding(), bits),
        FormKind::Gemmlowp => match form.roundings() {
            Roundings::Two => (Family::Twice, Rounding::HalfAway, 31),
            Roundings::One => (Family::After, Rounding::HalfUp, 31),
        },
        FormKind::SixteenByEight => (Family::After, Rounding::HalfUp, 15),
        FormKind::Float => (Family::Float, Rounding::HalfEven, bits),
        FormKind::FloatZeroInside => (Family::FloatInside, Rounding::HalfEven, 24),
        FormKind::Float64 => (Family::Double, Rounding::HalfAway, 53),
        _ => return None,
    };
    Some(Hypothesis { family, rounding, bits })
}
