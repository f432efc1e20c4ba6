//! Shows the values of all keys of a configuration.

use std::fmt;

use crate::{
    config::effective::{Effective, Setting, as_toml},
    table,
};

use super::Shown;

/// The largest width of a line, in characters. Values that are single long words, such as paths, may exceed it.
const WIDTH: usize = 100;

const NOTE: &str = "Types and grids are those that the target prefers. The row of an op may allow less: `strait targets ID` \
                    shows the rows, and `strait inspect ARTIFACT --quant` what each layer got.";

impl fmt::Display for Shown<'_, Effective> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Effective { targets, settings } = self.0;
        let several = targets.len() > 1;
        let mut first = true;
        for section in settings.chunk_by(|one, next| top(one) == top(next)) {
            if !std::mem::take(&mut first) {
                writeln!(f)?;
            }
            let rows = section.iter().map(|setting| (row(setting, several), String::new()));
            table::write_within(f, WIDTH, rows)?;
        }
        writeln!(f)?;
        for line in table::wrapped(NOTE, WIDTH) {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// The table at the top of the file that has the key.
fn top(setting: &Setting) -> &str {
    let end = setting.key.find(['.', '[']);
    &setting.key[..end.unwrap_or(setting.key.len())]
}

fn row(setting: &Setting, several: bool) -> [String; 3] {
    let value = setting.value.as_ref().map_or("-".to_owned(), as_toml);
    let from = match &setting.target {
        Some(id) if several => format!("{id}: {}", setting.from),
        _ => setting.from.to_string(),
    };
    [setting.key.clone(), value, from]
}
