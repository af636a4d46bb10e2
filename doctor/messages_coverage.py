"""Texts for who could have told what is not known."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "provider.job_config": ("the job's configuration (launch script, config file)", "作业配置（启动脚本、配置文件）"),
    "provider.node_dump": (
        "the state of the nodes (nvidia-smi -q, dmesg, df, ip addr)",
        "节点状态（nvidia-smi -q、dmesg、df、ip addr）",
    ),
    "provider.log": ("logs of the ranks", "各 rank 的日志"),
    "provider.table": ("tables (traces, expert loads, benchmarks)", "表格（trace、专家负载、基准测试）"),
    "provider.flight_recorder": ("flight recorder dumps", "飞行记录器转储"),
    "provider.trace": ("traces of the PyTorch profiler", "性能剖析 trace"),
    "provider.memory_snapshot": (
        "snapshots of GPU memory (torch.cuda.memory._dump_snapshot)",
        "显存快照（torch.cuda.memory._dump_snapshot）",
    ),
    "provider.expert_loads": (
        "loads of the experts (tokens per expert and layer)",
        "专家负载（各层各专家的 token 数）",
    ),
    "provider.recording": (
        "recordings of the job itself (doctor.recorder.attach in its script)",
        "作业内记录（在脚本中调用 doctor.recorder.attach）",
    ),
    "provider.stacks": (
        "stacks of the ranks (py-spy dump, faulthandler)",
        "各 rank 的调用栈（py-spy dump、faulthandler）",
    ),
    "provider.nsys": (
        "exports of Nsight Systems (nsys export --type sqlite)",
        "Nsight Systems 导出（nsys export --type sqlite）",
    ),
    "provider.what_if": ("tables of timed operations of every worker", "各进程的算子计时表"),
    "provider.other": ("other facts", "其他事实"),
}
