"""Every text of the user interface, in English and Chinese side by side. Texts of rules are in the rules."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.messages_attach import TEXTS as ATTACH
from doctor.messages_bundle import TEXTS as BUNDLE
from doctor.messages_compare import TEXTS as COMPARE
from doctor.messages_html import TEXTS as HTML
from doctor.messages_memory import TEXTS as MEMORY
from doctor.messages_plan import TEXTS as PLAN
from doctor.messages_reasons import TEXTS as REASONS
from doctor.messages_tui import TEXTS as TUI
from doctor.messages_watch import TEXTS as WATCH
from doctor.rulebase.model import Text

LANGUAGES = ("en", "zh")

TEXTS: Mapping[str, tuple[str, str]] = {
    **ATTACH,
    **BUNDLE,
    **PLAN,
    **REASONS,
    **COMPARE,
    **MEMORY,
    **TUI,
    **WATCH,
    **HTML,
    # verdicts and summaries
    "verdict.healthy": ("healthy", "正常"),
    "verdict.problem": ("problem", "有问题"),
    "verdict.undetermined": ("undetermined", "无法判定"),
    "summary.roots": ("{title} ({where})", "{title}（{where}）"),
    "summary.more": ("; and {n} more", "；另有 {n} 项"),
    "summary.healthy": ("Nothing in it shows a failure or a slowdown.", "没有看到故障或变慢的迹象。"),
    "summary.risks": (
        "Nothing in it shows a failure or a slowdown; worth knowing: {n}.",
        "没有看到故障或变慢的迹象；值得留意：{n} 项。",
    ),
    "summary.unexplained": (
        "A failure shows, but no rule explains it. It shows first here: {where}",
        "出现了故障，但没有规则能解释。最早出现在：{where}",
    ),
    "summary.raised": (
        "No rule explains the failure that shows first: {exception} at {frame}. See {where}",
        "最早出现的故障没有规则能解释：{frame} 处抛出 {exception}。见 {where}",
    ),
    "summary.too_little": ("There is too little to judge by.", "材料太少，无法判断。"),
    "headline.roots.one": ("{n} root cause", "{n} 个根本原因"),
    "headline.roots.many": ("{n} root causes", "{n} 个根本原因"),
    "headline.logs.one": ("{n} log read", "读取 {n} 个日志"),
    "headline.logs.many": ("{n} logs read", "读取 {n} 个日志"),
    "headline.recordings.one": ("{n} recording read", "读取 {n} 个记录"),
    "headline.recordings.many": ("{n} recordings read", "读取 {n} 个记录"),
    "headline.ranks.one": ("{n} rank seen", "看到 {n} 个 rank"),
    "headline.ranks.many": ("{n} ranks seen", "看到 {n} 个 rank"),
    # words for severities, labels, roles
    "severity.fatal": ("fatal", "致命"),
    "severity.degraded": ("degraded", "性能受损"),
    "severity.risk": ("risk", "风险"),
    "severity.info": ("info", "提示"),
    "label.certain": ("certain", "确定"),
    "label.likely": ("likely", "很可能"),
    "label.possible": ("possible", "可能"),
    # pictures
    "picture.device_time": ("where the time of the devices went", "设备时间去向"),
    "picture.more": ("and {n} more ranks: pdoctor analyze -v", "另有 {n} 个 rank：pdoctor analyze -v"),
    "picture.between": (" · ", " · "),
    "picture.memory_held": ("who holds the memory of the GPUs", "显存占用情况"),
    "picture.stacks": ("where the main threads of the ranks stand", "各 rank 主线程所处位置"),
    "picture.experts": ("tokens of the experts over the mean, a row a layer", "各专家 token 数与均值之比，每行一层"),
    "picture.experts_legend": (
        "✗ dead  · under 0.5  ░ under 0.8  ▒ even  ▓ over 1.25  █ over 2; experts in a cell: {experts}",
        "✗ 死专家  · 低于 0.5  ░ 低于 0.8  ▒ 均衡  ▓ 高于 1.25  █ 高于 2；每格专家数：{experts}",
    ),
    "part.held_parameters": ("parameters", "参数"),
    "part.held_parameter_buffers": ("parameter and gradient buffers", "参数与梯度缓冲"),
    "part.held_gradients": ("gradients", "梯度"),
    "part.held_optimizer_state": ("optimizer states", "优化器状态"),
    "part.held_activations": ("activations", "激活"),
    "part.held_logits": ("logits and loss", "logits 与损失"),
    "part.held_communication": ("communication", "通信"),
    "part.held_temporary": ("temporary", "临时"),
    "part.held_earlier": ("from before the recording", "记录之前"),
    "part.held_unknown": ("not told by stacks", "调用栈未说明"),
    "part.compute": ("compute", "计算"),
    "part.comm_tp": ("exposed tensor parallel", "未掩盖的张量并行通信"),
    "part.comm_pp": ("exposed pipeline", "未掩盖的流水线通信"),
    "part.comm_dp": ("exposed data parallel", "未掩盖的数据并行通信"),
    "part.comm_ep": ("exposed expert parallel", "未掩盖的专家并行通信"),
    "part.comm_cp": ("exposed context parallel", "未掩盖的上下文并行通信"),
    "part.comm_unknown": ("exposed communication", "未掩盖的通信"),
    "part.memory": ("exposed copies", "未掩盖的拷贝"),
    "part.idle": ("idle", "空闲"),
    "part.idle_host": ("idle: CPU late", "空闲：主机未发射"),
    "part.idle_sync": ("idle: after a wait", "空闲：同步之后"),
    "part.idle_other": ("idle: other", "空闲：其他"),
    # headings of the report
    "head.where": ("where", "位置"),
    "head.why": ("why", "原因"),
    "head.evidence": ("evidence", "证据"),
    "head.follows": ("follows", "由此引起"),
    "head.fix": ("fix", "解决"),
    "head.avoid": ("do not", "不要"),
    "head.rivals": ("or perhaps", "也可能是"),
    "head.next": ("next", "下一步"),
    "head.not_checked": ("not checked", "未检查"),
    "head.checked": ("checked", "已检查"),
    "head.warnings": ("warnings", "警告"),
    "head.unexplained": ("unexplained", "未能解释"),
    "head.also": ("also seen", "其他发现"),
    "head.facts": ("known of the job", "已知事实"),
    # parts of findings
    "evidence.more": ("and {n} more like it: {where}", "同类还有 {n} 处：{where}"),
    "evidence.more_files": ("and {n} more like it", "同类还有 {n} 处"),
    "evidence.hidden.one": ("1 more line of evidence: pdoctor analyze -v", "还有 1 行证据：pdoctor analyze -v"),
    "evidence.hidden.many": ("{n} more lines of evidence: pdoctor analyze -v", "还有 {n} 行证据：pdoctor analyze -v"),
    "follows.many": ("{where}: {what} ×{count}", "{where}：{what} ×{count}"),
    "follows.one": ("{where}: {what}", "{where}：{what}"),
    "follows.lag": (", {seconds} later", "，{seconds}后"),
    "follows.hidden": ("and {n} more", "另有 {n} 项"),
    "risk.low": ("risk low", "风险低"),
    "risk.medium": ("risk medium", "风险中"),
    "risk.high": ("risk high", "风险高"),
    "restart.none": ("no restart", "无需重启"),
    "restart.job": ("restart the job", "重启作业"),
    "restart.node": ("restart the node", "重启节点"),
    "change.for": ("for {framework}:", "{framework}："),
    "change.config": ("in the job's configuration:", "修改作业配置："),
    "change.code": ("in the training script:", "修改训练脚本："),
    "avoid.why": ("{title} — {why}", "{title}——{why}"),
    "rival.how": ("{name}: {how}", "{name}：{how}"),
    "next.step": ("{name}: {how}", "{name}：{how}"),
    "next.fact": (
        "find out {name} ({meaning}) and hand it over with --answers",
        "查明 {name}，并通过 --answers 提供",
    ),
    "next.recording": ("hand over {what}: that tells {name}", "请提供{what}：可知 {name}"),
    "next.answer": ("--answer {question}=... with one of: {answers}", "--answer {question}=...，可选：{answers}"),
    "next.separates": ("tells apart: {causes}", "可区分：{causes}"),
    # places
    "place.job": ("the whole job", "整个作业"),
    "place.rank.one": ("rank {names}", "rank {names}"),
    "place.rank.many": ("ranks {names}", "rank {names}"),
    "place.node.one": ("node {names}", "节点 {names}"),
    "place.node.many": ("nodes {names}", "节点 {names}"),
    "place.gpu.one": ("GPU {names}", "GPU {names}"),
    "place.gpu.many": ("GPUs {names}", "GPU {names}"),
    "place.nic.one": ("NIC {names}", "网卡 {names}"),
    "place.nic.many": ("NICs {names}", "网卡 {names}"),
    "place.run.one": ("run {names}", "运行 {names}"),
    "place.run.many": ("runs {names}", "运行 {names}"),
    "place.unnamed": ("(name not given)", "（未给出名称）"),
    "place.on": ("{what} on {node}", "{node} 上的 {what}"),
    "place.count": ("{n} ranks ({names})", "{n} 个 rank（{names}）"),
    # what was looked at
    "checked.log.one": ("{n} log, {size}", "{n} 个日志，{size}"),
    "checked.log.many": ("{n} logs, {size}", "{n} 个日志，{size}"),
    "checked.ranks.one": ("{n} rank seen in them: {names}", "其中看到 {n} 个 rank：{names}"),
    "checked.ranks.many": ("{n} ranks seen in them: {names}", "其中看到 {n} 个 rank：{names}"),
    "checked.steps": ("training steps {first} to {last}", "训练步 {first} 到 {last}"),
    "checked.config.one": ("{n} job configuration: {names}", "{n} 个作业配置：{names}"),
    "checked.config.many": ("{n} job configurations: {names}", "{n} 个作业配置：{names}"),
    "checked.dump.one": ("{n} node dump: {names}", "{n} 个节点信息文件：{names}"),
    "checked.dump.many": ("{n} node dumps: {names}", "{n} 个节点信息文件：{names}"),
    "checked.probe.one": ("{n} probe of this node: {names}", "本节点的 {n} 个探针：{names}"),
    "checked.probe.many": ("{n} probes of this node: {names}", "本节点的 {n} 个探针：{names}"),
    "probes.head": ("Looked at this node:", "已查看本节点："),
    "probes.facts.one": ("{n} fact", "{n} 项事实"),
    "probes.facts.many": ("{n} facts", "{n} 项事实"),
    "probes.files.one": ("{n} text", "{n} 份文本"),
    "probes.files.many": ("{n} texts", "{n} 份文本"),
    "probes.nothing": ("nothing there", "没有内容"),
    "checked.table.one": ("{n} table: {names}", "{n} 个表格：{names}"),
    "checked.table.many": ("{n} tables: {names}", "{n} 个表格：{names}"),
    "checked.flight_recorder.one": ("{n} flight recorder dump, {size}", "{n} 个飞行记录器转储，{size}"),
    "checked.flight_recorder.many": ("{n} flight recorder dumps, {size}", "{n} 个飞行记录器转储，{size}"),
    "checked.trace.one": ("{n} profiler trace, {size}", "{n} 个性能剖析 trace，{size}"),
    "checked.trace.many": ("{n} profiler traces, {size}", "{n} 个性能剖析 trace，{size}"),
    "checked.memory_snapshot.one": ("{n} memory snapshot, {size}", "{n} 个显存快照，{size}"),
    "checked.memory_snapshot.many": ("{n} memory snapshots, {size}", "{n} 个显存快照，{size}"),
    "checked.recording.one": ("{n} recording of the job itself, {size}", "{n} 个作业内记录，{size}"),
    "checked.recording.many": ("{n} recordings of the job itself, {size}", "{n} 个作业内记录，{size}"),
    "checked.stacks.one": ("{n} file of stacks, {size}", "{n} 个调用栈文件，{size}"),
    "checked.stacks.many": ("{n} files of stacks, {size}", "{n} 个调用栈文件，{size}"),
    "checked.expert_loads.one": ("{n} file of expert loads, {size}", "{n} 个专家负载文件，{size}"),
    "checked.expert_loads.many": ("{n} files of expert loads, {size}", "{n} 个专家负载文件，{size}"),
    "checked.nsys.one": ("{n} Nsight Systems export, {size}", "{n} 个 Nsight Systems 导出，{size}"),
    "checked.nsys.many": ("{n} Nsight Systems exports, {size}", "{n} 个 Nsight Systems 导出，{size}"),
    "checked.what_if.one": ("{n} table of timed operations, {size}", "{n} 个算子计时表，{size}"),
    "checked.what_if.many": ("{n} tables of timed operations, {size}", "{n} 个算子计时表，{size}"),
    "checked.rules": (
        "{rules} rules about {areas} areas, {events} known messages, {facts} facts",
        "{areas} 个领域的 {rules} 条规则，{events} 种已知消息，{facts} 条事实",
    ),
    # what was not
    "missing.line": ("{what}: {why}", "{what}：{why}"),
    "missing.why": (
        "nothing handed over tells {names}",
        "提供的材料中没有 {names}",
    ),
    "missing.why.some": (
        "nothing handed over tells {names} and {n} more",
        "提供的材料中没有 {names} 等（另有 {n} 项）",
    ),
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
    "failed.fact": ("{name} of {where}", "{where} 的 {name}"),
    "rules.left_out": ("rule file {path}", "规则文件 {path}"),
    "rules.more": (" (and {n} more)", "（另有 {n} 处）"),
    "gaps.hidden": ("and {n} more: pdoctor analyze -v", "另有 {n} 项：pdoctor analyze -v"),
    # remarks on the input
    "input.missing": ("no such file or folder: {path}", "文件或目录不存在：{path}"),
    "input.unreadable": ("{path}: cannot be read: {reason}", "{path}：无法读取：{reason}"),
    "input.empty_folder": ("{path}: the folder holds no file", "{path}：目录中没有文件"),
    "input.nothing_told": ("{path}: names nothing that was looked at", "{path}：没有说明检查过什么"),
    "input.empty_file": ("{path}: the file is empty", "{path}：文件为空"),
    "input.no_text": ("{path}: holds no text, NUL bytes alone", "{path}：不含文本，全部是值为 0 的字节"),
    "input.no_line": (
        "{path}: no line ends in its first {n} bytes; only the first {limit} of a line are read",
        "{path}：前 {n} 字节中没有换行；每行只读取前 {limit} 字节",
    ),
    "input.special": ("{path}: passed over: a pipe, socket or device", "{path}：已跳过：管道、套接字或设备"),
    "input.too_many": (
        "{path}: more than {limit} files; the rest was not read",
        "{path}：超过 {limit} 个文件；其余未读",
    ),
    "input.binary": ("{path}: passed over: not text", "{path}：已跳过：不是文本"),
    "input.damaged": ("{path}: nothing in it could be read: {reason}", "{path}：无法读出任何内容：{reason}"),
    "input.nested": (
        "{path}: passed over: an archive within an archive within an archive",
        "{path}：已跳过：嵌套过深的压缩包",
    ),
    "input.archive_damaged": ("{path}: not all of the archive was read: {reason}", "{path}：压缩包未读完：{reason}"),
    "input.archive_binary": (
        "{path}: files in the archive that are not text, passed over: {n}",
        "{path}：压缩包内已跳过的非文本文件：{n} 个",
    ),
    "input.archive_empty": (
        "{path}: passed over: an archive without logs",
        "{path}：已跳过：压缩包中没有日志",
    ),
    "input.stdin_cut": (
        "{path}: more than {limit} bytes; the rest was not read",
        "{path}：超过 {limit} 字节；其余未读",
    ),
    "derivation.failed": (
        "a derivation failed ({reason}). This is a defect of pdoctor: please report it",
        "推导出错（{reason}）。这是 pdoctor 的缺陷，请反馈",
    ),
    "input.probe_failed": (
        "{path}: the {probe} reader failed ({reason}), others went on. A defect of pdoctor: please report it",
        "{path}：{probe} 读取器出错（{reason}）；其他读取器继续。这是 pdoctor 的缺陷，请反馈",
    ),
    "input.probe_says": ("{path}{place}: {text}", "{path}{place}：{text}"),
    "input.nothing": ("nothing to diagnose: {first}", "没有可诊断的内容：{first}"),
    "input.grouped": ("{first} (likewise: {names})", "{first}（同样：{names}）"),
    # clusters, and files that lie elsewhere
    "cluster.unknown": (
        "--cluster {path}: should be local, slurm or dask://HOST:PORT",
        "--cluster {path}：应为 local、slurm 或 dask://HOST:PORT",
    ),
    "cluster.missing": (
        "--cluster {path} needs the Python package distributed: pip install 'pdoctor[cluster]'",
        "--cluster {path} 需要 Python 包 distributed：pip install 'pdoctor[cluster]'",
    ),
    "cluster.unreachable": (
        "--cluster {path}: no worker answers: {reason}",
        "--cluster {path}：没有工作进程响应：{reason}",
    ),
    "cluster.no_allocation": (
        "--cluster {path}: no Slurm allocation here (SLURM_JOB_ID is not set): run it with salloc or sbatch",
        "--cluster {path}：不在 Slurm 分配中（未设置 SLURM_JOB_ID）：请用 salloc 或 sbatch 运行",
    ),
    "cluster.says": ("--cluster {path}: {text}", "--cluster {path}：{text}"),
    "remote.missing": (
        "{path} needs the Python package fsspec: pip install 'pdoctor[remote]'",
        "{path} 需要 Python 包 fsspec：pip install 'pdoctor[remote]'",
    ),
    "remote.cut": ("{path}: only the first {limit} bytes were fetched", "{path}：只取回了前 {limit} 字节"),
    "answers.unreadable": ("answers: {reason}", "答案文件：{reason}"),
    "answers.unknown": ("{path}: unknown fact {name}{hint}", "{path}：未知的事实 {name}{hint}"),
    "answers.type": (
        "{path}: {name} = {value}: should be {type}",
        "{path}：{name} = {value}：应为 {type}",
    ),
    "answers.question": ("{path}: unknown question {name}{hint}", "{path}：未知的问题 {name}{hint}"),
    "answers.key": (
        "{path}: {name} = {value}{hint}: should be one of {keys}",
        "{path}：{name} = {value}{hint}：应为 {keys} 之一",
    ),
    # questions on a terminal
    "ask.head": ("question", "问题"),
    "ask.dont_know": ("I do not know", "不知道"),
    "ask.stop": ("stop asking", "不再提问"),
    "ask.prompt": ("number: ", "编号："),
    "ask.again": ("a number from 0 to {most} is needed", "请输入 0 到 {most} 的编号"),
    "ask.before": ("before: {ranking}", "之前：{ranking}"),
    "ask.now": ("now:    {ranking}", "现在：{ranking}"),
    "ask.same": ("nothing changes", "没有变化"),
    "ask.nobody": ("no cause stands out", "没有突出的原因"),
    "ask.done": ("nothing more is worth asking", "没有值得再问的问题"),
    "ask.saved": ("answers saved: {path}", "答案已保存：{path}"),
    "answers.exists": (
        "{path} exists already: it is overwritten only if it was given as the file of answers",
        "{path} 已存在：只有它同时是给出的答案文件时才会覆盖",
    ),
    "answers.unwritable": ("{path} cannot be written: {reason}", "{path} 无法写入：{reason}"),
    "answers.hint": (", did you mean {name}?", "，是否想写 {name}？"),
    # --explain
    "explain.holds": ("{rule} {title}: holds, {label} ({belief})", "{rule} {title}：成立，{label}（{belief}）"),
    "explain.fails": ("{rule} {title}: does not hold ({belief})", "{rule} {title}：不成立（{belief}）"),
    "explain.idle": (
        "{rule} {title}: not considered, no sign of it was seen",
        "{rule} {title}：未考虑，没有看到任何迹象",
    ),
    "explain.unknown": ("no rule or cause is called {name}{hint}", "没有名为 {name} 的规则或原因{hint}"),
    "explain.role.root": ("it is a root cause", "它是根本原因"),
    "explain.role.consequence": ("it follows from {root}", "它由 {root} 引起"),
    "explain.role.rival": ("it could be the cause instead of {root}", "它也可能是原因，取代 {root}"),
    "explain.role.contributing": ("it is worth knowing, no more", "仅供参考"),
    "explain.prior": ("before anything is seen: {belief}", "看到任何迹象之前：{belief}"),
    "explain.where": ("{where}; {role}", "{where}；{role}"),
    "explain.weight": ("weight {weight}", "权重 {weight}"),
    "explain.needs": ("not known: {names}", "未知：{names}"),
    "explain.evidence": ("further evidence", "其他迹象"),
    "explain.all": ("all of", "全部成立"),
    "explain.any": ("one of", "至少一个成立"),
    "explain.none": ("none of", "都不成立"),
    "explain.because.failed": ("why not: {signal} does not hold", "为何不是：{signal} 不成立"),
    "explain.because.present": ("why not: {signal} holds and speaks against it", "为何不是：{signal} 成立，与之相反"),
    "explain.because.unknown": ("why not: {signal} is not known", "为何不是：{signal} 未知"),
    "explain.because.belief": ("why not: what was seen makes it too improbable", "为何不是：所见迹象使其概率太低"),
    "truth.TRUE": ("holds", "成立"),
    "truth.FALSE": ("does not hold", "不成立"),
    "truth.UNKNOWN": ("not known", "未知"),
    # rules search
    "search.line": ("line {line}: {meaning} ({event})", "第 {line} 行：{meaning}（{event}）"),
    "search.where": ("; counts in full where {where}", "；满足 {where} 时才完全成立"),
    "search.more": ("and {n} more: add -n {all}", "另有 {n} 条：加上 -n {all}"),
    "search.unread": (
        "known messages, but no rule counts them as a sign: {names}",
        "是已知消息，但没有规则将其作为迹象：{names}",
    ),
    "search.nothing": (
        "no rule holds these words, and no known message is in them",
        "没有规则包含这些词，其中也没有已知消息",
    ),
    "search.meant": ("; did you mean: {words}", "；是否想找：{words}"),
    # units and lists
    "unit.s": ("s", "秒"),
    "unit.min": ("min", "分钟"),
    "unit.h": ("h", "小时"),
    "list.and": (", ", "、"),
    "list.apart": (" / ", " / "),
    "list.choices": (", ", "，"),
    "list.or": (" or ", " 或 "),
}


def say(lang: str, key: str, **values: object) -> str:
    """The text `key` in `lang` with its places filled. Values are inserted as they are, never read as templates; those
    that are texts in both languages as they are in `lang`."""
    told = {name: value.get(lang) if isinstance(value, Text) else value for name, value in values.items()}
    return TEXTS[key][LANGUAGES.index(lang)].format(**told)


def say_count(lang: str, key: str, n: int, **values: object) -> str:
    """The text for `n` things: `key.one` or `key.many`."""
    return say(lang, f"{key}.{'one' if n == 1 else 'many'}", n=n, **values)
