//! Tests kernels of a target that are wrong, fail or panic: `compile`, `eval` and `run` report the names of target,
//! form and layer, and do not blame Strait or the model.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use strait_driver::artifact::Opened;
use strait_driver::config::{self, Override};
use strait_driver::session::{Session, Silent};
use strait_driver::{eval, pipeline, run, stop::Stop};
use strait_kernels::integer::{Axis, Loops, ThroughTile, Tile, TileKernel, standard};
use strait_kernels::{Context, KernelError};
use strait_requantize::Requantization;
use strait_target::{FormKernel, Prepare, Registry, TargetFactory};

const FORM: &str = "two-roundings";

/// Computes the form, and then makes an error in the tile.
struct Bad(fn(&Tile, &[i32], &mut [u8]) -> Result<(), KernelError>);

impl TileKernel for Bad {
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        // Results of this form have 8 bits, or are sums of 32.
        let width = usize::from(form.out().bits()) / 8;
        for (at, (&accumulator, out)) in accumulators.iter().zip(out.chunks_exact_mut(width)).enumerate() {
            let along = if tile.channels == Axis::Rows {
                at / tile.columns
            } else {
                at % tile.columns
            };
            let channel = if form.channels().is_some() {
                tile.first_channel + along
            } else {
                0
            };
            let code = form.eval(channel, accumulator.into()).unwrap();
            out.copy_from_slice(&code.to_ne_bytes()[..width]);
        }
        (self.0)(tile, accumulators, out)
    }
}

type Made = Result<Box<dyn Loops>, KernelError>;

fn tile(bad: Bad, form: &Requantization, clamp: Option<[i32; 2]>) -> Made {
    Ok(Box::new(ThroughTile::new(bad, form.clone(), clamp)?))
}

/// A kernel that is off by one for every code.
fn wrong(form: &Requantization, clamp: Option<[i32; 2]>) -> Made {
    let bad = |_: &Tile, _: &[i32], out: &mut [u8]| {
        out.iter_mut().for_each(|code| *code ^= 1);
        Ok(())
    };
    tile(Bad(bad), form, clamp)
}

/// A kernel that is off by one for a few accumulators, none of which a quick check would try.
fn seldom_wrong(form: &Requantization, clamp: Option<[i32; 2]>) -> Made {
    if form.out().bits() != 8 {
        return standard(form, clamp);
    }
    let bad = |_: &Tile, accumulators: &[i32], out: &mut [u8]| {
        if accumulators.len() > 100 {
            let seldom = accumulators.iter().zip(out).filter(|(a, _)| *a % 97 == 5);
            seldom.for_each(|(_, code)| *code ^= 1);
        }
        Ok(())
    };
    tile(Bad(bad), form, clamp)
}

fn failing(form: &Requantization, clamp: Option<[i32; 2]>) -> Made {
    let bad = |_: &Tile, accumulators: &[i32], _: &mut [u8]| match accumulators.len() {
        ..=100 => Ok(()),
        _ => Err(KernelError::Tile("the device is gone".into())),
    };
    tile(Bad(bad), form, clamp)
}

fn panicking(form: &Requantization, clamp: Option<[i32; 2]>) -> Made {
    let bad = |_: &Tile, accumulators: &[i32], _: &mut [u8]| match accumulators.len() {
        ..=100 => Ok(()),
        most => panic!("an index of {most}"),
    };
    tile(Bad(bad), form, clamp)
}

fn unprepared(_: &Requantization, _: Option<[i32; 2]>) -> Made {
    Err(KernelError::Requantization("no such multiplier".into()))
}

fn panicking_early(_: &Requantization, _: Option<[i32; 2]>) -> Made {
    panic!("no such multiplier")
}

/// The kernels, and the expected messages: first at once, then when the layers are computed.
const KERNELS: [(&Prepare, &[&str]); 5] = [
    (
        &wrong,
        &["its kernel makes", "of the accumulator", "by its definition it is"],
    ),
    (&failing, &["the device is gone"]),
    (&panicking, &["panicked: an index of"]),
    (&unprepared, &["no such multiplier"]),
    (&panicking_early, &["panicked: no such multiplier"]),
];

