//! This build script does nothing. It exists because cargo accepts the key `links` only in packages that have a build
//! script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
