//! Measures how long it takes to convert 500 photographs of 640 × 480 pixels to the input of a network: they are
//! decoded, resized to 224 × 224 with Pillow's bilinear filter, normalized, and transposed to channels first. There are
//! two threads, and each of them works on one sample at a time.
//!
//! `cargo bench -p strait-samples -- FOLDER` measures the images of a folder, and prints the median of several runs in
//! milliseconds for each image. `cargo xtask bench --images` makes the images, runs this program and one with Pillow
//! and NumPy alternately, and compares their times.

use std::{
    env,
    error::Error,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use strait_core::Elem;
use strait_images::{Filter, Like, Pipeline, Resize, Size, Step};
use strait_samples::{InputSpec, Operation, Plan, Samples, Scratch, Set};

const TURNS: usize = 5;
const THREADS: usize = 2;

fn spec() -> InputSpec {
    let resize = Step::Resize(Resize {
        size: Size::Both([224, 224]),
        filter: Filter::Bilinear,
        like: Like::Pillow,
    });
    InputSpec {
        name: "image".into(),
        elem: Elem::F32,
        shape: vec![1, 3, 224, 224],
        preprocess: Plan {
            stored: Some("NHWC".into()),
            pixels: Some(Pipeline {
                turn: false,
                steps: vec![resize],
            }),
            operations: vec![
                Operation::NormalizeChannels {
                    axis: 3,
                    mean: vec![123.675, 116.28, 103.53],
                    std: vec![58.395, 57.12, 57.375],
                },
                Operation::Permute { axes: vec![0, 3, 1, 2] },
            ],
            layout: Some("NCHW".into()),
        },
        range: None,
        is_shared: false,
    }
}

/// Reads all samples on several threads, and returns their number.
fn read(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let samples = Samples::open(&Set::from(folder), &[spec()])?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::default();
        loop {
            let sample = next.fetch_add(1, Ordering::Relaxed);
            if sample >= samples.count() {
                return Ok(());
            }
            black_box(samples.sample(sample, &mut scratch)?);
        }
    };
    let done: Result<Vec<()>, strait_samples::DataError> = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(Ok(())))
            .collect()
    });
    done?;
    Ok(samples.count())
}

fn main() -> ExitCode {
    // Cargo adds an argument that starts with `--`.
    let folder = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let Some(folder) = folder.map(PathBuf::from) else {
        println!("no folder of images is given: nothing is measured");
        return ExitCode::SUCCESS;
    };
    match measured(&folder) {
        Ok((milliseconds, count)) => {
            println!("{milliseconds:.3} ms for each of {count} images");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(folder: &Path) -> Result<(f64, usize), Box<dyn Error>> {
    let (mut turns, mut count) = (Vec::new(), 0);
    for _ in 0..TURNS {
        let begin = Instant::now();
        count = read(folder)?;
        turns.push(begin.elapsed().as_secs_f64());
    }
    turns.sort_by(f64::total_cmp);
    Ok((turns[TURNS / 2] * 1e3 / count.max(1) as f64, count))
}
