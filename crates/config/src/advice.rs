//! Keys that people look for in a configuration, and what to write in their place.

const ONE_SCALE: &str = "leave it out: activations have one scale for the whole tensor";
const STEPS: &str = "write the list as { steps = [...] }";

/// The keys, each with what to write.
pub(super) const ADVICE: &[(&str, &str)] = &[
    ("preprocess", STEPS),
    ("input.*.preprocess", STEPS),
    ("quantize.activations.per", ONE_SCALE),
    ("quantize.rule.*.activations.per", ONE_SCALE),
    (
        "quantize.outputs",
        "leave it out: an artifact gives real numbers, and `ports` of its manifest.json states the codes in front of them, which \
         `strait run --raw` writes; for codes at the outputs of a TFLite file, write outputs = \"int8\" in \
         [output.target.ID]",
    ),
    (
        "output.vectors",
        "leave it out: `strait run ARTIFACT --input SAMPLES --output FOLDER` writes the outputs for samples, to compare a \
         device with",
    ),
    (
        "requires",
        "leave it out: `schema` says which versions can read the file",
    ),
];
