//! The arguments of the command line.

mod analyze;
mod attempt;
mod bench;
mod check;
mod config;
mod dump;
mod eval;
mod explain;
mod init;
mod machine;
mod made;
mod params;
mod plugin;
mod report;
mod sharing;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, error::ErrorKind};
use strait_driver::{artifact::Kernels, config::Override, session::Share, verification::Digest};
use strait_identify::Tolerance;

use crate::volume::Told;

pub(crate) use analyze::Analyze;
pub(crate) use attempt::Try;
pub(crate) use bench::Bench;
pub(crate) use check::CheckModel;
pub(crate) use config::{Config, ConfigCommand, Show};
pub(crate) use dump::Dump;
pub(crate) use eval::Eval;
pub(crate) use explain::Explain;
pub(crate) use init::Init;
pub(crate) use machine::Machine;
pub(crate) use made::{Completions, Man};
pub(crate) use params::{Params, ParamsCommand, Tool};
pub(crate) use plugin::{Check, Language, Lock, New, Plugin, PluginCommand};
pub(crate) use report::ReportPage;
pub(crate) use sharing::Sharing;

/// Turns a trained float model and a handful of samples into an integer model for one chip.
///
/// Exit codes: 0 done; 1 failed; 2 the command line was not understood; 3 the artifact is built, but a gate is not met;
/// 4 an artifact is damaged or not sound; 70 a bug in Strait; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "strait", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) told: Told,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Compile(Compile),
    #[command(name = "check")]
    CheckModel(CheckModel),
    Analyze(Analyze),
    #[command(name = "try")]
    Try(Try),
    Params(Params),
    Calibrate(Calibrate),
    Samples(Samples),
    Run(Run),
    Eval(Eval),
    Bench(Bench),
    Verify(Verify),
    Inspect(Inspect),
    #[command(name = "report")]
    Report(ReportPage),
    Targets(Targets),
    Identify(Identify),
    Plugin(Plugin),
    Config(Config),
    Explain(Explain),
    Completions(Completions),
    Man(Man),
}

impl Arguments {
    /// Refuses a command if its other arguments require an argument that is missing.
    pub(crate) fn complete(self) -> Result<Arguments, clap::Error> {
        let (command, missing) = match &self.command {
            Command::Compile(arguments) => ("compile", arguments.missing()),
            Command::Eval(arguments) => ("eval", arguments.missing()),
            _ => ("", None),
        };
        let Some(missing) = missing else { return Ok(self) };
        let mut all = Arguments::command();
        all.build();
        let found = all.find_subcommand_mut(command);
        Err(found.map_or_else(
            || clap::Error::raw(ErrorKind::MissingRequiredArgument, &missing),
            |command| command.error(ErrorKind::MissingRequiredArgument, &missing),
        ))
    }
}

/// The arguments that all commands share that run a compiled model.
#[derive(Debug, Args)]
pub(crate) struct Executed {
    /// Folder of the artifact
    #[arg(value_name = "ARTIFACT")]
    pub(crate) artifact: PathBuf,
    /// Which code computes the requantizations: `target` stands for the target's own model of its arithmetic [default:
    /// the registered kernels, or the host's]
    #[arg(long, value_name = "WHOSE")]
    pub(crate) kernels: Option<Whose>,
    /// Library of the target's plugin; the artifact must have been made with it
    #[arg(long, value_name = "LIBRARY", requires = "kernels")]
    pub(crate) plugin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

/// The values of `--kernels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Whose {
    /// The target's own model
    Target,
}

impl Executed {
    /// Which code computes the requantizations.
    pub(crate) fn kernels(&self) -> Kernels {
        match self.kernels {
            Some(Whose::Target) => Kernels::Target(self.plugin.clone()),
            None => Kernels::Registered,
        }
    }
}

/// Arguments that replace values of the configuration.
#[derive(Debug, Args)]
pub(crate) struct Instead {
    /// Use this model instead
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<String>,
    /// Use these samples for calibration instead
    #[arg(long, value_name = "PATH")]
    pub(crate) calibration: Option<String>,
    /// Use this file of the vendor's own tool, such as AMCT's `.cfg`, and turn it into rules
    #[arg(long, value_name = "FILE")]
    pub(crate) calibration_config: Option<String>,
    /// Set any key of the configuration, with a TOML value; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl Instead {
    /// The replacements in the order in which they apply: if several set the same key, the last one wins.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let model = self.model.as_ref().map(Override::model);
        let calibration = self.calibration.as_ref().map(Override::calibration);
        let words = self.calibration_config.as_ref().map(Override::calibration_config);
        let set = self.set.iter().map(Override::set);
        model.into_iter().chain(calibration).chain(words).chain(set).collect()
    }
}

/// Compile a model as a configuration describes
///
/// Writes an artifact for each target: the integer model, a report, and further files that the target asks for. The
/// previous artifact stays in place until the new one is complete.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait compile configs/sima.toml
  strait compile deploy.toml --target generic-int8 --out build/try --set calibration.samples=64
  strait compile --model model.onnx --calibration calib.npy --target generic-int8 --out build/generic-int8
  strait compile deploy.toml --share 2/4 --exchange /shared/job-17")]
