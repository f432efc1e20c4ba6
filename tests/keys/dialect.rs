//! Cases for settings of a vendor's own tool in a configuration.

use super::{Effect, Outcome, compiled, quoted};
use std::fs;
use strait_builtin as _;
use strait_document::Page;
use strait_driver::{
    config::{self, Loaded, Override},
    dialect, targets,
};

fn registry() -> strait_target::Registry {
    targets::registry([]).unwrap()
}

/// Compiles the digits model for `ascend`, with these assignments and, if given, a file in AMCT's format.
fn digits(file: Option<&str>, set: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let mut all: Vec<String> = set.iter().map(|&assignment| assignment.to_owned()).collect();
    if let Some(text) = file {
        let path = folder.path().join("quant.cfg");
        fs::write(&path, text).unwrap();
        all.push(format!("calibration.config={}", quoted(&path)));
    }
    compiled(registry, "ascend", &all)
}

fn bits(outcome: &Outcome) -> &str {
    outcome
        .get(&Effect::Bits)
        .unwrap_or_else(|| panic!("{:?}", outcome.get(&Effect::Error)))
}

#[test]
fn a_file_options_and_rules_that_say_the_same_make_the_same_integers() {
    let file = "activation_offset: false  # symmetric\n\
                skip_layers: '/stem/conv/Conv'\n\
                common_config { hfmg_quantize { num_of_bins: 1024 } arq_quantize { channel_wise: false } }";
    let options = "target.options.ascend={ activation_offset = false, skip_layers = ['/stem/conv/Conv'], \
                   common_config = { hfmg_quantize = { num_of_bins = 1024 }, arq_quantize = { channel_wise = false } } }";
    let rules = "quantize.rule=[{ layers=['**'], activations={ symmetric=true }, weights={ observer='arq', per='tensor' } }, \
                 { tensors=['**'], observer='hfmg', observer_options={ bins=1024 } }, \
                 { layers=['/stem/conv/Conv'], run='float', reason='AMCT: skip_layers[0]' }]";
    let (plain, rules) = (digits(None, &[]), digits(None, &[rules]));
    assert_ne!(bits(&plain), bits(&rules));
    assert_eq!(bits(&digits(Some(file), &[])), bits(&rules));
    let by_options = digits(None, &[options]);
    assert_eq!(bits(&by_options), bits(&rules));
    // The report lists the rules, with the settings they come from as reasons.
    let report = &by_options[&Effect::Report];
    for reason in [
        "AMCT: activation_offset",
        "AMCT: common_config.hfmg_quantize",
        "AMCT: skip_layers[0]",
    ] {
        assert!(report.contains(reason), "{report}");
    }
}

#[test]
fn options_win_over_the_file_and_rules_over_both() {
    let skips = "skip_layers: '/stem/conv/Conv' override_layer_configs { layer_name: '/head/conv/Conv' \
                 calibration_config { ifmr_quantize { search_range_start: 0.2 search_range_end: 0.3 } } }";
    let hfmg = "target.options.ascend.override_layer_configs=[{ layer_name='/head/conv/Conv', \
                calibration_config={ hfmg_quantize={} } }]";
    let back = "quantize.rule=[{ layers=['/stem/conv/Conv'], run='auto' }]";
    let both = digits(Some(skips), &[hfmg, back]);
    let one = digits(None, &[hfmg]);
    let placement = |outcome: &Outcome| {
        (
            outcome.get(&Effect::Error).cloned(),
            outcome.get(&Effect::Placement).cloned(),
        )
    };
    assert_eq!(placement(&both), placement(&one));
    assert_ne!(placement(&digits(Some(skips), &[hfmg])), placement(&one));
    assert_ne!(
        bits(&digits(Some(skips), &[back])),
        bits(&both),
        "the file's IFMR is not that of the options"
    );
    assert_eq!(bits(&both), bits(&one));
}

