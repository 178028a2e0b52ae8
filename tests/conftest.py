"""The framework's settings for every test, made before anything imports TensorFlow; child processes inherit them."""

from __future__ import annotations

import os

# TensorFlow leaves oneDNN off on CPUs without AVX512-VNNI, and its allocator has no statistics then.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
