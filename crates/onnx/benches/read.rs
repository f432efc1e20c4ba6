//! Measures the time from a file to its module, on one thread. One model has few nodes and 100 MB of weights; it is
//! read once from a single file and once with a data file. The other models have 100,000 nodes on small tensors. In one
//! of them, half of the nodes compute shapes, as exporters write them.
//!
//! `cargo bench -p strait-onnx` prints one line per measurement, the median of several runs, and ends with an error if
//! a measurement takes longer than allowed. `cargo bench -p strait-onnx -- NAME` runs only the measurements whose name
//! contains NAME.

#[path = "shared/file.rs"]
mod file;

use file::{Attribute, Data, F32, File, I64};
use std::{error::Error, fs, hint::black_box, path::Path, process::ExitCode, time::Instant};
use strait_core::Module;
use strait_import::ReadOptions;
use strait_onnx::read;

/// Number of runs of each measurement. Their median is printed.
const TURNS: usize = 9;

/// Number of rows and of columns of each weight.
const WIDTH: usize = 1024;
/// Number of layers. Each has one weight, so all weights together have 104,857,600 bytes.
const LAYERS: usize = 25;

/// Number of nodes of a large graph.
const NODES: usize = 100_000;

/// A case: its name, a function that writes its files into a folder and returns the number of nodes, and the longest
/// time that is allowed, in seconds.
type Case = (&'static str, fn(&Path) -> Result<usize, Box<dyn Error>>, f64);

const CASES: [Case; 4] = [
    ("100 MB of weights in the model", |folder| weights(folder, false), 0.1),
    ("100 MB of weights beside it", |folder| weights(folder, true), 0.1),
    ("100,000 nodes, half of them on shapes", shapes, 0.5),
    ("100,000 nodes on activations", activations, 0.5),
];

const MODEL: &str = "model.onnx";
const WEIGHTS: &str = "model.onnx.data";

/// Writes a chain of matrix products with large weights.
fn weights(folder: &Path, beside: bool) -> Result<usize, Box<dyn Error>> {
    let mut model = File::new("x", &[1, WIDTH]);
    let mut data: Vec<u8> = Vec::new();
    let mut last = "x".to_string();
    for layer in 0..LAYERS {
        let (name, result) = (
            format!("layers.{layer}.weight"),
            format!("/layers.{layer}/MatMul_output_0"),
        );
        let value = |i: usize| ((i * 2_654_435_761 + layer) % 1009) as f32 / 1009.0 - 0.5;
        let bytes: Vec<u8> = (0..WIDTH * WIDTH).flat_map(|i| value(i).to_le_bytes()).collect();
        let place = match beside {
            true => Data::Beside(WEIGHTS, data.len(), bytes.len()),
            false => Data::Raw(&bytes),
        };
        model.constant(&name, F32, &[WIDTH, WIDTH], place);
        if beside {
            data.extend_from_slice(&bytes);
        }
        model.node("MatMul", &[&last, &name], &result, &[]);
        last = result;
    }
    let nodes = model.nodes();
    fs::write(folder.join(MODEL), model.written(&[(&last, &[1, WIDTH])]))?;
    fs::write(folder.join(WEIGHTS), data)?;
    Ok(nodes)
}

/// Number of channels of the small tensors.
const CHANNELS: usize = 4;
/// Height and width of the small tensors.
const SIDE: usize = 4;
const IMAGE: [usize; 4] = [1, CHANNELS, SIDE, SIDE];

/// Adds a 1 × 1 convolution whose weights no other convolution reads.
fn convolution(model: &mut File, of: &str, block: &str) -> String {
    let (weight, result) = (format!("{block}.conv.weight"), format!("/{block}/conv/Conv_output_0"));
    let values: Vec<u8> = (0..CHANNELS * CHANNELS)
        .flat_map(|i| (i as f32 / 16.0 - 0.4).to_le_bytes())
        .collect();
    model.constant(&weight, F32, &[CHANNELS, CHANNELS, 1, 1], Data::Raw(&values));
    model.node(
        "Conv",
        &[of, &weight],
        &result,
        &[("kernel_shape", Attribute::Integers(&[1, 1]))],
    );
    result
}

/// Writes residual blocks of three nodes each.
fn activations(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let mut model = File::new("x", &IMAGE);
    let mut last = "x".to_string();
    let mut block = 0;
    while model.nodes() < NODES {
        let name = format!("layers.{block}");
        let convolved = convolution(&mut model, &last, &name);
        let relu = format!("/{name}/Relu_output_0");
        model.node("Relu", &[&convolved], &relu, &[]);
        let sum = format!("/{name}/Add_output_0");
        model.node("Add", &[&last, &relu], &sum, &[]);
        (last, block) = (sum, block + 1);
    }
    let nodes = model.nodes();
    fs::write(folder.join(MODEL), model.written(&[(&last, &IMAGE)]))?;
    Ok(nodes)
}

/// Writes blocks of ten nodes each, of which five compute the shape for a reshape.
fn shapes(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let mut model = File::new("x", &IMAGE);
    model.constant("whole", I64, &[1], Data::Raw(&(-1i64).to_le_bytes()));
    let mut last = "x".to_string();
    let mut block = 0;
    while model.nodes() < NODES {
        let name = format!("layers.{block}");
        let of = |op: &str| format!("/{name}/{op}_output_0");
        let convolved = convolution(&mut model, &last, &name);
        model.node("Relu", &[&convolved], &of("Relu"), &[]);
        model.node("Shape", &[&last], &of("Shape"), &[]);
        model.node(
            "Constant",
            &[],
            &of("Constant"),
            &[("value", Attribute::Tensor(&[], &[1]))],
        );
        model.node(
            "Gather",
            &[&of("Shape"), &of("Constant")],
            &of("Gather"),
            &[("axis", Attribute::Integer(0))],
        );
        model.node(
            "Constant",
            &[],
            &of("Constant_1"),
            &[("value", Attribute::Tensor(&[1], &[0]))],
        );
        model.node("Unsqueeze", &[&of("Gather"), &of("Constant_1")], &of("Unsqueeze"), &[]);
        model.node(
            "Concat",
            &[&of("Unsqueeze"), "whole"],
            &of("Concat"),
            &[("axis", Attribute::Integer(0))],
        );
        model.node("Reshape", &[&of("Relu"), &of("Concat")], &of("Reshape"), &[]);
        model.node("Reshape", &[&of("Reshape"), &of("Shape")], &of("Reshape_1"), &[]);
        last = of("Reshape_1");
        block += 1;
    }
    let nodes = model.nodes();
    fs::write(folder.join(MODEL), model.written(&[(&last, &IMAGE)]))?;
    Ok(nodes)
}

fn timed(path: &Path) -> Result<(f64, Module), Box<dyn Error>> {
    let start = Instant::now();
    let module = black_box(read(path, &ReadOptions::default())?);
    Ok((start.elapsed().as_secs_f64(), module))
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let chosen = |(name, ..): &Case| arguments.iter().all(|part| name.contains(part.as_str()));
    let mut met = true;
    for (name, write, mark) in CASES.into_iter().filter(chosen) {
        let folder = tempfile::tempdir()?;
        let nodes = write(folder.path())?;
        let path = folder.path().join(MODEL);
        let mut seconds = Vec::new();
        let mut kept = 0;
        for _ in 0..TURNS {
            let (time, module) = timed(&path)?;
            seconds.push(time);
            kept = module.main().nodes().count();
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[TURNS / 2];
        met &= median <= mark;
        let word = if median <= mark { "met" } else { "MISSED" };
        println!("{name}: {median:.3} s, {nodes} nodes to {kept}   mark {mark} s   {word}");
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