#[test]
fn rules_for_a_target_say_nothing_of_another() {
    let rules = "quantize.rule=[{ layers=['/stem/conv/Conv'], run='float', target=['ascend'] }]";
    let of = |set: &[&str]| {
        compiled(
            registry,
            "sima",
            &set.iter().map(|&one| one.to_owned()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(bits(&of(&[rules])), bits(&of(&[])));
    assert_ne!(bits(&digits(None, &[rules])), bits(&digits(None, &[])));
    let unknown = of(&["quantize.rule=[{ layers=['/stem/conv/Conv'], run='float', target=['ascent'] }]"]);
    let error = &unknown[&Effect::Error];
    assert!(
        error.contains("there is no target `ascent`") && error.contains("`ascend`"),
        "{error}"
    );
}

fn loaded(file: &str, set: &[&str]) -> (tempfile::TempDir, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("quant.cfg"), file).unwrap();
    let text = "schema = 1\nmodel.file = 'm.onnx'\ntarget.use = ['ascend']\ncalibration.data = 'x.npy'\n\
                calibration.config = 'quant.cfg'\noutput.dir = 'out/{target}'\n";
    let set: Vec<Override> = set.iter().map(|&assignment| Override::set(assignment)).collect();
    let loaded = config::parse("deploy.toml", text.into(), folder.path(), &set).unwrap();
    (folder, loaded)
}

#[test]
fn what_is_wrong_is_told_with_line_column_and_the_nearest_field() {
    for (file, set, place, words) in [
        (
            "version: 1\nskip_layer: 'a'",
            "schema=1",
            "quant.cfg:2:1",
            "did you mean `skip_layers`?",
        ),
        (
            "common_config {\n  ifmr_quantize { serch_step: 0.1 }\n}",
            "schema=1",
            "quant.cfg:2:19",
            "did you mean `search_step`?",
        ),
        (
            "common_config { ifmr_quantize {\n dst_type: INT4 } }",
            "schema=1",
            "quant.cfg:2:12",
            "\"INT16\"",
        ),
        (
            "override_layer_configs {\n layer_name: 'a'\n calibration_config { ada_quantize {} } }",
            "schema=1",
            "quant.cfg:3:36",
            "`round` of `[optimize]`, which is for all layers",
        ),
        (
            "activation_offset: 1",
            "schema=1",
            "quant.cfg:1:20",
            "expected true or false",
        ),
        (
            "batch_num: 1\n\nbatch_num: 2",
            "schema=1",
            "quant.cfg:3:1",
            "more than once",
        ),
        ("batch_num 1", "schema=1", "quant.cfg:1:11", "expected `:` or `{`"),
        (
            "",
            "target.options.ascend.skip_layer=['a']",
            "--set",
            "did you mean `skip_layers`?",
        ),
        (
            "",
            "target.options.ascend.skip_layers='a'",
            "--set:1:",
            "expected a list",
        ),
        (
            "",
            "target.use=['sima']",
            "deploy.toml:5:",
            "`ascend` reads AMCT's simple configuration",
        ),
        ("", "calibration.config='absent.cfg'", "--set:1:", "absent.cfg"),
    ] {
        let (_folder, loaded) = loaded(file, &[set]);
        let error = dialect::expanded(&loaded, &registry()).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(words), "{file} {set}\n{error}");
    }
}

#[test]
fn keys_that_the_configuration_gives_itself_stay() {
    let of = |set: &[&str]| {
        let (_folder, loaded) = loaded("batch_num: 16 fakequant_precision_mode: FORCE_FP16_QUANT", set);
        let expanded = dialect::expanded(&loaded, &registry()).unwrap().into_owned();
        let options = expanded.config.target.plain("ascend", |_| true).unwrap();
        let samples = expanded.config.calibration.samples.map(u32::from);
        (samples, options.get("scale_bits").map(ToString::to_string))
    };
    assert_eq!(of(&[]), (Some(16), Some("19".into())));
    let own = ["calibration.samples=4", "target.options.ascend.scale_bits=32"];
    assert_eq!(of(&own), (Some(4), Some("32".into())));
}

#[test]
fn a_key_for_all_targets_is_not_said_by_one_of_several() {
    for (file, set, place, words) in [
        (
            "version: 1\nbatch_num: 16",
            &[][..],
            "quant.cfg:2:12",
            "`calibration.samples` is one for all targets, and `sima` says none",
        ),
        (
            "do_fusion: false",
            &[],
            "quant.cfg:1:12",
            "`rewrite.do_fusion` is one for all",
        ),
        (
            "",
            &["target.options.ascend.skip_fusion_layers=['a']"],
            "--set:1:",
            "`rewrite.skip_fusion_layers` is one for all",
        ),
    ] {
        let set = [&["target.use=['ascend', 'sima']"], set].concat();
        let (_folder, loaded) = loaded(file, &set);
        let error = dialect::expanded(&loaded, &registry()).unwrap_err().to_string();
        assert!(
            error.contains(place) && error.contains(words),
            "{file} {set:?}\n{error}"
        );
    }
    // These do not count as such keys: keys that the configuration sets itself, keys with their default value, rules
    // and options.
    let set = ["target.use=['ascend', 'sima']", "calibration.samples=8"];
    let words = "batch_num: 16 do_fusion: true skip_layers: 'a' fakequant_precision_mode: FORCE_FP16_QUANT";
    let (_folder, loaded) = loaded(words, &set);
    let expanded = dialect::expanded(&loaded, &registry()).unwrap().into_owned();
    assert_eq!(expanded.config.calibration.samples.map(u32::from), Some(8));
    assert!(expanded.config.rewrite.do_fusion);
}

#[test]
fn fusions_that_are_off_are_keys_of_rewrite() {
    let by_words = "target.options.ascend={ do_fusion=false }";
    let by_keys = "rewrite.do_fusion=false";
    let (plain, words, keys) = (digits(None, &[]), digits(None, &[by_words]), digits(None, &[by_keys]));
    assert_eq!(bits(&words), bits(&keys));
    assert_ne!(bits(&words), bits(&plain));
    let (by_file, by_key) = (
        digits(Some("skip_fusion_layers: '/stem/conv/Conv'"), &[]),
        digits(None, &["rewrite.skip_fusion_layers=['/stem/conv/Conv']"]),
    );
    assert_eq!(bits(&by_file), bits(&by_key));
    assert_ne!(bits(&by_file), bits(&words));
    // A layer that does not exist is reported at its place.
    let unknown = digits(
        Some("skip_fusion_layers: '/stem/conv/Conv'\nskip_fusion_layers: '/stem/conv'"),
        &[],
    );
    let error = &unknown[&Effect::Error];
    assert!(
        error.contains("quant.cfg:2:21") && error.contains("`/stem/conv/Conv`"),
        "{error}"
    );
    // Settings in the options override those in the file.
    let again = digits(Some("do_fusion: false"), &["target.options.ascend.do_fusion=true"]);
    assert_eq!(bits(&again), bits(&plain));
}

#[test]
fn the_rules_can_be_shown_as_a_configuration_has_them() {
    let (_folder, loaded) = loaded(
        "skip_layers: 'a/b' activation_offset: true",
        &["quantize.rule=[{ layers=['c'], run='auto' }]"],
    );
    let rules = dialect::rules(&loaded, &registry()).unwrap();
    assert_eq!(rules.matches("[[quantize.rule]]").count(), 3, "{rules}");
    // Keys that are not rules are shown, too, except those that the configuration sets itself.
    let words = "do_fusion: false skip_fusion_layers: 'a' batch_num: 4 fakequant_precision_mode: FORCE_FP16_QUANT";
    let (_folder, keys) = self::loaded(words, &["calibration.samples=8"]);
    let shown = dialect::rules(&keys, &registry()).unwrap();
    let expected =
        "[rewrite]\ndo_fusion = false\nskip_fusion_layers = [\"a\"]\n\n[target.options.ascend]\nscale_bits = 19\n";
    assert_eq!(shown, expected);
    let places = ["symmetric = false", "layers = [\"a/b\"]", "layers = [\"c\"]"].map(|part| rules.find(part));
    assert!(
        places[0].is_some() && places[0] < places[1] && places[1] < places[2],
        "{rules}"
    );
}

/// The pages `docs/words-of-ID.md` are made from the types.
#[test]
fn the_pages_of_the_words_are_those_of_the_types() {
    let registry = registry();
    for (id, entry) in registry.entries() {
        let Some(dialect) = entry.dialect() else { continue };
        let mut page = Page::new(&format!(
            "# The words of {name} for `{id}`\n\n<!-- Made by `cargo xtask bless`; edits here are lost. -->\n\n{READ}",
            name = dialect.name(),
        ));
        page.keys(&dialect.shape(), &[]);
        strait_testkit::is_current(&format!("docs/words-of-{id}.md"), &page.text());
    }
}

const READ: &str = "\
You can use these keys in two places: under `[target.options.ID]` of a [configuration](configuration.md), or in a file in the text
form of Protocol Buffers, which you pass as `strait compile --calibration-config FILE`. Strait converts each key to a rule of the
configuration. A few keys set another key of the configuration instead, unless the configuration sets that key itself.
`strait compile --rules` prints all resulting rules.

It is an error to use a key that the vendor's tool does not have, or a key whose meaning below begins with *Refused*. The error
message states the line, and the existing key with the most similar name.

";
