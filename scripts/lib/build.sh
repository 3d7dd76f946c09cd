# shellcheck shell=bash disable=SC2034,SC2153
# The libraries that are linked into the converter: static, position independent, hidden.
# Hidden because TensorFlow brings a protobuf of its own into the process: two that see each other abort.
# Sourced by ../setup.sh.

CMAKE_COMMON=(-G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
  "-DCMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections" -DBUILD_SHARED_LIBS=OFF
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden
  -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON -DCMAKE_INSTALL_LIBDIR=lib)

# The compiler, as far as it can change what is built.
toolchain() { printf '%s %s' "$(uname -m)" "$("${CXX:-g++}" -dumpfullversion -dumpversion)"; }

# cmake_build SOURCE BUILD PREFIX ARG...
cmake_build() {
  local source=$1 build=$2 prefix=$3 launcher=()
  shift 3
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR=$WORK   # the folder's name differs on every run
  fi
  cmake -S "$source" -B "$build" "${CMAKE_COMMON[@]}" "${launcher[@]}" -DCMAKE_INSTALL_PREFIX="$prefix" "$@"
  cmake --build "$build" -j "$JOBS"
  cmake --install "$build" >"$build/install.log"
}

# fetch_debian_source NAME VERSION: NAME_VERSION-REVISION.dsc and its files, into the downloads.
fetch_debian_source() {
  local name=$1 version=$2 apt=$WORK/apt-src dsc
  if [[ ! -e $apt/ready ]]; then
    apt_private_open "$apt" deb-src
    touch "$apt/ready"
  fi
  mkdir -p "$WORK/$name-dsc"
  (cd "$WORK/$name-dsc" && apt_private "$apt" source --download-only "$name")
  dsc=$(find "$WORK/$name-dsc" -name "${name}_$version-*.dsc")
  if [[ -z $dsc ]]; then
    echo "This distribution's $name is not $version, the version that this project is built with:"
    ls "$WORK/$name-dsc"
    echo "Debian 12, Debian 13 and Ubuntu 24.04 have it. Another machine can take the files from there:"
    echo "put ${name}_$version-*.dsc and the files it names into $DOWNLOADS."
    return 1
  fi
  # The .dsc goes last: it says that the rest is there.
  find "$WORK/$name-dsc" -type f ! -name '*.dsc' -exec mv -t "$DOWNLOADS" {} +
  mv "$dsc" "$DOWNLOADS"
}

debian_source() { find "$DOWNLOADS" -maxdepth 1 -name "$1_$2-*.dsc" | sort -V | tail -n 1; }

ensure_debian_source() {
  [[ -z $(debian_source "$1" "$2") ]] || return 0
  need_network "the source of $1 $2"
  on_failure "could not get the source package of $1 $2" \
    "It comes from the APT sources of this machine. Check /etc/apt/sources.list* and the network."
  step "source of $1 $2" fetch_debian_source "$1" "$2"
}

build_protobuf() {
  dpkg-source -x "$(debian_source protobuf "$PROTOBUF_VERSION")" "$WORK/protobuf"
  cmake_build "$WORK/protobuf" "$WORK/protobuf-build" "$WORK/protobuf-prefix" \
    -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF
  publish "$WORK/protobuf-prefix" "$1"
}

build_leveldb() {
  dpkg-source -x "$(debian_source leveldb "$LEVELDB_VERSION")" "$WORK/leveldb"
  # The HAVE_ values are set beforehand so that what happens to be installed is not linked in.
  cmake_build "$WORK/leveldb" "$WORK/leveldb-build" "$WORK/leveldb-prefix" \
    -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF \
    -DHAVE_SNAPPY=OFF -DHAVE_CRC32C=OFF -DHAVE_TCMALLOC=OFF
  publish "$WORK/leveldb-prefix" "$1"
}

build_onnx() {
  local prefix=$1 protobuf=$2
  mkdir "$WORK/onnx"
  tar -xf "$DOWNLOADS/$ONNX_FILE" -C "$WORK/onnx" --strip-components=1
  # Nothing in it needs more than Debian 12's CMake 3.25.
  sed -i 's/^cmake_minimum_required(VERSION 3\.26)/cmake_minimum_required(VERSION 3.25)/' "$WORK/onnx/CMakeLists.txt"
  # Both Protobuf_ variables are given: onnx would take a libprotobuf.a beside protoc first.
  cmake_build "$WORK/onnx" "$WORK/onnx-build" "$WORK/onnx-prefix" \
    -DONNX_ML=ON -DONNX_USE_UNITY_BUILD=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF \
    -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)" \
    -DProtobuf_INCLUDE_DIR="$protobuf/include" -DProtobuf_LIBRARY="$protobuf/lib/libprotobuf.a"
  rm "$WORK/onnx-prefix/lib/libonnx_proto.a"   # libonnx.a holds the same objects
  publish "$WORK/onnx-prefix" "$prefix"
}

# ensure_built TITLE PREFIX FUNCTION [ARG...]
ensure_built() {
  local title=$1 prefix=$2
  if [[ -d $prefix ]]; then
    have "$title"
    return
  fi
  on_failure "$title could not be built" "The log says why: it is in $LOGS."
  step "$title" "$3" "$prefix" "${@:4}"
}

check_protoc() {
  local version
  version=$(protoc --version 2>/dev/null) || die "protoc was not found" "It is in Debian's package protobuf-compiler."
  [[ $version == "libprotoc $PROTOBUF_VERSION" ]] ||
    die "$(command -v protoc) is $version, but this project is built with $PROTOBUF_VERSION" \
      "Debian's protobuf-compiler is that version: let it come first on PATH."
}

# Which folder each dependency belongs into. Needs the compiler, hence only after the packages.
build_keys() {
  local tools common
  command -v "${CXX:-g++}" >/dev/null || return 0
  tools=$(toolchain)
  common=$(declare -f cmake_build)${CMAKE_COMMON[*]}$tools
  PROTOBUF_ROOT=$CACHE/$(recipe_key protobuf "$PROTOBUF_VERSION" build_protobuf "$common")
  LEVELDB_ROOT=$CACHE/$(recipe_key leveldb "$LEVELDB_VERSION" build_leveldb "$common")
  ONNX_ROOT=$CACHE/$(recipe_key onnx "$ONNX_VERSION" build_onnx "$common" "$ONNX_SHA256" "$PROTOBUF_ROOT")
}

setup_build() {
  ensure_packages "Debian packages: build" "${BUILD_PACKAGES[@]}"
  build_keys
  check_protoc
  [[ -d $PROTOBUF_ROOT ]] || ensure_debian_source protobuf "$PROTOBUF_VERSION"
  ensure_built "protobuf $PROTOBUF_VERSION" "$PROTOBUF_ROOT" build_protobuf
  [[ -d $LEVELDB_ROOT ]] || ensure_debian_source leveldb "$LEVELDB_VERSION"
  ensure_built "leveldb $LEVELDB_VERSION" "$LEVELDB_ROOT" build_leveldb
  [[ -d $ONNX_ROOT ]] || ensure_download "onnx $ONNX_VERSION, source" fetch_sdist "$ONNX_FILE" "$ONNX_SHA256" "onnx==$ONNX_VERSION"
  ensure_built "onnx $ONNX_VERSION" "$ONNX_ROOT" build_onnx "$PROTOBUF_ROOT"
}
