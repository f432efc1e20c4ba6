//! The package's description: which processor runs which step, in which order, and with which buffers.

use super::network::{rounding, subgraph_name};
use super::stages::{Processor, Stage};
use super::values::{Described, channel_params, logical_name};
use serde::Serialize;
use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::graph::{Graph, Module, Node, Reason, ReasonCode, Term, ValueId};

/// The name of the executable that SiMa's own packages state for a kernel that the runtime provides.
pub(super) const BUILT_IN: &str = "kernel_name_tbd";

/// The whole document `model_mpk.json`. The keys have the same order as in SiMa's own files.
#[derive(Serialize)]
pub(super) struct Description<'a> {
    name: &'a str,
    model_path: &'a str,
    sequence: usize,
    input_nodes: Vec<Buffer<'a>>,
    plugins: Vec<Plugin<'a>>,
}

/// One step on a processor.
#[derive(Serialize)]
struct Plugin<'a> {
    name: String,
    sequence: usize,
    processor: &'static str,
    config_params: Config,
    input_nodes: Vec<Buffer<'a>>,
    output_nodes: Vec<Buffer<'a>>,
    r#type: &'static str,
    resources: Resources<'a>,
}

#[derive(Serialize)]
struct Resources<'a> {
    executable: &'a str,
}

#[derive(Serialize)]
struct Config {
    desired_batch_size: u32,
    actual_batch_size: u32,
    #[serde(flatten)]
    work: Work,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Work {
    Subgraph {
        input_shapes: Vec<Vec<u64>>,
        input_data_type: Vec<&'static str>,
        output_shapes: Vec<Vec<u64>>,
        data_type: Vec<&'static str>,
    },
    Kernel {
        kernel: &'static str,
        params: Params,
    },
}

#[derive(Serialize)]
struct Params {
    input_shapes: Vec<Vec<u64>>,
    output_shapes: Vec<Vec<u64>>,
    input_data_type: Vec<&'static str>,
    output_data_type: Vec<&'static str>,
    #[serde(flatten)]
    codes: Option<Quantization>,
}

/// How a step quantizes or dequantizes.
#[derive(Serialize)]
struct Quantization {
    channel_params: Vec<(f64, i32)>,
    num_bits: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounding: Option<&'static str>,
}

/// A buffer, with its size in bytes.
#[derive(Serialize)]
struct Buffer<'a> {
    name: &'a str,
    r#type: &'static str,
    size: u64,
    logical_shape: Vec<u64>,
    logical_dtype: &'static str,
}

impl Description<'_> {
    /// Writes the document as JSON, with one entry on each line. This cannot fail, since all keys are text and all
    /// scales are finite.
    pub(super) fn json(&self) -> serde_json::Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        Ok(json)
    }
}

/// Makes the whole document `model_mpk.json`.
pub(super) fn description<'a>(
    module: &'a Module,
    graph: &'a Graph,
    stages: &[Stage],
    name: &'a str,
    network: &'a str,
) -> Result<Description<'a>, TargetError> {
    let describe = |value: &ValueId| Described::new(module, graph, *value);
    let all = |values: &[ValueId]| values.iter().map(describe).collect::<Result<Vec<_>, _>>();
    let mut plugins = Vec::new();
    let mut subgraphs = 0;
    for stage in stages {
        let (inputs, outputs, processor, name, work, executable) = match stage {
            Stage::Subgraph(inside) => {
                let (inputs, outputs) = (all(&inside.inputs)?, all(&inside.outputs)?);
                let name = subgraph_name(subgraphs);
                subgraphs += 1;
                let work = Work::Subgraph {
                    input_shapes: shapes(&inputs),
                    input_data_type: types(&inputs),
                    output_shapes: shapes(&outputs),
                    data_type: types(&outputs),
                };
                (inputs, outputs, Processor::Mla, name, work, network)
            }
            Stage::Single(id) => {
                let Some(node) = graph.node(*id) else { continue };
                let operands: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
                let variable: Vec<ValueId> = operands.into_iter().filter(|&v| graph.data_of(v).is_none()).collect();
                let (inputs, outputs) = (all(&variable)?, all(&node.outputs)?);
                let work = Work::Kernel {
                    kernel: kernel(node),
                    params: params(node, &inputs, &outputs)?,
                };
                let name = module.name(node.name).to_owned();
                (inputs, outputs, Processor::of(node), name, work, BUILT_IN)
            }
        };
        plugins.push(Plugin {
            name,
            sequence: plugins.len() + 1,
            processor: processor.name(),
            config_params: Config {
                desired_batch_size: 1,
                actual_batch_size: 1,
                work,
            },
            input_nodes: buffers(inputs),
            output_nodes: buffers(outputs),
            r#type: "sgpProcess",
            resources: Resources { executable },
        });
    }
    Ok(Description {
        name,
        model_path: network,
        sequence: 1,
        input_nodes: buffers(all(graph.inputs())?),
        plugins,
    })
}

/// Name of the kernel that runs a node. The kernels of the vision processor have published names; an op on the host has
/// its own name.
fn kernel(node: &Node) -> &'static str {
    match node.op.term() {
        Term::Quantize => "quantization_transform",
        _ => node.op.name(),
    }
}

fn params(node: &Node, inputs: &[Described<'_>], outputs: &[Described<'_>]) -> Result<Params, TargetError> {
    let boundary = match node.op.term() {
        Term::Quantize => Some((outputs.first(), rounding(node))),
        Term::Dequantize => Some((inputs.first(), None)),
        _ => None,
    };
    let codes = boundary.map(|(codes, rounding)| {
        let grid = codes.and_then(|codes| Some((codes.elem, codes.quant?)));
        let (elem, grid) = grid.ok_or_else(|| Reason::new(ReasonCode::NoGrid, "codes without a grid"))?;
        Ok::<_, TargetError>(Quantization {
            channel_params: channel_params(grid),
            num_bits: elem.bits().into(),
            rounding,
        })
    });
    Ok(Params {
        input_shapes: shapes(inputs),
        output_shapes: shapes(outputs),
        input_data_type: types(inputs),
        output_data_type: types(outputs),
        codes: codes.transpose()?,
    })
}

fn buffers<'a>(values: Vec<Described<'a>>) -> Vec<Buffer<'a>> {
    let buffer = |value: Described<'a>| {
        let elements = value.shape.iter().product::<u64>();
        Buffer {
            name: value.name,
            r#type: "buffer",
            size: elements.saturating_mul(value.elem.size() as u64),
            logical_shape: value.shape,
            logical_dtype: logical_name(value.elem),
        }
    };
    values.into_iter().map(buffer).collect()
}

fn shapes(values: &[Described<'_>]) -> Vec<Vec<u64>> {
    values.iter().map(|value| value.shape.clone()).collect()
}

fn types(values: &[Described<'_>]) -> Vec<&'static str> {
    values.iter().map(|value| logical_name(value.elem)).collect()
}
