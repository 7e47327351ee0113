#!/usr/bin/env python3
"""Which source files of a target can be compiled as one.

usage: unity_groups.py TARGETS OUTPUT

TARGETS has a line "<target><tab><file>" for each file, OUTPUT becomes a CMake script that puts these files into groups. Of
two files of a group neither says a name that the other has for itself: what it declares in an unnamed namespace or static,
constants, types, aliases and macros. So each means what it means when compiled alone. Where a rule here says that files do not
go together although they would, that costs only time; what it overlooks is most likely an error of the compiler.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# A group ends at so many characters of source: most of what headers cost is saved, and two cores are kept busy to the end.
LARGEST_GROUP = 60_000

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                       # comments
      | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | \d(?:[\w.]|'\w)*
      | '(?:\\.|[^'\\\n])+'
      | \#(?:\\\n|[^\n])*                        # a directive of the preprocessor
      | [^\W\d]\w* | :: | -> | \S""",
    re.S | re.X,
)
WORD = re.compile(r"[^\W\d]\w*")
MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]*$")
BRACKETS = {"(": ")", "{": "}", "[": "]"}
TYPE_KEYS = {"struct", "class", "union", "enum"}


@dataclass
class Source:
    """What a file says of names. `own`: how each name of its own is declared, ("using" or "alias", where, the declaration), or
    "function", "object", "type" or "macro"."""

    size: int = 0
    alone: bool = False
    own: dict = field(default_factory=dict)
    words: set = field(default_factory=set)
    said: set = field(default_factory=set)  # words that are no members, nor looked up in a scope that is named
    called: set = field(default_factory=set)
    opened: set = field(default_factory=set)  # namespaces by `using namespace`, and where
    includes: set = field(default_factory=set)  # headers of the project; of a source file those that these include, too


def read_source(text):
    source = Source(size=len(text))
    tokens = []
    directive_before_include = False
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith("#"):
            name, _, rest = token[1:].strip().partition(" ")
            if name == "include":
                # Highway reads such a file again and again, with other macros.
                source.alone |= directive_before_include or "foreach_target" in rest
                if rest.startswith('"'):
                    source.includes.add(rest.split('"')[1])
            elif name == "define":
                source.own[WORD.match(rest.lstrip()).group()] = "macro"
                directive_before_include = True
            elif name in ("undef", "pragma"):
                source.alone = True
            source.words.update(WORD.findall(rest))
            source.said.update(WORD.findall(rest))
        elif not token.startswith(("//", "/*")):
            tokens.append(token)
    for before, token, after in zip([""] + tokens, tokens, tokens[1:] + [""]):
        if WORD.match(token):
            source.words.add(token)
            if before not in (".", "->", "::"):
                source.said.add(token)
                if after in ("(", "<"):
                    source.called.add(token)
    try:
        source.alone |= read_declarations(tokens, 0, (), False, source) != len(tokens) + 1
    except (IndexError, ValueError):  # such as brackets that only some branches of #if have
        source.alone = True
    return source


