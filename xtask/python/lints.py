#!/usr/bin/env python3
"""Tell lints that are worth a word from those that cry wolf:  lints.py STRAIT CONFIG …

Compiles each configuration for each of its targets, or those of --targets, and again for each lint that is shown, with a rule
that lifts the tensor and its layer: to 16 bits where the target has them, and else, or where weights are told of, to float. A
lint has an effect where the SNR of an output, or of a part of one, is better by MARK decibels on the samples of `[evaluation]`,
or of the calibration where there are none. Ends with 1 where fewer than SHARE of them have one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

MARK, SHARE = 0.5, 0.95


def compiled(arguments, config, target, rules):
    """The report with figures, or nothing where the rules cannot be had."""
    text = Path(config).read_text()
    document = tomllib.loads(text)
    folder = Path(config).resolve().parent
    evaluation = document.get("evaluation", {})
    data = evaluation.get("data", document["calibration"]["data"])
    settings = [f'evaluation.data="{(folder / data).resolve()}"', 'evaluation.metrics=["snr"]', f"evaluation.samples={arguments.samples}"]
    rules = json_toml(document.get("quantize", {}).get("rule", []) + rules)
    with tempfile.TemporaryDirectory() as out:
        command = [arguments.strait, "compile", config, "--target", target, "--out", out, "--threads", str(arguments.threads)]
        for setting in settings + ([f"quantize.rule={rules}"] if rules != "[]" else []):
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None if rules != "[]" else sys.exit(f"{config} for {target}: {done.stderr}")
        return json.loads((Path(out) / "report.json").read_text())


def json_toml(value):
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {json_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(json_toml(one) for one in value) + "]"
    return json.dumps(value)


def figures(report):
    """SNR by output and part."""
    found = {}
    for metric in report["accuracy"]["metrics"]:
        found[metric["output"], None] = metric["integer"]["value"]
        for part in metric.get("parts", []):
            found[metric["output"], part["part"]] = part["integer"]["value"]
    return found


def lifted(lint):
    """Rules to try, the first that the target has counts."""
    wide = {"type": "int16"}
    tensor = {"tensors": [lint["tensor"]], "activations": wide, "optional": True}
    layer = {"layers": [lint["layer"], *lint.get("readers", [])], "activations": wide, "optional": True}
    real = {"layers": [lint["layer"], *lint.get("readers", [])], "run": "float", "optional": True}
    # Weights have no more bits on any target.
    of_weights = lint["code"] == "scale-raised" or lint["channel"] is not None
    return [[real]] if of_weights else [[tensor, layer], [layer], [tensor], [real]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strait")
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--targets", nargs="*")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    heard = told = 0
    for config in arguments.configs:
        has = tomllib.loads(Path(config).read_text()).get("target", {}).get("use", [])
        for target in arguments.targets or has:
            if arguments.targets and has and target not in has:
                continue
            before = compiled(arguments, config, target, [])
            print(f"{config} {target}: {len(before['lints'])} lints", flush=True)
            for lint in before["lints"]:
                after = next(filter(None, (compiled(arguments, config, target, rules) for rules in lifted(lint))), None)
                if after is None:
                    print(f"  not lifted: {lint['code']}: {lint['text'][:140]}", flush=True)
                    continue
                was, now = figures(before), figures(after)
                gains = {of: now[of] - was[of] for of in was if of in now}
                (output, part), gain = max(gains.items(), key=lambda one: one[1])
                told, heard = told + 1, heard + (gain >= MARK)
                where = output if part is None else f"{output}, part {part}"
                print(f"  {gain:+7.2f} dB at {where}: {lint['code']}: {lint['text'][:140]}", flush=True)
    print(f"{heard} of {told} lints that can be lifted have an effect of {MARK} dB")
    sys.exit(heard < SHARE * told)


if __name__ == "__main__":
    main()
