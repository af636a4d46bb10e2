"""Remarks of the probes in Chinese. Probes know nothing of languages: they remark in English, as matched here."""

from __future__ import annotations

import re
from collections.abc import Sequence

_REASONS: Sequence[tuple[str, str]] = (
    (r"not a number", "不是数字"),
    (r"not a whole number", "不是整数"),
    (r"not true or false", "不是 true 或 false"),
    (r"not a size such as 16g", "不是 16g 这样的大小"),
    (r"not a precision such as bf16", "不是 bf16 这样的精度"),
    (r"not a ZeRO stage from 0 to 3", "不是 0 到 3 的 ZeRO 阶段"),
)

_REMARKS: Sequence[tuple[str, str]] = (
    (r"cannot be read: (?P<why>.*)", "无法读取：{why}"),
    (r"unpacks to more than (?P<n>[\d,]+) bytes: only these were read", "解压后超过 {n} 字节：只读取了这一部分"),
    (
        r"is packed with (?P<kind>\w+), which needs the Python package (?P<name>\w+)",
        "以 {kind} 压缩，需要 Python 包 {name}",
    ),
    (
        r"bzip2 archive is damaged after (?P<n>[\d,]+) bytes of text: it ends within a block.*",
        "bzip2 压缩文件在 {n} 字节之后损坏：文件在一个数据块中间结束，该块无法解压",
    ),
    (
        r"(?P<kind>\w+) archive is damaged after (?P<n>[\d,]+) bytes of text: (?P<why>.*)",
        "{kind} 压缩文件在 {n} 字节之后损坏：{why}",
    ),
    (r"read more slowly: the Python package (?P<name>\w+) is not installed", "读取较慢：未安装 Python 包 {name}"),
    (r"(?P<name>\w+) cannot match the pattern (?P<pattern>.*)", "{name} 无法匹配模式 {pattern}"),
    (r"the file ends inside a section", "文件在一个小节中间结束"),
    (r"YAML of more than (?P<n>\d+) KiB is not read", "超过 {n} KiB 的 YAML 不读取"),
    (r"not valid (?P<kind>YAML|TOML|JSON): (?P<why>.*)", "不是有效的 {kind}：{why}"),
    (r"larger than (?P<n>\d+) MiB, not read", "超过 {n} MiB，未读取"),
    (r"not a job configuration that is known", "不是已知的作业配置"),
    (r"only the first (?P<n>\d+) rows were read", "只读取了前 {n} 行"),
    (
        r"(?P<n>\d+) rows have another number of cells than the heading and were left out",
        "{n} 行的单元格数与表头不同，已略去",
    ),
    (r"what looks like (?P<kind>.*?) could not be read: (?P<why>.*)", "像是 {kind} 的内容无法读取：{why}"),
    *(
        (rf"(?P<key>.*) = (?P<value>.*) is {english}", f"{{key}} = {{value}} {chinese}")
        for english, chinese in _REASONS
    ),
)


def translated(remark: str, lang: str) -> str:
    """The remark of a probe in `lang`; one that is not listed here stays as it is."""
    if lang == "zh":
        for pattern, chinese in _REMARKS:
            if found := re.fullmatch(pattern, remark, re.DOTALL):
                return chinese.format(**found.groupdict())
    return remark
