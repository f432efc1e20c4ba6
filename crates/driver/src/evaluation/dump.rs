//! Writes the outputs of a model to a file, for commands to read.

use std::path::{Path, PathBuf};

use strait_evaluate::Output;
use strait_execute::Tensor;
use strait_samples::{NumberType, Stacked, StackedError};

use crate::{diagnostic::Diagnostic, failure::codes, stop::Stop};

/// An `.npz` file that is being written, in a temporary folder of its own. The folder is removed when this value is
/// dropped.
pub(crate) struct Dump {
    folder: tempfile::TempDir,
    stacked: Stacked,
    outputs: Vec<(String, usize)>,
}

/// A complete file of outputs. Its folder is removed when this value is dropped.
pub(crate) struct Dumped {
    folder: tempfile::TempDir,
}

impl Dump {
    /// Begins the file for `samples` samples. As in the files of `strait run`, the samples lie along the batch
    /// dimension of an output if this dimension is 1.
    ///
    /// # Errors
    /// If shapes of outputs depend on data, if the outputs have 4 GiB or more in total, or if the file cannot be
    /// written.
    pub(crate) fn create(outputs: &[Output], samples: usize) -> Result<Dump, Stop> {
        if let Some(open) = outputs.iter().find(|output| output.shape.contains(&0)) {
            let message = format!(
                "commands need outputs of fixed extents, and those of {:?} depend on data",
                open.name
            );
            return Err(Diagnostic::error(codes::EVALUATION, message).into());
        }
        let folder = tempfile::tempdir().map_err(|error| failed(&StackedError::Io(error)))?;
        let arrays: Vec<(String, NumberType, Vec<usize>)> = (outputs.iter())
            .map(|output| {
                let one = output.shape.strip_prefix(&[1]).unwrap_or(&output.shape);
                let shape = [&[samples], one].concat();
                (output.name.clone(), NumberType::from(output.elem), shape)
            })
            .collect();
        let stacked = Stacked::create(&file_in(folder.path()), &arrays).map_err(|error| failed(&error))?;
        let outputs = outputs
            .iter()
            .map(|output| (output.name.clone(), output.count()))
            .collect();
        Ok(Dump {
            folder,
            stacked,
            outputs,
        })
    }

    /// Appends the outputs of one sample.
    pub(crate) fn append(&mut self, outputs: &[Tensor]) -> Result<(), Stop> {
        for (index, ((name, _), output)) in self.outputs.iter().zip(outputs).enumerate() {
            let appended = self.stacked.append(index, output.view().bytes());
            appended.map_err(|error| failed(&error).note(format!("it is the output {name:?}")))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<Dumped, Stop> {
        self.stacked.finish().map_err(|error| failed(&error))?;
        Ok(Dumped { folder: self.folder })
    }
}

impl Dumped {
    /// Path of the file.
    pub(crate) fn file(&self) -> PathBuf {
        file_in(self.folder.path())
    }
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("outputs.npz")
}

fn failed(error: &StackedError) -> Diagnostic {
    let finding = Diagnostic::error(
        codes::OUTPUT,
        format!("outputs cannot be written for a command: {error}"),
    );
    match error {
        StackedError::Large(_) => finding.help("evaluate on fewer samples: `samples` of [evaluation]"),
        StackedError::Io(_) => finding.note(format!("they go to {}", std::env::temp_dir().display())),
    }
}
