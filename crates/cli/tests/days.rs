//! Runs the working days in `tests/days`; the README there says what their lines mean.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::copy::repository;

/// A day has at most so many commands.
const MOST: usize = 12;

/// A folder in which somebody works.
struct Day<'a> {
    name: &'a str,
    folder: &'a Path,
    /// What names commands: the README, what was printed, and the files that the program wrote.
    known: String,
    /// What the last command printed.
    said: String,
    code: i32,
    commands: usize,
}

impl Day<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&mut self, line: &str) {
        assert_eq!(
            self.code, 0,
            "{}: the command before `{line}` failed\n{}",
            self.name, self.said
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        // Commands of `plugin` and others have two words.
        let verb = match words[1] {
            "plugin" | "config" | "params" => &words[..3],
            _ => &words[..2],
        };
        let verb = verb.join(" ");
        let is_named = |known: &str| known.split_whitespace().collect::<Vec<_>>().join(" ").contains(&verb);
        assert!(is_named(&self.known), "{}: nothing named `{verb}` before", self.name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
        command
            .args(unquoted(line).into_iter().skip(1))
            .current_dir(self.folder);
        let output = command.env_remove("STRAIT_ISA").stdin(Stdio::null()).output().unwrap();
        self.said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        self.code = output.status.code().unwrap();
        self.known += &self.said;
        self.commands += 1;
        assert!(self.commands <= MOST, "{}: more than {MOST} commands", self.name);
    }

    fn says(&self, text: &str) -> bool {
        let said = self.said.split_whitespace().collect::<Vec<_>>().join(" ");
        said.contains(text)
    }

    fn replace(&self, name: &str, before: &str, after: &str) {
        let text = self.text(name);
        assert!(
            text.contains(before),
            "{}: {name} has no `{before}`:\n{text}",
            self.name
        );
        fs::write(self.path(name), text.replacen(before, after, 1)).unwrap();
    }

    /// Appends the first rule that the last command printed.
    fn paste(&self, name: &str) {
        let lines = self.said.lines().skip_while(|line| !line.contains("[[quantize.rule]]"));
        let rule: Vec<&str> = lines
            .map(str::trim)
            .take_while(|line| line.contains(['[', '=']))
            .collect();
        assert!(!rule.is_empty(), "{}: no rule was printed:\n{}", self.name, self.said);
        fs::write(self.path(name), format!("{}\n{}\n", self.text(name), rule.join("\n"))).unwrap();
    }

    fn write(&self, name: &str, lines: &[&str]) {
        let path = self.path(name);
        let digest = |line: &str| match line.split_once("DIGEST OF ") {
            Some((before, rest)) => {
                let (file, rest) = rest.split_once('"').unwrap();
                let digest = strait_plugin_host::sha256(&path.with_file_name(file)).unwrap();
                format!("{before}{digest}\"{rest}")
            }
            None => line.to_owned(),
        };
        let text: Vec<String> = lines.iter().map(|line| digest(line)).collect();
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{before}{}\n", text.join("\n"))).unwrap();
    }
}

/// The words of a command line. Single quotes hold words together.
fn unquoted(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

fn copied(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copied(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

fn live(name: &str) {
    let script = fs::read_to_string(repository("tests/days").join(format!("{name}.day"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut day = Day {
        name,
        folder: folder.path(),
        known: fs::read_to_string(repository("README.md")).unwrap(),
        said: String::new(),
        code: 0,
        commands: 0,
    };
    let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut lines: VecDeque<&str> = lines.collect();
    while let Some(line) = lines.pop_front() {
        let mut block = |prefix: &str| -> Vec<&str> {
            let count = lines.iter().take_while(|line| line.starts_with(prefix)).count();
            lines.drain(..count).map(|line| &line[prefix.len()..]).collect()
        };
        let (verb, rest) = line.split_once(' ').unwrap();
        match verb {
            "needs" if !repository(rest).exists() => {
                eprintln!("{name}: skipped, there is no {rest}");
                return;
            }
            "needs" => {}
            "has" => {
                let (name, from) = rest.split_once(" from ").unwrap();
                copied(&repository(from), &day.path(name));
            }
            "writes" => day.write(rest, &block("    ")),
            "replaces" => {
                let (before, after) = (block("- ").join("\n"), block("+ ").join("\n"));
                day.replace(rest, &before, &after);
            }
            "pastes" => day.paste(rest.strip_prefix("into ").unwrap()),
            "$" => day.run(rest),
            "exits" => {
                assert_eq!(day.code, rest.parse::<i32>().unwrap(), "{name}\n{}", day.said);
                day.code = 0;
            }
            "says" => assert!(day.says(rest), "{name}: it does not say `{rest}`:\n{}", day.said),
            "silent" => assert!(!day.says(rest), "{name}: it says `{rest}`:\n{}", day.said),
            other => panic!("{name}: there is no line `{other}`"),
        }
    }
    assert_eq!(day.code, 0, "{name}\n{}", day.said);
}

#[test]
fn two_lost_points_are_found_and_won_back() {
    live("points");
}

#[test]
fn a_stepping_of_a_chip_becomes_an_overlay_that_is_proved() {
    live("stepping");
}

#[test]
#[ignore = "takes minutes, and needs real data"]
fn a_detector_comes_to_two_chips_from_its_file_to_gates_that_hold() {
    live("detector");
}
