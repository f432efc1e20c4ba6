//! Shows what to do next.

use std::fmt::{self, Display};

use strait_report::Report;

use crate::table;

/// The width of a line.
const WIDTH: usize = 100;

/// What to do after a compilation, as rules and commands to paste.
pub struct Next<'a> {
    /// The report of the compilation.
    pub report: &'a Report,
    /// The file of the configuration, if there is one.
    pub configuration: Option<String>,
    /// The folder of the artifact.
    pub artifact: String,
}

impl Display for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = strait_page::next(self.report, None, false);
        if advice.is_empty() {
            return Ok(());
        }
        writeln!(f, "what to do next:")?;
        for (own, number) in advice.iter().zip(1..) {
            let effect = own
                .effect
                .as_ref()
                .map_or_else(String::new, |effect| format!(": {effect}"));
            for (at, line) in table::wrapped(&format!("{}{effect}", own.what), WIDTH - 5)
                .iter()
                .enumerate()
            {
                let lead = if at == 0 { format!("{number}.") } else { String::new() };
                writeln!(f, "  {lead:<3}{line}")?;
            }
            let paste = own.paste.replace("ARTIFACT", &self.artifact);
            let paste = match &self.configuration {
                Some(file) => paste.replace("deploy.toml", file),
                None => paste,
            };
            for line in paste.lines() {
                writeln!(f, "       {line}")?;
            }
        }
        Ok(())
    }
}
