//! Tests of `strait calibrate`: calibrating in shards, merging the shards, and inputs that are refused.

use std::{fs, process::Output};

use super::{Bench, repository, strait, text};

/// A rule with an observer that needs additional statistics.
const ISOTONE: &str = "quantize.rule=[{ tensors=['logits'], observer='isotone' }]";

impl Bench {
    /// Runs `strait calibrate` on 11 samples, with further arguments.
    fn calibrate(&self, more: &[&str]) -> Output {
        let cache = format!("calibration.cache='{}'", self.path("cache"));
        let mut command = strait();
        command.arg("calibrate").arg(repository("configs/generic-int8.toml"));
        command.args(["--set", "calibration.samples=11", "--set", &cache]);
        command.args(more).output().unwrap()
    }

    /// Calibrates all shards, one after the other, and returns their files. `parts` is the number of shards.
    fn shards(&self, parts: usize, more: &[&str]) -> Vec<String> {
        let one = |part: usize| {
            let (share, out) = (format!("{part}/{parts}"), self.path(&format!("{part}-of-{parts}")));
            let done = self.calibrate(&[&["--shard", &share, "--out", &out], more].concat());
            assert!(done.status.success(), "{}", text(&done.stderr));
            out
        };
        (1..=parts).map(one).collect()
    }

    fn merge(&self, files: &[String], out: &str) -> Output {
        let mut command = strait();
        command.args(["calibrate", "merge", "--out", out]).args(files);
        command.output().unwrap()
    }
}

