//! `cargo xtask bench`: measures what compiling costs, in comparison with ONNX Runtime on the same machine at the same
//! time, and how the cost grows with the model.

mod images;
// The writer of the benchmarks of `strait-onnx`, which uses all of it.
#[allow(
    dead_code,
    reason = "these graphs have no tensors as attributes and none in files of their own"
)]
#[path = "../../../crates/onnx/benches/shared/file.rs"]
mod onnx;
mod peers;
mod random;
mod samples;
mod scaling;
mod shapes;

use crate::{Command, Outcome, python};

pub(crate) const COMMAND: Command = Command {
    name: "bench",
    summary: "time and peak memory of each phase, beside ONNX Runtime's quantization",
    help: HELP,
    run,
};

const HELP: &str = "
Compiles MobileNetV2 and ResNet-8 for generic-int8 and prints time and peak memory of each phase, of the whole process,
and of ONNX Runtime's static quantization of the same model with the same samples in the same run; then the memory that
500 samples take against 32, of ResNet-8 with every observer of activations. Needs the models and data in a folder
`shared/data` beside the repository, and Python.

With --scaling: compiles graphs of 1,000, 10,000 and 100,000 nodes, which it makes itself, in several shapes (chains of
residual blocks, one value that all nodes read, large concatenations, moves that share one grid, nodes that are refused,
and for sima sums whose operands share one grid), and prints wall time, peak memory and the exponents with which they
grow; then the part of a compilation of ResNet-50 and MobileNetV2 that verification takes, where the folder `shared` is
there. Each figure is the median of the rounds. A figure that misses its mark fails the command, so it wants a quiet
machine.

With --images: reads 500 photographs of 640 x 480 as samples on two threads, beside Pillow with NumPy in two processes, and
looks whether memory grows with their number.

With --peers: how fast artifacts run and models compile beside ONNX Runtime, OpenVINO and LiteRT, in turns, with the mark
of each figure: five models on one and two threads with the forms of three targets, the models of MLPerf Tiny,
compilations of three models from nothing, short commands, and graphs of up to a million nodes. What is not installed is
skipped and said. --parts latency,tiny,compile,start,graphs chooses parts, and --only chooses models by a part of their
name. --save FILE writes the figures, and --compare FILE fails if a ratio is worse than there. See docs/performance.md.

Usage: cargo xtask bench [--rounds N] [--samples N]
       cargo xtask bench --peers [--parts LIST] [--only NAME] [--rounds N] [--seconds S] [--save FILE] [--compare FILE]
       cargo xtask bench --scaling [--rounds N]
       cargo xtask bench --images [--rounds N]
";

fn run(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((first, rest)) if first == "--scaling" => scaling::run(rest),
        Some((first, rest)) if first == "--images" => images::run(rest),
        Some((first, rest)) if first == "--peers" => peers::run(rest),
        _ => python::measure("bench", arguments),
    }
}
