//! Tests `strait analyze` on the model in the repository: the error of a layer alone is that of a compilation in which
//! only this layer is quantized, and the shares add up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{num::NonZeroUsize, path::Path};

use strait_driver::{
    config::{self, Loaded, Override},
    pipeline::{self, AnalysisRequest},
    report::{Analysis, Cause, LayerAnalysis, Report},
    session::{Session, Silent},
    shown::{Shown, WorstLayers},
    targets,
};
use strait_kernels::Context;

/// The configuration of the digits model with further keys.
fn loaded(folder: &Path, set: &[String]) -> Loaded {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut overrides = vec![
        Override::output(folder.join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache='{}'", folder.join("cache").display())),
    ];
    overrides.extend(set.iter().map(Override::set));
    config::load(&repository.join("configs/generic-int8.toml"), &overrides).unwrap()
}

fn session() -> Session<'static> {
    Session::new(NonZeroUsize::MIN, Context::detect(), &Silent)
}

fn analysed(folder: &Path, set: &[String], rules: usize) -> Analysis {
    let request = AnalysisRequest { samples: None, rules };
    let analysis = pipeline::analyze(
        &loaded(folder, set),
        targets::registry([]).unwrap(),
        request,
        &session(),
    );
    analysis.unwrap_or_else(|stop| panic!("{stop}"))
}

fn compiled(folder: &Path, set: &[String]) -> Report {
    let compiled = pipeline::compile(&loaded(folder, set), targets::registry([]).unwrap(), &session());
    compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0).report
}

/// Rules with which only one layer computes in integers.
fn only(layer: &LayerAnalysis) -> String {
    let names: Vec<String> = std::iter::once(&layer.layer)
        .chain(&layer.clamps)
        .map(|name| format!("'{name}'"))
        .collect();
    format!(
        "quantize.rule=[{{layers=['**'], run='float'}}, {{layers=[{}], run='integer'}}]",
        names.join(", ")
    )
}

#[test]
fn the_error_of_a_layer_alone_is_that_of_a_compilation_with_only_this_layer() {
    let folder = tempfile::tempdir().unwrap();
    let few = "evaluation.samples=8".to_owned();
    let all = analysed(folder.path(), std::slice::from_ref(&few), 0);
    assert!(all.layers.len() >= 6, "{:?}", all.layers);
    for layer in &all.layers {
        let rule = [few.clone(), only(layer)];
        // The simulation of that compilation has the same error to the last bit.
        let alone = analysed(folder.path(), &rule, 0);
        let [same] = &alone.layers[..] else {
            panic!("{}: {:?}", layer.layer, alone.layers)
        };
        assert_eq!((&same.layer, same.single), (&layer.layer, layer.single));
        // The integer model rounds as the simulation does, except where its requantization is not exact. A step more
        // or less is much of an error that is this small.
        let report = compiled(folder.path(), &rule);
        let snr = report
            .sanity
            .outputs
            .iter()
            .filter_map(|output| output.snr)
            .reduce(f64::min);
        let (single, snr) = (layer.single.unwrap(), snr.unwrap());
        assert!((single - snr).abs() < 1.0, "{}: {single} and {snr}", layer.layer);
    }
}

#[test]
fn the_shares_add_up_and_the_worst_layers_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let analysis = analysed(folder.path(), &[], 3);
    let top1 = &analysis.metrics[0];
    assert_eq!(
        (top1.name.as_str(), analysis.metrics[1].name.as_str()),
        ("top1", "agreement")
    );
    for metric in &analysis.metrics {
        let shares = metric.shares.iter().filter_map(|share| share.change.as_ref());
        let sum: f64 = shares.map(|change| change.value).sum();
        assert!((sum - metric.change.as_ref().unwrap().value).abs() < 1e-9, "{metric:?}");
        assert!(
            metric
                .shares
                .iter()
                .all(|share| share.change.is_some() || share.note.is_some())
        );
    }
    let weights = top1.shares.iter().find(|share| share.cause == Cause::Weights).unwrap();
    assert!(weights.change.as_ref().unwrap().interval.is_some());
    let singles: Vec<f64> = analysis.layers.iter().filter_map(|layer| layer.single).collect();
    assert!(
        singles.is_sorted() && singles.len() == analysis.layers.len(),
        "{singles:?}"
    );
    for tried in &analysis.tried {
        let [before, after] = tried.snr.map(Option::unwrap);
        assert!(after > before && tried.changes.len() == 2, "{tried:?}");
    }
    let text = WorstLayers {
        analysis: &analysis,
        layers: 3,
    }
    .to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("activations: rounding"), "{text}");
}

#[test]
fn a_compilation_that_loses_more_than_a_point_names_the_layers_that_cost_most() {
    let folder = tempfile::tempdir().unwrap();
    let four = ["quantize.weights.type='int4'".to_owned()];
    let report = compiled(folder.path(), &four);
    let named: Vec<&str> = report.costly.iter().map(|one| one.layer.as_str()).collect();
    let analysis = analysed(folder.path(), &four, 1);
    let worst: Vec<&str> = analysis.layers.iter().take(3).map(|one| one.layer.as_str()).collect();
    assert_eq!(named, worst);
    let told = Shown(&report).to_string();
    assert!(told.ends_with("`strait analyze` finds out why\n"), "{told}");
    // Four bits are too few for its weights, and eight bring points back.
    let weights = analysis.layers[0]
        .reasons
        .iter()
        .find(|reason| reason.code == "weights")
        .unwrap();
    assert!(
        weights.toml.as_ref().unwrap().contains("weights.type = \"int8\""),
        "{weights:?}"
    );
    assert!(compiled(folder.path(), &[]).costly.is_empty());
}
