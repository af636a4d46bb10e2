"""What every test against a real parser needs.

A framework that is not installed is skipped with that reason. `pip install -e '.[frameworks]'` brings those that install
on any machine; ms-swift, verl and LLaMA-Factory go in with `pip install --no-deps`, Megatron-LM's own arguments are read
from a checkout that the variable MEGATRON_LM names.
"""

from __future__ import annotations

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
