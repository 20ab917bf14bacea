#!/usr/bin/env bash
# foldb-stress and the tests with several threads under ThreadSanitizer; see ci/sanitizer.sh.
exec "$(dirname "$0")/sanitizer.sh" thread "$@"
