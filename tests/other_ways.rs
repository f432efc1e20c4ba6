//! Tests ways to compute that a table may choose. They are written here again in 64-bit integers and compared with the
//! results of the interpreter and of a plan. Every code must be equal.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{collections::BTreeMap, num::NonZeroUsize, path::Path};
use strait_core::QuantParams;
use strait_core::text::{PrintOptions, parse, print};
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline,
    report::{Layer, Report},
    session::{Session, Silent},
    targets,
};
use strait_execute::{Tensor, TensorView, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::{InMemory, Integer, findings, integer};
use strait_tests::numeric::{inputs, run};

const OTHER: &str = "filetests/tables/other-ways.toml";

/// A quotient by 2^shift, rounded to nearest with ties to even or up.
fn shifted(x: i64, shift: u32, even: bool) -> i64 {
    let (one, below) = (1i64 << shift, x >> shift);
    let twice = 2 * x.rem_euclid(one);
    match twice.cmp(&one) {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Greater => below + 1,
        std::cmp::Ordering::Equal if even => below + below.rem_euclid(2),
        std::cmp::Ordering::Equal => below + 1,
    }
}

/// Codes, scale and zero point of every quantized value.
type OutputCodes = BTreeMap<String, (Vec<i64>, f64, i64)>;

/// All codes of the lowered graph, and the results of the fused one, on inputs up to `scale`.
fn codes(text: &str, target: &str, seed: u64, scale: f32) -> (OutputCodes, Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let float = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let samples = InMemory((0..3).map(|at| inputs(&float, seed + at, 1.0)).collect());
    let made: Integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(findings(&made.module, &made.fusion), Ok(Vec::new()));
    let far = inputs(&float, seed + 100, scale);
    let views: Vec<TensorView<'_>> = far.iter().map(Tensor::view).collect();
    let module = &made.module;
    let graph = module.graph(made.lowered).unwrap();
    let mut found = OutputCodes::new();
    let reals = |outputs: Vec<Tensor>| -> Vec<Vec<f32>> {
        let real = |y: &Tensor| y.to_data().unwrap().to_f32().unwrap().into_owned();
        outputs.iter().map(real).collect()
    };
    let lowered = reference::run(module, made.lowered, &views, &mut |id, tensor| {
        let value = graph.value(id).unwrap();
        if let Some((scale, zero)) = value.quant.as_deref().and_then(QuantParams::as_tensor) {
            let codes = tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
            let name = module.name(value.name).to_owned();
            found.insert(name, (codes, f64::from(scale), zero.into()));
        }
    });
    let fused = run(module, module.main, &far, Isa::Scalar, 1);
    (found, reals(lowered.unwrap()), reals(fused))
}

#[test]
fn a_sum_on_the_coarser_grid_shifts_the_finer_operand() {
    let model = "strait 1 float graph @main(%x: f32[1,500], %y: f32[1,500]) {
        %small: f32[1,500] = mul(%y, @k) {a_zero=0, b_zero=0}
        %r: f32[1,500] = add(%x, %small) return %r }
        data @k: f32[1] = splat 0.03";
    for (chip, even) in [("p4", true), ("s3", false)] {
        let target = format!("../configs/targets/esp-dl.toml,chip={chip}");
        let mut ties = 0;
        for seed in 0..10 {
            let (codes, lowered, fused) = codes(model, &target, seed, 1.5);
            assert_eq!(lowered, fused);
            let (x, x_scale, x_zero) = &codes["x:quantized"];
            let (y, y_scale, y_zero) = &codes["small"];
            let (r, r_scale, r_zero) = &codes["r:requantize"];
            assert_eq!((*x_zero, *y_zero, *r_zero), (0, 0, 0));
            let exponent = |scale: f64| scale.log2().round() as i64;
            let [ex, ey, er] = [*x_scale, *y_scale, *r_scale].map(exponent);
            assert!(ey < ex && ex <= er, "{ex} {ey} {er}");
            for ((x, y), r) in x.iter().zip(y).zip(r) {
                let finer = (ex - ey) as u32;
                ties += usize::from(y.rem_euclid(1 << finer) == 1 << (finer - 1));
                let sum = x + shifted(*y, finer, even);
                assert_eq!(
                    shifted(sum, (er - ex) as u32, even).clamp(-128, 127),
                    *r,
                    "{chip}: {x} + {y}"
                );
            }
        }
        assert!(ties > 20, "the roundings do not differ on {ties} ties");
    }
}

/// The elements of each 3 x 3 window over 5 x 6, with a padding of one.
fn windows(x: &[i64]) -> Vec<Vec<i64>> {
    let at = |row: i64, column: i64| {
        let inside = (0..5).contains(&row) && (0..6).contains(&column);
        inside.then(|| x[(row * 6 + column) as usize])
    };
    let window = |row: i64, column: i64| {
        let around = (-1..2).flat_map(move |a| (-1..2).map(move |b| (row + a, column + b)));
        around.filter_map(|(row, column)| at(row, column)).collect()
    };
    (0..5)
        .flat_map(|row| (0..6).map(move |column| (row, column)))
        .map(|(row, column)| window(row, column))
        .collect()
}

