#!/bin/sh
# One share of a compilation, as a pod of an indexed Job runs it: the pod with index I has the share I + 1.
# SHARES is the number of pods, CONFIG the configuration, and SHARED a folder that all pods can write to. RUN names the compilation.
set -eu
share=$((JOB_COMPLETION_INDEX + 1))
exec strait compile "$CONFIG" --share "$share/$SHARES" --exchange "$SHARED/exchange/$RUN" --wait "${WAIT:-3600}" \
  --out "$SHARED/build/$RUN/{target}" --set "calibration.cache='$SHARED/cache'" "$@"
