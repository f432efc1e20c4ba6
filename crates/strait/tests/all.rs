//! Tests of the library that programs embed, compared with the command line's deployments.
#![cfg(all(feature = "onnx", feature = "generic-int8", feature = "sima-mla", feature = "ascend"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod cut;
mod shares;

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
    path::Path,
};

use strait::{Artifact, Fault, LayerRule, Model, Rules, Samples, SessionOptions, Target, Tensor, rules};
use strait_driver::{
    artifact::{self, Opened},
    config::{self, Override},
    diagnostic::Diagnostics,
    pipeline,
    session::{Session, Silent},
    stop::Stop,
    targets, verification,
};
use strait_kernels::Context;
use strait_plugin_sdk::{FormKernel, TargetFactory, inventory};
use strait_samples::Scratch;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A vendor's target table. The program links it, as it would link a vendor's crate.
const VENDORS: &str = include_str!("../../../configs/targets/acme-npu2.toml");

inventory::submit! {
    TargetFactory::new("acme-target 2.1.0", VENDORS).kernels(&[FormKernel::host("scale31"), FormKernel::host("narrow"), FormKernel::host("scale15")])
}

fn digits() -> Model {
    Model::open(Path::new(REPOSITORY).join("models/digits/digits.onnx")).unwrap()
}

/// The samples of a deployment after its preprocessing.
fn samples_of(opened: &Opened) -> Vec<Vec<Tensor>> {
    let path = Path::new(REPOSITORY).join("models/digits/calib_x.npy");
    let specs = artifact::inputs(opened).unwrap();
    let samples = strait_samples::Samples::open(&strait_samples::Set::from(path.as_path()), &specs).unwrap();
    let sample = |index| {
        let sample = samples.sample(index, &mut Scratch::default()).unwrap();
        let tensors = sample
            .iter()
            .map(|one| Tensor::from_bytes(one.elem(), one.shape(), one.bytes()).unwrap());
        tensors.collect()
    };
    (0..samples.count()).map(sample).collect()
}

#[test]
fn the_library_makes_the_same_model_as_the_command_for_each_target_in_the_box() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(strait_execute::Threads::available(), Context::detect(), &Silent);
    for (file, id) in [("generic-int8", "generic-int8"), ("sima", "sima"), ("ascend", "ascend")] {
        let out = folder.path().join(id);
        let overrides = [
            format!("output.dir={out:?}"),
            format!("calibration.cache={:?}", folder.path().join("cache")),
        ];
        let overrides: Vec<Override> = overrides.into_iter().map(Override::set).collect();
        let loaded = config::load(&Path::new(REPOSITORY).join(format!("configs/{file}.toml")), &overrides).unwrap();
        pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap();
        let opened = Opened::open(&out, &targets::registry([]).unwrap()).unwrap();

        let target = Target::named(id).unwrap();
        let samples = Samples::new(samples_of(&opened));
        let built = strait::compile(&digits(), &target, &samples, &Rules::new()).unwrap();
        let own = folder.path().join(format!("{id}-embedded"));
        let digest = built.write(&own).unwrap();
        for file in ["model.strait", "quantization.json"] {
            let [one, other] = [&out, &own].map(|folder| fs::read(folder.join(file)).unwrap());
            assert!(one == other, "{id}: {file} differs");
        }
        let again = Artifact::open(&own).unwrap();
        assert_eq!((again.target(), again.digest()), (id, Some(digest)));

        let registry = targets::registry([]).unwrap();
        let found =
            verification::verify(&own, &registry, &verification::VerificationRequest::default(), &session).unwrap();
        assert!(found.is_sound(), "{id}: {found:?}");
    }
}

