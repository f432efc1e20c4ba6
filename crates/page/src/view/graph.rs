//! The graph of the compiled model, with every layer and folded by name.

use std::collections::BTreeMap;

use serde::Serialize;
use strait_report::{Layer, Report};

use crate::{
    fold,
    plot::{self, Drawing},
    words,
};

use super::{
    href,
    names::{Errors, badness, converts, plain, sources},
};

#[derive(Debug, Serialize)]
pub(crate) struct Graph {
    svg: String,
    width: f64,
    height: f64,
    /// The same graph with a box for each part of the model. Absent if the names do not tell parts.
    folded: Option<Folded>,
    colours: Vec<Colour>,
    layers: usize,
}

#[derive(Debug, Serialize)]
struct Folded {
    svg: String,
    width: f64,
    height: f64,
    boxes: usize,
}

/// A way to colour the boxes.
#[derive(Debug, Serialize)]
struct Colour {
    id: &'static str,
    label: &'static str,
    /// The class and the meaning of each colour.
    legend: Vec<(&'static str, String)>,
}

/// A folded graph has at most this many boxes.
const MOST: usize = 40;

impl Graph {
    /// `None` if the report does not say what layers read.
    pub(crate) fn new(report: &Report, errors: &Errors<'_>) -> Option<Graph> {
        let layers = &report.layers;
        if layers.is_empty() || layers.iter().all(|layer| layer.operands.is_empty()) {
            return None;
        }
        let edges = edges(layers);
        let total = layers
            .iter()
            .filter_map(|layer| layer.operations)
            .fold(0u64, u64::saturating_add);
        let boxes: Vec<plot::Box> = layers
            .iter()
            .enumerate()
            .map(|(index, layer)| one(index, layer, errors, total))
            .collect();
        let Drawing { svg, size } = plot::drawing(&boxes, &edges, "Graph of the compiled model");
        let mut colours = Vec::new();
        if !errors.is_empty() {
            colours.push(by_error());
        }
        colours.extend([by_place(), by_bits(), by_cost()]);
        Some(Graph {
            svg,
            width: size[0],
            height: size[1],
            folded: folded(layers, &edges, errors, total),
            colours,
            layers: layers.len(),
        })
    }
}

/// An edge leads from the layer that computes a value to each layer that reads it.
fn edges(layers: &[Layer]) -> Vec<(usize, usize)> {
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, layer) in layers.iter().enumerate() {
        for result in &layer.results {
            made.entry(result.name.as_str()).or_insert(index);
        }
    }
    let mut edges = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let read = layer.operands.iter().filter(|operand| !operand.constant);
        for from in read.filter_map(|operand| made.get(operand.name.as_str())) {
            if !edges.contains(&(*from, index)) && *from != index {
                edges.push((*from, index));
            }
        }
    }
    edges
}

fn one(index: usize, layer: &Layer, errors: &Errors<'_>, total: u64) -> plot::Box {
    let error = errors.get(index);
    let parts = parts(layer);
    let share = layer.operations.unwrap_or(0) as f64 / total.max(1) as f64;
    let snr = error.and_then(|error| error.entire.or(error.single));
    let mut title = format!("{}\n{}", layer.op, layer.name);
    if let Some(result) = layer.results.first() {
        let shape: Vec<String> = result.shape.iter().map(u64::to_string).collect();
        title += &format!("\n{} [{}]", result.elem, shape.join(" × "));
    }
    if let Some(snr) = snr {
        title += &format!("\n{}", words::decibel(snr));
    }
    if let Some(host) = &layer.host {
        title += &format!("\non the host: {}", host.text);
    }
    let mut search = layer.sources.join(" ");
    search = format!("{} {} {search}", layer.name, layer.op).to_lowercase();
    plot::Box {
        href: href(index),
        op: layer.op.clone(),
        name: shown_name(layer),
        title,
        words: search,
        class: format!(
            "{} {} {} {}{}",
            snr.map_or("ex".to_owned(), |snr| format!("e{}", badness(snr))),
            place(layer),
            bits(layer),
            cost(share),
            if error.is_some_and(|error| error.jumps) {
                " jumps"
            } else {
                ""
            },
        ),
        fused: parts,
    }
}

/// How many layers of the model the operation computes at once. Only a fusion joins several.
fn parts(layer: &Layer) -> usize {
    if layer.fusion.is_none() {
        1
    } else {
        sources(layer).len()
    }
}

/// The name of a layer without `:accumulate`, which says nothing to a reader.
pub(crate) fn shown_name(layer: &Layer) -> String {
    let own = layer.name.as_str();
    own.strip_suffix(":accumulate").unwrap_or(own).to_owned()
}

fn place(layer: &Layer) -> &'static str {
    match &layer.host {
        _ if converts(layer) => "pc",
        Some(_) => "ph",
        None => "pa",
    }
}

