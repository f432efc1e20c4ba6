//! Shows where the layers of a model run on targets, and what they cost.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use crate::{
    checked::{Checked, CheckedLayer, Checks},
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
    let heading = ["layer", "op", "runs on", "operations", "share", "constants", "values"].map(str::to_owned);
    let row = |layer: &CheckedLayer| {
        [
            names.get(layer.name.as_str()).cloned().unwrap_or_default(),
            layer.op.clone(),
            if layer.host.is_some() { "host" } else { "accelerator" }.to_owned(),
            table::figure(layer.operations),
            percent(layer.operations, all),
            table::bytes(layer.constant_bytes),
            table::bytes(layer.value_bytes),
        ]
    };
    let rows = std::iter::once(heading).chain(shown.map(row));
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
