"""Warnings and remarks that healthy jobs print: each as the program words it, with places for what varies."""

from __future__ import annotations

import random

SITE = "/opt/conda/lib/python3.11/site-packages"

TEMPLATES = (
    # PyTorch
    "[W socket.cpp:663] [c10d] The client socket has failed to connect to [localhost]:{port} (errno: 99 - Cannot assign requested address).",
    "[W{glog} socket.cpp:697] [c10d] The client socket cannot be initialized to connect to [localhost]:{port} (errno: 97 - Address family not supported by protocol).",
    "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:{port} (errno: 97 - Address family not supported by protocol).",
    "[W{glog} ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group to ensure that any pending NCCL operations have finished in this process. In rare cases this process can exit before this point and block the progress of another member of the process group. This constraint has always been present,  but this warning has only been added since PyTorch 2.4 (function operator())",
    "[rank{rank}]:[W{glog} ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank {rank}]  using GPU {gpu} to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. Specify device_ids in barrier() to force use of a particular device, or call init_process_group() with a device_id.",
    "[W Utils.hpp:133] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead (function getCvarInt)",
    "[W{glog} Utils.hpp:164] Warning: Environment variable NCCL_BLOCKING_WAIT is deprecated; use TORCH_NCCL_BLOCKING_WAIT instead (function operator())",
    "[W reducer.cpp:1389] Warning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters in the forward pass. This flag results in an extra traversal of the autograd graph every iteration,  which can adversely affect performance. If your model indeed never has any unused parameters in the forward pass, consider turning this flag off. Note that this warning may be a false positive if your model has flow control causing later iterations to have unused parameters. (function operator())",
    "[W CUDAAllocatorConfig.h:28] Warning: expandable_segments not supported on this platform (function operator())",
    SITE + "/torch/distributed/launch.py:181: FutureWarning: The module torch.distributed.launch is deprecated",
    SITE
    + "/torch/utils/checkpoint.py:{line}: UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In version 2.4 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants.",
    SITE
    + "/torch/utils/checkpoint.py:61: UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
    SITE
    + "/torch/optim/lr_scheduler.py:{line}: UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value of the learning rate schedule.",
    SITE
    + "/torch/optim/lr_scheduler.py:{line}: UserWarning: The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to step the scheduler.",
    SITE
    + "/torch/nn/parallel/_functions.py:68: UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector.",
    SITE
    + "/torch/autograd/graph.py:825: UserWarning: c10d::allreduce_: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. This may lead to silently incorrect behavior.",
    SITE
    + "/torch/cuda/__init__.py:63: FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead. If you did not install pynvml directly, please report this to the maintainers of the package that installed pynvml for you.",
    SITE
    + "/torch/storage.py:414: FutureWarning: You are using `torch.load` with `weights_only=False` (the current default value), which uses the default pickle module implicitly.",
    SITE
    + "/torch/distributed/fsdp/fully_sharded_data_parallel.py:{line}: FutureWarning: FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, get_state_dict() and set_state_dict(), which can support different parallelisms, FSDP1, FSDP2, DDP.",
    SITE
    + "/torch/distributed/checkpoint/state_dict_saver.py:{line}: FutureWarning: `save_state_dict` is deprecated and will be removed in future versions.Please use `save` instead.",
    SITE
    + "/torch/distributed/c10d_logger.py:{line}: UserWarning: No device id is provided via `init_process_group` or `barrier `. Using the current device set by the user. ",
    SITE
    + "/torch/distributed/distributed_c10d.py:{line}: UserWarning: torch.distributed._all_gather_base is a private function and will be deprecated. Please use torch.distributed.all_gather_into_tensor instead.",
    SITE
    + "/torch/_inductor/compile_fx.py:{line}: UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled. Consider setting `torch.set_float32_matmul_precision('high')` for better performance.",
    SITE
    + "/torch/_inductor/lowering.py:{line}: UserWarning: Torchinductor does not support code generation for complex operators. Performance may be worse than eager.",
    "W{glog} {pid} torch/_dynamo/convert_frame.py:{line}] [{n}/8] torch._dynamo hit config.cache_size_limit (8)",
    "[rank{rank}]:W{glog} {pid} torch/_inductor/utils.py:{line}] [0/0] Not enough SMs to use max_autotune_gemm mode",
    SITE
    + "/torch/_dynamo/eval_frame.py:{line}: UserWarning: torch._dynamo.external_utils: the use_reentrant parameter should be passed explicitly.",
    "[Gloo] Rank {rank} is connected to {n} peer ranks. Expected number of connected peer ranks is : {n}",
    # NCCL
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO PROFILER/Plugin: Could not find: libnccl-profiler.so.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO Failed to find ncclNetPlugin_v8 symbol.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO Failed to find ncclCollNetPlugin_v6 symbol.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO NCCL_CUMEM_ENABLE set by environment to 1.",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO threadThresholds 8/8/64 | 128/8/64 | 512 | 512",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO Connected all rings, use ring PXN 0 GDR 1",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO Setting affinity for GPU {gpu} to ffff,ffffffff",
    "{host}:{pid}:{pid} [{gpu}] NCCL INFO comm 0x{hex} rank {rank} nranks 16 cudaDev {gpu} busId {bus}000 - Destroy COMPLETE",
    "Using the default NCCL timeout of 600 s",
    "INFO:root:connection to metrics endpoint lost, retry 1 succeeded after {n} ms",
    # Hugging Face
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...",
    "To disable this warning, you can either:",
    "\t- Avoid using `tokenizers` before the fork if possible",
    "\t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)",
    "Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.",
    "Token indices sequence length is longer than the specified maximum sequence length for this model ({big} > 8192). Running this sequence through the model will result in indexing errors",
    "The following generation flags are not valid and may be ignored: ['temperature', 'top_p']. Set `TRANSFORMERS_VERBOSITY=info` for more details.",
    SITE
    + "/transformers/generation/configuration_utils.py:{line}: UserWarning: `do_sample` is set to `False`. However, `temperature` is set to `0.6` -- this flag is only used in sample-based generation modes. You should set `do_sample=True` or unset `temperature`.",
    "Setting `pad_token_id` to `eos_token_id`:{big} for open-end generation.",
    "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
    "The attention mask and the pad token id were not set. As a consequence, you may observe unexpected behavior. Please pass your input's `attention_mask` to obtain reliable results.",
    "Some weights of LlamaForSequenceClassification were not initialized from the model checkpoint and are newly initialized: ['score.weight']",
    "You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.",
    "The tokenizer has new PAD/BOS/EOS tokens that differ from the model config and generation config. The model config and generation config were aligned accordingly, being updated with the tokenizer's values.",
    "You are using the default legacy behaviour of the <class 'transformers.models.llama.tokenization_llama.LlamaTokenizer'>. This is expected, and simply means that the `legacy` (previous) behavior will be used so nothing changes for you.",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "You are attempting to use Flash Attention 2.0 without specifying a torch dtype. This might lead to unexpected behaviour",
    "You are attempting to use Flash Attention 2 without specifying a torch dtype. This might lead to unexpected behaviour",
    SITE
    + "/transformers/training_args.py:{line}: FutureWarning: `evaluation_strategy` is deprecated and will be removed in version 4.46 of Transformers. Use `eval_strategy` instead",
    SITE
    + "/transformers/utils/hub.py:123: FutureWarning: Using `TRANSFORMERS_CACHE` is deprecated and will be removed in v5 of Transformers. Use `HF_HOME` instead.",
    SITE
    + "/huggingface_hub/file_download.py:{line}: FutureWarning: `resume_download` is deprecated and will be removed in version 1.0.0. Downloads always resume when possible. If you want to force a new download, use `force_download=True`.",
    "Trainer.tokenizer is now deprecated. You should use Trainer.processing_class instead.",
    "Detected kernel version 4.18.0, which is below the recommended minimum of 5.5.0; this can cause the process to hang. It is recommended to upgrade the kernel to the minimum version or higher.",
    "[WARNING|logging.py:{line}] `use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`...",
    "wandb: WARNING Path /data/run/wandb/ wasn't writable, using system temp directory.",
    "wandb: Currently logged in as: user. Use `wandb login --relogin` to force relogin",
    "wandb: Network error (ReadTimeout), entering retry loop.",
    "WARNING:urllib3.connectionpool:Retrying (Retry(total=2, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\")': /api/models/org/model",
    "WARNING:urllib3.connectionpool:Connection pool is full, discarding connection: storage.example. Connection pool size: 10",
    "INFO:urllib3.connectionpool:Resetting dropped connection: storage.example",
    # DeepSpeed, Apex, Megatron, flash-attention
    "[{stamp},{ms}] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda (auto detect)",
    "[{stamp},{ms}] [WARNING] [lr_schedules.py:683:get_lr] Attempting to get learning rate from scheduler before it has started",
    " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.",
    " [WARNING]  async_io: please install the libaio-dev package with apt",
    " [WARNING]  If libaio is already installed (perhaps from source), try setting the CFLAGS and LDFLAGS environment variables to where it can be found.",
    " [WARNING]  Please specify the CUTLASS repo directory as environment variable $CUTLASS_PATH",
    " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.4",
    " [WARNING]  using untested triton version (3.0.0), only 1.0.0 is known to be compatible",
    "[{stamp},{ms}] [WARNING] [engine.py:1188:_do_optimizer_sanity_check] **** You are using ZeRO with an untested optimizer, proceed with caution *****",
    "[{stamp},{ms}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1",
    "[{stamp},{ms}] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "ninja: no work to do.",
    "Time to load fused_adam op: 0.{ms} seconds",
    "Installed CUDA version 12.2 does not match the version torch was compiled with 12.1 but since the APIs are compatible, accepting this combination",
    "WARNING: could not find the metadata file /data/ckpt/latest_checkpointed_iteration.txt",
    "    will not load any checkpoints and will start from random",
    "[WARNING  | DotProductAttention]: flash-attn v3 may provide important feature support or performance improvement. Please install flash-attn v3 by",
    "WARNING:megatron.core.rerun_state_machine:Implicit initialization of Rerun State Machine!",
    "fatal: not a git repository (or any of the parent directories): .git",
    # TensorFlow, Lightning, JAX and the rest of the environment
    "2025-02-11 09:31:02.114455: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on. You may see slightly different numerical results due to floating-point round-off errors from different computation orders. To turn them off, set the environment variable `TF_ENABLE_ONEDNN_OPTS=0`.",
    "2025-02-11 09:31:03.201877: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "2025-02-11 09:31:04.310012: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
    "2025-02-11 09:31:04.377120: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    "You are using a CUDA device ('NVIDIA A100-SXM4-80GB') that has Tensor Cores. To properly utilize them, you should set `torch.set_float32_matmul_precision('medium' | 'high')` which will trade-off precision for performance.",
    "/usr/lib/python3/dist-packages/requests/__init__.py:87: RequestsDependencyWarning: urllib3 (2.2.3) or chardet (4.0.0) doesn't match a supported version!",
    "/usr/lib/python3.10/site-packages/pkg_resources/__init__.py:3144: DeprecationWarning: Deprecated call to `pkg_resources.declare_namespace('google')`.",
    "A new version of the following files was downloaded from https://huggingface.co/org/model:",
    "/usr/bin/ld: cannot find -laio: No such file or directory",
    "collect2: error: ld returned 1 exit status",
    "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so': libvmw_pvrdma-rdmav34.so: cannot open shared object file: No such file or directory",
    SITE
    + "/numpy/core/fromnumeric.py:59: FutureWarning: 'DataFrame.swapaxes' is deprecated and will be removed in a future version. Please use 'DataFrame.transpose' instead.",
    SITE
    + "/multiprocess/resource_tracker.py:{line}: UserWarning: resource_tracker: There appear to be {n} leaked semaphore objects to clean up at shutdown",
    "GPU {gpu} memory: {big} MiB reserved, {big} MiB allocated",
    "INFO:root:tokenizer cache hit ratio 0.{ms} over the last {big} requests",
    "INFO:root:prefetch queue holds {n} batches",
)


