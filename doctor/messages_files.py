"""Why probes could not read a file, dump a job or test it, in Chinese: patterns of their English remarks."""

from __future__ import annotations

from collections.abc import Sequence

FILES: Sequence[tuple[str, str]] = (
    # tables of experts, and files of tensors
    (r"refers to (?P<name>\S+), which is no part of a tensor: .*", "引用了 {name}，它不是张量的一部分：未继续打开"),
    (r"refers to an object outside the file, which is no storage: .*", "引用了文件之外的对象，它不是存储：未继续打开"),
    (
        r"(?P<name>.*) unpacks from (?P<few>\S+) to (?P<many>\S+) bytes: .*",
        "{name} 从 {few} 字节解压到 {many} 字节：未打开",
    ),
    (r"holds (?P<kind>.*) and no numbers: .*", "内容是 {kind} 而不是数字：未继续打开"),
    (
        r"says that it holds (?P<n>\S+) bytes, more than the (?P<most>\S+) that are read",
        "声明有 {n} 字节，超过上限 {most}",
    ),
    (r"ends early: (?P<n>\S+) of (?P<all>\S+) bytes", "提前结束：{all} 字节中只有 {n} 字节"),
    (r"ends early: (?P<n>\S+) of (?P<all>\S+) storages are there", "提前结束：{all} 个存储中只有 {n} 个"),
    (r"its list of tensors holds more than (?P<most>\S+) bytes", "其张量列表超过 {most} 字节"),
    (r"its list of tensors names more than (?P<most>\S+) parts", "其张量列表超过 {most} 个部分"),
    (r"its list of tensors is damaged: (?P<why>.*)", "其张量列表已损坏：{why}"),
    (r"the data of (?P<name>.*) end early", "{name} 的数据提前结束"),
    (r"the data of (?P<name>.*) cannot be read: (?P<why>.*)", "{name} 的数据无法读取：{why}"),
    (r"the data of (?P<name>.*) are not in the file", "{name} 的数据不在文件中"),
    (r"(?P<name>.*) repeats the same data: .*", "{name} 重复使用同一份数据：声明的元素多于存储"),
    (r"is a damaged array: (?P<why>.*)", "是损坏的数组：{why}"),
    (r"holds a view of a storage, as PyTorch before 0\.4 wrote it: .*", "含有 PyTorch 0.4 之前写出的存储视图：不读取"),
    (r"(?P<name>.*) holds more than (?P<most>\S+) bytes", "{name} 超过 {most} 字节"),
    (r"holds more than (?P<most>\S+) bytes", "超过 {most} 字节"),
    (r"holds more than (?P<most>\S+) numbers", "超过 {most} 个数"),
    (
        r"its arrays carry no names \((?P<names>.*?)\), .*",
        "数组没有名称（{names}），数值也看不出含义：若是各专家的 token 数，"
        "请用 numpy.savez(path, tokens_per_expert=...) 保存，[步, 层, 专家] 或 [层, 专家]",
    ),
    (r"holds no tensor that is called like tokens of experts", "没有名称像专家 token 数的张量"),
    (r"is no file of torch\.save that is known", "不是已知的 torch.save 文件"),
    (r"states a storage of less than no elements", "声明的存储元素数为负"),
    (r"has no columns of layer, expert and tokens", "没有层、专家、token 数这几列"),
    (r"is nested beyond any table", "嵌套过深，不是表格"),
    (r"is no table: (?P<why>.*)", "不是表格：{why}"),
    (r"has (?P<n>\S+) rows, more than the (?P<most>\S+) that are read", "有 {n} 行，超过上限 {most}"),
    # dumps and stacks
    (r"refers to (?P<name>\S+), which no dump does: .*", "引用了 {name}，转储不会如此：未继续打开"),
    (r"refers to an object outside the file, which no dump does: .*", "引用了文件之外的对象，转储不会如此：未继续打开"),
    (r"is nested or sized beyond any dump", "嵌套过深或过大，不是转储"),
    (r"is damaged, after (?P<n>\S+) bytes: (?P<why>.*)", "在 {n} 字节之后损坏：{why}"),
    (r"is damaged (?P<kind>JSON|gzip|zstd|Parquet): (?P<why>.*)", "是损坏的 {kind}：{why}"),
    (r"holds no stack that could be read", "没有可读取的调用栈"),
    (r"is no list of threads( with frames)?", "不是线程列表"),
    (r"is not JSON: (?P<why>.*)", "不是 JSON：{why}"),
    (r"(?P<name>\S+) printed something that (?P<why>.*)", "{name} 的输出{why}"),
    (r"has no thread that runs Python", "没有运行 Python 的线程"),
)

