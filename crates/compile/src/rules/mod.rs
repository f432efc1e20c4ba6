//! Rules: what whoever compiles wants of layers, operands and tensors, and its way to the settings of one target's graph.
//!
//! [`select`] finds what each [`Rule`] is for, in the graph that knows no target; [`Selection::carried`] brings that to the graph of a target,
//! and [`settings`] makes [`Settings`](crate::Settings) of what the rules say together, of which later ones win, and
//! holds them against the target's table. Whatever is wrong is a [`RuleError`], which names the key.

mod check;
mod consistent;
mod error;
mod folded;
mod keys;
mod leaf;
mod names;
mod observers;
mod ports;
mod quantize;
mod select;
mod selection;
mod settings;

use std::collections::BTreeMap;

use serde::Serialize;
use strait_target::spec::{Observer, ObserverOptions};

pub use consistent::consistent;
pub use error::{RuleError, RuleErrors};
pub use folded::Layers;
pub use keys::{KEYS, Key, Of};
pub use leaf::{Pattern, Range};
pub use names::{matches_layer, unmatched_layers};
pub use observers::requests;
pub use quantize::{Activations, Alignment, Between, GivenGrids, Quantize, Rule, Run, Weights};
pub use select::select;
pub use selection::{Selection, weighs};
pub use settings::settings;
pub use strait_quantize::annotate::Unfit;

/// All that rules say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rules {
    /// For all layers, and for some.
    pub quantize: Quantize,
    /// The observer that makes ranges where no rule says another. Absent: that of the target's table.
    pub observer: Option<Observer>,
    /// Its settings, as far as a rule does not say others.
    pub observer_options: ObserverOptions,
    /// The values that inputs of the model take, by name.
    pub inputs: BTreeMap<String, Range>,
}
