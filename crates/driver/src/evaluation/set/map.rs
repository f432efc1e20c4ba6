//! Prepares the metric `map`, which judges boxes: finds its labels, and either the outputs that contain the boxes or
//! the command that computes boxes from outputs.

use strait_evaluate::{
    Better, Measure, Output, Unit,
    metrics::{BoxSource, Map, OVERLAPS},
};
use strait_samples::{Object, read_boxes};

use crate::{diagnostic::Diagnostic, failure::codes, stop::Stop};

use super::One;

impl One<'_> {
    /// Prepares the metric `map`, which is the only one that reads several outputs.
    pub(super) fn map(&self) -> Result<Measure, Stop> {
        let table = self.table;
        let size = table.size;
        if let Some([wide, high]) = size.filter(|size| size.iter().any(|&x| x <= 0.0)) {
            let message = format!("an image has no size of {wide} by {high}");
            let finding = Diagnostic::error(codes::EVALUATION, message).about(self.place.clone().key("size"));
            return Err(finding.into());
        }
        let source = match &table.command {
            Some(_) => BoxSource::Printed,
            None => self.boxes()?,
        };
        let objects = read_boxes(self.labels()?, size, self.label_count(1));
        let objects = objects.map_err(|error| self.of_labels(error))?;
        self.check_classes(&source, &objects)?;
        let meter = Map {
            source,
            format: table.format.unwrap_or_default(),
            overlaps: table.overlap.map_or(OVERLAPS.to_vec(), |overlap| vec![overlap]),
            objects,
        };
        Ok(Measure {
            name: table.name.clone(),
            output: None,
            unit: Unit::Percent,
            better: Better::Higher,
            meter: Box::new(meter),
        })
    }

    /// Finds the outputs with boxes, scores and classes. The configuration can name them; the default names are
    /// `boxes`, `scores` and `classes`. The output with classes may be missing.
    fn boxes(&self) -> Result<BoxSource, Stop> {
        let table = self.table;
        let outputs = self.subject.outputs;
        let there = |name: &str| outputs.iter().any(|output| output.name == name);
        let one = |named: &Option<String>, key: &str| match named {
            None if !there(key) => {
                let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
                let message = format!(
                    "{} needs an output of {key}, and the model has none of this name",
                    table.name
                );
                let finding = Diagnostic::error(codes::EVALUATION, message).about(self.place.clone());
                let finding = finding.note(format!("its outputs are {}", names.join(", ")));
                let help = format!("name it: `{key} = \"…\"`, or let a `command` make boxes of the outputs");
                Err(Stop::from(finding.help(help)))
            }
            named => self.named(Some(named.as_deref().unwrap_or(key)), key),
        };
        let (boxes, scores) = (one(&table.boxes, "boxes")?, one(&table.scores, "scores")?);
        let classes = table.classes.is_some() || there("classes");
        let classes = classes.then(|| one(&table.classes, "classes")).transpose()?;
        let of = |index: usize| outputs.get(index).map_or(&[][..], |output| output.shape.as_slice());
        // Dimensions that depend on data are not known here. They are checked for each sample.
        if of(boxes).last() != Some(&4) {
            let message = format!(
                "boxes have four numbers each, and the output of them is {:?}",
                of(boxes)
            );
            let finding = Diagnostic::error(codes::EVALUATION, message).about(self.place.clone().key("boxes"));
            return Err(finding.into());
        }
        Ok(BoxSource::Outputs { boxes, scores, classes })
    }

    /// If the model has one score for each class, checks that there is a score for every class in the labels.
    fn check_classes(&self, source: &BoxSource, objects: &[Vec<Object>]) -> Result<(), Stop> {
        let &BoxSource::Outputs {
            boxes,
            scores,
            classes: None,
        } = source
        else {
            return Ok(());
        };
        let [boxes, scores] = [boxes, scores].map(|index| self.subject.outputs.get(index).map_or(0, Output::count));
        let classes = (4 * scores).checked_div(boxes).filter(|_| scores > 0);
        let all = objects
            .iter()
            .enumerate()
            .flat_map(|(at, objects)| objects.iter().map(move |one| (at, one.class)));
        let outside = classes.and_then(|classes| all.into_iter().find(|&(_, class)| class as usize >= classes));
        let Some((sample, class)) = outside else { return Ok(()) };
        let message = format!(
            "an object of sample {sample} has the class {class}, and the model has {} classes",
            classes.unwrap_or_default()
        );
        let finding = Diagnostic::error(codes::EVALUATION, message).about(self.labels_key());
        Err(finding.help("classes count from 0").into())
    }
}
