//! Writes an artifact, file by file.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use serde::Serialize;
use strait_compile::{Balance, Built};
use strait_container::{
    ArtifactError, ArtifactWriter, Digest, ExtendedTable, PARAMS_FILE, Params, Provenance, QUANTIZATION_FILE,
    Quantization, Reserved, Sources, TargetOrigin, TargetVersion, ToolVersion, sha256,
};
use strait_core::{Module, NodeId};
use strait_execute::{ExecuteError, both};
use strait_report::{REPORT_FILE, Report};
use strait_target::{Origin, TargetSpec, spec::Base};

use crate::{DEPLOYMENT_FILE, Deployment, ports::ports};

/// The data for those files that every artifact has.
#[derive(Clone, Copy, Debug)]
pub struct CommonParts<'a, P> {
    /// The integer model, and the annotated graph that it was made from.
    pub built: &'a Built,
    /// The report of the compilation.
    pub report: &'a Report,
    /// What is needed to run the model on stored samples.
    pub deployment: &'a Deployment<P>,
}

/// Writes a file.
type Work<'a> = Box<dyn FnOnce() -> Result<(), ArtifactError> + Send + 'a>;

impl<P: Serialize + Sync> CommonParts<'_, P> {
    /// What has to be done to write the files. What takes longest comes first.
    fn works<'a>(
        &'a self,
        [report, quantization, deployment, params]: [Reserved; 4],
        writer: &'a ArtifactWriter,
    ) -> VecDeque<Work<'a>> {
        let of_params = || {
            let copy = self.built.migrated();
            let migrated = copy.map(|copy| factors(&copy.float, &copy.balance).to_string());
            let grids = Params::of(&self.built.annotated, migrated);
            writer.add_reserved(params, |out| out.write_all(grids.to_toml().as_bytes()))
        };
        let of_quantization = || {
            let quantized = Quantization::of(&self.built.annotated);
            writer.add_reserved(quantization, |out| quantized.write_json(out))
        };
        let of_deployment = || {
            writer.add_reserved(deployment, |out| {
                serde_json::to_writer_pretty(&mut *out, self.deployment)?;
                out.write_all(b"\n")
            })
        };
        VecDeque::from([
            Box::new(|| writer.add_model(&self.built.module, &self.built.certificates)) as Work<'a>,
            Box::new(|| writer.add_reserved(report, |out| self.report.write_json(out))),
            Box::new(of_quantization),
            Box::new(of_params),
            Box::new(of_deployment),
        ])
    }
}

/// Does what is left to do, until another thread has taken the last of it or something fails.
fn work_off(works: &Mutex<VecDeque<Work<'_>>>) -> Result<(), ArtifactError> {
    let next = || works.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    while let Some(work) = next() {
        work()?;
    }
    Ok(())
}

/// The digest of the factors by which scale was moved in `float`, a copy of the model: for each layer its name, and the factors
/// of what it reads and of its outputs.
pub fn factors(float: &Module, layers: &BTreeMap<NodeId, Balance>) -> Digest {
    let mut bytes = Vec::new();
    for (&id, balance) in layers {
        let name = float.main().node(id).map_or("", |node| float.name(node.name));
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        for factors in [&balance.input, &balance.output] {
            bytes.extend((factors.len() as u64).to_le_bytes());
            bytes.extend(factors.iter().flat_map(|factor| factor.to_bits().to_le_bytes()));
        }
    }
    sha256(&bytes)
}

/// Writes an artifact and moves it to its destination once it is complete. Returns the digest that identifies the
/// artifact.
///
/// The function `others` adds the files that the target asks for. If there are enough threads, it runs at the same time
/// as the rest of the work, and this thread then takes its share of what is left.
///
/// # Errors
/// If the folder cannot be written, or `others` fails.
pub fn write<P: Serialize + Sync, T, E: From<ArtifactError> + From<ExecuteError> + Send>(
    parts: &CommonParts<'_, P>,
    (target, origin): (&TargetSpec, &Origin),
    sources: Sources,
    writer: ArtifactWriter,
    threads: NonZeroUsize,
    others: impl FnOnce(&ArtifactWriter) -> Result<T, E>,
) -> Result<(Digest, T), E> {
    // The names are reserved first, so that `others` cannot use them.
    let names = [
        writer.reserve(REPORT_FILE)?,
        writer.reserve(QUANTIZATION_FILE)?,
        writer.reserve(DEPLOYMENT_FILE)?,
        writer.reserve(PARAMS_FILE)?,
    ];
    let works = Mutex::new(parts.works(names, &writer));
    let own = || Ok(work_off(&works)?);
    let here = || {
        let done = others(&writer)?;
        work_off(&works)?;
        Ok::<T, E>(done)
    };
    let ((), others) = both(threads, own, here)?;
    drop(works);
    let manifest = writer.commit(Provenance {
        ports: ports(&parts.built.module, parts.deployment),
        sources,
        target: TargetVersion {
            id: target.id.to_string(),
            origin: recorded(origin, &target.bases),
            table: Digest(target.digest),
            version: target.version.to_string(),
        },
        tool: ToolVersion {
            name: "strait".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    })?;
    Ok((manifest.digest(), others))
}

/// Returns a target's origin in the form in which a manifest records it, including the tables that the target's table
/// extends. Paths are left out, since they differ from machine to machine.
pub(crate) fn recorded(origin: &Origin, bases: &[Base]) -> Option<TargetOrigin> {
    let extended = |base: &Base| ExtendedTable {
        id: base.id.clone(),
        sha256: base.sha256.clone(),
        version: base.version.clone(),
    };
    match origin {
        Origin::BuiltIn(package) => Some(TargetOrigin::Package(package.clone())),
        Origin::File(_) => (!bases.is_empty()).then(|| TargetOrigin::Table {
            extends: bases.iter().map(extended).collect(),
        }),
        Origin::Library(library) => Some(TargetOrigin::Library {
            interface: library.interface,
            package: library.package.clone(),
            sha256: library.sha256.clone(),
        }),
    }
}
