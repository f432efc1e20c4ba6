//! Compares recorded vectors with the forms of a table, and with the kernels that compute these forms.

use super::evidence::{self, IdentifiedLayer};
use super::lines::{Group, Line};
use super::{ExaminationProgress, Recording};
use crate::placed::{decoded, width};
use std::path::Path;
use std::sync::Arc;
use strait_identify::{Answer, RecordedLayer, RecordedValue, Subject, VectorsError, identify};
use strait_kernels::{Context, integer::Loops};
use strait_requantize::Requantization;
use strait_target::{
    Target, TargetSpec,
    spec::{Evidence, Fidelity, Rescale, Scales},
};

/// Makes the line of the report that says whether the table names recordings for every row that it states to be
/// `measured`, and whether these recordings were given.
pub(super) fn named(spec: &TargetSpec, given: &[Recording]) -> Line {
    const NAME: &str = "recordings that the table names";
    let measured = spec.supports().filter(|row| row.evidence == Evidence::Measured).count();
    let unrecorded: Vec<String> = spec.unrecorded().map(|row| row.to_string()).collect();
    let silicon = spec.silicon.as_ref();
    let fidelity = silicon.is_some_and(|silicon| silicon.fidelity == Fidelity::Silicon);
    let of = match (measured, fidelity) {
        (0, false) => "nothing is said to be measured".to_owned(),
        (0, true) => "the fidelity is silicon".to_owned(),
        (rows, false) => format!("{rows} rows are measured"),
        (rows, true) => format!("{rows} rows are measured, and the fidelity is silicon"),
    };
    let of = match unrecorded.as_slice() {
        [] => of,
        rows => format!(
            "{of}; {} that say so are documented and not measured, as no recording is named for them: {}",
            rows.len(),
            rows.join(", ")
        ),
    };
    let evidence = silicon.map_or(&[][..], |silicon| &silicon.evidence);
    if evidence.is_empty() {
        let why = match measured > 0 || fidelity {
            true => format!("{of}, and the table names no recording with its digest"),
            false => of,
        };
        return Line::skipped(Group::Silicon, NAME, why);
    }
    let mut line = Line::new(Group::Silicon, NAME).checked(format!("{of}; {} files", evidence.len()));
    let mut absent = Vec::new();
    for one in evidence {
        let name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
        let same_name = given.iter().find(|of| name(&of.file) == name(&one.file));
        match (given.iter().any(|of| of.sha256 == one.sha256), same_name) {
            (true, _) => {}
            (false, Some(other)) => {
                let (file, is, should) = (&other.file, &other.sha256, &one.sha256);
                line.find(format!("{file}: its SHA-256 is {is}, and the table names {should}"));
            }
            (false, None) => absent.push(one.file.as_str()),
        }
    }
    if line.findings.is_empty() && !absent.is_empty() {
        return Line::skipped(Group::Silicon, NAME, format!("{of}; not given: {}", absent.join(", ")));
    }
    line
}

/// A line for each recorded layer, then one for each row for which the table names recordings.
pub(super) fn lines(
    target: &Arc<dyn Target>,
    recordings: &[Recording],
    progress: &dyn ExaminationProgress,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut known = Vec::new();
    progress.begin("recorded vectors", recordings.len());
    for (at, of) in recordings.iter().enumerate() {
        for layer in &of.vectors.layers {
            let answer = identify(&of.file, layer);
            lines.push(line(target, layer, answer.as_ref()));
            known.push(IdentifiedLayer {
                of,
                layer,
                answer: answer.ok(),
            });
        }
        progress.advance(at + 1);
    }
    lines.extend(evidence::lines(target.spec(), &known));
    lines
}

fn line(target: &Arc<dyn Target>, layer: &RecordedLayer, answer: Result<&Answer, &VectorsError>) -> Line {
    let mut line = Line::new(Group::Silicon, layer.name.clone());
    let found = match (&layer.scales, answer) {
        (Some(scales), _) => from_scales(target, layer, scales),
        (None, Ok(answer)) => from_answer(target, answer),
        (None, Err(error)) => {
            line.find(error.to_string());
            return line;
        }
    };
    let (name, form, ends) = match found {
        Ok(explaining) => explaining,
        Err(why) => {
            why.into_iter().for_each(|why| line.find(why));
            return line.checked(format!("{} outputs", layer.outputs()));
        }
    };
    let clamp = (ends != [form.out().min(), form.out().max()]).then_some(ends);
    match target.loops(&form, clamp).map_err(|error| error.to_string()).and_then(|loops| replayed(&*loops, &form, layer)) {
        Err(error) => line.find(format!("form {name}: {error}")),
        Ok(Some((channel, accumulator, expected, found))) => line.find(format!(
            "form {name}: the kernel makes {found} of the accumulator {accumulator} of channel {channel}, and {expected} was recorded"
        )),
        Ok(None) => {}
    }
    line.checked(format!("form {name} gives all {} outputs", layer.outputs()))
}

/// The result of the search for a form that produces every recorded value. `Ok` has the name of the form, the form
/// itself, and the lowest and the highest code to which its results are clamped. `Err` has the reasons why no form
/// produces all values, each of them a sentence.
type Explaining = Result<(String, Requantization, [i32; 2]), Vec<String>>;

/// The first form of the table that explains a layer with integers that `strait identify` has found.
fn from_answer(target: &Arc<dyn Target>, answer: &Answer) -> Explaining {
    let exact = answer.explained.iter().filter(|_| answer.is_exact());
    for (name, row) in &target.spec().form {
        for explained in exact.clone() {
            let ends = ends(&explained.form, answer.ends, explained.clamps);
            if row.accepts(&explained.form, Some(ends)).is_ok() {
                return Ok((name.clone(), explained.form.clone(), ends));
            }
        }
    }
    Err(vec![none(answer)])
}

