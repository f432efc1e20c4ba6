//! Writes the files for the chip's loader. `edge.txt` lists the steps, and `edge.bin` has their constants, one after
//! the other.
//!
//! ```text
//! conv /stem/conv
//!   in image:codes @0+144 @144+64
//!   out i8 /stem/out
//!   tf_lite sc 1518500250 1073741824 zp -128 shift 39 38 rounding half_up out i8
//! ```

use std::fmt::Write as _;

use strait_plugin_sdk::form::{Requantization, fields};
use strait_plugin_sdk::graph::{Attribute, Module, Node, Placement};
use strait_plugin_sdk::{Sink, TargetError};

/// Writes both files. If `with_fields` is set, the integers of requantizations are listed, too.
pub(crate) fn write(module: &Module, with_fields: bool, sink: &mut dyn Sink) -> Result<(), TargetError> {
    let mut package = Package {
        module,
        with_fields,
        text: String::new(),
        constants: Vec::new(),
    };
    let graph = module.main();
    let order = graph.topological_order().unwrap_or_default();
    for node in order.iter().filter_map(|&id| graph.node(id)) {
        package.step(node);
    }
    sink.bytes("edge.txt", package.text.as_bytes())?;
    sink.bytes("edge.bin", &package.constants)
}

struct Package<'a> {
    module: &'a Module,
    with_fields: bool,
    text: String,
    constants: Vec<u8>,
}

impl Package<'_> {
    fn step(&mut self, node: &Node) {
        let (module, graph) = (self.module, self.module.main());
        let place = match node.place {
            Placement::Accelerator => "",
            Placement::Host(_) => " host",
        };
        self.put(format_args!(
            "{} {}{place}\n  in",
            node.op.name(),
            module.name(node.name)
        ));
        for operand in &node.inputs {
            let Some(value) = *operand else {
                self.put(format_args!(" -"));
                continue;
            };
            match module.constant(graph, value) {
                Some(tensor) => {
                    let at = self.constants.len();
                    self.constants.extend_from_slice(tensor.bytes());
                    self.put(format_args!(" @{at}+{}", tensor.bytes().len()));
                }
                None => {
                    let name = graph.value(value).map_or("?", |value| module.name(value.name));
                    self.put(format_args!(" {name}"));
                }
            }
        }
        for value in node.outputs.iter().filter_map(|&id| graph.value(id)) {
            self.put(format_args!("\n  out {} {}", value.ty.elem, module.name(value.name)));
        }
        self.put(format_args!("\n"));
        if let Some(fused) = &node.fused {
            self.form(&fused.requant);
        }
    }

    fn form(&mut self, form: &Requantization) {
        self.put(format_args!("  {}", form.kind().name()));
        let listed = if self.with_fields { fields(form) } else { Vec::new() };
        for (key, value) in listed {
            self.put(format_args!(" {key}"));
            match value {
                Attribute::Int(number) => self.put(format_args!(" {number}")),
                Attribute::Ints(numbers) => numbers.iter().for_each(|number| self.put(format_args!(" {number}"))),
                Attribute::Text(word) => self.put(format_args!(" {word}")),
                // This chip has no floats.
                _ => self.put(format_args!(" ?")),
            }
        }
        self.put(format_args!("\n"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = self.text.write_fmt(text);
    }
}
