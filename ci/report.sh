#!/usr/bin/env bash
# Checks the page of results in a headless Chromium: all series and values are drawn, and nothing is
# cut off. If FOLDB_INSTALL_CHROMIUM is set, the script runs as root and Chromium is missing, it
# installs Chromium with apt-get. FOLDB_REPORT_SCREENSHOTS=DIR keeps pictures.
set -euo pipefail
cd "$(dirname "$0")/.."

found() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome; }

if [ -z "${CHROMIUM:-}" ] && ! found >/dev/null; then
    if [ -z "${FOLDB_INSTALL_CHROMIUM:-}" ]; then
        echo "ci/report.sh: no Chromium; FOLDB_INSTALL_CHROMIUM=1 installs it" >&2
    elif [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "ci/report.sh: no Chromium, and its installation needs root and apt-get" >&2
    elif ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; }; then
        echo "ci/report.sh: Chromium cannot be installed" >&2
    fi
fi
cargo test -p foldb-report --test report -- --nocapture browser
