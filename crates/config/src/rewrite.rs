//! The table `[rewrite]`, with settings for the rules that rewrite the float graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaf::{FilePath, Pattern};

/// Which rules rewrite the float graph. The ranges of values are measured after these rules have run, so switching off a
/// rule also changes which values are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rewrite {
    /// If false, no rule merges a layer into another one, for example a batch normalization into the convolution before it. The
    /// key has the same name in AMCT.
    pub do_fusion: bool,
    /// Source names of layers that no rule merges into another layer, and into which no other layer is merged. The key has the
    /// same name in AMCT.
    pub skip_fusion_layers: Vec<Pattern>,
    /// Names of rules that are switched off. [rules.md](rules.md) lists the rules.
    pub off: Vec<String>,
    /// A switch file in ATC's format: lines `RULE:off`, or JSON `{"Switch": {"GraphFusion": {"ALL": "off", "RULE": "on"}}}`.
    /// `ALL` stands for every rule that merges a layer into another one. Rules that another key switches off stay off.
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
