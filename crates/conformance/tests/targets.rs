//! Runs the arithmetic checks on the built-in targets, on tables without code, and on wrong kernels.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use strait_builtin as _;
use strait_conformance::{Wrong, check};
use strait_kernels::{
    KernelError,
    integer::{Loops, ThroughTile, Tile, TileKernel, standard},
};
use strait_requantize::{Narrowing, Requantization, Rounding, form};
use strait_target::{FormKernel, Options, Registry, TargetFactory};

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
            assert!(report.is_ok(), "{id} with {options:?}: {report}");
            assert_eq!(report.forms.len(), target.spec().form.len());
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
    assert!(report.is_ok(), "{report}");
    assert!(report.forms.iter().all(|form| form.results > 10_000), "{report}");
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
        assert!(report.is_ok(), "{report}");
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
    assert!(!report.is_ok());
    let wrong: Vec<&str> = report
        .forms
        .iter()
        .filter(|f| !f.findings.is_empty())
        .map(|f| f.form.as_str())
        .collect();
    assert_eq!(wrong, ["shift", "single", "sixteen"]);
    for form in report.forms.iter().filter(|f| !f.findings.is_empty()) {
        let Wrong::Result {
            channel,
            accumulator,
            expect,
            found,
            run,
            ..
        } = &form.findings[0].wrong
        else {
            panic!("{report}")
        };
        // Loops are checked when they are prepared, before any check runs them. 64-bit sums are checked too.
        assert_eq!(*run, "requantize");
        assert_eq!(form.form == "sixteen", i32::try_from(*accumulator).is_err());
        let defined = form.findings[0].requantization.eval(*channel, *accumulator).unwrap();
        let [low, high] = form.findings[0].clamp.unwrap_or([i32::MIN, i32::MAX]);
        assert_eq!(*expect, defined.min(high).max(low));
        assert_ne!(expect, found);
    }
}
