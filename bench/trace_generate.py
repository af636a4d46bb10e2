"""Large traces in the layout of libkineto, written quickly: one second of a run, over and over."""

from __future__ import annotations

from pathlib import Path

HEAD = b"""{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936, "numSms": 132
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1751410836000000000,
  "traceEvents": ["""
TAIL = b"""
  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": 999999999999.999
  }
  ],
  "traceName": "generated.json"
}"""
OPERATOR = """
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 4000, "tid": 4000,
    "ts": @@@@@@%06d.125, "dur": 95.250,
    "args": {
      "External id": 9@@@@@@%04d, "Record function id": 0, "Sequence number": 11, "Fwd thread id": 0, \
"Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", "c10::BFloat16", ""], \
"Input Strides": [[4096, 1], [4096, 1], []], "Input Dims": [[2048, 4096], [4096, 4096], []], "Ev Idx": %d
    }
  },"""
LAUNCH = """
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4000, "tid": 4000,
    "ts": @@@@@@%06d.375, "dur": 6.125,
    "args": {
      "External id": 9@@@@@@%04d, "cbid": 211, "correlation": 9@@@@@@%04d
    }
  },
  {
    "ph": "s", "id": 9@@@@@@%04d, "pid": 4000, "tid": 4000, "ts": @@@@@@%06d.375,
    "cat": "ac2g", "name": "ac2g"
  },"""
KERNEL = """
  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": %d,
    "ts": @@@@@@%06d.500, "dur": %d.750,
    "args": {
      "External id": 9@@@@@@%04d, "queued": 0, "device": 0, "context": 1, "stream": %d, \
"correlation": 9@@@@@@%04d, "registers per thread": 168, "shared memory": 213248, "blocks per SM": 1.0, \
"warps per SM": 12.0, "grid": [132, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %%": 18
    }
  },
  {
    "ph": "f", "id": 9@@@@@@%04d, "pid": 0, "tid": %d, "ts": @@@@@@%06d.500,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },"""
GEMM = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTN_%d"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CALLS = 4000


def second() -> bytes:
    """The events of one second; `@@@@@@` stands for its number."""
    parts = []
    for call in range(CALLS):
        at = call * 240
        stream, name, length = (20, REDUCE, 200) if call % 10 == 9 else (7, GEMM % (call % 40), 180)
        parts.append(OPERATOR % (at, call, call))
        parts.append(OPERATOR % (at + 10, call, call))
        parts.append(LAUNCH % (at + 20, call, call, call, at + 20))
        parts.append(KERNEL % (name, stream, at + 30, length, call, stream, call, call, stream, at + 30))
    return "".join(parts).encode()


def generate(path: Path, size: int) -> int:
    """Writes a trace of about `size` bytes to `path` and gives the number of kernels in it."""
    block, number, written = second(), 100_000, 0
    with path.open("wb") as file:
        file.write(HEAD)
        while written < size:
            written += file.write(block.replace(b"@@@@@@", b"%06d" % number))
            number += 1
        file.write(TAIL)
    return (number - 100_000) * CALLS