/// Returns the lowest and the highest code to which results are clamped. At an end where the clamp acts, as `clamps`
/// says, this is the code from `recorded`. At any other end, it is the lowest or highest code of the type.
fn ends(form: &Requantization, recorded: [i32; 2], clamps: [bool; 2]) -> [i32; 2] {
    let type_ends = [form.out().min(), form.out().max()];
    [0, 1].map(|end| if clamps[end] { recorded[end] } else { type_ends[end] })
}

fn none(answer: &Answer) -> String {
    let mut explained = answer
        .explained
        .iter()
        .filter(|explained| matches!(explained.subject, Subject::Hypothesis(_)));
    let none = "no form of the table gives every recorded value";
    let Some(first) = explained.next() else {
        return format!("{none}, and no arithmetic that `strait identify` tries");
    };
    let rereadings: Vec<String> = answer.rereadings.iter().map(|one| format!(", {one}")).collect();
    let rereadings = rereadings.concat();
    match first.missed {
        0 => format!(
            "{none}; {} does{rereadings} (`strait identify` has all {} that do)",
            first.subject,
            explained.count() + 1
        ),
        missed => format!(
            "{none}; {} does{rereadings}, but for {missed} of {} (`strait identify` lists them)",
            first.subject, answer.outputs
        ),
    }
}

/// The first form of the table that explains a layer with the integers that its rule computes from the scales.
fn from_scales(target: &Arc<dyn Target>, layer: &RecordedLayer, scales: &strait_identify::LayerScales) -> Explaining {
    let codes = || layer.channels.iter().flatten().map(|value| value.output);
    let recorded = [codes().min().unwrap_or(0), codes().max().unwrap_or(0)];
    let mut why = Vec::new();
    for (name, row) in &target.spec().form {
        let rescale = Rescale {
            scales: Scales::Convolution {
                input: scales.input,
                weight: &scales.weight,
                output: scales.output,
            },
            input_zero: 0,
            output_zero: layer.zero_point.unwrap_or(0),
            out: layer.out,
            accumulators: None,
        };
        let form = match row.build(&rescale) {
            Ok(built) => built.form,
            Err(reason) => {
                why.push(format!("form {name}: {}", reason.text));
                continue;
            }
        };
        match differs(&form, recorded, layer) {
            None => return Ok((name.clone(), form, recorded)),
            Some((channel, accumulator, expected, found)) => why.push(format!(
                "form {name}: the accumulator {accumulator} of channel {channel} gives {expected}, and {found} was recorded"
            )),
        }
    }
    Err(why)
}

/// Finds the first recorded value that a form does not produce. Returns its channel, its accumulator, the form's
/// result, and the recorded code. Returns `None` if the form produces all recorded values.
fn differs(form: &Requantization, [low, high]: [i32; 2], layer: &RecordedLayer) -> Option<(usize, i64, i32, i32)> {
    let channels = form.channels().unwrap_or(1);
    for (channel, values) in layer.channels.iter().enumerate() {
        let its = channel.min(channels.saturating_sub(1));
        for &RecordedValue {
            accumulator,
            output: found,
            ..
        } in values
        {
            let expected = form
                .eval(its, accumulator)
                .map_or(i32::MIN, |code| code.min(high).max(low));
            if expected != found {
                return Some((channel, accumulator, expected, found));
            }
        }
    }
    None
}

/// Finds the first recorded value that the kernel does not produce. Returns its channel, its accumulator, the recorded
/// code, and the kernel's result; `None` if the kernel produces all recorded values. The kernel's loops also apply the
/// clamp.
fn replayed(
    loops: &dyn Loops,
    form: &Requantization,
    layer: &RecordedLayer,
) -> Result<Option<(usize, i64, i32, i32)>, String> {
    // A kernel takes the same number of accumulators for each channel. So if a channel has fewer accumulators than
    // others, its accumulators are repeated.
    let longest = layer.channels.iter().map(Vec::len).max().unwrap_or(0);
    let at = |channel: usize, position: usize| {
        let values = &layer.channels[channel];
        values
            .get(position.min(values.len().saturating_sub(1)))
            .map_or((0, 0), |value| (value.accumulator, value.output))
    };
    let count = layer.channels.len();
    let pairs = || (0..count * longest).map(|index| at(index / longest, index % longest));
    let sums: Vec<i64> = pairs().map(|(sum, _)| sum).collect();
    let mut out = vec![0; sums.len() * width(form.out())];
    let (cx, extents) = (Context::detect(), [1, count, longest]);
    let narrow: Result<Vec<i32>, _> = sums.iter().map(|&sum| i32::try_from(sum)).collect();
    match narrow {
        Ok(narrow) => {
            let input: Vec<u8> = narrow.iter().flat_map(|sum| sum.to_ne_bytes()).collect();
            loops.requantize(&cx, extents, strait_requantize::IntType::I32, &input, &mut out)
        }
        Err(_) => loops.requantize_wide(&cx, extents, &sums, &mut out),
    }
    .map_err(|error| error.to_string())?;
    let codes = decoded(form.out(), &out);
    let wrong = pairs()
        .zip(codes)
        .enumerate()
        .find(|(_, ((_, recorded), found))| recorded != found);
    Ok(wrong.map(|(index, ((sum, recorded), found))| (index / longest, sum, recorded, found)))
}
