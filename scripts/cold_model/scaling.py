"""Several GPUs: the closed form of the first model of scaling, its constants fixed (constants of earlier work, not fitted here)."""
import math

E = dict(e_pcie=0.324, g_pcie=0.528, e_nv=0.621, e_tcp=0.966, e_rdma=0.498, a_msg=0.252e-3, interf=0.352,
         sigma=0.033, e_ps=0.69, a_rdma=23e-6, a_tcp=65e-6, w_none=0.39, d_sched=0.40e-3)


def normal_maximum(n):
    """expected maximum of n standard normals (Blom)"""
    if n <= 1:
        return 0.0
    p = (n - 0.375) / (n + 0.25)
    t = math.sqrt(-2 * math.log(1 - p))
    return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t)


def bandwidths(case, transport):
    intra, inter = case["cluster"]["intra_node"], case["cluster"]["inter_node"]
    kind, b = intra["kind"], intra["nominal_bandwidth_bytes_per_s"]
    n = min(case["gpus"], case["gpus_per_node"])
    if kind.startswith("pcie"):
        inside = E["e_pcie"] * 15.75e9 * (b / 15.75e9) ** E["g_pcie"]
    else:
        share = 1.0
        if kind in ("nvlink1", "nvlink2"):
            share = 1 / 3 if n <= 2 else 2 / 3 if n <= 4 else 1.0
        inside = E["e_nv"] * b * share
    if case["nodes"] <= 1 or inter is None:
        return inside, None, False
    b = inter["nominal_bandwidth_bytes_per_s"]
    kind = inter["kind"] if transport == "-" else transport
    tcp = "tcp" in kind or "ethernet" in kind
    return inside, min(3e9, E["e_tcp"] * b) if tcp else E["e_rdma"] * b, tcp


def extra(case, tc, tensors, overlap, transformer, transport="-"):
    """seconds beyond the time of one GPU"""
    n = case["gpus"]
    if n == 1:
        return 0.0
    inside, between, tcp = bandwidths(case, transport)
    m = case["network"]["parameters"] * case["gradient_bytes_per_element"]
    nodes = case["nodes"]
    sync = case["run"]["synchronisation"]
    jitter = E["sigma"] * normal_maximum(n) * tc
    fw = case["run"]["framework"]
    if sync in ("parameter_server", "replicated_copy"):
        b = inside * E["e_ps"]
        local = min(n, case["gpus_per_node"])
        c = 2 * (local - 1) / local * m / b if local > 1 else 0.0
        if between:
            c += 2 * (nodes - 1) / nodes * m / (between * E["e_ps"])
        hide = tc * (1 - 1 / tensors)
        return max(0.05 * c, c - hide) + E["interf"] * min(c, hide) + jitter
    bw = min(inside, between) if between else inside
    start = 4 * math.log2(nodes) * (E["a_tcp"] if tcp else E["a_rdma"]) if nodes > 1 else 0.0
    if "orovod" in fw or "(NGC, Deep" in fw and "ensor" in fw or "xnet" in fw.lower():
        start += E["a_msg"]
    total = 2 * (n - 1) / n * m / bw

    def exposed(count):
        c = total + count * start
        tail = c / count
        if transformer:
            tail = max(tail, total * 0.15)
        return max(min(tail, c), c - 2 / 3 * tc * (1 - 1 / count)), c

    if overlap == "none":
        return total + start + jitter
    if overlap == "wfbp":
        ex, c = exposed(tensors)
    elif overlap == "merged":
        ex, c = min(exposed(k) for k in (1, 2, 4, 8, 16, 32))
    elif overlap == "scheduled":
        c = total
        ex = max(0.05 * c, c - tc) + E["d_sched"] * tensors
    else:
        ex, c = exposed(max(1, math.ceil(m / (25e6 if "yTorch" in fw else 64e6))))
    ex += E["interf"] * max(0.0, c - ex)
    if overlap == "unknown":
        return E["w_none"] * (total + start) + (1 - E["w_none"]) * ex + jitter
    return ex + jitter
