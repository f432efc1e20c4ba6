//! Writes the draft.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use strait_core::Elem;
use strait_target::Registry;

use crate::{diagnostic::Diagnostic, failure::codes, stop::Stop};

use super::{
    Draft, Wish,
    data::Stored,
    model::{Axis, Subject},
    normalization::{Information, Normalization},
    steps::{Device, Layout},
};

/// A comment breaks after so many characters.
const WIDTH: usize = 96;

/// Without samples, ranges are measured on so many random ones.
const RANDOM: usize = 16;

/// With fewer classes, several normalizations can give certain answers.
const FEW: usize = 100;

/// Everything that a draft consists of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    model: PathBuf,
    targets: Vec<String>,
    data: Option<PathBuf>,
    /// One line on each input.
    inputs: Vec<String>,
    bind: BTreeMap<String, u64>,
    channels: u64,
    layout: Layout,
    /// An input of real numbers with the shape of images: its name, and what a device hands over there.
    camera: Option<(String, Device)>,
    normalization: Option<Normalization>,
    /// One line on each other normalization that was tried.
    others: Vec<String>,
    guessed: Vec<String>,
    pub(super) asked: Vec<String>,
}

impl Parts {
    /// # Errors
    /// If the samples are arrays of which none belongs to an input.
    pub(super) fn new(
        wish: &Wish,
        registry: &Registry,
        (subject, stored): (&Subject, Option<&Stored>),
    ) -> Result<Parts, Stop> {
        let of_images = subject
            .inputs
            .iter()
            .find(|input| input.elem == Elem::F32 && input.order().is_some());
        let main = of_images.or(subject.inputs.first());
        let layouts = subject
            .inputs
            .iter()
            .map(|input| stored.map(|stored| Layout::new(input, stored)));
        let mut parts = Parts {
            model: wish.model.clone(),
            targets: match wish.targets.is_empty() {
                true => registry.entries().map(|(id, _)| id.to_string()).collect(),
                false => wish.targets.clone(),
            },
            data: wish.data.clone(),
            inputs: subject
                .inputs
                .iter()
                .map(|input| format!("{}: {}", input.name, input.shown()))
                .collect(),
            bind: layouts.flatten().flat_map(|layout| layout.bound).collect(),
            channels: main
                .and_then(super::model::Input::order)
                .map_or(0, |(_, channels)| channels),
            layout: Layout::default(),
            camera: of_images.and_then(|input| Some((input.name.clone(), Device::of(input, None)?))),
            normalization: None,
            others: Vec::new(),
            guessed: Vec::new(),
            asked: Vec::new(),
        };
        for input in &subject.inputs {
            for (at, axis) in input.axes.iter().enumerate() {
                let Axis::Free(key) = axis else { continue };
                if parts.bind.contains_key(key) {
                    continue;
                }
                if at == 0 {
                    parts.bind.insert(key.clone(), 1);
                    parts.guessed.push(format!(
                        "`{key}`, the first axis of \"{}\", is the batch, and is 1",
                        input.name
                    ));
                } else {
                    let text = format!(
                        "the size of `{key}`, axis {at} of \"{}\": write it into `bind` of [model]",
                        input.name
                    );
                    parts.asked.push(text);
                }
            }
        }
        parts.asked.dedup();
        if let Some(Stored::Arrays(stacks)) = stored {
            let named = |stack: &super::data::Stack| {
                let name = stack.name.as_deref();
                name.is_none_or(|name| subject.inputs.iter().any(|input| input.name == name))
            };
            if !stacks.iter().any(named) {
                let names: Vec<&str> = subject.inputs.iter().map(|input| input.name.as_str()).collect();
                let text = format!(
                    "no array of the samples is named after an input of the model: {}",
                    names.join(", ")
                );
                return Err(Diagnostic::error(codes::NO_SAMPLES, text).into());
            }
        }
        if let (Some(main), Some(stored)) = (main, stored) {
            parts.layout = Layout::new(main, stored);
            parts.guessed.extend(parts.layout.guessed.iter().cloned());
        }
        if let (Some((_, device)), Some(known)) = (&mut parts.camera, &parts.layout.device) {
            device.clone_from(known);
        }
        Ok(parts)
    }

