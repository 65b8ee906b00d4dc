"""What is particular to a device: its name, its clock, its memory."""

import ctypes
import gc
import os
import platform
import re
import time

import torch

# Linux reports AMD's and Intel's server parts under brand names that do not tell the generation
# apart (a virtual machine says just "AMD EPYC"), so family and model number decide.
_MICROARCHITECTURES = [
    # vendor, family, first model, last model, name
    ("AuthenticAMD", 23, 0x00, 0x2f, "Zen"),
    ("AuthenticAMD", 23, 0x30, 0xff, "Zen2"),
    ("AuthenticAMD", 25, 0x00, 0x0f, "Zen3"),
    ("AuthenticAMD", 25, 0x20, 0x5f, "Zen3"),
    ("AuthenticAMD", 25, 0x10, 0x1f, "Zen4"),
    ("AuthenticAMD", 25, 0x60, 0xaf, "Zen4"),
    ("AuthenticAMD", 26, 0x00, 0xff, "Zen5"),
    ("GenuineIntel", 6, 0x55, 0x55, "Skylake-SP"),
    ("GenuineIntel", 6, 0x6a, 0x6c, "Ice Lake-SP"),
    ("GenuineIntel", 6, 0x8f, 0x8f, "Sapphire Rapids"),
    ("GenuineIntel", 6, 0xcf, 0xcf, "Emerald Rapids"),
]


def cpu_info() -> dict:
    """vendor, family, model and name of the CPU, as far as the system tells."""
    info = {"vendor": "", "family": 0, "model": 0, "name": platform.processor() or "CPU"}
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read().split("\n\n")[0]
    except OSError:
        return info
    fields = dict(re.findall(r"^(.*?)\s*:\s*(.*)$", text, re.M))
    info["vendor"] = fields.get("vendor_id", "")
    info["name"] = fields.get("model name", info["name"])
    info["family"] = int(fields.get("cpu family", 0))
    info["model"] = int(fields.get("model", 0))
    return info


def cpu_name(threads: int) -> str:
    """Device name of this CPU, such as 'AMD EPYC Zen4 (1 thread)'."""
    info = cpu_info()
    name = info["name"]
    for vendor, family, first, last, arch in _MICROARCHITECTURES:
        if (vendor, family) == (info["vendor"], info["family"]) and first <= info["model"] <= last:
            name = name if arch.lower() in name.lower() else f"{name} {arch}"
    return f"{name} ({threads} thread{'s' if threads != 1 else ''})"


class CpuDevice:
    """The CPU: wall clock, and the resident set as the measure of memory."""

    kind = "cpu"
    guess_flops = 40e9                  # only until the first rows are measured
    work_per_element = 150              # what moving one activation costs, in operations
    memory_note = "peak_memory_mb: peak resident set less the resident set before the model was built"

    def __init__(self, threads: int):
        torch.set_num_threads(threads)
        self.threads = threads
        self.torch_device = torch.device("cpu")
        self.name = cpu_name(threads)
        self.backend = "cpu"
        self._libc = _libc()
        self._base = 0.0

    def search_kernels(self, on: bool) -> None:
        """Nothing to choose."""

    def describe(self) -> str:
        """One line for the profile's source column."""
        info = cpu_info()
        return (f"{info['name']} family {info['family']} model {info['model']}, "
                f"{self.threads} thread{'s' if self.threads != 1 else ''}")

    def has(self, dtype: str) -> bool:
        """Whether the device computes in this number format."""
        return dtype in ("fp32", "bf16", "amp")

    def free_memory(self) -> float:
        """Bytes that a new model may use."""
        try:
            with open("/proc/meminfo") as file:
                return int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1)) * 1024
        except (OSError, AttributeError):
            return float("inf")

    def release(self) -> None:
        """Give freed memory back to the system; otherwise the heap of the last model counts for the next."""
        gc.collect()
        if self._libc is not None:
            self._libc.malloc_trim(0)

    def set_memory_base(self) -> None:
        """Call before the model is built."""
        self.release()
        self._base = _resident("VmRSS")

    def reset_peak(self) -> None:
        """Forget the peak so far."""
        self.release()
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass                        # not Linux, or not allowed: the peak is then that of the process

    def peak_memory_mb(self) -> float:
        """Peak since reset_peak, above the base, in units of 2^20 bytes."""
        return max(0.0, _resident("VmHWM") - self._base) / 2**20

    def build(self, make):
        """The module that MAKE returns."""
        return make()

    def stopwatch(self):
        return _WallStopwatch()

    def share_meter(self):
        """Start to measure which part of a core the process gets; the result tells the part so far."""
        wall, busy = time.perf_counter(), time.process_time()

        def share() -> float:
            if self.threads > 1:
                return 1.0              # several threads wait for one another: nothing can be told
            return (time.process_time() - busy) / max(1e-9, time.perf_counter() - wall)
        return share

    def busy(self, step) -> tuple:
        """As CudaDevice.busy(): a CPU launches nothing, so nothing can be told."""
        return None, None

    def is_out_of_memory(self, err: Exception) -> bool:
        return "alloc" in str(err).lower() and "memory" in str(err).lower()


