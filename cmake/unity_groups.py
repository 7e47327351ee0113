#!/usr/bin/env python3
"""Which source files of a target can be compiled as one.

usage: unity_groups.py TARGETS OUTPUT

TARGETS has a line "<target><tab><file>" for each file. OUTPUT becomes a CMake script that gives each target the files of its groups in place of their members; those files are written beside it.

Each file means in its group what it means when compiled alone. A group reads all headers first. A name that a file has for itself
(what it declares in an unnamed namespace or static, constants, types, aliases) and that another file of the group says is called
otherwise while its own file is read: `row` becomes `row_of_report_rows`, by a macro. Where that would change more than the
name (a member of that name, a header that declares it, too), such files stay apart. Where a rule here says that files do not go
together although they would, that costs only time; what it overlooks is most likely an error of the compiler.
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

# Size limit of a group, in characters of source: large enough to save most of the time for headers,
# small enough to keep two cores busy to the end.
LARGEST_GROUP = 120_000

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
TEST_CALL = re.compile(r"(TYPED_)?TEST(_|$)|INSTANTIATE_|REGISTER_")  # macros that use their arguments as text
BRACKETS = {"(": ")", "{": "}", "[": "]"}
TYPE_KEYS = {"struct", "class", "union", "enum"}


@dataclass
class Source:
    """The names in a file. `own`: the declaration of each file-local name, as ("using" or "alias", place, declaration), or
    "function", "object", "type" or "macro"."""

    size: int = 0
    alone: bool = False
    own: dict = field(default_factory=dict)
    words: set = field(default_factory=set)
    said: set = field(default_factory=set)  # words that are neither members nor looked up in a named scope
    called: set = field(default_factory=set)
    bound: set = field(default_factory=set)  # members, names in named scopes or directives, and names of tests
    shared: set = field(default_factory=set)  # names of a namespace that other files see, too
    scopes: set = field(default_factory=set)  # scopes in which it looks names up: `scope` in `scope::name`
    namespaces: set = field(default_factory=set)  # namespaces that it opens, each as its names from the outermost
    in_classes: bool = False  # it defines members or derives a class: any word may be a member
    leading: list = field(default_factory=list)  # its includes, as written
    conditional: bool = False  # its includes depend on a condition
    opened: set = field(default_factory=set)  # namespaces of `using namespace`, and their places
    includes: set = field(default_factory=set)  # headers of the project; for a source file also indirect ones


def read_source(text):
    source = Source(size=len(text))
    tokens = []
    directive_before_include = False
    conditions = 0
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith("#"):
            name, _, rest = token[1:].strip().partition(" ")
            if name == "include":
                # Highway includes such a file several times with different macros.
                source.alone |= directive_before_include or "foreach_target" in rest
                source.conditional |= conditions > 0
                source.leading.append(rest.strip())
                if rest.startswith('"'):
                    source.includes.add(rest.split('"')[1])
            elif name == "define":
                source.own[WORD.match(rest.lstrip()).group()] = "macro"
                directive_before_include = True
            elif name in ("undef", "pragma"):
                source.alone = True
            conditions += name.startswith("if") - (name == "endif")
            if name != "include":
                source.bound.update(WORD.findall(rest))
            source.words.update(WORD.findall(rest))
            source.said.update(WORD.findall(rest))
        elif not token.startswith(("//", "/*")):
            tokens.append(token)
    for before, token, after in zip([""] + tokens, tokens, tokens[1:] + [""]):
        if WORD.match(token):
            source.words.add(token)
            if before in (".", "->", "::"):
                source.bound.add(token)
            else:
                source.said.add(token)
                if after == "::":
                    source.scopes.add(token)
                if after in ("(", "<"):
                    source.called.add(token)
    for at, token in enumerate(tokens):
        if TEST_CALL.match(token) and tokens[at + 1 : at + 2] == ["("]:
            source.bound.update(tokens[at : closing(tokens, at + 1)])
    try:
        source.alone |= read_declarations(tokens, 0, (), False, source) != len(tokens) + 1
    except (IndexError, ValueError):  # for example brackets in only some branches of #if
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
    """Index after the `template <...>` prefixes at `at`."""
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
            path = tuple(word for word in inside if WORD.match(word))
            source.namespaces.update(path[: depth + 1] for depth in range(len(path)))
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
            # A function ends with its body.
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
    """Index of the end of the declared name: the first bracket or `=` outside template arguments."""
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
    if not head or head[0] == "static_assert":
        return
    if head[0] == "extern":
        source.shared.update(word for word in head if WORD.match(word))
        return
    if head[0] == "using" or head[0] == "namespace":
        note_using(head, namespace, source)
        return
    keys = [key for key in head if key in TYPE_KEYS]
    at = declared_at(head)
    if keys and (at == len(head) or head[at] != "(" or ":" in head[:at]) and "=" not in head:
        if has_body:  # the name stands before a base class or the type of an enumeration
            source.in_classes |= ":" in head and "enum" not in keys
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
    if at >= 2 and head[at - 2] == "::":  # a member defined outside its class
        source.in_classes = True
        return
    kept = {"static", "constexpr", "const", "consteval", "concept", "inline"} & set(head[: at - 1])
    function = has_body and at < len(head) and head[at] == "("  # without one it may be an object: T name(1);
    if not unnamed and kept <= ({"const"} if function else set()):  # a function with external linkage, or a variable
        source.shared.add(name)
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


def can_be_renamed(name, source, headers):
    """Whether the name means only a file-local declaration in the file, and nothing else sees it."""
    if not WORD.fullmatch(name) or source.own[name] == "macro" or source.own[name][0] == "using":
        return False
    if source.conditional or name in source.bound or name in source.shared:  # for example a name declared extern
        return False
    included = [headers[header] for header in source.includes]
    if any(name in header.own or name in header.shared for header in included):
        return False
    return not (source.in_classes and any(name in header.words for header in included))


def without_renamed(source, headers):
    """The file as others see it after all possible renamings."""
    renamed = {name for name in source.own if can_be_renamed(name, source, headers)}
    own = {name: kind for name, kind in source.own.items() if name not in renamed}
    return replace(source, own=own, words=source.words - renamed, said=source.said - renamed, called=source.called - renamed)


def says(source, name, kind):
    return name in getattr(source, {"function": "called", "macro": "words"}.get(kind, "said"))


def apart(one, other, headers):
    """Whether the files must stay apart: the other file, or a header that only it includes, uses a file-local name of the
    first; or it opens another namespace of a name in which the first looks names up."""
    later = [headers[name] for name in other.includes - one.includes]
    opened = one.namespaces.union(*(headers[name].namespaces for name in one.includes))
    for text in (other, *later):
        if any(path[-1] in one.scopes for path in text.namespaces - opened):
            return True
    for name, kind in one.own.items():
        if kind[0] in ("using", "alias") and other.own.get(name) == kind:
            continue
        if name in other.own or any(says(text, name, kind) for text in (other, *later)):
            return True
    return False


def groups_of(sources, headers):
    """Groups as lists of file names; files that stay alone are in none. `sources`, `headers`: name to Source."""
    seen = {name: without_renamed(source, headers) for name, source in sources.items()}
    groups = []
    for name, source in seen.items():
        if source.alone:
            continue
        for group in groups:
            members = [seen[member] for member in group]
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


def renamed_in(group, sources, headers):
    """For each file of a group, its file-local names that others use."""
    renamed = {}
    for name in group:
        source = sources[name]
        others = [sources[member] for member in group if member != name]
        others += [headers[header] for header in set().union(*(other.includes for other in others)) - source.includes]
        renamed[name] = sorted(word for word, kind in source.own.items()
                               if any(word in other.own or says(other, word, kind) for other in others)
                               and can_be_renamed(word, source, headers))
    return renamed


def read_headers(source, root, headers):
    """Adds indirect includes of a file to its includes, and all of them to `headers`."""
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


def include_line(written, path, root):
    """An include line of a file, as needed in another folder."""
    beside = path.parent / written.strip('"')
    if written.startswith('"') and not (root / written.strip('"')).exists() and beside.exists():
        return f'#include "{beside}"'
    return f"#include {written}"


def group_text(group, sources, headers, root):
    """The text of the file that is compiled in place of a group."""
    lines = ["// Files that are compiled as one: cmake/unity_groups.py."]
    lines += dict.fromkeys(include_line(written, Path(name), root) for name in group if not sources[name].conditional
                           for written in sources[name].leading)
    for name, words in renamed_in(group, sources, headers).items():
        path = Path(name)
        where = path.relative_to(root) if path.is_relative_to(root) else path
        suffix = re.sub(r"\W", "_", str(where.with_suffix("")))
        lines += [f"#define {word} {word}_of_{suffix}" for word in words]
        lines.append(f'#include "{name}"')
        lines += [f"#undef {word}" for word in words]
    return "\n".join(lines) + "\n"


def write_if_changed(path, text):
    """Writes only changed text, so that an unchanged file is not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(listing, output, root=Path(__file__).resolve().parents[1]):
    files = {}
    for line in Path(listing).read_text(encoding="utf-8").splitlines():
        target, file = line.split("\t")
        files.setdefault(target, []).append(file)
    known = {}
    headers = {}
    lines = []
    folder = Path(output).with_suffix("")
    folder.mkdir(exist_ok=True)
    targets = Counter(name for names in files.values() for name in names)
    for target, names in files.items():
        for name in names:
            if name not in known:
                known[name] = read_source(Path(name).read_text(encoding="utf-8"))
                # A test's copy of a library's file replaces it only if the library compiles that file alone.
                known[name].alone |= targets[name] > 1
                read_headers(known[name], root, headers)
        for number, group in enumerate(groups_of({name: known[name] for name in names}, headers)):
            path = folder / f"{target}_{number}.cpp"
            write_if_changed(path, group_text(group, known, headers, root))
            members = " ".join(f'"{name}"' for name in group)
            lines.append(f'dlscale_replace_sources({target} "{path}" {members})')
    write_if_changed(Path(output), "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
