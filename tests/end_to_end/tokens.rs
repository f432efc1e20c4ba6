//! Tests models whose inputs and outputs are integers and truth values from end to end: an embedding of tokens,
//! attention with a mask, and an image of bytes.

use super::*;
use strait_core::text;
use strait_driver::{eval, verification};
use strait_execute::{Plan, PlanOptions, Tensor, Threads, Workspace};
use strait_samples::{NumberType, encode};
use strait_tests::numeric::signal_to_noise;

pub(super) const SAMPLES: usize = 12;
const TOKENS: usize = 8;

/// One layer of an encoder over 8 tokens, of a vocabulary of 50. The outputs are their scores, the class of their sum,
/// the mask as it came, and how much was masked.
const ENCODER: &str = "
    strait 1 float
    graph @main(%ids: i64[1,8], %mask: i64[1,8]) {
      %e: f32[1,8,16] = gather(@table, %ids) {axis=0}
      %n: f32[1,8,16] = layer_normalization(%e, @gain, @shift) {axis=-1, epsilon=0.00001}
      %float: f32[1,8] = cast(%mask) {to=f32}
      %absent: f32[1,8] = sub(@one, %float)
      %large: f32[1,8] = mul(%absent, @least) {a_zero=0, b_zero=0}
      %row: f32[1,1,8] = unsqueeze(%large) {axes=[1]}
      %q: f32[1,8,16] = matmul(%n, @wq) {a_zero=0, b_zero=0}
      %k: f32[1,8,16] = matmul(%n, @wk) {a_zero=0, b_zero=0}
      %v: f32[1,8,16] = matmul(%n, @wv) {a_zero=0, b_zero=0}
      %t: f32[1,16,8] = transpose(%k) {permutation=[0,2,1]}
      %s: f32[1,8,8] = matmul(%q, %t) {a_zero=0, b_zero=0}
      %m: f32[1,8,8] = add(%s, %row)
      %p: f32[1,8,8] = softmax(%m) {axis=-1}
      %o: f32[1,8,16] = matmul(%p, %v) {a_zero=0, b_zero=0}
      %y: f32[1,8,4] = matmul(%o, @wo) {a_zero=0, b_zero=0}
      %hidden: bool[1,8] = cast(%absent) {to=bool}
      %later: i64[1,8] = add(%ids, @step)
      return %y, %hidden, %mask, %later
    }
    data @table: f32[50,16] = random 1
    data @gain: f32[16] = random 2
    data @shift: f32[16] = random 3
    data @wq: f32[16,16] = random 4
    data @wk: f32[16,16] = random 5
    data @wv: f32[16,16] = random 6
    data @wo: f32[16,4] = random 7
    data @step: i64[] = inline [9223372036854775800]
    data @one: f32[] = inline [1.0]
    data @least: f32[] = inline [-3.4e38]";

/// A convolution over an image of bytes, and whether its pixels are dark.
const IMAGE: &str = "
    strait 1 float
    graph @main(%image: u8[1,3,6,6]) {
      %x: f32[1,3,6,6] = cast(%image) {to=f32}
      %c: f32[1,4,6,6] = conv(%x, @w) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
      %r: f32[1,4,6,6] = relu(%c)
      %lit: bool[1,3,6,6] = cast(%x) {to=bool}
      return %lit, %r
    }
    data @w: f32[4,3,3,3] = random 8";

/// Tokens and a mask. In the first sample nothing is masked, and in no sample everything.
fn tokens() -> (Vec<i64>, Vec<i64>) {
    let ids = (0..SAMPLES * TOKENS).map(|at| (at * 29 % 50) as i64).collect();
    let hidden = |at: usize| at % TOKENS >= TOKENS - at / TOKENS % TOKENS;
    (ids, (0..SAMPLES * TOKENS).map(|at| i64::from(!hidden(at))).collect())
}

pub(super) fn save<T: bytemuck::NoUninit>(path: &Path, number_type: NumberType, shape: &[usize], numbers: &[T]) {
    fs::write(path, encode(number_type, shape, bytemuck::cast_slice(numbers))).unwrap();
}

/// The model in a folder, with its samples in the files `samples/NAME.npy`.
pub(super) struct Given {
    folder: tempfile::TempDir,
}

impl Given {
    pub(super) fn new(model: &str) -> Given {
        let given = Given {
            folder: tempfile::tempdir().unwrap(),
        };
        let mut bytes = Vec::new();
        strait_onnx::write(&text::parse(model).unwrap(), &mut bytes).unwrap();
        fs::write(given.at("model.onnx"), bytes).unwrap();
        fs::create_dir(given.at("samples")).unwrap();
        given
    }

    fn encoder() -> Given {
        let given = Given::new(ENCODER);
        let (ids, mask) = tokens();
        save(&given.at("samples/ids.npy"), NumberType::I64, &[SAMPLES, TOKENS], &ids);
        save(
            &given.at("samples/mask.npy"),
            NumberType::I64,
            &[SAMPLES, TOKENS],
            &mask,
        );
        given
    }

