//! Tests of plugins in shared libraries. The workers run the program that this package builds.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod admits;
mod build;
mod calls;
mod command;
mod deploy;
mod embedded;
mod emitted;
mod examples;
mod kit;
mod lifetime;
mod limits;
mod loading;
mod new;
mod outside;
mod own_model;
mod pages;
mod planted;
mod reader;
mod second_day;
mod survives;