fn bits(layer: &Layer) -> &'static str {
    let elem = layer.results.first().map_or("", |result| result.elem.as_str());
    match elem.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()) {
        _ if elem.starts_with('f') || elem.starts_with("bf") => "bf",
        "2" | "4" => "b4",
        "8" => "b8",
        "16" => "b16",
        _ => "b32",
    }
}

fn cost(share: f64) -> String {
    let level = [0.001, 0.01, 0.03, 0.08]
        .iter()
        .filter(|limit| share >= **limit)
        .count();
    format!("c{level}")
}

fn by_error() -> Colour {
    let names = [
        "40 dB and more",
        "30 to 40 dB",
        "20 to 30 dB",
        "10 to 20 dB",
        "below 10 dB",
        "not measured",
    ];
    let classes = ["e0", "e1", "e2", "e3", "e4", "ex"];
    Colour {
        id: "error",
        label: "error",
        legend: classes.into_iter().zip(names.map(str::to_owned)).collect(),
    }
}

fn by_place() -> Colour {
    let all = [("pa", "accelerator"), ("ph", "host"), ("pc", "conversion")];
    Colour {
        id: "place",
        label: "placement",
        legend: all.map(|(class, words)| (class, words.to_owned())).into(),
    }
}

fn by_bits() -> Colour {
    let all = [
        ("b4", "4 bits or fewer"),
        ("b8", "8 bits"),
        ("b16", "16 bits"),
        ("b32", "wider integers"),
        ("bf", "float"),
    ];
    Colour {
        id: "bits",
        label: "bits",
        legend: all.map(|(class, words)| (class, words.to_owned())).into(),
    }
}

fn by_cost() -> Colour {
    let all = [
        ("c0", "below 0.1 %"),
        ("c1", "0.1 to 1 %"),
        ("c2", "1 to 3 %"),
        ("c3", "3 to 8 %"),
        ("c4", "8 % and more"),
    ];
    Colour {
        id: "cost",
        label: "cost",
        legend: all
            .map(|(class, words)| (class, format!("{words} of the operations")))
            .into(),
    }
}

/// The name by which a layer is folded.
fn source(layer: &Layer) -> &str {
    layer.sources.last().map_or(layer.name.as_str(), String::as_str)
}

/// Folds the layers whose names begin alike. As many parts of the names are used as give at most [`MOST`] boxes.
fn folded(layers: &[Layer], edges: &[(usize, usize)], errors: &Errors<'_>, total: u64) -> Option<Folded> {
    let paths: Vec<Vec<&str>> = layers.iter().map(|layer| fold::path(source(layer))).collect();
    let plain: Vec<&str> = layers.iter().map(|layer| plain(&layer.name)).collect();
    let folding = fold::by_name(&paths, &plain, MOST)?;
    let boxes: Vec<plot::Box> = folding
        .names
        .iter()
        .enumerate()
        .map(|(group, name)| {
            let members = || folding.members(group);
            let first = members().next().unwrap_or(0);
            let inside = || members().filter_map(|index| layers.get(index));
            let operations = inside()
                .filter_map(|layer| layer.operations)
                .fold(0u64, u64::saturating_add);
            let share = operations as f64 / total.max(1) as f64;
            let snr = members()
                .filter_map(|index| errors.get(index)?.entire)
                .min_by(f64::total_cmp);
            let host = inside().filter(|layer| place(layer) == "ph").count();
            let count = words::counted(inside().count(), "layer");
            let jumps = members().any(|index| errors.get(index).is_some_and(|error| error.jumps));
            let worst = inside()
                .map(bits)
                .max_by_key(|bits| ["b4", "b8", "b16", "b32", "bf"].iter().position(|own| own == bits));
            plot::Box {
                href: href(first),
                op: format!("{count}, {}", words::percent(share)),
                name: name.clone(),
                title: format!(
                    "{name}\n{count}, {host} on the host\n{} of the operations",
                    words::percent(share)
                ),
                words: inside()
                    .map(|layer| format!("{} {}", layer.name, layer.sources.join(" ")))
                    .collect::<Vec<_>>()
                    .join(" ")
                    .to_lowercase(),
                class: format!(
                    "{} {} {} {}{}",
                    snr.map_or("ex".to_owned(), |snr| format!("e{}", badness(snr))),
                    if host > 0 { "ph" } else { "pa" },
                    worst.unwrap_or("b8"),
                    cost(share),
                    if jumps { " jumps" } else { "" },
                ),
                fused: 1,
            }
        })
        .collect();
    let between = folding.between(edges);
    let Drawing { svg, size } = plot::drawing(&boxes, &between, "Graph of the compiled model, folded by name");
    Some(Folded {
        svg,
        width: size[0],
        height: size[1],
        boxes: boxes.len(),
    })
}
