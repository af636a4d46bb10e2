"""Texts of the collective tests, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.messages import LANGUAGES

TEXTS: Mapping[str, tuple[str, str]] = {
    "head": (
        "{ranks} ranks on {hosts} host(s), {device}, {backend}{versions}",
        "{hosts} 台主机上的 {ranks} 个 rank，{device}，{backend}{versions}",
    ),
    "version": (", {name} {version}", "，{name} {version}"),
    "operation": ("operation", "操作"),
    "size": ("bytes", "字节"),
    "time": ("time us", "时间 us"),
    "algbw": ("algbw GB/s", "算法带宽 GB/s"),
    "busbw": ("busbw GB/s", "总线带宽 GB/s"),
    "wrong": ("wrong", "错误"),
    "expected": ("published GB/s", "公开值 GB/s"),
    "no_expectation": (
        "Measured, no expectation: nothing is published for gloo over a CPU.",
        "仅测量，无预期：CPU 上的 gloo 没有公开数据。",
    ),
    "no_published": (
        "Measured, no expectation: nothing is published for this card, number of ranks and these sizes.",
        "仅测量，无预期：没有该卡、该 rank 数及这些大小的公开数据。",
    ),
    "skipped": ("not measured: {operation} of {size} B: {why}", "未测量：{operation} {size} 字节：{why}"),
    "fine": (
        "Pairs: all {tested} are alike, {rate} GB/s each way at {size} B.",
        "两两测试：{tested} 对速率一致，{size} 字节时每个方向 {rate} GB/s。",
    ),
    "slow": (
        "Pairs: {name} is slow with every other, {share} of the usual.",
        "两两测试：{name} 与所有其他成员都慢，为正常值的 {share}。",
    ),
    "link": (
        "Pairs: the path {name} is slow, {share} of the usual; both ends are quick with others.",
        "两两测试：路径 {name} 慢，为正常值的 {share}；两端与其他成员正常。",
    ),
    "unjudged": ("Pairs: no verdict: {why}.", "两两测试：无法判断：{why}。"),
    "untested": (
        "Not tested: {left} of {pairs} pairs (each met its neighbours on the ring and two at random).",
        "未测试：{pairs} 对中的 {left} 对（每个成员只与环上邻居和两个随机成员测试）。",
    ),
    "rails": (
        "Not tested: pairs of other ranks than the first of each host.",
        "未测试：每台主机首个 rank 以外的配对。",
    ),
    "group": ("group", "组"),
    "siblings": ("siblings GB/s", "同类组 GB/s"),
    "slow_member": (
        "Groups: {name} is in every one of {count} slow group(s), down to {share} of their siblings.",
        "分组测试：{count} 个慢组都含 {name}，最低为同类组的 {share}。",
    ),
    "slow_members": (
        "Groups: {groups} is slow, {share} of its siblings: one of {name}, or a path among them.",
        "分组测试：{groups} 慢，为同类组的 {share}：{name} 之一或其间路径慢。",
    ),
    "slow_path": (
        "Groups: the path {name} is slow, {share} of the siblings; both ends are quick in their other groups.",
        "分组测试：路径 {name} 慢，为同类组的 {share}；两端在其他组中正常。",
    ),
    "groups_fine": (
        "Groups: all {count} are as quick as their siblings.",
        "分组测试：全部 {count} 个组与同类组速率一致。",
    ),
    "groups_alone": (
        "Groups: {count} have no sibling to be compared with, or siblings that differ too much.",
        "分组测试：{count} 个组没有可比的同类组，或同类组差异过大。",
    ),
    "lost": (
        "Did not answer: {names}, in {operation} of {size} B: {why}.",
        "未应答：{names}，{operation} {size} 字节：{why}。",
    ),
    "stalled": (
        "No rank can be blamed: {operation} of {size} B: {why}.",
        "无法归咎于某个 rank：{operation} {size} 字节：{why}。",
    ),
    "narrowed": (
        "It hangs among {names} ({count} of {ranks} ranks); tried {tries} times by halves.",
        "在 {names} 之间会卡住（{ranks} 个 rank 中的 {count} 个）；按二分尝试 {tries} 次。",
    ),
    "narrowed_well": (
        "It does not hang among {names}.",
        "在 {names} 之间不会卡住。",
    ),
    "live_refused": (
        "no collective tests: {reason}, and they would slow it down; wait for its end, or add --force.",
        "未做集合通信测试：{reason}，测试会拖慢它；请等待其结束，或加 --force。",
    ),
    "wrong_values": (
        "Wrong results in {operation} of {size} B: {count} values.",
        "{operation} {size} 字节结果错误：{count} 个值。",
    ),
}


def say(lang: str, key: str, **values: object) -> str:
    """A text in the language `lang`."""
    return TEXTS[key][LANGUAGES.index(lang)].format(**values)
