//! An artifact, opened to be run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;
use strait_compile::{CompileError, OwnLoops, Shares, TargetLoops, shares};
use strait_container::{Artifact, Digest, Integrity, Model, TargetOrigin};
use strait_core::{Bodies, Module};
use strait_document::nearest;
use strait_execute::{LoopsFor, PlanOptions, Standard};
use strait_samples::{InputSpec, Kind, Samples, Set};
use strait_target::Registry;
use strait_verify::Ranges;

use crate::{
    config::types::Preprocess,
    deployment::{DEPLOYMENT_FILE, Deployment, SCHEMA},
    diagnostic::{Diagnostic, Diagnostics},
    evaluation::Side,
    failure::{self, codes},
    pipeline::inputs,
    plugins,
    session::Session,
    stop::Stop,
    table, targets,
};

/// See the module.
pub struct Opened {
    /// The folder's content.
    pub artifact: Artifact,
    /// The graphs, with the bodies of control flow open in them.
    pub model: Model,
    /// The bodies of the main graph.
    bodies: Bodies,
    /// The module as it runs, where there are bodies.
    whole: Option<Module>,
    /// Deployment of the model.
    pub deployment: Deployment,
    /// Who computes its requantizations.
    loops: Box<dyn LoopsFor>,
    computed: Computed,
    /// The layers that the target's own model computes, where it is asked to.
    own_model: Option<Shares>,
    /// Where the target comes from that is registered, if it is another place than the artifact's.
    elsewhere: Option<String>,
}

/// Who is to compute the requantizations of an artifact instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The kernels that are registered, or the host's.
    #[default]
    Registered,
    /// The target's own model of its arithmetic: of the plugin in this library, which the artifact was made with.
    Target(Option<PathBuf>),
}

/// Who computes the requantizations of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "because")]
pub enum Computed {
    /// The kernels that the registry has for its forms: the target's own, or the host's.
    Target,
    /// The target's own model of its arithmetic, out of the library of its plugin.
    OwnModel,
    /// The host, by the definition of the forms, and why.
    Host(String),
}

impl Opened {
    /// Opens the artifact in a folder.
    ///
    /// The target computes the requantizations if it is registered with the table that the artifact was made with;
    /// otherwise the host does. The bits are the same: forms are data.
    ///
    /// # Errors
    /// A folder that is no artifact, or a damaged one.
    pub fn open(folder: &Path, registry: &Registry) -> Result<Opened, Stop> {
        let artifact = Artifact::open(folder).map_err(failure::reading)?;
        let model = artifact.model(Integrity::Full).map_err(failure::reading)?;
        Opened::new(artifact, model, registry)
    }

    /// The same, of an artifact whose graphs have been read.
    ///
    /// # Errors
    /// A damaged `deployment.json`.
    pub fn new(artifact: Artifact, mut model: Model, registry: &Registry) -> Result<Opened, Stop> {
        let bytes = artifact.file(DEPLOYMENT_FILE).map_err(failure::reading)?;
        let damaged = |what: String| {
            let message = format!("{}: {DEPLOYMENT_FILE} {what}", artifact.folder().display());
            Diagnostics::from(Diagnostic::error(codes::DAMAGED, message))
        };
        let deployment: Deployment =
            serde_json::from_slice(&bytes).map_err(|error| damaged(format!("cannot be read: {error}")))?;
        if deployment.schema != SCHEMA {
            return Err(damaged(format!(
                "is of schema {}, this version reads {SCHEMA}",
                deployment.schema
            ))
            .into());
        }
        let version = &artifact.manifest().target;
        let recorded = registry
            .entry(&version.id)
            .ok()
            .map(|entry| targets::recorded(entry.origin(), entry.table().bases()));
        let told = |origin: &Option<TargetOrigin>| {
            origin
                .as_ref()
                .map_or("a table in a file".to_owned(), ToString::to_string)
        };
        let elsewhere = recorded.filter(|here| *here != version.origin).map(|here| told(&here));
        let computed = match registry.entry(&version.id) {
            Ok(entry) if Digest(entry.table().digest()) == version.table => Computed::Target,
            Ok(_) => Computed::Host(format!("the target `{}` is registered with another table", version.id)),
            Err(_) => Computed::Host(format!("no target `{}` is registered", version.id)),
        };
        let loops: Box<dyn LoopsFor> = if computed == Computed::Target {
            let target = registry.get(&version.id, &deployment.options);
            Box::new(TargetLoops(target.map_err(|error| failure::registry(&error))?))
        } else {
            Box::new(Standard)
        };
        let whole = model.module.clone();
        let bodies = strait_verify::lay_open(&mut model.module);
        Ok(Opened {
            artifact,
            model,
            whole: Some(whole).filter(|_| !bodies.is_empty()),
            bodies,
            deployment,
            loops,
            computed,
            own_model: None,
            elsewhere,
        })
    }

