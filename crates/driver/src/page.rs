//! Makes the page for people from the report of an artifact, and files with the errors of layers for programs that show models.

mod viewers;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use strait_container::Artifact;
use strait_page::page;

use crate::{
    diagnostic::Diagnostic,
    failure::codes,
    report::{self, Analysis, REPORT_FILE, Report},
    stop::Stop,
};

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The folder of an artifact, or a `report.json`.
    pub artifact: &'a Path,
    /// The output of `strait analyze --json`.
    pub analysis: Option<&'a Path>,
    /// Where the page is written. Absent: beside the artifact, under its name with `.html`.
    pub out: Option<&'a Path>,
    /// True if names of layers and statistics of weights are left out.
    pub redact: bool,
    /// Where the errors of layers are written as node data of Model Explorer.
    pub node_data: Option<&'a Path>,
    /// The id of the graph in the node data. Absent: as in the Q/DQ file of the artifact, or `main`.
    pub graph: Option<&'a str>,
    /// Where the Q/DQ file of the artifact is written with the errors of layers as notes.
    pub qdq: Option<&'a Path>,
}

/// A page that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// The other files that were asked for.
    pub others: Vec<PathBuf>,
}

/// Makes the page and writes it.
///
/// # Errors
/// If a file cannot be read or written, or the analysis is of another model.
pub fn write(request: &Request<'_>) -> Result<Written, Stop> {
    let report = match request.artifact.is_dir() {
        true => {
            Artifact::open(request.artifact)?;
            read::<Report>(
                &request.artifact.join(REPORT_FILE),
                (codes::DAMAGED, report::SCHEMA),
                "a report of this version of Strait",
            )?
        }
        false => read::<Report>(
            request.artifact,
            (codes::ARTIFACT, report::SCHEMA),
            "the folder of an artifact or its report.json",
        )?,
    };
    let analysis = request.analysis.map(|path| {
        let read = read::<Analysed>(
            path,
            (codes::ARTIFACT, report::ANALYSIS_SCHEMA),
            "what `strait analyze --json` prints",
        )?;
        Ok::<_, Stop>(match read {
            Analysed::Printed { analysis } => analysis,
            Analysed::Plain(analysis) => analysis,
        })
    });
    let analysis = analysis.transpose()?;
    let page = page(&report, analysis.as_deref(), request.redact).map_err(refused)?;
    let others = viewers::files(request, &report, analysis.as_deref())?;
    let file = match request.out {
        Some(out) => out.to_owned(),
        None => beside(request.artifact)?,
    };
    fs::write(&file, &page).map_err(|error| unusable(&file, "written", &error))?;
    for (file, bytes) in &others {
        fs::write(file, bytes).map_err(|error| unusable(file, "written", &error))?;
    }
    Ok(Written {
        file,
        bytes: page.len(),
        others: others.into_iter().map(|(file, _)| file).collect(),
    })
}

fn refused(error: strait_page::PageError) -> Stop {
    let help = "analyze the configuration and the target that the artifact was compiled for";
    match error {
        strait_page::PageError::Unrelated(_) => Diagnostic::error(codes::ARTIFACT, error.to_string()).help(help).into(),
        strait_page::PageError::Template(_) => Stop::Defect(error.to_string()),
    }
}

/// The output of `strait analyze --json`, or the analysis alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Analysed {
    Printed { analysis: Box<Analysis> },
    Plain(Box<Analysis>),
}

/// The key that is read first, so that reports of a newer program are recognized.
#[derive(Deserialize)]
struct Head {
    schema: u64,
    strait: Option<String>,
}

/// Reads a file of the schema `known`.
fn read<T: DeserializeOwned>(path: &Path, (code, known): (&str, u32), expected: &str) -> Result<T, Stop> {
    let bytes = fs::read(path).map_err(|error| unusable(path, "read", &error))?;
    if let Ok(Head { schema, strait }) = serde_json::from_slice(&bytes)
        && schema > known.into()
    {
        let message = format!(
            "{} is of schema {schema}, and schema {known} is read: it is newer than this program",
            path.display()
        );
        let by = strait.map_or("the strait".to_owned(), |version| format!("strait {version}"));
        let finding = Diagnostic::error(code, message);
        return Err(finding.help(format!("use {by} that wrote it, or a later one")).into());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{} is not {expected}: {error}", path.display());
        Diagnostic::error(code, message).into()
    })
}

fn unusable(path: &Path, verb: &str, error: &io::Error) -> Stop {
    Diagnostic::error(codes::ARTIFACT, format!("{} cannot be {verb}: {error}", path.display())).into()
}

/// The file beside an artifact. A file inside of the artifact would not be in its manifest.
fn beside(artifact: &Path) -> Result<PathBuf, Stop> {
    let full = artifact
        .canonicalize()
        .map_err(|error| unusable(artifact, "read", &error))?;
    // A report.json in an artifact stands for the artifact.
    let own = match full.is_dir() {
        true => Some(full.as_path()),
        false => full.parent(),
    };
    let name = own.and_then(Path::file_name).map(|name| {
        let mut name = name.to_owned();
        name.push(".html");
        name
    });
    match (own.and_then(Path::parent), name) {
        (Some(folder), Some(name)) => Ok(folder.join(name)),
        _ => Err(
            Diagnostic::error(codes::ARTIFACT, "there is no folder around the artifact")
                .help("name a file with --out")
                .into(),
        ),
    }
}
