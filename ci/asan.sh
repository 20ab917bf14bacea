#!/usr/bin/env bash
# foldb-stress and the tests with several threads under AddressSanitizer; see ci/sanitizer.sh.
exec "$(dirname "$0")/sanitizer.sh" address "$@"
