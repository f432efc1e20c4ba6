//! Soundness of compiled modules by this crate's measure: their intervals, its certificates and its graphs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use strait_builtin as _;
use strait_container::CertificateRecord;
use strait_core::{Bodies, GraphId, Module};
use strait_execute::{PlanOptions, Tensor, Threads};
use strait_import::{ReadOptions, free_dimensions};
use strait_lower::{Baked, FusionPolicy, LowerError, bake, fuse, lower};
use strait_onnx::read;
use strait_quantize::annotate::{Placing, Progress, TypeWishes, place, refuse};
use strait_quantize::observe::Samples;
use strait_quantize::statistics::Coverage;
use strait_quantize::{Annotation, Requests, annotate, observe};
use strait_target::{Options, Registry, Target};
use strait_verify::{VerifyOptions, verify_module};

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");

/// Numbers without a meaning: what is proved does not depend on them.
struct Noise(Vec<Vec<usize>>);

impl Samples for Noise {
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let input = |shape: &Vec<usize>| {
            let value = |i: usize| ((i * 2_654_435_761 + index * 40_503) % 1009) as f32 / 1009.0 - 0.3;
            let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
            Tensor::from_values(shape, &values).map_err(|e| e.to_string())
        };
        self.0.iter().map(input).collect()
    }
}

/// The canonical float module, every free dimension bound to 1.
fn canonical(path: &Path) -> Module {
    let free = free_dimensions(&read(path, &ReadOptions::default()).unwrap());
    let options = ReadOptions {
        bind: free.into_iter().map(|dimension| (dimension.name, 1)).collect(),
        ..ReadOptions::default()
    };
    let mut module = read(path, &options).unwrap();
    let main = module.main;
    strait_rewrite::canonical().run(&mut module, main).unwrap();
    module
}

/// The lowered and the fused graph, with the certificates.
fn compile(mut float: Module, target: &dyn Target, policy: FusionPolicy) -> (Module, Vec<CertificateRecord>) {
    let (main, spec) = (float.main, target.spec());
    let shape = |id| {
        float
            .main()
            .value(id)
            .unwrap()
            .ty
            .dims()
            .unwrap()
            .iter()
            .map(|&d| d as usize)
            .collect()
    };
    let noise = Noise(float.main().inputs().iter().map(|&id| shape(id)).collect());
    let (threads, options) = (NonZeroUsize::MIN, PlanOptions::default());
    let (requests, covered) = (Requests::all(&float, main), Coverage::all(4));
    let go_on = &mut |_| ControlFlow::Continue(());
    let observation = observe(
        &float,
        &Bodies::default(),
        &requests,
        &noise,
        &covered,
        threads,
        &options,
        go_on,
    )
    .unwrap();
    let (placing, mut progress) = (Placing::new(), Progress::default());
    place(&mut float, main, spec, &placing, &TypeWishes::default());
    let mut module = loop {
        let how = Annotation::new(spec, &observation, &placing);
        annotate(&mut float, main, &how, &mut progress).unwrap();
        let baked = bake(&mut float, spec, &mut Baked::default());
        match baked.and_then(|()| lower(&float, spec)) {
            Ok(lowered) => break lowered.module,
            Err(LowerError::Nodes(nodes)) => {
                assert!(refuse(
                    float.main_mut(),
                    spec,
                    &placing,
                    &TypeWishes::default(),
                    &mut progress,
                    nodes
                ));
            }
            Err(error) => panic!("{error}"),
        }
    };
    let mut fused = module.main().clone();
    fused.name = module.names.fresh("main");
    module.graphs.push(fused);
    module.main = GraphId::new(1);
    let main = module.main;
    let fusion = fuse(&mut module, main, target, policy).unwrap();
    let record = |fired: strait_lower::Fused| CertificateRecord {
        node: fired.value,
        row: fired.row,
        certificate: fired.certificate,
    };
    (module, fusion.fired.into_iter().map(record).collect())
}

fn targets() -> Vec<Arc<dyn Target>> {
    let registry = Registry::builtin().unwrap();
    let ids: Vec<String> = registry.entries().map(|(id, _)| id.to_owned()).collect();
    ids.iter()
        .map(|id| registry.get(id, &Options::default()).unwrap())
        .collect()
}

#[test]
fn the_digits_model_is_sound_for_every_target() {
    let float = canonical(Path::new(DIGITS));
    let threads = Threads::one().unwrap();
    let mut fused = 0;
    for target in targets() {
        let (module, records) = compile(float.clone(), &*target, FusionPolicy::Exact);
        let report = verify_module(&module, &records, &VerifyOptions::new(&threads)).unwrap();
        let id = &target.spec().id;
        assert_eq!(report.findings, [], "{id}");
        assert!(report.compared && report.exact >= records.len(), "{id}: {report:?}");
        fused += records.len();
    }
    assert!(fused > 0);
}