class CudaDevice:
    """A CUDA device: events as the clock, and the caching allocator's own count of memory."""

    kind = "cuda"
    guess_flops = 10e12
    work_per_element = 150
    memory_note = "peak_memory_mb: torch.cuda.max_memory_reserved, and what the device has in use besides (context, libraries)"

    def __init__(self, index: int = 0):
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no CUDA device here")
        self.torch_device = torch.device("cuda", index)
        torch.cuda.set_device(self.torch_device)
        self.threads = torch.get_num_threads()
        self.name = torch.cuda.get_device_name(index)
        self.backend = "cu" + (torch.version.cuda or "").replace(".", "")
        self.search_kernels(True)       # as training scripts for images usually do

    def search_kernels(self, on: bool) -> None:
        """Whether cuDNN tries its kernels for each new convolution and takes the fastest, which takes seconds for a network; else it guesses."""
        torch.backends.cudnn.benchmark = on

    def describe(self) -> str:
        major, minor = torch.cuda.get_device_capability(self.torch_device)
        guess = "" if torch.backends.cudnn.benchmark else ", cudnn.benchmark off"
        return f"{self.name} sm_{major}{minor}, cuDNN {torch.backends.cudnn.version()}{guess}"

    def has(self, dtype: str) -> bool:
        if dtype == "tf32":
            return torch.cuda.get_device_capability(self.torch_device) >= (8, 0)
        return dtype != "bf16" or torch.cuda.is_bf16_supported()

    def free_memory(self) -> float:
        free, _ = torch.cuda.mem_get_info(self.torch_device)
        return free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()

    def release(self) -> None:
        gc.collect()
        torch.cuda.empty_cache()

    def set_memory_base(self) -> None:
        self.release()

    def reset_peak(self) -> None:
        self.release()
        torch.cuda.reset_peak_memory_stats(self.torch_device)

    def peak_memory_mb(self) -> float:
        """What nvidia-smi shows at the peak, as long as no other process uses the device."""
        free, total = torch.cuda.mem_get_info(self.torch_device)
        besides = total - free - torch.cuda.memory_reserved(self.torch_device)
        return (torch.cuda.max_memory_reserved(self.torch_device) + besides) / 2**20

    def build(self, make):
        """The module that MAKE returns, made on the device where PyTorch 2 can: the weights of a large one take seconds on the host."""
        if not hasattr(torch, "get_default_device"):
            return make()
        with self.torch_device:
            return make()

    def stopwatch(self):
        return _CudaStopwatch()

    def share_meter(self):
        """The host's share does not decide the device's time."""
        return lambda: 1.0

    def busy(self, step) -> tuple:
        """(milliseconds in which the device ran a kernel or copied, how many these were) while STEP() runs once, as PyTorch's profiler records it.

        The profiler slows the host down, but not the kernels. So the time over that of a step says whether the device or the host is the limit.
        (None, None) where this PyTorch or driver cannot tell: a measured row must not be lost for that.
        """
        try:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recorded:
                step()
                torch.cuda.synchronize()
            return busy_time([(event.start_ns(), event.end_ns()) for event in recorded.profiler.kineto_results.events()
                              if event.device_type() == torch.autograd.DeviceType.CUDA])
        except (AttributeError, RuntimeError):
            return None, None

    def is_out_of_memory(self, err: Exception) -> bool:
        return "out of memory" in str(err).lower()


class _WallStopwatch:
    """Marks on the wall clock."""

    def __init__(self):
        self._marks = []

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def milliseconds(self) -> list:
        """Time between successive marks."""
        return [1e3 * (b - a) for a, b in zip(self._marks, self._marks[1:])]


class _CudaStopwatch:
    """Marks in the device's own stream, so that reading the clock never stalls the pipeline."""

    def __init__(self):
        self._marks = []
        torch.cuda.synchronize()

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def milliseconds(self) -> list:
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in zip(self._marks, self._marks[1:])]


def busy_time(spans: list) -> tuple:
    """(milliseconds covered by at least one of the SPANS, which are pairs of nanoseconds; how many there are)."""
    covered = reached = 0
    for begin, end in sorted(spans):
        covered += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return covered / 1e6, len(spans)


def open_device(name: str, threads: int):
    """The device called 'cpu', 'cuda' or 'cuda:1'."""
    if name == "cpu":
        return CpuDevice(threads)
    if re.fullmatch(r"cuda(:[0-9]+)?", name):
        return CudaDevice(int(name.partition(":")[2] or 0))
    raise RuntimeError(f"unknown device '{name}': expected cpu, cuda or cuda:N")


def _libc():
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc_trim
        return libc
    except (OSError, AttributeError):
        return None


def _resident(field: str) -> float:
    """VmRSS or VmHWM of this process in bytes."""
    try:
        with open(f"/proc/{os.getpid()}/status") as file:
            return int(re.search(field + r":\s+(\d+)", file.read()).group(1)) * 1024
    except (OSError, AttributeError):
        return 0.0
