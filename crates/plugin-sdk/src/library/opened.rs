//! An opened target, and the forms that the host has asked it to compute.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use strait_kernels::Context;
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{Registry, Target};

use super::answer::Failure;

/// A form, and the loops that have been prepared for it, one for each range of channels that the host has asked for.
pub(super) struct Prepared {
    pub(super) form: Requantization,
    pub(super) loops: BTreeMap<(usize, usize), Box<dyn Loops>>,
}

impl Prepared {
    /// The loops that compute the form for these channels. If all channels have the same parameters, the range does not
    /// matter.
    pub(super) fn of(&mut self, opened: &Opened, channels: Range<usize>) -> Result<&dyn Loops, Failure> {
        let key = (channels.start, channels.end);
        if !self.loops.contains_key(&key) {
            let some = match self.form.channels() {
                Some(all) if channels != (0..all) => {
                    if channels.end > all {
                        return Err(Failure::argument("more channels than the form has"));
                    }
                    self.form.select(&channels.collect::<Vec<_>>())
                }
                _ => Some(self.form.clone()),
            };
            let form = some.ok_or_else(|| Failure::argument("channels that the form does not have"))?;
            let loops = match opened.target.own_loops(&form, None)? {
                Some(own) => own,
                None => opened.target.loops(&form, None)?,
            };
            if loops.out() != form.out() {
                return Err(Failure::internal(
                    "its loops write codes of another type than the form's",
                ));
            }
            self.loops.insert(key, loops);
        }
        let loops = self.loops.get(&key).map(AsRef::as_ref);
        loops.ok_or_else(|| Failure::internal("loops that were forgotten"))
    }
}

/// A target that is open. The host holds a pointer to it.
pub(super) struct Opened {
    pub(super) target: Arc<dyn Target>,
    /// A registry with only this target. It knows which forms the target computes itself.
    pub(super) registry: Registry,
    pub(super) context: Context,
    /// The forms that the host has asked for. The key is the form's JSON.
    pub(super) forms: Mutex<BTreeMap<Vec<u8>, Prepared>>,
}
