"""A framework's own settings arrive in its files, once, and nothing else in them moves."""

from __future__ import annotations

import json
import re
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.adapters.errors import Unavailable
from doctor.adapters.flag_text import own_settings
from doctor.adapters.model import Own
from doctor.adapters.registry import adapter_for, adapter_named
from doctor.rulebase.load import load_rulebase
from tests.adapters.samples import SAMPLES

KNOWN = {"dp": 4}


@lru_cache(maxsize=1)
def of_rules() -> dict[str, list[Own]]:
    """What the flags of all rules say to write, by framework."""
    found: dict[str, list[Own]] = {}
    for rule in load_rulebase(()).base.rules.values():
        for remedy in rule.remedies:
            for framework, text in (remedy.change.get("flags") or {}).items():
                try:
                    found.setdefault(framework, []).append(own_settings(framework, str(text)))
                except Unavailable:
                    continue
    return found


@pytest.mark.parametrize("path", [path for path, (_, name) in SAMPLES.items() if name in of_rules()])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_rules_ask_for_arrives_once_and_leaves_the_rest(path: str, data: st.DataObject) -> None:
    text, name = SAMPLES[path]
    own = data.draw(st.sampled_from(of_rules()[name]))
    adapter = adapter_named(name)
    once = adapter.write(text, own, KNOWN, path)
    if once.left:
        assert once.text == text
        return
    assert adapter.write(once.text, own, KNOWN, path).text == once.text
    adapter.read(once.text, path)
    assert adapter_for(path, once.text) is adapter
    comments = [line for line in text.splitlines() if re.match(r"\s*(?:#|//)", line)]
    assert [line for line in once.text.splitlines() if re.match(r"\s*(?:#|//)", line)] == comments
    if path.endswith(".json"):
        json.loads(re.sub(r"//[^\n]*", "", once.text).replace(",\n}", "\n}"))


def test_options_go_behind_those_that_are_there_in_the_style_of_the_file() -> None:
    text = "torchrun pretrain_gpt.py \\\n    --micro-batch-size 4 \\\n    --bf16\n"
    own = own_settings("megatron", "--ckpt-format torch_dist --async-save")
    after = adapter_named("megatron").write(text, own, path="run.sh").text
    assert after == (
        "torchrun pretrain_gpt.py \\\n    --micro-batch-size 4 \\\n    --bf16 \\\n"
        "    --async-save \\\n    --ckpt-format torch_dist\n"
    )


def test_an_option_that_is_there_is_replaced_and_one_that_it_excludes_goes() -> None:
    text = "torchrun p.py --micro-batch-size 4 --fp16 --distributed-timeout-minutes 10\n"
    own = own_settings("megatron", "--distributed-timeout-minutes 120 --bf16")
    after = adapter_named("megatron").write(text, own, path="run.sh").text
    assert "--distributed-timeout-minutes 120" in after and "--bf16" in after and "--fp16" not in after


def test_the_batch_of_a_json_stays_true() -> None:
    text = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}'
    own = own_settings("deepspeed", '{"gradient_accumulation_steps": 8}')
    after = json.loads(adapter_named("deepspeed").write(text, own, KNOWN, "ds.json").text)
    assert after["train_batch_size"] == 4 * 8 * KNOWN["dp"]


def test_a_setting_without_a_known_place_is_left_to_a_person() -> None:
    text = '[model]\nname = "llama3"\n[training]\nsteps = 1\n[parallelism]\ntensor_parallel_degree = 1\n'
    own = own_settings("torchtitan", "load_balance_coeff = 1e-3")
    after = adapter_named("torchtitan").write(text, own, path="a.toml")
    assert after.text == text and after.left[0].zh


def test_settings_of_fsdp_1_are_not_written_for_fsdp_2() -> None:
    text = SAMPLES["fsdp2.yaml"][0]
    own = own_settings("accelerate", "fsdp_sharding_strategy: HYBRID_SHARD")
    assert adapter_named("accelerate").write(text, own, path="fsdp2.yaml").left
