//! Code that would no longer compile if another kind of error were added.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::kernel::KernelError;

fn error(error: &TargetError) -> bool {
    match error {
        TargetError::Unsupported(_) => true,
        TargetError::NoForm { .. } => false,
        TargetError::Kernel { .. } => false,
        TargetError::Wrong { .. } => false,
        TargetError::Plugin { .. } => false,
        TargetError::Panicked { .. } => false,
        TargetError::Sink { .. } => false,
        TargetError::Refused(_) => false,
    }
}

fn kernel(error: &KernelError) -> bool {
    match error {
        KernelError::Shape(_) | KernelError::Size(_) => true,
        KernelError::Requantization(_) | KernelError::Tile(_) => false,
    }
}

fn main() {}
