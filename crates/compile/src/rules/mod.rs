//! Rules: what the user requires of layers, operands and tensors. This module turns rules into the settings of one
//! target's graph.
//!
//! - [`select`] finds what each [`Rule`] applies to, in the canonical graph, which is the same for every target.
//! - [`Selection::carried`] finds the same nodes and values in the graph of one target.
//! - [`settings`] combines the rules for each layer, where later rules win, checks them against the target's table, and
//!   makes [`Settings`](crate::Settings).
//!
//! Each error is a [`RuleError`] and names the key with the error.

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
pub use keys::{KEYS, Of, RuleKey};
pub use leaf::{FilePath, Pattern, Range};
pub use names::{matches_layer, unmatched_layers};
pub use observers::requests;
pub use quantize::{Activations, Alignment, Between, GivenGrids, Quantize, Rule, Run, Weights};
pub use select::select;
pub(crate) use selection::moves_codes;
pub use selection::{Selection, weighs};
pub use settings::settings;
pub use strait_quantize::annotate::Unfit;

/// Everything that the user can set for quantization.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rules {
    /// The settings for all layers, and rules for single layers.
    pub quantize: Quantize,
    /// The observer that finds ranges, unless a rule names another one. If this field is absent, the observer of the
    /// target's table is used.
    pub observer: Option<Observer>,
    /// Settings of the observer. A rule may set others.
    pub observer_options: ObserverOptions,
    /// The ranges of the model's inputs, by name.
    pub inputs: BTreeMap<String, Range>,
}
