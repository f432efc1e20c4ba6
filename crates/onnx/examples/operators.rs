//! Prints the operators that are read, one line each: `domain name since until`, by operator sets.
//!
//! `cargo run -p strait-onnx --example operators`

fn main() {
    for operator in strait_onnx::operators() {
        let (since, until) = operator.sets.into_inner();
        println!("{} {} {since} {until}", operator.domain, operator.name);
    }
}