    /// Has the requantizations computed by these kernels, and says what of them a library leaves to the host.
    ///
    /// # Errors
    /// A target that is neither registered nor in the library; a library that the artifact was not made with, that fails, or
    /// that computes no layer of it.
    pub fn by(mut self, kernels: &Kernels, registry: &Registry, session: &Session<'_>) -> Result<Opened, Stop> {
        let Kernels::Target(library) = kernels else {
            return Ok(self);
        };
        let version = &self.artifact.manifest().target;
        let refused = |text: String| Stop::from(Diagnostic::error(codes::TARGET, text));
        let options = &self.deployment.options;
        let (target, computed) = match (library, &version.origin) {
            (Some(path), Some(TargetOrigin::Library { sha256, .. })) => {
                let target = plugins::with_own_model(path, sha256, &version.id, options)?;
                (target, Computed::OwnModel)
            }
            (Some(_), _) => {
                let text = "the artifact was not made with a plugin in a library, so that none can be held against it";
                return Err(refused(text.to_owned()));
            }
            (None, _) => match &self.computed {
                Computed::Host(reason) => {
                    let found =
                        Diagnostic::error(codes::TARGET, format!("the target's kernels are not here: {reason}"));
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
        if let (Computed::OwnModel, Some(TargetOrigin::Library { package, .. })) = (&computed, &version.origin) {
            let found = shares(target.as_ref(), &self.model.module)
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
            self.own_model = Some(found);
        }
        self.loops = Box::new(OwnLoops(target));
        self.computed = computed;
        Ok(self)
    }

    /// Where the registered target comes from, if that is not where the artifact's came from.
    pub fn elsewhere(&self) -> Option<&str> {
        self.elsewhere.as_deref()
    }

    /// Who computes the requantizations.
    pub fn computed(&self) -> &Computed {
        &self.computed
    }

    /// The layers that the target's own model computes, where it is asked to, and those that the host does.
    pub fn own_model(&self) -> Option<Shares> {
        self.own_model
    }

    /// Who computes the requantizations, for a plan.
    pub fn loops(&self) -> &dyn LoopsFor {
        self.loops.as_ref()
    }

    /// The integer module, with the bodies of control flow open in its graphs.
    pub fn module(&self) -> &Module {
        &self.model.module
    }

    /// The bodies of control flow that lie open in the main graph of [`Opened::module`].
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// The integer module as it runs.
    pub fn whole(&self) -> &Module {
        self.whole.as_ref().unwrap_or(&self.model.module)
    }

    /// The plan of the main graph; with `join` off every value can be seen.
    ///
    /// # Errors
    /// A graph that cannot be run, or that takes more than it may.
    pub fn plan(&self, session: &Session<'_>, join: bool) -> Result<Side, Stop> {
        let options = PlanOptions {
            context: session.context,
            loops: self.loops.as_ref(),
            join,
        };
        Side::new(self.whole(), &options, session)
    }

    /// Samples that each input takes.
    ///
    /// # Errors
    /// Preprocessing that is not possible, which no artifact of ours has.
    pub fn inputs(&self) -> Result<Vec<InputSpec>, Diagnostics> {
        let none = Preprocess::default();
        let spec = |input: &inputs::Input| {
            let deployed = self
                .deployment
                .inputs
                .iter()
                .find(|deployed| deployed.name == input.name);
            inputs::spec(input, deployed.map_or(&none, |input| &input.preprocess))
        };
        inputs::inputs(self.module(), &self.bodies).iter().map(spec).collect()
    }

    /// The integers that random inputs are drawn from.
    pub fn ranges(&self) -> Ranges {
        let inputs = self.deployment.inputs.iter();
        Ranges(
            inputs
                .filter_map(|input| Some((input.name.clone(), input.range?)))
                .collect(),
        )
    }
}

/// The samples of arguments `[NAME=]PATH`, and the files: one path for all inputs, as the calibration takes it, or a file for
/// each.
///
/// # Errors
/// As for [`named_file`] and [`Samples`], and two files for one input.
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

/// The file for each input of arguments `[NAME=]FILE`.
///
/// # Errors
/// As for [`named_file`], and two files for one input.
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

/// An input that was named on the command line as `[NAME=]FILE`, with the inputs that there are.
///
/// # Errors
/// A file without a name where there are several inputs.
pub fn named_file(argument: &str, inputs: &[InputSpec]) -> Result<(String, PathBuf), Diagnostics> {
    // A name may contain `=`, and so may a path: the longest name that fits is meant.
    let named = inputs.iter().filter_map(|input| {
        let file = argument.strip_prefix(input.name.as_str())?.strip_prefix('=')?;
        Some((input.name.clone(), PathBuf::from(file)))
    });
    if let Some(found) = named.max_by_key(|(name, _)| name.len()) {
        return Ok(found);
    }
    if let [only] = inputs {
        // Without a file of that name, what stands in front of `=` was meant as a name.
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
