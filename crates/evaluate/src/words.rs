//! The words for metrics in configurations and reports. Their documentation becomes part of the configuration's
//! reference.

strait_document::words! {
    /// A measure of quality.
    Metric {
        /// Share of samples whose answer is the right class, in percent: the position of the largest number of the output, or the
        /// output itself where it is one integer. Labels are the class of each sample, from 0 on.
        Top1 = "top1",
        /// Share of samples whose class is among the five largest numbers of the output, in percent. Labels as for `top1`.
        Top5 = "top5",
        /// Share of samples whose answer is that of the float model, in percent; for each output. Where an output holds several
        /// integers or truth values, all of them are to be equal.
        Agreement = "agreement",
        /// Cosine between the output and the float model's, the mean over samples; for each output of floats.
        Cosine = "cosine",
        /// Ratio of the power of the float model's output to that of the difference, over all samples, in decibels; for each
        /// output of floats, and besides for each part of one that a concatenation makes.
        Snr = "snr",
        /// Mean over classes of intersection over union, in percent. Labels are masks: the class of each pixel, `[samples,
        /// height, width]`; 255, or `ignore`, is a pixel that does not count.
        Miou = "miou",
        /// Peak signal-to-noise ratio, the mean over samples, in decibels. Labels are references: an array with as many numbers
        /// for each sample as the output has.
        Psnr = "psnr",
        /// Area under the ROC curve, from 0 to 1. Labels are 0 or 1 for each sample. The score is an output of one number, or of
        /// two classes the second less the first.
        Auc = "auc",
        /// Mean average precision of boxes, in percent: precision at 101 recalls, the mean over overlaps of 0.50 to 0.95 and over
        /// the classes that have objects, with at most 100 boxes of a class and 1000 in all in an image. The model has outputs of boxes, scores and
        /// classes behind its own suppression of duplicates, or `command` makes boxes of its outputs. Labels are a folder of `.txt`, in
        /// the order of their names one for each sample, each line `class x y width height` with the box's centre and size in
        /// parts of the image's; or a `.json`: a list with a list of `{ "class": 0, "box": [left, top, right, bottom] }` for each
        /// sample, in the unit of the boxes, or COCO's annotations, whose images are the samples in their order and whose
        /// categories are the classes in the order of their ids.
        Map = "map",
    }
}

impl Metric {
    /// The labels that the metric needs, in a few words.
    pub fn labels(self) -> Option<&'static str> {
        match self {
            Metric::Top1 | Metric::Top5 => Some("the class of each sample, from 0 on"),
            Metric::Miou => Some("a mask for each sample, with the class of each pixel"),
            Metric::Psnr => Some("a reference for each sample, with as many numbers as the output"),
            Metric::Auc => Some("0 or 1 for each sample"),
            Metric::Map => Some("the boxes of each sample, in a folder of .txt or a .json"),
            Metric::Agreement | Metric::Cosine | Metric::Snr => None,
        }
    }

    /// True if the metric compares two models and so needs no labels.
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
        /// More is better.
        Higher = "higher",
        /// Less is better.
        Lower = "lower",
    }
}