#[test]
fn rules_of_the_library_mean_what_those_of_a_configuration_mean() {
    use rules::{Activations, Align, Integer, Observer, ObserverOptions, Unfit, WeightPer, Weights};
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(strait_execute::Threads::available(), Context::detect(), &Silent);
    let registry = || targets::registry([]).unwrap();
    let first = |found: Diagnostics| Box::new(found.0.into_iter().next().unwrap());
    let compiled = |rules: &str, out: &Path| {
        let overrides = [
            format!("output.dir={out:?}"),
            format!("calibration.cache={:?}", folder.path().join("cache")),
            "quantize.alignment.elementwise=\"large\"".to_owned(),
            "calibration.observer=\"mse\"".to_owned(),
            format!("quantize.rule=[{rules}]"),
        ];
        let overrides: Vec<Override> = overrides.into_iter().map(Override::set).collect();
        let file = Path::new(REPOSITORY).join("configs/generic-int8.toml");
        let loaded = config::load(&file, &overrides).map_err(first)?;
        match pipeline::compile(&loaded, registry(), &session) {
            Ok(_) => Ok(()),
            Err(Stop::Found(found)) => Err(first(found)),
            Err(other) => panic!("{other}"),
        }
    };
    let in_words = "{ between={ from=['/stem/conv/Conv'], to=['/block/pointwise/Conv'] }, activations={ type='int16' } }, \
        { op=['conv'], weights={ per='tensor', unfit='error' } }, \
        { layers=['/block/pointwise/Conv'], operands=[0], observer='hfmg', observer_options={ bins=1024 } }, \
        { layers=['/block/norm2/BatchNormalization'], results=[0], range=[-2, 3.5], activations={ symmetric=true } }, \
        { tensors=['logits'], observer='isotone' }, \
        { op=['add'], alignment='none', simplify=false, optional=true }, \
        { target=['ascend'], layers=['**'], run='float' }, \
        { layers=['/classifier/**'], run='integer' }, \
        { layers=['/head/**'], run='float', reason='it is looked at' }";
    let weights = Weights {
        per: Some(WeightPer::Tensor),
        unfit: Some(Unfit::Error),
        ..Weights::default()
    };
    let bins = ObserverOptions {
        bins: Some(1024),
        ..ObserverOptions::default()
    };
    let symmetric = Activations {
        symmetric: Some(true),
        ..Activations::default()
    };

    let built = [
        LayerRule::new()
            .between(["/stem/conv/Conv"], ["/block/pointwise/Conv"])
            .activations(Integer::Int16),
        LayerRule::new().op("conv").weights(weights),
        LayerRule::of("/block/pointwise/Conv")
            .operand(0)
            .observer(Observer::Hfmg)
            .observer_options(bins),
        LayerRule::of("/block/norm2/BatchNormalization")
            .result(0)
            .range(-2.0, 3.5)
            .activations(symmetric),
        LayerRule::new().tensors("logits").observer(Observer::Isotone),
        LayerRule::new()
            .op("add")
            .alignment(Align::None)
            .simplify(false)
            .optional(),
        LayerRule::of("**").target("ascend").float("of another target"),
        LayerRule::of("/classifier/**").integer(),
        LayerRule::of("/head/**").float("it is looked at"),
    ];
    let alignment = rules::Alignment {
        elementwise: Some(Align::Large),
        ..rules::Alignment::default()
    };
    let of_all = Rules::new().observer(Observer::Mse).alignment(alignment);

    let out = folder.path().join("in-words");
    compiled(in_words, &out).unwrap();
    let samples = Samples::new(samples_of(&Opened::open(&out, &registry()).unwrap()));
    let (model, target) = (digits(), Target::named("generic-int8").unwrap());
    let observed = model.observe(&samples, &SessionOptions::default()).unwrap();
    let own = folder.path().join("built");
    let rules = built.into_iter().fold(of_all.clone(), Rules::layer);
    observed.compile(&target, &rules).unwrap().write(&own).unwrap();
    // The model was first compiled without these rules. Revising it measures the statistics that the rules' observers
    // need.
    let (without, revised) = (
        observed.compile(&target, &Rules::new()).unwrap(),
        folder.path().join("revised"),
    );
    without.revise(&rules).unwrap().write(&revised).unwrap();
    for file in ["model.strait", "quantization.json"] {
        let [words, built, again] = [&out, &own, &revised].map(|folder| fs::read(folder.join(file)).unwrap());
        assert!(words == built && built == again, "{file} differs");
    }

    // The library and the configuration refuse each rule with the same message.
    for (in_words, built) in [
        (
            "{ layers=['/clasifier/Gemm'], run='integer' }",
            LayerRule::of("/clasifier/Gemm").integer(),
        ),
        ("{ op=['Convv'], run='auto' }", LayerRule::new().op("Convv").auto()),
        (
            "{ layers=['/head/conv/Conv'], operands=[1], range=[0, 1] }",
            LayerRule::of("/head/conv/Conv").operand(1).range(0.0, 1.0),
        ),
        (
            "{ tensors=['logits'], range=[0, 1], weights={ per='tensor' } }",
            LayerRule::new().tensors("logits").range(0.0, 1.0).weights(Weights {
                per: Some(WeightPer::Tensor),
                ..Weights::default()
            }),
        ),
        (
            "{ layers=['/head/**'], activations={ type='uint4' } }",
            LayerRule::of("/head/**").activations(Integer::Uint4),
        ),
        (
            "{ layers=['/head/**'], observer='arq' }",
            LayerRule::of("/head/**").observer(Observer::Arq),
        ),
        (
            "{ op=['Relu'], weights={ per='tensor' } }",
            LayerRule::new().op("Relu").weights(Weights {
                per: Some(WeightPer::Tensor),
                ..Weights::default()
            }),
        ),
    ] {
        let error = observed.compile(&target, &of_all.clone().layer(built)).unwrap_err();
        let told = compiled(in_words, &out).unwrap_err();
        assert_eq!(error.code(), told.code, "{in_words}: {error}");
        assert!(error.message().contains(&told.message), "{error} and {told:?}");
        assert_eq!(
            error.hint(),
            Some(told.help.join("; ")).as_deref().filter(|help| !help.is_empty())
        );
    }
    let numbers = LayerRule::of("/head/**").range(1.0, f32::NAN);
    let error = observed.compile(&target, &of_all.layer(numbers)).unwrap_err();
    assert!(
        error
            .message()
            .contains("`quantize.rule[0].range` is outside of its limits"),
        "{error}"
    );
}

