//! Cases for the keys of `[evaluation]`, and for the gates on its results.

use super::Effect::{Error, Report, Warning};
use super::configuration::{Case, given};

const EVALUATED: &[&str] = &[
    "evaluation.data='DIGITS/eval_x.npy'",
    "evaluation.labels='DIGITS/eval_y.npy'",
    "evaluation.samples=40",
];
const TABLE: &[&str] = &[
    "evaluation.data='DIGITS/eval_x.npy'",
    "evaluation.labels='DIGITS/eval_y.npy'",
    "evaluation.samples=40",
    "evaluation.metric=[{ name = 'cosine' }]",
];
const EXPECTED: &[&str] = &[
    "evaluation.data='DIGITS/eval_x.npy'",
    "evaluation.labels='DIGITS/eval_y.npy'",
    "evaluation.samples=40",
    "evaluation.metric=[{ name = 'first', kind = 'top1', expect_float = { value = 99, within = 9 } }]",
];
const LOSS: &[&str] = &[
    "evaluation.data='DIGITS/eval_x.npy'",
    "evaluation.labels='DIGITS/eval_y.npy'",
    "evaluation.samples=40",
    "gate.accuracy_drop.agreement.points=1",
];
/// `printf` prints its first argument and ignores the path after it.
const OWN: &[&str] = &[
    "evaluation.data='DIGITS/eval_x.npy'",
    "evaluation.samples=2",
    r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.5,"b":0.75,"c":[0.25,0.75]}'], value = '/a', better = 'higher' }]"#,
];

pub(super) const CASES: &[Case] = &[
    given(
        "evaluation.data",
        Report,
        &["evaluation.data='DIGITS/eval_x.npy'"],
        &["evaluation.data='DIGITS/calib_x.npy'"],
    ),
    given(
        "evaluation.labels",
        Error,
        EVALUATED,
        &["evaluation.labels='DIGITS/eval_x.npy'"],
    ),
    given(
        "evaluation.expect_float",
        Warning,
        // Images that are nearly black.
        &[
            "evaluation.data='DIGITS/eval_x.npy'",
            "evaluation.labels='DIGITS/eval_y.npy'",
            "preprocess.steps=[{ scale = 0.0001 }, { layout = 'NCHW' }]",
        ],
        &["evaluation.expect_float=98"],
    ),
    given("evaluation.samples", Report, EVALUATED, &["evaluation.samples=80"]),
    given(
        "evaluation.metrics",
        Report,
        EVALUATED,
        &["evaluation.metrics=['agreement']"],
    ),
    given(
        "evaluation.metric[].name",
        Report,
        EVALUATED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1' }]"],
    ),
    given(
        "evaluation.metric[].kind",
        Report,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', kind = 'snr' }]"],
    ),
    given(
        "evaluation.metric[].output",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', output = 'logit' }]"],
    ),
    given(
        "evaluation.metric[].labels",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'top5', labels = 'absent.npy' }]"],
    ),
    // A setting is refused for a metric that does not have it.
    given(
        "evaluation.metric[].ignore",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', ignore = 0 }]"],
    ),
    given(
        "evaluation.metric[].axis",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'top1', axis = 7 }]"],
    ),
    given(
        "evaluation.metric[].probabilities",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'perplexity', probabilities = true }]"],
    ),
    given(
        "evaluation.metric[].peak",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', peak = 2 }]"],
    ),
    given(
        "evaluation.metric[].score",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', score = 'reconstruction' }]"],
    ),
    given(
        "evaluation.metric[].group",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', group = 2 }]"],
    ),
    given(
        "evaluation.metric[].boxes",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', boxes = 'logits' }]"],
    ),
    given(
        "evaluation.metric[].scores",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', scores = 'logits' }]"],
    ),
    given(
        "evaluation.metric[].classes",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', classes = 'logits' }]"],
    ),
    given(
        "evaluation.metric[].format",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', format = 'yxyx' }]"],
    ),
    given(
        "evaluation.metric[].size",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', size = [2, 2] }]"],
    ),
    given(
        "evaluation.metric[].overlap",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', overlap = 0.5 }]"],
    ),
    given(
        "evaluation.metric[].expect_float.value",
        Error,
        EXPECTED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1', expect_float = { value = 50, within = 9 } }]"],
    ),
    given(
        "evaluation.metric[].expect_float.within",
        Error,
        EXPECTED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1', expect_float = { value = 99, within = 0 } }]"],
    ),
    given(
        "gate.accuracy_drop.NAME.points",
        Report,
        EVALUATED,
        &["gate.accuracy_drop.top1.points=1"],
    ),
    given(
        "evaluation.metric[].name",
        Report,
        EVALUATED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1' }]"],
    ),
    given(
        "evaluation.metric[].kind",
        Report,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', kind = 'snr' }]"],
    ),
    given(
        "evaluation.metric[].output",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', output = 'logit' }]"],
    ),
    given(
        "evaluation.metric[].labels",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'top5', labels = 'absent.npy' }]"],
    ),
    // A setting is refused for a metric that does not have it.
    given(
        "evaluation.metric[].ignore",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', ignore = 0 }]"],
    ),
    given(
        "evaluation.metric[].peak",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', peak = 2 }]"],
    ),
    given(
        "evaluation.metric[].score",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', score = 'reconstruction' }]"],
    ),
    given(
        "evaluation.metric[].group",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', group = 2 }]"],
    ),
    given(
        "evaluation.metric[].expect_float.value",
        Error,
        EXPECTED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1', expect_float = { value = 50, within = 9 } }]"],
    ),
    given(
        "evaluation.metric[].expect_float.within",
        Error,
        EXPECTED,
        &["evaluation.metric=[{ name = 'first', kind = 'top1', expect_float = { value = 99, within = 0 } }]"],
    ),
    given(
        "gate.accuracy_drop.NAME.confidence",
        Report,
        LOSS,
        &["gate.accuracy_drop.agreement.confidence=0.99"],
    ),
    given("gate.least", Report, EVALUATED, &["gate.least.top1=90"]),
    given(
        "evaluation.metric[].command",
        Report,
        OWN,
        &[
            r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.25}'], value = '/a', better = 'higher' }]"#,
        ],
    ),
    given(
        "evaluation.metric[].value",
        Report,
        OWN,
        &[
            r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.5,"b":0.75,"c":[0.25,0.75]}'], value = '/b', better = 'higher' }]"#,
        ],
    ),
    given(
        "evaluation.metric[].each",
        Report,
        OWN,
        &[
            r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.5,"b":0.75,"c":[0.25,0.75]}'], value = '/a', each = '/c', better = 'higher' }]"#,
        ],
    ),
    given(
        "evaluation.metric[].better",
        Report,
        OWN,
        &[
            r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.5,"b":0.75,"c":[0.25,0.75]}'], value = '/a', better = 'lower' }]"#,
        ],
    ),
    given(
        "evaluation.metric[].unit",
        Report,
        OWN,
        &[
            r#"evaluation.metric=[{ name = 'own', command = ['printf', '{"a":0.5,"b":0.75,"c":[0.25,0.75]}'], value = '/a', better = 'higher', unit = 'points' }]"#,
        ],
    ),
    given(
        "evaluation.metric[].seconds",
        Error,
        TABLE,
        &["evaluation.metric=[{ name = 'cosine', seconds = 9 }]"],
    ),
];
