//! Shows where the layers of a model run on targets, and what they cost.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use crate::{
    checked::{Checked, CheckedLayer, CheckedOperator, Checks},
    table,
};

use super::{Shown, grouped::grouped, report::verdict};

/// The width of the lines.
const WIDTH: usize = 100;

/// So many of the layers with the most operations are listed.
const COSTLIEST: usize = 8;

/// All layers of a check, in the order in which they run, one table for each target.
pub struct AllLayers<'a>(pub &'a Checks);

impl Display for AllLayers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for checked in &self.0.targets {
            writeln!(f, "{}:", checked.target)?;
            layers(f, checked, checked.layers.iter())?;
            operators(f, checked)?;
        }
        Ok(())
    }
}

impl Display for Shown<'_, Checks> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(Checks { targets }) = self;
        for checked in targets {
            let heading = format!("{}: {}", checked.target, verdict(&checked.summary));
            for line in table::wrapped(&heading, WIDTH) {
                writeln!(f, "{line}")?;
            }
            let (all, inside) = (
                operations(&checked.layers, |_| true),
                operations(&checked.layers, |layer| layer.host.is_none()),
            );
            writeln!(
                f,
                "  {} of {} operations run on the accelerator",
                percent(inside, all),
                table::figure(all)
            )?;
            cycles(f, checked)?;
            let host = checked.layers.iter();
            let host = host.filter_map(|layer| Some((format!("{} ({})", layer.name, layer.op), layer.host.as_ref()?)));
            grouped(f, "on the host: ", host)?;
        }
        if let [checked] = &targets[..] {
            let mut costliest: Vec<&CheckedLayer> = checked.layers.iter().collect();
            costliest.sort_by_key(|layer| std::cmp::Reverse(layer.operations));
            writeln!(f, "the layers with the most operations:")?;
            return layers(f, checked, costliest.into_iter().take(COSTLIEST));
        }
        differences(f, targets)
    }
}

/// The estimated cycles of a target, and the operators of its file that run on the CPU.
fn cycles(f: &mut fmt::Formatter<'_>, checked: &Checked) -> fmt::Result {
    let sum = |all: &mut dyn Iterator<Item = u64>| all.reduce(u64::saturating_add);
    if let Some(all) = sum(&mut checked.layers.iter().filter_map(|layer| layer.cycles)) {
        let all = table::figure(all);
        writeln!(
            f,
            "  about {all} cycles on the accelerator, by the rates of the target's table"
        )?;
    }
    let Some(file) = &checked.file else { return Ok(()) };
    if let Some(why) = &file.refused {
        let line = format!("{}: there is no TFLite file: {why}", file.accelerator);
        for line in table::wrapped(&line, WIDTH - 2) {
            writeln!(f, "  {line}")?;
        }
    }
    let estimated = sum(&mut file.operators.iter().filter_map(|operator| operator.cycles));
    if let (Some(all), Some(configuration)) = (estimated, &file.configuration) {
        writeln!(f, "  about {} cycles on {configuration}", table::figure(all))?;
    }
    let left: Vec<&CheckedOperator> = file
        .operators
        .iter()
        .filter(|operator| operator.cpu.is_some())
        .collect();
    if !file.operators.is_empty() {
        let count = file.operators.len();
        let taken = count - left.len();
        writeln!(
            f,
            "  {} takes {taken} of {count} operators of the TFLite file",
            file.accelerator
        )?;
    }
    for operator in left {
        let why = operator.cpu.as_deref().unwrap_or_default();
        let line = format!("{} `{}` runs on the CPU: {why}", operator.operator, operator.result);
        for line in table::wrapped(&line, WIDTH - 4) {
            writeln!(f, "    {line}")?;
        }
    }
    Ok(())
}

fn operations(layers: &[CheckedLayer], counts: impl Fn(&&CheckedLayer) -> bool) -> u64 {
    let counted = layers.iter().filter(counts);
    counted.fold(0, |sum, layer| sum.saturating_add(layer.operations))
}

