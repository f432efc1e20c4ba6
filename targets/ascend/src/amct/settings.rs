//! Converts the fields to rules. The weakest rules come first: `activation_offset`, `common_config`, types, layers,
//! and what stays in float.
//!
//! A field for a layer says how the layer's *operand* is quantized, and a field for all layers says how all values are
//! quantized. The settings for a type or a layer are complete by themselves: a field that they do not set has AMCT's
//! default, and not the value from weaker settings.

use super::{Arq, Calibration, DstType, Hfmg, Ifmr, PrecisionMode, Simple, types};
use serde_json::{Map, Value, json};
use strait_plugin_sdk::dialect::{KeyPath, Means, Objection, Setting};

/// Converts a simple configuration to settings.
///
/// # Errors
/// If fields ask for something that is not supported. All such fields are returned.
pub(super) fn of(simple: &Simple) -> Result<Vec<Setting>, Vec<Objection>> {
    let mut found = TranslatedSettings::default();
    let at = |key: &str| KeyPath::of(&[key]);
    if let Some(count) = simple.batch_num {
        found.key(at("batch_num"), &["calibration", "samples"], count.get().into());
    }
    if simple.fakequant_precision_mode == Some(PrecisionMode::ForceFp16Quant) {
        let means = Means::Option("scale_bits".to_owned(), Value::from(19));
        found.settings.push(Setting {
            from: at("fakequant_precision_mode"),
            means,
        });
    }
    if let Some(fuses) = simple.do_fusion {
        found.key(at("do_fusion"), &["rewrite", "do_fusion"], fuses.into());
    }
    if !simple.skip_fusion_layers.is_empty() {
        let layers = json!(simple.skip_fusion_layers);
        found.key(at("skip_fusion_layers"), &["rewrite", "skip_fusion_layers"], layers);
    }
    if !simple.skip_approximation_layers.is_empty() {
        found.refuse(
            at("skip_approximation_layers"),
            "nothing is approximated here",
            "leave it out",
        );
    }
    if simple.nuq_config.is_some() {
        found.refuse(at("nuq_config"), ABANDONED, "leave it out");
    }
    if let Some(offset) = simple.activation_offset {
        let keys = json!({ "layers": ["**"], "activations": { "symmetric": !offset } });
        found.rule(at("activation_offset"), keys);
    }
    if simple.joint_quant == Some(true) {
        found.rule(at("joint_quant"), json!({ "op": ["add"], "alignment": "large" }));
    }
    if let Some(common) = &simple.common_config {
        found.calibration(&at("common_config"), common, &Whose::All, simple.activation_offset);
    }
    let older = [
        ("conv_calibration_config", &simple.conv_calibration_config, "conv"),
        ("fc_calibration_config", &simple.fc_calibration_config, "gemm"),
    ];
    for (key, config, op) in older {
        let Some(config) = config else { continue };
        if simple.common_config.is_some() || !simple.override_layer_types.is_empty() {
            let help = "leave it out, or the newer fields";
            found.refuse(
                at(key),
                format!("`{key}` is not read beside `common_config` and `override_layer_types`"),
                help,
            );
        }
        found.calibration(&at(key), config, &Whose::Ops(vec![op]), simple.activation_offset);
    }
    for (index, of_type) in simple.override_layer_types.iter().enumerate() {
        let at = at("override_layer_types").index(index);
        if let Some(ops) = found.ops(at.clone().key("layer_type"), &of_type.layer_type) {
            let at = at.key("calibration_config");
            found.calibration(
                &at,
                &of_type.calibration_config,
                &Whose::Ops(ops.to_vec()),
                simple.activation_offset,
            );
        }
    }
    for (index, layer) in simple.override_layer_configs.iter().enumerate() {
        let at = at("override_layer_configs").index(index).key("calibration_config");
        let whose = Whose::Layer(&layer.layer_name);
        found.calibration(&at, &layer.calibration_config, &whose, simple.activation_offset);
    }
    for (index, tensor) in simple.tensor_quantize.iter().enumerate() {
        let at = at("tensor_quantize").index(index);
        let by_default = Ifmr::default();
        let ifmr = tensor.ifmr_quantize.as_ref();
        let activations = match (&tensor.hfmg_quantize, ifmr) {
            (Some(hfmg), None) => found.hfmg(&at, hfmg, simple.activation_offset),
            _ => found.ifmr(&at, ifmr.unwrap_or(&by_default), simple.activation_offset),
        };
        let keys = json!({ "layers": [tensor.layer_name], "operands": [tensor.input_index] });
        found.rule(at, joined(keys, activations));
    }
    for (index, layer_type) in simple.skip_layer_types.iter().enumerate() {
        let at = at("skip_layer_types").index(index);
        if let Some(ops) = found.ops(at.clone(), layer_type) {
            found.rule(at, json!({ "op": ops, "run": "float" }));
        }
    }
    for (index, layer) in simple.skip_layers.iter().enumerate() {
        let at = at("skip_layers").index(index);
        found.rule(at, json!({ "layers": [layer], "run": "float" }));
    }
    if found.objections.is_empty() {
        Ok(found.settings)
    } else {
        Err(found.objections)
    }
}

