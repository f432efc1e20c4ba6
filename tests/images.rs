//! Tests images as samples, from files to an artifact: folders, labels, files that cannot be decoded, random numbers,
//! and what the network sees. The model outputs how red, green and blue an image is, so every answer is known.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    collections::BTreeMap,
    fs,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

use strait_builtin as _;
use strait_container::Artifact;
use strait_core::text;
use strait_driver::{
    config,
    pipeline::{self, Compiled, Seen, SeenSamples},
    session::{Session, Silent},
    shown::{Details, Shown},
    stop::Stop,
    targets,
};
use strait_images::{Pixels, decode, encode_png};
use strait_kernels::Context;
use strait_samples::{Array, NumberType, encode};

/// A model that computes the mean of each channel over eight by eight pixels.
const MODEL: &str = "
    strait 1 float
    graph @main(%image: f32[1,3,8,8]) {
      %scores: f32[1,3,1,1] = conv(%image, @mean) {stride=[8,8], pad=[0,0,0,0], dilation=[1,1], groups=3, pad_value=0}
      return %scores
    }
    data @mean: f32[3,1,8,8] = splat 0.015625";

/// A model that adds two images.
const TWO: &str = "
    strait 1 float
    graph @main(%left: f32[1,1,8,8], %right: f32[1,8,8]) {
      %a: f32[1,1,1,1] = conv(%left, @mean) {stride=[8,8], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %b: f32[1,8,1] = conv(%right, @line) {stride=[8], pad=[0,0], dilation=[1], groups=8, pad_value=0}
      return %a, %b
    }
    data @mean: f32[1,1,8,8] = splat 0.015625
    data @line: f32[8,1,8] = splat 0.125";

const STEPS: &str =
    "[{ decode = {} }, { resize = { size = [8, 8] } }, { color = 'BGR' }, { scale = 0.00390625 }, { layout = 'NCHW' }]";

struct Bench {
    folder: tempfile::TempDir,
}

/// An image of nearly one color, with small differences.
fn image(color: [u8; 3], width: usize, height: usize) -> Pixels {
    let pixel = |at: usize| color.map(|level| level.saturating_add((at * 7 % 31) as u8));
    Pixels {
        width,
        height,
        channels: 3,
        levels: (0..width * height).flat_map(pixel).collect(),
    }
}

impl Bench {
    fn of(model: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench { folder };
        let mut bytes = Vec::new();
        strait_onnx::write(&text::parse(model).unwrap(), &mut bytes).unwrap();
        fs::write(bench.at("model.onnx"), bytes).unwrap();
        bench
    }

    /// Two images for each of three classes, in one folder for each class. In the order of their names the classes are
    /// blue, green and red.
    fn new() -> Bench {
        let bench = Bench::of(MODEL);
        for (name, color) in [("blue", [0, 0, 200]), ("green", [0, 200, 0]), ("red", [200, 0, 0])] {
            bench.save(&format!("images/{name}/1.png"), &image(color, 19, 12));
            bench.save(&format!("images/{name}/2.PNG"), &image(color, 8, 8));
        }
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn save(&self, name: &str, image: &Pixels) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        encode_png(image, fs::File::create(path).unwrap()).unwrap();
    }

    fn loaded(&self, steps: &str, data: &str, more: &str) -> Result<config::Loaded, Stop> {
        let text = format!(
            "schema = 1\n[model]\nfile = 'model.onnx'\n[target]\nuse = ['generic-int8']\n[output]\ndir = 'artifact'\n\
             [preprocess]\nsteps = {steps}\n[calibration]\ncache = 'cache'\ndata = {data}\n{more}"
        );
        Ok(config::parse("test.toml", text, self.folder.path(), &[])?)
    }

    fn compiled_with(&self, steps: &str, data: &str, more: &str) -> Result<Compiled, Stop> {
        let loaded = self.loaded(steps, data, more)?;
        Ok(pipeline::compile(&loaded, targets::registry([]).unwrap(), &session())?.remove(0))
    }

    fn compiled(&self, data: &str, more: &str) -> Result<Compiled, Stop> {
        self.compiled_with(STEPS, data, more)
    }

    fn refused(&self, data: &str, more: &str) -> String {
        match self.compiled(data, more) {
            Ok(_) => panic!("{data} {more}\nis taken"),
            Err(stop) => stop.to_string(),
        }
    }

    fn seen(&self, data: &str, most: u32) -> Seen {
        let loaded = self.loaded(STEPS, data, "").unwrap();
        let wanted = SeenSamples {
            evaluation: false,
            most: NonZeroU32::new(most),
        };
        pipeline::seen(&loaded, wanted, &self.at("seen"), &session()).unwrap()
    }

    /// The digest of the calibration samples.
    fn digest(&self, steps: &str, data: &str) -> String {
        let compiled = self.compiled_with(steps, data, "").unwrap();
        let sources = Artifact::open(&compiled.folder).unwrap().manifest().sources.clone();
        sources.data["calibration"].to_string()
    }
}

fn session() -> Session<'static> {
    Session::new(NonZeroUsize::new(2).unwrap(), Context::detect(), &Silent)
}