#[test]
fn any_split_gives_the_file_of_one_run_and_compile_finds_it() {
    let bench = Bench::new();
    let whole = bench.calibrate(&["--set", ISOTONE, "--out", &bench.path("whole")]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let whole = fs::read(bench.path("whole")).unwrap();
    for (parts, order) in [
        (1, vec![0]),
        (2, vec![1, 0]),
        (4, vec![2, 0, 3, 1]),
        (11, (0..11).rev().collect()),
    ] {
        let shards = bench.shards(parts, &["--set", ISOTONE, "--threads", "1"]);
        let files: Vec<String> = order.iter().map(|&index: &usize| shards[index].clone()).collect();
        let merged = bench.merge(&files, &bench.path("merged"));
        assert!(merged.status.success(), "{}", text(&merged.stderr));
        assert!(
            text(&merged.stdout).contains("samples: 11 of 11"),
            "{}",
            text(&merged.stdout)
        );
        assert!(fs::read(bench.path("merged")).unwrap() == whole, "{parts} parts");
        // Merging into the cache folder stores the file under the name that `compile` looks for.
        fs::create_dir_all(bench.path("cache")).unwrap();
        assert!(bench.merge(&files, &bench.path("cache")).status.success());
    }
    let compiled = bench.compile(&["--set", ISOTONE, "--set", "calibration.samples=11"]);
    let said = text(&compiled.stderr);
    assert!(
        compiled.status.success() && said.contains("of 11 samples are reused from"),
        "{said}"
    );
    assert!(!said.contains("observed now"), "{said}");
}

#[test]
fn of_statistics_that_are_there_only_the_missing_ones_are_observed() {
    let bench = Bench::new();
    assert!(bench.calibrate(&[]).status.success());
    let again = bench.calibrate(&[]);
    assert!(
        text(&again.stderr).contains("of 11 samples are reused"),
        "{}",
        text(&again.stderr)
    );
    let more = bench.calibrate(&["--set", ISOTONE, "--json"]);
    let said = text(&more.stderr);
    assert!(
        said.contains("are reused") && said.contains("not in it, and observed now: 1 of "),
        "{said}"
    );
    let json: serde_json::Value = serde_json::from_slice(&more.stdout).unwrap();
    let file = json["statistics"]["file"].as_str().unwrap();
    assert_eq!(
        (&json["statistics"]["samples"], &json["statistics"]["of"]),
        (&11.into(), &11.into())
    );
    assert!(
        json["phases"]
            .as_array()
            .unwrap()
            .iter()
            .any(|phase| phase["name"] == "observe")
    );
    let other = Bench::new();
    assert!(
        other
            .calibrate(&["--set", ISOTONE, "--out", &other.path("whole")])
            .status
            .success()
    );
    assert!(fs::read(file).unwrap() == fs::read(other.path("whole")).unwrap());
}

#[test]
fn shards_that_do_not_belong_together_are_refused_by_name() {
    let bench = Bench::new();
    let shards = bench.shards(4, &[]);
    let [one, two, _, four] = &shards[..] else {
        panic!("{shards:?}")
    };
    let more = |name: &str, arguments: &[&str]| {
        let out = bench.path(name);
        let done = bench.calibrate(&[&["--shard", "2/4", "--out", &out], arguments].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        out
    };
    let model = more("model", &["--set", "model.outputs=['/pool/MaxPool']"]);
    let data = more(
        "data",
        &[
            "--set",
            "input.image.preprocess={ steps = [{ scale = 0.5 }, { layout = 'NCHW' }], stored = { layout = 'NHWC' } }",
        ],
    );
    let kinds = more("kinds", &["--set", ISOTONE]);
    let half = bench.path("half");
    assert!(bench.calibrate(&["--shard", "1/2", "--out", &half]).status.success());
    let mut damaged = fs::read(two).unwrap();
    damaged[200] ^= 1;
    let damaged = bench.file("damaged", &damaged);
    let absent = bench.path("absent");
    let cases: &[(&[&String], &[&str])] = &[
        (
            &[one, &model],
            &["error[D012]", "4 and ", "model are of different models"],
        ),
        (&[one, &data], &["data are of different data", "preprocessing"]),
        (
            &[one, &kinds],
            &["differ: only one of them has the statistics `leaders.1` of \"logits\""],
        ),
        (&[one, one], &["both have the samples 0 to 1 of 11"]),
        (
            &[four, two, &half],
            &["2-of-4 and", "half both have the samples 2 to 4 of 11"],
        ),
        (
            &[one, four],
            &[
                "the samples 2 to 7 of 11 are in no file",
                "1-of-4 has 0 to 1",
                "4-of-4 has 8 to 10",
            ],
        ),
        (&[one, &damaged], &["damaged: the file of statistics is damaged"]),
        (&[one, &absent], &["absent cannot be read"]),
    ];
    for (files, parts) in cases {
        let files: Vec<String> = files.iter().map(|&file| file.clone()).collect();
        let refused = bench.merge(&files, &bench.path("merged"));
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{stderr}");
        for part in *parts {
            assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
        }
    }
    assert!(!fs::exists(bench.path("merged")).unwrap());
    // A merge never overwrites one of its shards or a file inside an artifact.
    let before = fs::read(one).unwrap();
    let refused = bench.merge(&shards, one);
    assert!(text(&refused.stderr).contains("1-of-4 is a shard, and is not overwritten"));
    assert!(fs::read(one).unwrap() == before);
    assert!(bench.compile(&[]).status.success());
    let inside = bench.path("out/statistics");
    for refused in [bench.merge(&shards, &inside), bench.calibrate(&["--out", &inside])] {
        assert!(
            text(&refused.stderr).contains("not kept in the artifact"),
            "{}",
            text(&refused.stderr)
        );
    }
}

#[test]
fn a_share_that_is_not_there_and_an_observer_of_other_values_are_told() {
    let bench = Bench::new();
    let observers = "those that do are minmax, moving_average, percentile, kl, mse, ifmr, hfmg";
    let cases: &[(i32, &[&str], &[&str])] = &[
        (
            1,
            &["--shard", "1/12"],
            &["11 samples cannot be split into 12 shares", "11 shares at most"],
        ),
        (
            2,
            &["--shard", "5/4"],
            &["there is no share 5 of 4; they are counted from 1/4 to 4/4"],
        ),
        (
            1,
            &["--set", "calibration.observer='isotone'"],
            &["error[T002]", observers, "`tensors` of a rule"],
        ),
        (
            1,
            &[
                "--set",
                "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='isotone' }]",
            ],
            &[
                "`isotone` makes no ranges of integers for activations",
                observers,
                "layers compute with",
            ],
        ),
        (
            1,
            &[
                "--set",
                "quantize.rule=[{ tensors=['logits'], observer='isotone', observer_options={ axis=2 } }]",
            ],
            &["\"logits\" has no axis 2", "2 axes"],
        ),
    ];
    for (code, arguments, parts) in cases {
        let refused = bench.calibrate(arguments);
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(*code), "{stderr}");
        for part in *parts {
            assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
        }
    }
}

#[test]
fn an_observer_of_other_codes_or_operands_is_refused_with_those_that_there_are() {
    let shifts = "quantize.weights.observer='mse'";
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--set", "calibration.observer='arq'"],
            &[
                "`arq`",
                "integers for activations",
                "minmax, moving_average, percentile, kl, mse, ifmr",
            ],
        ),
        (
            &["--set", "quantize.weights.observer='kl'"],
            &[
                "`kl` makes no ranges of integers for weights",
                "those that do are minmax, mse, arq",
            ],
        ),
        (
            &["--target", "sima", "--set", shifts],
            &[
                "`sima` makes the scales of weights from those of activations",
                "\"minmax\"",
            ],
        ),
    ];
    for (arguments, parts) in cases {
        let refused = Bench::new().compile(arguments);
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{stderr}");
        for part in *parts {
            assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
        }
    }
    for observer in ["mse", "arq"] {
        let observer = format!("quantize.weights.observer='{observer}'");
        let compiled = Bench::new().compile(&["--set", &observer]);
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    }
}
