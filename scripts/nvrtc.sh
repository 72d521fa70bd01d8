#!/bin/sh
# Puts NVIDIA's run-time compiler under FOLDER by pip, for the tests that compile CUDA C++, where
# the machine has none. Without pip or its index those tests are skipped.
# usage: scripts/nvrtc.sh FOLDER
set -eu
folder="$1"

for file in "${INGOT_NVRTC:-}" "$folder"/nvidia/*/lib/libnvrtc.so.* /usr/local/cuda/lib64/libnvrtc.so \
  "${CUDA_HOME:-/nowhere}/lib64/libnvrtc.so" "${CUDA_PATH:-/nowhere}/lib64/libnvrtc.so"; do
  [ -n "$file" ] && [ -e "$file" ] && exit 0
done
if ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so'; then exit 0; fi

echo "install: nvidia-cuda-nvrtc by pip into $folder"
if ! python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore \
  --target "$folder" nvidia-cuda-nvrtc; then
  echo "install: pip could not; the tests that compile CUDA C++ are skipped"
fi
