//! Opens an artifact together with the samples that arguments name, and chooses which kernels compute its
//! requantizations.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use strait_artifact::Computed;
use strait_compile::{CompileError, OwnLoops, shares};
use strait_container::{Digest, TargetOrigin};
use strait_document::nearest;
use strait_execute::PlanOptions;
use strait_samples::{InputSpec, Kind, Samples, Set};
use strait_target::Registry;

use crate::{
    config::types::Preprocess,
    diagnostic::{Diagnostic, Diagnostics},
    evaluation::{Side, Tail},
    failure::{self, codes},
    pipeline::inputs as of_graph,
    plugins,
    session::Session,
    stop::Stop,
    table,
};

/// An artifact whose inputs are preprocessed as a configuration describes.
pub type Opened = strait_artifact::Opened<Preprocess>;

/// Which code computes the requantizations of an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The registered kernels. Where there are none, the host's kernels.
    #[default]
    Registered,
    /// The target's own model of its arithmetic. If a library is given, the plugin in this library supplies the model,
    /// and the artifact must have been made with the same library.
    Target(Option<PathBuf>),
}

/// Chooses the kernels that compute the requantizations of an opened artifact. The host computes the requantizations
/// that a library does not compute, and the user is told about it.
///
/// If `held` is set, an error is returned as soon as a library computes a code that differs from the code that the
/// target's table prescribes. If `held` is not set, the caller has to compare the codes.
///
/// # Errors
/// If the target is neither registered nor in the library, the artifact was not made with the library, or the library
/// fails or computes no layer of the artifact.
pub fn by(
    mut opened: Opened,
    (kernels, held): (&Kernels, bool),
    registry: &Registry,
    session: &Session<'_>,
) -> Result<Opened, Stop> {
    let Kernels::Target(library) = kernels else {
        return Ok(opened);
    };
    let version = &opened.artifact.manifest().target;
    let refused = |text: String| Stop::from(Diagnostic::error(codes::TARGET, text));
    let options = &opened.deployment.options;
    let (target, computed) = match (library, &version.origin) {
        (Some(path), Some(TargetOrigin::Library { sha256, .. })) => {
            let target = plugins::with_own_model(path, sha256, (&version.id, options), (held, session))?;
            (target, Computed::OwnModel)
        }
        (Some(_), _) => {
            let text = "the artifact was not made with a plugin in a library, so that none can be held against it";
            return Err(refused(text.to_owned()));
        }
        (None, _) => match &opened.computed {
            Computed::Host(reason) => {
                let found = Diagnostic::error(codes::TARGET, format!("the target's kernels are not here: {reason}"));
                return Err(found.help("name the library of its plugin with --plugin").into());
            }
            computed => {
                let target = registry.get(&version.id, options);
                (target.map_err(|error| failure::registry(&error))?, computed.clone())
            }
        },
    };
    if Digest(target.spec().digest) != version.table {
        return Err(refused(format!(
            "the table of `{}` is another than the artifact's",
            version.id
        )));
    }
    let mut own_model = None;
    if let (Computed::OwnModel, Some(TargetOrigin::Library { package, .. })) = (&computed, &version.origin) {
        let found = shares(target.as_ref(), opened.module())
            .map_err(CompileError::from)?
            .unwrap_or_default();
        if found.own == 0 {
            let layers = table::count(found.host, "layer");
            let text = format!("the plugin {package} computes none of the {layers} by its own model");
            let help =
                "it answers STRAIT_UNSUPPORTED to all of their forms: the host computes them, without `--kernels`";
            return Err(Diagnostic::error(codes::TARGET, text).help(help).into());
        }
        if found.host > 0 {
            let text = format!("the plugin {package} computes {found}");
            session.remark(&Diagnostic::remark(codes::TARGET, text));
        }
        own_model = Some(found);
    }
    opened.loops = Box::new(OwnLoops(target));
    opened.own_kernels = true;
    (opened.computed, opened.own_model) = (computed, own_model);
    Ok(opened)
}

/// Prepares the main graph for running. If `join` is false, primitives are not combined into kernels, so that every
/// value can be read.
///
/// # Errors
/// If the graph cannot be run, or needs more than the limits allow.
pub fn plan(opened: &Opened, session: &Session<'_>, join: bool) -> Result<Side, Stop> {
    let options = PlanOptions {
        context: session.context,
        loops: opened.loops.as_ref(),
        join,
    };
    Side::new(opened.whole(), &options, session)
}

/// What runs behind the integer model; `None` if there is no such tail.
///
/// # Errors
/// If the tail's file is not one that Strait has written.
pub(crate) fn tail(opened: &Opened) -> Result<Option<Tail>, Stop> {
    let Some(file) = &opened.deployment.tail else {
        return Ok(None);
    };
    let bytes = opened.artifact.file(file)?;
    let tail = Tail::decode(bytes).map_err(|error| failure::model(&error, Path::new(file)))?;
    Ok(Some(tail))
}

/// Returns how samples are preprocessed for each input.
///
/// # Errors
/// If the preprocessing is not possible, which does not happen with an artifact that Strait has written.
pub fn inputs(opened: &Opened) -> Result<Vec<InputSpec>, Diagnostics> {
    let none = Preprocess::default();
    let spec = |input: &of_graph::Input| {
        let mut deployed = opened.deployment.inputs.iter();
        let deployed = deployed.find(|deployed| deployed.name == input.name);
        let spec = of_graph::spec(input, deployed.map_or(&none, |input| &input.preprocess))?;
        Ok(InputSpec {
            is_shared: opened.deployment.reading.batch.get(&input.name) == Some(&None),
            ..spec
        })
    };
    let inputs = of_graph::inputs(opened.module(), &opened.bodies);
    inputs.iter().map(spec).collect()
}

