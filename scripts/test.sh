#!/bin/bash
# Sets up, builds everything and runs all tests. Arguments go to ctest: scripts/test.sh -R cli
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=/dev/null
. "$root/scripts/lib/configure.sh"

cd -- "$root"
scripts/setup.sh --all
configure
cmake --build "$BUILD_DIR"
export T2O_REQUIRE_ENGINES=1  # set-up has brought them: a test that finds none has failed, not been skipped
ctest --test-dir "$BUILD_DIR" --output-on-failure --no-tests=error "$@"
