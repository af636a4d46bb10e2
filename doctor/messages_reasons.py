"""Why a job cannot be planned as it was asked for, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.messages_records import TEXTS as RECORDS

TEXTS: Mapping[str, tuple[str, str]] = {
    # one value
    "reason.least": ("{name} is {value}; it must be at least 1", "{name} 为 {value}；至少应为 1"),
    "reason.value": ("{name} is {value}; right would be {right}", "{name} 为 {value}；正确取值：{right}"),
    "reason.knob": ("{name} is no setting of the planner{hint}", "{name} 不是规划器的设置{hint}"),
    "reason.assignment": (
        "{word} is no setting; right would be NAME=VALUE, such as tp=4",
        "{word} 不是设置；应写成 NAME=VALUE，如 tp=4",
    ),
    "reason.option": (
        "--{option} is {value}; right would be a number above 0 and at most {most}",
        "--{option} 为 {value}；应为大于 0 且不超过 {most} 的数",
    ),
    "reason.untold": ("nothing handed over tells {names}", "提供的材料中没有 {names}"),
    "reason.from": (
        "{path}: not enough is said to know today's job; missing: {names}",
        "{path}：信息不足，无法得知当前作业；缺少：{names}",
    ),
    "reason.no_folder": ("{path} is no folder of records", "{path} 不是存放记录的目录"),
    "reason.need": ("--{option} is needed: {what}", "缺少 --{option}：{what}"),
    "need.model": ("a name such as llama3-70b, or a config.json", "模型名，如 llama3-70b，或 config.json"),
    "need.world_size": ("the number of GPUs", "GPU 数"),
    "need.gpu_model": ("a name such as A100-80G or H100", "型号，如 A100-80G 或 H100"),
    "need.seq_len": ("tokens of a sequence, such as 4096", "每序列 token 数，如 4096"),
    "need.global_batch": ("sequences of an optimizer step, such as 512", "每个优化器步的序列数，如 512"),
    "reason.hint": (", did you mean {name}?", "（是否想写 {name}？）"),
    "reason.known": ("; known are {names}", "；已知的有 {names}"),
    "reason.or": ("{first} or {second}", "{first} 或 {second}"),
    "reason.of": ("{name}: {why}", "{name}：{why}"),
    # what a value may be
    "right.positive": ("a whole number of at least 1", "不小于 1 的整数"),
    "right.whole": ("a whole number", "整数"),
    "right.number": ("a number", "数字"),
    "right.from_zero": ("a number from 0", "不小于 0 的数"),
    "right.switch": ("true or false", "true 或 false"),
    "right.zero_stage": ("0, 1, 2 or 3", "0、1、2 或 3"),
    "right.two_or_four": ("2 or 4", "2 或 4"),
    "right.one_of": ("one of {names}", "{names} 之一"),
    "right.some_of": ("some of {names}", "{names} 中的若干项"),
    "right.line": ("one line of at most {most} characters", "不超过 {most} 个字符的一行"),
    # names that are not in a table
    "reason.model": (
        "model is {name}, which is not in the table{hint}; give its config.json, or one of {names}",
        "model 为 {name}，不在表中{hint}；请给出它的 config.json，或使用 {names} 之一",
    ),
    "reason.gpu": (
        "gpu is {name}, which is not in the table{hint}; known are {names}",
        "gpu 为 {name}，不在表中{hint}；已知的有 {names}",
    ),
    "reason.framework": (
        "framework is {name}, which cannot be planned for{hint}; known are {names}",
        "framework 为 {name}，无法规划{hint}；已知的有 {names}",
    ),
    # machines
    "reason.figure": (
        "{figure} of {gpu} is not known, so it cannot be planned for: name one alike",
        "{gpu} 的 {figure} 未知，无法规划：请改用规格相近的型号",
    ),
    "reason.fp8": ("{gpu} has no FP8 products", "{gpu} 不支持 FP8 矩阵乘"),
    "reason.nodes": (
        "{gpus} GPUs are not whole nodes of {per_node}",
        "{gpus} 个 GPU 不是整数个节点（每节点 {per_node} 个）",
    ),
    "reason.network": (
        "the network of a node of {gpu} is not known; give the bandwidth of a node with --network",
        "{gpu} 节点的网络带宽未知；请用 --network 给出单个节点的带宽",
    ),
    "reason.between_nodes": ("the bandwidth between nodes is not known", "节点之间的带宽未知"),
    # the shape of a model
    "reason.layers_most": (
        "layers is {layers}; at most {most} are modelled",
        "layers 为 {layers}；最多支持 {most} 层",
    ),
    "reason.heads_kv": (
        "{heads} heads do not divide into {kv_heads} key-value heads",
        "{heads} 个注意力头不能均分给 {kv_heads} 个 KV 头",
    ),
    "reason.topk": (
        "top-{topk} of {experts} experts is not possible",
        "{experts} 个专家无法取 top-{topk}",
    ),
    "reason.large": (
        "larger than {mib} MiB; a model's config.json has a few KiB",
        "超过 {mib} MiB；模型的 config.json 只有几 KiB",
    ),
    "reason.json": ("not JSON: {why}", "不是 JSON：{why}"),
    "reason.mapping": ("a model's config.json is a mapping", "模型的 config.json 应为键值映射"),
    "reason.no_field": ("no {name}: is it a model's config.json?", "没有 {name}：这是模型的 config.json 吗？"),
    "reason.field_whole": ("{name} is {value}; it must be a whole number", "{name} 为 {value}；应为整数"),
    # a layout that is none
    "reason.ranks": (
        "tp {tp} x cp {cp} x pp {pp} = {inner} ranks do not divide the {gpus} GPUs",
        "tp {tp} x cp {cp} x pp {pp} = {inner} 个 rank，不能整除 {gpus} 个 GPU",
    ),
    "reason.ranks.near": ("{why}; right would be {right} ranks", "{why}；正确取值：{right} 个 rank"),
    "reason.world": (
        "tp {tp} x cp {cp} x pp {pp} x dp {dp} = {world} ranks, but there are {gpus} GPUs",
        "tp {tp} x cp {cp} x pp {pp} x dp {dp} = {world} 个 rank，但有 {gpus} 个 GPU",
    ),
    "reason.batch": (
        "global_batch {batch} is not a multiple of micro_batch {micro} x dp {dp} = {whole}",
        "global_batch {batch} 不是 micro_batch {micro} x dp {dp} = {whole} 的倍数",
    ),
    "reason.batch.steps": (
        "global_batch {batch} is not micro_batch {micro} x grad_accum {steps} x dp {dp} = {whole}",
        "global_batch {batch} 不等于 micro_batch {micro} x grad_accum {steps} x dp {dp} = {whole}",
    ),
    "reason.expert_groups": (
        "expert groups do not fit: tp {tp} x cp {cp} x dp {dp} = {ranks} ranks of a stage are not a multiple of "
        "ep {ep} x etp {etp} = {group}",
        "专家组无法划分：每阶段 tp {tp} x cp {cp} x dp {dp} = {ranks} 个 rank，"
        "不是 ep {ep} x etp {etp} = {group} 的倍数",
    ),
    "reason.shard": (
        "shard is {shard}; it must divide dp x cp = {whole}",
        "shard 为 {shard}；必须能整除 dp x cp = {whole}",
    ),
    "reason.chunks.parts": (
        "chunks names {n} parts; pp {pp} x vpp {vpp} needs {needed}",
        "chunks 给出 {n} 个部分；pp {pp} x vpp {vpp} 需要 {needed} 个",
    ),
    "reason.chunks.layers": (
        "the chunks hold {held} layers; the model has {layers}",
        "各层块共 {held} 层，而模型有 {layers} 层",
    ),
    "reason.chunks.empty": (
        "{layers} layers do not fill pp {pp} x vpp {vpp} = {count} chunks",
        "{layers} 层填不满 pp {pp} x vpp {vpp} = {count} 个层块",
    ),
    "reason.no_layout": (
        "no layout of {gpus} GPUs is legal for {model} with seq {seq} and global_batch {batch}; a global batch with "
        "more divisors allows more",
        "{model} 在 {gpus} 个 GPU、seq {seq}、global_batch {batch} 下没有合法布局；约数更多的全局批次可以有更多布局",
    ),
    "reason.no_layout.held": (
        "no layout of {gpus} GPUs is legal for {model} with seq {seq} and global_batch {batch} and {held}; a global "
        "batch with more divisors allows more",
        "{model} 在 {gpus} 个 GPU、seq {seq}、global_batch {batch}、{held} 下没有合法布局；"
        "约数更多的全局批次可以有更多布局",
    ),
    "reason.generates": (
        "{framework} generates text on the same GPUs, which the planner has no model of",
        "{framework} 还在同一批 GPU 上生成文本，规划器没有这部分的模型",
    ),
    "reason.reinforcement": ("reinforcement learning", "强化学习"),
    # what a framework refuses
    "refused.heads": (
        "{heads} attention heads are not divisible by tp {tp}; right would be {right}",
        "{heads} 个注意力头不能被 tp {tp} 整除；正确取值：{right}",
    ),
    "refused.kv_heads": (
        "{heads} key-value heads are not divisible by tp {tp}; right would be {right}",
        "{heads} 个 KV 头不能被 tp {tp} 整除；正确取值：{right}",
    ),
    "refused.ffn": ("ffn {ffn} is not divisible by tp {tp}", "ffn {ffn} 不能被 tp {tp} 整除"),
    "refused.ends": (
        "{layers} layers less {first} in the first and {last} in the last stage leave {inner}, which {stages} further "
        "stages cannot share evenly",
        "{layers} 层减去首阶段 {first} 层和末阶段 {last} 层，余 {inner} 层，其余 {stages} 个阶段无法均分",
    ),
    "refused.layers": (
        "{layers} layers are not divisible by {cut}; right would be {right}",
        "{layers} 层不能被 {cut} 整除；正确取值：{right}",
    ),
    "refused.vpp": ("vpp {vpp} needs a pipeline, but pp is 1", "vpp {vpp} 需要流水线，但 pp 为 1"),
    "refused.interleaved": (
        "{micro_batches} micro-batches are not divisible by pp {pp}; interleaving needs that",
        "{micro_batches} 个 micro-batch 不能被 pp {pp} 整除；交错调度要求整除",
    ),
    "refused.dualpipe": (
        "DualPipe feeds both ends and needs an even number of stages; pp is {pp}",
        "DualPipe 从两端同时注入，阶段数须为偶数；pp 为 {pp}",
    ),
    "refused.ring": (
        "seq {seq} is not divisible by 2 x cp {cp} = {chunks}, a ring's chunks",
        "seq {seq} 不能被 2 x cp {cp} = {chunks}（环形注意力的分块数）整除",
    ),
    "refused.sp": (
        "sequence parallelism cuts {tokens} tokens over tp {tp}, which does not divide them",
        "序列并行要把 {tokens} 个 token 切给 tp {tp}，不能整除",
    ),
    "refused.sp.tp": (
        "sequence parallelism is on, but tp is 1: there is nothing to cut over",
        "已开启序列并行，但 tp 为 1：无从切分",
    ),
    "refused.no_experts": ("ep is {ep}, but {model} has no experts", "ep 为 {ep}，但 {model} 没有专家"),
    "refused.experts": (
        "{experts} experts are not divisible by ep {ep}; right would be {right}",
        "{experts} 个专家不能被 ep {ep} 整除；正确取值：{right}",
    ),
    "refused.expert_ffn": (
        "an expert's ffn {ffn} is not divisible by etp {etp}",
        "单个专家的 ffn {ffn} 不能被 etp {etp} 整除",
    ),
    "refused.experts_sp": (
        "experts with tp {tp} need sequence parallelism (Megatron-LM refuses to start)",
        "tp {tp} 下的专家并行需要开启序列并行（否则 Megatron-LM 拒绝启动）",
    ),
    "refused.zero": (
        "DeepSpeed's pipeline does not work with ZeRO-{stage}; right would be ZeRO-1, or pp 1",
        "DeepSpeed 的流水线不支持 ZeRO-{stage}；请用 ZeRO-1 或 pp 1",
    ),
    # figures of a run
    "reason.measured": (
        "the measured step is {seconds} s; it must be above 0",
        "实测单步为 {seconds} 秒；应大于 0",
    ),
    "reason.measured.far": (
        "the measured step is {seconds} s, but {likely} s are predicted, more than a factor {factor} apart; give the "
        "seconds of one optimizer step of this very job",
        "实测单步为 {seconds} 秒，预测为 {likely} 秒，相差超过 {factor} 倍；请给出本作业一个优化器步的秒数",
    ),
    "reason.ep_experts": (
        "ep is {ep}; it must divide the {experts} experts",
        "ep 为 {ep}；必须能整除 {experts} 个专家",
    ),
    "reason.capacity": ("capacity factor is {factor}; it must be above 0", "容量因子为 {factor}；应大于 0"),
    "reason.no_loads": ("no expert's load was given", "没有给出任何专家的负载"),
    "reason.load": (
        "load of expert {expert} is {count}; it must be 0 or more",
        "专家 {expert} 的负载为 {count}；不应小于 0",
    ),
    "reason.loads_zero": ("all experts have load 0", "所有专家的负载都是 0"),
    **RECORDS,
}
