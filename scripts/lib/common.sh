# shellcheck shell=bash disable=SC2034
# What every part of setup.sh uses: messages, steps, the cache, downloads. Sourced by ../setup.sh.

CACHE=$(realpath -m -- "${TF2ONNX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tf2onnx-cpp}")
DOWNLOADS=$CACHE/downloads
LOGS=$CACHE/logs
OFFLINE=0

# A compiler takes up to 0.8 GB on the largest sources of onnx.
default_jobs() {
  local cpus gigabytes
  cpus=$(nproc)
  gigabytes=$(awk '/^MemAvailable:/ { print int($2 / 1000000) }' /proc/meminfo)
  printf '%d' "$((gigabytes < 1 ? 1 : gigabytes < cpus ? gigabytes : cpus))"
}
JOBS=${TF2ONNX_JOBS:-$(default_jobs)}

WORK=''      # temporary folder of this run
CHILD=''     # process group of the step that runs
FAILURE=()

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
    printf '\nsetup: interrupted\n' >&2
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

# on_failure WHAT [ADVICE...]: what the next step says if it fails.
on_failure() { FAILURE=("$@"); }

# step TITLE FUNCTION [ARG...]: runs FUNCTION under `set -e`, with its output in a log; ends the
# script if it fails. It never returns a failure because Bash forgets `set -e`, without a word, in all
# that is called from an `if` or from the left of `||`: call it from neither.
# FUNCTION is a process group of its own, so that an interrupted build leaves no compiler behind.
step() {
  local title=$1 start=${EPOCHREALTIME/[.,]/} code=0 log
  shift
  log=$LOGS/${title//[^A-Za-z0-9._-]/_}.log
  if [[ -t 1 ]]; then printf '%-44s ...\r' "$title"; fi
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  CHILD=$!
  set +m
  wait "$CHILD" || code=$?
  CHILD=''
  if ((code)); then
    {
      line "$title" "FAILED after $(seconds_since "$start")"
      say "the end of $log:"
      tail -n 25 "$log" | sed 's/^/  | /'
    } >&2
    die "${FAILURE[@]}"
  fi
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
