//! Makes the deployed graph from the lowered graph.

use strait_core::CertificateRecord;
use strait_core::{Bodies, GraphId, Module};
use strait_lower::{Fusion, fuse};

use crate::{CompileError, Task};

/// Copies the lowered graph and makes the copy the main graph. Then fuses the requantizations of the copy.
pub(crate) fn fused(task: &Task<'_>, mut module: Module) -> Result<(Module, Fusion), CompileError> {
    let mut main = module.main().clone();
    main.name = module.names.fresh("main");
    module.graphs.push(main);
    module.main = GraphId::new(module.graphs.len() - 1);
    let main = module.main;
    let fusion = fuse(&mut module, main, task.target.as_ref(), task.resolved.fusion);
    let fusion =
        fusion.map_err(|error| CompileError::Defect(format!("fusing for `{}`: {error}", task.target.spec().id)))?;
    Ok((module, fusion))
}

/// Prepares the module for deployment: moves the inlined bodies of control flow back into graphs of their own. If there
/// are such bodies, also returns the module in which they are still inlined.
pub(crate) fn closed(bodies: &Bodies, mut module: Module) -> Result<(Module, Option<Module>), CompileError> {
    if bodies.is_empty() {
        return Ok((module, None));
    }
    // The lowered graph is at index 0.
    let roots = [GraphId::new(0), module.main];
    bodies.take_out(&mut module, &roots).map_err(CompileError::defect)?;
    let mut open = module.clone();
    strait_verify::lay_open(&mut open);
    Ok((module, Some(open)))
}

/// The certificates of the fusions, in the form that artifacts contain.
pub(crate) fn certificates(fusion: &Fusion) -> Vec<CertificateRecord> {
    let fired = fusion.fired.iter();
    let record = fired.map(|fired| CertificateRecord {
        node: fired.value.clone(),
        row: fired.row.clone(),
        certificate: fired.certificate.clone(),
    });
    record.collect()
}