/// Opens the samples that arguments `[NAME=]PATH` name, and lists the files. The arguments are either a single path
/// with the samples for all inputs, as for calibration, or one file for each input.
///
/// # Errors
/// The errors of [`named_file`] and [`Samples`], and an error if an input has two files.
pub fn given_samples(arguments: &[String], inputs: &[InputSpec]) -> Result<(Samples, Vec<PathBuf>), Diagnostics> {
    if let [only] = arguments
        && Path::new(only).exists()
    {
        let samples = Samples::open(&Set::from(Path::new(only)), inputs).map_err(failure::data)?;
        return Ok((samples, vec![PathBuf::from(only)]));
    }
    let files = named_files(arguments, inputs)?;
    let samples = Samples::open_by_name(&files, inputs).map_err(failure::data)?;
    Ok((samples, files.into_values().collect()))
}

/// Finds the file for each input in arguments of the form `[NAME=]FILE`.
///
/// # Errors
/// The errors of [`named_file`], and an error if an input has two files.
pub fn named_files(arguments: &[String], inputs: &[InputSpec]) -> Result<BTreeMap<String, PathBuf>, Diagnostics> {
    let mut files = BTreeMap::new();
    for argument in arguments {
        let (name, file) = named_file(argument, inputs)?;
        if files.insert(name.clone(), file).is_some() {
            return Err(Diagnostic::error(Kind::Name.code(), format!("two files for the input {name:?}")).into());
        }
    }
    Ok(files)
}

/// Splits an argument `[NAME=]FILE` into the name of an input and the file.
///
/// # Errors
/// If there are several inputs and the argument has no name.
pub fn named_file(argument: &str, inputs: &[InputSpec]) -> Result<(String, PathBuf), Diagnostics> {
    // Both names and paths may contain `=`. The longest input name that fits is taken.
    let named = inputs.iter().filter_map(|input| {
        let file = argument.strip_prefix(input.name.as_str())?.strip_prefix('=')?;
        Some((input.name.clone(), PathBuf::from(file)))
    });
    if let Some(found) = named.max_by_key(|(name, _)| name.len()) {
        return Ok(found);
    }
    if let [only] = inputs {
        // If no file has the path `argument`, the part before `=` was meant as the name of an input, which does not
        // exist.
        let unknown = argument.split_once('=').filter(|_| !Path::new(argument).exists());
        if unknown.is_none() {
            return Ok((only.name.clone(), PathBuf::from(argument)));
        }
    }
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let listed = match names[..] {
        [only] => format!("the input is `{only}`"),
        _ => format!("the inputs are `{}`", names.join("`, `")),
    };
    if let Some((unknown, _)) = argument.split_once('=').filter(|_| !Path::new(argument).exists()) {
        let finding = Diagnostic::error(Kind::Name.code(), format!("there is no input `{unknown}`")).note(listed);
        let near = nearest::did_you_mean(unknown, names);
        let help = near.first().map(|near| format!("did you mean `{near}`?"));
        return Err(help.into_iter().fold(finding, Diagnostic::help).into());
    }
    let message = format!("`{argument}` does not say which input it is for");
    let finding = Diagnostic::error(Kind::Name.code(), message).note(listed);
    Err(finding.help("write NAME=FILE").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_samples::Plan;

    fn specs(names: &[&str]) -> Vec<InputSpec> {
        let spec = |name: &&str| InputSpec {
            name: (*name).to_owned(),
            elem: strait_core::Elem::F32,
            shape: vec![1],
            preprocess: Plan::default(),
            range: None,
            is_shared: false,
        };
        names.iter().map(spec).collect()
    }

    #[test]
    fn a_name_that_no_input_has_is_told_with_those_that_there_are() {
        let told = |argument: &str, inputs: &[&str]| named_file(argument, &specs(inputs)).unwrap_err().to_string();
        let message = told("imagf=x.npy", &["image", "roi"]);
        for part in [
            "there is no input `imagf`",
            "the inputs are `image`, `roi`",
            "did you mean `image`?",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert!(told("y=x.npy", &["image"]).contains("the input is `image`"));
        assert!(told("x.npy", &["image", "roi"]).contains("does not say which input it is for"));
    }

    #[test]
    fn files_find_their_inputs() {
        for (argument, inputs, expected) in [
            ("x.npy", &["a"][..], Some(("a", "x.npy"))),
            ("a=x.npy", &["a"], Some(("a", "x.npy"))),
            ("a=b=x.npy", &["a", "a=b"], Some(("a=b", "x.npy"))),
            ("/m/a:0=x=1.npy", &["/m/a:0", "b"], Some(("/m/a:0", "x=1.npy"))),
            ("x.npy", &["a", "b"], None),
            ("c=x.npy", &["a"], None),
        ] {
            let found = named_file(argument, &specs(inputs)).ok();
            let expected = expected.map(|(name, file)| (name.to_owned(), PathBuf::from(file)));
            assert_eq!(found, expected, "{argument}");
        }
    }
}
