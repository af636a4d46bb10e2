"""Texts of the planner, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    # what is planned for
    "plan.model": ("{name}, {params} parameters, {layers} layers", "{name}，{params} 参数，{layers} 层"),
    "plan.machines": (
        "{gpus} x {gpu} ({memory} GiB), {per_node} a node, {framework}",
        "{gpus} x {gpu}（{memory} GiB），每节点 {per_node} 个，{framework}",
    ),
    "plan.batch": (
        "{seq} tokens a sequence, {batch} sequences a step ({tokens} tokens), {precision}",
        "每序列 {seq} 个 token，每步 {batch} 个序列（{tokens} 个 token），{precision}",
    ),
    "plan.assumed": ("assumed: {name} = {value}", "假定：{name} = {value}"),
    # headings
    "plan.head.today": ("today", "当前"),
    "plan.head.layout": ("layout", "布局"),
    "plan.head.after": ("after", "修改后"),
    "plan.head.memory": ("memory", "显存"),
    "plan.head.step": ("step", "单步"),
    "plan.head.refused": ("refused", "被拒绝"),
    "plan.head.assumed": ("assumed", "假定"),
    "plan.head.missing": ("missing", "缺少"),
    "plan.head.why": ("why", "推导"),
    "plan.head.candidates": ("candidates", "候选"),
    "plan.head.measure": ("measure", "实测"),
    "plan.head.change": ("change", "修改"),
    "plan.head.effect": ("effect", "效果"),
    "plan.head.note": ("note", "注意"),
    # one job
    "plan.layout": ("{degrees}, micro-batch {micro} x {m}", "{degrees}，micro-batch {micro} x {m}"),
    "plan.sharding.none": ("nothing sharded", "不分片"),
    "plan.sharding.optimizer": ("optimizer sharded (ZeRO-1)", "优化器分片（ZeRO-1）"),
    "plan.sharding.gradients": ("optimizer and gradients sharded (ZeRO-2)", "优化器与梯度分片（ZeRO-2）"),
    "plan.sharding.full": ("all states sharded (ZeRO-3)", "全部状态分片（ZeRO-3）"),
    "plan.recompute.none": ("no recomputation", "不重计算"),
    "plan.recompute.selective": ("attention scores recomputed", "重计算注意力分数"),
    "plan.recompute.operators": ("every second product recomputed", "重计算一半矩阵乘"),
    "plan.recompute.modules": ("recomputed: {modules}", "重计算：{modules}"),
    "plan.recompute.full": ("full recomputation", "全部重计算"),
    "plan.stage": ("stage {number}", "阶段 {number}"),
    "plan.stages": ("stages {first}-{last}", "阶段 {first}-{last}"),
    "plan.gpu": ("each GPU", "每个 GPU"),
    "plan.of": ("{usual} of {capacity} GiB (up to {high})", "{usual} / {capacity} GiB（最多 {high}）"),
    "plan.over": ("does not fit", "放不下"),
    "plan.perhaps": ("may not fit", "可能放不下"),
    "plan.part.parameters": ("parameters", "参数"),
    "plan.part.gradients": ("gradients", "梯度"),
    "plan.part.optimizer": ("optimizer", "优化器"),
    "plan.part.activations": ("activations", "激活"),
    "plan.part.other": ("rest", "其他"),
    "plan.time": ("{likely} s ({low} to {high}){mfu}", "{likely} 秒（{low} 到 {high}）{mfu}"),
    "plan.mfu": (", MFU {share} (model FLOP utilisation)", "，MFU {share}（模型算力利用率）"),
    "plan.untimed": ("no estimate: {why}", "无法估计：{why}"),
    "plan.bubble": ("bubble {share} of the pipeline's time", "流水线气泡占 {share}"),
    "plan.piece": ("{name} {seconds} s", "{name} {seconds} 秒"),
    "plan.time.products": ("matrix products", "矩阵乘"),
    "plan.time.attention": ("attention", "注意力"),
    "plan.time.memory": ("memory-bound operators", "访存算子"),
    "plan.time.recompute": ("recomputation", "重计算"),
    "plan.time.host": ("host", "主机"),
    "plan.time.tp": ("TP waits", "TP 等待"),
    "plan.time.cp": ("CP waits", "CP 等待"),
    "plan.time.ep": ("EP waits", "EP 等待"),
    "plan.time.dp": ("DP waits", "DP 等待"),
    "plan.time.pp": ("PP transfers", "PP 传输"),
    "plan.time.bubble": ("bubble", "气泡"),
    "plan.time.optimizer": ("optimizer", "优化器"),
    "plan.time.offload": ("offloading", "卸载"),
    # the strategy
    "trace.whole": (
        "One copy of all states takes {states} GiB ({params} parameters of {each} B: weight, gradient, optimizer). "
        "A GPU has {capacity}, so at least {gpus} GPUs must share them; the cluster has {have}.",
        "一份完整状态需要 {states} GiB（{params} 参数，每个 {each} B：权重、梯度、优化器）。"
        "单卡 {capacity} GiB，至少要 {gpus} 个 GPU 分担；现有 {have} 个。",
    ),
    "trace.whole.one": (
        "One copy of all states takes {states} GiB ({params} parameters of {each} B): a GPU with {capacity} holds it.",
        "一份完整状态需要 {states} GiB（{params} 参数，每个 {each} B）：{capacity} GiB 的单卡放得下。",
    ),
    "trace.plain": (
        "Data parallelism alone (DP {dp}): {peak} GiB on the fullest GPU.",
        "只用数据并行（DP {dp}）：最满的 GPU 需要 {peak} GiB。",
    ),
    "trace.plain.full": (
        "Data parallelism with all states shared out over its ranks (DP {dp}): {peak} GiB on the fullest GPU.",
        "数据并行并在其 rank 间分片全部状态（DP {dp}）：最满的 GPU 需要 {peak} GiB。",
    ),
    "trace.shard": (
        "Share the states over the data-parallel ranks ({sharding}), which costs no or few further bytes: {peak} GiB.",
        "在数据并行组内分片状态（{sharding}），几乎不增加通信量：{peak} GiB。",
    ),
    "trace.tensor": (
        "Cut every layer over TP {tp}, no wider than the {per_node} GPUs that {link} joins, for it talks several times "
        "in every layer: {peak} GiB.",
        "用 TP {tp} 切分每一层，不超过 {link} 相连的 {per_node} 个 GPU，因为每层都要通信多次：{peak} GiB。",
    ),
    "trace.tensor.spare": (
        "The batch of {batch} sequences is too small for data parallelism over all GPUs: TP {tp} uses {gpus} of them.",
        "全局批次只有 {batch} 个序列，数据并行用不满所有 GPU：TP {tp} 用到 {gpus} 个。",
    ),
    "trace.pipeline": (
        "Deal the layers out to PP {pp} stages of {layers}, which talk little and may span nodes: {peak} GiB.",
        "把层分到 PP {pp} 个阶段，每阶段 {layers} 层，通信少，可跨节点：{peak} GiB。",
    ),
    "trace.pipeline.spare": (
        "GPUs are left over, for the batch has {batch} sequences only: PP {pp} uses {gpus}.",
        "全局批次只有 {batch} 个序列，仍有 GPU 空闲：PP {pp} 用到 {gpus} 个。",
    ),
    "trace.context": (
        "Cut the sequence over CP {cp}: activations {activations} GiB, {peak} GiB in all.",
        "用 CP {cp} 切分序列：激活 {activations} GiB，总计 {peak} GiB。",
    ),
    "trace.context.spare": (
        "GPUs are left over: CP {cp} uses {gpus}.",
        "仍有 GPU 空闲：CP {cp} 用到 {gpus} 个。",
    ),
    "trace.experts": (
        "Spread the experts over EP {ep}; it takes its ranks from data parallelism and multiplies nothing: {peak} GiB.",
        "专家分布到 EP {ep}；它借用数据并行的 rank，不增加 GPU 数：{peak} GiB。",
    ),
    "trace.experts_far": (
        "Still too much: EP {ep} leaves the {link} domain, so its all-to-alls use the network: {peak} GiB.",
        "仍放不下：EP {ep} 超出 {link} 域，all-to-all 走网络：{peak} GiB。",
    ),
    "trace.recompute": (
        "Activations are what is left to save: {recompute} ({activations} GiB of them stay), for time: {peak} GiB.",
        "剩下能省的是激活：{recompute}（保留 {activations} GiB），用时间换显存：{peak} GiB。",
    ),
    "trace.bubble": (
        "{m} micro-batches through {pp} stages leave a bubble of {bubble}: (p-1)/(m+p-1). It needs no virtual stages.",
        "{m} 个 micro-batch 通过 {pp} 个阶段，气泡 {bubble}：(p-1)/(m+p-1)。不需要虚拟阶段。",
    ),
    "trace.bubble.large": (
        "{m} micro-batches through {pp} stages leave a bubble of {bubble}: more micro-batches or fewer stages cut it.",
        "{m} 个 micro-batch 通过 {pp} 个阶段，气泡 {bubble}：增加 micro-batch 或减少阶段可降低。",
    ),
    "trace.vpp": (
        "{vpp} chunks of layers a stage (interleaved) bring the bubble down to {bubble}: {peak} GiB.",
        "每阶段 {vpp} 个层块（交错调度），气泡降到 {bubble}：{peak} GiB。",
    ),
    "trace.micro": (
        "There is room for micro-batch {micro}: parameters are gathered half as often: {peak} GiB.",
        "显存允许 micro-batch {micro}：参数收集次数减半：{peak} GiB。",
    ),
    "trace.stuck": (
        "Nothing is left to cut: {peak} GiB do not fit in {capacity}. More GPUs, offloading, LoRA or a smaller model.",
        "已无可切分：{peak} GiB 放不进 {capacity} GiB。需要更多 GPU、卸载、LoRA 或更小的模型。",
    ),
    "trace.stuck.perhaps": (
        "Nothing is left to cut: {peak} GiB are likely, but up to {high} possible, and a GPU has {capacity}. More "
        "GPUs, offloading, LoRA or a smaller model make it certain.",
        "已无可切分：很可能需要 {peak} GiB，最多 {high} GiB，而单卡有 {capacity} GiB。"
        "更多 GPU、卸载、LoRA 或更小的模型才能确定放下。",
    ),
    "trace.peak": ("{peak} (up to {high})", "{peak}（最多 {high}）"),
    "plan.why.search": (
        "These moves stop at the first layout that fits; the candidates are all layouts, compared by their step time.",
        "以上推导止于第一个放得下的布局；下面的候选则按单步时间比较所有布局。",
    ),
    "plan.why.held": (
        "These moves do without {names}, which --set holds: only the candidates keep to it.",
        "以上推导未考虑固定的设置 {names}，只有候选遵守。",
    ),
    # candidates
    "plan.searched": (
        "Legal layouts: {layouts}; with micro-batch and chunks {considered}, of which {too_big} do not fit.",
        "合法布局 {layouts} 种，连同 micro-batch 与层块共 {considered} 种；其中 {too_big} 种放不下。",
    ),
    "plan.none": (
        "None fits for certain: > needs least, up to {high} of {capacity} GiB.",
        "没有一种确定放得下：> 需要最少，最多 {high} / {capacity} GiB。",
    ),
    "plan.column.memory": ("GiB (up to)", "GiB（最多）"),
    "plan.column.step": ("step in s (range)", "单步秒（范围）"),
    "plan.column.bubble": ("bubble", "气泡"),
    "plan.column.waits": ("waits", "等待"),
    "plan.column.micro": ("mbs", "mbs"),
    "plan.column.recompute": ("recompute", "重计算"),
    "plan.column.shard": ("ZeRO", "ZeRO"),
    "plan.risk.memory": ("may not fit", "可能放不下"),
    "plan.risk.tight": ("tight", "余量小"),
    "plan.risk.ep.nodes": ("EP over nodes", "EP 跨节点"),
    "plan.risk.cp.nodes": ("CP over nodes", "CP 跨节点"),
    "plan.risk.tp.nodes": ("TP over nodes", "TP 跨节点"),
    "plan.risk.uneven": ("uneven stages", "阶段不均"),
    "plan.legend": (
        "> is the fastest that fits for certain; waits: share of the step that communication is not hidden.",
        "> 是确定放得下的最快者；等待：未被隐藏的通信占单步的比例。",
    ),
    "plan.none.near": (
        "None comes near to fitting, so there is nothing to choose from.",
        "没有一种接近放得下，因此没有可选的布局。",
    ),
    "plan.tied.one": (
        "The range of {n} layout overlaps that of >: the models cannot tell which is faster. Measure before choosing.",
        "有 {n} 种布局与 > 的范围重叠：模型无法分辨谁更快。请实测后再选。",
    ),
    "plan.tied.many": (
        "The ranges of {n} layouts overlap that of >: the models cannot tell which is faster. Measure before choosing.",
        "有 {n} 种布局与 > 的范围重叠：模型无法分辨谁更快。请实测后再选。",
    ),
    "plan.measure": (
        "run each for {steps} steps, leave out the first {skip}, compare the median step time:",
        "各运行 {steps} 步，去掉前 {skip} 步，比较单步时间的中位数：",
    ),
    "plan.measure.read": (
        "then, for each: pdoctor analyze LOG --facts (run.step_time is the median)",
        "然后分别：pdoctor analyze LOG --facts（run.step_time 即中位数）",
    ),
    "plan.measure.noise": (
        "The same job differs by several percent from run to run: believe differences above 5 %.",
        "同一作业多次运行会有几个百分点的差异：5 % 以上才可信。",
    ),
    # changes and effects
    "plan.change.file": ("in {path}:", "在 {path} 中："),
    "plan.change.flags": ("for {framework}, the chosen layout:", "{framework}，所选布局："),
    "plan.changed": ("{name}: {old} -> {new}", "{name}：{old} -> {new}"),
    "plan.unchanged": ("nothing changes", "没有变化"),
    "plan.effect.memory": (
        "memory {before} -> {after} GiB ({low} to {high})",
        "显存 {before} -> {after} GiB（{low} 到 {high}）",
    ),
    "plan.effect.time": ("step {before} -> {after} s ({change})", "单步 {before} -> {after} 秒（{change}）"),
    "plan.effect.bubble": ("bubble {before} -> {after}", "气泡 {before} -> {after}"),
    "plan.effect.waits": ("communication waits {before} -> {after} s", "通信等待 {before} -> {after} 秒"),
    "plan.effect.batch": (
        "the global batch changes from {before} to {after} sequences: learning rate and schedule may have to follow",
        "全局批次从 {before} 变为 {after} 个序列：学习率与调度可能要相应调整",
    ),
    "plan.effect.reshard": (
        "states are cut anew: old checkpoints need a format that reshards when read (DCP, torch_dist) or a conversion",
        "状态重新切分：旧检查点需要能在读取时重新分片的格式（DCP、torch_dist）或转换",
    ),
    "plan.effect.restart": ("the job must be restarted", "需要重启作业"),
    "plan.effect.unfit": ("does not fit: {high} of {capacity} GiB", "放不下：{high} / {capacity} GiB"),
    "plan.effect.perhaps": ("may not fit: up to {high} of {capacity} GiB", "可能放不下：最多 {high} / {capacity} GiB"),
    "plan.effect.batch.short": ("the global batch becomes {after}", "全局批次变为 {after}"),
    "plan.effect.reshard.short": ("checkpoints must be resharded", "检查点需重新分片"),
    "plan.together": ("together: {names}", "合并：{names}"),
    "plan.head.plan": ("plan", "方案"),
    "plan.estimate.refused": ("not for this job: {why}", "不适用于此作业：{why}"),
    "plan.estimate": ("estimated: {effect}", "估计：{effect}"),
    "plan.rejected.clash": (
        "{name} is left out: it sets {knob}, as {against} does otherwise",
        "未采用 {name}：它与 {against} 对 {knob} 的设置冲突",
    ),
    "plan.rejected.why": ("{name} is left out: {why}", "未采用 {name}：{why}"),
    "plan.missing": (
        "what the changes do to memory and step time",
        "修改对显存和单步时间的影响",
    ),
    "plan.missing.all": (
        "no configuration of the job was handed over (launch script, config file)",
        "未提供作业配置（启动脚本、配置文件）",
    ),
    "plan.by_hand": ("by hand: {name} ({why})", "需手动完成：{name}（{why}）"),
    "plan.leads_on": (
        "it does not fit with these either: {search} finds layouts that do, so does step 5 of {walk}",
        "采用这些后仍放不下：{search} 可搜索放得下的布局，{walk} 的第 5 步也可以",
    ),
    "plan.own": ("the settings by hand", "手动设置"),
    # other layouts and settings by hand
    "layouts.memory": ("{likely} GiB ({low}–{high})", "{likely} GiB（{low}–{high}）"),
    "layouts.time": ("{likely} s ({low}–{high})", "{likely} 秒（{low}–{high}）"),
    "layouts.bubble": ("bubble {share}", "气泡 {share}"),
    "layouts.problem": ("No layout can be searched for: {why}", "无法搜索布局：{why}"),
    "layouts.gpu": (" · [e] {example}", " · [e] {example}"),
    "layouts.none": ("None of {considered} layouts may fit.", "{considered} 种布局均放不下。"),
    "layouts.found": (
        "{layouts} legal layouts, {considered} with micro-batch and recomputation; {certain} fit for certain.",
        "{layouts} 种合法布局，连同 micro-batch 与重计算共 {considered} 种；{certain} 种确定放得下。",
    ),
    "layouts.stopped": ("Time was up before all were looked at.", "时间已到，未全部查看。"),
    "layouts.like": (
        "Which GPU it is is not known: ordered as on {gpu}, without times. [e] {example} gives them.",
        "GPU 型号未知：按 {gpu} 的速度排序，不给出时间。[e] 输入 {example} 即可得到。",
    ),
    "tui.plan.name_gpu": ("[e] {example} names the GPU.", "[e] 输入 {example} 可指明 GPU。"),
    "tui.plan.layouts": ("Layout", "布局"),
    "tui.plan.would": ("what this layout would do", "选用此布局的效果"),
    "tui.plan.find": ("find a layout", "搜索布局"),
    "tui.plan.find.again": ("search again", "重新搜索"),
    "tui.plan.finding": ("searching: {considered} layouts …", "正在搜索：{considered} 种布局……"),
    "tui.plan.by_hand": ("by hand: {settings}", "手动设置：{settings}"),
    "tui.plan.edit": ("edit a setting", "修改一项设置"),
    "tui.plan.help.find": (
        "Searches all legal layouts of this job, for a few seconds at most, and offers the best few.",
        "搜索该作业的所有合法布局（最多几秒），列出最好的几种。",
    ),
    "tui.plan.help.edit": (
        "Settings such as {example}: what they do is computed while you write them.",
        "例如 {example}：输入时立即计算其效果。",
    ),
    "tui.tune.ask": ("Settings by hand, and the GPU where it is not known", "手动设置；GPU 型号未知时也可在此给出"),
    "tui.tune.some": (
        "{names} … or {gpu}",
        "{names}……或 {gpu}",
    ),
    "tui.key.edit": ("edit", "修改设置"),
    "tui.key.layout": ("find layout", "搜索布局"),
    "tui.help.key.edit": ("edit a setting of the job, computed at once", "修改作业的一项设置，立即计算"),
    "tui.help.key.layout": ("find a layout that fits", "搜索放得下的布局"),
    "tui.hint.plan.unfit": (
        "Does not fit yet: [space] take more   [f] find a layout   [e] edit",
        "仍放不下：[space] 选用更多   [f] 搜索布局   [e] 修改设置",
    ),
    "tui.hint.plan.perhaps": (
        "May not fit: [space] take more   [f] find a layout   [n] the change",
        "可能放不下：[space] 选用更多   [f] 搜索布局   [n] 查看修改",
    ),
    "tui.hint.plan.refused": ("Not taken: {why}", "未采用：{why}"),
    "plan.as": ("{name} is planned for as {other}", "{name} 按 {other} 规划"),
}
