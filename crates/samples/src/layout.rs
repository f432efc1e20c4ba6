//! Checks that the axes of samples are in the same order as the axes of the model's input.
//!
//! Numbers lie in memory in the order of the axes. If a sample has the model's axes in another order, it has the right
//! number of elements but would be read wrongly. A sample may omit axes of size 1, have additional ones, or be flat,
//! because none of this moves any number. But the extents alone do not show whether an axis was moved, or whether an
//! axis of size 1 is just in another place:
//!
//! ```text
//! sample  [8, 1, 8]   channels, height, width
//! input   [1, 8, 8]   height, width, channels: the numbers move
//!                     or an axis of size 1 that stands elsewhere: no number moves
//! ```
//!
//! So a sample with the same rank as the input is refused if its channels may be in the wrong place: if moving the last
//! axis to the front, or the first axis to the back, gives the input's shape and changes the order of the numbers.

use crate::input_spec::InputSpec;
use crate::{
    error::{DataError, Kind},
    plan::{Operation, Plan},
    source::Source,
};

/// The direction in which the channel axis is moved.
#[derive(Clone, Copy, PartialEq)]
enum Move {
    LastToFront,
    FirstToBack,
}

impl Move {
    const BOTH: [Move; 2] = [Move::LastToFront, Move::FirstToBack];

    fn of(self, shape: &[usize]) -> Vec<usize> {
        let (mut moved, one) = (shape.to_vec(), 1.min(shape.len()));
        match self {
            Move::LastToFront => moved.rotate_right(one),
            Move::FirstToBack => moved.rotate_left(one),
        }
        moved
    }

    /// True if the move changes the order of the numbers. It does not change the order if the channel axis has size 1,
    /// or if all other axes have size 1.
    fn moves_numbers(self, shape: &[usize]) -> bool {
        let parts = match self {
            Move::LastToFront => shape.split_last(),
            Move::FirstToBack => shape.split_first(),
        };
        parts.is_some_and(|(&channels, others)| channels != 1 && others.iter().any(|&extent| extent != 1))
    }

    /// The names of the image layouts before and after the move.
    fn layouts(self) -> [&'static str; 2] {
        match self {
            Move::LastToFront => ["NHWC", "NCHW"],
            Move::FirstToBack => ["NCHW", "NHWC"],
        }
    }
}

/// Checks the shape of a sample after preprocessing against the shape of the input.
pub(crate) fn check(source: &Source, sample: &[usize], spec: &InputSpec) -> Result<(), DataError> {
    let model = input_shape(sample.len(), &spec.shape);
    let other_order = in_other_order(sample, model);
    if !other_order && elements(sample).is_some_and(|found| Some(found) == elements(&spec.shape)) {
        return Ok(());
    }
    let message = format!(
        "samples of shape {sample:?} do not fit the input {:?} of shape {:?}",
        spec.name, spec.shape
    );
    let mut finding = DataError::new(Kind::Shape, message);
    let array = match source {
        Source::Arrays { pieces, .. } => pieces.first(),
        Source::Images(images) => {
            let first = images.path(0);
            return Err(finding.note(format!(
                "{} has height, width and channels {:?} behind the steps on its pixels",
                first.display(),
                images.shape()
            )));
        }
        Source::Shared(_) | Source::Random(_) => None,
    };
    let Some(array) = array else { return Err(finding) };
    finding = finding.note(format!(
        "{} has the shape {:?}, samples along the first axis",
        array.name(),
        array.shape()
    ));
    if other_order {
        if let Some(advice) = advice(&array.shape()[1..], model, &spec.preprocess) {
            finding = finding.help(advice);
        }
    } else if elements(array.shape()) == elements(&spec.shape) {
        finding = finding.help("a single sample needs an axis of its own: array[None]");
    }
    Err(finding)
}

/// The shape of the model's input. The batch dimension is left out, unless samples have an axis for it.
fn input_shape(rank: usize, model: &[usize]) -> &[usize] {
    match model {
        [1, rest @ ..] if rank < model.len() => rest,
        _ => model,
    }
}

fn in_other_order(sample: &[usize], model: &[usize]) -> bool {
    let essential = |shape: &[usize]| shape.iter().copied().filter(|&extent| extent != 1).collect::<Vec<_>>();
    let (mut found, mut wanted) = (essential(sample), essential(model));
    if found != wanted {
        found.sort_unstable();
        wanted.sort_unstable();
        return found == wanted;
    }
    let moved = |channels: Move| channels.of(sample) == model && channels.moves_numbers(sample);
    sample != model && Move::BOTH.into_iter().any(moved)
}

/// Returns advice for samples whose axes are in another order than the axes of the model's input. `stored` is the shape
/// of a sample in the file. The advice never contains a step that the preprocessing already has.
fn advice(stored: &[usize], model: &[usize], plan: &Plan) -> Option<String> {
    let permutes = plan
        .operations
        .iter()
        .any(|operation| matches!(operation, Operation::Permute { .. }));
    if let (true, true, Some(layout)) = (permutes, stored == model, &plan.layout) {
        return Some(format!(
            "the samples have the input's axes as they are stored: say `stored = {{ layout = {layout:?} }}` in [preprocess]"
        ));
    }
    let fits = |channels: &Move| stored.len() == 3 && channels.of(stored) == model;
    match (Move::BOTH.into_iter().find(fits).map(Move::layouts), &plan.stored) {
        (Some([from, to]), None) => Some(format!(
            "the axes are in another order: say so with `stored = {{ layout = {from:?} }}` and a step `{{ layout = {to:?} }}` \
             in [preprocess]"
        )),
        (Some([from, to]), Some(said)) if said == from && !permutes => {
            Some(format!("the axes are in another order: add a step `{{ layout = {to:?} }}` to [preprocess]"))
        }
        (Some([from, to]), Some(said)) if said != from => Some(format!(
            "`stored` says {said}; the shapes would fit with `stored = {{ layout = {from:?} }}` and a step `{{ layout = {to:?} }}`"
        )),
        (None, None) => Some(
            "the axes are in another order: name them as they are stored, as in `stored = { layout = \"NTC\" }`, and as the model \
             takes them in a step, as in `{ layout = \"NCT\" }`, in [preprocess]"
                .to_owned(),
        ),
        _ => None,
    }
}

