"""What tests of the program share, wherever it was put: a network, and how sanitizers must be set."""

TINY_NETWORK = """
network: tiny
doc: small enough for tests
source: made up
input: {channels: 3, height: 32, width: 32}
layers:
  - {name: conv1, kind: convolution, out_channels: 8, kernel: 5, stride: 2, pad: 2}
  - {name: relu1, kind: relu}
  - {name: pool1, kind: max_pooling, kernel: 2, stride: 2}
  - {name: fc, kind: fully_connected, outputs: 10}
  - {name: loss, kind: softmax_cross_entropy}
"""
# MPI is built without sanitizers: it keeps memory until the end of the process, which is no leak of
# ours, and synchronises in ways that a thread sanitizer cannot see. Reports name the last six callers
# of an allocation, since to keep thirty of each takes a tenth of the time.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=6", "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
