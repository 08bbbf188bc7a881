#!/bin/sh
# Install Headwater into a virtual environment, from the versions of constraints.txt.
#
#     deploy/install.sh [--editable] [--extra NAME] VENV
#
# The Makefile and the Dockerfile both install this way, so that what was tested is what is shipped.
# PYTHON=/path/to/python3.12 chooses an interpreter.
set -eu

editable="" extra="" venv=""
while [ $# -gt 0 ]; do
    case "$1" in
    --editable) editable="--editable" ;;
    --extra) extra="[$2]" && shift ;;
    *) venv="$1" ;;
    esac
    shift
done
[ -n "$venv" ] || { echo "usage: deploy/install.sh [--editable] [--extra NAME] VENV" >&2 && exit 2; }
case "$venv" in /*) ;; *) venv="$PWD/$venv" ;; esac
cd "$(dirname "$0")/.."

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3 python3.12 python3.13 python3.14; do
        if is_recent "$candidate"; then echo "$candidate" && return; fi
    done
    echo "Headwater needs Python 3.11 or newer, and none was found on PATH. Install it (Debian: apt install" \
        "python3 python3-venv), or name one: PYTHON=/path/to/python3.11 make demo" >&2
    exit 1
}

# An environment that was copied, moved or left half made answers no call: make it anew.
if ! is_recent "$venv/bin/python" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        echo "$python cannot make virtual environments (no ensurepip). Install that part of it (Debian: apt install" \
            "python3-venv), or name another: PYTHON=/path/to/python3.11 make demo" >&2
        exit 1
    fi
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

# The constraint file goes in by environment, relative and without spaces, because pip hands it on in this way
# to the environment in which it builds us; newer pips read the second name for that.
export PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1
echo "Installing from pinned versions into $venv (under a minute with a warm cache, a few without) …" >&2
if ! "$venv/bin/python" -m pip install --quiet $editable ".$extra"; then
    echo "The installation into $venv failed; the reason stands above. It needs a package registry that pip can reach." >&2
    exit 1
fi