pub(crate) struct Compile {
    /// The configuration; not needed with --model, --target, --out and --calibration, or without --calibration if the
    /// model is already quantized
    #[arg(value_name = "FILE", conflicts_with = "config")]
    pub(crate) file: Option<PathBuf>,
    /// The configuration, as an option
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Compile for this target instead of those of the configuration; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) target: Vec<String>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// Write the artifacts to this folder instead
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<String>,
    /// Allow the commands that metrics of the configuration name to be run
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Only print the rules of the configuration in order, with those that options and the vendor's file add
    #[arg(long)]
    pub(crate) rules: bool,
    /// Print each layer and all remarks too, and not only what fits on a screen
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// Print one JSON object: the phases with their costs, and the artifacts with their reports
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) sharing: Sharing,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

impl Compile {
    /// The file of the configuration. `None` if there is no file, because the other arguments replace it.
    pub(crate) fn configuration(&self) -> Option<&Path> {
        self.file.as_deref().or(self.config.as_deref())
    }

    fn missing(&self) -> Option<String> {
        let given = [
            ("--model", self.instead.model.is_some()),
            ("--target", !self.target.is_empty()),
            ("--out", self.out.is_some()),
        ];
        let missing: Vec<&str> = given
            .iter()
            .filter(|(_, given)| !given)
            .map(|(name, _)| *name)
            .collect();
        let needed = self.configuration().is_none() && !missing.is_empty();
        needed.then(|| {
            format!(
                "name a configuration, or say all of it with --model, --target and --out, and --calibration unless the model \
                 has its grids; missing: {}",
                missing.join(", ")
            )
        })
    }
}

