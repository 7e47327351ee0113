"""Which files cmake/unity_groups.py lets be compiled as one: unity_groups_test.py ROOT"""

import pathlib
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


def together(*texts):
    sources = {number: unity_groups.read_source(text) for number, text in enumerate(texts)}
    return unity_groups.groups_of(sources, {}) == [list(sources)]


class Groups(unittest.TestCase):
    def test_keep_apart_what_has_a_name_twice(self):
        for first, second in (
            ("int row(int at) { return at; }", "int row(double at) { return 1; }"),
            ("struct Row { int at = 0; };", "class Row : public Table {};"),
            ("const int rows = 3;", "std::vector<int> rows{1, 2};"),
            ("enum class Row : int { first };", "using Row = int;"),
            ("TEST(Rows, AreTwo) {}", "TEST(Rows, AreTwo) {}"),
        ):
            self.assertFalse(together(own(first), own(second)), first)
            self.assertTrue(together(own(first), own(second.replace("ow", "oll"))), first)
        equals = own("bool operator==(const A& a, const A& b) { return a.x == b.x; }")
        self.assertFalse(together(equals, equals))

    def test_keep_apart_what_says_a_name_of_another(self):
        for first, second in (
            ("int row(int at) { return at; }", "void g() { f(row(1.5)); }"),
            ("template <class T> T row(T at) { return at; }", "void g() { f(row<int>(1)); }"),
            ("constexpr std::array<int, 2> row{1, 2};", "void g() { const int row = 1; }"),
            ("constexpr Bytes row(1);", "void g() { const int row = 1; }"),
            ("struct Row {};", "void g(const Row& row);"),
        ):
            for said in (in_namespace(second), own(second)):
                self.assertFalse(together(own(first), said), second)
                self.assertFalse(together(said, own(first)), second)

    def test_let_members_and_names_of_other_scopes_be(self):
        for said in ("void g() { table.row(1); }", "void g() { table->row(1); }", "void g() { csv::row(1); }", "int row = 1;",
                     'void g() { f("row(1)"); }  // not row(1)'):
            self.assertTrue(together(own("int row(int at) { return at; }"), in_namespace(said)), said)

    def test_find_names_of_their_own_outside_of_unnamed_namespaces(self):
        for text in ("static int row() { return 1; }", "constexpr int row = 1;", "struct row { int at; };",
                     "inline int row() { return 1; }"):
            self.assertFalse(together(in_namespace(text), in_namespace("int f() { return row(); }")), text)

    def test_let_members_and_functions_for_all_be(self):
        first = "Rows::Rows() : a_{1}, b_(2) {}\nint Rows::count() const { return 1; }\nint total(const Rows& rows) { return 1; }"
        self.assertTrue(together(in_namespace(first), in_namespace(first.replace("Rows::", "Lines::").replace("total", "sum"))))

    def test_find_what_stands_after_a_constructor(self):
        self.assertIn("row", unity_groups.read_source(own("A::A() : a_{1} {}\nint row() { return 1; }\nint x;")).own)

    def test_let_the_same_alias_stand_twice(self):
        for alias in ("using Json = nlohmann::json;", "namespace fs = std::filesystem;", "using backend::Waiting;"):
            self.assertTrue(together(own(alias), own(alias)), alias)
            self.assertFalse(together(own(alias), own(alias.replace("std::", "old::").replace("nlohmann", "other")
                                                      .replace("backend", "other"))), alias)

    def test_keep_apart_what_opens_another_namespace(self):
        opening = in_namespace("using namespace synthetic;")
        self.assertTrue(together(opening, opening))
        self.assertFalse(together(opening, in_namespace("int x;")))

    def test_keep_macros_apart_from_their_names(self):
        self.assertFalse(together('#include <a>\n#define ROW 1\n', in_namespace("int x = table.ROW;")))

    def test_leave_alone_what_changes_how_later_files_are_read(self):
        for text in ("#pragma GCC optimize(3)\n", "#define _GNU_SOURCE\n#include <sched.h>\n", "#undef ROW\n",
                     "#include <hwy/foreach_target.h>\n", "#if A\nint f() {\n#else\nint g() {\n#endif\n}\n"):
            self.assertTrue(unity_groups.read_source(text).alone, text)

    def test_keep_apart_what_a_header_says_that_is_read_later(self):
        headers = {"a.hpp": unity_groups.read_source("struct Row { void f(int memory); };\n"),
                   "b.hpp": unity_groups.read_source('#pragma once\n#include "a.hpp"\n')}
        for text in ("struct Row {};", "const int memory = 1;", "int total() { return 1; }"):
            for include in ("", '#include "b.hpp"\n'):
                sources = {"a": unity_groups.read_source(include + own(text)),
                           "b": unity_groups.read_source('#include "b.hpp"\n' + own("int x;"))}
                for source in sources.values():
                    unity_groups.read_headers(source, ROOT, headers)
                self.assertEqual(unity_groups.groups_of(sources, headers) == [["a", "b"]],
                                 bool(include) or "total" in text, include + text)

    def test_end_at_their_size(self):
        half = in_namespace("// " + "x" * (unity_groups.LARGEST_GROUP * 2 // 5))
        self.assertTrue(together(half, half))
        self.assertFalse(together(half, half, half))

    def test_become_properties_of_their_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ("a", "b", "c"):
                (folder / f"{name}.cpp").write_text(own(f"int {'f' if name == 'b' else name}();\nint f() {{ return 1; }}")
                                                    if name != "c" else own("int x() { return 1; }"), encoding="utf-8")
            (folder / "targets").write_text("".join(f"t\t{folder}/{name}.cpp\n" for name in "abc"), encoding="utf-8")
            unity_groups.main(folder / "targets", folder / "groups.cmake")
            written = (folder / "groups.cmake").read_text(encoding="utf-8").splitlines()
            self.assertEqual(written[0], f'set_property(SOURCE "{folder}/a.cpp" "{folder}/c.cpp" TARGET_DIRECTORY t '
                                         "PROPERTY UNITY_GROUP t_0)")
            self.assertEqual(len(written), 2)


class Tree(unittest.TestCase):
    def test_is_read(self):
        """A file that is left alone says why by a directive, or the reader does not understand it."""
        for folder in ("app", "backend", "bench", "core", "model", "report", "tests", "train"):
            for path in sorted((ROOT / folder).rglob("*.cpp")):
                text = path.read_text(encoding="utf-8")
                if unity_groups.read_source(text).alone:
                    self.assertRegex(text, r"#[ \t]*(define|undef|pragma|if)", path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
