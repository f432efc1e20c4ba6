//! Compiles the model of the repository for a target, runs the result, and writes it: from a program and without a configuration.
//! Run it in the root of the repository.

use std::{error::Error, fs};

use strait::{Artifact, Model, Rules, Samples, Target, Tensor};

fn main() -> Result<(), Box<dyn Error>> {
    let images = images("models/digits/calib_x.npy")?;

    let model = Model::open("models/digits/digits.onnx")?;
    let target = Target::named("generic-int8")?;
    let samples = Samples::new(images.iter().map(|image| vec![image.clone()]));
    let built = strait::compile(&model, &target, &samples, &Rules::new())?;
    built.write("build/embedded")?;

    let mut session = Artifact::open("build/embedded")?.session()?; // plans once, runs often
    for image in &images[..10] {
        let outputs = session.run(&[("image", image.view())])?;
        println!("{:?}", outputs["logits"].values::<f32>()?);
    }

    let (fusions, exact) = built.fusions();
    println!(
        "{} layers, {fusions} fusions of which {exact} are exact",
        built.layers()?.len()
    );
    Ok(())
}

/// The images of an array of bytes in a file of NumPy, `[N, 8, 8, 1]` from 0 to 16, as the model takes them.
fn images(path: &str) -> Result<Vec<Tensor>, Box<dyn Error>> {
    let file = fs::read(path)?;
    let header = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let image = |pixels: &[u8]| {
        let pixels: Vec<f32> = pixels.iter().map(|&pixel| f32::from(pixel) / 16.0).collect();
        Tensor::new(&[1, 1, 8, 8], &pixels)
    };
    Ok(file[header..].chunks_exact(64).map(image).collect::<Result<_, _>>()?)
}
