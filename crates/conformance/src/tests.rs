//! Runs the arithmetic checks on the built-in targets, on tables without code, and on wrong kernels.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::{numbers::Numbers, runs::Run, samples::samples};
use std::path::Path;
use strait_builtin as _;
use strait_kernels::{
    Context, Isa, KernelError,
    integer::{Loops, ThroughTile, Tile, TileKernel, standard},
};
use strait_requantize::{Narrowing, Requantization, Rounding, form};
use strait_target::{FormKernel, Options, Registry, Target, TargetError, TargetFactory};

/// The results of the tests of one form.
#[derive(Debug)]
struct Tested {
    form: String,
    /// Number of results that were compared.
    results: usize,
    findings: Vec<Finding>,
}

/// A requantization with the clamp after it, and what is wrong with it.
#[derive(Debug)]
struct Finding {
    requantization: Requantization,
    clamp: Option<[i32; 2]>,
    wrong: Wrong,
}

#[derive(Debug)]
enum Wrong {
    /// A loop does not exist, fails, or has results of another type.
    #[expect(dead_code, reason = "the message of a test that fails shows the text")]
    Loop(String),
    /// A result differs from the definition.
    Result {
        run: &'static str,
        channel: usize,
        accumulator: i64,
        expected: i32,
        found: i32,
    },
}

/// Runs every loop of a target, for requantizations of each of its forms.
fn check(target: &dyn Target) -> Vec<Tested> {
    let rows = target.spec().form.iter();
    let tested = rows.map(|(name, row)| {
        // Each form has its own sequence of random numbers, so that adding a form does not change the tests of the
        // others.
        let mut numbers = Numbers::new(name);
        let (mut results, mut findings) = (0, Vec::new());
        for (requantization, clamp) in samples(row, &mut numbers) {
            let accepted = row.accepts(&requantization, clamp);
            let accepted = accepted.map_err(|reason| Wrong::Loop(reason.text));
            match accepted.and_then(|()| compared(target, &requantization, clamp, &mut numbers)) {
                Ok(compared) => results += compared,
                Err(wrong) => findings.push(Finding {
                    requantization,
                    clamp,
                    wrong,
                }),
            }
        }
        let form = name.clone();
        Tested {
            form,
            results,
            findings,
        }
    });
    tested.collect()
}

/// Compares the results of every loop of one requantization with its definition. Returns their number.
fn compared(
    target: &dyn Target,
    requantization: &Requantization,
    clamp: Option<[i32; 2]>,
    numbers: &mut Numbers,
) -> Result<usize, Wrong> {
    let loops = target.loops(requantization, clamp).map_err(|error| match error {
        // This error comes from the check that every command makes when it prepares loops.
        TargetError::Wrong {
            channel,
            accumulator,
            expected,
            found,
            ..
        } => Wrong::Result {
            run: "requantize",
            channel,
            accumulator,
            expected,
            found,
        },
        error => Wrong::Loop(error.to_string()),
    })?;
    if loops.out() != requantization.out() {
        return Err(Wrong::Loop(format!("the loops write {}", loops.out())));
    }
    let mut results = 0;
    for run in Run::all(requantization, numbers) {
        let expected = run
            .expected(requantization, clamp)
            .map_err(|error| Wrong::Loop(error.to_string()))?;
        for isa in Isa::available() {
            let found = run.results(&*loops, &Context::with_isa(isa));
            let found = found.map_err(|error| Wrong::Loop(format!("{}: {error}", run.name())))?;
            results += found.len();
            if let Some(at) = (0..found.len()).find(|&at| expected[at] != found[at]) {
                let (channel, accumulator) = run.accumulator(at);
                return Err(Wrong::Result {
                    run: run.name(),
                    channel,
                    accumulator,
                    expected: expected[at],
                    found: found[at],
                });
            }
        }
    }
    Ok(results)
}

/// True if every form was tried and nothing is wrong.
fn is_right(report: &[Tested]) -> bool {
    let is_right = |form: &Tested| form.findings.is_empty() && form.results > 0;
    !report.is_empty() && report.iter().all(is_right)
}

#[test]
fn every_target_in_the_box_computes_what_its_table_says() {
    let registry = Registry::builtin().unwrap();
    for (id, entry) in registry.entries() {
        let spec = entry.table().spec(&Options::new()).unwrap();
        let overlays = spec.overlay.keys().flat_map(|option| {
            let values = spec.options[option].one_of.iter().flat_map(|all| all.iter().cloned());
            values
                .map(|value| Options::from([(option.clone(), value)]))
                .collect::<Vec<_>>()
        });
        for options in overlays.chain([Options::new()]) {
            let target = entry.target(&options).unwrap();
            let report = check(&*target);
            assert!(is_right(&report), "{id} with {options:?}: {report:?}");
            assert_eq!(report.len(), target.spec().form.len());
        }
    }
}

