//! The words for metrics in configurations and reports. Their documentation is also part of the reference page for
//! configurations.

strait_document::words! {
    /// A metric that measures the quality of the model's results.
    Metric {
        /// The percentage of right answers. An answer is the index of the largest number along the axis of the classes,
        /// which is the last axis of the output unless `axis` names another. Trailing axes of 1 do not count. Each
        /// position along the other axes has an answer of its own: an output `[1, classes]` has one answer for each
        /// sample, and `[1, tokens, classes]` has one for each token. If an output has integers, each of them is an
        /// answer.
        ///
        /// A label is a class, counted from 0. Labels have the shape of the answers: `[samples]` if each sample has one
        /// answer, or else `[samples, tokens]`. Answers with the label `ignore` do not count.
        Top1 = "top1",
        /// The percentage of answers whose label is among the five classes with the largest numbers. Answers and labels
        /// are as for `top1`.
        Top5 = "top5",
        /// The percentage of answers that are those of the float model, for each output. Answers are as for `top1`. With
        /// `ignore`, answers with this label do not count.
        Agreement = "agreement",
        /// The perplexity: e to the mean negative logarithm of the probability that the model gives to the label. Lower is
        /// better. Answers and labels are as for `top1`. The labels have to be shifted already: the label of a position is
        /// what the model has to predict there. The probabilities are the softmax of the output, or the output itself with
        /// `probabilities = true`.
        Perplexity = "perplexity",
        /// The cosine between the output and the float model's, averaged over the samples, for each float output.
        Cosine = "cosine",
        /// The power of the float model's output divided by the power of the error, over all samples and in decibels,
        /// for each float output. If an output is a concatenation, each part also has a value of its own.
        Snr = "snr",
        /// The mean over the classes of intersection over union, in percent. Labels are masks with the class of each pixel,
        /// `[samples, height, width]`. Pixels with the label 255, or `ignore`, do not count.
        Miou = "miou",
        /// The peak signal-to-noise ratio in decibels, averaged over the samples. Labels are reference outputs: an array with
        /// as many numbers for each sample as the output has.
        Psnr = "psnr",
        /// The area under the ROC curve, from 0 to 1. Labels are 0 or 1 for each sample. The score is the only number
        /// of the output, or, for an output with a number for each of two classes, the second number minus the first.
        Auc = "auc",
        /// The mean average precision of boxes, in percent. It is the precision at 101 recalls, averaged over overlaps
        /// from 0.50 to 0.95 and over the classes that have objects. At most 100 boxes of a class and 1000 boxes in
        /// total count in an image. The model has outputs for boxes, scores and classes and has already suppressed
        /// duplicates, or `command` makes boxes from the model's outputs.
        ///
        /// Labels have one of three forms. A folder of `.txt` files has one file for each sample, in the order of the
        /// names. Each line is `class x y width height`, with the centre and the size of the box as fractions of the
        /// image. A `.json` file has a list with a list of `{ "class": 0, "box": [left, top, right, bottom] }` for each
        /// sample, in the unit of the boxes. COCO's annotation files can also be used: their images are the samples in
        /// the same order, and their categories are the classes in the order of their ids.
        Map = "map",
    }
}

impl Metric {
    /// The labels that the metric needs, described in a few words.
    pub fn labels(self) -> Option<&'static str> {
        match self {
            Metric::Top1 | Metric::Top5 => Some("the class of each sample, from 0 on"),
            Metric::Perplexity => Some("the class of each answer, from 0 on"),
            Metric::Miou => Some("a mask for each sample, with the class of each pixel"),
            Metric::Psnr => Some("a reference for each sample, with as many numbers as the output"),
            Metric::Auc => Some("0 or 1 for each sample"),
            Metric::Map => Some("the boxes of each sample, in a folder of .txt or a .json"),
            Metric::Agreement | Metric::Cosine | Metric::Snr => None,
        }
    }

    /// Whether higher or lower figures are better.
    pub fn better(self) -> Better {
        match self {
            Metric::Perplexity => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// True if the metric compares two models. Such a metric needs no labels.
    pub fn compares(self) -> bool {
        self.labels().is_none()
    }
}

strait_document::words! {
    /// The meaning of a box's four numbers.
    #[derive(Default)]
    BoxFormat {
        /// Left, top, right, bottom.
        #[default]
        Xyxy = "xyxy",
        /// Top, left, bottom, right.
        Yxyx = "yxyx",
        /// Centre, width and height.
        Cxcywh = "cxcywh",
    }
}

strait_document::words! {
    /// Direction of a metric.
    Better {
        /// Higher is better.
        Higher = "higher",
        /// Lower is better.
        Lower = "lower",
    }
}
