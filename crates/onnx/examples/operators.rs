//! Prints the operators that Strait reads, one line each: `domain name first last versions`. `first` and `last` are
//! operator sets.
//!
//! `cargo run -p strait-onnx --example operators`

fn main() {
    for operator in strait_onnx::operators() {
        let (first, last) = operator.sets.into_inner();
        let versions: Vec<String> = operator.versions.iter().map(ToString::to_string).collect();
        println!(
            "{} {} {first} {last} {}",
            operator.domain,
            operator.name,
            versions.join(",")
        );
    }
}
