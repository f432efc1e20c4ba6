//! Writes the codes of all quantized values of an artifact for a few samples, minus their zero points, to be compared
//! with other programs.
//!
//! `cargo run -p strait-tests --example values -- ARTIFACT SAMPLES OUT [NAME=]FILE…`
//!
//! `OUT.json` has the name of each value and where it is in `OUT.bin`, which has the numbers as i32, sample by sample.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use strait_builtin as _;
use strait_driver::artifact::{Opened, inputs, named_files};
use strait_driver::session::{Session, Silent};
use strait_driver::stop::Stop;
use strait_driver::targets;
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_kernels::Context;
use strait_samples::{Samples, Scratch};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [artifact, count, out, files @ ..] = arguments.as_slice() else {
        return Err(
            "an artifact, a number of samples, a name for the output, and files of samples are expected".into(),
        );
    };
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let opened = Opened::open(Path::new(artifact), &targets::registry([])?)?;
    let inputs = inputs(&opened).map_err(Stop::from)?;
    let files = named_files(files, &inputs).map_err(Stop::from)?;
    let samples = Samples::open_by_name(&files, &inputs)?;
    let (module, graph) = (opened.whole(), opened.whole().main());
    let options = PlanOptions {
        context: session.context,
        loops: opened.loops.as_ref(),
        join: false,
    };
    let plan = Plan::new(module, module.main, &options)?;
    let mut workspace = Workspace::new(&plan, &Threads::one());
    let (mut index, mut numbers, mut scratch) = (Vec::new(), Vec::<u8>::new(), Scratch::default());
    for at in 0..samples.count().min(count.parse()?) {
        let sample = samples.sample(at, &mut scratch)?;
        let views: Result<Vec<TensorView<'_>>, _> = sample
            .iter()
            .map(|one| TensorView::new(one.elem(), one.shape(), one.bytes()))
            .collect();
        let mut broken = None;
        plan.run_observed(&mut workspace, &views?, &mut |id, tensor| {
            let Some(value) = graph.value(id) else { return };
            let Some((_, zero)) = value.quant.as_deref().and_then(strait_core::QuantParams::as_tensor) else {
                return;
            };
            if tensor.elem().int_type().is_none() {
                return;
            }
            let codes = tensor.to_tensor().to_data().map_err(|error| error.to_string());
            match codes.and_then(|data| data.to_i64().map_err(|error| error.to_string())) {
                Ok(codes) => {
                    let name = module.name(value.name);
                    let shape: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
                    index.push(format!(
                        "[{at}, {name:?}, {}, [{}]]",
                        numbers.len() / 4,
                        shape.join(", ")
                    ));
                    numbers.extend(
                        codes
                            .iter()
                            .flat_map(|code| ((code - i64::from(zero)) as i32).to_le_bytes()),
                    );
                }
                Err(error) => broken = Some(error),
            }
        })?;
        if let Some(error) = broken {
            return Err(error.into());
        }
    }
    let mut text = String::new();
    writeln!(text, "[{}]", index.join(",\n"))?;
    fs::write(format!("{out}.json"), text)?;
    fs::write(format!("{out}.bin"), numbers)?;
    Ok(())
}
