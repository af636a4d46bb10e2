"""Texts of `pdoctor attach`: what it follows, how the job stands, what it says."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "follow.skipped": (
        "{path}: is long; {reason} bytes between its beginning and its end are not read",
        "{path}：文件很长；开头与末尾之间的 {reason} 字节不读取",
    ),
    "follow.unreadable": ("{path}: cannot be read ({reason}); trying again", "{path}：无法读取（{reason}）；将重试"),
    "follow.gone": ("{path}: is gone; waiting for it to come back", "{path}：已不存在；等待其重新出现"),
    "follow.too_many": (
        "{path}: more than {reason} files; those that were written to last are followed",
        "{path}：文件超过 {reason} 个；只跟踪最近写入的文件",
    ),
    "follow.more": (" (and {n} more files)", "（另有 {n} 个文件亦然）"),
    "watch.waiting": ("{path}: is not there yet; waiting for it", "{path}：尚不存在；等待其出现"),
    "watch.no_process": ("process {path} does not run", "进程 {path} 未在运行"),
    "watch.no_output": (
        "process {path} writes to no file that can be read ({reason}); name its logs, or pipe them: | pdoctor attach -",
        "进程 {path} 没有写入可读的文件（{reason}）；请指明其日志，或用管道传入：| pdoctor attach -",
    ),
    "watch.no_files": ("process {path} writes to no file; name its logs", "进程 {path} 没有写入任何文件；请指明其日志"),
    "watch.no_slurm": ("Slurm job {path}: {reason}", "Slurm 作业 {path}：{reason}"),
    "watch.nothing": (
        "name what to follow: a file, a folder, a pattern, - for a pipe, --pid or --slurm",
        "请指明要跟踪的内容：文件、文件夹、通配模式、- 表示管道、--pid 或 --slurm",
    ),
    "watch.begins": ("watching {what}; Ctrl-C ends with a summary", "正在监视 {what}；按 Ctrl-C 结束并给出总结"),
    "watch.files.one": ("{n} file", "{n} 个文件"),
    "watch.files.many": ("{n} files", "{n} 个文件"),
    "watch.lines.one": ("{n} line", "{n} 行"),
    "watch.lines.many": ("{n} lines", "{n} 行"),
    "watch.ranks.one": ("{n} rank", "{n} 个 rank"),
    "watch.ranks.many": ("{n} ranks", "{n} 个 rank"),
    "watch.silent": ("{n} silent", "{n} 个无输出"),
    "watch.step": ("step {n}", "第 {n} 步"),
    "watch.step_time": ("{value}/step", "每步 {value}"),
    "watch.mfu": ("MFU {value}", "MFU {value}"),
    "watch.memory": ("memory {value}", "显存 {value}"),
    "watch.nothing_found": ("nothing wrong so far", "目前未见异常"),
    "watch.findings.one": ("{n} finding", "{n} 项发现"),
    "watch.findings.many": ("{n} findings", "{n} 项发现"),
    "watch.new": ("new", "新"),
    "watch.updated": ("changed", "有变化"),
    "watch.resolved": ("no longer so", "不再成立"),
    "watch.storm": ("{n} messages on {where} follow from this", "{where} 上有 {n} 条消息由此引起"),
    "watch.storm_alone": ("{n} messages follow from this", "有 {n} 条消息由此引起"),
    "watch.episode": ("attempt {n}", "第 {n} 次尝试"),
    "watch.episode_was": ("attempt {n}: {what}", "第 {n} 次尝试：{what}"),
    "watch.now_follows": ("follows from {rule}", "由 {rule} 引起"),
    "watch.ended": ("the job has ended; {n} lines of {files} read", "作业已结束；共读取 {files} 的 {n} 行"),
}