fn elements(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1usize, |product, &extent| product.checked_mul(extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumberType, npy, npy::Array, steps::Steps};

    /// Checks an array of the shape `stored`, which includes the axis of the samples.
    fn checked(stored: &[usize], model: &[usize], preprocess: Plan) -> Result<(), DataError> {
        let numbers = vec![0; stored.iter().product()];
        let array = Array::parse("x.npy", &npy::encode(NumberType::U8, stored, &numbers).into())?;
        let steps = Steps::new(&preprocess, &stored[1..]).unwrap();
        let spec = InputSpec {
            name: "x".into(),
            elem: strait_core::Elem::F32,
            shape: model.to_vec(),
            preprocess,
            range: None,
            is_shared: false,
        };
        check(&Source::arrays(vec![array], "x")?, &steps.shape, &spec)
    }

    /// A plan for samples with the layout `stored`. If `step` is given, the plan has a layout step that changes the
    /// layout to `step`.
    fn said(stored: &str, step: Option<&str>) -> Plan {
        let axes = |step: &str| step.chars().filter_map(|axis| stored.find(axis)).collect();
        Plan {
            stored: Some(stored.to_owned()),
            operations: step
                .map(|step| Operation::Permute { axes: axes(step) })
                .into_iter()
                .collect(),
            layout: Some(step.unwrap_or(stored).to_owned()),
            ..Plan::default()
        }
    }

    #[test]
    fn which_shapes_fit_a_model() {
        for (stored, model, fits) in [
            (&[2, 4, 3][..], &[1, 4, 3][..], true),
            (&[2, 4, 3], &[4, 3], true),
            (&[2, 1, 4, 3], &[1, 4, 3], true),
            (&[2, 12], &[1, 4, 3], true),
            (&[2, 4, 3], &[1, 1, 4, 3], true),
            (&[2, 3, 4], &[1, 4, 3], false),
            (&[2, 4, 3, 1], &[1, 1, 3, 4], false),
            (&[2, 4, 4], &[1, 4, 3], false),
            (&[4, 3], &[1, 4, 3], false),
            // With a single channel, no number moves, whether the channel axis is first or last.
            (&[2, 8, 8, 1], &[1, 1, 8, 8], true),
            (&[2, 1, 8, 8], &[1, 8, 8, 1], true),
            (&[2, 5, 1, 1], &[1, 1, 1, 5], true),
            // With eight channels, numbers would move.
            (&[2, 8, 1, 8], &[1, 1, 8, 8], false),
            (&[2, 1, 8, 8], &[1, 8, 1, 8], false),
            (&[2, 8, 1, 8], &[1, 8, 8], false),
        ] {
            let found = checked(stored, model, Plan::default());
            assert_eq!(found.is_ok(), fits, "{stored:?} for {model:?}");
            if let Err(error) = found {
                assert_eq!(error.kind, Kind::Shape);
            }
        }
    }

    #[test]
    fn images_of_one_channel_with_the_wrong_layout_are_refused_with_advice_that_helps() {
        let nchw = [2, 1, 8, 8];
        let nhwc = [2, 8, 8, 1];
        let model = [1, 1, 8, 8];
        // The samples have their channels first, but the configuration says that they have them last. Each image would
        // be transposed.
        let error = checked(&nchw, &model, said("NHWC", Some("NCHW"))).unwrap_err();
        assert!(error.message.contains("[8, 1, 8]"), "{}", error.message);
        let help = &error.help[0];
        assert!(
            help.contains("stored = { layout = \"NCHW\" }") && !help.contains("NHWC"),
            "{help}"
        );
        assert_eq!(checked(&nchw, &model, said("NCHW", None)), Ok(()));
        assert_eq!(checked(&nhwc, &model, said("NHWC", Some("NCHW"))), Ok(()));
    }

    #[test]
    fn advice_is_never_what_is_there_already() {
        let model = [1, 3, 4, 5];
        let help = |stored: &[usize], plan: Plan| checked(stored, &model, plan).unwrap_err().help.join("; ");
        let (nhwc, nchw) = ("stored = { layout = \"NHWC\" }", "{ layout = \"NCHW\" }");
        let found = help(&[2, 4, 5, 3], Plan::default());
        assert!(found.contains(nhwc) && found.contains(nchw), "{found}");
        let found = help(&[2, 4, 5, 3], said("NHWC", None));
        assert!(!found.contains("stored") && found.contains(nchw), "{found}");
        let found = help(&[2, 4, 5, 3], said("NCHW", None));
        assert!(found.contains("`stored` says NCHW") && found.contains(nhwc), "{found}");
        let found = help(&[2, 3, 4, 5], said("NHWC", Some("NCHW")));
        assert!(found.contains(nchw) && !found.contains("NHWC"), "{found}");
        // With the layouts that the user has stated, no advice is possible.
        assert_eq!(help(&[2, 5, 4, 3], said("NHWC", Some("NCHW"))), "");
    }
}
