"""Why a model loses more than five points on a target: (model, target) -> what was found. Measured, not guessed."""

NOTES = {}