const ABANDONED: &str = "AMCT has given up quantization that is not uniform, and no chip here has it";

/// The layers to which a message of the simple configuration applies, such as `common_config` or
/// `override_layer_types`.
enum Whose<'a> {
    All,
    Ops(Vec<&'static str>),
    Layer(&'a str),
}

impl Whose<'_> {
    fn layers(&self) -> Value {
        match self {
            Whose::All => json!({ "layers": ["**"] }),
            Whose::Ops(ops) => json!({ "op": ops }),
            Whose::Layer(name) => json!({ "layers": [name] }),
        }
    }

    /// Returns the keys by which a rule applies to the first operands of these layers. If `self` is `Whose::All`, the
    /// rule applies to all tensors instead, including inputs of the model.
    fn operands(&self) -> Value {
        match self {
            Whose::All => json!({ "tensors": ["**"] }),
            _ => joined(self.layers(), json!({ "operands": [0] })),
        }
    }
}

/// Adds the keys of another table to `keys`.
fn joined(mut keys: Value, others: Value) -> Value {
    if let (Some(keys), Value::Object(others)) = (keys.as_object_mut(), others) {
        keys.extend(others);
    }
    keys
}

#[derive(Default)]
struct TranslatedSettings {
    settings: Vec<Setting>,
    objections: Vec<Objection>,
}

impl TranslatedSettings {
    fn refuse(&mut self, from: KeyPath, message: impl Into<String>, help: impl Into<String>) {
        let (message, help) = (message.into(), help.into());
        self.objections.push(Objection { from, message, help });
    }

    fn key(&mut self, from: KeyPath, path: &[&str], value: Value) {
        let path = path.iter().map(|&key| key.to_owned()).collect();
        let means = Means::Key(path, value);
        self.settings.push(Setting { from, means });
    }

    /// Adds a rule with these keys, whose reason names the field `from`. A rule for a layer by its name has to match
    /// something.
    fn rule(&mut self, from: KeyPath, keys: Value) {
        let Value::Object(keys) = keys else { return };
        let named = |key| keys.get(key).is_some_and(|names| *names != json!(["**"]));
        let reason = format!("AMCT: {from}");
        let mut rule = Map::from_iter([("reason".to_owned(), Value::from(reason))]);
        if !named("layers") {
            rule.insert("optional".to_owned(), Value::from(true));
        }
        rule.extend(keys);
        let means = Means::Rule(rule);
        self.settings.push(Setting { from, means });
    }

