//! Runs `strait plugin check`.

use std::{path::Path, sync::Arc, time::Duration};

use strait_conformance::{Examination, Kit, Recording, examine};
use strait_driver::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    limits,
    session::Progress as _,
    stop::Stop,
};
use strait_identify::Vectors;
use strait_plugin_host::{Allowance, Library, Patience, Program, register, sha256};
use strait_target::{
    Options, Registry,
    spec::{OptionType, OptionValue},
};

use super::subject::Subject;
use crate::{arguments::Check, commands::identify, console, exit::Exit, watch::Watch};

pub(super) fn run(arguments: &Check) -> Exit {
    let kit = match examined(arguments) {
        Ok(kit) => kit,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    let printed = console::shown(arguments.json, || kit.to_json(), || kit.to_string());
    printed.worse(Exit::Failed.unless(kit.is_ok()))
}

fn examined(arguments: &Check) -> Result<Kit, Stop> {
    let mut registry = Registry::default();
    let subject = Path::new(&arguments.subject);
    let builtin = Registry::builtin().map_err(|error| failure::registry(&error))?;
    let kind = Subject::of(&arguments.subject, &builtin);
    let mut loaded: Option<Arc<Library>> = None;
    let entry = match kind {
        Subject::Table => registry.add_file(subject),
        Subject::Library => {
            let library = load_library(subject, arguments)?;
            register(&mut registry, loaded.insert(library).clone())
        }
        Subject::Id => {
            registry = builtin;
            registry.entry(&arguments.subject)
        }
    };
    let entry = entry.map_err(|error| failure::registry(&error))?;
    let spec = entry.table().default_spec();
    let mut options = Options::new();
    for (name, value) in &arguments.option {
        // The value of an option with an unknown name is kept as text. The option is refused later, with a list of the
        // known names, as in a configuration.
        let value = match (spec.options.get(name).map(|row| row.kind), value.as_str()) {
            (Some(OptionType::Integer), text) => text
                .parse()
                .map_or(OptionValue::String(text.into()), OptionValue::Integer),
            (Some(OptionType::Bool), "true") => OptionValue::Bool(true),
            (Some(OptionType::Bool), "false") => OptionValue::Bool(false),
            (_, text) => OptionValue::String(text.into()),
        };
        options.insert(name.clone(), value);
    }
    let mut files = arguments.vectors.clone();
    // If the table is a file, the recordings that it names are looked for in the same folder.
    let beside = subject.parent().filter(|_| kind == Subject::Table);
    let named = spec.silicon.iter().flat_map(|silicon| &silicon.evidence);
    let named = beside
        .into_iter()
        .flat_map(|folder| named.clone().map(|one| folder.join(&one.file)));
    files.extend(named.filter(|file| file.exists()));
    let recordings: Vec<Recording> = files.iter().map(|file| recording(file)).collect::<Result<_, _>>()?;
    let how = Examination {
        options: &options,
        library: loaded.as_deref(),
        recordings: &recordings,
        patience: Duration::from_secs(arguments.patience.into()),
        progress: &Shown(Watch::new()),
    };
    examine(entry, &how).map_err(|error| failure::registry(&error).into())
}

/// Shows the parts of an examination that take longer than a second.
#[derive(Debug)]
struct Shown(Watch);

impl strait_conformance::ExaminationProgress for Shown {
    fn begin(&self, part: &str, steps: usize) {
        self.0.end();
        self.0.begin(part, Some(steps));
    }

    fn advance(&self, done: usize) {
        self.0.advance(done);
    }
}

fn recording(file: &Path) -> Result<Recording, Stop> {
    let vectors = Vectors::read(file).map_err(|error| identify::wrong(&error))?;
    let sha256 = sha256(file).map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Stop::from(Diagnostic::error(codes::VECTORS, message))
    })?;
    Ok(Recording {
        file: file.display().to_string(),
        sha256,
        vectors,
    })
}

/// Loads the library that is to be examined. It does not have to be pinned by a digest, because the user has named it
/// on the command line.
fn load_library(path: &Path, arguments: &Check) -> Result<Arc<Library>, Stop> {
    let failed = |message: String| Stop::from(Diagnostic::error(codes::TARGET, message));
    let program = Program::this().map_err(|error| failed(format!("this program cannot be found: {error}")))?;
    let call = Duration::from_secs(arguments.patience.into());
    let patience = Patience {
        call,
        ..Patience::default()
    };
    let allowance = Allowance::default().with_memory(limits::of_machine().memory);
    let library =
        Library::load(path, None, program.with(allowance), patience).map_err(|error| failed(error.to_string()))?;
    Ok(Arc::new(library))
}
