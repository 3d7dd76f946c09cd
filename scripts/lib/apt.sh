# shellcheck shell=bash disable=SC2034,SC2153
# Debian packages, and single files out of Debian's archive. Sourced by ../setup.sh.

BUILD_PACKAGES=(g++ cmake ninja-build ccache pkg-config dpkg-dev protobuf-compiler
  flatbuffers-compiler libflatbuffers-dev libcli11-dev nlohmann-json3-dev libgtest-dev python3)

# One word on each line: the packages among the arguments that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  local package
  for package in "$@"; do
    grep -qxF "installed $package" <<<"$installed" || printf '%s\n' "$package"
  done
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo -n -- "$@"; fi
}

apt_install() {
  # A third-party source that does not answer is no reason to stop: the install decides.
  as_root apt-get update || true
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# ensure_packages TITLE PACKAGE...
ensure_packages() {
  local title=$1 missing
  shift
  command -v dpkg-query >/dev/null ||
    die "this machine has no dpkg: setup.sh is for Debian 12 and its relatives" \
      "Elsewhere, build the dependencies listed in scripts/lib/versions.sh by hand."
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    have "$title"
    return
  fi
  local command="apt-get install --no-install-recommends ${missing[*]}"
  ((!OFFLINE)) || die "Debian packages are missing, and --offline forbids to install them" "Run as root: $command"
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "Debian packages are missing, and there is no sudo to install them" "Run as root: $command"
    # Asked here: a step has no terminal.
    sudo -v || die "sudo was refused" "Run as root: $command"
  fi
  on_failure "apt-get could not install: ${missing[*]}" \
    "Check /etc/apt/sources.list* and the network, or run as root: $command"
  step "$title" apt_install "${missing[@]}"
}

# apt_private FOLDER ARG...: apt-get with its own sources, lists and cache, so that neither the
# machine's settings nor its lists change, and no root is needed.
apt_private() {
  local dir=$1
  shift
  apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/sources" \
    -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# apt_private_open FOLDER KIND [SUITE]: KIND is deb or deb-src; SUITE replaces the machine's own.
apt_private_open() {
  local dir=$1
  mkdir -p "$dir/sources" "$dir/lists/partial" "$dir/cache/archives/partial"
  python3 "$HERE/lib/apt_sources.py" "$dir/sources" "${@:2}"
  # As above: one source that does not answer may not be the one that is needed.
  apt_private "$dir" update || true
}
