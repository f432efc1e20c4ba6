//! The usual normalizations of images, and how well the answers of a model speak for one of them.

use strait_execute::Tensor;

/// A normalization of levels from 0 to 255.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Normalization {
    /// Where it is usual.
    pub(super) usual: &'static str,
    /// The steps in front of a change of the layout, in TOML.
    pub(super) steps: Vec<&'static str>,
}

impl Normalization {
    /// The usual ones for images with so many channels.
    pub(super) fn usual(channels: u64) -> Vec<Normalization> {
        let own = |usual, steps: &[&'static str]| Normalization {
            usual,
            steps: steps.to_vec(),
        };
        let mut all = vec![
            own("numbers from 0 to 1", &["{ scale = 0.00392156862745098 }"]),
            own(
                "numbers from -1 to 1, as in TensorFlow's MobileNet and Inception",
                &["{ normalize = { mean = [127.5], std = [127.5] } }"],
            ),
            own("levels as they are: the model normalizes by itself", &[]),
        ];
        if channels == 3 {
            all.push(own(
                "mean and deviation of ImageNet, as in torchvision",
                &["{ normalize = { mean = [123.675, 116.28, 103.53], std = [58.395, 57.12, 57.375] } }"],
            ));
            all.push(own(
                "BGR without the mean of ImageNet, as in Caffe",
                &[
                    "{ color = \"BGR\" }",
                    "{ normalize = { mean = [103.939, 116.779, 123.68] } }",
                ],
            ));
        }
        all
    }
}

/// How well answers tell samples apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Information {
    pub(super) bits: f64,
    /// The number of classes.
    pub(super) classes: usize,
}

/// The information that the answers of a classifier give about the sample, in bits: the entropy of the mean of the answers, less
/// the mean of their entropies. It is large if the answers are certain and differ from sample to sample, as those of a trained
/// model do on inputs like those it was trained on.
///
/// `None` if the first output of the samples is no vector of two classes or more.
pub(super) fn information(samples: &[Vec<Tensor>]) -> Option<Information> {
    let answers: Option<Vec<Vec<f64>>> = samples.iter().map(|outputs| answer(outputs.first()?)).collect();
    let answers = answers.filter(|answers| answers.len() > 1)?;
    let classes = answers.first()?.len();
    let mut mean = vec![0.0; classes];
    let mut certain = 0.0;
    for answer in &answers {
        for (mean, part) in mean.iter_mut().zip(answer) {
            *mean += part / answers.len() as f64;
        }
        certain += entropy(answer) / answers.len() as f64;
    }
    Some(Information {
        bits: entropy(&mean) - certain,
        classes,
    })
}

/// The probabilities of classes. Numbers that are no probabilities are taken for logits.
fn answer(output: &Tensor) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = output.values::<f32>().ok()?.iter().map(|&x| f64::from(x)).collect();
    let longest = output.shape().iter().copied().max()?;
    if numbers.len() < 2 || numbers.len() != longest || !numbers.iter().all(|x| x.is_finite()) {
        return None;
    }
    let sum: f64 = numbers.iter().sum();
    if (sum - 1.0).abs() < 1e-3 && numbers.iter().all(|&x| x >= 0.0) {
        return Some(numbers);
    }
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = numbers.iter().map(|x| libm::exp(x - most)).collect();
    let sum: f64 = powers.iter().sum();
    Some(powers.into_iter().map(|power| power / sum).collect())
}

fn entropy(parts: &[f64]) -> f64 {
    let positive = parts.iter().filter(|&&part| part > 0.0);
    -positive.map(|&part| part * libm::log2(part)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(rows: &[[f32; 2]]) -> Vec<Vec<Tensor>> {
        let tensor = |row: &[f32; 2]| vec![Tensor::from_values(&[1, 2], row).unwrap()];
        rows.iter().map(tensor).collect()
    }

    #[test]
    fn answers_that_are_certain_and_differ_tell_most() {
        let told = |rows: &[[f32; 2]]| information(&outputs(rows)).unwrap().bits;
        assert!((told(&[[1.0, 0.0], [0.0, 1.0]]) - 1.0).abs() < 1e-9);
        assert!(told(&[[0.5, 0.5], [0.5, 0.5]]).abs() < 1e-9);
        assert!(told(&[[1.0, 0.0], [1.0, 0.0]]).abs() < 1e-9);
        assert!(told(&[[30.0, -30.0], [-30.0, 30.0]]) > 0.999);
        assert_eq!(information(&outputs(&[[1.0, 0.0]])), None);
        assert_eq!(information(&[]), None);
    }
}
