//! Tests the files that a target writes, using small networks that are compiled for it.

use super::witness::Witness;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::Module;
use strait_core::text::{PrintOptions, print};
use strait_target::{Emission, Sink, Target, TargetError};

/// Files in memory. Their names, their number and their sizes are checked before a target's files get here.
#[derive(Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Sink for Files {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.0.insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    fn graph(&mut self, path: &str, _: &str, module: &Module) -> Result<(), TargetError> {
        let text = print(module, &PrintOptions::whole());
        self.0.insert(path.to_owned(), text.into_bytes());
        Ok(())
    }
}

/// The files that a target wrote for several networks.
#[derive(Default)]
pub(super) struct Emitted {
    /// Files of each network, by the network's name.
    files: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// Networks for which the target refused to write files, each with the reason.
    pub(super) refused: Vec<String>,
    pub(super) faults: Vec<String>,
}

impl Emitted {
    /// Lets the target write its files for a network: twice in this process, and once in another process.
    pub(super) fn add(&mut self, target: &Witness, name: &str, module: &Module) {
        let emission = Emission::new(module, name);
        let write = |target: &dyn Target| {
            let mut files = Files::default();
            target.emit_all(&emission, &mut files).map(|()| files.0)
        };
        let first = match write(target) {
            Ok(files) => files,
            Err(TargetError::Refused(reason)) => return self.refused.push(format!("{name}: {}", reason.text)),
            Err(error) => return self.faults.push(format!("{name}: {error}")),
        };
        if first.is_empty() {
            self.faults.push(format!("{name}: it writes no file"));
        }
        let elsewhere = target.elsewhere().map(|other| ("in another process", write(&**other)));
        for (how, again) in [("called again", write(target))].into_iter().chain(elsewhere) {
            match again {
                Ok(again) => {
                    let differs = differing(&first, &again);
                    self.faults.extend(differs.map(|file| format!("{name}: {how}, {file}")));
                }
                Err(error) => self.faults.push(format!("{name}: {how}: {error}")),
            }
        }
        self.files.insert(name.to_owned(), first);
    }

    /// Number of networks for which files were written.
    pub(super) fn networks(&self) -> usize {
        self.files.len()
    }

    /// A summary with the numbers of networks, files and bytes that were written.
    pub(super) fn summary(&self) -> String {
        let all = || self.files.values().flat_map(BTreeMap::values);
        let (networks, files) = (self.networks(), all().count());
        let bytes: usize = all().map(Vec::len).sum();
        let refused = match self.refused.len() {
            0 => String::new(),
            count => format!(", {count} refused"),
        };
        format!("{networks} networks{refused}, {files} files, {bytes} bytes")
    }

    /// Returns a finding if the target wrote the same files for two different networks.
    pub(super) fn same_of_two(&self) -> Option<String> {
        let mut seen: BTreeMap<&BTreeMap<String, Vec<u8>>, &str> = BTreeMap::new();
        self.files.iter().find_map(|(name, files)| {
            let other = seen.insert(files, name)?;
            Some(format!(
                "{other} and {name} have the same files, although they are different models"
            ))
        })
    }
}

/// Name of the first file that differs between two outputs of the target.
fn differing(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> Option<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = names.into_iter().find(|name| one.get(*name) != other.get(*name))?;
    Some(match (one.get(differs), other.get(differs)) {
        (Some(a), Some(b)) => {
            let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            format!("{differs} is another file from its byte {at} on")
        }
        (Some(_), None) => format!("{differs} is not written"),
        _ => format!("{differs} is written, which it was not at first"),
    })
}
