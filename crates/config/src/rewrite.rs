//! The table `[rewrite]`, with settings for the rules that rewrite the float graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Pattern};

/// Settings for the rules that rewrite the float graph. The ranges are measured in the rewritten graph, so without a rule
/// other values are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// If false, no rule merges a layer into another one, for example a batch normalization into its convolution. AMCT uses the
    /// same name.
    #[serde(default = "yes")]
    pub do_fusion: bool,
    /// Source names of layers that stay separate: no rule merges them into another layer, or another layer into them. AMCT uses
    /// the same name.
    #[serde(default)]
    pub skip_fusion_layers: Vec<Pattern>,
    /// Names of rules that are switched off. [rules.md](rules.md) lists the rules.
    #[serde(default)]
    pub off: Vec<String>,
    /// A switch file as for ATC: lines `RULE:off`, or JSON `{"Switch": {"GraphFusion": {"ALL": "off", "RULE": "on"}}}`. `ALL`
    /// stands for every rule that merges a layer into another one. Rules that another key switches off stay off.
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