#[test]
fn a_folder_for_each_class_is_samples_and_labels() {
    let bench = Bench::new();
    let compiled = bench
        .compiled(
            "'images'",
            "[evaluation]\ndata = 'images/**/?.*'\nlabels = 'folders'\nmetrics = ['top1']",
        )
        .unwrap();
    let accuracy = compiled.report.accuracy.as_ref().unwrap();
    let top1 = accuracy.of("top1").unwrap();
    assert_eq!(
        (accuracy.samples, top1.float.unwrap().count, top1.integer.unwrap().count),
        (6, Some(6), Some(6))
    );
    let read = &compiled.report.data["calibration"];
    assert_eq!((read.samples, &read.arithmetic[..]), (6, &["Pillow 13".to_owned()][..]));
    assert!(read.decoder.contains("png 0.18"), "{}", read.decoder);
    let sources = Artifact::open(&compiled.folder).unwrap().manifest().sources.clone();
    assert_eq!(sources.readers["evaluation"], format!("{}; Pillow 13", read.decoder));
    assert!(
        Details(&compiled.report)
            .to_string()
            .contains("calibration: 6 images, decoded by png 0.18")
    );
}

#[test]
fn labels_by_name_are_found_whatever_the_order() {
    let bench = Bench::new();
    fs::write(
        bench.at("labels.csv"),
        "file,class\nred,2\nblue/2.PNG,0\ngreen 1\n1.png,0\nred/1.png,2\ngreen/1.png,1\n",
    )
    .unwrap();
    let evaluation = "[evaluation]\ndata = 'images'\nlabels = 'labels.csv'\nmetrics = ['top1']";
    let compiled = bench.compiled("'images'", evaluation).unwrap();
    let accuracy = compiled.report.accuracy.unwrap();
    assert_eq!(accuracy.of("top1").unwrap().float.unwrap().count, Some(6));
    for (text, part) in [
        ("red,2\n", "labels.csv has no class for blue/1.png"),
        ("red,2\nblue\n", "line 2 of"),
        ("red,2\nred,1\n", "gives \"red\" a second class"),
    ] {
        fs::write(bench.at("labels.csv"), text).unwrap();
        let found = bench.refused("'images'", evaluation);
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn lists_are_the_same_set_and_other_steps_or_files_are_another_one() {
    let bench = Bench::new();
    let all = [
        "blue/1.png",
        "blue/2.PNG",
        "green/1.png",
        "green/2.PNG",
        "red/1.png",
        "red/2.PNG",
    ];
    fs::write(bench.at("images/list.txt"), all.join("\n")).unwrap();
    let here: Vec<String> = all.iter().map(|name| format!("'images/{name}'")).collect();
    let digest = bench.digest(STEPS, "'images'");
    assert_eq!(bench.digest(STEPS, "'images/list.txt'"), digest);
    assert_eq!(bench.digest(STEPS, &format!("[{}]", here.join(", "))), digest);
    assert_ne!(bench.digest(STEPS, &format!("[{}]", here[1..].join(", "))), digest);
    let opencv = STEPS.replace("size = [8, 8]", "size = [8, 8], like = 'opencv'");
    assert_ne!(bench.digest(&opencv, "'images'"), digest);
    bench.save("images/red/1.png", &image([201, 0, 0], 19, 12));
    assert_ne!(bench.digest(STEPS, "'images'"), digest);
}

#[test]
fn an_image_that_cannot_be_decoded_is_named_and_left_out_where_that_is_said() {
    let bench = Bench::new();
    let whole = fs::read(bench.at("images/green/1.png")).unwrap();
    fs::write(bench.at("images/green/1.png"), &whole[..whole.len() / 2]).unwrap();
    fs::write(bench.at("images/red/0.jpg"), "no image").unwrap();
    let found = bench.refused("'images'", "");
    assert!(
        found.contains("green/1.png cannot be decoded") && found.contains("unreadable = \"skip\""),
        "{found}"
    );
    let skip = "unreadable = 'skip'\n[evaluation]\ndata = 'images'\nunreadable = 'skip'\nmetrics = ['top1']\n";
    let compiled = bench
        .compiled("'images'", &format!("{skip}labels = 'folders'"))
        .unwrap();
    let read = &compiled.report.data["calibration"];
    assert_eq!(
        (read.samples, &read.left_out[..]),
        (5, &["green/1.png".to_owned(), "red/0.jpg".to_owned()][..])
    );
    let accuracy = compiled.report.accuracy.as_ref().unwrap();
    assert_eq!(accuracy.of("top1").unwrap().integer.unwrap().count, Some(5));
    let printed = Shown(&compiled.report).to_string();
    let told = "[calibration] goes without 2 images that cannot be decoded: green/1.png, red/0.jpg";
    assert!(printed.contains(told), "{printed}");
    // Without the images that are left out, labels that go by order would be assigned to other images.
    fs::write(bench.at("y.npy"), encode(NumberType::U8, &[5], &[0, 0, 1, 2, 2])).unwrap();
    let found = bench.refused("'images'", &format!("{skip}labels = 'y.npy'"));
    assert!(found.contains("2 images are left out"), "{found}");
}

#[test]
fn random_samples_are_for_a_first_look_alone() {
    let bench = Bench::new();
    let compiled = bench.compiled("'random:5'", "").unwrap();
    let reason = "not for deployment: its ranges were measured on random numbers";
    assert_eq!(compiled.report.not_for_deployment.as_deref(), Some(reason));
    assert!(Shown(&compiled.report).to_string().contains(reason));
    let sources = Artifact::open(&compiled.folder).unwrap().manifest().sources.clone();
    assert_eq!(sources.not_for_deployment.as_deref(), Some(reason));
    // Whole numbers from 0 to 255 go through the preprocessing.
    let numbers = Array::open(&bench.seen("'random:5'", 5).inputs[0].file).unwrap();
    assert_eq!(numbers.shape(), [5, 3, 8, 8]);
    let numbers = numbers.reals();
    assert!(
        numbers
            .iter()
            .all(|x| (0.0..1.0).contains(x) && (x * 256.0).fract() == 0.0)
    );
    let distinct: std::collections::BTreeSet<u32> = numbers.iter().map(|x| x.to_bits()).collect();
    assert!(distinct.len() > 200, "{}", distinct.len());
    let from_images = bench.compiled("'images'", "").unwrap();
    assert_eq!(from_images.report.not_for_deployment, None);
}

#[test]
fn the_network_is_seen_in_numbers_and_in_true_colors() {
    let bench = Bench::new();
    let seen = bench.seen("'images'", 4);
    let input = &seen.inputs[0];
    assert_eq!((seen.samples, &input.shape[..]), (4, &[3, 8, 8][..]));
    let numbers = Array::open(&input.file).unwrap();
    // The second image already has the right size. Its first channel is blue.
    let stored = image([0, 0, 200], 8, 8);
    let expected: Vec<f32> = (0..192)
        .map(|at| f32::from(stored.levels[at % 64 * 3 + 2 - at / 64]) / 256.0)
        .collect();
    assert_eq!(numbers.reals_of(1), expected);
    let picture = fs::read(input.pictures.as_ref().unwrap().join("000001.png")).unwrap();
    assert_eq!(decode(&picture, false).unwrap().levels, stored.levels);
    let index: serde_json::Value = serde_json::from_slice(&fs::read(bench.at("seen/index.json")).unwrap()).unwrap();
    assert_eq!(index["samples"][3]["image"], "green/2.PNG");
}

#[test]
fn images_of_several_inputs_belong_together_by_their_order() {
    let bench = Bench::of(TWO);
    for (name, level) in [("a", 10), ("b", 100)] {
        bench.save(&format!("pairs/left/{name}.png"), &image([level; 3], 8, 8));
        bench.save(&format!("pairs/right/{name}{name}.png"), &image([level + 50; 3], 8, 8));
    }
    let steps = "[{ decode = {} }, { gray = {} }]";
    let compiled = bench.compiled_with(steps, "'pairs'", "").unwrap();
    assert_eq!(compiled.report.data["calibration"].samples, 2);
    let loaded = bench.loaded(steps, "'pairs'", "").unwrap();
    let wanted = SeenSamples {
        evaluation: false,
        most: None,
    };
    let seen = pipeline::seen(&loaded, wanted, &bench.at("seen"), &session()).unwrap();
    let first: BTreeMap<&str, Vec<f32>> = seen
        .inputs
        .iter()
        .map(|input| {
            (
                input.name.as_str(),
                [0, 1]
                    .map(|at| Array::open(&input.file).unwrap().reals_of(at)[0])
                    .to_vec(),
            )
        })
        .collect();
    assert_eq!(
        first,
        [("left", vec![10.0, 100.0]), ("right", vec![60.0, 150.0])].into()
    );
    bench.save("pairs/left/c.png", &image([1; 3], 8, 8));
    let found = bench.compiled_with(steps, "'pairs'", "").unwrap_err().to_string();
    assert!(found.contains("3 samples for \"left\", but 2 for \"right\""), "{found}");
}

#[test]
fn what_is_said_of_images_and_arrays_has_to_be_true_of_them() {
    let bench = Bench::new();
    let sizes = "[{ decode = {} }, { layout = 'NCHW' }]";
    for (steps, data, part) in [
        ("[]", "'images'", "begin the steps of [preprocess] with { decode = {} }"),
        (
            sizes,
            "['images/red/2.PNG', 'images/red/1.png']",
            "1.png has 19×12 pixels, and",
        ),
        (sizes, "'images'", "do not fit the input"),
        (
            "[{ decode = {} }, { crop = { size = [9, 9] } }, { resize = { size = [8, 8] } }, { layout = 'NCHW' }]",
            "['images/red/2.PNG']",
            "2.PNG cannot be cropped",
        ),
        (STEPS, "'absent/*.png'", "cannot be read"),
        (STEPS, "'images/*.gif'", "no file matches"),
    ] {
        let found = match bench.compiled_with(steps, data, "") {
            Ok(_) => panic!("{steps} {data} is taken"),
            Err(stop) => stop.to_string(),
        };
        assert!(found.contains(part), "{steps} {data}: {found}");
    }
    fs::write(bench.at("x.npy"), encode(NumberType::U8, &[1, 8, 8, 3], &[1; 192])).unwrap();
    let found = bench.refused("'x.npy'", "");
    assert!(
        found.contains("decodes images, and") && found.contains("x.npy is an array"),
        "{found}"
    );
}

/// A rename may exchange the folder with another one. Since images are opened one by one, this would mix both.
#[test]
fn images_that_are_exchanged_while_they_are_observed_are_an_error() {
    let bench = Bench::new();
    bench.save("others/green/1.png", &image([9, 9, 9], 19, 12));
    let exchange = crate::end_to_end::changed::At::new("observe", || {
        fs::rename(bench.at("others/green/1.png"), bench.at("images/green/1.png")).unwrap();
    });
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &exchange);
    let loaded = bench.loaded(STEPS, "'images'", "").unwrap();
    let stop = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap_err();
    let told = stop.to_string();
    assert!(told.contains("green/1.png was changed while it was in use"), "{told}");
    assert!(!bench.at("cache").exists() && !bench.at("artifact").exists());
    // Nobody writes to the images any more.
    bench.compiled("'images'", "").unwrap();
}
