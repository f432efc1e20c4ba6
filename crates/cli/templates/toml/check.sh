#!/bin/sh
# Holds the table against the kit, and against recorded vectors where there are any.
set -e
cd "$(dirname "$0")"
strait=${STRAIT:-strait}
if [ -f recorded.npz ]; then
    exec "$strait" plugin check NAME.toml --vectors recorded.npz
fi
exec "$strait" plugin check NAME.toml
