//! `params.toml`: scale and zero point of each tensor, by its name in the model, as text that people read and edit.
//!
//! Unlike `quantization.json`, which has a config for each operand and result, this file has one entry for each tensor, and
//! further entries only for operands that are read on another grid. A configuration takes the file as
//! `quantize.params`.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Write as _},
    num::NonZeroU32,
};

use strait_core::{ConfigId, Elem, Graph, Module, NodeId, Port, QuantParams, State, ValueId};

/// Name of the file in an artifact that has scale and zero point of each tensor.
pub const PARAMS_FILE: &str = "params.toml";

/// Schema version of the file.
pub const PARAMS_SCHEMA: u32 = 1;

/// The origin of a grid that a tensor shares with another one, or that follows from another one.
pub const PROPAGATED: &str = "propagated";

/// The entries of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// If scale was moved between layers, so that some tensors are those of the model divided by factors: the digest of the
    /// factors.
    pub migrated: Option<String>,
    /// The tensors, in the order of the graph.
    pub tensors: Vec<TensorParams>,
}

/// Scale and zero point of one tensor, or of one operand: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct TensorParams {
    /// The name of the tensor.
    pub name: String,
    /// The layer and the index of the operand, if the entry is only for this operand.
    pub reader: Option<(String, usize)>,
    /// The type of the codes.
    pub elem: Elem,
    /// The smallest and the largest code.
    pub codes: [i64; 2],
    /// Scale and zero point.
    pub params: QuantParams,
    /// Who chose them: `observed`, `rule`, `coarsened`, `given`, `derived`, `propagated` or `imported`.
    pub origin: String,
    /// The tensor whose grid this one has, if it is propagated.
    pub of: Option<String>,
}

impl Params {
    /// The grids of the tensors of an annotated module's main graph. Accumulators and biases have none of their own.
    pub fn of(module: &Module, migrated: Option<String>) -> Params {
        let graph = module.main();
        let mut places = Vec::new();
        places.extend((0..graph.inputs().len()).map(|index| (NodeId::OUTSIDE, Port::Input(index))));
        // The order exists, because the verifier has checked that the graph has no cycles.
        for id in graph.topological_order().unwrap_or_default() {
            let Some(node) = graph.node(id) else { continue };
            places.extend((0..node.inputs.len()).map(|index| (id, Port::Operand(index))));
            places.extend((0..node.outputs.len()).map(|index| (id, Port::Result(index))));
        }
        let mut order = Vec::new();
        let mut all: BTreeMap<ValueId, Vec<TensorParams>> = BTreeMap::new();
        // The grid on which a value is stored comes before those on which it is read.
        let stored = |port: &Port| !matches!(port, Port::Operand(_));
        let sorted = [true, false].map(|first| places.iter().filter(move |(_, port)| stored(port) == first));
        for &(id, port) in sorted.into_iter().flatten() {
            let found = graph.value_at(id, port).zip(graph.quant.id(id, port));
            let Some((value, mut entry)) =
                found.and_then(|(value, config)| Some((value, entry(module, value, config)?)))
            else {
                continue;
            };
            let known = all.entry(value).or_insert_with(|| {
                order.push(value);
                Vec::new()
            });
            let same = |other: &TensorParams| {
                (other.elem, &other.params, other.of.is_some()) == (entry.elem, &entry.params, entry.of.is_some())
            };
            // Rules fold constants into others and give them new names, so constants are named by the layer that reads them.
            let is_constant = graph.data_of(value).is_some();
            if !is_constant && known.iter().any(same) {
                continue;
            }
            let has_reader = is_constant || !known.is_empty();
            if let (true, Port::Operand(index), Some(node)) = (has_reader, port, graph.node(id)) {
                entry.reader = Some((module.name(node.name).to_owned(), index));
            }
            known.push(entry);
        }
        let position: BTreeMap<ValueId, usize> = places
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(at, &(id, port))| Some((graph.value_at(id, port)?, at)))
            .collect();
        order.sort_by_key(|value| position.get(value).copied());
        Params {
            migrated,
            tensors: order.iter().filter_map(|value| all.remove(value)).flatten().collect(),
        }
    }

    /// The text of the file. The same entries always give the same text.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(HEAD);
        let _ = writeln!(text, "schema = {PARAMS_SCHEMA}");
        if let Some(factors) = &self.migrated {
            let _ = writeln!(text, "{MIGRATED}factors = \"{factors}\"");
        }
        for tensor in &self.tensors {
            tensor.write(&mut text);
        }
        text
    }
}

