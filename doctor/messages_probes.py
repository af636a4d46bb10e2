"""Remarks of the probes in Chinese. Probes know nothing of languages: they remark in English, as matched here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.messages_files import FILES, LISTED, LIVE

_REASONS: Sequence[tuple[str, str]] = (
    (r"not a number", "不是数字"),
    (r"not a whole number", "不是整数"),
    (r"not true or false", "不是 true 或 false"),
    (r"not a size such as 16g", "不是 16g 这样的大小"),
    (r"not a precision such as bf16", "不是 bf16 这样的精度"),
    (r"not a ZeRO stage from 0 to 3", "不是 0 到 3 的 ZeRO 阶段"),
)

TRACES: Sequence[tuple[str, str]] = (
    (r"holds no events that could be read", "没有可读取的事件"),
    (r"the trace is cut off: .*", "trace 不完整：事件数组没有结尾，因此缺少运行的最后一部分"),
    (r"(?P<n>\d+) events are damaged and were left out", "{n} 个事件已损坏，已略去"),
    (r"holds text that JSON forbids: .*", "含有 JSON 不允许的文本：已逐个读取事件，并尽量修复"),
    (r"text of (?P<n>\d+) events of more than 64 MiB was left out", "{n} 个超过 64 MiB 的事件文本已略去"),
    (r"(?P<n>\d+) kernels have a negative duration and were left out", "{n} 个内核的持续时间为负，已略去"),
    (r"(?P<n>\d+) kernels lie at time 0 and were left out", "{n} 个内核位于时刻 0，已略去"),
    (
        r"(?P<n>\d+) kernels lie more than a day away from the rest and were left out",
        "{n} 个内核与其余相距一天以上，已略去",
    ),
    (r"(?P<n>\d+) kernels last longer than the whole recording and were left out", "{n} 个内核长于整个记录，已略去"),
    (r"times are doubles since the epoch.*", "时间为自纪元起的双精度数，相邻值相差四分之一微秒：短间隙不精确"),
    (r"times are whole microseconds: .*", "时间为整微秒：更短的内核和间隙不精确"),
    (r"no ProfilerStep in it: .*", "没有 ProfilerStep：无法按步说明（每次迭代后调用 profiler.step()）"),
    (r"does not say which rank it is of.*", "没有说明属于哪个 rank（没有 distributedInfo）"),
    (r"no work of a device was recorded: .*", "没有记录设备上的工作：只能判断主机"),
    (
        r"(?P<bare>\d+) of (?P<n>\d+) communication kernels do not say their process group: .*",
        "{n} 个通信内核中有 {bare} 个没有说明进程组：其作用未知",
    ),
    (r"no calls of the runtime were recorded: .*", "没有记录运行时调用：设备空闲的原因未知"),
    (
        r"(?P<n>\d+) launches before the first kernel have no kernel: .*",
        "首个内核之前的 {n} 次发射没有对应内核：剖析器丢弃了早期内核（kineto#996），开头因此显得空闲",
    ),
    (r"work of (?P<n>\d+) devices in one file: .*", "一个文件中有 {n} 个设备的工作：分别说明"),
    (r"counts as rank (?P<n>\d+) here", "此处计为 rank {n}"),
    (r"is a second trace of rank (?P<n>\d+): .*", "是 rank {n} 的第二个 trace：以较晚的为准，此文件略去"),
    (
        r"records ranks that a trace of the PyTorch.*",
        "所录 rank 已有 PyTorch profiler 的 trace：此文件略去，请单独分析",
    ),
    (r"clocks of the ranks differ by up to (?P<ms>[\d.]+) ms: .*", "各 rank 时钟相差最多 {ms} ms：比较时不使用时钟"),
)

NODE: Sequence[tuple[str, str]] = (
    (r"no NVIDIA driver here: (?P<name>\S+) is not found", "此处没有 NVIDIA 驱动：找不到 {name}"),
    (r"the Python package (?P<name>\S+) is not installed", "未安装 Python 包 {name}"),
    (r"gave no answer within (?P<n>[\d.]+) s", "{n} 秒内没有回应"),
    (r"was skipped", "已跳过"),
    (r"(?P<name>.*) gave no answer within (?P<n>[\d.]+) s", "{name} 在 {n} 秒内没有回应"),
    (r"no GPU here reports events to NVML", "此处的 GPU 不向 NVML 报告事件"),
    (r"the probe broke: (?P<why>.*)", "探针出错：{why}"),
    (r"No such file or directory", "文件或目录不存在"),
    (r"(?P<name>[\w./-]+): No such file or directory", "{name}：文件或目录不存在"),
    (r"(?P<name>[\w./-]+): Permission denied", "{name}：权限不足"),
    (r"Permission denied", "权限不足"),
    (r"configuration space past 64 bytes is for root alone", "配置空间 64 字节之后的部分只有 root 能读"),
    (
        r"(?P<n>\d+) Python processes belong to another user: .*",
        "{n} 个 Python 进程属于其他用户：请以该用户或 root 运行",
    ),
    (
        r"other jobs run here too and were not looked at: (?P<jobs>.*); choose .*",
        "此处还运行着其他作业，未查看：{jobs}；用 --job 或 --pid 选择",
    ),
    (r"process (?P<n>\d+) is of no job here; these run: (?P<jobs>.*)", "进程 {n} 不属于此处的作业；正在运行：{jobs}"),
    (r"no job is called (?P<name>.*) here; these run: (?P<jobs>.*)", "此处没有名为 {name} 的作业；正在运行：{jobs}"),
    (r"its processes do not say which rank they are: .*", "其进程没有说明各是哪个 rank：按启动顺序编号"),
    (r"py-spy is not installed: .*", "未安装 py-spy：pip install 'pdoctor[stacks]'，或在作业环境中 pip install py-spy"),
    (r"(?P<who>.*): they belong to another user; run: (?P<do>.*)", "{who}：属于其他用户；可运行：{do}"),
    (
        r"(?P<who>.*): this container may not look .*; run: (?P<do>.*)",
        "{who}：此容器不能查看其他进程，启动时加 --cap-add SYS_PTRACE；可运行：{do}",
    ),
    (
        r"(?P<who>.*): .* \(kernel\.yama\.ptrace_scope is (?P<n>\d)\); run: (?P<do>.*)",
        "{who}：不允许查看（kernel.yama.ptrace_scope 为 {n}）；可运行：{do}",
    ),
    (r"(?P<who>.*): not permitted; run: (?P<do>.*)", "{who}：权限不足；可运行：{do}"),
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
    *TRACES,
    *NODE,
    *FILES,
    *LIVE,
    *LISTED,
    *(
        (rf"(?P<key>.*) = (?P<value>.*) is {english}", f"{{key}} = {{value}} {chinese}")
        for english, chinese in _REASONS
    ),
)


def translated(remark: str, lang: str) -> str:
    """The remark of a probe in `lang`, and what it gives as the reason; one that is not listed here stays as it is."""
    if lang == "zh":
        for pattern, chinese in _REMARKS:
            if found := re.fullmatch(pattern, remark, re.DOTALL):
                parts = found.groupdict()
                return chinese.format(**{k: translated(v, lang) if k == "why" else v for k, v in parts.items()})
    return remark
