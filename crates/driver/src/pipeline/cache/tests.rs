//! Tests on graphs of two layers, each with a cache of keys.

use std::{path::Path, sync::Arc};

use strait_core::text::{PrintOptions, parse, print};
use strait_core::{Elem, Module, QuantParams, verifier};

use super::{Codes, pairs::pairs, with_codes};
use crate::config::Loaded;

/// Two layers, each of which appends a new key to its past.
const LAYERS: &str = "strait 1 float
graph @main(%\"past.0.key\": f32[1,4,2], %\"past.1.key\": f32[1,4,2], %new: f32[1,1,2], %ids: i64[1,4]) {
  %\"present.0.key\": f32[1,5,2] = concat(%\"past.0.key\", %new) {axis=1}
  %\"present.1.key\": f32[1,5,2] = concat(%\"past.1.key\", %new) {axis=1}
  %y: f32[1,4,2] = relu(%\"past.0.key\")
  return %\"present.0.key\", %\"present.1.key\", %y
}
";

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verifier::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module
}

/// A configuration with these lines for each cache.
fn configured(caches: &[&str]) -> Loaded {
    let mut text = "schema = 1\nmodel.file = \"m.onnx\"\ntarget.use = [\"chip\"]\noutput.dir = \"o\"\n".to_owned();
    for cache in caches {
        text += &format!("[[output.target.chip.cache]]\ntype = \"int8\"\n{cache}\n");
    }
    let loaded = crate::config::parse("test.toml", text.clone(), Path::new("."), &[]);
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The names of past and present of each pair, or the message.
fn found(text: &str, caches: &[&str]) -> Result<Vec<[String; 2]>, String> {
    let (loaded, module) = (configured(caches), module(text));
    let name = |value| module.name(module.main().value(value).unwrap().name).to_owned();
    let pairs = pairs(&loaded, "chip", &module).map_err(|error| error.to_string())?;
    let pairs = pairs.into_iter();
    Ok(pairs
        .map(|pair| [pair.past.map_or_else(String::new, name), name(pair.present)])
        .collect())
}

#[test]
fn pairs_are_found_by_the_text_that_a_star_stands_for() {
    let all = found(LAYERS, &["past = 'past.*.key'\npresent = 'present.*.key'"]).unwrap();
    assert_eq!(all, [["past.0.key", "present.0.key"], ["past.1.key", "present.1.key"]]);
    let one = found(LAYERS, &["past = 'past.1.key'\npresent = 'present.1.key'"]).unwrap();
    assert_eq!(one, [["past.1.key", "present.1.key"]]);
    let first = found(LAYERS, &["present = 'present.*.key'"]).unwrap();
    assert_eq!(first, [["", "present.0.key"], ["", "present.1.key"]]);
    assert_eq!(found(LAYERS, &[]).unwrap(), [[""; 2]; 0]);
}

#[test]
fn what_is_no_cache_is_refused_by_name() {
    for (caches, part) in [
        (&["past = 'p.*'\npresent = 'present.*.key'"][..], "`p.*` in "),
        (&["past = 'past.*.key'\npresent = 'present.*.*'"], "more than one `*`"),
        (
            &["past = 'past.0.*'\npresent = 'present.*.key'"],
            "the model has no input `past.0.0` for the output `present.0.key`",
        ),
        (
            &["past = 'past.*.key'\npresent = 'present.0.*'"],
            "the model has no input `past.key.key` for the output `present.0.key`",
        ),
        (
            &["present = 'present.*.key'", "present = 'present.1.key'"],
            "is the same tensor as another",
        ),
        (
            &["past = 'ids'\npresent = 'y'"],
            "`ids` is i64[1, 4], and keys or values are f32 with 3 or more axes",
        ),
    ] {
        let told = found(LAYERS, caches).unwrap_err();
        assert!(told.contains(part), "{caches:?}: {told}");
    }
    let other = LAYERS.replace("%new: f32[1,1,2]", "%new: f32[1,1,2], %\"past.9.key\": f32[2,4,2]");
    let told = found(&other, &["past = 'past.9.key'\npresent = 'present.1.key'"]).unwrap_err();
    assert!(told.contains("its past is f32[2, 4, 2]"), "{told}");
}

/// The text of the graph with codes of this scale at all inputs and outputs called `key`.
fn coded(text: &str) -> String {
    let grid = Arc::new(QuantParams::tensor(0.5, 0));
    let names = ["past.0.key", "past.1.key", "present.0.key", "present.1.key"];
    let codes: Codes = names.map(|name| (name.to_owned(), (Elem::I8, grid.clone()))).into();
    let made = with_codes(&module(text), &codes).unwrap();
    print(&made, &PrintOptions::whole()).replace('"', "")
}

#[test]
fn past_and_present_have_codes_on_one_grid_around_real_numbers() {
    let made = coded(LAYERS);
    for part in [
        "%past.0.key: i8[1,4,2] scale=0.5 zero=0",
        "%past.0.key_dequantized: f32[1,4,2] = dequantize(%past.0.key)",
        "%present.0.key: i8[1,5,2] scale=0.5 zero=0 = quantize(",
        "return %present.0.key, %present.1.key, %y",
        "relu(%past.0.key_dequantized)",
    ] {
        assert!(made.contains(part), "no {part} in\n{made}");
    }
    // All readers of a past read the same real numbers.
    assert_eq!(made.matches("= dequantize(").count(), 2, "{made}");
}

#[test]
fn an_input_that_is_an_output_is_copied() {
    let made = coded(
        "strait 1 float\ngraph @main(%\"past.0.key\": f32[1,4,2]) {\n  %\"present.0.key\": f32[1,4,2] = \
         identity(%\"past.0.key\")\n  return %\"present.0.key\"\n}\n",
    );
    assert!(made.contains("%present.0.key: i8[1,4,2]"), "{made}");
}
