//! Runs `strait init`.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::Path,
};

use strait_driver::{
    diagnostic::Diagnostic,
    failure::{codes, unwritten},
    init::{Draft, Wish, draft},
    stop::Stop,
};

use crate::{arguments::Init, console, exit::Exit};

pub(crate) fn run(arguments: &Init) -> Exit {
    let drafted = super::in_session(&arguments.machine, |session| {
        let wish = Wish {
            model: arguments.model.clone(),
            targets: arguments.target.clone(),
            data: arguments.data.clone(),
            folder: folder(&arguments.out).to_owned(),
        };
        let draft = draft(&wish, &session)?;
        if !is_printed(&arguments.out) {
            write(&arguments.out, &draft.text)?;
        }
        Ok(draft)
    });
    match drafted {
        Ok(draft) if is_printed(&arguments.out) => console::print(&draft.text),
        Ok(draft) => console::print(&told(&draft, &arguments.out)),
        Err(stop) => console::stopped(&stop, false),
    }
}

fn is_printed(out: &Path) -> bool {
    out.as_os_str() == "-"
}

/// The folder of the file that is written.
fn folder(out: &Path) -> &Path {
    match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a new file.
fn write(out: &Path, text: &str) -> Result<(), Stop> {
    let made = OpenOptions::new().write(true).create_new(true).open(out);
    match made.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} exists already", out.display());
            Err(Diagnostic::error(codes::OUTPUT, message)
                .help("name another file with --out")
                .into())
        }
        Err(error) => Err(unwritten(out, &error).into()),
    }
}

fn told(draft: &Draft, out: &Path) -> String {
    let out = out.display();
    let mut text = format!("{out}\n");
    for guessed in &draft.guessed {
        text.push_str(&format!("guessed: {guessed}\n"));
    }
    for asked in &draft.asked {
        text.push_str(&format!("only you know {asked}\n"));
    }
    let next = match draft.asked.is_empty() {
        true => format!("next: `strait check {out}`, then `strait compile {out}`\n"),
        false => format!("next: edit {out}, then `strait check {out}`\n"),
    };
    text + &next
}
