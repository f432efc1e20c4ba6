//! Shows what the searches for the types of layers have found.

use std::fmt::{self, Display};

use strait_report::MixedPrecision;

use crate::table;

use super::Shown;

impl Display for Shown<'_, MixedPrecision> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(mixed) = self;
        let [before, after] = mixed.loss;
        let trials = table::count(mixed.trials, "trial");
        match &mixed.limit {
            Some(limit) => writeln!(
                f,
                "accuracy_drop: the model loses {after:.3} points of {}, and lost {before:.3}; {} are allowed ({}, {trials})",
                limit.metric,
                limit.points,
                table::count(limit.samples as usize, "sample")
            )?,
            None => {
                let decibels = |noise: f64| format!("{:.1} dB", -10.0 * noise.max(1e-30).log10());
                let outputs = match mixed.trials {
                    0 => "nothing had to be measured".to_owned(),
                    _ => format!(
                        "the outputs are at {}, and were at {}",
                        decibels(after),
                        decibels(before)
                    ),
                };
                let bytes = match mixed.weights_bytes {
                    Some([before, after]) => format!("the weights have {after} bytes, and had {before}; "),
                    None => String::new(),
                };
                writeln!(f, "{}: {bytes}{outputs}", mixed.goal)?;
            }
        }
        if let Some(note) = &mixed.note {
            writeln!(f, "  nothing is changed: {note}")?;
        }
        if mixed.thorough {
            writeln!(f, "  the algorithms of preset \"thorough\" are used")?;
        }
        for step in &mixed.steps {
            let effect = match &mixed.limit {
                Some(limit) => format!("{:.3} points of {} are lost", step.loss, limit.metric),
                None => format!("the outputs are at {:.1} dB", -10.0 * step.loss.max(1e-30).log10()),
            };
            let shares = [(step.macs_16, "on 16 bits"), (step.macs_float, "on the host")];
            let shares = shares.into_iter().filter(|(share, _)| *share > 0.0);
            let shares: String = shares
                .map(|(share, place)| format!(", {:.1} % of the multiply-adds {place}", 100.0 * share))
                .collect();
            let layers = match step.layers {
                0 => "tensors".to_owned(),
                layers => table::count(layers, "layer"),
            };
            writeln!(f, "  with this rule for {layers}: {effect}{shares}")?;
            for line in step.toml.lines() {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}
