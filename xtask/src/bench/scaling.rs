//! Measures how time and memory grow with the number of nodes, and which part of a compilation is verification.

use super::samples::samples;
use super::shapes::{self, SHAPES, Shape, TARGET};
use crate::{Outcome, Stop, process, python, workspace};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The numbers of nodes that are measured, with the most seconds and the most bytes that compiling such a graph may
/// take. The limits hold only for some of the shapes.
const MARKS: &[(usize, Option<f64>, Option<f64>)] = &[
    (1_000, None, None),
    (10_000, Some(1.5), None),
    (100_000, Some(15.0), Some(2e9)),
];
const SAMPLES: usize = 4;
/// The largest exponent e that is allowed in cost = c · nodes^e. It is measured between the second largest and the
/// largest graph, because in smaller graphs the fixed cost of every compilation dominates.
const MOST_GROWTH: f64 = 1.1;

/// Number of samples for the real models, and the largest fraction of the time of their compilation that verification
/// may take.
const REAL_SAMPLES: usize = 32;
const MOST_OF_COMPILATION: f64 = 0.1;

/// How often the memory of a child process is measured.
const TICK: Duration = Duration::from_millis(2);

/// The measured cost of one compilation.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    /// Peak memory in bytes; 0 if the system does not tell.
    peak_bytes: f64,
}

pub(super) fn run(arguments: &[String]) -> Outcome {
    let rounds = match arguments {
        [] => 3,
        [flag, count] if flag == "--rounds" => count.parse().ok().filter(|&n| n > 0).ok_or_else(usage)?,
        _ => return Err(usage()),
    };
    let strait = workspace::build_strait("release")?;
    let work = workspace::target().join("bench").join("scaling");
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let mut missed = Vec::new();
    for shape in SHAPES {
        missed.extend(grown(&strait, &work, rounds, shape)?);
    }
    missed.extend(verified(&strait, &work, rounds)?);
    match &missed[..] {
        [] => Ok(()),
        missed => Err(Stop::Failed(format!("marks are missed: {}", missed.join("; ")))),
    }
}

fn usage() -> Stop {
    Stop::Usage("cargo xtask bench --scaling takes `--rounds N` and nothing else; see --help".into())
}

/// Measures one shape of graph. Returns the limits that the shape exceeds.
fn grown(strait: &Path, work: &Path, rounds: usize, shape: &Shape) -> Result<Vec<String>, Stop> {
    let (name, target) = (shape.name, shape.target);
    println!("{name}, for {target}, {SAMPLES} samples, median of {rounds}");
    println!("{:>10} {:>10} {:>12}", "nodes", "seconds", "peak MB");
    let data = work.join("images_4.npy");
    write(&data, &samples(SAMPLES, &shapes::INPUT))?;
    let (mut missed, mut costs) = (Vec::new(), Vec::new());
    for &(nodes, most_seconds, most_bytes) in MARKS {
        let model = work.join("model.onnx");
        write(&model, &(shape.model)(nodes))?;
        let config = configured(work, (&model, &data, SAMPLES), shape.target, shape.settings)?;
        let compile = || {
            measured(
                Command::new(strait).arg("compile").arg(&config),
                &work.join("strait.log"),
            )
        };
        let found = from_nothing(work, rounds, compile)?;
        let cost = Cost {
            seconds: median(&found, |cost| cost.seconds),
            peak_bytes: median(&found, |cost| cost.peak_bytes),
        };
        println!("{nodes:>10} {:>10.3} {:>12.1}", cost.seconds, cost.peak_bytes / 1e6);
        if let Some(most) = most_seconds.filter(|most| shape.is_marked && cost.seconds > *most) {
            missed.push(format!(
                "{}: {nodes} nodes take {:.2} s, not {most} s",
                shape.name, cost.seconds
            ));
        }
        if let Some(most) = most_bytes.filter(|most| shape.is_marked && cost.peak_bytes > *most) {
            missed.push(format!(
                "{}: {nodes} nodes take {:.0} MB, not {:.0} MB",
                shape.name,
                cost.peak_bytes / 1e6,
                most / 1e6
            ));
        }
        costs.push((nodes as f64, cost));
    }
    for (what, cost) in [
        ("time", (|cost| cost.seconds) as fn(&Cost) -> f64),
        ("memory", |cost| cost.peak_bytes),
    ] {
        let points: Vec<(f64, f64)> = costs.iter().map(|(nodes, found)| (*nodes, cost(found))).collect();
        if points.iter().any(|point| point.1 <= 0.0) {
            println!("{what} is not known on this system");
            continue;
        }
        let growth = exponent(&points[points.len() - 2..]);
        println!("{what} grows with nodes^{growth:.3}, mark {MOST_GROWTH}");
        if growth > MOST_GROWTH {
            missed.push(format!("{}: {what} grows with nodes^{growth:.3}", shape.name));
        }
    }
    println!();
    Ok(missed)
}

