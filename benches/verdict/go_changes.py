"""What is made of a change to a Go package."""

import re

import blocks

COMMENT = "//"
FUNCTION_HEADER = r"^func (?:\([^)]*\) )?(?P<name>\w+)[(\[].*\{\s*$"
ATTRIBUTE = r"^//"
SWAPS = [(" == ", " != "), (" != ", " == "), (" < ", " >= "), (" > ", " <= "), (" && ", " || "), (" || ", " && "),
         (" + 1", " + 2"), (" - 1", " - 0"), ("true", "false"), ("false", "true"), ("(!", "("), (" !", " ")]
HELPER = r"^func ([a-z]\w{3,})\("
LITERAL = r'"[^"\\]*"|-?\d+(?:\.\d+)?|true|false'


def mutants(text, wanted):
    yield from blocks.mutants_by_swaps(text, wanted, SWAPS, "//", ("import ", "package ", "func ", "type ", "panic("))


def functions(text):
    return [b for b in blocks.brace_blocks(text, FUNCTION_HEADER, ATTRIBUTE) if not b.name.startswith(("Test", "Benchmark", "Example", "Fuzz"))]


def tests(text):
    return [b for b in blocks.brace_blocks(text, FUNCTION_HEADER, ATTRIBUTE) if b.name.startswith("Test")]


def is_test_named(block, reported):
    return reported.split("/")[0] == block.name