#[test]
fn a_mean_by_a_rounded_reciprocal_is_that_product_and_no_division() {
    let model = "strait 1 float graph @main(%x: f32[1,1,5,6]) {
        %t: f32[1,1,5,6] = add(%x, %x)
        %r: f32[1,1,5,6] = average_pool(%t) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0, count_include_pad=0}
        return %r }";
    let mut differ = 0;
    for seed in 0..20 {
        let (codes, lowered, fused) = codes(model, OTHER, seed, 2.0);
        assert_eq!(lowered, fused);
        let (x, x_scale, zero) = &codes["t"];
        let (r, r_scale, r_zero) = &codes["r:requantize"];
        assert_eq!((x_scale, zero), (r_scale, r_zero));
        for (window, r) in windows(x).iter().zip(r) {
            let count = window.len() as i64;
            let sum: i64 = window.iter().map(|q| q - zero).sum();
            let number = (2 * 256 + count) / (2 * count);
            let mean = shifted(sum * number, 8, false) + zero;
            assert_eq!(mean.clamp(-128, 127), *r);
            let divided = (2 * sum + count).div_euclid(2 * count) + zero;
            differ += usize::from(divided.clamp(-128, 127) != *r);
        }
    }
    assert!(differ > 10, "8 bits are as good as a division: {differ}");
}

#[test]
fn padding_that_is_real_zero_takes_part_in_a_maximum() {
    let model = "strait 1 float graph @main(%x: f32[1,1,5,6]) {
        %t: f32[1,1,5,6] = add(%x, %x)
        %r: f32[1,1,5,6] = max_pool(%t) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0}
        return %r }";
    let mut raised = 0;
    for seed in 0..20 {
        let (codes, lowered, fused) = codes(model, OTHER, seed, 2.0);
        assert_eq!(lowered, fused);
        let (x, _, zero) = &codes["t"];
        let (r, ..) = &codes["r:maximum"];
        for (window, r) in windows(x).iter().zip(r) {
            let inside = *window.iter().max().unwrap();
            let all = if window.len() < 9 { inside.max(*zero) } else { inside };
            assert_eq!(all, *r);
            raised += usize::from(all != inside);
        }
    }
    assert!(raised > 0, "no window at the border is below zero");
}

#[test]
fn entries_of_a_table_are_rounded_as_the_row_says() {
    let model =
        "strait 1 float graph @main(%x: f32[1,256]) { %r: f32[1,256] = unary(%x) {function=sigmoid} return %r }";
    let mut nearer = 0;
    for seed in 0..5 {
        let (codes, lowered, fused) = codes(model, OTHER, seed, 1.2);
        assert_eq!(lowered, fused);
        let (x, x_scale, x_zero) = &codes["x:quantized"];
        let (r, r_scale, r_zero) = &codes["r:lookup"];
        for (x, r) in x.iter().zip(r) {
            let real = 1.0 / (1.0 + (-x_scale * (x - x_zero) as f64).exp());
            let entry = (real / r_scale).floor() as i64 + r_zero;
            assert_eq!(entry.clamp(-128, 127), *r);
            nearer += usize::from((real / r_scale).round() as i64 + r_zero != *r);
        }
    }
    assert!(nearer > 100, "{nearer}");
}

/// Compiles the digits model for a chip of ESP-DL. Returns the report and the text of the integer graphs.
fn digits(chip: &str) -> (Report, String) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = |path: &Path| format!("'{}'", path.display());
    let overrides = [
        Override::output(folder.path().join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache={}", path(&folder.path().join("cache")))),
        Override::set(format!(
            "target.file=[{}]",
            path(&repository.join("configs/targets/esp-dl.toml"))
        )),
        Override::set("target.use=['esp-dl']"),
        Override::set(format!("target.options.esp-dl.chip='{chip}'")),
    ];
    let loaded = config::load(&repository.join("configs/generic-int8.toml"), &overrides).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let registry = || targets::registry([]).unwrap();
    let compiled = pipeline::compile(&loaded, registry(), &session)
        .unwrap_or_else(|stop| panic!("{stop}"))
        .remove(0);
    let opened = Opened::open(&compiled.folder, &registry()).unwrap_or_else(|stop| panic!("{stop}"));
    (compiled.report, print(opened.module(), &PrintOptions::whole()))
}

#[test]
fn esp_dl_compiles_the_digits_for_both_chips_and_rounds_as_each_does() {
    for (chip, rounding, other) in [("p4", "half_even", "half_up"), ("s3", "half_up", "half_even")] {
        let (report, graphs) = digits(chip);
        let host = |layer: &Layer| layer.host.as_ref().map(|host| (layer.name.clone(), host.text.clone()));
        let hosted: Vec<(String, String)> = report.layers.iter().filter_map(host).collect();
        let widest = hosted.iter().find(|(name, _)| name == "/head/conv/Conv");
        // The sums of 144 products need more than 20 bits if every operand is as large as possible.
        let past = widest.is_some_and(|(_, why)| why.contains("past 20 bits"));
        assert!(
            if chip == "s3" { past } else { hosted.is_empty() },
            "{chip}: {hosted:?}"
        );
        assert!(graphs.contains("arith_folded"), "{chip}");
        assert!(graphs.contains(&format!("rounding={rounding}")), "{chip}");
        assert!(!graphs.contains(&format!("rounding={other}")), "{chip}");
        let agreement = report.accuracy.unwrap().of("agreement").unwrap().clone();
        assert!(agreement.integer.unwrap().value >= 95.0, "{chip}: {agreement:?}");
    }
}
