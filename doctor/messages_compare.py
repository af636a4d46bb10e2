"""Texts of the comparison of two runs, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "compare.verdict.better": ("better", "更好"),
    "compare.verdict.worse": ("worse", "更差"),
    "compare.verdict.same": ("no difference that can be told", "看不出差异"),
    "compare.verdict.incomparable": ("not comparable", "不可比较"),
    "compare.sides": ("{before} against {after}", "{before} 与 {after} 对比"),
    # why
    "compare.reason.incomparable": ("they are runs of different jobs", "两次运行不是同样的作业"),
    "compare.reason.new": ("a failure is new: {names}", "出现新的故障：{names}"),
    "compare.reason.still": ("the failure is still there: {names}", "故障仍然存在：{names}"),
    "compare.reason.gone": ("the failure is gone: {names}", "故障已消失：{names}"),
    "compare.reason.untold": (
        "whether the failure is gone cannot be told yet: {names}",
        "尚无法判断故障是否消失：{names}",
    ),
    "compare.reason.speed": ("{measure} changed by more than noise", "{measure}的变化超出噪声"),
    "compare.reason.memory": ("{measure} changed by more than noise", "{measure}的变化超出噪声"),
    "compare.reason.same": ("{measure} differs by no more than noise", "{measure}的差异不超出噪声"),
    "compare.reason.unclear": (
        "{measure} varies too much from step to step for the difference to count",
        "{measure}逐步波动太大，差异不足以定论",
    ),
    "compare.reason.few": (
        "a side has fewer than {fewest} steps: let both run longer",
        "有一方不足 {fewest} 步：请让两方都运行更久",
    ),
    "compare.reason.nothing": ("neither speed nor memory is known of both", "没有双方都已知的速度或显存"),
    # headings
    "compare.head.differ": ("differ", "不同"),
    "compare.head.findings": ("findings", "发现"),
    "compare.head.kernels": ("kernels", "内核"),
    "compare.head.note": ("note", "注意"),
    "compare.head.from": ("from", "来源"),
    # conditions
    "compare.condition": ("{what}: {before} against {after}", "{what}：{before} 与 {after}"),
    "compare.condition.model": ("model", "模型"),
    "compare.condition.seq_len": ("tokens of a sequence", "序列长度"),
    "compare.condition.global_batch": ("sequences of a step", "每步序列数"),
    "compare.condition.gpus": ("number of GPUs", "GPU 数量"),
    "compare.condition.gpu_model": ("kind of GPU", "GPU 型号"),
    # quantities
    "compare.measure.tokens": ("tokens a second and GPU", "每 GPU 每秒 token 数"),
    "compare.measure.samples": ("samples a second", "每秒样本数"),
    "compare.measure.step": ("time of a step", "单步时间"),
    "compare.measure.tflops": ("TFLOP/s of a GPU", "每 GPU 算力"),
    "compare.measure.mfu": ("MFU", "MFU"),
    "compare.measure.trace_mfu": ("MFU of the trace", "trace 的 MFU"),
    "compare.measure.memory": ("memory peak", "显存峰值"),
    "compare.measure.snapshot": ("memory peak of the snapshots", "快照的显存峰值"),
    "compare.measure.trace_step": ("step in the trace", "trace 中的单步时间"),
    "compare.measure.compute": ("compute", "计算"),
    "compare.measure.exposed": ("exposed communication", "未掩盖的通信"),
    "compare.measure.exposed_tp": ("exposed, TP", "未掩盖，TP"),
    "compare.measure.exposed_pp": ("exposed, PP", "未掩盖，PP"),
    "compare.measure.exposed_dp": ("exposed, DP", "未掩盖，DP"),
    "compare.measure.exposed_ep": ("exposed, EP", "未掩盖，EP"),
    "compare.measure.exposed_cp": ("exposed, CP", "未掩盖，CP"),
    "compare.measure.exposed_unknown": ("exposed, kind not known", "未掩盖，类别未知"),
    "compare.measure.copies": ("exposed copies", "未掩盖的拷贝"),
    "compare.measure.idle": ("idle", "空闲"),
    # what came of it
    "compare.state.better": ("better", "更好"),
    "compare.state.worse": ("worse", "更差"),
    "compare.state.same": ("within noise of {noise}", "在 {noise} 的噪声内"),
    "compare.state.unclear": ("cannot be told: the steps vary too much", "无法判断：各步波动太大"),
    "compare.state.few": ("cannot be told: {before} and {after} steps", "无法判断：{before} 步与 {after} 步"),
    "compare.state.single": ("one measurement a side, not judged", "每方只有一次测量，不作判断"),
    "compare.change": ("{before} -> {after}{relative}", "{before} -> {after}{relative}"),
    "compare.relative": (" ({percent}{interval})", "（{percent}{interval}）"),
    "compare.interval": (", {low} to {high}", "，{low} 到 {high}"),
    "compare.told": ("{change}: {state}", "{change}：{state}"),
    "compare.kernel": ("{name}: {before} -> {after}", "{name}：{before} -> {after}"),
    "compare.kernel_told": ("{name}: {change}: {state}", "{name}：{change}：{state}"),
    "compare.at_most": (" (a side does not list it: it takes at most so long there)", "（有一方未列出：至多如此）"),
    "compare.finding.gone": ("gone", "已消失"),
    "compare.finding.new": ("new", "新出现"),
    "compare.finding.still": ("still there", "仍存在"),
    "compare.finding.untold": ("cannot be told", "无法判断"),
    "compare.finding": ("{state}: {rule} {title}{why}{place}", "{state}：{rule} {title}{why}{place}"),
    "compare.why.files": (
        " (files that showed it were not handed over of the other run)",
        "（另一次运行缺少同类文件）",
    ),
    "compare.why.ended": (" (the other run did not get as far)", "（另一次运行尚未到达该步）"),
    # remarks
    "compare.bare": (
        "{name}: holds findings only; numbers are in a report made with --facts",
        "{name}：只有发现；数值需要用 --facts 生成的报告",
    ),
    "compare.no_repeat": (
        "{name}: not a repeat of the same job, left out",
        "{name}：不是同一作业的重复运行，已略去",
    ),
    "compare.no_rank": ("the traces have no rank in common", "双方的 trace 没有相同的 rank"),
    "compare.some_ranks": (
        "traces of {n} ranks are compared: those both sides have",
        "比较双方都有的 {n} 个 rank 的 trace",
    ),
    "compare.shared": (
        "a trace has no steps: parts and kernels are shares of the recording",
        "有 trace 没有步：各部分与内核为占记录的比例",
    ),
    "compare.no_repeats": (
        "no repeats were given: runs of one job are taken to differ by {noise} (--repeat PATH)",
        "未提供重复运行：同一作业的差异按 {noise} 计（--repeat PATH）",
    ),
}
