//! The arguments of `strait eval`.

use std::path::PathBuf;

use clap::Args;
use strait_evaluate::Metric;

use super::Executed;

/// Measure a compiled model: top-1 where there are labels, agreement where there is its float model, or any other metric
///
/// With --simulated also its simulation: the float model that rounds wherever the integer one has codes. Between float and
/// simulated lies what the grids cost, between simulated and integer what the target's arithmetic does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait eval build/sima --data eval_x.npy --labels eval_y.npy --model model.onnx
  strait eval build/sima --data eval_x.npy --labels eval_y.npy --simulated configs/sima.toml
  strait eval build/sima --data eval_x.npy --metric cosine --metric snr --model model.onnx
  strait eval build/sima --evaluation deploy.toml --model model.onnx --allow-commands")]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) executed: Executed,
    /// Samples, stored as those of the calibration
    #[arg(long, value_name = "PATH", required_unless_present = "evaluation")]
    pub(crate) data: Option<PathBuf>,
    /// A configuration whose [evaluation] says samples, labels and metrics; --data and --labels win over it
    #[arg(long, value_name = "CONFIG", conflicts_with = "metric")]
    pub(crate) evaluation: Option<PathBuf>,
    /// Start the commands that metrics of --evaluation name
    #[arg(long, requires = "evaluation")]
    pub(crate) allow_commands: bool,
    /// The labels that a metric needs, such as the right class of each sample; needed where there is no --model
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// A metric; may be given several times [default: top1 where there are labels, and agreement where there is something
    /// to compare with]
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub(crate) metric: Vec<Metric>,
    /// The float model to compare with: the one that the artifact was made from; needed where there are no --labels
    #[arg(long, value_name = "FLOAT")]
    pub(crate) model: Option<PathBuf>,
    /// Compare with the model of --model even if the artifact was made from another one
    #[arg(long, requires = "model")]
    pub(crate) any_model: bool,
    /// The configuration that the artifact was made with: measure its simulation in float, too
    #[arg(long, value_name = "CONFIG")]
    pub(crate) simulated: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A metric by its name.
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
