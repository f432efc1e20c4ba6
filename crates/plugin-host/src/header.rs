//! Reads the first bytes of a library to find out for which machine it was built. No code of the library runs.

use crate::LoadError;

/// The platform of this program, written as in configurations, such as `x86_64-unknown-linux-gnu`.
pub fn triple() -> String {
    let architecture = std::env::consts::ARCH;
    match std::env::consts::OS {
        "linux" if cfg!(target_env = "musl") => format!("{architecture}-unknown-linux-musl"),
        "linux" => format!("{architecture}-unknown-linux-gnu"),
        "macos" => format!("{architecture}-apple-darwin"),
        "windows" => format!("{architecture}-pc-windows-msvc"),
        other => format!("{architecture}-unknown-{other}"),
    }
}

/// A library's system and architecture, in the words of [`std::env::consts`].
#[derive(Debug, PartialEq, Eq)]
struct Machine(&'static str, String);

/// Checks that the bytes begin with the header of a library for this machine.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let Machine(system, architecture) = machine(bytes).ok_or(LoadError::NotALibrary)?;
    let own = (std::env::consts::OS, std::env::consts::ARCH);
    if (system, architecture.as_str()) == own || (system == own.0 && architecture == "several architectures") {
        return Ok(());
    }
    Err(LoadError::Architecture {
        found: format!("{architecture} on {system}"),
        needed: format!("{} on {}", own.1, own.0),
    })
}

fn machine(bytes: &[u8]) -> Option<Machine> {
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    match bytes.get(..4)? {
        b"\x7fELF" => {
            // A 32-bit file, or a file with the other byte order, cannot be used, even if it is for the right
            // architecture.
            let [class, order] = *bytes.get(4..6)? else { return None };
            if [class, order] != [2, 1] {
                return Some(Machine(
                    "linux",
                    "a machine of 32 bits or of the other byte order".into(),
                ));
            }
            // Type 3 is a shared object.
            (half(16)? == 3).then_some(())?;
            let name = match half(18)? {
                62 => "x86_64".to_owned(),
                183 => "aarch64".to_owned(),
                243 => "riscv64".to_owned(),
                other => format!("machine {other} of ELF"),
            };
            Some(Machine("linux", name))
        }
        [0xcf, 0xfa, 0xed, 0xfe] => {
            // Type 6 is a dynamic library, and type 8 is a bundle.
            matches!(word(12)?, 6 | 8).then_some(())?;
            let name = match word(4)? {
                0x0100_0007 => "x86_64".to_owned(),
                0x0100_000c => "aarch64".to_owned(),
                other => format!("type {other} of Mach-O"),
            };
            Some(Machine("macos", name))
        }
        [0xca, 0xfe, 0xba, 0xbe] => Some(Machine("macos", "several architectures".into())),
        [b'M', b'Z', ..] => Some(Machine("windows", "a machine of Windows".into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
        bytes[16..18].copy_from_slice(&kind.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn headers_say_for_which_machine_they_are() {
        for (bytes, expected) in [
            (elf(2, 3, 62), Some(Machine("linux", "x86_64".into()))),
            (elf(2, 3, 183), Some(Machine("linux", "aarch64".into()))),
            // The headers of an executable and of an object file.
            (elf(2, 2, 62), None),
            (elf(2, 1, 62), None),
            (b"#!/bin/sh\n".to_vec(), None),
            (
                b"MZ\x90\x00".to_vec(),
                Some(Machine("windows", "a machine of Windows".into())),
            ),
            (vec![], None),
            (elf(2, 3, 62)[..18].to_vec(), None),
        ] {
            assert_eq!(machine(&bytes), expected);
        }
        let foreign = check(&elf(2, 3, 8)).unwrap_err().to_string();
        assert!(
            foreign.starts_with("it is a library for machine 8 of ELF on linux, and this is "),
            "{foreign}"
        );
        assert!(check(&elf(1, 3, 62)).unwrap_err().to_string().contains("32 bits"));
    }
}