fn percent(part: u64, all: u64) -> String {
    match part == all {
        true => "100 %".to_owned(),
        // 99.96 % are not all.
        false => format!("{:.1} %", (100.0 * part as f64 / all.max(1) as f64).min(99.9)),
    }
}

fn layers<'a>(
    f: &mut fmt::Formatter<'_>,
    checked: &Checked,
    shown: impl Iterator<Item = &'a CheckedLayer>,
) -> fmt::Result {
    let all = operations(&checked.layers, |_| true);
    let names = table::all_shortened(checked.layers.iter().map(|layer| layer.name.as_str()));
    let has_cycles = checked.layers.iter().any(|layer| layer.cycles.is_some());
    let cycles = if has_cycles { "cycles" } else { "" };
    let heading = [
        "layer",
        "op",
        "runs on",
        "operations",
        "share",
        "constants",
        "values",
        cycles,
    ]
    .map(str::to_owned);
    let row = |layer: &CheckedLayer| {
        [
            names.get(layer.name.as_str()).cloned().unwrap_or_default(),
            layer.op.clone(),
            if layer.host.is_some() { "host" } else { "accelerator" }.to_owned(),
            table::figure(layer.operations),
            percent(layer.operations, all),
            table::bytes(layer.constant_bytes),
            table::bytes(layer.value_bytes),
            layer.cycles.map(table::figure).unwrap_or_default(),
        ]
    };
    let rows = std::iter::once(heading).chain(shown.map(row));
    table::write_within(f, WIDTH, rows.map(|row| (row, String::new())))
}

/// The operators of a target's TFLite file.
fn operators(f: &mut fmt::Formatter<'_>, checked: &Checked) -> fmt::Result {
    let Some(file) = checked.file.as_ref().filter(|file| !file.operators.is_empty()) else {
        return Ok(());
    };
    let heading = ["result", "operator of the TFLite file", "runs on", "cycles"].map(str::to_owned);
    let names = table::all_shortened(file.operators.iter().map(|operator| operator.result.as_str()));
    let row = |operator: &CheckedOperator| {
        [
            names.get(operator.result.as_str()).cloned().unwrap_or_default(),
            operator.operator.clone(),
            if operator.cpu.is_some() {
                "CPU"
            } else {
                &file.accelerator
            }
            .to_owned(),
            operator.cycles.map(table::figure).unwrap_or_default(),
        ]
    };
    let rows = std::iter::once(heading).chain(file.operators.iter().map(row));
    table::write_within(f, WIDTH, rows.map(|row| (row, String::new())))
}

/// The layers that run on the host for some targets, with the targets and the codes of the reasons.
fn differences(f: &mut fmt::Formatter<'_>, targets: &[Checked]) -> fmt::Result {
    let mut places: BTreeMap<(&str, &str), [Vec<String>; 2]> = BTreeMap::new();
    let mut order = Vec::new();
    for checked in targets {
        for layer in &checked.layers {
            let key = (layer.name.as_str(), layer.op.as_str());
            let [inside, host] = places.entry(key).or_insert_with(|| {
                order.push(key);
                Default::default()
            });
            match &layer.host {
                None => inside.push(checked.target.clone()),
                Some(why) => host.push(format!("{} [{}]", checked.target, why.code)),
            }
        }
    }
    let names = table::all_shortened(order.iter().map(|(name, _)| *name));
    let heading = ["layer", "op", "on the accelerator", "on the host"].map(str::to_owned);
    let rows = order.iter().filter_map(|key| {
        let [inside, host] = places.get(key)?;
        let name = names.get(key.0).cloned().unwrap_or_default();
        (!host.is_empty()).then(|| [name, key.1.to_owned(), inside.join(", "), host.join(", ")])
    });
    let rows: Vec<[String; 4]> = rows.collect();
    if rows.is_empty() {
        return writeln!(f, "no layer runs on the host");
    }
    let rows = std::iter::once(heading).chain(rows);
    table::write_within(f, WIDTH, rows.map(|row| (row, String::new())))
}
