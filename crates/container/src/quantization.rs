//! `quantization.json`: how each operand and each result is quantized. An artifact has no annotated graph, so this file
//! keeps the quantization configs, as plain data.

use std::io;

use serde::{Deserialize, Serialize};
use strait_core::{ConfigId, Derivation, Graph, Module, NodeId, Policy, Port, QuantConfig, QuantTable};

/// Name of the file in an artifact that says how each operand and result is quantized.
pub const QUANTIZATION_FILE: &str = "quantization.json";

/// Schema version of this file.
pub const QUANTIZATION_SCHEMA: u32 = 1;

/// The configs of an annotated graph, layer by layer in topological order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantization {
    /// Schema version of this file: 1.
    pub schema: u32,
    /// The quantization schemes that the configs use, each listed once.
    pub schemes: Vec<SchemeReport>,
    /// Configs of the model's inputs, in order.
    pub inputs: Vec<ConfigReport>,
    /// Configs of the model's outputs, in order.
    pub outputs: Vec<ConfigReport>,
    /// The layers that have configs.
    pub layers: Vec<QuantizedLayer>,
}

/// A quantization scheme: the policy for scales, the type and range of the codes, and the rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeReport {
    /// Type of the codes, such as `int8`; for small floats `e4m3` and the like.
    #[serde(rename = "type")]
    pub codes: String,
    /// Smallest and largest code; absent for small floats.
    pub range: Option<[i64; 2]>,
    /// True if the zero point is always 0.
    pub symmetric: bool,
    /// True if scales are powers of two.
    pub power_of_two: bool,
    /// True if the range is taken from the data in each run (dynamic quantization).
    pub dynamic: bool,
    /// Which elements share a scale: `tensor`, `channel AXIS`, or `block SIZE of axis AXIS`.
    pub per: String,
    /// How real numbers are rounded to codes.
    pub rounding: String,
}

/// Configs of one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantizedLayer {
    /// Name of the layer.
    pub name: String,
    /// The layers of the source model that this layer was made from.
    pub sources: Vec<String>,
    /// Operator of the layer.
    pub op: String,
    /// Configs of the layer's operands, then of its results.
    pub configs: Vec<ConfigReport>,
}

/// How one operand or result is quantized.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigReport {
    /// Which operand or result the config is for: `operand N` or `result N` of a layer, `input N` or `output N` of the
    /// model, counted from 0.
    pub port: String,
    /// Name of the tensor at this operand or result.
    pub tensor: String,
    /// Index of the config's scheme in [`Quantization::schemes`].
    pub scheme: usize,
    /// State of the config, such as whether it has its own scale.
    pub state: String,
    /// Who chose the scale and zero point; absent while there are none.
    pub origin: Option<String>,
    /// The configs whose scale this config shares, or from which its own scale is derived. Each is written as `PORT of
    /// LAYER` or `input N`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// The scales: a single one, or one for each channel or block. They satisfy real = scale × (code − zero point).
    /// Absent if the scale is a product of the scales of the configs in `of`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale: Vec<f32>,
    /// The zero points: one for each scale, or a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zero_point: Vec<i32>,
}

impl Quantization {
    /// The configs of an annotated module's main graph.
    pub fn of(module: &Module) -> Quantization {
        let graph = module.main();
        let mut schemes = Vec::new();
        let mut layers = Vec::new();
        let mut border = |port: &dyn Fn(usize) -> Port, count: usize| -> Vec<ConfigReport> {
            let places = (0..count).map(|index| (NodeId::OUTSIDE, port(index)));
            places
                .filter_map(|place| config(module, graph, place, &mut schemes))
                .collect()
        };
        let inputs = border(&Port::Input, graph.inputs().len());
        let outputs = border(&Port::Output, graph.outputs().len());
        // The order exists, because the verifier has checked that the graph has no cycles.
        for id in graph.topological_order().unwrap_or_default() {
            let Some(node) = graph.node(id) else { continue };
            let operands = (0..node.inputs.len()).map(Port::Operand);
            let ports = operands.chain((0..node.outputs.len()).map(Port::Result));
            let configs = ports.filter_map(|port| config(module, graph, (id, port), &mut schemes));
            let configs: Vec<ConfigReport> = configs.collect();
            if !configs.is_empty() {
                layers.push(QuantizedLayer {
                    name: module.name(node.name).to_owned(),
                    sources: module.sources(node),
                    op: node.op.term().name().to_owned(),
                    configs,
                });
            }
        }
        Quantization {
            schema: QUANTIZATION_SCHEMA,
            schemes,
            inputs,
            outputs,
            layers,
        }
    }

