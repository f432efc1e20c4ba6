//! Rules, rows of tables and operators, each at least once. One program, so that it is linked once.

mod admits;
mod custom_verb;
mod float_rules;
mod fusion;
mod operators;
mod rows;
mod rule_numbers;
mod rules;
mod tensorflow_rules;