HINTS = (
    SITE
    + "/torch/utils/data/dataloader.py:557: UserWarning: This DataLoader will create {n} worker processes in total. Our suggested max number of worker in current system is {n}, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
    "The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument` to `num_workers={n}` in the `DataLoader` to improve performance.",
)
"""Remarks that a healthy job may print, but that are a sign of a fault where others go with them, such as idle GPUs."""


def lines(rng: random.Random, number: int, hints: bool = False) -> list[str]:
    """`number` warnings, drawn anew each time."""
    choice = TEMPLATES + HINTS if hints else TEMPLATES
    return [_filled(rng.choice(choice), rng) for _ in range(number)]


def _filled(template: str, rng: random.Random) -> str:
    places = {
        "port": rng.randint(20000, 60000),
        "rank": rng.randint(0, 7),
        "gpu": rng.randint(0, 7),
        "n": rng.randint(2, 30),
        "line": rng.randint(30, 3000),
        "big": rng.randint(9000, 70000),
        "pid": rng.randint(1000, 90000),
        "ms": f"{rng.randint(0, 999):03d}",
        "hex": f"{rng.getrandbits(44):x}",
        "bus": f"{rng.randint(16, 250):x}",
        "host": f"trn-{rng.randint(1, 9):03d}",
        "glog": f"{rng.randint(1, 12):02d}{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:07:41.{rng.randint(0, 999999):06d}",
        "stamp": f"2025-03-{rng.randint(1, 28):02d} 07:41:{rng.randint(0, 59):02d}",
    }
    for name, value in places.items():
        template = template.replace("{" + name + "}", str(value))
    return template
