#!/bin/sh
# Puts Selenium under FOLDER by pip, for the tests that use the HTML pages in a browser. Without pip,
# its index or a browser those tests are skipped.
# usage: scripts/selenium.sh FOLDER
set -eu
folder="$1"
[ -e "$folder/selenium" ] && exit 0
command -v chromedriver >/dev/null 2>&1 || exit 0
if python3 -c 'import selenium' 2>/dev/null; then exit 0; fi

echo "install: selenium by pip into $folder"
if ! python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore \
  --target "$folder" selenium; then
  echo "install: pip could not; the tests of the HTML pages are skipped"
fi
