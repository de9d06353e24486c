"""RG-LRU in eager PyTorch float64: what the oracle's speed and memory are held against by `compare`.

    pip install torch        (the wheel for CPUs is enough)
    python torch_rglru.py forward|backward [B L W] [--repeats N] [--threads N]
    python torch_rglru.py --check CASE.safetensors [TRUTH.safetensors]

The equations are those of the mathematics chapter, with gradients by autograd; only the square root has a
derivative of its own, clipped as the recurrence defines it. Prints one line of JSON: seconds of each repeat, and
the peak resident memory of the process in bytes. With --check it compares every output and gradient with those of a
golden case instead (fixtures/golden/rglru_v*.safetensors), or with what the oracle says of that case
(plumbline oracle --case CASE --out TRUTH --kind rglru_logits).
"""

import argparse
import json
import resource
import struct
import time

import torch


class ClippedSqrt(torch.autograd.Function):
    """sqrt(z) with the derivative 1 / sqrt(max(4 z, 1e-6))."""

    @staticmethod
    def forward(context, z):
        context.save_for_backward(z)
        return z.sqrt()

    @staticmethod
    def backward(context, upstream):
        (z,) = context.saved_tensors
        return upstream * (4.0 * z).clamp_min(1e-6).rsqrt()


def recurrence(x, u, v, a_param, reset, h0):
    """y [B, L, W] and the final state [B, W]."""
    g = torch.sigmoid(u)
    r = torch.sigmoid(v)
    l = -8.0 * r * torch.nn.functional.softplus(a_param)
    a = torch.exp(l)
    m = ClippedSqrt.apply(-torch.expm1(2.0 * l))
    reset = reset.unsqueeze(-1)
    decay = torch.where(reset, 0.0, a)
    write = x * g * torch.where(reset, 1.0, m)
    # Indexing decay[:, t] inside the loop would make the backward pass quadratic in L: every step would add a
    # gradient of the size of the whole tensor.
    state, states = h0, []
    for decay_t, write_t in zip(decay.unbind(1), write.unbind(1)):
        state = decay_t * state + write_t
        states.append(state)
    return torch.stack(states, 1), state


def drawn(batch, length, width):
    """Random inputs by name, and the cotangents."""
    torch.manual_seed(1)
    tokens = lambda: torch.rand(batch, length, width, dtype=torch.float64) * 4.0 - 2.0
    inputs = {
        "x": tokens(),
        "u": tokens(),
        "v": tokens(),
        "a_param": torch.full((width,), -4.5, dtype=torch.float64),
        "h0": torch.zeros(batch, width, dtype=torch.float64),
    }
    reset = (torch.arange(length) % 500 == 0).expand(batch, length)
    return inputs, reset, tokens(), torch.ones(batch, width, dtype=torch.float64)


def gradients(inputs, reset, dy, dlast):
    """Both outputs, and the gradient of every input."""
    leaves = {name: tensor.requires_grad_() for name, tensor in inputs.items()}
    y, last = recurrence(**leaves, reset=reset)
    found = torch.autograd.grad([y, last], list(leaves.values()), [dy, dlast])
    return y, last, dict(zip(leaves, found))


def timed(what, shape, repeats):
    inputs, reset, dy, dlast = drawn(*shape)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        if what == "forward":
            with torch.no_grad():
                results = recurrence(**inputs, reset=reset)
        else:
            results = gradients(inputs, reset, dy, dlast)
        seconds.append(time.perf_counter() - start)
        del results
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"what": what, "shape": shape, "seconds": seconds, "peak_bytes": peak}))


def read_safetensors(path):
    types = {"F64": torch.float64, "I32": torch.int32}
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = bytearray(file.read())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(body[start:end], dtype=types[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def check(path, truth=None):
    case = read_safetensors(path)
    # Golden values take 1 - a^2 by subtraction, which costs up to 5e-9 where a is near 1; the oracle does not.
    known, tolerance = (read_safetensors(truth), 1e-12) if truth else (case, 1e-8)
    h0 = case.get("h0", torch.zeros_like(case["dlast"]))
    inputs = {
        "x": case["x"],
        "u": case["input_gate_logits"],
        "v": case["a_gate_logits"],
        "a_param": case["a_param"],
        "h0": h0,
    }
    y, last, found = gradients(inputs, case["segment_pos"] == 0, case["dy"], case["dlast"])
    pairs = {"y": y, "last_h": last, "dx_direct": found["x"], "dinput_gate_logits": found["u"]}
    pairs |= {"da_gate_logits": found["v"], "da_param": found["a_param"], "dh0": found["h0"]}
    worst = 0.0
    for name, tensor in pairs.items():
        if name not in known:
            continue
        scale = known[name].abs().max().item() or 1.0
        error = (tensor - known[name]).abs().max().item() / scale
        worst = max(worst, error)
        print(f"{name:20} {error:.1e} of the largest value")
    raise SystemExit(worst > tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["forward", "backward"])
    parser.add_argument("shape", nargs="*", type=int, help="B L W (default 4 2048 2048)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", metavar="FILE", nargs="+")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.check:
        check(*given.check)
    shape = given.shape or [4, 2048, 2048]
    if given.what is None or len(shape) != 3:
        parser.error("say forward or backward, and B L W or no sizes at all")
    timed(given.what, shape, given.repeats)


if __name__ == "__main__":
    main()
