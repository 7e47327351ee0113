"""How figures show the algorithms of convolutions: the same word, colour and mark in all of them.

Colours are those of P. Tol's scheme "muted" (Colour Schemes, SRON/EPS/TN/09-002), distinct to
colour-blind readers; no figure tells algorithms apart by colour alone.
"""

import dataclasses

WORDS = {
    "direct": "direct",
    "im2col": "im2col",
    "winograd": "Winograd",
    "winograd_f2": "F(2,3)",
    "winograd_f4": "F(4,3)",
    "winograd_f6": "F(6,3)",
    "fft": "FFT",
    "fft_tiled": "FFT, tiled",
}
BACKENDS = {"onednn": "oneDNN", "cuda": "cuDNN", "cuda_nchw": "cuDNN NCHW"}

KNOWN = {
    ("onednn", "direct"): ("#cc6677", "s"),
    ("onednn", "im2col"): ("#882255", "h"),
    ("onednn", "winograd"): ("#aa4499", "D"),
    ("onednn", "winograd_f2"): ("#aa4499", "d"),
    ("onednn", "winograd_f4"): ("#aa4499", "D"),
    ("native", "im2col"): ("#ddcc77", "^"),
    ("native", "winograd_f2"): ("#88ccee", "<"),
    ("native", "winograd_f4"): ("#332288", "o"),
    ("native", "winograd_f6"): ("#44aa99", ">"),
    ("native", "fft"): ("#117733", "P"),
    ("native", "fft_tiled"): ("#999933", "X"),
}
OTHERS = ["#882255", "#0072b2", "#d55e00", "#56b4e9", "#e69f00", "#000000"]
OTHER_MARKS = ["*", "v", "p", "H", "8", "$+$"]


@dataclasses.dataclass(frozen=True)
class Style:
    """How an algorithm looks."""

    word: str  # "F(4,3)", which fits a cell
    name: str  # "native Winograd F(4,3)"
    colour: str
    mark: str


def word_of(algorithm):
    """What fits a cell: "winograd_f4_fused" is "F(4,3) fused"."""
    for known in sorted(WORDS, key=len, reverse=True):
        if algorithm == known:
            return WORDS[known]
        if algorithm.startswith(known + "_"):
            return f"{WORDS[known]} {algorithm[len(known) + 1 :].replace('_', ' ')}"
    return algorithm


def styles(algorithms):
    """A style for each (backend, algorithm); those that are not known take turns, in their order.

    With one backend only, names go without it.
    """
    ordered = sorted(set(algorithms), key=place)
    unknown = [each for each in ordered if each not in KNOWN]
    one_backend = len({backend for backend, _ in ordered}) == 1
    found = {}
    for backend, algorithm in ordered:
        if (backend, algorithm) in KNOWN:
            colour, mark = KNOWN[backend, algorithm]
        else:
            index = unknown.index((backend, algorithm))
            colour = OTHERS[index % len(OTHERS)]
            mark = OTHER_MARKS[(index + index // len(OTHERS)) % len(OTHER_MARKS)]
        word = word_of(algorithm)
        name = f"Winograd {word}" if word.startswith("F(") else word
        name = name if one_backend else f"{BACKENDS.get(backend, backend)} {name}"
        found[backend, algorithm] = Style(word, name, colour, mark)
    return found


def place(key):
    """Where an algorithm stands in a legend: those that are known first."""
    known = list(KNOWN)
    return (known.index(key) if key in known else len(known), key)


def ink_on(colour):
    """Black or white, whichever is read better on a colour (relative luminance of WCAG 2)."""

    def linear(channel):
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"
