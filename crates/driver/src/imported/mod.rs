//! Reads scales and zero points from files of other tools, and makes a file of parameters of them.
//!
//! One file for each format. A reader takes what says scale, zero point and width for a tensor by its name, and lists
//! everything else with the reason, so that nothing is lost in silence.

mod aimet;
mod qdq;
mod tensorrt;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs, path::Path};

use serde::Serialize;
use strait_container::{Beside, Params, TensorParams};
use strait_core::{Elem, QuantParams};
use strait_requantize::Per;

use crate::{
    config::MOST_PARAMS_BYTES,
    diagnostic::{Diagnostic, Diagnostics},
    failure::{codes, unwritten},
    stop::Stop,
    table,
};

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// Encodings of AIMET, versions 0.6.1 and 1.0.0.
    Aimet,
    /// A calibration cache of TensorRT.
    TensorRt,
    /// An ONNX model with pairs of QuantizeLinear and DequantizeLinear.
    Onnx,
}

impl From {
    /// The name of the format in messages.
    pub fn name(self) -> &'static str {
        match self {
            From::Aimet => "encodings of AIMET",
            From::TensorRt => "a calibration cache of TensorRT",
            From::Onnx => "an ONNX model with Q/DQ pairs",
        }
    }

    /// Recognises the format by the beginning of the content.
    fn of(content: &[u8]) -> From {
        let text = content.trim_ascii_start();
        match text {
            [b'{', ..] => From::Aimet,
            text if text.starts_with(b"TRT-") => From::TensorRt,
            _ => From::Onnx,
        }
    }
}

/// What was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// The parameters that were taken.
    pub(crate) tensors: Vec<TensorParams>,
    /// The tensors that were not taken, each with the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Found {
    fn leave(&mut self, name: &str, why: impl Into<String>) {
        self.left_out.push((name.to_owned(), why.into()));
    }
}

/// What was imported, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imported {
    /// The format of the file.
    pub from: From,
    /// The number of tensors that were taken.
    pub taken: usize,
    /// The tensors that were not taken, each with the reason.
    pub left_out: Vec<LeftOut>,
}

/// A tensor that was not taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The name in the file.
    pub name: String,
    /// Why it was not taken.
    pub why: String,
}

impl std::fmt::Display for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} taken of {}",
            table::count(self.taken, "tensor"),
            self.from.name()
        )?;
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for left in &self.left_out {
            reasons.entry(&left.why).or_default().push(&left.name);
        }
        for (why, names) in reasons {
            write!(
                f,
                "\nnot taken: {} ({}): {why}",
                names.join(", "),
                table::count(names.len(), "tensor")
            )?;
        }
        Ok(())
    }
}

/// Reads `file` and writes a file of parameters to `out`. The format is recognised by the content if `from` does not say it.
///
/// # Errors
/// The file cannot be read, is larger than 256 MiB, is of another format or names nothing that can be taken, or `out` cannot be
/// written.
pub fn import(file: &Path, from: Option<From>, out: &Path) -> Result<Imported, Stop> {
    let (from, found) = read(file, from)?;
    if found.tensors.is_empty() {
        let message = format!("{} has no scale for any tensor that can be taken", file.display());
        let mut finding = Diagnostic::error(codes::PARAMS, message);
        for (name, why) in found.left_out.iter().take(3) {
            finding = finding.note(format!("`{name}`: {why}"));
        }
        return Err(finding
            .help(format!("it was read as {}; `--from` says another format", from.name()))
            .into());
    }
    let imported = Imported {
        from,
        taken: found.tensors.len(),
        left_out: (found.left_out.into_iter())
            .map(|(name, why)| LeftOut { name, why })
            .collect(),
    };
    let params = Params {
        migrated: None,
        tensors: found.tensors,
    };
    write(out, &params.to_toml())?;
    Ok(imported)
}

fn read(file: &Path, from: Option<From>) -> Result<(From, Found), Diagnostics> {
    let unread = |message: String| {
        let message = format!("{} cannot be read: {message}", file.display());
        Diagnostics::from(Diagnostic::error(codes::PARAMS, message))
    };
    if matches!(from, Some(From::Onnx)) {
        return Ok((From::Onnx, qdq::read(file).map_err(unread)?));
    }
    let bytes = strait_mapped::read(file, MOST_PARAMS_BYTES).map_err(|error| error.to_string());
    // A model may be larger than a file of scales. Its reader has limits of its own.
    let bytes = match bytes {
        Err(_) if from.is_none() && file.extension().is_some_and(|extension| extension == "onnx") => {
            return Ok((From::Onnx, qdq::read(file).map_err(unread)?));
        }
        bytes => bytes.map_err(unread)?,
    };
    let from = from.unwrap_or_else(|| From::of(&bytes));
    let found = match from {
        From::Onnx => qdq::read(file),
        From::Aimet => aimet::read(&bytes),
        From::TensorRt => tensorrt::read(&bytes),
    };
    Ok((from, found.map_err(unread)?))
}

/// Writes the text beside its destination and moves it there, so that no other program reads half of it.
fn write(out: &Path, text: &str) -> Result<(), Diagnostics> {
    crate::failure::outside(
        out,
        "a file of parameters is not written into",
        "name a place elsewhere with -o",
    )?;
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = || {
        let beside = Beside::new(folder.unwrap_or(Path::new(".")), ".toml")?;
        fs::write(beside.path(), text)?;
        beside.put_in_place(out)
    };
    written().map_err(|error| unwritten(out, &error).into())
}

/// The type of signed codes of this width.
fn signed(bits: u64) -> Option<Elem> {
    [Elem::I4, Elem::I8, Elem::I16]
        .into_iter()
        .find(|elem| u64::from(elem.bits()) == bits)
}

/// An entry of the file of parameters. With several scales, they are along `axis`.
fn entry(name: &str, elem: Elem, scales: Vec<f32>, zeros: Vec<i32>, axis: u8) -> TensorParams {
    let (least, most) = elem.integers().unwrap_or_default();
    let many = scales.len() > 1;
    let symmetric = least < 0 && zeros.iter().all(|&zero| zero == 0);
    let first = |zeros: &[i32]| zeros.first().copied().unwrap_or(0);
    let params = QuantParams {
        zero_point: match many && zeros.iter().any(|&zero| zero != first(&zeros)) {
            true => zeros.into_iter().collect(),
            false => Per::Tensor(first(&zeros)),
        },
        scale: match (many, scales.first()) {
            (false, Some(&scale)) => Per::Tensor(scale),
            _ => scales.into_iter().collect(),
        },
        axis: many.then_some(axis),
        block: None,
        codes: None,
    };
    TensorParams {
        name: name.to_owned(),
        reader: None,
        elem,
        codes: [least + i64::from(symmetric), most],
        params,
        origin: "imported".to_owned(),
        of: None,
    }
}

/// True for a scale that a grid can have.
fn is_scale(scale: f32) -> bool {
    scale > 0.0 && scale.is_finite()
}
