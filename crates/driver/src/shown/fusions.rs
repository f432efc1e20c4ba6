//! Shows the fusions in an artifact, row by row of the target's table.

use std::fmt::{self, Display};

use strait_artifact::inspect::Fusions;

use crate::table;

use super::{Shown, grouped::grouped};

impl Display for Shown<'_, Fusions> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(fusions) = self;
        for row in &fusions.rows {
            let times = match (row.fired.len(), row.missed.len()) {
                (0, 0) => "nothing came by".to_owned(),
                (0, _) => "not fired".to_owned(),
                (times, _) => format!("fired {}", table::count(times, "time")),
            };
            writeln!(
                f,
                "{}, into {} ({}): {times}",
                row.row,
                row.ops.join(", "),
                row.evidence
            )?;
            let names = table::all_shortened(row.fired.iter().map(|fired| fired.layer.as_str()));
            let lines = row.fired.iter().map(|fired| {
                let layer = names.get(fired.layer.as_str()).map_or("", String::as_str);
                [format!("  {layer}"), fired.claim.clone()]
            });
            table::write(f, lines)?;
            let dropped =
                (row.fired.iter()).filter_map(|fired| Some((fired.layer.clone(), fired.dropped_clamp.as_ref()?)));
            grouped(f, "clamp left out: ", dropped)?;
            let missed = row.missed.iter().map(|miss| {
                let instead = (miss.instead.as_ref()).map_or_else(String::new, |row| format!(" (done by {row})"));
                (format!("{} into {}{instead}", miss.value, miss.layer), &miss.reason)
            });
            grouped(f, "not: ", missed)?;
        }
        if !fusions.without_row.is_empty() {
            writeln!(f, "no row:")?;
            let refused = fusions.without_row.iter();
            let refused = refused.map(|refused| (format!("{} into {}", refused.value, refused.layer), &refused.reason));
            grouped(f, "not: ", refused)?;
        }
        if !fusions.merged.is_empty() {
            writeln!(f, "equal requantizations of one accumulator:")?;
        }
        for merged in &fusions.merged {
            writeln!(f, "  {} stands for {}", merged.value, merged.gone.join(", "))?;
        }
        Ok(())
    }
}
