//! Writes the answers that changed from the float model to the integer model, one row for each: as `.csv` or as `.json`.
//!
//! | column | content |
//! |---|---|
//! | `sample` | index of the sample, counted from 0 |
//! | `name` | path of the image below the folder of the set, if samples are images |
//! | `output` | name of the output |
//! | `position` | where the answer is among those to the sample: an index for each axis beside those of the batch and the classes |
//! | `label` | the right class, if labels are known |
//! | `float`, `integer` | the classes that the models answer |
//! | `float_margin` | how much larger the float model's largest score is than its score of the integer model's answer |
//! | `integer_margin` | how much larger the integer model's largest score is than its score of the float model's answer |
//!
//! Rows are sorted by sample, output and position.

use std::{
    fmt,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Value as Json, json};
use strait_container::Beside;
use strait_evaluate::{Better, Measure, Note, Unit, metrics::Flip};
use strait_samples::Samples;

use crate::{
    diagnostic::Diagnostic,
    failure::{self, codes, unwritten},
    stop::Stop,
    table,
};

use super::set::{Compared, Judge};

/// How many answers changed, and the file that lists them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The file.
    pub file: PathBuf,
    /// Number of answers that changed.
    pub changed: u64,
    /// Number of answers that were compared.
    pub answers: u64,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = table::count(self.answers as usize, "answer");
        writeln!(f, "{} of {answers} changed: {}", self.changed, self.file.display())
    }
}

/// A file for the list of changed answers.
pub(crate) struct FlipsFile {
    path: PathBuf,
    is_json: bool,
}

/// One output, with what its rows need.
pub(crate) struct Column {
    output: String,
    positions: Vec<usize>,
}

/// Makes judges that note the changed answers, and the columns for their notes.
pub(crate) fn judges(compared: Vec<Compared>) -> (Vec<Judge>, Vec<Column>) {
    let both = compared.into_iter().map(|Compared { flips, positions }| {
        let output = flips.name.clone();
        let measure = Measure {
            name: "flips".to_owned(),
            output: Some(output.clone()),
            unit: Unit::Points,
            better: Better::Lower,
            meter: Box::new(flips),
        };
        let command = None;
        (Judge { measure, command }, Column { output, positions })
    });
    both.unzip()
}

impl FlipsFile {
    /// Checks, before any work begins, that the file can be written and what it has to contain.
    ///
    /// # Errors
    /// If the ending is another, the folder does not exist or is an artifact, or something other than a file is there.
    pub(crate) fn new(path: &Path) -> Result<FlipsFile, Stop> {
        let refused =
            |what: String| Diagnostic::error(codes::OUTPUT, format!("{} cannot be written: {what}", path.display()));
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_json = match ending.as_deref() {
            Some("json") => true,
            Some("csv") => false,
            _ => {
                let finding = refused("its ending does not say what it should contain".to_owned());
                return Err(finding.help("give a name that ends with .csv or .json").into());
            }
        };
        failure::outside(path, "changed answers are not written into", "name a place elsewhere")?;
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(refused(format!("there is no folder {}", folder.display())).into());
        }
        // Devices are refused, because moving the finished file to this path would replace the device.
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(refused("it is there, and is not a regular file".to_owned()).into());
        }
        let path = path.to_owned();
        Ok(FlipsFile { path, is_json })
    }

    /// Writes the rows. `notes` has the notes of each column. The file is written beside its place, and moved there when it
    /// is complete.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, columns: &[Column], notes: &[Vec<Note>], samples: &Samples) -> Result<Changed, Stop> {
        let write = || {
            let beside = Beside::new(folder_of(&self.path), ".flips")?;
            let mut out = BufWriter::new(File::create(beside.path())?);
            let counts = self.rows(&mut out, columns, notes, samples)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            beside.put_in_place(&self.path)?;
            Ok(counts)
        };
        let [changed, answers] = write().map_err(|error: io::Error| unwritten(&self.path, &error))?;
        Ok(Changed {
            file: self.path.clone(),
            changed,
            answers,
        })
    }

    fn rows(
        &self,
        out: &mut impl Write,
        columns: &[Column],
        notes: &[Vec<Note>],
        samples: &Samples,
    ) -> io::Result<[u64; 2]> {
        let [mut changed, mut answers] = [0; 2];
        match self.is_json {
            true => write!(out, "{{\"flips\": [")?,
            false => writeln!(
                out,
                "sample,name,output,position,label,float,integer,float_margin,integer_margin"
            )?,
        }
        for sample in 0..samples.count() {
            for (column, notes) in columns.iter().zip(notes) {
                let Some(Note::Flipped(flipped)) = notes.get(sample) else {
                    continue;
                };
                answers += flipped.answers;
                for flip in &flipped.flips {
                    let (first, name) = (changed == 0, samples.image(sample));
                    changed += 1;
                    match self.is_json {
                        true => {
                            let row = column.json(sample, name, flip);
                            write!(out, "{}\n  {row}", if first { "" } else { "," })?;
                        }
                        false => writeln!(out, "{}", column.csv(sample, name, flip))?,
                    }
                }
            }
        }
        if self.is_json {
            writeln!(out, "\n], \"changed\": {changed}, \"answers\": {answers}}}")?;
        }
        Ok([changed, answers])
    }
}

impl Column {
    fn json(&self, sample: usize, name: Option<&str>, flip: &Flip) -> Json {
        let [float, integer] = margins(flip);
        json!({
            "sample": sample, "name": name, "output": self.output, "position": self.position(flip.answer),
            "label": flip.label, "float": flip.float, "integer": flip.integer,
            "float_margin": float, "integer_margin": integer,
        })
    }

    fn csv(&self, sample: usize, name: Option<&str>, flip: &Flip) -> String {
        let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
        let margin = |margin: Option<f64>| margin.map_or_else(String::new, |margin| margin.to_string());
        let position: Vec<String> = self.position(flip.answer).iter().map(usize::to_string).collect();
        let [float, integer] = margins(flip);
        [
            sample.to_string(),
            name.map_or_else(String::new, quoted),
            quoted(&self.output),
            position.join(" "),
            number(flip.label),
            number(flip.float),
            number(flip.integer),
            margin(float),
            margin(integer),
        ]
        .join(",")
    }

    /// The indices of an answer along the axes of the answers.
    fn position(&self, answer: usize) -> Vec<usize> {
        let mut rest = answer;
        let mut position: Vec<usize> = (self.positions.iter().rev())
            .map(|&extent| {
                let at = rest % extent.max(1);
                rest /= extent.max(1);
                at
            })
            .collect();
        position.reverse();
        position
    }
}

fn margins(flip: &Flip) -> [Option<f64>; 2] {
    flip.margins.map_or([None; 2], |margins| margins.map(Some))
}

/// A text as a field of a `.csv`, by RFC 4180.
fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The folder that contains a file.
fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_positions_along_each_axis_and_quoted_names() {
        let column = Column {
            output: "y".into(),
            positions: vec![2, 3],
        };
        let flip = Flip {
            answer: 5,
            label: None,
            float: Some(4),
            integer: Some(0),
            margins: Some([0.25, 0.5]),
        };
        assert_eq!(
            column.csv(7, Some("a, \"b\".png"), &flip),
            "7,\"a, \"\"b\"\".png\",y,1 2,,4,0,0.25,0.5"
        );
        let json = column.json(7, None, &flip);
        assert_eq!((&json["position"], &json["label"]), (&json!([1, 2]), &Json::Null));
        assert_eq!((&json["float_margin"], &json["integer"]), (&json!(0.25), &json!(0)));
    }
}
