//! The table of the rules over the float graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Pattern};

/// The rules over the float graph, which is observed behind them: without one, other values are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// False: no rule takes a layer into another one, as a batch normalization into its convolution. AMCT calls it so, too.
    #[serde(default = "yes")]
    pub do_fusion: bool,
    /// Layers, by their source names, that no rule takes into another one, and none into them. AMCT calls it so, too.
    #[serde(default)]
    pub skip_fusion_layers: Vec<Pattern>,
    /// Rules that are off, by their names; [rules.md](rules.md) has them.
    #[serde(default)]
    pub off: Vec<String>,
    /// A switch file as ATC takes it: lines `RULE:off`, or JSON `{"Switch": {"GraphFusion": {"ALL": "off", "RULE": "on"}}}`. `ALL` is
    /// every rule that takes a layer into another one. What is off by another key stays off.
    pub switch_file: Option<FilePath>,
}

fn yes() -> bool {
    true
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
