//! Does nothing: cargo takes `links` from packages with a build script only.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
