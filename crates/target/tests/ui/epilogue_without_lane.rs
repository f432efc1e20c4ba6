//! An epilogue with constants, but without what they are for.

use strait_kernels::integer::{Epilogue, PerChannel};

struct Floor(PerChannel<u32>);

impl Epilogue for Floor {
    type Constants = u32;

    fn constants(&self) -> &PerChannel<u32> {
        &self.0
    }
}

fn main() {}
