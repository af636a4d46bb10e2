from __future__ import annotations

import pytest

from probes.files.trace.names import Call, Work, call_of, work_of


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16, true>(unsigned long)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "void at::two_shot_all_reduce_kernel<float>()",
        "one_shot_all_reduce_kernel",
        "void deep_ep::internode_ll::dispatch<true, 4, 7168>(void*)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8>(void*)",
        "nvshmemi_proxy_quiet",
        "mscclKernel_Sum_half_Simple_false",
        "mscclpp::allreduce7<__half>",
        "hccl_allreduce_kernel",
    ],
)
def test_kernels_that_move_data_between_devices_are_communication(name: str) -> None:
    assert work_of("kernel", name) is Work.COMM


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>()",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>()",
        "void fbgemm_gpu::permute_2D_lengths_kernel<int>()",
        "void moe::combine_weights_kernel()",
        "flash_fwd_kernel",
        "void cub::DeviceReduceByKeyKernel<>()",
        "broadcast_add_kernel",
    ],
)
def test_reductions_within_a_device_are_computation(name: str) -> None:
    assert work_of("kernel", name) is Work.COMPUTE


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cudaLaunchKernel", Call.LAUNCH),
        ("cuLaunchKernelEx", Call.LAUNCH),
        ("hipModuleLaunchKernel", Call.LAUNCH),
        ("cudaMemcpyAsync", Call.LAUNCH),
        ("cudaGraphLaunch", Call.LAUNCH),
        ("cudaMemcpy", Call.SYNC),
        ("cudaStreamSynchronize", Call.SYNC),
        ("hipDeviceSynchronize", Call.SYNC),
        ("cudaMalloc", Call.ALLOCATE),
        ("cudaFree", Call.ALLOCATE),
        ("cudaMallocHost", Call.OTHER),
        ("cudaEventRecord", Call.OTHER),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Call.OTHER),
    ],
)
def test_calls_of_the_runtime(name: str, call: Call) -> None:
    assert call_of(name) is call