    fn ops(&mut self, from: KeyPath, layer_type: &str) -> Option<&'static [&'static str]> {
        let ops = types::ops(layer_type);
        if ops.is_none() {
            let names: Vec<&str> = types::names().collect();
            let message = format!("AMCT quantizes no layers of the type `{layer_type}`");
            self.refuse(from, message, format!("the types are {}", names.join(", ")));
        }
        ops
    }

    fn calibration(&mut self, at: &KeyPath, config: &Calibration, whose: &Whose<'_>, offset: Option<bool>) {
        let algorithms = [
            ("ada_quantize", "round", config.ada_quantize.is_some()),
            ("dmq_balancer", "smooth", config.dmq_balancer.is_some()),
        ];
        for (key, algorithm, _) in algorithms.into_iter().filter(|&(.., given)| given) {
            let at = at.clone().key(key);
            match whose {
                Whose::All => self.key(at, &["optimize", algorithm], true.into()),
                _ => self.refuse(
                    at,
                    format!("`{key}` sets `{algorithm}` of `[optimize]`, which is for all layers"),
                    "give it in common_config",
                ),
            }
        }
        if config.nuq_quantize.is_some() {
            self.refuse(at.clone().key("nuq_quantize"), ABANDONED, "give arq_quantize");
        }
        let activations = match (&config.ifmr_quantize, &config.hfmg_quantize) {
            (Some(_), Some(_)) => {
                let message = "activations are quantized by IFMR or by HFMG, not by both";
                return self.refuse(at.clone().key("hfmg_quantize"), message, "leave one of them out");
            }
            (Some(ifmr), None) => {
                let at = at.clone().key("ifmr_quantize");
                Some((self.ifmr(&at, ifmr, offset), at))
            }
            (None, Some(hfmg)) => {
                let at = at.clone().key("hfmg_quantize");
                Some((self.hfmg(&at, hfmg, offset), at))
            }
            (None, None) => None,
        };
        if let Some((mut activations, at)) = activations {
            // Whether a grid has an offset is a setting of layers, even if the message is for all values.
            if let (Whose::All, Some(keys)) = (whose, activations.as_object_mut())
                && let Some(symmetric) = keys.remove("activations")
            {
                let rule = joined(whose.layers(), json!({ "activations": symmetric }));
                self.rule(at.clone(), rule);
            }
            self.rule(at, joined(whose.operands(), activations));
        }
        if config.weight_compress_only == Some(true) {
            let ops = match whose {
                Whose::All => json!({ "op": ["conv", "gemm"] }),
                _ => whose.layers(),
            };
            let rule = joined(ops, json!({ "run": "float", "weights": { "type": "int8" } }));
            self.rule(at.clone().key("weight_compress_only"), rule);
        }
        if let Some(ada) = &config.ada_quantize {
            self.per(&at.clone().key("ada_quantize"), ada.channel_wise, whose);
        }
        if let Some(arq) = &config.arq_quantize {
            self.arq(&at.clone().key("arq_quantize"), arq, whose);
        }
    }

    /// Refuses codes that do not have 8 bits.
    fn bits(&mut self, at: &KeyPath, keys: &[(&str, Option<u32>)], dst_type: Option<DstType>) {
        for (key, bits) in keys {
            if let Some(bits) = bits.filter(|&bits| bits != 8) {
                let message = format!("codes of {bits} bits are not possible here");
                self.refuse(at.clone().key(key), message, "give 8, or leave it out");
            }
        }
        if dst_type == Some(DstType::Int16) {
            let message = "activations of 16 bits are not possible: no product of the chip's cube unit takes them";
            self.refuse(
                at.clone().key("dst_type"),
                message,
                "give INT8, or leave the layer out with skip_layers",
            );
        }
    }

    fn arq(&mut self, at: &KeyPath, arq: &Arq, whose: &Whose<'_>) {
        self.bits(at, &[("quant_bits", arq.quant_bits), ("num_bits", arq.num_bits)], None);
        if arq.asymmetric == Some(true) {
            let message = "weights with an offset are not possible: the cube unit takes none";
            self.refuse(at.clone().key("asymmetric"), message, "give false, or leave it out");
        }
        self.rule(
            at.clone(),
            joined(whose.layers(), json!({ "weights": { "observer": "arq" } })),
        );
        self.per(at, arq.channel_wise, whose);
    }

    /// Layers other than convolutions always have a single scale.
    fn per(&mut self, at: &KeyPath, channel_wise: Option<bool>, whose: &Whose<'_>) {
        let per = match (channel_wise, whose) {
            (Some(true), Whose::All) => Some((json!({ "op": ["conv"] }), "channel")),
            (Some(channel_wise), _) => Some((whose.layers(), if channel_wise { "channel" } else { "tensor" })),
            (None, _) => None,
        };
        if let Some((rule, per)) = per {
            let rule = joined(rule, json!({ "weights": { "per": per } }));
            self.rule(at.clone().key("channel_wise"), rule);
        }
    }

    fn ifmr(&mut self, at: &KeyPath, ifmr: &Ifmr, offset: Option<bool>) -> Value {
        self.bits(at, &[("num_bits", ifmr.num_bits)], ifmr.dst_type);
        let (start, end) = (
            ifmr.search_range_start.unwrap_or(0.7),
            ifmr.search_range_end.unwrap_or(1.3),
        );
        if start >= end {
            let message = format!("the search begins at {start} and ends at {end}");
            self.refuse(
                at.clone(),
                message,
                "search_range_start is to be below search_range_end",
            );
        }
        let percent = |part: Option<f64>| 100.0 * part.unwrap_or(0.999_999);
        json!({
            "observer": "ifmr",
            "observer_options": {
                "search_range": [start, end],
                "search_step": ifmr.search_step.unwrap_or(0.01),
                "percentile": percent(ifmr.max_percentile),
                "lower_percentile": percent(ifmr.min_percentile),
            },
            "activations": { "symmetric": !ifmr.asymmetric.or(offset).unwrap_or(true) },
        })
    }

    fn hfmg(&mut self, at: &KeyPath, hfmg: &Hfmg, offset: Option<bool>) -> Value {
        self.bits(at, &[("num_bits", hfmg.num_bits)], hfmg.dst_type);
        let bins = hfmg.num_of_bins.unwrap_or(4096);
        if ![1024, 2048, 4096].contains(&bins) {
            let message = format!("histograms of {bins} bins are not possible here");
            self.refuse(at.clone().key("num_of_bins"), message, "give 1024, 2048 or 4096");
        }
        json!({
            "observer": "hfmg",
            "observer_options": { "bins": bins },
            "activations": { "symmetric": !hfmg.asymmetric.or(offset).unwrap_or(true) },
        })
    }
}
