//! The intermediate representation of Strait, and the basis of all passes.
//!
//! A [`Module`] holds graphs and one pool of constants. A [`Graph`] is an arena of nodes and values. Only
//! [`Module::apply`] changes a graph. It applies a [`Patch`], and takes time proportional to the patch. Graphs of
//! every [`Stage`] have this same type: a stage is a property that the verifier checks, not a separate data structure.
//!
//! This crate does not depend on any target, model format or dynamic library.

mod addend;
mod adopt;
pub mod attribute;
pub mod attribute_list;
mod bodies;
pub mod bytes;
mod calls;
mod carrier;
mod certificate_record;
pub mod codes;
mod control;
pub mod elem;
mod failure;
pub mod form_list;
mod given;
pub mod graph;
pub mod ids;
mod kind;
mod late;
pub mod layout;
pub mod module;
mod named;
pub mod names;
mod node;
pub mod op;
pub mod pass;
pub mod patch;
pub mod quant;
pub mod reason;
mod reason_code;
pub mod rule;
pub mod shape;
mod shared_vec;
pub mod stage;
pub mod tensor;
mod term;
pub mod text;
mod topology;
mod use_list;
pub mod verifier;
mod zeros;

pub use addend::Addend;
pub use attribute::{Attribute, AttributeError, Attributes};
pub use attribute_list::OpError;
pub use bodies::Bodies;
pub use carrier::Carrier;
pub use certificate_record::CertificateRecord;
pub use elem::Elem;
pub use failure::{Failure, Refusal};
pub use graph::{Def, Fused, Graph, Node, Placement, Value};
pub use ids::{ConfigId, DataId, GraphId, NodeId, Symbol, Use, ValueId};
pub use kind::Kind;
pub use late::LateList;
pub use module::Module;
pub use names::Names;
pub use node::Channels;
pub use op::{Op, Term};
pub use pass::PassError;
pub use patch::{Applied, NewNode, Patch, PatchError, Source};
pub use quant::{
    CodesOrigin, Derivation, FloatFormat, Granularity, Grid, IllegalMove, Move, Origin, ParameterCodes, Parts, Policy,
    Port, QuantConfig, QuantParams, QuantTable, Reading, Scheme, SchemeError, State,
};
pub use reason::{Reason, refused};
pub use reason_code::ReasonCode;
pub use rule::{Counts, Outcome, Rewritten, Rule, RuleSet, Switches};
pub use shape::{Dim, MAX_RANK, Shape, TensorType};
pub use stage::Stage;
pub use strait_requantize::certificate::counted;
pub use strait_requantize::half_float::{BF16, F16, HalfFloat};
pub use tensor::{TensorData, TensorError};
pub use zeros::{WeightZero, Zero};