LIVE: Sequence[tuple[str, str]] = (
    # tests of collectives
    (
        r"order is (?P<order>.*); right would be (?P<right>\S+) or the same names in another order",
        "order 为 {order}；应为 {right}，或同样的名称换个顺序",
    ),
    (r"(?P<degrees>tp .* = \d+) does not divide (?P<n>\d+) ranks", "{degrees} 不能整除 {n} 个 rank"),
    (
        r"(?P<degrees>ep .* = \d+) does not divide the (?P<n>\d+) ranks of a stage",
        "{degrees} 不能整除每阶段的 {n} 个 rank",
    ),
    (
        r"--layout has (?P<word>.*); right would be degrees of (?P<names>.*) such as (?P<such>\S+)",
        "--layout 中有 {word}；应为 {names} 的并行度，如 {such}",
    ),
    (
        r"(?P<origin>.*) names no degree of parallelism; right would be --layout (?P<such>\S+)",
        "{origin} 没有说明任何并行度；请用 --layout {such}",
    ),
    (
        r"(?P<place>\S+=\S+ of \S+=\S+), but MASTER_ADDR and MASTER_PORT do not say where .*",
        "{place}，但 MASTER_ADDR 与 MASTER_PORT 没有说明各 rank 在哪里会合；请设为 0 号 rank 的主机及其空闲端口",
    ),
    (
        r"(?P<name>.*) does not start \((?P<why>.*)\); right would be --python PATH",
        "{name} 无法启动（{why}）；请用 --python PATH 指定",
    ),
    (
        r"local rank (?P<n>\d+), but torch sees (?P<gpus>\d+) GPUs: .*",
        "本地 rank 为 {n}，但 torch 只看到 {gpus} 个 GPU：NCCL 需要每个 rank 一个",
    ),
    (r"torch sees no GPU with NCCL: NCCL cannot be tested here", "torch 看不到支持 NCCL 的 GPU：此处无法测试 NCCL"),
    (
        r"(?P<n>\d+) ranks, but torch sees (?P<gpus>\d+) GPUs: .*",
        "{n} 个 rank，但 torch 只看到 {gpus} 个 GPU：NCCL 需要每个 rank 一个",
    ),
    (
        r"this torch \((?P<version>.*)\) is built without torch\.distributed",
        "此 torch（{version}）编译时未包含 torch.distributed",
    ),
    (
        r"(?P<name>\S+) cannot import torch \((?P<why>.*)\): name the interpreter of the job with --python",
        "{name} 无法导入 torch（{why}）：请用 --python 指定作业的解释器",
    ),
    (
        r"ranks that talk over gloo within one host share its processors, .*",
        "同一主机上经 gloo 通信的 rank 共用处理器，结果不能说明链路",
    ),
    (r"comparison of groups", "同类组比较"),
    (r"pairs", "两两测试"),
    (r"start", "启动"),
    (r"the time was over", "时间已到"),
    (r"its process ended with (?P<how>.*)", "其进程已结束：{how}"),
    (r"did not come within (?P<n>\d+) s", "{n} 秒内没有出现"),
    (r"no sign of life within (?P<n>\d+) s", "{n} 秒内没有任何响应"),
    (r"live, but not done within (?P<n>\d+) s; the other ranks are", "存活，但 {n} 秒内未完成，而其他 rank 已完成"),
    (
        r"all ranks live, and (?P<ranks>\d+) wait for more than (?P<n>\d+) s(?P<rest>.*)",
        "所有 rank 都存活，其中 {ranks} 个已等待超过 {n} 秒{rest}",
    ),
    (r"one pair has nothing to be compared with", "只有一对，无可比较"),
    (r"healthy pairs differ too much", "正常的配对之间差异过大"),
    (r"no node is above suspicion", "没有可排除嫌疑的节点"),
    (r"at least half of the nodes look slow, so none is usual", "至少一半节点看起来慢，无从确定正常值"),
    # dumps of a job that runs
    (r"(?P<name>\S+) is not set in the job", "作业中未设置 {name}"),
    (
        r"made no pipe for its flight recorder: only a process group over NCCL does",
        "没有为飞行记录器建立管道：只有 NCCL 进程组才会建立",
    ),
    (r"runs no recorder that sees a GPU; see (?P<page>\S+)", "没有运行能看到 GPU 的记录器；见 {page}"),
    (r"has its recorder switched off", "其记录器已关闭"),
    (r"names a file that no recorder writes", "给出的文件不是记录器写出的"),
    (r"(?P<name>.*) is another file than the recorder's", "{name} 不是记录器的文件"),
    (
        r"holds (?P<size>.*), too much to be read beside the job: (?P<do>.*)",
        "有 {size}，过大，不宜在作业旁读取：{do}",
    ),
    (r"does not show its open files: (?P<why>.*)", "不显示其打开的文件：{why}"),
    (r"there is another file in place of (?P<name>.*)", "{name} 的位置上是另一个文件"),
    (r"(?P<name>.*) is full: nobody reads it", "{name} 已满：没有进程读取"),
    (r"nobody reads (?P<name>.*)", "没有进程读取 {name}"),
    (r"ranks? (?P<ranks>[\d, and-]+): (?P<why>.*)", "rank {ranks}：{why}"),
)