/// Makes samples that are images of noise.
fn noise(count: usize) -> Vec<Vec<Tensor>> {
    let image = |k: usize| {
        let pixels: Vec<f32> = (0..64).map(|i| ((i * 7 + k * 13) % 17) as f32 / 16.0).collect();
        vec![Tensor::new(&[1, 1, 8, 8], &pixels).unwrap()]
    };
    (0..count).map(image).collect()
}

#[test]
fn a_vendors_target_and_the_library_are_one_program() {
    assert!(strait::targets().unwrap().contains(&"acme-npu2".to_owned()));
    let target = Target::named("acme-npu2").unwrap();
    let built = strait::compile(&digits(), &target, &Samples::new(noise(4)), &Rules::new()).unwrap();
    assert!(built.layers().unwrap().iter().any(|layer| layer.host.is_none()));
}

#[test]
fn a_compilation_with_other_rules_is_the_same_whether_it_is_revised_or_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (model, target) = (digits(), Target::named("generic-int8").unwrap());
    let spooled = Samples::spool(noise(6)).unwrap();
    let observed = model.observe(&spooled, &SessionOptions::default()).unwrap();
    let rules = Rules::new()
        .observer(rules::Observer::Mse)
        .layer(LayerRule::of("/classifier/**").float("its answer is looked at"));
    let first = observed.compile(&target, &Rules::new()).unwrap();
    let revised = first.revise(&rules).unwrap();
    let anew = strait::compile(&model, &target, &Samples::new(noise(6)), &rules).unwrap();
    let written = |artifact: &Artifact, name: &str| {
        artifact.write(folder.path().join(name)).unwrap();
        fs::read(folder.path().join(name).join("model.strait")).unwrap()
    };
    let revised_model = written(&revised, "revised");
    assert!(revised_model == written(&anew, "anew"));
    assert!(revised_model != written(&first, "first"));
    let layers = revised.layers().unwrap();
    let gemm = layers
        .iter()
        .find(|layer| layer.sources == ["/classifier/Gemm"])
        .unwrap();
    assert_eq!(gemm.host.as_deref(), Some("its answer is looked at"), "{layers:?}");

    // The simulation rounds where the artifact has integer codes, so its outputs are close to the artifact's.
    let image = &noise(6)[3][0];
    let outputs = first.session().unwrap().run(&[("image", image.view())]).unwrap();
    let simulated = first.simulate(&spooled).unwrap();
    let [exact, near] = [&outputs, &simulated[3]].map(|outputs| outputs["logits"].values::<f32>().unwrap().to_vec());
    // After a revision, the simulation gives the same as after a new compilation, although it computes less.
    let logits = |artifact: &Artifact| -> Vec<Vec<u8>> {
        let outputs = artifact.simulate(&spooled).unwrap();
        outputs
            .iter()
            .map(|outputs| outputs["logits"].bytes().to_vec())
            .collect()
    };
    assert!(logits(&revised) == logits(&anew) && logits(&revised) != logits(&first));
    let apart = exact.iter().zip(&near).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 0.5, "{exact:?} and {near:?}");
}

