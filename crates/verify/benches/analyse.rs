//! Measures how long the static part of the verifier takes on one thread. The model has as many output channels as
//! MobileNetV2 (18,056). It multiplies 16-bit activations by 8-bit weights and accumulates in 64 bits. The verifier
//! finds bounds of every value, compares the structure of both graphs, computes digests, and checks every certificate.
//!
//! `cargo bench -p strait-verify` prints one line per measurement, and fails if one takes too long.

#[path = "../../requantize/benches/shared/model.rs"]
mod shared;

use shared::{Numbers, mobilenet_v2};
use std::{error::Error, fmt::Write, hint::black_box, process::ExitCode, time::Instant};
use strait_core::CertificateRecord;
use strait_core::{Module, text::parse};
use strait_requantize::{Argument, Certificate, Per, Requantization, Step};
use strait_verify::{Fault, LOWERED, analyse, derived_from, intervals};

/// The longest time that the measurement may take.
const SECONDS: f64 = 1.0;

/// A model as a lowered graph and as a fused graph. Each layer is a convolution with an input of its own.
fn model() -> Result<Module, Box<dyn Error>> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut inputs, mut results, mut data) = (String::new(), String::new(), String::new());
    let mut bodies = [String::new(), String::new()];
    for (layer, (count, each)) in mobilenet_v2().into_iter().enumerate() {
        let comma = if layer == 0 { "" } else { ", " };
        write!(inputs, "{comma}%x{layer}: i16[1,{each},1,1] scale=0.5 zero=0")?;
        write!(results, "{comma}%y{layer}")?;
        writeln!(data, "data @w{layer}: i8[{count},{each},1,1] = random {layer}")?;
        writeln!(data, "data @b{layer}: i64[{count}] = random {}", layer + 100)?;
        let multiplier = |_| ((1 << 30) + numbers.next() % (1 << 30)).to_string();
        let multipliers = (0..count).map(multiplier).collect::<Vec<_>>().join(",");
        // The exponents are chosen so that the results fill all of 16 bits.
        let exponent = 15 - i64::from((each as u64 * (1 << 22)).ilog2());
        let exponents = vec![exponent.to_string(); count].join(",");
        let form = format!("{{sixteen_by_eight multiplier=[{multipliers}] exponent=[{exponents}] zp=0 out=i16}}");
        let op = format!(
            "conv(%x{layer}, @w{layer}, @b{layer}) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64}}"
        );
        let code = format!("i16[1,{count},1,1] scale=0.25 zero=0");
        let [lowered, fused] = &mut bodies;
        writeln!(lowered, "  %a{layer}: i64[1,{count},1,1] scale=0.5 zero=0 = {op}")?;
        writeln!(
            lowered,
            "  %q{layer}: {code} = requantize(%a{layer}) {{form={form}, axis=1}}"
        )?;
        writeln!(lowered, "  %y{layer}: {code} = clamp(%q{layer}) {{min=0, max=32767}}")?;
        writeln!(fused, "  %y{layer}: {code} = {op} fused={form} clamp=[0,32767]")?;
    }
    let [lowered, fused] = bodies;
    Ok(parse(&format!(
        "strait 1 integer main=@main\ngraph @{LOWERED}({inputs}) stage=integer {{\n{lowered}  return {results}\n}}\n\
         graph @main({inputs}) {{\n{fused}  return {results}\n}}\n{data}"
    ))?)
}

/// A certificate for each fused node.
fn certificates(module: &Module) -> Result<Vec<CertificateRecord>, Box<dyn Error>> {
    let bounds = intervals(module, module.main)?;
    let mut records = Vec::new();
    for (id, node) in module.main().nodes() {
        let (Some(fused), Some(range)) = (node.fused.as_deref(), bounds.accumulator(id)) else {
            continue;
        };
        let each = range.axes().next().map_or(&[][..], |(_, intervals)| intervals);
        let interval: Per<(i64, i64)> = each.iter().map(|i| (i.low, i.high)).collect();
        let step = Step {
            form: fused.requant.clone(),
            clamp: fused.clamp,
        };
        let (same, before) = (Argument::SameAccumulator, vec![step.clone()]);
        records.push(CertificateRecord {
            node: module.name(node.name).into(),
            row: "row".into(),
            certificate: Certificate::derive(same, before, Some(step), interval)?,
        });
    }
    Ok(records)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let module = model()?;
    let channels = |form: &Requantization| form.channels().unwrap_or(1);
    let forms = module.main().nodes().filter_map(|(_, node)| node.fused.as_deref());
    let channels: usize = forms.map(|fused| channels(&fused.requant)).sum();
    let start = Instant::now();
    let mut records = certificates(&module)?;
    println!(
        "bounds and certificates, {channels} channels: {:.3} s",
        start.elapsed().as_secs_f64()
    );
    for record in &mut records {
        if let Some(digest) = derived_from(&module, record)? {
            record.certificate.derived_from = digest;
        }
    }
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        let analysis = analyse(&module, &records)?;
        best = best.min(start.elapsed().as_secs_f64());
        let faults: Vec<&Fault> = analysis.findings().iter().map(|found| &found.fault).collect();
        if let Some(fault) = faults.first() {
            return Err(format!("{} findings, the first: {fault}", faults.len()).into());
        }
        assert!(analysis.is_exact() && black_box(analysis).fusions().len() == records.len());
    }
    let met = best <= SECONDS;
    let word = if met { "met" } else { "MISSED" };
    println!("verify, static part: {best:.3} s   mark {SECONDS} s   {word}");
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
