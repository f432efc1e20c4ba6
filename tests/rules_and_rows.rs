//! Tests of rules, rows of tables and operators, each at least once. All are in one program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod admits;
mod custom_verb;
mod float_rules;
mod fusion;
mod operators;
mod rows;
mod rule_numbers;
mod rules;
mod tensorflow_rules;
