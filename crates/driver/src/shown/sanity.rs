//! Shows the sanity check: how the outputs of the integer model compare with the float model's on the first calibration
//! samples.

use std::fmt::{self, Display};

use strait_report::Sanity;

use crate::table;

use super::Shown;

/// The summary names at most this many outputs. The output of `--json` and `report.json` name all of them.
const NAMED: usize = 4;

impl Display for Shown<'_, Sanity> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(sanity) = self;
        if sanity.samples == 0 {
            return writeln!(f, "sanity: not checked, since there are no samples");
        }
        write!(
            f,
            "sanity on the first {}: ",
            table::count(sanity.samples as usize, "sample")
        )?;
        let (faulty, others): (Vec<_>, Vec<_>) = (sanity.outputs.iter()).partition(|output| !output.faults.is_empty());
        let shown = faulty.iter().chain(&others).take(NAMED.max(faulty.len()));
        let shown: Vec<String> = shown.map(ToString::to_string).collect();
        let more = match sanity.outputs.len() - shown.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        writeln!(f, "{}{more}", shown.join("; "))?;
        for jump in &sanity.layers {
            writeln!(
                f,
                "  the error jumps at {}: {} is at {:.1} dB, and what it is made of at {:.1} dB",
                jump.layer, jump.tensor, jump.after, jump.before
            )?;
        }
        if let Some(rule) = &sanity.rule {
            writeln!(f, "  {rule}")?;
            rule.toml.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}
