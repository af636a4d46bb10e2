"""Texts of what `pdoctor attach` does when asked: programs, webhooks, files, state, dumps."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "attach.unwritable": (
        "{path}: cannot be written ({reason}); trying again, the watch goes on",
        "{path}：无法写入（{reason}）；将重试，监视继续",
    ),
    "attach.writable_again": ("{path}: can be written again", "{path}：已可写入"),
    "attach.unexplained": ("A failure that no rule explains", "没有规则能解释的故障"),
    "attach.ran": ("{path}: {how} after {seconds} s", "{path}：{how}，用时 {seconds} 秒"),
    "attach.ran_badly": (
        "{path}: {how} after {seconds} s; it said last: {output}",
        "{path}：{how}，用时 {seconds} 秒；其最后一行输出：{output}",
    ),
    "attach.dumped": ("--dump {path}: taken of {text}", "--dump {path}：已获取 {text}"),
    "attach.not_dumped": ("--dump {path}: {text}", "--dump {path}：{text}"),
    "attach.no_job": (
        "--dump {path}: no job on this node is seen to write these logs; name it with --pid or --slurm",
        "--dump {path}：本节点上未见写这些日志的作业；请用 --pid 或 --slurm 指明",
    ),
    "attach.no_rank": (
        "--dump {path}: process {pid} is of no training job that is seen here; name one of its ranks or its launcher",
        "--dump {path}：进程 {pid} 不属于此处可见的训练作业；请指明其某个 rank 或其启动器",
    ),
    "attach.no_slurm_here": (
        "--dump {path}: no rank of Slurm job {job} runs on this node; run pdoctor attach on a node of the job",
        "--dump {path}：Slurm 作业 {job} 在本节点上没有 rank；请在该作业的节点上运行 pdoctor attach",
    ),
    "attach.other_user": (
        "--dump {path}: the job is of user {user}, and only that user and root may look into its processes: "
        "sudo -u {user} pdoctor attach ... --dump {path}",
        "--dump {path}：作业属于用户 {user}，只有该用户和 root 可以查看其进程："
        "sudo -u {user} pdoctor attach ... --dump {path}",
    ),
    "attach.hidden": (
        "--dump {path}: root may not look into {n} Python processes here: "
        "start the container with --cap-add SYS_PTRACE, or run pdoctor attach on its host",
        "--dump {path}：root 在此无权查看 {n} 个 Python 进程："
        "请以 --cap-add SYS_PTRACE 启动容器，或在其宿主机上运行 pdoctor attach",
    ),
    "attach.how_to_look": (
        "which rank the others wait for: pdoctor run -v --pid {path} (it looks at once and stops nothing; "
        "--dump stacks has the watch do so)",
        "其他 rank 在等哪个：pdoctor run -v --pid {path}（立即查看且不停止任何进程；--dump stacks 会让监视自动查看）",
    ),
    "attach.how_to_look_there": (
        "which rank the others wait for: pdoctor run -v, on a node of the job (it looks at once and stops nothing; "
        "attach there with --dump stacks does so by itself)",
        "其他 rank 在等哪个：在作业的节点上运行 pdoctor run -v（立即查看且不停止任何进程；"
        "在那里用 attach --dump stacks 会自动查看）",
    ),
    "attach.dump_partial": (
        "{path}: holds dumps of a part of the job; gather those of all nodes there and run: pdoctor analyze {path}",
        "{path}：只有作业一部分的 dump；请汇集所有节点的 dump 后运行：pdoctor analyze {path}",
    ),
    "attach.posted": ("{path} answered: {answer}", "{path} 已接收：{answer}"),
    "attach.not_posted": (
        "{path}: not delivered after {n} attempts: {answer}",
        "{path}：尝试 {n} 次后仍未送达：{answer}",
    ),
    "attach.too_slow": (
        "--{path}: too slow, too many announcements wait; further ones are left out and counted",
        "--{path}：处理太慢，等待的通告过多；后续通告将略去并计数",
    ),
    "attach.left_undone": ("--{path}: {n} announcements were not delivered", "--{path}：{n} 条通告未送达"),
    "attach.no_port": (
        "--metrics-port {path}: cannot be had ({reason})",
        "--metrics-port {path}：无法使用（{reason}）",
    ),
    "attach.own_followed": (
        "--{option} {path}: is among the files to follow; name another one to write to",
        "--{option} {path}：是被跟踪的文件；请另指定一个要写入的文件",
    ),
    "attach.own_other": (
        "--{option} {path}: is another kind of file and stays as it is; name one that does not exist yet",
        "--{option} {path}：是其他类型的文件，不会改动；请给出尚不存在的文件名",
    ),
    "attach.state_other": (
        "--state {path}: is another kind of file and stays as it is; name one that does not exist yet",
        "--state {path}：是其他类型的文件，不会改动；请给出尚不存在的文件名",
    ),
    "attach.state_elsewhere": (
        "--state {path}: is of another watch ({what}); name another file",
        "--state {path}：属于另一个监视（{what}）；请改用其他文件",
    ),
    "attach.state_version": (
        "--state {path}: was written by another version of pdoctor; use that one, or name another file",
        "--state {path}：由其他版本的 pdoctor 写入；请使用该版本，或改用其他文件",
    ),
    "attach.state_foreign": (
        "--state {path}: belongs to another user, who could have any file followed by it; name a file of your own",
        "--state {path}：属于另一用户，其可借此让任意文件被跟踪；请改用自己的文件",
    ),
    "attach.state_held": (
        "--state {path}: another pdoctor that runs uses it; end that one, or name another file",
        "--state {path}：正被另一个运行中的 pdoctor 使用；请结束它，或改用其他文件",
    ),
    "attach.state_unreadable": ("--state {path}: cannot be read ({reason})", "--state {path}：无法读取（{reason}）"),
    "attach.state_damaged": (
        "--state {path}: is damaged; the watch begins anew, and what was said may be said again",
        "--state {path}：已损坏；监视重新开始，已通告的内容可能重复",
    ),
}
