"""Facts of data sheets, one row a device."""
import csv

# A name of the case files -> a row of the table, where lower case and underscores do not give it.
NAMES = {"v100": "v100_sxm2_16gb", "p100": "p100_sxm2_16gb", "k80_one_of_two_dies": "k80",
         "h100_sxm5_80gb": "h100_sxm5_80gb"}
GENERATIONS = [("3.", "Kepler"), ("5.", "Maxwell"), ("6.", "Pascal"), ("7.0", "Volta"), ("7.5", "Turing"),
               ("8.0", "Ampere A100"), ("8.6", "Ampere GA102"), ("8.9", "Ada"), ("9.", "Hopper"), ("1", "Blackwell")]


class Device:
    """Clocks in Hz, bandwidth in B/s, peaks in flop/s (dense, sums in fp32; 0 where there is none)."""

    def __init__(self, row):
        def number(key, default=None):
            return float(row[key].split()[0].split("-")[0]) if row[key] else default

        self.name = row["id"]
        self.units = number("units")
        self.boost = number("boost_mhz") * 1e6
        self.base = number("base_mhz", self.boost / 1e6) * 1e6
        self.tensor_clock = number("tensor_clock_mhz", self.boost / 1e6) * 1e6
        self.bandwidth = number("mem_bw_gb_s") * 1e9
        self.fp32 = number("fp32_tflops") * 1e12
        self.tf32 = number("tf32_tflops", 0) * 1e12
        self.fp16 = number("fp16_fp32acc_tflops", 0) * 1e12
        capability = row["compute_capability"]
        # A multiprocessor of Kepler has 192 cores, and issues for 128 of them in a clock.
        self.issue = 2 / 3 if capability.startswith("3.") else 1.0
        self.generation = next((n for k, n in GENERATIONS if capability.startswith(k)), row["architecture"])


def read(path):
    with open(path, encoding="utf-8") as f:
        rows = [r for r in csv.DictReader(f) if r["kind"] == "gpu" and r["fp32_tflops"] and r["boost_mhz"]]
    return {r["id"]: Device(r) for r in rows}


def find(table, name):
    key = "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_").replace("__", "_")
    key = NAMES.get(key, key)
    if key not in table:
        raise SystemExit("no data sheet of %r: add a row %r to device_facts.csv" % (name, key))
    return table[key]
