//! The arguments of `strait eval`.

use std::path::PathBuf;

use clap::Args;
use strait_evaluate::Metric;

use super::{Executed, Sharing};

/// Measure a compiled model: top-1 with labels, agreement with its float model, or any other metric
///
/// With --simulated, its simulation is measured, too: the float model with rounding wherever the integer model has
/// codes. The difference between float and simulated is the cost of quantizing the values; the difference between
/// simulated and integer comes from the target's arithmetic.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait eval build/sima --data eval_x.npy --labels eval_y.npy --model model.onnx
  strait eval build/sima --data eval_x.npy --labels eval_y.npy --simulated configs/sima.toml
  strait eval build/sima --data eval_x.npy --metric cosine --metric snr --model model.onnx
  strait eval build/sima --data eval_x.npy --model model.onnx --flips flips.csv
  strait eval build/sima --evaluation deploy.toml --model model.onnx --allow-commands")]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) executed: Executed,
    /// Samples, stored like calibration samples
    #[arg(long, value_name = "PATH", required_unless_present = "evaluation")]
    pub(crate) data: Option<PathBuf>,
    /// A configuration whose [evaluation] names samples, labels and metrics; --data and --labels override it
    #[arg(long, value_name = "CONFIG", conflicts_with = "metric")]
    pub(crate) evaluation: Option<PathBuf>,
    /// Allow the commands that metrics of --evaluation name to be run
    #[arg(long, requires = "evaluation")]
    pub(crate) allow_commands: bool,
    /// The labels that a metric needs, such as the right class of each sample; required without --model
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// A metric; may be given several times [default: top1 if there are labels, and agreement if there is a model to
    /// compare with]
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub(crate) metric: Vec<Metric>,
    /// The float model to compare with, from which the artifact was made; required without --labels
    #[arg(long, value_name = "FLOAT")]
    pub(crate) model: Option<PathBuf>,
    /// Compare with --model even if the artifact was made from another model
    #[arg(long, requires = "model")]
    pub(crate) any_model: bool,
    /// The configuration that the artifact was made with: also measure its simulation in float
    #[arg(long, value_name = "CONFIG")]
    pub(crate) simulated: Option<PathBuf>,
    /// Write the answers that the integer model gives otherwise than --model, with margins, to this .csv or .json
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) flips: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) sharing: Sharing,
}

/// Parses the name of a metric.
fn metric(text: &str) -> Result<Metric, String> {
    let names = || Metric::ALL.iter().map(|metric| metric.name());
    let found = Metric::ALL.iter().copied().find(|metric| metric.name() == text);
    found.ok_or_else(|| format!("the metrics are {}", names().collect::<Vec<_>>().join(", ")))
}

impl Eval {
    pub(super) fn missing(&self) -> Option<String> {
        let text = "eval needs --labels, to count right answers, or --model or --simulated, to count those that are the \
                    float model's or the simulation's";
        let compared = [
            self.labels.is_some(),
            self.model.is_some(),
            self.simulated.is_some(),
            self.evaluation.is_some(),
        ];
        (!compared.contains(&true)).then(|| text.to_owned())
    }
}
