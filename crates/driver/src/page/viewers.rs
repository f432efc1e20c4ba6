//! The files with the errors of layers: node data of Model Explorer, and the Q/DQ file with notes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use strait_mapped::map;

use crate::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    pipeline::QDQ_ONNX_FILE,
    report::{Analysis, Report},
    stop::Stop,
};

use super::{Request, refused, unusable};

/// The id of a graph for Model Explorer, if the artifact has no ONNX file that tells its name.
const MAIN: &str = "main";

/// Makes the files that a request asks for besides the page, each with its place.
pub(super) fn files(
    request: &Request<'_>,
    report: &Report,
    analysis: Option<&Analysis>,
) -> Result<Vec<(PathBuf, Vec<u8>)>, Stop> {
    let mut files = Vec::new();
    // The command line asks for an analysis.
    let Some(analysis) = analysis else {
        return Ok(files);
    };
    let qdq = request.artifact.join(QDQ_ONNX_FILE);
    if let Some(file) = request.node_data {
        outside(file)?;
        let name = match request.graph {
            Some(name) => Some(name.to_owned()),
            None if qdq.is_file() => strait_onnx::graph_name(&mapped(&qdq)?).map_err(|error| damaged(&qdq, error))?,
            None => None,
        };
        let graph = name.filter(|name| !name.is_empty()).unwrap_or_else(|| MAIN.to_owned());
        let data = strait_page::node_data(report, analysis, &graph).map_err(refused)?;
        files.push((file.to_owned(), format!("{data:#}\n").into_bytes()));
    }
    if let Some(file) = request.qdq {
        outside(file)?;
        if !qdq.is_file() {
            let message = format!("{} has no {QDQ_ONNX_FILE}", request.artifact.display());
            let help = "name the folder of an artifact; `emit = [\"qdq-onnx\"]` in [output] writes the file for targets that have it";
            return Err(Diagnostic::error(codes::ARTIFACT, message).help(help).into());
        }
        let notes = strait_page::layer_notes(report, analysis).map_err(refused)?;
        let of = |node: &str| notes.get(node).cloned().unwrap_or_default();
        let bytes = strait_onnx::with_notes(&mapped(&qdq)?, &of).map_err(|error| damaged(&qdq, error))?;
        files.push((file.to_owned(), bytes));
        // The file names its second file without a folder.
        let data = request.artifact.join(format!("{QDQ_ONNX_FILE}.data"));
        if data.is_file() {
            let beside = file.with_file_name(format!("{QDQ_ONNX_FILE}.data"));
            fs::copy(&data, &beside).map_err(|error| unusable(&beside, "written", &error))?;
        }
    }
    Ok(files)
}

fn outside(file: &Path) -> Result<(), Stop> {
    Ok(failure::outside(
        file,
        "errors of layers are not written into",
        "name a place elsewhere",
    )?)
}

fn mapped(file: &Path) -> Result<bytes::Bytes, Stop> {
    map(file, u64::MAX).map_err(|error| unusable(file, "read", &error))
}

fn damaged(file: &Path, error: strait_onnx::Damaged) -> Stop {
    Diagnostic::error(codes::DAMAGED, format!("{}: {error}", file.display())).into()
}
