//! From the lowered graph to the one that is deployed.

use strait_core::CertificateRecord;
use strait_core::{Bodies, GraphId, Module};
use strait_lower::{Fusion, fuse};

use crate::{CompileError, Task};

/// Puts a copy of the lowered graph beside it, as the main graph, and fuses the requantizations of that.
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

/// The module as it is deployed, with the bodies of control flow as graphs of their own again; and that with the bodies open,
/// where there are some.
pub(crate) fn closed(bodies: &Bodies, mut module: Module) -> Result<(Module, Option<Module>), CompileError> {
    if bodies.is_empty() {
        return Ok((module, None));
    }
    // The lowered graph is the first.
    let roots = [GraphId::new(0), module.main];
    bodies.take_out(&mut module, &roots).map_err(CompileError::defect)?;
    let mut open = module.clone();
    strait_verify::lay_open(&mut open);
    Ok((module, Some(open)))
}

/// The certificates of fusions, as an artifact has them.
pub(crate) fn certificates(fusion: &Fusion) -> Vec<CertificateRecord> {
    let fired = fusion.fired.iter();
    let record = fired.map(|fired| CertificateRecord {
        node: fired.value.clone(),
        row: fired.row.clone(),
        certificate: fired.certificate.clone(),
    });
    record.collect()
}
