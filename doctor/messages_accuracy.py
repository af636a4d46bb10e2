"""Texts of the planner's accuracy, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "head": (
        "{records} records, {modelled} modelled; errors are of the predicted against the measured value",
        "{records} 条记录，{modelled} 条可建模；误差为预测值相对实测值",
    ),
    "every": ("all", "全部"),
    "held_out": ("hold-out", "留出集"),
    "overall": ("all files", "所有文件"),
    "n": ("rows", "行数"),
    "median": ("median", "中位数"),
    "p90": ("p90", "p90"),
    "bias": ("bias", "偏差"),
    "under": (">5 % under", "低估>5 %"),
    "covered": ("in range", "在区间内"),
    "worst": ("worst", "最差"),
    "file": ("{records} records, {modelled} modelled", "{records} 条记录，{modelled} 条可建模"),
    "reason": ("left out: {n} x {reason}", "未计入：{n} x {reason}"),
    "problem": ("not read: {problem}", "未读取：{problem}"),
    # quantities and groups, by the names that they have for programs
    "step time": ("step time", "单步时间"),
    "allocated": ("allocated", "已分配显存"),
    "reserved": ("reserved", "已保留显存"),
    "allocated by rank": ("allocated by rank", "各 rank 已分配显存"),
    "8 GiB and more": ("8 GiB and more", "8 GiB 及以上"),
    "below 8 GiB": ("below 8 GiB", "8 GiB 以下"),
    "nothing": ("no record could be compared", "没有可比较的记录"),
}