    /// Writes the file as JSON, with one layer a line.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let head = (
            serde_json::to_string(&self.schema)?,
            serde_json::to_string(&self.schemes)?,
        );
        let border = (
            serde_json::to_string(&self.inputs)?,
            serde_json::to_string(&self.outputs)?,
        );
        writeln!(out, "{{\"schema\":{},\"schemes\":{},", head.0, head.1)?;
        write!(out, "\"inputs\":{},\n\"outputs\":{},\n\"layers\":[", border.0, border.1)?;
        for (position, layer) in self.layers.iter().enumerate() {
            out.write_all(if position == 0 { b"\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, layer)?;
        }
        out.write_all(b"\n]}\n")
    }
}

fn config(
    module: &Module,
    graph: &Graph,
    (id, port): (NodeId, Port),
    schemes: &mut Vec<SchemeReport>,
) -> Option<ConfigReport> {
    let table = &graph.quant;
    let config_id = table.id(id, port)?;
    let found = table.config(config_id)?;
    let scheme = scheme(found);
    let scheme = schemes.iter().position(|known| *known == scheme).unwrap_or_else(|| {
        schemes.push(scheme);
        schemes.len() - 1
    });
    let masters = masters(table, config_id);
    let grid = table.grid(config_id);
    let params = grid.as_ref().filter(|_| masters.len() < 2).map(|grid| &grid.params);
    let place = |&id: &ConfigId| {
        let config = table.config(id)?;
        let Some(layer) = graph.node(config.node) else {
            return Some(config.port.to_string());
        };
        Some(format!("{} of {}", config.port, module.name(layer.name)))
    };
    Some(ConfigReport {
        port: port.to_string(),
        tensor: module.name(graph.value(graph.value_at(id, port)?)?.name).to_owned(),
        scheme,
        state: table.state(config_id)?.to_string(),
        origin: grid.as_ref().map(|grid| grid.origin.to_string()),
        of: masters.iter().filter_map(place).collect(),
        scale: params.map(|params| params.scale.values().to_vec()).unwrap_or_default(),
        zero_point: params
            .map(|params| params.zero_point.values().to_vec())
            .unwrap_or_default(),
    })
}

/// Returns the configs from which a config takes its scale and zero point, or none if the config has its own. Configs
/// that share a scale form a set. Only one config of the set, the root, has the scale. For any other config of the set,
/// returns the root. If the root's scale is derived from other configs, returns these configs for the root.
fn masters(table: &QuantTable, id: ConfigId) -> Vec<ConfigId> {
    let root = table.root(id);
    if root != id {
        return vec![root];
    }
    table.derivation(id).into_iter().flat_map(Derivation::masters).collect()
}

fn scheme(config: &QuantConfig) -> SchemeReport {
    let (scheme, policy) = (config.scheme, config.scheme.policy());
    SchemeReport {
        codes: match policy {
            Policy::Floating { format, .. } => format.to_string(),
            Policy::Linear { .. } => scheme.elem().map(|elem| elem.to_string()).unwrap_or_default(),
        },
        range: scheme.range(),
        symmetric: policy.is_symmetric(),
        power_of_two: policy.has_powers_of_two(),
        dynamic: matches!(policy, Policy::Linear { dynamic: true, .. }),
        per: policy.per().to_string(),
        rounding: scheme.rounding().name().to_owned(),
    }
}