/// Measures which fraction of the time for compiling real models is verification. Returns the limits that are exceeded.
fn verified(strait: &Path, work: &Path, rounds: usize) -> Result<Vec<String>, Stop> {
    println!("verification beside the whole compilation for {TARGET}, {REAL_SAMPLES} samples");
    let data = work.join("images.npy");
    write(&data, &samples(REAL_SAMPLES, &[3, 224, 224]))?;
    let mut missed = Vec::new();
    for (name, model) in real(work)? {
        let config = configured(work, (&model, &data, REAL_SAMPLES), TARGET, "")?;
        let found = from_nothing(work, rounds, || {
            let begun = Instant::now();
            let printed = process::output(Command::new(strait).arg("compile").arg(&config).arg("--json"))?;
            let whole = begun.elapsed().as_secs_f64();
            let verify = phase(&printed, &format!("verify ({TARGET})"));
            Ok((
                verify.ok_or("the phases that strait prints cannot be read".to_owned())?,
                whole,
            ))
        })?;
        let (verify, whole) = (median(&found, |cost| cost.0), median(&found, |cost| cost.1));
        let part = verify / whole;
        println!("{name:>14}: {verify:.3} s of {whole:.3} s, {:.1} %", 100.0 * part);
        if part > MOST_OF_COMPILATION {
            missed.push(format!("verification takes {:.1} % of compiling {name}", 100.0 * part));
        }
    }
    Ok(missed)
}

/// The real models that are available. ResNet-50 is made from a file without weights. The script beside this file fills
/// in random weights.
fn real(work: &Path) -> Result<Vec<(&'static str, PathBuf)>, Stop> {
    let Some(shared) = workspace::shared_data() else {
        println!("skipped: {}", python::NO_DATA);
        return Ok(Vec::new());
    };
    let mut models = Vec::new();
    let script = shared.with_file_name("perf").join("make_models.py");
    let resnet = work.join("resnet50.onnx");
    if script.is_file() && !resnet.is_file() {
        process::run(Command::new(python::interpreter()?).arg(&script).arg(work))?;
    }
    match resnet.is_file() {
        true => models.push(("ResNet-50", resnet)),
        false => println!("skipped: ResNet-50, as there is no {}", script.display()),
    }
    let mobilenet = shared.join("models").join("mobilenet_v2_1.0_224.onnx");
    match mobilenet.is_file() {
        true => models.push(("MobileNetV2", mobilenet)),
        false => println!("skipped: MobileNetV2, as there is no {}", mobilenet.display()),
    }
    Ok(models)
}

/// Writes a configuration that compiles a model with this many samples. `settings` is appended to the lines that every
/// configuration needs.
fn configured(
    work: &Path,
    (model, data, samples): (&Path, &Path, usize),
    target: &str,
    settings: &str,
) -> Result<PathBuf, Stop> {
    let config = work.join("bench.toml");
    let text = format!(
        "schema = 1\n[model]\nfile = {model:?}\n[target]\nuse = [{target:?}]\n[calibration]\ndata = {data:?}\n\
         samples = {samples}\ncache = {:?}\n[output]\ndir = {:?}\n{settings}",
        work.join("cache"),
        work.join("artifact")
    );
    write(&config, text.as_bytes())?;
    Ok(config)
}

