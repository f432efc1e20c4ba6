//! The table `[rewrite]`, which has settings for the rules over the float graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Pattern};

/// The rules over the float graph, which is observed behind them: without one, other values are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rewrite {
    /// False: no rule merges a layer into another one, for example a batch normalization into its convolution. AMCT uses the
    /// same name.
    pub do_fusion: bool,
    /// Layers, by their source names, that no rule merges into another layer, and into which no other layer is merged. AMCT
    /// uses the same name.
    pub skip_fusion_layers: Vec<Pattern>,
    /// Names of rules that are switched off. [rules.md](rules.md) lists the rules.
    pub off: Vec<String>,
    /// A switch file as for ATC: lines `RULE:off`, or JSON `{"Switch": {"GraphFusion": {"ALL": "off", "RULE": "on"}}}`. `ALL`
    /// stands for every rule that merges a layer into another one. Rules that another key switches off stay off.
    pub switch_file: Option<FilePath>,
}

impl Default for Rewrite {
    fn default() -> Self {
        Rewrite {
            do_fusion: true,
            skip_fusion_layers: Vec::new(),
            off: Vec::new(),
            switch_file: None,
        }
    }
}