    fn image() -> Given {
        let given = Given::new(IMAGE);
        let pixels: Vec<u8> = (0..SAMPLES * 108).map(|at| (at * 37 % 256) as u8).collect();
        save(
            &given.at("samples/image.npy"),
            NumberType::U8,
            &[SAMPLES, 6, 6, 3],
            &pixels,
        );
        given
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn compile(&self, target: &str, more: &str) -> Result<Opened, Stop> {
        let text = format!(
            "schema = 1\n[model]\nfile = 'model.onnx'\n[target]\nuse = ['{target}']\n[calibration]\ndata = 'samples'\n\
             [evaluation]\ndata = 'samples'\n[output]\ndir = 'artifact-{target}'\n{more}"
        );
        let loaded = config::parse("test.toml", text, self.folder.path(), &[])?;
        let registry = targets::registry([]).unwrap();
        let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session())?;
        Ok(Opened::open(&compiled[0].folder, &registry)?)
    }

    pub(super) fn verified(&self, opened: &Opened) -> verification::Verification {
        let request = verification::VerificationRequest {
            data: vec![self.at("samples").to_string_lossy().into_owned()],
            samples: 3,
            ..verification::VerificationRequest::default()
        };
        let registry = targets::registry([]).unwrap();
        verification::verify(opened.artifact.folder(), &registry, &request, &session()).unwrap()
    }

    /// The files that a run on these files writes, by the name of the output.
    pub(super) fn run(&self, opened: &Opened, files: &[(&str, &str)]) -> Result<Vec<Array>, Stop> {
        let files = files.iter().map(|&(name, file)| (name.to_owned(), self.at(file)));
        let out = tempfile::tempdir().unwrap();
        let written = run::run(opened, &files.collect(), out.path(), false, &session())?;
        Ok(written.iter().map(|file| Array::open(file).unwrap()).collect())
    }
}

fn session() -> Session<'static> {
    Session::new(NonZeroUsize::new(2).unwrap(), Context::detect(), &Silent)
}

const IDS_AND_MASK: [(&str, &str); 2] = [("ids", "samples/ids.npy"), ("mask", "samples/mask.npy")];

/// The float model's scores.
fn float_scores() -> Vec<f32> {
    let module = text::parse(ENCODER).unwrap();
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    let mut space = Workspace::new(&plan, &Threads::one());
    let (ids, mask) = tokens();
    let mut scores = Vec::new();
    for (ids, mask) in ids.chunks(TOKENS).zip(mask.chunks(TOKENS)) {
        let inputs = [ids, mask].map(|numbers| Tensor::from_values(&[1, TOKENS], numbers).unwrap());
        let found = plan.run(&mut space, &[inputs[0].view(), inputs[1].view()]).unwrap();
        scores.extend_from_slice(found[0].values::<f32>().unwrap());
    }
    scores
}

#[test]
fn a_token_model_goes_the_whole_way_for_every_target() {
    let (given, float) = (Given::encoder(), float_scores());
    let (_, mask) = tokens();
    for target in TARGETS {
        let opened = given
            .compile(target, "")
            .unwrap_or_else(|stop| panic!("{target}: {stop}"));
        let ranges: Vec<_> = opened.deployment.inputs.iter().map(|input| input.range).collect();
        assert_eq!(ranges, [Some([0, 49]), Some([0, 1])], "{target}");
        let verified = given.verified(&opened);
        assert!(verified.findings.is_empty(), "{target}: {:?}", verified.findings);
        assert_eq!((verified.runs.random, verified.runs.given), (3, SAMPLES), "{target}");

        let outputs = given.run(&opened, &IDS_AND_MASK).unwrap();
        let scores: Vec<f32> = outputs[0].view().unwrap().iter().copied().collect();
        let ratio = signal_to_noise(&float, &scores);
        assert!(ratio > 25.0, "{target}: {ratio:.1} dB");
        // Outputs that are not float keep their values and types.
        assert_eq!(
            (outputs[1].number_type(), outputs[1].shape()),
            (NumberType::Bool, &[SAMPLES, TOKENS][..])
        );
        let hidden: Vec<u8> = mask.iter().map(|&seen| u8::from(seen == 0)).collect();
        assert_eq!(outputs[1].bytes().as_ref(), hidden, "{target}");
        assert_eq!(outputs[2].number_type(), NumberType::I64);
        // Integers of the model wrap.
        let later: Vec<i64> = tokens().0.iter().map(|id| id.wrapping_add(i64::MAX - 7)).collect();
        assert_eq!(
            outputs[3].view::<i64>().unwrap().iter().copied().collect::<Vec<_>>(),
            later,
            "{target}"
        );
        assert_eq!(
            outputs[2].view::<i64>().unwrap().iter().copied().collect::<Vec<_>>(),
            mask,
            "{target}"
        );
    }
}

#[test]
fn a_mask_of_the_least_float_widens_no_grid() {
    let opened = Given::encoder().compile("generic-int8", "").unwrap();
    let graph = opened.module().main();
    let grids = graph.values().filter_map(|(_, value)| value.quant.as_deref());
    let largest = grids
        .filter_map(|grid| grid.scale.get(0).copied())
        .fold(0.0f32, f32::max);
    assert!(largest > 0.0 && largest < 1.0, "a grid with steps of {largest}");
}

