"""Texts of bundles: what was collected and hidden, and what is wrong with one that is read."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "bundle.schema": (
        "{path}: written by another version of pdoctor (schema {schema}; known: {known}): its texts alone are read",
        "{path}：由其他版本的 pdoctor 写出（格式 {schema}，已知：{known}）；仅读取其中的文本",
    ),
    "bundle.damaged": (
        "{path}: not the manifest of a bundle ({reason}): the texts beside it alone are read",
        "{path}：不是有效的诊断包清单（{reason}）；仅读取其中的文本",
    ),
    "bundle.incomplete": (
        "{path}: {n} of the {all} texts of the bundle are missing: it is not whole",
        "{path}：诊断包缺少 {all} 个文本中的 {n} 个，不完整",
    ),
    "bundle.facts": (
        "{path}: facts of the bundle that were left out: {n}; the first: {reason}",
        "{path}：诊断包中略去的事实：{n} 条；第一条：{reason}",
    ),
    "bundle.exists": (
        "{path} is there already: choose another name, or {option} to replace it",
        "{path} 已存在：请换一个名称，或用 {option} 覆盖",
    ),
    "bundle.suffix": ("{path}: a bundle ends in one of {kinds}", "{path}：诊断包的后缀应为 {kinds}"),
    "bundle.unwritable": ("{path} cannot be written: {reason}", "{path} 无法写入：{reason}"),
    "bundle.written": ("{path}: {size}", "{path}：{size}"),
    "bundle.not_written": ("{path}: not written (dry run)", "{path}：未写出（试运行）"),
    "bundle.progress": ("hiding secrets", "隐去敏感信息"),
    "bundle.taken": ("taken", "已收集"),
    "bundle.texts": ("{n} texts ({kinds}), {size}", "{n} 个文本（{kinds}），{size}"),
    "bundle.of_facts": ("{n} facts of {m} probes and recordings", "{m} 个探针和记录的 {n} 条事实"),
    "bundle.cut": ("{path}: its beginning and end", "{path}：仅开头和结尾"),
    "bundle.hidden": ("hidden", "已隐去"),
    "bundle.nothing_hidden": ("nothing: no secret or name was found", "无：未发现密钥或名称"),
    "bundle.left_out": ("left out", "未收集"),
    "bundle.look": (
        "Look into it before you hand it on. To read it: pdoctor analyze {path}",
        "转交之前请先查看。读取方法：pdoctor analyze {path}",
    ),
    "hosts.silent": ("{path} was not looked at: {reason}", "未能检查 {path}：{reason}"),
    "hosts.name": ("{path} can be no name of a host", "{path} 不是有效的主机名"),
    "hosts.no_job": (
        "{path}: this does not run in a Slurm job (no SLURM_JOB_ID): name the job",
        "{path}：当前不在 Slurm 作业中（无 SLURM_JOB_ID），请给出作业号",
    ),
    "hosts.job": ("Slurm job {path}: {reason}", "Slurm 作业 {path}：{reason}"),
    "hosts.progress": ("{n} of {all} hosts answered", "{all} 台主机中 {n} 台已应答"),
    "hosts.asked": ("Asked {all} hosts: {n} answered.", "询问了 {all} 台主机：{n} 台应答。"),
    "checked.hosts.one": ("one node by {probes} probes: {names}", "1 个节点的 {probes} 个探针：{names}"),
    "checked.hosts.many": ("{n} nodes by {probes} probes: {names}", "{n} 个节点的 {probes} 个探针：{names}"),
}
