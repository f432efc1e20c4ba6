//! The arguments of `strait report`.

use std::path::PathBuf;

use clap::Args;

/// Make a page with plots of the report of an artifact
///
/// The page is one file that needs no network. It stands beside the artifact, because the artifact has a digest and does
/// not change. With the result of an analysis, the page also shows where the points of each metric went, and the error of
/// each layer. `[output] report = ["html"]` in a configuration makes a page as part of the artifact.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait report build/generic-int8
  strait analyze deploy.toml --target sima --json > analysis.json
  strait report build/sima --analysis analysis.json --out sima.html
  strait report build/sima --analysis analysis.json --node-data sima.errors.json --qdq sima.errors.onnx")]
pub(crate) struct ReportPage {
    /// Folder of the artifact, or its report.json
    #[arg(value_name = "ARTIFACT")]
    pub(crate) artifact: PathBuf,
    /// The result of `strait analyze --json` for the same configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) analysis: Option<PathBuf>,
    /// Write the page to this file [default: the name of the artifact, with .html]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out the names of layers and tensors, and the statistics of weights
    #[arg(long)]
    pub(crate) redact: bool,
    /// Also write the errors of layers as node data of Model Explorer; needs --analysis
    #[arg(long, value_name = "FILE", requires = "analysis", conflicts_with = "redact")]
    pub(crate) node_data: Option<PathBuf>,
    /// The id of the graph in the node data, which for an ONNX file is the name of its graph [default: as in model.qdq.onnx, or
    /// main]
    #[arg(long, value_name = "ID", requires = "node_data")]
    pub(crate) graph: Option<String>,
    /// Also write the artifact's model.qdq.onnx with the errors of layers as metadata of its nodes, which Netron shows; needs
    /// --analysis
    #[arg(long, value_name = "FILE", requires = "analysis", conflicts_with = "redact")]
    pub(crate) qdq: Option<PathBuf>,
    /// Print one JSON object: the files, and the size of the page
    #[arg(long)]
    pub(crate) json: bool,
}