#[test]
fn a_table_in_a_file_runs_on_the_hosts_kernels_for_every_kind_of_form() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target-table/tests/tables/every-form.toml");
    let mut registry = Registry::default();
    registry.add_file(&path).unwrap();
    let target = registry.get("every-form", &Options::new()).unwrap();
    let report = check(&*target);
    assert!(is_right(&report), "{report:?}");
    assert!(report.iter().all(|form| form.results > 10_000), "{report:?}");
}

#[test]
fn the_tables_in_configs_do_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/targets");
    let mut registry = Registry::builtin().unwrap();
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let added = registry
            .add_file(&entry.unwrap().path())
            .unwrap_or_else(|e| panic!("{e}"));
        let report = check(&*added.target(&Options::new()).unwrap());
        assert!(is_right(&report), "{report:?}");
        found += 1;
    }
    assert!(found > 0);
}

/// A kernel that rounds ties up instead of to even.
fn wrong_at_ties(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let Requantization::ArithFolded(form::ArithFolded { narrowing }) = form else {
        return standard(form, clamp);
    };
    let narrowing = Narrowing {
        rounding: Rounding::HalfUp,
        ..narrowing.clone()
    };
    standard(&Requantization::ArithFolded(form::ArithFolded { narrowing }), clamp)
}

/// A kernel that forgets the clamp.
fn without_clamp(form: &Requantization, _: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    standard(form, None)
}

/// A kernel that truncates 64-bit sums to 32 bits.
struct Cut;

impl TileKernel for Cut {
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        let width = out.len() / accumulators.len().max(1);
        for (at, (&x, to)) in accumulators.iter().zip(out.chunks_exact_mut(width)).enumerate() {
            let channel = tile.channel(at).min(form.channels().unwrap_or(1) - 1);
            let code = form.eval(channel, x.into());
            let code = code.map_err(|e| KernelError::Requantization(e.to_string()))?;
            to.copy_from_slice(&code.to_ne_bytes()[..width]);
        }
        Ok(())
    }

    fn run_wide(&self, form: &Requantization, tile: &Tile, wide: &[i64], out: &mut [u8]) -> Result<(), KernelError> {
        let cut: Vec<i32> = wide.iter().map(|&x| x as i32).collect();
        self.run(form, tile, &cut, out)
    }
}

fn cut(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    Ok(Box::new(ThroughTile::new(Cut, form.clone(), clamp)?))
}

#[test]
fn kernels_that_are_wrong_are_found_with_a_witness() {
    let mut registry = Registry::default();
    let text = include_str!("../../target-table/tests/tables/every-form.toml");
    let names = [
        "shift",
        "fractional",
        "single",
        "fifteen",
        "double",
        "packed",
        "single-precision",
        "zero-inside",
        "relu-before-offset",
        "chain",
        "left-or-right",
        "sixteen",
        "double-precision",
        "scale32",
        "scale16",
        "general",
        "thresholds",
    ];
    let kernel = |form: &'static str| match form {
        "shift" => FormKernel::new(form, &wrong_at_ties),
        "single" => FormKernel::new(form, &without_clamp),
        "sixteen" => FormKernel::new(form, &cut),
        _ => FormKernel::host(form),
    };
    let kernels: &'static [FormKernel] = Box::leak(names.map(kernel).into());
    registry
        .add(&TargetFactory::new("a test", text).kernels(kernels))
        .unwrap();
    let report = check(&*registry.get("every-form", &Options::new()).unwrap());
    assert!(!is_right(&report));
    let wrong: Vec<&str> = report
        .iter()
        .filter(|f| !f.findings.is_empty())
        .map(|f| f.form.as_str())
        .collect();
    assert_eq!(wrong, ["shift", "single", "sixteen"]);
    for form in report.iter().filter(|f| !f.findings.is_empty()) {
        let Wrong::Result {
            channel,
            accumulator,
            expected,
            found,
            run,
        } = &form.findings[0].wrong
        else {
            panic!("{report:?}")
        };
        // Loops are checked when they are prepared, before any check runs them. 64-bit sums are checked too.
        assert_eq!(*run, "requantize");
        assert_eq!(form.form == "sixteen", i32::try_from(*accumulator).is_err());
        let defined = form.findings[0].requantization.eval(*channel, *accumulator).unwrap();
        let [low, high] = form.findings[0].clamp.unwrap_or([i32::MIN, i32::MAX]);
        assert_eq!(*expected, defined.min(high).max(low));
        assert_ne!(expected, found);
    }
}
