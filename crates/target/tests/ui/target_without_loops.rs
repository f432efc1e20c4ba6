//! A target with a table that leaves open who computes its forms.

use strait_target::{Target, TargetSpec};

struct Mine(TargetSpec);

impl Target for Mine {
    fn spec(&self) -> &TargetSpec {
        &self.0
    }
}

fn main() {}
