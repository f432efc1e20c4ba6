//! Writes the package: the integer network in the format of SiMa's tools, as far as this format is public.
//!
//! `model.sima` is a zip archive with `model.yaml` (a list of documents, one of which has `nodes`) and `model.npz` (the
//! arrays that the nodes refer to). `model_mpk.json` says which processor runs which step. docs/sima-package.md
//! describes the format, and says which parts of it were seen in public files, which were derived, and which have never
//! been run.

mod document;
mod layout;
mod mpk;
mod network;
mod stages;
mod values;

use network::Network;
use strait_plugin_sdk::graph::Module;
use strait_plugin_sdk::{Sink, TargetError};
use strait_samples::{Pack, PackError};

/// Name of the model in the package. Artifacts do not contain the model's own name.
const NAME: &str = "model";

/// Writes both files of the package for the main graph, which is in the integer stage.
pub(crate) fn write(module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
    let graph = module.main();
    let stages = stages::stages(graph)?;
    let mut network = Network::new(module, graph);
    let documents = network.documents(NAME, &stages)?;
    let mut archive = Pack::default();
    let arrays = network.arrays.finish().map_err(too_large)?;
    let add = archive.add(&format!("{NAME}.yaml"), documents.yaml().as_bytes());
    add.map_err(too_large)?;
    archive.add(&format!("{NAME}.npz"), &arrays).map_err(too_large)?;
    let file = format!("{NAME}.sima");
    sink.bytes(&file, &archive.finish().map_err(too_large)?)?;
    let description = mpk::description(module, graph, &stages, NAME, &file)?;
    let path = format!("{NAME}_mpk.json");
    let json = description.json().map_err(|error| TargetError::Sink {
        path: path.clone(),
        message: error.to_string(),
    })?;
    sink.bytes(&path, &json)
}

