"""Why a published measurement is not compared with the planner, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "record.large": ("larger than {mib} MiB", "超过 {mib} MiB"),
    "record.yaml": ("not valid YAML: {why}", "不是有效的 YAML：{why}"),
    "record.unreadable": ("cannot be read", "无法读取"),
    "record.no_list": ("holds {kind}; expected a list of records", "内容是{kind}；应为记录列表"),
    "record.no_file": ("no .yaml file; expected lists of records", "没有 .yaml 文件；应为记录列表"),
    "record.many": ("{n} records; at most {most}", "{n} 条记录；最多 {most} 条"),
    "record.mapping": ("is {kind}; expected a mapping", "是{kind}；应为键值映射"),
    "record.values": ("{section}: more than {most} values", "{section}：超过 {most} 个值"),
    "record.nested": ("nested deeper than {most} levels", "嵌套超过 {most} 层"),
    "record.kind.mapping": ("a mapping", "键值映射"),
    "record.kind.list": ("a list", "列表"),
    "record.kind.text": ("text", "文本"),
    "record.kind.nothing": ("nothing", "空"),
    "record.kind.switch": ("true or false", "布尔值"),
    "record.kind.number": ("a number", "数字"),
    "record.missing": ("missing", "缺失"),
    "record.whole": ("{name} is {value}; a whole number is needed", "{name} 为 {value}；需要整数"),
    "record.arch": (
        "model.arch is {value}: only decoder-only transformers are modelled",
        "model.arch 为 {value}：只支持 decoder-only 的 Transformer",
    ),
    "record.gpu": (
        "hardware.gpu is {value}, which is not in the table of GPUs",
        "hardware.gpu 为 {value}，不在 GPU 表中",
    ),
    "record.two_runs": (
        "train.recompute is {value}: two runs in one record",
        "train.recompute 为 {value}：一条记录含两次运行",
    ),
    "record.recompute": (
        "train.recompute is {value}; known are none, selective, full and names of modules",
        "train.recompute 为 {value}；已知的有 none、selective、full 和模块名",
    ),
    "record.precision": (
        "train.precision is {value}; known are bf16, fp16, fp32 and fp8",
        "train.precision 为 {value}；已知的有 bf16、fp16、fp32 和 fp8",
    ),
    "record.zero": ("parallel.zero is {value}; it is 0, 1, 2 or 3", "parallel.zero 为 {value}；应为 0、1、2 或 3"),
    "record.vocab": (
        "model.vocab is missing and tokenizer {tokenizer} has no known size",
        "缺少 model.vocab，且分词器 {tokenizer} 的词表大小未知",
    ),
    "record.layer_freq": (
        "model.moe.layer_freq is {value}; a number or a pattern like ([0]*3+[1]*58) is needed",
        "model.moe.layer_freq 为 {value}；需要一个数，或形如 ([0]*3+[1]*58) 的模式",
    ),
    "record.layer_order": (
        "model.moe.layer_freq is {value}: layers are modelled as dense first, then experts",
        "model.moe.layer_freq 为 {value}：只支持先稠密层、后专家层",
    ),
    "record.pp_layout.long": ("pipeline-model-parallel-layout is too long", "pipeline-model-parallel-layout 过长"),
    "record.pp_layout.parts": (
        "pipeline-model-parallel-layout {value} has {n} parts for pp {pp}",
        "pipeline-model-parallel-layout {value} 有 {n} 个部分，而 pp 为 {pp}",
    ),
    "record.ends": (
        "{layers} layers with the ends of the model do not divide into {parts} chunks",
        "{layers} 层（含模型两端）不能均分为 {parts} 个层块",
    ),
    "record.not_measured": ("not a measurement", "不是实测值"),
    "record.other_job": (
        "the measured value cannot be that of this job",
        "实测值不可能属于该作业",
    ),
    "record.not_computed": ("cannot be computed: {why}", "无法计算：{why}"),
    "record.gpus": ("the number of GPUs is a guess", "GPU 数是猜测值"),
    "record.ambiguous": ("ambiguous: one cell of the table holds two layouts", "有歧义：表中一格含两种布局"),
    "record.widths": (
        "model.arch_verified is false: widths of the model are a guess",
        "model.arch_verified 为 false：模型宽度是猜测值",
    ),
    "record.format": ("the number format is not modelled: {assumed}", "不支持该数值格式：{assumed}"),
    "record.vpp": (
        "virtual pipeline stages are unstated: the bubble cannot be known",
        "未说明虚拟流水线阶段数：无法得知气泡",
    ),
    "record.no_number": ("the measured value is no positive number", "实测值不是正数"),
    "record.no_batch": ("step time without its batch: {assumed}", "有单步时间而没有批次大小：{assumed}"),
    "record.no_speed": (
        "no step time, tokens a second, FLOP/s or MFU",
        "没有单步时间、每秒 token 数、FLOP/s 或 MFU",
    ),
}
