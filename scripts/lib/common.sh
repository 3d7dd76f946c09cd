# shellcheck shell=bash
# What every part of setup.sh uses: messages, steps, the cache, downloads. Sourced by ../setup.sh.

CACHE=${TF2ONNX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tf2onnx-cpp}
DOWNLOADS=$CACHE/downloads
LOGS=$CACHE/logs
OFFLINE=0
JOBS=${TF2ONNX_JOBS:-$(nproc)}

WORK=''      # temporary folder of this run
CHILD=''     # process group of the step that runs
STEP_LOG=''

say() { printf '%s\n' "$*"; }
warn() { printf 'setup: warning: %s\n' "$*" >&2; }
die() {
  printf 'setup: error: %s\n' "$1" >&2
  shift
  if (($#)); then printf '  %s\n' "$@" >&2; fi
  exit 1
}

cleanup() {
  local code=$?
  trap - EXIT INT TERM HUP
  if [[ -n $CHILD ]]; then
    kill -TERM -- "-$CHILD" 2>/dev/null || true
    wait "$CHILD" 2>/dev/null || true
  fi
  if [[ -n $WORK ]]; then rm -rf -- "$WORK"; fi
  exit "$code"
}

# One run at a time: two of them would build the same thing twice and clean up each other's work.
open_cache() {
  mkdir -p "$DOWNLOADS/wheels" "$LOGS" "$CACHE/tmp" ||
    die "cannot write to the cache folder $CACHE" "Set TF2ONNX_CACHE to a folder that you can write to."
  exec 9>"$CACHE/lock"
  if ! flock -n 9; then
    say "another setup.sh is at work in $CACHE: waiting for it"
    flock 9
  fi
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  rm -rf -- "$CACHE"/tmp/* || true
  WORK=$(mktemp -d "$CACHE/tmp/run.XXXXXX")
}

line() { printf '%-44s %s\n' "$1" "$2"; }

seconds_since() {
  local us=$((${EPOCHREALTIME/[.,]/} - $1))
  printf '%d.%d s' $((us / 1000000)) $((us % 1000000 / 100000))
}

# step TITLE FUNCTION [ARG...]: runs FUNCTION under `set -e` with its output in a log.
# It runs as a process group of its own, so that an interrupted build leaves no compiler behind.
step() {
  local title=$1 start=${EPOCHREALTIME/[.,]/} code=0
  shift
  STEP_LOG=$LOGS/${title//[^A-Za-z0-9._-]/_}.log
  [[ -t 1 ]] && printf '%-44s ...\r' "$title"
  set -m
  (set -euo pipefail && "$@") >"$STEP_LOG" 2>&1 </dev/null 9>&- &
  CHILD=$!
  set +m
  wait "$CHILD" || code=$?
  CHILD=''
  if ((code)); then
    line "$title" "FAILED after $(seconds_since "$start")"
    say "last lines of $STEP_LOG:"
    tail -n 25 "$STEP_LOG" | sed 's/^/  | /'
    return "$code"
  fi >&2
  line "$title" "$(seconds_since "$start")"
}

have() { line "$1" "already there"; }

# recipe_key NAME VERSION FUNCTION [INPUT...]: changes with whatever changes the result, so that
# a prefix made by an older recipe is never taken for a current one.
recipe_key() {
  local name=$1 version=$2 recipe=$3 hash
  shift 3
  hash=$({ declare -f "$recipe"; printf '%s\n' "$@"; } | sha256sum)
  printf '%s-%s-%s' "$name" "$version" "${hash:0:10}"
}

# publish FOLDER PREFIX: all or nothing, whenever the run is killed.
publish() {
  rm -rf -- "$2"
  mv -T -- "$1" "$2"
}

sha256_is() { [[ -f $1 ]] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status; }

need_network() {
  ((OFFLINE)) || return 0
  die "$1 is not in the cache ($CACHE), and --offline forbids to fetch it" \
    "Run scripts/setup.sh once without --offline."
}