fn too_large(error: PackError) -> TargetError {
    TargetError::Unsupported(format!("{error}, in a package,"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use strait_core::text::parse;

    /// A sink that keeps the files in memory.
    #[derive(Default)]
    struct Files(BTreeMap<String, Vec<u8>>);

    impl Sink for Files {
        fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
            self.0.insert(path.into(), content.into());
            Ok(())
        }

        fn graph(&mut self, _: &str, format: &str, _: &Module) -> Result<(), TargetError> {
            Err(TargetError::Unsupported(format.into()))
        }
    }

    const TEXT: &str = r#"strait 1 integer
graph @main(%x: f32[1,2,1,1]) {
  %q: i8[1,2,1,1] scale=0.5 zero=3 = quantize(%x) {to=i8, rounding=half_even, reciprocal=0}
  %c: i8[1,2,1,1] scale=0.25 zero=0 = conv(%q, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=2, pad_value=3} fused={arith_folded shift=[4,5] rounding=half_even out=i8} clamp=[0,127]
  %m: i32[1,2,1,1] scale=0.0625 zero=0 = mul(%c, @k) {a_zero=0, b_zero=0}
  %f: f32[1,2,1,1] = dequantize(%m)
  %s: f32[1,2,1,1] = softmax(%f) {axis=1} host=["host","not on the accelerator"]
  return %s
}
data @w: i8[2,1,1,1] scale=[0.5,0.25] zero=0 axis=0 = inline [7,-8]
data @b: i32[2] = inline [100,-200]
data @k: i8[2,1,1] scale=0.25 zero=0 = inline [4,5]
"#;

    fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = Files::default();
        write(&parse(text).unwrap(), &mut files).unwrap();
        files.0
    }

    fn contains(file: &[u8], part: &[u8]) -> bool {
        file.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn the_network_names_its_arrays_and_keeps_the_integers() {
        let files = files(TEXT);
        // The archive does not compress its members, so the text of the members can be searched in the archive.
        let sima = &files["model.sima"];
        let node = r#"          - name: "c"
            sources: ["c"]
            inputs: ["q"]
            outputs:
              - name: "c"
                dtype: "int8"
                shape: [1, 1, 1, 2]
                scale: 4.0
                zero_point: 0
            ir:
              node_type: "operator"
              processor: "MLA"
              attrs:
                stride: [1, 1]
                pad: [0, 0, 0, 0]
                dilation: [1, 1]
                groups: 2
                pad_value: 3
              quant:
                op: "conv"
                scale: 4.0
                zero_point: 0
                per_channel: true
                weight_quant_data: "n0002_weight"
                bias_quant_data: "n0002_bias"
                requant:
                  type: "arith_folded"
                  shift: "n0002_shift"
                  rounding: "half_even"
                  out_dtype: "int8"
                  channel_axis: 3
                clip: [0, 127]
          - name: "k"
"#;
        assert!(contains(sima, node.as_bytes()), "{}", String::from_utf8_lossy(sima));
        assert!(contains(sima, b"channel_params: [[2.0, 3]]"));
        // One input, and two groups with one output each.
        assert!(contains(sima, b"'shape': (1, 1, 1, 2, 1), }"));
        assert!(contains(sima, b"data: \"n0003_data\""));
        for array in ["n0002_weight", "n0002_bias", "n0002_shift", "n0003_data"] {
            assert!(contains(sima, format!("{array}.npy").as_bytes()), "{array}");
        }
    }

    #[test]
    fn channels_are_those_of_the_image_whatever_makes_the_accumulators() {
        let graph = |node: &str| {
            format!(
                "strait 1 integer graph @main(%x: i8[1,2,1,3] scale=0.5 zero=0, %w: i32[1,2,1,3] scale=0.5 zero=0) {{
                   %y: i8[1,2,1,3] scale=2.0 zero=0 = {node} fused={{arith_folded shift=[4,5] rounding=half_even out=i8}}
                   return %y }} data @p: i32[3] = inline [1,0,1]"
            )
        };
        let window = "size=[1,1], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0";
        for node in [
            format!("sum_pool(%x) {{{window}, pad_value=0}}"),
            format!("max_pool(%w) {{{window}}}"),
        ] {
            let files = files(&graph(&node));
            // The tensor is stored with the channels last.
            assert!(contains(&files["model.sima"], b"channel_axis: 3"), "{node}");
        }
        let picked = graph(&format!("sum_pool(%x, @p) {{{window}, pad_value=0}}"));
        let refused = write(&parse(&picked).unwrap(), &mut Files::default());
        assert!(matches!(refused, Err(TargetError::Unsupported(_))), "{refused:?}");
    }

    #[test]
    fn the_description_has_one_plugin_for_each_visit_to_a_processor() {
        let description: Value = serde_json::from_slice(&files(TEXT)["model_mpk.json"]).unwrap();
        let plugins = description["plugins"].as_array().unwrap();
        let of_all = |pointer: &str| -> Vec<Value> {
            let found = plugins.iter().filter_map(|plugin| plugin.pointer(pointer).cloned());
            found.collect()
        };
        assert_eq!(of_all("/processor"), ["EV74", "MLA", "EV74", "A65"]);
        assert_eq!(
            of_all("/config_params/kernel"),
            ["quantization_transform", "dequantize", "softmax"]
        );
        let executables = [mpk::BUILT_IN, "model.sima", mpk::BUILT_IN, mpk::BUILT_IN];
        assert_eq!(of_all("/resources/executable"), executables);
        assert_eq!(
            (&description["sequence"], of_all("/sequence")),
            (&json!(1), vec![json!(1), json!(2), json!(3), json!(4)])
        );
        let grids = of_all("/config_params/params/channel_params");
        assert_eq!(grids, [json!([[2.0, 3]]), json!([[16.0, 0]])]);
        let image =
            json!({ "name": "x", "type": "buffer", "size": 8, "logical_shape": [1, 1, 1, 2], "logical_dtype": "FP32" });
        assert_eq!(description["input_nodes"], json!([image]));
        // Keys have the same order as in SiMa's own files.
        let text = String::from_utf8(files(TEXT)["model_mpk.json"].clone()).unwrap();
        assert!(
            text.starts_with("{\n  \"name\": \"model\",\n  \"model_path\": \"model.sima\",\n"),
            "{text}"
        );
    }

    #[test]
    fn the_same_model_is_the_same_bytes() {
        assert_eq!(files(TEXT), files(TEXT));
    }
}