const HEAD: &str = "\
# Scale and zero point of each tensor: real = scale * (q - zero_point).
# A copy of this file, as it is or edited, is taken by `[quantize] params = \"FILE\"`. To change a tensor by its range, remove
# `scale` and `zero_point` and edit `range`. Entries with the origin \"propagated\" have the grid of the tensor `of`, and are not read.
";

const MIGRATED: &str = "\
# The optimisation has moved scale between layers, so the tensors are those of the model divided by factors. The file is taken by
# compilations that move the same scale: of the same model, with the same samples and the same `[optimize]`.
migrated = true
";

/// The entry for one config. `None` for accumulators and biases, and if the value is a real number there.
fn entry(module: &Module, value: ValueId, id: ConfigId) -> Option<TensorParams> {
    let graph = module.main();
    let table = &graph.quant;
    let scheme = table.config(id)?.scheme;
    if table.state(id)? == State::Float || scheme.is_of_sums() || !scheme.has_codes() {
        return None;
    }
    let (grid, elem) = (table.grid(id)?, scheme.elem()?);
    let root = table.root(id);
    let master = match table.derivation(root) {
        Some(from) => from.masters().next(),
        None => Some(root),
    };
    let of = master
        .and_then(|master| value_of(graph, master))
        .filter(|&of| of != value);
    let name = |value: ValueId| Some(module.name(graph.value(value)?.name).to_owned());
    let of = of.and_then(name);
    Some(TensorParams {
        name: name(value)?,
        reader: None,
        elem,
        codes: scheme.range()?,
        params: grid.params.bare(),
        origin: of.as_ref().map_or(grid.origin.name(), |_| PROPAGATED).to_owned(),
        of,
    })
}

fn value_of(graph: &Graph, id: ConfigId) -> Option<ValueId> {
    let config = graph.quant.config(id)?;
    graph.value_at(config.node, config.port)
}

impl TensorParams {
    /// The smallest and the largest real number that a code stands for, over all channels.
    pub fn range(&self) -> [f64; 2] {
        let parts = self.params.scale.channels().or(self.params.zero_point.channels());
        let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
        for part in 0..parts.unwrap_or(1) {
            let (Some(&scale), Some(&zero)) = (self.params.scale.get(part), self.params.zero_point.get(part)) else {
                continue;
            };
            for code in self.codes {
                let real = f64::from(scale) * (code - i64::from(zero)) as f64;
                ends = [ends[0].min(real), ends[1].max(real)];
            }
        }
        ends
    }

    fn write(&self, text: &mut String) {
        let QuantParams {
            scale,
            zero_point,
            axis,
            block,
            codes: _,
        } = &self.params;
        let mut line = |key: &str, value: &dyn Display| {
            // Writing into a `String` never fails.
            let _ = writeln!(text, "{key} = {value}");
        };
        line("\n[[tensor]]\nname", &quoted(&self.name));
        if let Some((layer, operand)) = &self.reader {
            line("layer", &quoted(layer));
            line("operand", operand);
        }
        // Numbers of 64 bits stand for all numbers of 32 bits, so that reading gives the same bits.
        let scales = scale.values().iter().map(|&scale| float(scale.into()));
        line("scale", &numbers(scale.channels(), scales));
        line(
            "zero_point",
            &numbers(zero_point.channels(), zero_point.values().iter()),
        );
        if let Some(axis) = axis {
            line("axis", axis);
        }
        if let Some(block) = block.map(NonZeroU32::get) {
            line("block", &block);
        }
        let [low, high] = self.range();
        line("range", &format_args!("[{}, {}]", float(low), float(high)));
        line("bits", &self.elem.bits());
        if self.elem.integers().is_some_and(|(least, _)| least == 0) {
            line("signed", &false);
        }
        line("origin", &quoted(&self.origin));
        if let Some(of) = &self.of {
            line("of", &quoted(of));
        }
    }
}

/// A single number, or a list if there are several.
fn numbers<T: Display>(channels: Option<usize>, values: impl Iterator<Item = T> + Clone) -> impl Display {
    fmt::from_fn(move |f| {
        let (open, close) = channels.map_or(("", ""), |_| ("[", "]"));
        f.write_str(open)?;
        for (index, value) in values.clone().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            value.fmt(f)?;
        }
        f.write_str(close)
    })
}

/// A float in TOML, with as few digits as give the same bits.
fn float(value: f64) -> impl Display {
    // TOML has no floats without a point or an exponent.
    fmt::from_fn(move |f| write!(f, "{value:?}"))
}

/// A string in TOML.
fn quoted(text: &str) -> impl Display {
    fmt::from_fn(move |f| {
        f.write_char('"')?;
        for letter in text.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                control if control.is_control() => write!(f, "\\u{:04X}", u32::from(control))?,
                plain => f.write_char(plain)?,
            }
        }
        f.write_char('"')
    })
}