#[test]
fn errors_say_whose_fault_they_are_and_what_would_be_right() {
    let refused = Target::named("generic-int").err().unwrap();
    assert_eq!((refused.fault(), refused.code()), (Fault::Target, "T001"));
    assert!(refused.message().contains("generic-int8"), "{refused}");

    let garbage = Model::from_bytes(&b"no model"[..]).err().unwrap();
    assert_eq!((garbage.fault(), garbage.code()), (Fault::Model, "M001"));

    let (model, target) = (digits(), Target::named("generic-int8").unwrap());
    let rules = Rules::new().layer(LayerRule::of("/clasifier/Gemm").integer());
    let nothing = strait::compile(&model, &target, &Samples::new(noise(2)), &rules)
        .err()
        .unwrap();
    assert_eq!((nothing.fault(), nothing.code()), (Fault::Rules, "Q001"));
    assert!(nothing.hint().unwrap().contains("/classifier/Gemm"), "{nothing:?}");

    let has = |rules: &Rules| strait::compile(&model, &target, &Samples::new(noise(2)), rules).err();
    for rules in [
        Rules::new().observer(rules::Observer::Isotone),
        Rules::new().activations(rules::Integer::Uint4),
        Rules::new().layer(LayerRule::of("/Flatten").activations(rules::Activation::Float32)),
    ] {
        let unsupported = has(&rules).unwrap();
        assert_eq!(
            (unsupported.fault(), unsupported.code()),
            (Fault::Rules, "T002"),
            "{rules:?}"
        );
    }
    assert_eq!(has(&Rules::new().activations(rules::Integer::Int16)), None);

    let none = strait::compile(&model, &target, &Samples::new([]), &Rules::new())
        .err()
        .unwrap();
    assert_eq!((none.fault(), none.code()), (Fault::Samples, "D006"));
    let unfit = Samples::new([vec![Tensor::new(&[1, 2], &[0.0f32; 2]).unwrap()]]);
    assert!(strait::compile(&model, &target, &unfit, &Rules::new()).is_err());

    let built = strait::compile(&model, &target, &Samples::new(noise(2)), &Rules::new()).unwrap();
    let mut session = built.session().unwrap();
    let image = &noise(1)[0][0];
    for inputs in [&[][..], &[("picture", image.view())], &[("image", image.view()); 2]] {
        let error = session.run(inputs).unwrap_err();
        assert_eq!(error.fault(), Fault::Call, "{error}");
    }
    let small = Tensor::new(&[1, 1, 4, 4], &[0.0f32; 16]).unwrap();
    assert_eq!(
        session.run(&[("image", small.view())]).unwrap_err().fault(),
        Fault::Call
    );

    let folder = tempfile::tempdir().unwrap();
    built.write(folder.path().join("x")).unwrap();
    let opened = Artifact::open(folder.path().join("x")).unwrap();
    for error in [
        opened.revise(&Rules::new()).err(),
        opened.write(folder.path().join("y")).err(),
    ] {
        assert!(error.unwrap().message().contains("was opened"));
    }
    assert_eq!(Artifact::open(folder.path()).err().unwrap().fault(), Fault::Artifact);
}