/// Compiles several times. Before each time, everything that the previous round has written is removed.
fn from_nothing<T>(work: &Path, rounds: usize, compile: impl Fn() -> Result<T, Stop>) -> Result<Vec<T>, Stop> {
    let mut found = Vec::new();
    for _ in 0..rounds {
        for folder in ["cache", "artifact"].map(|folder| work.join(folder)) {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Stop::Failed(format!("{}: {error}", folder.display())));
                }
                _ => {}
            }
        }
        found.push(compile()?);
    }
    Ok(found)
}

/// Runs a program to its end and measures its peak memory meanwhile. Its standard error goes to the file `log`.
fn measured(command: &mut Command, log: &Path) -> Result<Cost, Stop> {
    let errors = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let begun = Instant::now();
    let started = command.stdout(Stdio::null()).stderr(errors).spawn();
    let mut child = started.map_err(|error| format!("cannot start strait: {error}"))?;
    let file = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0.0;
    let status = loop {
        let said = std::fs::read_to_string(&file).unwrap_or_default();
        peak_bytes = f64::max(peak_bytes, peak(&said).unwrap_or(0.0));
        match child
            .try_wait()
            .map_err(|error| format!("waiting for strait: {error}"))?
        {
            Some(status) => break status,
            None => std::thread::sleep(TICK),
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    match status.success() {
        true => Ok(Cost { seconds, peak_bytes }),
        false => Err(Stop::Failed(format!("strait failed ({status}), see {}", log.display()))),
    }
}

/// The peak of the resident set so far, as Linux reports it.
fn peak(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kilobytes)
}

/// The seconds of a phase, from the JSON that the program printed.
fn phase(printed: &str, name: &str) -> Option<f64> {
    let phases = printed.split_once("\"phases\"")?.1;
    let phase = phases.split('{').find(|phase| phase.contains(&format!("\"{name}\"")))?;
    let seconds = phase.split_once("\"seconds\":")?.1.trim_start();
    let end = seconds.find([',', '}', '\n', ' ']).unwrap_or(seconds.len());
    seconds[..end].parse().ok()
}

fn median<T>(found: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    let mut figures: Vec<f64> = found.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The exponent with which cost grows: the slope of the least-squares line through the logarithms of the points.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = logarithms.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = logarithms.iter().map(|point| (point.0 - x).powi(2)).sum();
    both / square
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_is_that_of_the_power() {
        let points: Vec<(f64, f64)> = [1e3, 1e4, 1e5].map(|n| (n, 3.0 * f64::powf(n, 1.3))).to_vec();
        assert!((exponent(&points) - 1.3).abs() < 1e-9);
    }

    #[test]
    fn the_time_of_a_phase_is_found_in_what_is_printed() {
        let printed = r#"{"artifacts":[],"phases":[{"name":"read","peak_bytes":5,"seconds":0.1},
            {
              "name": "verify (generic-int8)",
              "peak_bytes": 7000,
              "seconds": 0.25
            },{"name":"write (generic-int8)","peak_bytes":7100,"seconds":1.5}]}"#;
        assert_eq!(phase(printed, "verify (generic-int8)"), Some(0.25));
        assert_eq!(phase(printed, "write (generic-int8)"), Some(1.5));
        assert_eq!(phase(printed, "fuse (generic-int8)"), None);
    }

    #[test]
    fn the_peak_of_a_process_is_read_in_bytes() {
        assert_eq!(
            peak("Name:\tstrait\nVmHWM:\t    84 kB\nVmRSS:\t 12 kB\n"),
            Some(86016.0)
        );
        assert_eq!(peak("Name:\tstrait\n"), None);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0], |x| *x), 2.0);
    }
}
