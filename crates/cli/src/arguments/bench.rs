//! The arguments of `strait bench`.

use clap::Args;

use super::Executed;

/// Measure how fast a compiled model runs on this machine
///
/// Runs one sample of random numbers again and again, on all threads together. Prints the latency, and how many
/// multiply-adds a second convolutions and matrix products compute, as a share of what the processor can reach.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait bench build/generic-int8 --threads 1
  strait bench build/generic-int8 --threads 1 --profile
  yes '' | head -100 | strait bench build/generic-int8 --stdin")]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) executed: Executed,
    /// Also measure each step
    #[arg(long, conflicts_with = "stdin")]
    pub(crate) profile: bool,
    /// Run once for each line on standard input, and print a line with the latency in milliseconds, so that another
    /// program can take turns with this one
    #[arg(long, conflicts_with = "json")]
    pub(crate) stdin: bool,
    /// Measure for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("seconds are a number from 0 to 86400"),
    }
}