#[test]
fn an_artifact_is_verified_whether_it_was_compiled_or_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (place, means) = (folder.path().join("x"), SessionOptions::default());
    let target = Target::named("generic-int8").unwrap();
    let built = strait::compile(&digits(), &target, &Samples::new(noise(3)), &Rules::new()).unwrap();
    built.write(&place).unwrap();
    let opened = Artifact::open(&place).unwrap();
    let samples = Samples::new(noise(2));
    let [in_memory, in_folder] = [&built, &opened].map(|artifact| artifact.verify(&samples, &means).unwrap());
    assert!(
        in_memory.is_sound() && in_folder.is_sound(),
        "{in_memory:?} and {in_folder:?}"
    );
    assert_eq!(
        (&in_memory.fusions, &in_memory.runs),
        (&in_folder.fusions, &in_folder.runs)
    );
    assert!(in_memory.runs.given == 2 && in_memory.runs.layers > 0 && !in_memory.fusions.is_empty());
    assert_eq!(in_memory.target, in_folder.target);

    // Samples that do not fit are the caller's fault. A finding about the artifact is part of the result.
    let unfit = Samples::new([vec![Tensor::new(&[1, 2], &[0.0f32; 2]).unwrap()]]);
    assert_eq!(built.verify(&unfit, &means).unwrap_err().fault(), Fault::Call);
    let report = place.join("report.json");
    let text = fs::read_to_string(&report).unwrap();
    fs::write(&report, text.replacen("conv", "cony", 1)).unwrap();
    let found = opened.verify(&samples, &means).unwrap();
    let about: Vec<&str> = found.findings.iter().map(|finding| &*finding.name).collect();
    assert_eq!(about, ["report.json"]);
    // A different artifact in the same folder is noticed.
    let rules = Rules::new().layer(LayerRule::of("/classifier/**").float("it is looked at"));
    built.revise(&rules).unwrap().write(&place).unwrap();
    let found = opened.verify(&samples, &means).unwrap();
    assert!(found.findings[0].message.contains("another artifact"), "{found:?}");
}

#[test]
fn later_rules_win_key_by_key_and_float_wins_over_a_type() {
    let (model, target) = (digits(), Target::named("generic-int8").unwrap());
    let observed = model
        .observe(&Samples::new(noise(3)), &SessionOptions::default())
        .unwrap();
    let wide = || LayerRule::of("**").activations(rules::Integer::Int16);
    let model_of = |rules: Rules| {
        let built = observed.compile(&target, &rules).unwrap();
        let folder = tempfile::tempdir().unwrap();
        built.write(folder.path().join("x")).unwrap();
        fs::read(folder.path().join("x/quantization.json")).unwrap()
    };
    let all = model_of(Rules::new().layer(wide()));
    // A rule that requires a layer to run in integers does not change the layer's type.
    let integer = LayerRule::of("/classifier/**").integer();
    assert!(all == model_of(Rules::new().layer(wide()).layer(integer)));
    let float = || LayerRule::of("/classifier/**").float("it is looked at");
    let [first, last] = [
        Rules::new().layer(float()).layer(wide()),
        Rules::new().layer(wide()).layer(float()),
    ]
    .map(model_of);
    assert!(first == last && first != all);
}

