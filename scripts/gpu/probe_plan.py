"""Steps that hold our own convolutions and layers against cuDNN's, and matrix products."""

from gpu_plan import DTYPES, NEEDS, bench
from session import Step

OTHERS = "batch_norm,relu,max_pooling,average_pooling,softmax_cross_entropy"
# Those of 3 x 3 that differ most in channels and pictures: where Winograd multiplies least.
VGG16 = "conv1_2,conv2_2,conv3_2,conv4_2,conv5_1"
# Filters of 5 x 5 with few and with many channels, and AlexNet's: where an FFT multiplies least.
GOOGLENET = "inception_3a/5x5,inception_3b/5x5,inception_4e/5x5,inception_5b/5x5"
ALEXNET = "conv2,conv3,conv4,conv5"
RESNET50 = "res2a_branch2b,res3a_branch2b,res4a_branch2b,res5a_branch2b,res4a_branch2c"
# (name, what is compared, estimated seconds). Of most worth: the precision in which cuDNN has no
# tensor cores to use, and filters so large that algorithms were made for them.
COMPARED = [
    ("convnet-f32", "--list convnet --dtype f32", 100),
    ("vgg16-f32", f"--network vgg16 --batch 32 --dtype f32 --layers {VGG16}", 130),
    ("googlenet-tf32", f"--network googlenet --batch 64 --dtype tf32 --layers {GOOGLENET}", 130),
    ("alexnet-tf32", f"--network alexnet --batch 128 --dtype tf32 --layers {ALEXNET}", 110),
    ("convnet-tf32", "--list convnet --dtype tf32", 100),
    ("resnet50-bf16", f"--network resnet50 --batch 64 --dtype bf16 --layers {RESNET50}", 150),
    ("resnet50-f32", f"--network resnet50 --batch 64 --dtype f32 --layers {RESNET50}", 150),
]
# A product of each kind: one that starting takes longer than, one of the caches, one of the peak.
PRODUCTS = "512x512x512,2048x2048x2048,8192x8192x8192"


def _comparison(name, words, seconds, turn):
    # Answers are left to the device tests, which check all of these algorithms: the reference would
    # take longer for one of these shapes than the GPU for all.
    text = f"{words} --backend cuda --algorithms all --check no --max-time 0.02"
    return Step(f"algorithms-{name}", "our own convolutions beside every algorithm of cuDNN",
                f"algorithms-{name}", seconds, 300, bench("conv", text), NEEDS,
                f"conv-{name.rpartition('-')[2]}", turn)  # fmt: skip


def _layers(dtype):
    words = f"--network resnet50 --dtype {dtype} --backend cuda --algorithms all --batch 32"
    return Step(f"layers-{dtype}", "cuDNN beside our own kernels for ResNet-50's other layers",
                "layers", 150, 300,
                bench("conv", f"{words} --layers {OTHERS} --check no --max-time 0.02"), NEEDS,
                f"conv-{dtype}", 1)  # fmt: skip


def _squares():
    words = f"--sizes {PRODUCTS} --dtype bf16,tf32,f32,f16 --cache cold,hot --max-time 0.1"
    return Step("gemm-squares", "square matrix products in every precision", "gemm-squares", 25, 90,
                bench("gemm", f"--backend cuda {words}"), NEEDS, "gemm")  # fmt: skip


def _transformer(dtype):
    words = f"--backend cuda --list transformer --max-time 0.05 --dtype {dtype}"
    return Step(f"gemm-transformer-{dtype}", "matrix products of GPT-2 and BERT",
                "gemm-transformer", 80, 180, bench("gemm", words), NEEDS, "gemm", 1)  # fmt: skip


def steps():
    """Where ours can be ahead first."""
    compared = [
        _comparison(*row, 0 if index < 1 else 1) for index, row in enumerate(COMPARED)
    ]
    return [
        compared[0],
        _squares(),
        *compared[1:],
        *[_layers(dtype) for dtype in DTYPES[:2]],
        *[_transformer(dtype) for dtype in DTYPES[:2]],
    ]
