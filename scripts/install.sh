#!/bin/sh
# Installs the Debian or Ubuntu packages that are missing, and says which.
# usage: scripts/install.sh [build] [test] [browser] [lint] [demo]     (no argument: build)
set -eu

missing=""
need_command() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need_pip() {
  python3 -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("pip"))' 2>/dev/null ||
    missing="$missing python3-pip"
}
need_file() { [ -e "$1" ] || [ -e "/usr/local${1#/usr}" ] || missing="$missing $2"; }

for group in "${@:-build}"; do
  case "$group" in
    build)
      need_command g++ g++
      need_command cmake cmake
      need_command ninja ninja-build
      need_command git git
      need_command python3 python3
      need_command ccache ccache
      need_command protoc protobuf-compiler
      need_file "/usr/include/google/protobuf/message.h" libprotobuf-dev
      need_file "/usr/include/onnx/onnx.proto" libonnx-dev
      need_file "/usr/include/fmt/format-inl.h" libfmt-dev
      need_file "/usr/include/CLI/CLI.hpp" libcli11-dev
      need_file "/usr/include/nlohmann/json.hpp" nlohmann-json3-dev
      need_file "/usr/include/oneapi/dnnl/dnnl.hpp" libdnnl-dev
      need_file "/usr/include/dlpack/dlpack.h" libdlpack-dev
      need_file "/usr/include/event2/http.h" libevent-dev
      need_file "/usr/include/gtest/gtest.h" libgtest-dev
      ;;
    test)
      need_file "/usr/include/mpfr.h" libmpfr-dev
      command -v clang-format >/dev/null 2>&1 || need_command clang-format-14 clang-format-14
      need_pip
      ;;
    browser)
      # Ubuntu's packages of these names are snaps, which a container cannot run.
      if grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
        need_command chromium chromium
        need_command chromedriver chromium-driver
      fi
      ;;
    lint)
      command -v clang-tidy >/dev/null 2>&1 || need_command clang-tidy-14 clang-tidy-14
      ;;
    demo)
      need_pip
      ;;
    *)
      echo "error: install.sh knows build, test, browser, lint and demo, not '$group'" >&2
      exit 2
      ;;
  esac
done

[ -n "$missing" ] || exit 0
echo "install:$missing"
if ! command -v apt-get >/dev/null 2>&1; then
  echo "error: there is no apt-get here; install these packages (Debian names) yourself:$missing" >&2
  exit 2
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "error: run as root: apt-get install$missing" >&2
    exit 2
  fi
  sudo="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086  # a list of words
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
echo "install: done"
