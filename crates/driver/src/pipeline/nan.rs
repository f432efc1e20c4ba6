//! Reports values that are NaN when the model runs on the calibration samples.

use std::collections::BTreeSet;

use strait_core::{Module, ValueId};
use strait_quantize::{Observation, statistics::Statistics};

use crate::{
    config::{Loaded, data::NotANumber},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    stop::Stop,
    table,
};

use super::inputs;

/// The warning names at most this many values.
const NAMED: usize = 3;

/// Returns a warning for each node whose result has NaN although its operands have none.
///
/// # Errors
/// The findings are errors instead of warnings if the configuration asks for that. A graph with a cycle is a bug in
/// Strait.
pub(super) fn found(loaded: &Loaded, module: &Module, observation: &Observation) -> Result<Diagnostics, Stop> {
    let nan = loaded.config.calibration.nan;
    let key = if nan == NotANumber::Error { "nan" } else { "data" };
    let findings = inputs::at(loaded, &["calibration", key], findings(nan, module, observation)?);
    match nan {
        NotANumber::Error if !findings.0.is_empty() => Err(findings.into()),
        NotANumber::Error | NotANumber::Skip => Ok(findings),
    }
}

fn findings(nan: NotANumber, module: &Module, observation: &Observation) -> Result<Diagnostics, Stop> {
    let graph = module.main();
    let seen = |value: ValueId| {
        let name = module.name(graph.value(value)?.name);
        let statistics = observation.elements(name).filter(|seen| seen.nan() > 0)?;
        Some((name, statistics))
    };
    let all: BTreeSet<ValueId> = (graph.values().map(|(id, _)| id))
        .filter(|&id| seen(id).is_some())
        .collect();
    let order = graph
        .topological_order()
        .map_err(|id| Stop::Defect(format!("{id} stands on a circle")))?;
    let made = order.iter().filter_map(|&id| graph.node(id)).filter(|node| {
        let mut operands = node.inputs.iter().flatten();
        !operands.any(|operand| all.contains(operand))
    });
    let first = graph.inputs().iter().chain(made.flat_map(|node| &node.outputs));
    let first: Vec<(&str, &Statistics)> = first.filter_map(|&value| seen(value)).collect();
    let behind = all.len().saturating_sub(first.len());
    let mut findings: Vec<Diagnostic> = first
        .iter()
        .take(NAMED)
        .map(|&(name, seen)| finding(nan, name, seen))
        .collect();
    if let Some(last) = findings.last_mut() {
        let unnamed = first.len().saturating_sub(NAMED);
        let others = [(unnamed, "more in which they come up"), (behind, "computed from these")];
        for (count, text) in others.into_iter().filter(|(count, _)| *count > 0) {
            last.notes.push(format!("{} {text}", table::count(count, "value")));
        }
    }
    Ok(Diagnostics(findings))
}

fn finding(nan: NotANumber, name: &str, seen: &Statistics) -> Diagnostic {
    let samples: Vec<u64> = (seen.samples.iter().filter(|one| one.nan > 0))
        .map(|one| one.sample)
        .collect();
    let share = 100.0 * seen.nan() as f64 / seen.count() as f64;
    let at = match &samples[..] {
        [only] => format!("at sample {only}"),
        samples => format!(
            "at {} of {} samples, first at {}",
            samples.len(),
            seen.samples.len(),
            samples.first().copied().unwrap_or_default()
        ),
    };
    let message = format!(
        "{share:.2} % of the numbers of {name:?} are NaN in runs on the calibration data ({} of {}), {at}",
        seen.nan(),
        seen.count()
    );
    match nan {
        NotANumber::Skip => Diagnostic::warning(codes::NAN, message)
            .note("they are left out of the ranges, and an integer model has some number in their place")
            .help("where no sample may have them, set calibration.nan = \"error\""),
        NotANumber::Error => Diagnostic::error(codes::NAN, message)
            .help("mend the samples, or leave such numbers out of the ranges with calibration.nan = \"skip\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::text::parse;
    use strait_quantize::statistics::{Coverage, Kind, Record};

    #[test]
    fn the_values_are_named_in_which_nan_come_up_with_samples_and_shares() {
        let text = "strait 1 float
            graph @main(%x: f32[4]) {
              %root: f32[4] = unary(%x) {function=sqrt}
              %twice: f32[4] = add(%root, %root)
              %log: f32[4] = unary(%x) {function=log}
              return %twice, %log
            }";
        let module = parse(text).unwrap();
        let mut observation = Observation::new(Coverage::all(3));
        let (one, none) = ([f32::NAN, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]);
        let samples = [
            ("x", [none; 3]),
            ("root", [none, one, none]),
            ("twice", [none, one, none]),
            ("log", [one, none, one]),
        ];
        for (name, samples) in samples {
            let mut seen = Statistics::default();
            (0..)
                .zip(&samples)
                .for_each(|(index, elements)| seen.add(index, elements));
            observation.insert(Kind::Elements, name, Record::Statistics(seen));
        }
        let told = |nan| findings(nan, &module, &observation).unwrap().0;
        let messages: Vec<String> = told(NotANumber::Skip)
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        assert_eq!(
            messages,
            [
                "8.33 % of the numbers of \"root\" are NaN in runs on the calibration data (1 of 12), at sample 1",
                "16.67 % of the numbers of \"log\" are NaN in runs on the calibration data (2 of 12), at 2 of 3 samples, first at 0",
            ]
        );
        let last = told(NotANumber::Error).pop().unwrap();
        assert_eq!(last.severity, crate::diagnostic::Severity::Error);
        assert_eq!(last.notes, ["1 value computed from these"]);
    }
}