/// The target generic-int8 with another kernel for one form.
fn registry(prepare: &'static Prepare) -> Registry {
    let others = [
        "one-rounding",
        "wide",
        "mean",
        "sixteen-by-eight",
        "float64",
        "float64-8",
    ]
    .map(FormKernel::host);
    let kernels = [&[FormKernel::new(FORM, prepare)][..], &others].concat();
    let table = include_str!("../targets/generic-int8/target.toml");
    let factory = TargetFactory::new("a vendor", table).kernels(kernels.leak());
    let mut registry = Registry::default();
    registry.add(&factory).unwrap();
    registry
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn session() -> Session<'static> {
    Session::new(NonZeroUsize::MIN, Context::detect(), &Silent)
}

/// Compiles the model in the repository into a folder, without evaluating it.
fn compile(folder: &Path, prepare: &'static Prepare) -> Result<PathBuf, Stop> {
    let overrides = [
        Override::output(folder.join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache='{}'", folder.join("cache").display())),
    ];
    let loaded = config::load(&repository().join("configs/generic-int8.toml"), &overrides)?;
    let mut compiled = pipeline::compile(&loaded, registry(prepare), &session())?;
    Ok(compiled.remove(0).folder)
}

/// Checks that a kernel's fault is reported as a finding (exit code 1) that says who is at fault and where.
fn blamed(what: &str, stop: Stop, expected: &[&str]) {
    let Stop::Found(found) = stop else {
        panic!("{what}: {stop}")
    };
    let text = found.to_string();
    for expected in expected
        .iter()
        .chain(&["generic-int8", FORM, "(conv)", "/", "this is the target's code"])
    {
        assert!(text.contains(expected), "{what}: {expected:?} is not in\n{text}");
    }
    assert!(found.0.iter().all(|finding| finding.code == "T001"), "{what}: {text}");
}

#[test]
fn a_kernel_that_is_wrong_or_fails_or_panics_ends_a_compilation_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (prepare, expected)) in KERNELS.into_iter().enumerate() {
        let stop = compile(folder.path(), prepare).unwrap_err();
        blamed(&format!("kernel {index}"), stop, expected);
        assert!(!folder.path().join("artifact").exists());
    }
}

#[test]
fn a_kernel_that_is_seldom_wrong_is_found_with_an_accumulator_and_both_codes() {
    let folder = tempfile::tempdir().unwrap();
    let stop = compile(folder.path(), &seldom_wrong).unwrap_err();
    let text = stop.to_string();
    blamed(
        "seldom",
        stop,
        &["of the accumulator", "by the form's definition it is"],
    );
    let accumulator = text.split("of the accumulator ").nth(1).unwrap();
    let accumulator: i64 = accumulator.split(';').next().unwrap().parse().unwrap();
    assert_eq!(accumulator % 97, 5, "{text}");
    let codes = text.split("makes ").nth(1).unwrap();
    let found: i64 = codes.split(' ').next().unwrap().parse().unwrap();
    let expected = text.split("definition it is ").nth(1).unwrap();
    let expected: i64 = expected.lines().next().unwrap().trim().parse().unwrap();
    assert_eq!(found, expected ^ 1, "{text}");
}

#[test]
fn a_kernel_that_is_wrong_or_fails_or_panics_ends_a_run_and_an_evaluation_too() {
    let folder = tempfile::tempdir().unwrap();
    let artifact = compile(folder.path(), &standard).unwrap();
    let digits = repository().join("models/digits/eval_x.npy");
    for (index, (prepare, expected)) in KERNELS.into_iter().enumerate() {
        let opened = Opened::open(&artifact, &registry(prepare)).unwrap();
        let files = BTreeMap::from([("image".to_owned(), digits.clone())]);
        let stop = run::run(&opened, &files, &folder.path().join("y.npy"), false, &session()).unwrap_err();
        blamed(&format!("run, kernel {index}"), stop, expected);
        let stop = eval::eval(
            &opened,
            eval::EvaluationRequest::of(&digits, None, &[]),
            None,
            None,
            &session(),
        )
        .unwrap_err();
        blamed(&format!("eval, kernel {index}"), stop, expected);
    }
}