#[test]
fn samples_of_another_type_are_refused_by_name_and_narrower_ones_are_the_same_numbers() {
    let given = Given::encoder();
    let opened = given.compile("generic-int8", "").unwrap();
    let (ids, mask) = tokens();
    let narrow: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    save(&given.at("int32.npy"), NumberType::I32, &[SAMPLES, TOKENS], &narrow);
    let seen: Vec<u8> = mask.iter().map(|&seen| seen as u8).collect();
    save(&given.at("bool.npy"), NumberType::Bool, &[SAMPLES, TOKENS], &seen);
    let floats: Vec<f32> = ids.iter().map(|&id| id as f32).collect();
    save(&given.at("float32.npy"), NumberType::F32, &[SAMPLES, TOKENS], &floats);
    let wide = given.run(&opened, &IDS_AND_MASK).unwrap();
    let same = given
        .run(&opened, &[("ids", "int32.npy"), ("mask", "bool.npy")])
        .unwrap();
    assert_eq!(wide[0].bytes(), same[0].bytes());
    let refused = given.run(&opened, &[("ids", "float32.npy"), ("mask", "samples/mask.npy")]);
    let refused = message(refused.unwrap_err());
    for part in ["[D003]", "\"ids\" takes int64", "holds float32", "astype(\"int64\")"] {
        assert!(refused.contains(part), "{refused}");
    }
    // If a token is not in the table, the data is at fault, both in a run and in calibration.
    save(
        &given.at("samples/ids.npy"),
        NumberType::I64,
        &[SAMPLES, TOKENS],
        &[50i64; SAMPLES * TOKENS],
    );
    for stop in [
        given.run(&opened, &IDS_AND_MASK).err(),
        given.compile("generic-int8", "").err(),
    ] {
        let told = message(stop.unwrap());
        assert!(
            told.contains("(gather): index 50 is outside an axis of 50 positions"),
            "{told}"
        );
    }
}

#[test]
fn steps_that_compute_are_refused_for_bytes_and_those_that_move_them_are_done() {
    let given = Given::image();
    let layout = "[preprocess]\nstored = { layout = 'NHWC' }\nsteps = [{ layout = 'NCHW' }]\n";
    for target in TARGETS {
        let opened = given
            .compile(target, layout)
            .unwrap_or_else(|stop| panic!("{target}: {stop}"));
        assert_eq!(given.verified(&opened).findings.len(), 0, "{target}");
        let outputs = given.run(&opened, &[("image", "samples/image.npy")]).unwrap();
        let stored = |at: usize| {
            // Index of the element in the file, [y, x, c], for the model's [c, y, x].
            let (sample, at) = (at / 108, at % 108);
            sample * 108 + at % 36 * 3 + at / 36
        };
        let lit: Vec<u8> = (0..SAMPLES * 108)
            .map(|at| u8::from(stored(at) * 37 % 256 != 0))
            .collect();
        assert_eq!(outputs[0].bytes().as_ref(), lit, "{target}");
    }
    let scaled = layout.replace("steps = [", "steps = [{ scale = 0.5 }, ");
    let told = message(given.compile("generic-int8", &scaled).err().unwrap());
    for part in [
        "[C011]",
        "\"image\" takes uint8",
        "computes with floats",
        "[input.\"image\".preprocess]",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let own = format!(
        "{scaled}[input.image.preprocess]\n{}",
        layout.replace("[preprocess]\n", "")
    );
    given
        .compile("generic-int8", &own)
        .unwrap_or_else(|stop| panic!("{stop}"));
}

#[test]
fn outputs_of_truth_values_agree_one_by_one() {
    let given = Given::image();
    let layout = "[preprocess]\nstored = { layout = 'NHWC' }\nsteps = [{ layout = 'NCHW' }]\n";
    let opened = given.compile("generic-int8", layout).unwrap();
    let (model, data) = (given.at("model.onnx"), given.at("samples"));
    let float = eval::FloatSide {
        file: &model,
        any: false,
    };
    let accuracy = eval::eval(
        &opened,
        eval::EvaluationRequest::of(&data, None, &[]),
        Some(float),
        None,
        &session(),
    )
    .unwrap();
    let agreement = accuracy.accuracy.of("agreement").unwrap();
    let count = agreement.integer.unwrap().count;
    let answers = Some(108 * SAMPLES as u64);
    assert_eq!(
        (count, agreement.answers, agreement.samples),
        (answers, answers, SAMPLES as u64)
    );
    save(&given.at("labels.npy"), NumberType::U8, &[SAMPLES], &[0u8; SAMPLES]);
    let labelled = eval::eval(
        &opened,
        eval::EvaluationRequest::of(&data, Some(&given.at("labels.npy")), &[]),
        Some(float),
        None,
        &session(),
    );
    let told = message(labelled.err().unwrap());
    let shape = format!("has the shape [{SAMPLES}], and labels of the output");
    assert!(
        told.contains(&shape) && told.contains("each integer of the output"),
        "{told}"
    );
}
