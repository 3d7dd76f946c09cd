# shellcheck shell=bash disable=SC2034,SC2153
# The cache's Python environment, and files from the package index that pip is set up for.
# Sourced by ../setup.sh.

VENV=$CACHE/venv

venv_works() { "$VENV/bin/python" -c 'import pip' 2>/dev/null; }

make_venv() {
  rm -rf -- "$VENV"
  python3 -m venv "$VENV"
}

# pip is taken from an environment of our own: the machine's Python may have none.
ensure_venv() {
  ! venv_works || return 0
  local packages=()
  command -v python3 >/dev/null || packages+=(python3)
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages+=(python3 python3-venv)
  ((${#packages[@]} == 0)) || ensure_packages "Debian packages: Python" "${packages[@]}"
  on_failure "python3 -m venv failed" "python3 is $(command -v python3); on Debian it needs the package python3-venv."
  step "Python environment" make_venv
}

fetch_sdist() { "$VENV/bin/python" "$HERE/lib/fetch_sdist.py" "$1" "$2" "$3"; }

# A wheel for the tags of versions.sh, whatever Python this machine has.
fetch_wheel() {
  "$VENV/bin/python" -m pip download --no-deps --only-binary=:all: "${WHEEL_TAGS[@]}" \
    --progress-bar off --dest "$3" "$1"
}

# fetch_checked FUNCTION FILE SHA256 REQUIREMENT
fetch_checked() {
  local dir=$WORK/download
  mkdir -p "$dir"
  "$1" "$4" "$2" "$dir"
  if ! sha256_is "$dir/$2" "$3"; then
    echo "The index gave another file than the one that this project was tested with:"
    (cd "$dir" && sha256sum -- *)
    echo "Expected: $3  $2"
    return 1
  fi
  mv "$dir/$2" "$DOWNLOADS"
}

# ensure_download TITLE FUNCTION FILE SHA256 REQUIREMENT
ensure_download() {
  local title=$1 file=$3 sha256=$4
  ! sha256_is "$DOWNLOADS/$file" "$sha256" || return 0
  need_network "$file"
  ensure_venv
  on_failure "$file could not be fetched from the package index of pip" \
    "Check the network and pip's settings (pip config list), or put the file into" \
    "$DOWNLOADS and run scripts/setup.sh again. Its sha256: $sha256"
  step "$title" fetch_checked "${@:2}"
}

REQUIREMENTS=$HERE/requirements-test.txt

# Kept as wheels, so that the environment can be made again offline.
install_requirements() {
  local pip=("$VENV/bin/python" -m pip) wheels=$DOWNLOADS/wheels
  if ((!OFFLINE)); then
    "${pip[@]}" download --only-binary=:all: --progress-bar off --dest "$wheels" -r "$REQUIREMENTS"
  fi
  "${pip[@]}" install --no-index --find-links "$wheels" -r "$REQUIREMENTS"
  cp "$REQUIREMENTS" "$VENV/requirements.installed"
}

setup_python() {
  ensure_venv
  if cmp -s "$REQUIREMENTS" "$VENV/requirements.installed"; then
    have "Python packages for tests"
    return
  fi
  on_failure "the packages of scripts/requirements-test.txt could not be installed in $VENV" \
    "They are needed by tests only, and exist for Python 3.11 to 3.14: this is $("$VENV/bin/python" --version)." \
    "Check the network and pip's settings (pip config list). With --offline, the wheels must be in $DOWNLOADS/wheels."
  step "Python packages for tests" install_requirements
}