/// Observe the calibration samples, or a share of them, and store the statistics
///
/// `compile` finds the statistics of all samples in its cache and does not observe them again. Shares of the samples
/// can be observed on different machines; `calibrate merge` joins them into the same bytes that a single run would
/// give.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  strait calibrate deploy.toml
  strait calibrate deploy.toml --shard 2/8 --out shards/2.statistics
  strait calibrate merge shards/*.statistics --out .strait/cache/"
)]
pub(crate) struct Calibrate {
    #[command(subcommand)]
    pub(crate) command: Option<CalibrateCommand>,
    /// The configuration
    #[arg(value_name = "CONFIG", required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Observe only this part of the samples: the I-th of N equal parts, counted from 1
    #[arg(long, value_name = "I/N", value_parser = sharing::share, visible_alias = "share")]
    pub(crate) shard: Option<Share>,
    /// Observe all samples together with the processes that have the other parts, which exchange their statistics in this
    /// folder: empty at first, and the same for all of them
    #[arg(long, value_name = "DIR", requires = "shard")]
    pub(crate) exchange: Option<PathBuf>,
    /// Give up if another process has delivered nothing for so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "3600", requires = "exchange")]
    pub(crate) wait: u64,
    /// Write to this file, or to this folder under a name made from the model and the samples [default: the cache of
    /// the configuration]
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// Print one JSON object: the phases with their costs, and the file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CalibrateCommand {
    Merge(Merge),
}

/// Join the statistics of shares into those of all samples
///
/// All shares must be of the same model and the same set of samples, and each sample must be in exactly one of them.
/// Their order does not matter.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  strait calibrate merge shards/*.statistics --out .strait/cache/")]
pub(crate) struct Merge {
    /// The files of all shares
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write to this file, or to this folder under the name that `compile` looks for in its cache
    #[arg(long, value_name = "FILE|DIR", required = true)]
    pub(crate) out: PathBuf,
    /// Print one JSON object: the phases with their costs, and the file
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write what the network sees: the samples after preprocessing
///
/// Writes an .npy with all samples for each input, and a PNG of each sample if it has the shape of an image. An
/// index.json lists the names of the images.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait samples deploy.toml --out seen
  strait samples deploy.toml --out seen --evaluation --samples 16")]
pub(crate) struct Samples {
    /// The configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Use the samples of [evaluation] instead of those of [calibration]
    #[arg(long)]
    pub(crate) evaluation: bool,
    /// Only this many samples, from the first on
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<NonZeroU32>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

/// Run a compiled model on stored samples
///
/// Samples are preprocessed as the configuration described. In the files, the first axis of each output counts the
/// samples. With --dump, tensors inside the model are written instead of its outputs, as an .npz file by their names in the
/// model: the codes and accumulators of the artifact alone, the numbers of the float model with --model, and those of the
/// simulation with --simulated. A tensor that cannot be had at a stage is listed with the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait run build/sima --input x.npy --output y.npy
  strait run build/yolox --input images=x.npy --output outputs/ --raw
  strait run build/sima --input x.npy --dump '/layer1/**' --output codes.npz
  strait run build/sima --input x.npy --dump '/layer1/**' --stage float --model model.onnx --output float.npz")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) executed: Executed,
    /// Samples for an input; the name may be left out if there is only one input, or if one path (an .npz or a folder)
    /// has the samples of all inputs, as for calibration
    #[arg(long, value_name = "[NAME=]PATH", required = true)]
    pub(crate) input: Vec<String>,
    /// Where to write the outputs: a file, or a folder with an index.json if there are several
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) output: PathBuf,
    /// Write integers, as they are before the last dequantization
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) dump: Dump,
}

/// Check an artifact against itself, without the compiler that made it
///
/// Compares every file with its digest, derives every certificate again from the graphs, and compares the fused graph
/// with the lowered one on random samples and on yours. Each layer runs on the same operands in both; it has to be
/// equal bit for bit if its certificate is exact, and within its bound otherwise. If something is wrong, the exit code
/// is 4, and the file or layer is named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait verify build/sima
  strait verify build/sima --data x.npy --samples 16 --expect 5f2c…")]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) executed: Executed,
    /// Further samples to run on, stored like calibration samples; with several inputs, a file for each input
    #[arg(long, value_name = "[NAME=]PATH", num_args = 1..)]
    pub(crate) data: Vec<String>,
    /// Number of random samples to run on
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) samples: usize,
    /// Seed of the random samples
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The digest that the artifact must have, as `compile`, `inspect` and `verify` print it
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub(crate) expect: Option<Digest>,
    /// Also use a target that is a table in this file; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn digest(text: &str) -> Result<Digest, &'static str> {
    Digest::parse(text).ok_or("a digest has 64 lower-case hexadecimal digits")
}

/// Show what a model or an artifact consists of
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait inspect model.onnx
  strait inspect model.onnx --cuts
  strait inspect build/sima --graph text --match '/layer1/**'
  strait inspect build/sima --fusions
  strait inspect build/sima --quant --match '/layer1/**'
  strait inspect build/sima --graph svg > graph.svg
  strait inspect model.onnx --set model.outputs='[\"/head/Conv\"]' --graph dot | dot -Tpng > graph.png")]
pub(crate) struct Inspect {
    /// A model or the folder of an artifact
    #[arg(value_name = "MODEL|ARTIFACT")]
    pub(crate) subject: PathBuf,
    /// Print the graph
    #[arg(long, value_name = "FORM")]
    pub(crate) graph: Option<GraphForm>,
    /// Show each row of the target's fusion table: what it fused and what is proved of it, or why it was not applied
    #[arg(long, conflicts_with = "graph")]
    pub(crate) fusions: bool,
    /// Show type, state, scale and zero point of each operand and each result, and where they come from
    #[arg(long, conflicts_with_all = ["graph", "fusions"])]
    pub(crate) quant: bool,
    /// Set a key of the configuration that says how the model is read, with a TOML value; may be given several times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["fusions", "quant"])]
    pub(crate) set: Vec<String>,
    /// Propose where to cut a model whose end does not quantize well, such as a detector: prints the lines for the
    /// configuration
    #[arg(long, conflicts_with_all = ["graph", "fusions", "quant", "pattern"])]
    pub(crate) cuts: bool,
    /// Only layers whose names in the source model match this pattern
    #[arg(long = "match", value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "graph")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphForm {
    /// Strait's own text form
    Text,
    /// Graphviz
    Dot,
    /// A drawing; layers whose names begin alike share a box if there are many
    Svg,
}

/// List the targets, or show the table of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait targets
  strait targets sima")]
pub(crate) struct Targets {
    /// The target to show
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Also use a target that is a table in this file; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Compare the target's table with an older one: which rows differ, which differences change bits, and whether the
    /// version number reflects that; if it does not, the exit code is 3
    #[arg(long, value_name = "OLD", requires = "id")]
    pub(crate) against: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Find the integer arithmetic that explains recorded accumulators and outputs
///
/// Tries, for each recorded layer, every arithmetic: each form, rounding, width of the multiplier, number of roundings
/// (one or two), and place where the zero point is added. For an arithmetic that explains every value, prints a row of
/// a target's table. For any other, prints a remark with a value that refutes it. The command fails if no arithmetic
/// explains a layer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait identify recorded.npz
  strait identify recorded.npz --layer conv1 --json
  strait identify recorded.npz --tolerate 0.1%")]
pub(crate) struct Identify {
    /// Recorded layers, in the layout of docs/plugins/silicon.md
    #[arg(value_name = "VECTORS")]
    pub(crate) vectors: PathBuf,
    /// Only this layer; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) layer: Vec<String>,
    /// Accept an arithmetic that misses at most this percentage of a layer's outputs, because some may be wrong
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    pub(crate) tolerate: Tolerance,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed_and_every_command_has_an_example() {
        let mut command = Arguments::command();
        command.build();
        command.clone().debug_assert();
        for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
            let help = sub.render_long_help().to_string();
            assert!(
                help.contains("Example") && help.contains("  strait "),
                "{}",
                sub.get_name()
            );
        }
    }
}