    /// True if the samples are levels from 0 to 255.
    pub(super) fn has_levels(&self) -> bool {
        self.layout.has_levels
    }

    pub(super) fn channels(&self) -> u64 {
        self.channels
    }

    /// The same with a normalization.
    pub(super) fn with(&self, normalization: &Normalization) -> Parts {
        Parts {
            normalization: Some(normalization.clone()),
            ..self.clone()
        }
    }

    /// Chooses the candidate with the best score.
    pub(super) fn choose(&mut self, mut scores: Vec<(Normalization, Information)>) {
        scores.sort_by(|(_, a), (_, b)| b.bits.total_cmp(&a.bits));
        let Some(((best, most), rest)) = scores.split_first() else {
            self.asked.push(
                "how the samples are normalized: the model's output has no classes by which to tell; write the steps into [preprocess]"
                    .to_owned(),
            );
            return;
        };
        self.normalization = Some(best.clone());
        let weak = match most.classes < FEW {
            true => format!(", which says little with {} classes", most.classes),
            false => String::new(),
        };
        self.guessed.push(format!(
            "the normalization ({}): with it, the model's answers tell the samples apart best, by {:.2} bits{weak}; labels in \
             [evaluation] tell for certain",
            best.usual, most.bits
        ));
        let other = |(one, score): &(Normalization, Information)| {
            format!("{:.2} bits: {} ({})", score.bits, steps(&one.steps), one.usual)
        };
        self.others = rest.iter().map(other).collect();
    }

    /// The text of the draft. Paths are relative to `folder` if they are below it.
    pub(super) fn text(&self, folder: &Path) -> Draft {
        let mut text = String::new();
        let shown = |path: &Path| quoted(&relative(path, folder));
        comment(
            &mut text,
            "Drafted by `strait init`. A comment GUESSED is about the lines below it: check them.",
        );
        for asked in &self.asked {
            comment(&mut text, &format!("ASKED: {asked}."));
        }
        text.push_str("schema = 1\n\n[model]\n");
        for input in &self.inputs {
            comment(&mut text, &format!("input {input}"));
        }
        _ = writeln!(text, "file = {}", shown(&self.model));
        let (bind, rest): (Vec<&String>, Vec<&String>) =
            self.guessed.iter().partition(|guess| guess.contains("is the batch"));
        for guess in bind {
            comment(&mut text, &format!("GUESSED: {guess}."));
        }
        if !self.bind.is_empty() {
            let bind = self
                .bind
                .iter()
                .map(|(key, size)| format!("{} = {size}", toml_key(key)));
            _ = writeln!(text, "bind = {{ {} }}", bind.collect::<Vec<_>>().join(", "));
        }
        text.push_str("\n[target]\n");
        comment(
            &mut text,
            "Keep those that you deploy to: `strait targets` lists them, and `strait check` compares where the layers run.",
        );
        let targets: Vec<String> = self.targets.iter().map(|id| quoted(id)).collect();
        _ = writeln!(text, "use = [{}]\n\n[calibration]", targets.join(", "));
        match &self.data {
            Some(data) => _ = writeln!(text, "data = {}", shown(data)),
            None => {
                comment(
                    &mut text,
                    "Random numbers are enough to try the compiler. To deploy, give a hundred or so real samples.",
                );
                _ = writeln!(text, "data = \"random:{RANDOM}\"");
            }
        }
        let all: Vec<String> = (self.layout.before.iter().cloned())
            .chain(
                self.normalization
                    .iter()
                    .flat_map(|one| one.steps.iter().map(|&step| step.to_owned())),
            )
            .chain(self.layout.after.iter().cloned())
            .collect();
        if !all.is_empty() || !self.layout.stored.is_empty() || !rest.is_empty() {
            text.push_str("\n[preprocess]\n");
            for guess in rest {
                comment(&mut text, &format!("GUESSED: {guess}."));
            }
            for other in &self.others {
                comment(&mut text, &format!("other normalizations: {other}"));
            }
            if !self.layout.stored.is_empty() {
                _ = writeln!(text, "stored = {{ {} }}", self.layout.stored);
            }
            _ = writeln!(text, "steps  = [{}]", all.join(", "));
        }
        self.input(&mut text);
        text.push_str("\n[output]\ndir = \"build/{target}\"\n\n");
        comment(
            &mut text,
            "With labelled samples, each compilation says what accuracy remains:",
        );
        text.push_str("# [evaluation]\n# data   = \"eval_x.npy\"\n# labels = \"eval_y.npy\"\n\n");
        comment(
            &mut text,
            "Algorithms that bring the integer model closer to the float model; \"thorough\" takes longer:",
        );
        text.push_str("# [optimize]\n# preset = \"quick\"\n");
        Draft {
            text,
            guessed: self.guessed.clone(),
            asked: self.asked.clone(),
        }
    }
}