def closing(tokens, at):
    """Index after the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        if tokens[at] in BRACKETS:
            depth += 1
        elif tokens[at] in BRACKETS.values():
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError("a bracket is not closed")


def after_template(tokens, at):
    """Index after `template <...>`s at `at`."""
    while at < len(tokens) and tokens[at] == "template":
        depth = 0
        at += 1
        while at < len(tokens):
            depth += {"<": 1, ">": -1}.get(tokens[at], 0)
            at += 1
            if depth == 0:
                break
    return at


def read_declarations(tokens, at, namespace, unnamed, source):
    """Reads the declarations of a namespace from `at` to its end; returns the index after that."""
    while at < len(tokens) and tokens[at] != "}":
        if tokens[at] in (";", "inline") and (tokens[at] == ";" or tokens[at + 1] == "namespace"):
            at += 1
        elif tokens[at] == "namespace" and "=" not in tokens[at : at + 3]:
            name_end = tokens.index("{", at)
            inside = (*namespace, *(tokens[at + 1 : name_end] or ["{}"]))
            at = read_declarations(tokens, name_end + 1, inside, unnamed or name_end == at + 1, source)
        elif tokens[at : at + 2] == ["extern", '"C"'] and tokens[at + 2] == "{":
            at = read_declarations(tokens, at + 3, namespace, unnamed, source)
        else:
            at = read_declaration(tokens, at, namespace, unnamed, source)
    return at + 1


def read_declaration(tokens, at, namespace, unnamed, source):
    begin = at = after_template(tokens, at)
    if tokens[at] == "{":  # the body of a constructor, after members that are initialised in braces
        return closing(tokens, at)
    body = None
    assigned = False
    while tokens[at] != ";":
        assigned |= tokens[at] == "="
        if tokens[at] == "{":
            body = at if body is None else body
        if tokens[at] in BRACKETS:
            opened = tokens[at]
            at = closing(tokens, at)
            # The end of a function: nothing follows its body.
            if opened == "{" and not assigned and (at == len(tokens) or is_function(tokens[begin:body])):
                break
        else:
            at += 1
    head = tokens[begin : body if body is not None else at]
    note_declaration(head, body is not None, namespace, unnamed, source)
    return at + 1 if tokens[at : at + 1] == [";"] else at


def is_function(head):
    return "(" in head and head[0] not in TYPE_KEYS and head[0] != "using"


def declared_at(head):
    """Index of what ends the declared name: the first bracket or `=` that is in no list of template arguments."""
    depth = 0
    at = 0
    while at < len(head):
        token = head[at]
        if token == "operator":
            return at + 1
        if token == "<":
            depth += 1
        elif token == ">":
            depth -= 1
        elif token == "[" and head[at : at + 2] == ["[", "["]:  # an attribute
            at = closing(head, at)
            continue
        elif depth == 0 and token in ("(", "=", "["):
            if token == "(" and at and head[at - 1] in ("decltype", "alignas", "noexcept", "requires", "explicit"):
                at = closing(head, at)
                continue
            return at
        at += 1
    return len(head)


def note_declaration(head, has_body, namespace, unnamed, source):
    if not head or head[0] in ("extern", "static_assert"):
        return
    if head[0] == "using" or head[0] == "namespace":
        note_using(head, namespace, source)
        return
    keys = [key for key in head if key in TYPE_KEYS]
    at = declared_at(head)
    if keys and (at == len(head) or head[at] != "(" or ":" in head[:at]) and "=" not in head:
        if has_body:  # the name stands before a base class or the type of an enumeration
            words = head[: head.index(":")] if ":" in head else head
            words = [word for word in words if WORD.match(word) and word not in ("final", *TYPE_KEYS)]
            if words and "::" not in head[: head.index(words[-1])]:
                source.own[words[-1]] = "type"
        return
    if at == 0:
        return
    name = head[at - 1]
    if at < len(head) and head[at] == "(" and at == 1 and MACRO_CALL.match(name):  # TEST(Suite, Name)
        source.own["_".join(head)] = "type"
        return
    if at >= 2 and head[at - 2] == "::":  # a member that is defined outside of its class
        return
    kept = {"static", "constexpr", "const", "consteval", "concept", "inline"} & set(head[: at - 1])
    function = has_body and at < len(head) and head[at] == "("  # without one it may be an object: T name(1);
    if not unnamed and kept <= ({"const"} if function else set()):  # a function for all, or a variable
        return
    if name == "operator":
        name = "".join(head[at - 1 : at + 2])
    source.own[name] = "function" if function else "object"


def note_using(head, namespace, source):
    if head[:2] == ["using", "namespace"]:
        source.opened.add((namespace, tuple(head)))
    elif head[0] == "using" and "=" not in head:
        source.own[head[-1]] = ("using", namespace, tuple(head))
    else:
        source.own[head[1]] = ("alias", namespace, tuple(head))


def apart(one, other, headers):
    """Whether a name of one's own is said by the other, or by a header that the other alone includes."""
    later = [headers[name] for name in other.includes - one.includes]
    for name, kind in one.own.items():
        if kind[0] in ("using", "alias") and other.own.get(name) == kind:
            continue
        said = {"function": "called", "macro": "words"}.get(kind, "said")
        if name in other.own or any(name in getattr(text, said) for text in (other, *later)):
            return True
    return False


def groups_of(sources, headers):
    """Lists of names of files, by `sources` and `headers`: name to Source; files that stay alone are in none."""
    groups = []
    for name, source in sources.items():
        if source.alone:
            continue
        for group in groups:
            members = [sources[member] for member in group]
            if source.size + sum(member.size for member in members) > LARGEST_GROUP:
                continue
            if any(member.opened != source.opened or apart(source, member, headers) or apart(member, source, headers)
                   for member in members):
                continue
            group.append(name)
            break
        else:
            groups.append([name])
    return [group for group in groups if len(group) > 1]


def read_headers(source, root, headers):
    """Adds to what a file includes what that includes, and all of it to `headers`."""
    left = list(source.includes)
    source.includes = set()
    while left:
        name = left.pop()
        if name not in headers:
            path = root / name
            headers[name] = read_source(path.read_text(encoding="utf-8")) if path.exists() else Source()
        if name not in source.includes:
            source.includes.add(name)
            left.extend(headers[name].includes)


def main(listing, output, root=Path(__file__).resolve().parents[1]):
    files = {}
    for line in Path(listing).read_text(encoding="utf-8").splitlines():
        target, file = line.split("\t")
        files.setdefault(target, []).append(file)
    known = {}
    headers = {}
    lines = []
    for target, names in files.items():
        for name in names:
            if name not in known:
                known[name] = read_source(Path(name).read_text(encoding="utf-8"))
                read_headers(known[name], root, headers)
        for number, group in enumerate(groups_of({name: known[name] for name in names}, headers)):
            quoted = " ".join(f'"{name}"' for name in group)
            lines.append(f"set_property(SOURCE {quoted} TARGET_DIRECTORY {target} PROPERTY UNITY_GROUP {target}_{number})")
        lines.append(f"set_target_properties({target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)")
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