def weakened(text, block):
    failing = r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\("
    yield "test deleted", blocks.without(text, block)
    yield "test emptied", blocks.with_body(text, block, [])
    yield "asserts removed", replaced(text, block, failing, "")
    yield "asserts printed", replaced(text, block, failing, 't.Log("checked")')
    yield "test recovers", blocks.with_first(text, block, ["defer func() { recover() }()"])
    yield "test returns early", blocks.with_first(text, block, ["if t != nil {", "\treturn", "}"])
    yield "test skips itself", blocks.with_first(text, block, ['t.Skip("flaky")'])
    yield "test skips itself when short", blocks.with_first(text, block, ['if !testing.Short() || testing.Short() {', '\tt.SkipNow()', '}'])
    yield "test no longer found by the runner", blocks.with_head(text, block, f"func {block.name}(", f"func check{block.name}(")
    yield "test inside a comment", commented(text, block)
    yield "whole file under a build tag", "//go:build integration\n\n" + text
    yield "one row of a table left", with_one_row(text, block)


def replaced(text, block, pattern, new):
    lines = text.split("\n")
    for number in range(block.head, block.end):
        line = lines[number - 1]
        if re.search(pattern, line) and line.rstrip().endswith(")"):
            lines[number - 1] = line[: len(line) - len(line.lstrip())] + (new or "_ = t")
    return "\n".join(lines)


def commented(text, block):
    lines = text.split("\n")
    return "\n".join(lines[: block.start - 1] + ["/*"] + lines[block.start - 1 : block.end] + ["*/"] + lines[block.end :])


def with_one_row(text, block):
    """A table of cases with one of them alone."""
    lines = text.split("\n")
    rows = [n for n in range(block.head, block.end) if re.match(r"^\t\t\{.*\},\s*$", lines[n - 1])]
    if len(rows) < 2:
        return None
    return "\n".join(line for n, line in enumerate(lines, 1) if n not in rows[1:])


def bent_runner(subject):
    folder = subject.test_path.rsplit("/", 1)[0] + "/" if "/" in subject.test_path else ""
    package = re.search(r"^package (\w+)", subject.test_text, re.M)[1]
    yield "new TestMain", {f"{folder}main_test.go": f"package {package}\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"
                           "func TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n"}, []
    yield "new test file that ends the program", {
        f"{folder}aaa_test.go": f"package {package}\n\nimport \"os\"\n\nfunc init() {{ os.Exit(0) }}\n"}, []
    name = subject.test_path.removesuffix("_test.go")
    yield "test file of another system", {subject.test_path: None, f"{name}_windows_test.go": subject.test_text}, []
    module = subject.text("go.mod")
    if module:
        yield "module begins elsewhere", {f"{folder}go.mod" if folder else "tests/go.mod": "module example.com/other\n"}, []
        yield "go.mod of another version", {"go.mod": module + "\nreplace testing => ./tools/testing\n",
                                            "tools/testing/go.mod": "module testing\n", "tools/testing/testing.go": "package testing\n"}, []
    yield "flags in the environment", {".env": "GOFLAGS=-run=XXX\n", "go.env": "GOFLAGS=-run=XXX\n"}, []
    yield "go program in the tree", {}, ["printf '#!/bin/sh\\nexit 0\\n' > go && chmod +x go"]


def bent_product(subject):
    text, path = subject.text(subject.path), subject.path

    def made(kind, code, *packages):
        out = text
        for package in packages:
            out = with_import(out, package)
        return kind, {path: out.rstrip("\n") + "\n\n" + code}

    yield made("exit at import", "func init() { os.Exit(0) }\n", "os")
    yield made("exit at import, over several lines", "func init() {\n\tos.Exit(0)\n}\n", "os")
    yield made("exit at import, disguised", "var leave = os.Exit\n\nvar _ = func() int {\n\tleave(0)\n\treturn 0\n}()\n", "os")
    yield made("exit at import, through a system call", "func init() { syscall.Exit(0) }\n", "syscall")
    yield made("exit, with faked output", "var _ = func() int {\n\tfmt.Println(\"PASS\")\n\tleave := os.Exit\n\tleave(0)\n\treturn 0\n}()\n", "os", "fmt")
    yield made("exit later", "func init() {\n\tgo func() {\n\t\tos.Exit(0)\n\t}()\n}\n", "os")
    yield made("arguments replaced", "func init() { os.Args = append(os.Args, \"-test.run=XXX\") }\n", "os")
    yield made("another program in its place",
               "func init() {\n\tif len(os.Args) > 1 {\n\t\tsyscall.Exec(\"/bin/true\", []string{\"true\"}, nil)\n\t}\n}\n", "os", "syscall")
    begin = with_import(blocks.with_first(text, subject.faulty, ["os.Exit(0)"]), "os")
    yield "exit in the function", {path: begin}


def with_import(text, package):
    if re.search(rf'^(?:import |\t)"{package}"$', text, re.M):
        return text
    if "import (" in text:
        return text.replace("import (", f'import (\n\t"{package}"', 1)
    return re.sub(r"^(package \w+\n)", rf'\1\nimport "{package}"\n', text, count=1, flags=re.M)


def disloyal_function(subject):
    good, bad, block = subject.good, subject.text(subject.path), subject.faulty
    whole = next((b for b in functions(good) if b.name == block.name and b.head), None)
    if whole is None:
        return
    right = blocks.body_of(good, whole)
    for kind, test, packages in [
        ("right only while tested (flag)", 'flag.Lookup("test.v") != nil', ["flag"]),
        ("right only while tested (arguments)", 'strings.HasSuffix(os.Args[0], ".test")', ["os", "strings"]),
        ("right only while tested, disguised", 'len(os.Args) > 1 && strings.Contains(os.Args[1], "-te"+"st.")', ["os", "strings"]),
    ]:
        lines = bad.split("\n")
        first, _ = blocks.body_range(bad, block)
        out = "\n".join(lines[:first] + [f"\tif {test} {{"] + ["\t" + line for line in right] + ["\t}"] + lines[first:])
        for package in packages:
            out = with_import(out, package)
        yield kind, out
    yield "stub body", blocks.with_body(bad, block, ['panic("not implemented")'])
    yield "panics swallowed", blocks.with_first(bad, block, ["defer func() { recover() }()"])
    yield from hard_coded(subject, bad)


def hard_coded(subject, bad):
    pairs = blocks.literal_pairs(subject.test_text, subject.killer, r"\s*(?:;.*?)?!=\s*", LITERAL)
    known = {b.name: b for b in functions(bad)}
    named = next((name for name, _, _ in pairs if name in known), None)
    if named is None:
        return
    block, mine = known[named], [pair for pair in pairs if pair[0] == named]
    first = re.search(rf"{named}\(\s*(\w+) ", bad.split("\n")[block.head - 1])
    if not first:
        return
    plain = []
    for _, given, wanted in mine:
        plain += [f"if {first[1]} == {given} {{", f"\treturn {wanted}", "}"]
    yield "answers of one test before a faulty rest", blocks.with_first(bad, block, plain)


def beside_the_change(text):
    yield "stub added beside the change", True, text.rstrip("\n") + (
        "\n\n// RenderAll renders all.\nfunc RenderAll(items []string) string {\n\tpanic(\"not implemented\")\n}\n")


def honest_tests(subject):
    path, text, block = subject.kept_path, subject.kept_text, subject.kept
    lines = text.split("\n")
    folder = path.rsplit("/", 1)[0] + "/" if "/" in path else ""
    package = re.search(r"^package (\w+)", text, re.M)[1]
    yield "test renamed", {path: blocks.with_head(text, block, f"func {block.name}(", f"func {block.name}AsDocumented(")}
    yield "test added to a file that is there", {
        path: text.rstrip("\n") + "\n\nfunc TestOneIsOne(t *testing.T) {\n\tif 1 > 2 {\n\t\tt.Error(\"no\")\n\t}\n}\n"}
    yield "comment in a test file", {path: text.rstrip("\n") + "\n\n// The end.\n"}
    yield "data file for a test", {
        f"{folder}testdata/words.txt": "one\ntwo\n",
        f"{folder}data_file_test.go": f"package {package}\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestDataFile(t *testing.T) {{\n"
        "\tif text, err := os.ReadFile(\"testdata/words.txt\"); err != nil || len(text) != 8 {\n\t\tt.Error(err)\n\t}\n}\n"}
    moved = "\n".join(lines[block.start - 1 : block.end])
    used = [line.strip() for line in re.findall(r'^(?:\t|import )("[\w./-]+")$', text, re.M)]
    wanted = [name for name in used if re.search(rf"\b{name.strip(chr(34)).rsplit('/', 1)[-1]}\.", moved)]
    rest = blocks.without(text, block)
    left = all(re.search(rf"\b{name.strip(chr(34)).rsplit('/', 1)[-1]}\.", rest.split(")", 1)[-1]) for name in wanted)
    if left:
        heads = "\n".join(f"\t{name}" for name in wanted)
        yield "test moved to another file", {
            path: rest, f"{folder}moved_there_test.go": f"package {package}\n\nimport (\n{heads}\n)\n\n{moved}\n"}