impl Parts {
    /// Writes what a camera hands over: for bytes whose normalization is known, the table of the input, and otherwise what the
    /// user can write.
    fn input(&self, text: &mut String) {
        let Some((name, device)) = &self.camera else { return };
        let is_known = self.layout.are_bytes && self.layout.has_levels && self.normalization.is_some();
        text.push('\n');
        let mark = if is_known { "" } else { "# " };
        comment(
            text,
            match is_known {
                true => {
                    "The artifact takes bytes, as the samples are stored: the steps behind those on pixels are part of it. Without \
                     this table it takes the model's own input, and the device does all steps."
                }
                false => {
                    "If the device hands over bytes, the artifact can take them: color, scale, mean and std of [preprocess] then \
                     become part of it."
                }
            },
        );
        let color = device.color.map(|color| format!(", color = \"{color}\""));
        _ = writeln!(
            text,
            "{mark}[input.{}]\n{mark}layout = \"{}\"\n{mark}device = {{ type = \"uint8\", layout = \"{}\"{} }}\n{mark}embed  = \
             \"normalize\"",
            toml_key(name),
            device.model,
            device.layout,
            color.unwrap_or_default()
        );
    }
}

fn steps(steps: &[&str]) -> String {
    match steps.is_empty() {
        true => "no step".to_owned(),
        false => steps.join(", "),
    }
}

/// A path as the configuration has it: with forward slashes, relative to the folder if it is below it.
fn relative(path: &Path, folder: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (whole(path), whole(folder));
    let shown = path.strip_prefix(&folder).unwrap_or(&path);
    shown.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Checks that a path can stand in a configuration.
///
/// # Errors
/// It is not UTF-8.
pub(super) fn writable(path: &Path) -> Result<(), Stop> {
    let whole = path.canonicalize();
    let paths = [Some(path), whole.as_deref().ok()];
    match paths.into_iter().flatten().all(|path| path.to_str().is_some()) {
        true => Ok(()),
        false => {
            let message = format!(
                "the name {} is not UTF-8, as names in a configuration are",
                path.display()
            );
            Err(Diagnostic::error(codes::OUTPUT, message)
                .help("rename the file or the folder")
                .into())
        }
    }
}

/// A TOML key, without quotes if it needs none.
fn toml_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A TOML string. JSON's escapes are TOML's, apart from the character DEL, which JSON leaves as it is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Writes a comment in lines of at most [`WIDTH`] characters. TOML has no control characters in comments, but names in a
/// model may have some.
fn comment(out: &mut String, text: &str) {
    let shown: String = (text.chars())
        .map(|letter| match letter.is_control() {
            true => char::REPLACEMENT_CHARACTER,
            false => letter,
        })
        .collect();
    for line in crate::table::wrapped(&shown, WIDTH) {
        _ = writeln!(out, "# {line}");
    }
}
