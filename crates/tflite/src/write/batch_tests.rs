//! Tests files for any number of samples, which are made of modules for two numbers.

use super::{About, Borders, encode, encode_free};
use crate::Model;
use strait_core::text::parse;
use strait_core::{Dim, Module};
use strait_import::{Decoded, ReadOptions};

/// A module between a `quantize` and a `dequantize`; `N` stands for the number of samples.
fn module(body: &str, result: &str, count: u64) -> Module {
    let text = format!(
        "strait 1 export\ngraph @main(%x: f32[N,2,6]) {{\n  %q: i8[N,2,6] scale=0.5 zero=3 = quantize(%x) {{to=i8, \
         rounding=half_away, reciprocal=0}}\n{body}\n  %y: f32{result} = dequantize(%c)\n  return %y\n}}\n"
    );
    let text = text.replace("[N", &format!("[{count}"));
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The types of all values of a file for any number of samples, with `?` for an open extent.
fn types(body: &str, result: &str) -> Vec<String> {
    let file = encode_free(
        |count| module(body, result, count),
        Borders::default(),
        &About::default(),
    );
    let file = Model::decode(file.unwrap().into()).unwrap();
    let read = file.read(&ReadOptions::default()).unwrap();
    let extent = |dim: &Dim| dim.fixed().map_or("?".to_owned(), |extent| extent.to_string());
    let graph = read.main();
    let ports = graph.inputs().iter().chain(graph.outputs());
    let shapes = ports.map(|&id| graph.value(id).unwrap().ty.shape.iter().map(extent).collect::<Vec<_>>());
    shapes.map(|shape| shape.join(",")).collect()
}

const GRID: &str = "scale=0.5 zero=3";

#[test]
fn the_first_extent_is_open_behind_each_operator() {
    let relu = format!("  %c: i8[N,2,6] {GRID} = relu(%q)");
    assert_eq!(types(&relu, "[N,2,6]"), ["?,2,6", "?,2,6"]);
    let reshape = format!("  %c: i8[N,12] {GRID} = reshape(%q) {{shape=[-1,12]}}");
    assert_eq!(types(&reshape, "[N,12]"), ["?,2,6", "?,12"]);
    let slice = format!("  %c: i8[N,2,2] {GRID} = slice(%q) {{starts=[1], ends=[3], axes=[2], steps=[1]}}");
    assert_eq!(types(&slice, "[N,2,2]"), ["?,2,6", "?,2,2"]);
}

#[test]
fn a_file_for_one_number_has_no_open_extents() {
    let one = module(&format!("  %c: i8[N,2,6] {GRID} = relu(%q)"), "[N,2,6]", 1);
    let bytes = encode(&one, Borders::default(), &About::default()).unwrap();
    let read = Model::decode(bytes.into())
        .unwrap()
        .read(&ReadOptions::default())
        .unwrap();
    assert!(strait_import::free_dimensions(&read).is_empty());
}

#[test]
fn an_operator_that_takes_a_shape_is_named() {
    let slice = format!("  %s: i8[N,1,6] {GRID} = slice(%q) {{starts=[1], ends=[2], axes=[1], steps=[1]}}\n");
    let expand = format!("{slice}  %c: i8[N,4,6] {GRID} = expand(%s) {{shape=[1,4,6]}}");
    let file = encode_free(
        |count| module(&expand, "[N,4,6]", count),
        Borders::default(),
        &About::default(),
    );
    let told = file.unwrap_err().to_string();
    assert_eq!(told, "`c`: BROADCAST_TO takes a shape for a fixed number of samples");
}
