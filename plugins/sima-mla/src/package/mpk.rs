//! The package's description: which processor runs what, in which order, on which buffers.

use super::document::{Tree, map};
use super::network::{rounding, subgraph_name};
use super::stages::{Processor, Stage, border};
use super::values::{Described, channel_params, logical_name};
use strait_core::{Graph, Module, Node, Op, Reason, ReasonCode, ValueId};
use strait_target::TargetError;

/// What SiMa's own packages name as the executable of a kernel that the runtime brings.
pub(super) const BUILT_IN: &str = "kernel_name_tbd";

/// The whole document.
pub(super) fn description(
    module: &Module,
    graph: &Graph,
    stages: &[Stage],
    name: &str,
    network: &str,
) -> Result<Tree, TargetError> {
    let describe = |value: &ValueId| Described::new(module, graph, *value);
    let all = |values: &[ValueId]| values.iter().map(describe).collect::<Result<Vec<_>, _>>();
    let mut plugins = Vec::new();
    let mut subgraphs = 0;
    for stage in stages {
        let (inputs, outputs, processor, plugin, config, executable) = match stage {
            Stage::Subgraph(nodes) => {
                let (inputs, outputs) = border(graph, nodes);
                let (inputs, outputs) = (all(&inputs)?, all(&outputs)?);
                let plugin = subgraph_name(subgraphs);
                subgraphs += 1;
                let config = map([
                    ("desired_batch_size", 1.into()),
                    ("actual_batch_size", 1.into()),
                    ("input_shapes", shapes(&inputs)),
                    ("input_data_type", types(&inputs)),
                    ("output_shapes", shapes(&outputs)),
                    ("data_type", types(&outputs)),
                ]);
                (inputs, outputs, Processor::Mla, plugin, config, network)
            }
            Stage::Single(id) => {
                let Some(node) = graph.node(*id) else { continue };
                let operands: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
                let variable: Vec<ValueId> = operands.into_iter().filter(|&v| graph.data_of(v).is_none()).collect();
                let (inputs, outputs) = (all(&variable)?, all(&node.outputs)?);
                let config = map([
                    ("desired_batch_size", 1.into()),
                    ("actual_batch_size", 1.into()),
                    ("kernel", kernel(node).into()),
                    ("params", params(node, &inputs, &outputs)?),
                ]);
                let plugin = module.name(node.name).to_owned();
                (inputs, outputs, Processor::of(node), plugin, config, BUILT_IN)
            }
        };
        let buffers = |values: &[Described<'_>]| Tree::List(values.iter().map(Described::buffer).collect());
        plugins.push(map([
            ("name", plugin.into()),
            ("sequence", Tree::Int(plugins.len() as i64 + 1)),
            ("processor", processor.name().into()),
            ("config_params", config),
            ("input_nodes", buffers(&inputs)),
            ("output_nodes", buffers(&outputs)),
            ("type", "sgpProcess".into()),
            ("resources", map([("executable", executable.into())])),
        ]));
    }
    let inputs = all(graph.inputs())?;
    Ok(map([
        ("name", name.into()),
        ("model_path", network.into()),
        ("sequence", 1.into()),
        (
            "input_nodes",
            Tree::List(inputs.iter().map(Described::buffer).collect()),
        ),
        ("plugins", Tree::List(plugins)),
    ]))
}

/// The kernels of the vision processor have published names; an op of the host has its own.
fn kernel(node: &Node) -> &'static str {
    match &node.op {
        Op::Quantize(_) => "quantization_transform",
        Op::Dequantize(_) => "dequantize",
        op => op.name(),
    }
}

fn params(node: &Node, inputs: &[Described<'_>], outputs: &[Described<'_>]) -> Result<Tree, TargetError> {
    let mut params = map([("input_shapes", shapes(inputs)), ("output_shapes", shapes(outputs))]);
    params.put("input_data_type", types(inputs));
    params.put("output_data_type", types(outputs));
    let (codes, way) = match &node.op {
        Op::Quantize(quantize) => (outputs.first(), Some(rounding(quantize.rounding))),
        Op::Dequantize(_) => (inputs.first(), None),
        _ => return Ok(params),
    };
    let grid = codes.and_then(|codes| Some((codes.elem, codes.quant?)));
    let (elem, grid) = grid.ok_or_else(|| Reason::new(ReasonCode::NoGrid, "codes without a grid"))?;
    params.put("channel_params", channel_params(grid));
    params.put("num_bits", 8 * elem.size() as i64);
    if let Some(way) = way {
        params.put("rounding", way);
    }
    Ok(params)
}

fn shapes(values: &[Described<'_>]) -> Tree {
    Tree::List(values.iter().map(Described::shape_tree).collect())
}

fn types(values: &[Described<'_>]) -> Tree {
    Tree::List(values.iter().map(|value| logical_name(value.elem).into()).collect())
}