#[test]
fn samples_have_one_digest_however_they_are_kept() {
    let (model, target) = (digits(), Target::named("generic-int8").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let digest = |samples: &Samples, name: &str| {
        let built = strait::compile(&model, &target, samples, &Rules::new()).unwrap();
        built.write(folder.path().join(name)).unwrap()
    };
    let kept = digest(&Samples::new(noise(3)), "kept");
    assert_eq!(kept, digest(&Samples::spool(noise(3)).unwrap(), "spooled"));
    let mut others = noise(3);
    others.rotate_left(1);
    assert_ne!(kept, digest(&Samples::new(others), "others"));
}

/// Integer inputs such as indices have no range in the graph. Verification draws them from the range that the samples
/// have.
#[test]
fn inputs_of_integers_are_verified_on_integers_that_samples_have() {
    let text = "strait 1 float
graph @main(%ids: i64[1,4]) {
  %x: f32[1,4,2] = gather(@table, %ids) {axis=0}
  %y: f32[1,4,2] = relu(%x)
  return %y
}
data @table: f32[3,2] = inline [1.0, -1.0, 0.5, 2.0, -0.25, 0.75]";
    let encoded = strait_core::bytes::encode(&strait_core::text::parse(text).unwrap()).unwrap();
    let tensors = encoded.tensors.clone();
    let model = Model::from_ir(&encoded.ir, &|index| {
        tensors.get(index).map(|tensor| tensor.bytes().clone())
    })
    .unwrap();
    let ids = |ids: [i64; 4]| vec![Tensor::new(&[1, 4], &ids).unwrap()];
    let samples = Samples::new([ids([0, 1, 2, 2]), ids([1, 1, 0, 0])]);
    let built = strait::compile(&model, &Target::named("generic-int8").unwrap(), &samples, &Rules::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    built.write(folder.path().join("x")).unwrap();
    let deployment = fs::read_to_string(folder.path().join("x/deployment.json")).unwrap();
    let plain: String = deployment.split_whitespace().collect();
    assert!(plain.contains("\"range\":[0,2]"), "{deployment}");
}

#[test]
fn values_that_are_nan_on_the_samples_are_told() {
    let observe = |samples: Vec<Vec<Tensor>>| digits().observe(&Samples::new(samples), &SessionOptions::default());
    assert_eq!(observe(noise(2)).unwrap().notes(), [""; 0]);
    let mut pixels = [0.5f32; 64];
    pixels[3] = f32::NAN;
    let bad = vec![Tensor::new(&[1, 1, 8, 8], &pixels).unwrap()];
    let notes = observe([noise(2), vec![bad]].concat()).unwrap().notes();
    assert!(
        notes.iter().any(|note| note.starts_with("`image` has 1 NaN")),
        "{notes:?}"
    );
}

/// A model that was given as bytes may not make the program read files.
#[test]
fn a_model_in_memory_opens_no_file() {
    let folder = tempfile::tempdir().unwrap();
    // An ONNX graph, field by field. It has one constant, whose bytes are in the file `data`, and its result is the
    // output.
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat();
    let entry = [field(1, b"location"), field(2, b"data")].concat();
    let tensor = [&[8, 4, 16, 1][..], &field(8, b"w"), &field(13, &entry), &[112, 1]].concat();
    let kind = field(1, &[&[8, 1][..], &field(2, &field(1, &[8, 4]))].concat());
    let output = [field(1, b"y"), field(2, &kind)].concat();
    let node = [field(1, b"w"), field(2, b"y"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(2, b"g"), field(5, &tensor), field(12, &output)].concat();
    let model = [&[8, 8][..], &field(7, &graph), &field(8, &[16, 17])].concat();
    fs::write(folder.path().join("data"), [0u8; 16]).unwrap();
    fs::write(folder.path().join("model.onnx"), &model).unwrap();
    assert!(Model::open(folder.path().join("model.onnx")).is_ok());
    let refused = Model::from_bytes(model).unwrap_err();
    assert!(refused.message().contains("the model is in memory"), "{refused}");
}

/// A model file is memory-mapped. If it changed during use, the changed bytes would be compiled under the old digest.
#[test]
fn a_model_whose_file_was_written_to_is_neither_observed_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.onnx"), folder.path().join("out"));
    fs::copy(Path::new(REPOSITORY).join("models/digits/digits.onnx"), &path).unwrap();
    let model = Model::open(&path).unwrap();
    let samples = Samples::new([vec![Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64]).unwrap()]]);
    let observed = model.observe(&samples, &SessionOptions::default()).unwrap();
    let built = observed
        .compile(&Target::named("generic-int8").unwrap(), &Rules::new())
        .unwrap();

    // Change the last byte. It belongs to a field that no tensor needs, so everything else still works.
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::End(-1)).unwrap();
    file.write_all(&[0x7f]).unwrap();
    let errors = [
        built.write(&out).unwrap_err(),
        model.observe(&samples, &SessionOptions::default()).unwrap_err(),
    ];
    for error in errors {
        let said = format!("{} was changed while it was in use", path.display());
        assert_eq!((error.fault(), error.message()), (Fault::System, &*said));
    }
    assert!(!out.exists());
}

/// The public names of the crate, listed by file. A change to this list is a change to what the crate promises.
fn public() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<_> = fs::read_dir(source)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut found = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
        let is_root = file.ends_with("lib.rs");
        let mut of = String::new();
        let lines = text.split_once("#[cfg(test)]").map_or(&*text, |(code, _)| code).lines();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        for line in lines {
            let code = line.trim_start();
            if let Some(rest) = code.strip_prefix("impl").filter(|_| code.ends_with('{')) {
                of = rest.trim_end_matches('{').trim().to_owned();
            }
            if line == "}" {
                of.clear();
            }
            let Some(item) = code
                .strip_prefix("pub ")
                .filter(|item| is_root || !item.starts_with("use "))
            else {
                continue;
            };
            let item = item.split(['(', '{', '=', ';']).next().unwrap().trim();
            let item = if code.starts_with("pub use ") { code } else { item };
            found += &format!("{stem}: {}{}{item}\n", of, if of.is_empty() { "" } else { " :: " });
        }
    }
    found
}

#[test]
fn the_public_names_are_those_that_are_promised() {
    strait_testkit::is_current("crates/strait/tests/public.txt", &public());
}
