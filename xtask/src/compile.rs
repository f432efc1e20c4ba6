//! `cargo xtask compile`: the shortest way from a clone to an integer model.

use crate::{Command, Outcome, Stop, process, workspace};
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "compile",
    summary: "build strait and compile configs/TARGET.toml",
    help: HELP,
    run,
};

const HELP: &str = "
Builds the binary `strait` in the profile `quick` and runs `strait compile configs/TARGET.toml`. The profile is the one that is
built soonest; `cargo install --path crates/cli` gives a program that compiles large models in half the time.

Usage: cargo xtask compile --target TARGET [ARGUMENTS OF strait compile]

TARGET is the name of a configuration in configs/: the model in the repository for that target.
Everything else goes to `strait compile` as it stands; its exit code is ours.
With STRAIT_BUILD_PROFILE=release or =dev in the environment the binary is of that profile. The bytes are the same.

Examples:
  cargo xtask compile --target sima
  cargo xtask compile --target ascend --out build/try --threads 1
";

fn run(arguments: &[String]) -> Outcome {
    let (target, rest) = split_target(arguments)?;
    let config = configuration(&workspace::root(), &target)?;
    let strait = workspace::build_strait("quick")?;
    process::run(std::process::Command::new(strait).arg("compile").arg(config).args(rest))
}

/// Takes `--target X` or `--target=X` out of the arguments.
fn split_target(arguments: &[String]) -> Result<(String, Vec<String>), Stop> {
    let mut target = None;
    let mut rest = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--target") {
            Some("") => arguments.next().map(String::as_str),
            Some(value) if value.starts_with('=') => Some(&value[1..]),
            _ => {
                rest.push(argument.clone());
                continue;
            }
        };
        let value = value.ok_or_else(|| Stop::Usage("--target needs a name".into()))?;
        if target.replace(value.to_owned()).is_some() {
            return Err(Stop::Usage("--target is given twice".into()));
        }
    }
    let target = target.ok_or_else(|| Stop::Usage("compile needs --target; see --help".into()))?;
    Ok((target, rest))
}

/// The configuration file of a target. If there is none, the error lists the targets that have one.
fn configuration(root: &Path, target: &str) -> Result<PathBuf, Stop> {
    let folder = root.join("configs");
    let files = workspace::names(&folder)?;
    let names: Vec<&str> = files.iter().filter_map(|file| file.strip_suffix(".toml")).collect();
    match names.contains(&target) {
        true => Ok(folder.join(format!("{target}.toml"))),
        false => Err(Stop::Usage(format!(
            "there is no configs/{target}.toml; there are: {}",
            names.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<(String, Vec<String>)> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        split_target(&arguments).ok()
    }

    #[test]
    fn the_target_is_taken_out_and_the_rest_passed_on() {
        for line in [
            "--target sima --out x",
            "--out x --target sima",
            "--target=sima --out x",
        ] {
            assert_eq!(
                split(line),
                Some(("sima".into(), vec!["--out".into(), "x".into()])),
                "{line}"
            );
        }
    }

    #[test]
    fn a_missing_or_doubled_target_is_refused() {
        for line in ["", "--out x", "--target", "--target a --target=b"] {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
