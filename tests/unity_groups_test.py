"""Which files cmake/unity_groups.py lets be compiled as one: unity_groups_test.py ROOT"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "cmake"))
import unity_groups  # noqa: E402


def in_namespace(text):
    return "namespace dlscale {\n" + text + "\n}  // namespace dlscale\n"


def own(text):
    return in_namespace("namespace {\n" + text + "\n}\n")


def read(texts, headers=None):
    """By name: a list has them by number. Headers become Sources, too."""
    headers = headers if headers is not None else {}
    sources = {number: unity_groups.read_source(text) for number, text in enumerate(texts)}
    for source in sources.values():
        unity_groups.read_headers(source, ROOT, headers)
    return sources


def together(*texts, headers=None):
    headers = headers or {}
    sources = read(texts, headers)
    return unity_groups.groups_of(sources, headers) == [list(sources)]


def renamed(*texts, headers=None):
    """Of each file what is called otherwise in a group of all, which there must be."""
    headers = headers or {}
    sources = read(texts, headers)
    group = list(sources)
    if unity_groups.groups_of(sources, headers) != [group]:
        return None
    return [" ".join(names) for names in unity_groups.renamed_in(group, sources, headers).values()]


class Groups(unittest.TestCase):
    def test_rename_what_has_a_name_twice(self):
        for first, second in (
            ("int row(int at) { return at; }", "int row(double at) { return 1; }"),
            ("struct row { int at = 0; };", "class row : public Table {};"),
            ("const int row = 3;", "std::vector<int> row{1, 2};"),
            ("enum class row : int { first };", "using row = int;"),
        ):
            self.assertEqual(renamed(own(first), own(second)), ["row", "row"], first)
            self.assertEqual(renamed(own(first), own(second.replace("row", "roll"))), ["", ""], first)

    def test_do_not_rename_what_other_files_find_by_its_name(self):
        member = in_namespace('extern const Format table;\nconst Format table{"table"};')
        self.assertFalse(together(member, own("int cell(int table) { return table; }")))

    def test_keep_apart_what_has_a_name_twice_and_cannot_be_renamed(self):
        test = own("TEST(Rows, AreTwo) {}")
        self.assertFalse(together(test, test))
        self.assertTrue(together(test, test.replace("Two", "Three")))
        equals = own("bool operator==(const A& a, const A& b) { return a.x == b.x; }")
        self.assertFalse(together(equals, equals))
        headers = {"a.hpp": unity_groups.read_source(in_namespace("int row(double at);\nextern const int rows;"))}
        for name in ("row", "rows"):
            call = own(f"int {name}(int at) {{ return at; }}")
            for more in (f"int f() {{ return table.{name}; }}", f"int f() {{ return csv::{name}(1); }}",
                         f"#ifdef A\nint x = {name}(1);\n#endif\n#define B {name}(2)",
                         f"TEST_F({name}, AreTwo) {{}}", '#if A\n#include <a>\n#endif\n', '#include "a.hpp"\n'):
                self.assertFalse(together(call + more, call + more.replace("AreTwo", "AreMany"), headers=headers), more)

    def test_rename_what_a_header_calls_a_member_unless_the_file_may_mean_it(self):
        headers = {"a.hpp": unity_groups.read_source(in_namespace("struct Table { virtual int row(int at); };"))}
        call = '#include "a.hpp"\n' + own("int row(int at) { return at; }")
        self.assertEqual(renamed(call, call, headers=headers), ["row", "row"])
        for more in ("int Table::total() { return row(1); }", "struct Sheet : Table { int f() { return row(1); } };"):
            self.assertEqual(renamed(call + in_namespace(more), call, headers=headers), ["", "row"], more)

    def test_rename_what_another_says(self):
        for first, second in (
            ("int row(int at) { return at; }", "void g() { f(row(1.5)); }"),
            ("template <class T> T row(T at) { return at; }", "void g() { f(row<int>(1)); }"),
            ("constexpr std::array<int, 2> row{1, 2};", "void g() { const int row = 1; }"),
            ("constexpr Bytes row(1);", "void g() { const int row = 1; }"),
            ("struct row {};", "void g(const row& at);"),
        ):
            for said in (in_namespace(second), own(second)):
                self.assertEqual(renamed(own(first), said), ["row", ""], second)
                self.assertEqual(renamed(said, own(first)), ["", "row"], second)
                member = "void h() { table.row = 1; }"
                self.assertFalse(together(own(first + member), said), second)
                self.assertFalse(together(said, own(first + member)), second)

    def test_let_members_and_names_of_other_scopes_be(self):
        for said in ("void g() { table.row(1); }", "void g() { table->row(1); }", "void g() { csv::row(1); }", "int row = 1;",
                     'void g() { f("row(1)"); }  // not row(1)'):
            self.assertEqual(renamed(own("int row(int at) { return at; }"), in_namespace(said)), ["", ""], said)

    def test_find_names_of_their_own_outside_of_unnamed_namespaces(self):
        for text in ("static int row() { return 1; }", "constexpr int row = 1;", "struct row { int at; };",
                     "inline int row() { return 1; }"):
            self.assertEqual(renamed(in_namespace(text), in_namespace("int f() { return row(); }")), ["row", ""], text)

    def test_let_members_and_functions_for_all_be(self):
        first = "Rows::Rows() : a_{1}, b_(2) {}\nint Rows::count() const { return 1; }\nint total(const Rows& rows) { return 1; }"
        self.assertTrue(together(in_namespace(first), in_namespace(first.replace("Rows::", "Lines::").replace("total", "sum"))))

    def test_find_what_stands_after_a_constructor(self):
        self.assertIn("row", unity_groups.read_source(own("A::A() : a_{1} {}\nint row() { return 1; }\nint x;")).own)

    def test_let_the_same_alias_stand_twice(self):
        for alias in ("using Json = nlohmann::json;", "namespace fs = std::filesystem;", "using backend::Waiting;"):
            self.assertTrue(together(own(alias), own(alias)), alias)
        for alias, other in (("using Json = nlohmann::json;", "using Json = other::json;"),
                             ("namespace fs = std::filesystem;", "namespace fs = old::filesystem;")):
            name = alias.split()[1]
            self.assertEqual(renamed(own(alias), own(other)), [name, name], alias)
        self.assertFalse(together(own("using backend::Waiting;"), own("using other::Waiting;")))

    def test_keep_apart_what_opens_another_namespace(self):
        opening = in_namespace("using namespace synthetic;")
        self.assertTrue(together(opening, opening))
        self.assertFalse(together(opening, in_namespace("int x;")))

    def test_keep_apart_what_looks_names_up_where_another_has_such_a_namespace(self):
        looks_up = in_namespace("void f() { test::g(); }")
        inner = "namespace dlscale::model::test {\nvoid h();\n}\n"
        headers = {"a.hpp": unity_groups.read_source(inner)}
        for other in (inner, '#include "a.hpp"\n'):
            self.assertFalse(together(looks_up, other, headers=headers), other)
            self.assertTrue(together(looks_up.replace("test::", "::test::"), other, headers=headers), other)
            self.assertTrue(together('#include "a.hpp"\n' + looks_up, other, headers=headers), other)

    def test_keep_macros_apart_from_their_names(self):
        self.assertFalse(together('#include <a>\n#define ROW 1\n', in_namespace("int x = table.ROW;")))

    def test_leave_alone_what_changes_how_later_files_are_read(self):
        for text in ("#pragma GCC optimize(3)\n", "#define _GNU_SOURCE\n#include <sched.h>\n", "#undef ROW\n",
                     "#include <hwy/foreach_target.h>\n", "#if A\nint f() {\n#else\nint g() {\n#endif\n}\n"):
            self.assertTrue(unity_groups.read_source(text).alone, text)

    def test_rename_what_a_header_says_that_another_includes(self):
        headers = {"a.hpp": unity_groups.read_source("struct Row { void f(int memory); };\n"),
                   "b.hpp": unity_groups.read_source('#pragma once\n#include "a.hpp"\n')}
        other = '#include "b.hpp"\n' + own("int x;")
        self.assertEqual(renamed(own("struct Row {};"), other, headers=headers), ["Row", ""])
        self.assertEqual(renamed(own("const int memory = 1;"), other, headers=headers), ["memory", ""])
        self.assertEqual(renamed(own("int total() { return 1; }"), other, headers=headers), ["", ""])
        self.assertFalse(together(own("struct Row {};\nint x = a.Row;"), other, headers=headers))

    def test_end_at_their_size(self):
        half = in_namespace("// " + "x" * (unity_groups.LARGEST_GROUP * 2 // 5))
        self.assertTrue(together(half, half))
        self.assertFalse(together(half, half, half))

    def test_become_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "beside.hpp").write_text("", encoding="utf-8")
            texts = {"a": '#include <map>\n#include "beside.hpp"\n' + own("int f() { return 1; }"),
                     "b": "#include <map>\n" + own("int f() { return 2; }"),
                     "c": own("int g() { return 3; }\nTEST(A, B) {}"),
                     "d": own("TEST(A, B) {}")}
            for name, text in texts.items():
                (folder / f"{name}.cpp").write_text(text, encoding="utf-8")
            (folder / "targets").write_text("".join(f"t\t{folder}/{name}.cpp\n" for name in "acdb"), encoding="utf-8")
            for _ in range(2):
                unity_groups.main(folder / "targets", folder / "groups.cmake")
                group = folder / "groups" / "t_0.cpp"
                self.assertEqual((folder / "groups.cmake").read_text(encoding="utf-8"),
                                 f'dlscale_replace_sources(t "{group}" "{folder}/a.cpp" "{folder}/c.cpp" "{folder}/b.cpp")\n')
                here = re.sub(r"\W", "_", str(folder))
                self.assertEqual(
                    group.read_text(encoding="utf-8").splitlines()[1:],
                    ["#include <map>", f'#include "{folder}/beside.hpp"', f"#define f f_of_{here}_a",
                     f'#include "{folder}/a.cpp"', "#undef f", f'#include "{folder}/c.cpp"', f"#define f f_of_{here}_b",
                     f'#include "{folder}/b.cpp"', "#undef f"])
                os.utime(group, (1, 1))
            self.assertEqual(group.stat().st_mtime, 1)  # what stays as it was is not compiled again

    def test_leave_alone_what_two_targets_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in "abc":
                (folder / f"{name}.cpp").write_text(own(f"int {name}() {{ return 1; }}"), encoding="utf-8")
            listing = [("library", "a"), ("library", "b"), ("library", "c"), ("test", "a")]
            (folder / "targets").write_text("".join(f"{target}\t{folder}/{name}.cpp\n" for target, name in listing), encoding="utf-8")
            unity_groups.main(folder / "targets", folder / "groups.cmake")
            self.assertEqual((folder / "groups.cmake").read_text(encoding="utf-8"),
                             f'dlscale_replace_sources(library "{folder}/groups/library_0.cpp" "{folder}/b.cpp" "{folder}/c.cpp")\n')


class Tree(unittest.TestCase):
    def test_is_read(self):
        """A file that is left alone says why by a directive, or the reader does not understand it."""
        for folder in ("app", "backend", "bench", "core", "model", "regression", "report", "tests", "train"):
            for path in sorted((ROOT / folder).rglob("*.cpp")):
                text = path.read_text(encoding="utf-8")
                if unity_groups.read_source(text).alone:
                    self.assertRegex(text, r"#[ \t]*(define|undef|pragma|if)", path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
