"""The vocabulary of well-known model families, where no configuration states it.

Each size is `vocab_size` in the config.json that the model's authors published on huggingface.co.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.facts.store import FactStore

VOCABULARIES: Mapping[str, int] = {
    r"qwen3[._-]?5": 248320,
    r"qwen-?3": 151936,
    r"qwen-?2(?:[._]5)?-(?:0\.5|1\.5|3)b": 151936,
    r"qwen-?2": 152064,
    r"llama-?4": 202048,
    r"llama-?3": 128256,
    r"(?:code)?llama|vicuna|mixtral|mistral-7b(?:-instruct)?-v0\.[12]|tinyllama": 32000,
    r"mistral-7b": 32768,
    r"gemma-?3": 262208,
    r"gemma": 256000,
    r"phi-?4": 100352,
    r"phi-?3": 32064,
    r"deepseek-(?:v3|r1)": 129280,
    r"deepseek-v2": 102400,
    r"glm-?4": 151552,
    r"gpt-oss": 201088,
    r"gpt-?2": 50257,
    r"opt-\d": 50272,
    r"pythia-|gpt-?neox": 50432,
    r"bloom": 250880,
    r"falcon": 65024,
    r"baichuan2": 125696,
    r"internlm2": 92544,
    r"kimi-?k2": 163840,
    r"mt5": 250112,
    r"t5": 32128,
}
_FAMILIES = tuple((re.compile(pattern, re.IGNORECASE), size) for pattern, size in VOCABULARIES.items())


def vocabulary_of(store: FactStore) -> int | None:
    """The vocabulary as configured, else as the name of the model tells."""
    stated = store.get("config.vocab_size")
    if stated is not None and isinstance(stated.value, int):
        return stated.value
    model = store.get("config.model")
    if model is None:
        return None
    return next((size for pattern, size in _FAMILIES if pattern.search(str(model.value))), None)
