#!/bin/bash
# The Debian package, checked by lintian.
source "$(dirname "$0")/lib.sh"
gather_programs
cd "$repository" || exit
package=$(scripts/deb --programs /run/built --output /run/packages --for-tests | tail -n 1)
check "it is built" -.slice test -s "$package"
# Debug builds find Swift's libraries in the toolchain, which release builds do not need; and this
# package was built without compression.
tags=custom-library-search-path,uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball
lintian --allow-root --fail-on error --suppress-tags $tags "$package" >/run/findings 2>&1 || {
    cat /run/findings
    broken "it has no error" -.slice
}
held "it has no error"
check "lintian does find errors" -.slice sh -c \
    "! lintian --allow-root --fail-on error --tags uses-no-compression-for-data-tarball '$package'"
