//! The table that `cargo xtask oracles` prints at its end: what each runtime makes of each file that Strait writes.

use crate::{Outcome, workspace};
use std::path::PathBuf;

/// The environment variable that names the file to the scripts.
pub(crate) const VARIABLE: &str = "STRAIT_FIGURES";

/// The file to which the scripts append. In each line: format, runtime, model, figure, with tabs in between.
pub(crate) fn file() -> PathBuf {
    workspace::target().join("oracle-figures.tsv")
}

/// Forgets the figures of an earlier run.
pub(crate) fn forget() -> Outcome {
    let path = file();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()).into())
        }
        _ => Ok(()),
    }
}

/// Prints the figures, if there are any.
pub(crate) fn print() -> Outcome {
    if file().exists() {
        print!("{}", table(&workspace::read(&file())?));
    }
    Ok(())
}

/// The figures in columns, sorted by format, runtime and model.
fn table(lines: &str) -> String {
    let mut rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    rows.sort();
    rows.insert(0, vec!["format", "runtime", "model", "differ"]);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| Some(row.get(column)?.chars().count()))
            .max()
    };
    let widths: Vec<usize> = (0..4).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::from("\n");
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_stand_in_columns_in_their_order() {
        let lines = "TFLite\tLiteRT\tresnet\t0 of 10\nONNX\tonnxruntime\tad\t0 of 5\n";
        let expected = "\nformat  runtime      model   differ\nONNX    onnxruntime  ad      0 of 5\nTFLite  LiteRT       resnet  0 of 10\n";
        assert_eq!(super::table(lines), expected);
    }
}