LISTED: Sequence[tuple[str, str]] = (
    # what the probes of a node look at, and the rights they need
    (r"AMD GPUs by `amd-smi`, .*", "AMD GPU（`amd-smi`，否则 /sys/class/drm）：显存、显存错误、xGMI、PCIe、降频"),
    (
        r"variables of NCCL, torch, CUDA, .*",
        "作业各 rank（否则本 shell）的 NCCL、torch、CUDA、libfabric、UCX、gloo、OpenMP 环境变量；nccl.conf",
    ),
    (r"NVIDIA GPUs by NVML: .*", "NVIDIA GPU（NVML）：显存、进程、时钟及其限制因素、ECC、PCIe、NVLink、fabric、MIG"),
    (r"Xid errors that NVIDIA GPUs report .*", "观察期间 NVIDIA GPU 通过 NVML 报告的 Xid 错误（--window SECONDS）"),
    (r"distance between the GPUs .*", "GPU 之间的距离（NVLink、PCIe、CPU 插槽）与 P2P 访问（NVML）"),
    (
        r"ports in /sys/class/infiniband: .*",
        "/sys/class/infiniband 中的端口：状态、速率、GID、故障计数及其增长（--window SECONDS）",
    ),
    (
        r"/sys/class/net, `ip addr`, .*",
        "/sys/class/net、`ip addr`、`ip route`、/etc/hosts：状态、MTU、速率、地址、路由",
    ),
    (r"training processes by /proc: .*", "/proc 中的训练进程：rank、命令行、所写日志、配置、飞行记录器转储"),
    (r"the kernel's log of the last 24 hours: .*", "最近 24 小时的内核日志：/dev/kmsg，否则 dmesg，否则 journal"),
    (
        r"libraries that the ranks have loaded, .*",
        "各 rank 加载的库（/proc/PID/maps）：NCCL、CUDA、torch 的副本与版本，插件",
    ),
    (r"/dev/shm, /proc/self/limits, .*", "/dev/shm、/proc/self/limits、cgroup 的内存上限与终止次数、可用处理器"),
    (r"/sys/bus/pci: NVIDIA GPUs, .*", "/sys/bus/pci：NVIDIA GPU、降宽的链路、无响应的设备、网桥的访问控制（ACS）"),
    (
        r"by PCIe the network card nearest to each GPU, .*",
        "按 PCIe 距离每个 GPU 最近的网卡，以及 rank 是否运行在其 GPU 附近的处理器上",
    ),
    (r"where each rank of the job stands, .*", "作业各 rank 停在哪里、在等谁（py-spy，不暂停进程）"),
    (r"where the job writes \(.*", "作业写入的位置（打开的文件、检查点）：文件系统类型、剩余空间、inode、响应时间"),
    (
        r"kernel, modules \(GPUDirect RDMA\), .*",
        "内核、模块（GPUDirect RDMA）、参数、IOMMU、内存与大页、处理器、NUMA、调频策略、IMEX",
    ),
    (r"packages of the job's interpreter .*", "作业解释器（某个 rank 的，或 --python，否则当前环境）中的软件包"),
    (r"collectives between ranks .*", "在此处启动若干 rank 测试集合通信"),
    (r"the job's user or root, and the right to look into processes", "作业的用户或 root，并有查看进程的权限"),
    (r"the job's user or root", "作业的用户或 root"),
    (r"root, or the group adm, where kernel\.dmesg_restrict is 1", "root，或 kernel.dmesg_restrict 为 1 时的 adm 组"),
    (
        r"root for access control: others see 64 bytes of a device's configuration",
        "访问控制需要 root：其他用户只能看到设备配置的 64 字节",
    ),
)
